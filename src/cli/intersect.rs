//! `outset intersect`: opens where the result goes, runs, puts the result in place, reports.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use outset::size::{display_bytes, display_count};
use outset::{CountSink, Interrupt, Result, Stats, WriteSink, intersect};

use super::arguments::IntersectArguments;
use super::place::{ResultPlace, StatsPlace, refuse_same};
use super::progress::Reporter;
use super::{say, signals};

/// Runs the command.
pub(crate) fn run(arguments: &IntersectArguments, interrupt: &Interrupt) -> Result<()> {
    let options = arguments
        .run
        .options(arguments.output.as_deref(), interrupt);
    let mut options = arguments.kept.add_to(options);
    let reporter = Arc::new(Reporter::new(&arguments.talk));
    options.observer = Some(reporter.clone());
    check_places(arguments)?;
    if let Some(filter) = &options.stored_filter {
        signals::watch_mapping(filter, interrupt)?;
    }
    let stats_place = StatsPlace::open(arguments.stats.as_deref(), interrupt)?;
    let place = ResultPlace::open(arguments.output.as_deref(), interrupt)?;
    let terminator = options.format.terminator;
    let sources = arguments.sources();

    let (stats, writer) = if arguments.count_only {
        let stats = intersect(&sources, &options, &mut CountSink)?;
        let mut writer = place.writer()?;
        writeln!(writer, "{}", stats.output.lines).map_err(|e| place.error("cannot write", e))?;
        (stats, writer)
    } else {
        let mut sink = WriteSink::new(place.writer()?, terminator, place.name());
        let stats = intersect(&sources, &options, &mut sink)?;
        (stats, sink.into_inner())
    };
    reporter.finish();
    place.finish(writer)?;
    report(arguments, &stats);
    stats_place.write(&stats)
}

/// The report and the saved filter must replace neither the result nor an input, nor each other.
fn check_places(arguments: &IntersectArguments) -> Result<()> {
    let others = || arguments.output.iter().chain(arguments.files());
    let filter = arguments.kept.save_filter.as_ref();
    if let Some(stats) = arguments
        .stats
        .as_deref()
        .filter(|path| *path != Path::new("-"))
    {
        refuse_same(stats, "--stats", others().chain(filter))?;
    }
    match filter {
        Some(filter) => refuse_same(filter, "--save-filter", others()),
        None => Ok(()),
    }
}

/// The report of a run: the label of an approximate result always, the rest as asked for.
fn report(arguments: &IntersectArguments, stats: &Stats) {
    if let Some(filter) = stats.filter.as_ref().filter(|_| !stats.exact) {
        say(&format!(
            "approximate result: nothing common is missing, but about {:.0} of {} lines are expected to be false \
             (false-positive rate predicted {:.3}%, by the filter's fill {:.3}%)",
            filter.expected_false_lines.min(stats.output.lines as f64),
            stats.output.lines,
            filter.predicted_fpr * 100.0,
            filter.fill_fpr * 100.0
        ));
    }
    if arguments.talk.verbose || (!arguments.talk.quiet && io::stderr().is_terminal()) {
        say(&summary(stats));
    }
}

fn summary(stats: &Stats) -> String {
    format!(
        "{} common lines, {} ({}) in {:.2} s; peak memory {} of {}; temporary disk {}",
        display_count(stats.output.lines).to_string().trim(),
        if stats.exact { "exact" } else { "approximate" },
        stats.strategy,
        stats.seconds,
        display_bytes(stats.memory.peak_rss_bytes),
        display_bytes(stats.memory.limit_bytes),
        display_bytes(stats.temp.peak_bytes),
    )
}
