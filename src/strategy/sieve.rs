//! `sieve`: each input through a filter of the one before it; only what survives reaches the
//! buckets.
//!
//! 1. `filter(A)`: a filter of the first input.
//! 2. The filter shows how many different lines A has. If these fit as a set, B's survivors become one, and
//!    the others are streamed past it, as [`memory`](super::memory) does: then nothing is spilled. If not, look
//!    at a sample of B, and plan the buckets again.
//! 3. `spill(B)` through the filter of A, into buckets. If the plan has memory for two filters at a time, a
//!    filter of B's survivors is fed on the way.
//! 4. If not, a filter of B's survivors is built from their buckets, provided that it saves more than reading
//!    them once more costs.
//! 5. Further inputs go through steps 3 and 4, each through the filter of the one before.
//! 6. `spill(A)` through the last filter, and `join`.
//!
//! Two inputs, with a second filter:
//!
//! ```text
//!  memory   filter A │ filter A, blocks, filter B │ blocks, filter B │ sets of the join
//!  pass     filter A │ spill B through A          │ spill A through B│ join
//! ```
//!
//! Buckets are planned a second time when the first filter is complete ([`revision`](crate::plan::revision)):
//! a sample of the next input shows how much of it survives. If nearly all does, the filter goes, and
//! the rest of the run is `partition`.
//!
//! *Invariants:* exact. A filter only ever drops lines that are certainly not common, and the join compares
//! bytes. A filter is complete before it is asked about the first line.
//!
//! *Cost:* two readings of the first input, one of the others. The common lines, and the few per cent that
//! pass by mistake, are spilled.

use crate::answer::Collector;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::input::Input;
use crate::pass::filter::{empty, filter, filter_store, shape_for_store};
use crate::pass::join::join;
use crate::pass::look::look;
use crate::pass::spill::{Screening, Spilled, spill};
use crate::plan::revision::{Look, Revision};
use crate::plan::{FilterPlan, Plan, SIEVE_BITS_PER_KEY};
use crate::run::Run;
use crate::selection::{Rule, Sides};
use crate::spill::bucket::Bucket;
use crate::strategy::resident::ResidentSet;
use crate::strategy::{
    StoredFilters, USELESS_FPR, describe, if_useful, partition::partition, save_if_wanted,
};

/// Runs the strategy. The first input must be a file: it is read in steps 1 and 6. `run` gets the layout of
/// the second plan.
///
/// # Errors
/// The first failure of any pass. No line has reached the sink before the last pass.
pub(crate) fn sieve(
    run: &mut Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    filters: StoredFilters<'_>,
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    // A plan for `sieve` always has both; the fallback is exact.
    let (Some((first, others)), Some(shape)) = (inputs.split_first(), plan.costs.filter) else {
        return partition(run, None, inputs, sides, out);
    };
    let mut built = filter(run, first, None, &shape)?;
    save_if_wanted(filters, &mut built)?;
    run.record().filter = Some(describe(&built));
    if let ([_, rest @ ..], Some((set, common))) = (
        others,
        set_instead(run, plan, (others, sides.rule()), &built)?,
    ) {
        // What the first filter dropped is not in the set; `common` is the better screen from here on.
        drop(built);
        let rest = rest.iter().chain([first]);
        // The phases of the plan that are still to come will not come.
        run.expect_inputs(&["probe"], rest.clone());
        return set.mark_common(run, rest, &common, out);
    }
    let (second_filter, more_blocks) = match revision(run, plan, others, &built)? {
        None => (plan.second_filter, 0),
        Some(revision) if !revision.asks_filter => {
            // The new layout uses the filter's memory.
            drop(built);
            run.set_layout(revision.layout)?;
            return partition(run, None, inputs, sides, out);
        }
        Some(revision) => {
            run.set_layout(revision.layout)?;
            (revision.second_filter, revision.more_blocks)
        }
    };
    // The layout is final: all passes share the run from here on.
    let run = &*run;
    let planned = (second_filter.as_ref(), more_blocks);
    let stores = survivors(run, first, others, built, planned)?;
    join(run, stores, sides, out)
}

/// Spills what survives of each input: of the `others` through the filter of the input before, and of the
/// first, whose filter is `screen`, through that of the last. Returns the buckets of each. Filters and free
/// blocks are gone then, because the join divides all memory that is free; held blocks stay.
///
/// `more_blocks` stay in memory beside a second filter that was fed, when the first one is gone.
fn survivors(
    run: &Run<'_>,
    first: &Input,
    others: &[Input],
    screen: Filter,
    (second_filter, more_blocks): (Option<&FilterPlan>, u64),
) -> Result<Vec<Vec<Bucket>>> {
    let pool = run.block_pool();
    // The filter of the input before, if there is one.
    let mut screen = Some(screen);
    let mut stores = Vec::with_capacity(others.len() + 1);
    // Each further input, and the one that will go through a filter of its survivors.
    for (input, next) in others.iter().zip(others.iter().skip(1).chain([first])) {
        // Made before the pass, while the filter that is asked still has its memory: a plan with a second
        // filter has room for both.
        let mut fed = filter_to_feed(run, second_filter)?;
        let useful = screen.as_ref().and_then(if_useful);
        let screening = Screening {
            feed: fed.as_mut(),
            ..Screening::by(useful)
        };
        let survivors = spill(run, &pool, input, screening)?;
        // A filter that was not asked has refused nothing.
        let fpr = match &screen {
            Some(filter) if useful.is_some() => filter.occupancy_sampled().fpr,
            _ => 1.0,
        };
        // A filter built from the buckets takes the memory of this one.
        drop(screen);
        let is_last = stores.len() + 1 == others.len();
        if is_last && fed.is_some() {
            pool.extend(more_blocks);
        }
        screen = match fed {
            Some(fed) => Some(fed),
            None => filter_if_it_pays(run, &survivors, fpr, input, next)?,
        };
        stores.push(survivors.buckets);
    }
    let useful = screen.as_ref().and_then(if_useful);
    stores.push(spill(run, &pool, first, Screening::by(useful))?.buckets);
    Ok(stores)
}

