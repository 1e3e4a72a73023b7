//! `outset compare`: the exact and the approximate way over the same files, and how they differ.
//!
//! *Owns:* the [`arguments`], the points of a sweep ([`sweep`]) and their order, and the report as text
//! ([`table`]) and as JSON. *Invariants:* every point is planned before the first is run; where a
//! sweep fails nevertheless, the points before are shown. *Cost:* that of
//! [`outset::compare`](mod@outset::compare), for each point.

mod arguments;
pub(crate) mod report;
mod sweep;
mod table;
pub(crate) mod words;

use std::sync::Arc;

use outset::compare::{Comparer, Comparison, Plans, Point};
use outset::{CountSink, Error, Interrupt, Options, Result, Sink, Source, WriteSink};

pub(crate) use self::arguments::CompareArguments;
use self::report::ComparisonReport;
use super::outputs::{Claims, Outputs, ResultFile};
use super::print::print;
use super::process;
use super::progress::Reporter;
use super::report::Subject;
use super::settings::plan_as_typed;
use super::sides::SidesPurpose;

/// Memory limits that rates are predicted for, for the curve in the page.
const PREDICTED: u32 = 24;

/// Runs the command.
pub(crate) fn run(arguments: &CompareArguments, interrupt: &Interrupt) -> Result<()> {
    let reporter = Reporter::new(&arguments.talk);
    let reporter = Arc::new(reporter.without_notices_if(arguments.reports_on_stderr()));
    let mut options = arguments.options(interrupt);
    if let Some(sweep) = &arguments.sweep {
        sweep.check(&options)?;
    }
    let purpose = SidesPurpose {
        least: arguments.operation.selection().least_sides(),
        lacks_output: false,
    };
    let sources = arguments.inputs.sources_for(purpose)?;
    reporter.announce(arguments.inputs.names_of_sides(&sources));
    let mut outputs = claim(arguments, &sources, &mut options)?.open(interrupt)?;
    options.observer = Some(outputs.observer(reporter.clone()));
    outputs.note_temp_dirs(&options);
    let selection = arguments.operation.selection();
    let points = arguments.points();
    let limits = points.iter().filter_map(|point| point.memory_bytes);
    if let Some(smallest) = limits.min() {
        process::give_back_code(smallest);
    }
    let mut comparer = Comparer::new(&sources, selection, &options)?;
    // Before the first run: what can be known to fail does not wait until its turn.
    reporter.expect(comparer.expected_bytes(&points)?);
    let (plans, predicted) = if outputs.has_page() {
        outlook(&comparer, &points)?
    } else {
        SweepOutlook::default()
    };
    let terminator = options.format.terminator;
    let found = compare_all(&mut comparer, &points, terminator, &outputs, &reporter)?;
    reporter.finish();
    let report = ComparisonReport::new(&found, arguments.sweep.is_some());
    let filled = outputs
        .fill_stats(&report)
        .and_then(|()| outputs.fill_page(&Subject::Comparison(&report, (&plans, &predicted))));
    // The table is there whatever becomes of the files.
    print(&report.describe())?;
    filled?;
    outputs.put_in_place()
}

/// Compares at each point. Where one fails, those before it took their time: they are printed, though
/// there is no report.
fn compare_all(
    comparer: &mut Comparer<'_>,
    points: &[Point],
    terminator: u8,
    outputs: &Outputs,
    reporter: &Reporter,
) -> Result<Vec<Comparison>> {
    let mut found = Vec::with_capacity(points.len());
    for &point in points {
        let compared = match outputs.result() {
            Some(list) => listed(comparer, point, list, terminator),
            None => comparer.compare(point, &mut CountSink),
        };
        match compared {
            Ok(point) => found.push(point),
            Err(error) => {
                if !found.is_empty() {
                    reporter.finish();
                    print(&table::of_sweep(&found))?;
                }
                return Err(error);
            }
        }
    }
    Ok(found)
}

/// The plans of points, and memory limits with the rates that are predicted for them.
type SweepOutlook = (Vec<Plans>, Vec<(u64, f64)>);

/// Returns the plans of all points, and the rates that are predicted for memory limits around theirs, by ratio, with
/// the limits in bytes. Limits under which nothing runs are left out.
fn outlook(comparer: &Comparer<'_>, points: &[Point]) -> Result<SweepOutlook> {
    let plans = points.iter().map(|&point| comparer.plans(point));
    let typed = |plans: Plans| Plans {
        exact: plan_as_typed(plans.exact),
        approximate: plan_as_typed(plans.approximate),
    };
    let plans = plans.map(|plans| plans.map(typed));
    let plans = plans.collect::<Result<Vec<Plans>>>()?;
    let limits = plans.iter().map(|plans| plans.exact.limit_bytes());
    let (Some(least), Some(most)) = (limits.clone().min(), limits.max()) else {
        return Ok((plans, Vec::new()));
    };
    let (from, to) = (least as f64 / 4.0, most as f64 * 4.0);
    let step = (to / from).powf(1.0 / f64::from(PREDICTED - 1));
    let rate = |number: u32| {
        let bytes = (from * step.powi(number as i32)) as u64;
        let point = Point {
            memory_bytes: Some(bytes),
            ..Point::default()
        };
        let filter = comparer.plans(point).ok()?.approximate.costs.filter?;
        Some((bytes, filter.predicted_fpr))
    };
    Ok((plans, (0..PREDICTED).filter_map(rate).collect()))
}

/// Compares, and writes the lines that the approximate result gets wrong to `list`.
fn listed(
    comparer: &mut Comparer<'_>,
    point: Point,
    list: &ResultFile,
    terminator: u8,
) -> Result<Comparison> {
    let mut sink = WriteSink::new(list.writer()?, terminator, list.name());
    let found = comparer.compare(point, &mut sink as &mut dyn Sink)?;
    list.flush(sink.into_inner())?;
    Ok(found)
}

/// Refuses outputs that are inputs, or one another. Leaves memory in `options` for those that are compressed.
fn claim(
    arguments: &CompareArguments,
    sources: &[Source],
    options: &mut Options,
) -> Result<Claims> {
    let key_file = arguments.run.lines.key_file();
    let mut claims = Claims::reading(arguments.inputs.lists().chain(key_file)).and_sources(sources);
    claims.write(None, "the table")?;
    match arguments.list()? {
        Some((list, option)) => claims.write_result(Some(list), option)?,
        None if arguments.compress.asked().is_some() => {
            return Err(Error::usage(
                "--compress: there is no list of lines to compress",
                "leave it out, or name a file with --list-false (intersect) or --list-missing (diff, union)",
            ));
        }
        None => {}
    }
    claims.write_stats(arguments.stats.as_deref())?;
    claims.write_page(arguments.report.as_deref())?;
    claims.compress(arguments.compress.asked(), options)?;
    claims.check_names(false, &arguments.talk)?;
    Ok(claims)
}
