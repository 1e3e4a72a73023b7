//! `bloom`: what passes the filter is the result, with no second look.
//!
//! 1. `filter(A)`, or a stored filter in its place.
//! 2. Each input between the first and the last becomes a filter of those of its lines that pass the filter
//!    before it. Then that filter goes.
//! 3. Look at a sample of the last input, and plan the buckets for the share that passes.
//! 4. `spill` the last input through the last filter.
//! 5. `join` this one store: with a single input, a join writes its distinct lines.
//!
//! ```text
//!  memory   filter A │ filter A, filter B │ filter B, blocks │ sets of the join
//!  pass     filter A │ filter B through A │ spill C          │ join
//! ```
//!
//! Approximate: every common line is in the result. Of the lines of the last input that are not common, the
//! filter lets the predicted share pass. With more than two inputs, a line can pass by mistake at any filter
//! of the chain, so their rates add up.
//!
//! *Cost:* one reading of each input. What passes is spilled if it does not stay in memory, because the
//! result has each line once.

use crate::answer::Collector;
use crate::batch::Screen;
use crate::error::Result;
use crate::filter::{AskedFilter, CheckedFilter, Filter};
use crate::input::Input;
use crate::pass::filter::filter;
use crate::pass::join::join;
use crate::pass::look::look;
use crate::pass::spill::{Screening, spill};
use crate::plan::Plan;
use crate::run::Run;
use crate::selection::Sides;
use crate::stats::FilterStats;
use crate::strategy::{StoredFilters, describe, partition::partition, save_if_wanted};

/// Runs the strategy. The plan has the shape of the first filter (`costs.filter`), or that of the stored one,
/// and the shape of all further filters (`second_filter`).
///
/// # Errors
/// As [`execute`](super::execute). Only step 5 passes lines to the sink.
pub(crate) fn bloom(
    run: &mut Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    filters: StoredFilters<'_>,
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    // A plan for `bloom` always has both; the fallback is exact.
    let (Some(shape), Some((last, before))) = (plan.costs.filter, inputs.split_last()) else {
        return partition(run, None, inputs, sides, out);
    };
    // The filter in force, whatever its type: a stored one is in a file, the others are in memory.
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
        // A single input and no stored filter: there is nothing to ask.
        (None, []) => return partition(run, None, inputs, sides, out),
    };
    for input in middle {
        let next_shape = plan.second_filter.unwrap_or(shape);
        let next = filter(run, input, Some(&*screen), &next_shape)?;
        add_link(&mut stats, &next);
        // Frees the filter before it: at most two live at a time.
        screen = Box::new(next);
    }
    if filters.stored.is_none() {
        plan.check_rate(stats.fill_fpr)?;
    }
    // Unlike the sieve, the revision never drops the filter: it makes the result.
    if let Some(look) = look(run, last, inputs.len() - 1, &*screen)?
        && let Some(layout) = plan.revised_bloom(look)
    {
        run.set_layout(layout)?;
    }
    let pool = run.block_pool();
    let survivors = spill(run, &pool, last, Screening::by(Some(&*screen)))?;
    // The join divides all memory that is free: filter and free blocks go first. Held blocks stay.
    drop((screen, pool));
    join(
        run,
        vec![survivors.buckets],
        &Sides::common(1, sides.rule().order()),
        out,
    )?;
    stats.expected_false_lines = expected_false_lines(
        (last.lines(), survivors.passed),
        (out.found(), plan.distinct_share_of_last()),
        stats.fill_fpr,
    );
    run.record().filter = Some(stats);
    Ok(())
}

/// The stored filter, ready to be asked. It is mapped if the memory that the plan's buffers and a further
/// filter leave is enough for it; else its blocks are read from the file when they are needed.
fn asked(run: &Run<'_>, stored: &CheckedFilter, plan: &Plan) -> Result<AskedFilter> {
    let second = plan.second_filter.map_or(0, |shape| shape.bits / 8);
    let left = run.layout.rest_bytes().saturating_sub(second);
    AskedFilter::new(stored, &run.budget, left)
}

/// How many of the `found` different lines that passed did so by mistake, on average, given that `passed` of `lines`
/// lines, of which the share `distinct` (0 to 1) is different by the sample, passed filters with the joint rate `fpr`
/// (0 to 1).
///
/// The refused lines were certainly not common. They are the share 1 - fpr of all different lines that are not common,
/// and the share fpr passed: so refused * fpr / (1 - fpr) passed by mistake. How many different ones were refused
/// follows from the sample, or from how often lines that passed came: from the latter if few of those are very
/// frequent, from the former if the sample shows how many lines are different. Both are rather too low, so the larger
/// one counts. A filter of rate 1 refuses nothing and says nothing; all may be false.
fn expected_false_lines(
    (lines, passed): (u64, u64),
    (found, distinct): (u64, f64),
    fpr: f64,
) -> f64 {
    let (refused, found) = (lines.saturating_sub(passed) as f64, found as f64);
    if fpr >= 1.0 {
        return found;
    }
    let by_sample = lines as f64 * distinct - found;
    let by_passed = refused * found / passed.max(1) as f64;
    let different = by_sample.max(by_passed).min(refused);
    (different * fpr / (1.0 - fpr)).min(found)
}

/// Adds the rates of a further filter of the chain to `stats`. A line that is not common passes by mistake at
/// one of them with the chance a + (1 - a) * b, an upper bound for the whole chain.
fn add_link(stats: &mut FilterStats, filter: &Filter) {
    let link = describe(filter);
    let either = |a: f64, b: f64| a + (1.0 - a) * b;
    stats.predicted_fpr = either(stats.predicted_fpr, link.predicted_fpr);
    stats.fill_fpr = either(stats.fill_fpr, link.fill_fpr);
}
