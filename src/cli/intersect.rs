//! `outset intersect`: opens the outputs, runs, puts them in place, reports.

use std::sync::Arc;

use outset::{CountSink, Interrupt, Options, OutputWriter, Result, Stats, WriteSink, intersect};

use super::arguments::IntersectArguments;
use super::outputs::{Claims, Outputs};
use super::progress::Reporter;
use super::summary::{label, summary};
use super::{signals, warn};

/// Runs the command.
pub(crate) fn run(arguments: &IntersectArguments, interrupt: &Interrupt) -> Result<()> {
    let reporter = Reporter::new(&arguments.talk);
    let reporter = Arc::new(reporter.without_notices_if(arguments.reports_on_stderr()));
    let claims = claim(arguments)?;
    if let Some(filter) = &arguments.filters.filter {
        signals::watch_mapping(filter, interrupt)?;
    }
    let mut outputs = claims.open(interrupt)?;
    let options = Options {
        observer: Some(outputs.observer(reporter.clone())),
        ..arguments.options(interrupt)
    };
    let (stats, writer) = find(arguments, &options, &outputs)?;
    reporter.finish();
    outputs.require_result()?.flush(writer)?;
    outputs.fill_stats(&stats)?;
    outputs.fill_page(|page| page.fill_intersection(&stats))?;
    outputs.put_in_place_with_label(|| {
        if let Some(label) = label(&stats) {
            warn(&label);
        }
    })?;
    // Last: a failure is said in one line.
    if !arguments.talk.quiet && !arguments.reports_on_stderr() {
        warn(&summary(&stats));
    }
    Ok(())
}

/// Writes the common lines, or their number, to a writer that is yet to be flushed.
fn find(
    arguments: &IntersectArguments,
    options: &Options,
    outputs: &Outputs,
) -> Result<(Stats, OutputWriter)> {
    let (sources, result) = (arguments.sources(), outputs.require_result()?);
    if arguments.count_only {
        let stats = intersect(&sources, options, &mut CountSink)?;
        let writer = result.number(stats.output.lines)?;
        return Ok((stats, writer));
    }
    let terminator = options.format.terminator;
    let mut sink = WriteSink::new(result.writer()?, terminator, result.name());
    let stats = intersect(&sources, options, &mut sink)?;
    Ok((stats, sink.into_inner()))
}

/// Refuses outputs that are inputs, or one another.
fn claim(arguments: &IntersectArguments) -> Result<Claims> {
    let filters = &arguments.filters;
    let mut claims = Claims::reading(arguments.files().iter().chain(filters.filter.as_ref()));
    claims.write_result(arguments.output.as_deref(), "-o")?;
    if let Some(filter) = &filters.save_filter {
        claims.write(Some(filter), "--save-filter")?;
    }
    claims.write_stats(arguments.stats.as_deref())?;
    claims.write_page(arguments.report.as_deref())?;
    Ok(claims)
}
