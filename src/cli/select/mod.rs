//! `outset intersect`, `diff`, `union` and `symdiff`: opens the outputs, runs, puts them in place, reports.

mod arguments;

use std::sync::Arc;

use outset::{
    CountSink, Interrupt, Options, OutputWriter, Result, Source, Stats, WriteSink, select,
};

pub(crate) use self::arguments::{
    DiffArguments, IntersectArguments, OrderArguments, RepeatArguments, Request, SideArguments,
    SymdiffArguments, UnionArguments, WrittenArguments,
};
use super::outputs::{Claims, Outputs};
use super::progress::Reporter;
use super::summary::{label, summary};
use super::{signals, warn};

/// Runs one of the commands.
pub(crate) fn run(request: Request<'_>, interrupt: &Interrupt) -> Result<()> {
    let set = request.set;
    let reporter = Reporter::new(&set.talk);
    let reporter = Arc::new(reporter.without_notices_if(set.reports_on_stderr()));
    let sources = request.inputs.sources()?;
    let claims = claim(request, &sources)?;
    if let Some(filter) = request.filters.and_then(|filters| filters.filter.as_ref()) {
        signals::watch_mapping(filter, interrupt)?;
    }
    let mut outputs = claims.open(interrupt)?;
    let options = Options {
        observer: Some(outputs.observer(reporter.clone())),
        ..request.options(interrupt)
    };
    let (stats, writer) = find(request, &sources, &options, &outputs)?;
    reporter.finish();
    outputs.require_result()?.flush(writer)?;
    outputs.fill_stats(&stats)?;
    outputs.fill_page(|page| page.fill_run(&stats))?;
    outputs.put_in_place_with_label(|| {
        if let Some(label) = label(&stats) {
            warn(&label);
        }
    })?;
    // Last: a failure is said in one line.
    if !set.talk.quiet && !set.reports_on_stderr() {
        warn(&summary(&stats));
    }
    Ok(())
}

/// Writes the selected lines, or their number, to a writer that is yet to be flushed.
fn find(
    request: Request<'_>,
    sources: &[Source],
    options: &Options,
    outputs: &Outputs,
) -> Result<(Stats, OutputWriter)> {
    let result = outputs.require_result()?;
    if request.set.count_only {
        let stats = select(sources, request.selection, options, &mut CountSink)?;
        let writer = result.number(stats.output.lines)?;
        return Ok((stats, writer));
    }
    let terminator = options.format.terminator;
    let mut sink = WriteSink::new(result.writer()?, terminator, result.name());
    let stats = select(sources, request.selection, options, &mut sink)?;
    Ok((stats, sink.into_inner()))
}

/// Refuses outputs that are inputs, or one another.
fn claim(request: Request<'_>, sources: &[Source]) -> Result<Claims> {
    let filters = request.filters;
    let asked = filters.and_then(|filters| filters.filter.as_ref());
    let mut claims = Claims::reading(request.inputs.lists().chain(asked)).and_sources(sources);
    claims.write_result(request.set.output.as_deref(), "-o")?;
    if let Some(filter) = filters.and_then(|filters| filters.save_filter.as_ref()) {
        claims.write(Some(filter), "--save-filter")?;
    }
    claims.write_stats(request.set.stats.as_deref())?;
    claims.write_page(request.set.report.as_deref())?;
    Ok(claims)
}
