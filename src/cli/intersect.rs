//! `outset intersect`: opens where the result goes, runs, puts the result in place, reports.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use outset::{CountSink, Error, Interrupt, OutputFile, Result, Stats, WriteSink, intersect};

use super::arguments::IntersectArguments;
use super::place::{ResultPlace, refuse_same};
use super::progress::Reporter;
use super::summary::{label, summary};
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
        Some(path) if !arguments.reports_on_stderr() => Some(OutputFile::create(path, interrupt)?),
        _ => None,
    };
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
    report(arguments, &stats, stats_file)
}

/// The report and the saved filter must replace neither the result nor an input, nor each other.
fn check_places(arguments: &IntersectArguments) -> Result<()> {
    let others = || arguments.output.iter().chain(arguments.files());
    let filter = arguments.run.save_filter();
    if let Some(stats) = &arguments.stats
        && !arguments.reports_on_stderr()
    {
        refuse_same(stats, "--stats", others().chain(filter))?;
    }
    match filter {
        Some(filter) => refuse_same(filter, "--save-filter", others()),
        None => Ok(()),
    }
}

/// The report of a run: the label of an approximate result always, the statistics as asked for, and
/// the summary unless it is unwanted.
fn report(
    arguments: &IntersectArguments,
    stats: &Stats,
    stats_file: Option<OutputFile>,
) -> Result<()> {
    if let Some(label) = label(stats) {
        say(&label);
    }
    if let Some(path) = &arguments.stats {
        write_stats(stats, path, stats_file)?;
    }
    // Last: a failure is said in one line.
    if !arguments.talk.quiet && !arguments.reports_on_stderr() {
        say(&summary(stats));
    }
    Ok(())
}

/// Writes the statistics to a file that is named `path`, or without one to standard error.
fn write_stats(stats: &Stats, path: &Path, file: Option<OutputFile>) -> Result<()> {
    let target = path.display().to_string();
    let fail = |source: io::Error| Error::Output {
        target: target.clone(),
        what: "cannot write the report",
        source,
        advice: "check where --stats points",
    };
    let text = serde_json::to_string_pretty(stats).map_err(|error| fail(error.into()))?;
    match file {
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
