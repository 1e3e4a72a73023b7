//! `outset intersect`: opens where the result goes, runs, puts the result in place, reports.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use outset::size::{display_bytes, display_count};
use outset::{CountSink, Error, Interrupt, OutputFile, Result, Stats, WriteSink, intersect};

use super::arguments::IntersectArguments;
use super::place::{ResultPlace, refuse_same};
use super::progress::Reporter;
use super::report::Report;
use super::{say, signals};

/// Runs the command.
pub(crate) fn run(arguments: &IntersectArguments, interrupt: &Interrupt) -> Result<()> {
    let mut options = arguments
        .run
        .options(arguments.output.as_deref(), interrupt);
    let reporter = Arc::new(Reporter::new(&arguments.talk));
    options.observer = Some(reporter.clone());
    check_places(arguments)?;
    if let Some(filter) = &options.stored_filter {
        signals::watch_mapping(filter, interrupt)?;
    }
    let stats_file = match &arguments.stats {
        Some(path) if path.as_path() != Path::new("-") => {
            Some(OutputFile::create(path, interrupt)?)
        }
        _ => None,
    };
    let page = match &arguments.report {
        Some(path) => Some(Report::open(path, interrupt)?),
        None => None,
    };
    if let Some(page) = &page {
        options.observer = Some(page.beside(reporter.clone()));
    }
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
    report(arguments, &stats, stats_file)?;
    page.map_or(Ok(()), |page| page.write_intersection(&stats))
}

/// The reports and the saved filter must replace neither the result nor an input, nor each other.
fn check_places(arguments: &IntersectArguments) -> Result<()> {
    let others = || arguments.output.iter().chain(arguments.files());
    let filter = arguments.run.save_filter();
    if let Some(stats) = arguments
        .stats
        .as_deref()
        .filter(|path| *path != Path::new("-"))
    {
        refuse_same(stats, "--stats", others().chain(filter))?;
    }
    if let Some(page) = &arguments.report {
        let stats = arguments.stats.iter();
        refuse_same(page, "--report", others().chain(filter).chain(stats))?;
    }
    match filter {
        Some(filter) => refuse_same(filter, "--save-filter", others()),
        None => Ok(()),
    }
}

/// The report of a run: the label of an approximate result always, the rest as asked for.
fn report(
    arguments: &IntersectArguments,
    stats: &Stats,
    stats_file: Option<OutputFile>,
) -> Result<()> {
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
    let Some(path) = &arguments.stats else {
        return Ok(());
    };
    let target = path.display().to_string();
    let fail = |source: io::Error| Error::Output {
        target: target.clone(),
        what: "cannot write the report",
        source,
        advice: "check where --stats points",
    };
    let text = serde_json::to_string_pretty(stats).map_err(|error| fail(error.into()))?;
    match stats_file {
        None => writeln!(io::stderr(), "{text}").map_err(fail),
        Some(file) => {
            let mut writer = file.writer()?;
            writeln!(writer, "{text}")
                .and_then(|()| writer.flush())
                .map_err(fail)?;
            drop(writer);
            file.finish()
        }
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