/// The survivors of the second input as a set, with a filter of them, if lines repeat so often that the set
/// fits. The plan took every line for a different one; the filter `built` shows how many there are. The
/// second input must be a file.
///
/// `None` means that the sieve goes on. That includes a set that turned out too large: its memory is free
/// again, nothing was written, and a file can be read again. The price is one reading of the input.
fn set_instead(
    run: &Run<'_>,
    plan: &Plan,
    (others, rule): (&[Input], &Rule),
    built: &Filter,
) -> Result<Option<(ResidentSet, Filter)>> {
    let fpr = built.occupancy_sampled().fpr;
    let shape = plan.set_beside_filters(distinct(built), built.keys(), run.held_bytes(), fpr);
    let second = others.first().filter(|second| second.is_file());
    let (Some(shape), Some(second)) = (shape, second) else {
        return Ok(None);
    };
    match ResidentSet::of_survivors(run, built, (second, rule), shape, plan.build_line_bytes) {
        Err(Error::Memory { .. }) => Ok(None),
        set => set.map(Some),
    }
}

/// About how many different lines are in a filter, as its set bits show; no more than were inserted.
fn distinct(filter: &Filter) -> f64 {
    // The estimate is infinite for a filter without a free bit.
    filter
        .occupancy_sampled()
        .distinct
        .min(filter.keys() as f64)
}

/// How the run goes on, judged by a sample of the next input and the share of it that passes the filter.
/// `None` keeps the first plan: the next input is a pipe, the sample is too small to say anything, or no
/// other layout fits.
///
/// # Errors
/// When the next input cannot be read, or has changed since the survey.
fn revision(
    run: &Run<'_>,
    plan: &Plan,
    others: &[Input],
    built: &Filter,
) -> Result<Option<Revision>> {
    let look = match others.first() {
        Some(next) => look(run, next, 1, built)?,
        None => None,
    };
    Ok(look.and_then(|look| {
        // The sample knows its own numbers; those of the filter are added here.
        plan.revised_sieve(Look {
            filter_fpr: built.occupancy_sampled().fpr,
            filter_distinct: distinct(built),
            ..look
        })
    }))
}

/// The filter to feed, if one is planned and there is room for it. A refusal by the budget is not an error:
/// `None` means that the filter is built after the pass, if at all.
fn filter_to_feed(run: &Run<'_>, planned: Option<&FilterPlan>) -> Result<Option<Filter>> {
    match planned.map(|shape| empty(run, shape)) {
        None | Some(Err(Error::Memory { .. })) => Ok(None),
        Some(filter) => filter.map(Some),
    }
}

/// A filter of the lines of `input` that survived a filter of rate `fpr`, for screening `next`, if it pays:
///
/// - It costs reading the written blocks of the survivors once more. Held blocks cost nothing.
/// - It saves writing and reading those lines of `next` that are not common and that it refuses.
///
/// If the size of `next` is unknown, it is taken for endless, and the filter pays.
fn filter_if_it_pays(
    run: &Run<'_>,
    survivors: &Spilled,
    fpr: f64,
    input: &Input,
    next: &Input,
) -> Result<Option<Filter>> {
    let store = &survivors.buckets;
    let most_bits = run.options.bits_per_key.unwrap_or(SIEVE_BITS_PER_KEY);
    let Some(shape) = shape_for_store(run, store, most_bits) else {
        return Ok(None);
    };
    let read_back: u64 = store.iter().map(|bucket| bucket.file.written_bytes).sum();
    let refused = 1.0 - shape.predicted_fpr;
    let common = common_bytes(survivors.passed, fpr, input);
    let saved = next.likely_bytes().map_or(f64::INFINITY, |bytes| {
        // What is not spilled is neither written nor read.
        2.0 * (bytes as f64 - common).max(0.0) * refused
    });
    if shape.predicted_fpr > USELESS_FPR || saved <= read_back as f64 {
        return Ok(None);
    }
    filter_store(run, store, &shape).map(Some)
}

/// How much of `input` is common, in bytes, if `passed` of its lines passed a filter of rate f.
///
/// All common lines pass, and the share f of the others: the share that passed is s = c + (1 - c) f. Solved
/// for the share c that is common, c = (s - f) / (1 - f). Lines are taken for equally long.
fn common_bytes(passed: u64, fpr: f64, input: &Input) -> f64 {
    let share = passed as f64 / input.lines().max(1) as f64;
    // A filter that refuses nothing says nothing: nearly the same share passes, whatever c is.
    let common = if fpr < 0.99 {
        ((share - fpr) / (1.0 - fpr)).max(0.0)
    } else {
        0.0
    };
    common * input.likely_bytes().unwrap_or(0) as f64
}
