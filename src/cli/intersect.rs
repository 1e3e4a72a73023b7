//! `outset intersect`: opens where the result goes, runs, puts the result in place, reports.

use std::io::Write;
use std::sync::Arc;

use outset::{CountSink, Interrupt, Result, WriteSink, intersect};

use super::arguments::IntersectArguments;
use super::files::CommandFiles;
use super::place::{ResultPlace, StatsPlace};
use super::progress::Reporter;
use super::report::Page;
use super::summary::{label, summary};
use super::{signals, warn};

/// Runs the command.
pub(crate) fn run(arguments: &IntersectArguments, interrupt: &Interrupt) -> Result<()> {
    let options = arguments
        .run
        .options(arguments.output.as_deref(), interrupt);
    let options = arguments.choice.add_to(options);
    let options = arguments.force.add_to(options);
    let mut options = arguments.filters.add_to(options);
    let reporter = Reporter::new(&arguments.talk);
    let reporter = Arc::new(reporter.without_notices_if(arguments.reports_on_stderr()));
    options.observer = Some(reporter.clone());
    check_files(arguments)?;
    if let Some(filter) = &options.stored_filter {
        signals::watch_mapping(filter, interrupt)?;
    }
    let stats_place = StatsPlace::open(arguments.stats.as_deref(), interrupt)?;
    let mut page = Page::open_if_wanted(arguments.report.as_deref(), interrupt)?;
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
    // All is written before anything is put in place: a failure leaves what was there before.
    place.flush(writer)?;
    stats_place.fill(&stats)?;
    if let Some(page) = &mut page {
        page.fill_intersection(&stats)?;
    }
    place.put_in_place()?;
    if let Some(label) = label(&stats) {
        warn(&label);
    }
    stats_place.put_in_place()?;
    page.map_or(Ok(()), Page::put_in_place)?;
    // Last: a failure is said in one line.
    if !arguments.talk.quiet && !arguments.reports_on_stderr() {
        warn(&summary(&stats));
    }
    Ok(())
}

/// Refuses outputs that are inputs, or one another.
fn check_files(arguments: &IntersectArguments) -> Result<()> {
    let filters = &arguments.filters;
    let mut files = CommandFiles::reading(arguments.files().iter().chain(filters.filter.as_ref()));
    files.write(arguments.output.as_deref(), "-o")?;
    if let Some(filter) = &filters.save_filter {
        files.write(Some(filter), "--save-filter")?;
    }
    if let Some(stats) = arguments.stats_file() {
        files.write(Some(stats), "--stats")?;
    }
    match &arguments.report {
        Some(page) => files.write(Some(page), "--report"),
        None => Ok(()),
    }
}
