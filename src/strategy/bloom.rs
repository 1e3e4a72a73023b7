//! `bloom`: what passes the filter is the result, with no second look.
//!
//! Approximate: every common line is in the result, and of the lines of the last input that are not
//! common the filter lets the predicted share pass. Reads each input once; writes what passes, for
//! the result has each line once. With more than two inputs the filters form a chain, and the rates
//! add up. The first filter of the chain may be one that was stored.

use crate::batch::Screen;
use crate::error::Result;
use crate::filter::{AskedFilter, CheckedFilter, Filter};
use crate::input::Input;
use crate::output::Collector;
use crate::pass::filter::filter;
use crate::pass::join::{JoinKind, join};
use crate::pass::look::look;
use crate::pass::spill::spill;
use crate::plan::Plan;
use crate::run::Run;
use crate::stats::FilterStats;
use crate::strategy::{StoredFilters, describe, partition::partition, save_if_wanted};

pub(crate) fn bloom(
    run: &mut Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    filters: StoredFilters<'_>,
    out: &Collector<'_>,
) -> Result<()> {
    let (Some(shape), Some((last, before))) = (plan.costs.filter, inputs.split_last()) else {
        return partition(run, None, inputs, JoinKind::Common, out);
    };
    let (mut screen, mut stats, middle): (Box<dyn Screen>, _, _) = match (filters.stored, before) {
        (Some(stored), _) => {
            let file = stored.stored();
            let stats = FilterStats::of(file.shape(), file.keys(), &stored.occupancy());
            (Box::new(asked(run, stored, plan)?), stats, before)
        }
        (None, [first, middle @ ..]) => {
            let mut built = filter(run, first, None, &shape)?;
            save_if_wanted(filters, &mut built)?;
            let stats = describe(&built);
            (Box::new(built), stats, middle)
        }
        (None, []) => return partition(run, None, inputs, JoinKind::Common, out),
    };
    for input in middle {
        let next_shape = plan.second_filter.unwrap_or(shape);
        let next = filter(run, input, Some(&*screen), &next_shape)?;
        add_link(&mut stats, &next);
        screen = Box::new(next);
    }
    if let Some(look) = look(run, last, inputs.len() - 1, &*screen)?
        && let Some(layout) = plan.revised_bloom(look)
    {
        run.set_layout(layout)?;
    }
    let pool = run.block_pool();
    let survivors = spill(run, &pool, last, Some(&*screen), None)?;
    // The memory of filter and free blocks is the join's.
    drop((screen, pool));
    stats.expected_false_lines =
        expected_false_lines(last.lines(), survivors.passed, stats.fill_fpr)
            .min(survivors.passed as f64);
    run.record().filter = Some(stats);
    join(run, vec![survivors.buckets], JoinKind::Common, out)
}

/// The stored filter, in what the plan's buffers and a further filter leave.
fn asked(run: &Run<'_>, stored: &CheckedFilter, plan: &Plan) -> Result<AskedFilter> {
    let second = plan.second_filter.map_or(0, |shape| shape.bits / 8);
    let left = run.layout.rest_bytes().saturating_sub(second);
    AskedFilter::new(stored, &run.budget, left)
}

/// How many of the lines that passed did so by mistake. Those that were refused were certainly not
/// common, and they are the share 1 - fpr of all lines that are not; the share fpr passed.
fn expected_false_lines(lines: u64, passed: u64, fpr: f64) -> f64 {
    let refused = lines.saturating_sub(passed) as f64;
    if fpr < 1.0 {
        refused * fpr / (1.0 - fpr)
    } else {
        passed as f64
    }
}

/// A further filter of the chain: a line that is not common may pass by mistake at any of them.
fn add_link(stats: &mut FilterStats, filter: &Filter) {
    let link = describe(filter);
    let either = |a: f64, b: f64| a + (1.0 - a) * b;
    stats.predicted_fpr = either(stats.predicted_fpr, link.predicted_fpr);
    stats.fill_fpr = either(stats.fill_fpr, link.fill_fpr);
}
