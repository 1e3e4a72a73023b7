//! `sieve`: each input through a filter of the one before it; only what survives reaches the
//! buckets.
//!
//! 1. `filter(A)`: a filter of the first input.
//! 2. The filter knows how many different lines A has. Where these fit as a set, B's survivors become one, and
//!    the others are streamed past it, as [`memory`](super::memory) does: then nothing is spilled. Else look
//!    at a sample of B, and plan the buckets again.
//! 3. `spill(B)` through the filter of A, into buckets; with room for it, a filter of B's survivors is fed.
//! 4. Else a filter of B's survivors is built from their buckets, if that pays.
//! 5. Further inputs go through steps 3 and 4, each through the filter of the one before.
//! 6. `spill(A)` through the last filter, and `join`.
//!
//! Exact: a filter only ever drops lines that are certainly not common, and the join compares
//! bytes. Reads the first input twice, the others once; writes the common lines and the few per
//! cent that pass by mistake. A filter is complete before the first line is held against it.
//!
//! The filter of survivors is fed while they are spilled, where the plan has memory for two filters
//! at a time, or else built from them afterwards, when it is known how many they are; and not at
//! all where it would drop too few lines to pay for reading the survivors once more.
//!
//! Buckets are planned a second time when the first filter is complete ([`revision`](crate::plan::revision)):
//! a sample of the next input tells how much of it survives. Where nearly all does, the filter goes, and
//! the rest of the run is `partition`.

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::input::Input;
use crate::output::Collector;
use crate::pass::filter::{empty, filter, filter_store, shape_for_store};
use crate::pass::join::{JoinKind, join};
use crate::pass::look::look;
use crate::pass::spill::{Spilled, spill};
use crate::plan::revision::{Look, Revision};
use crate::plan::{FilterPlan, Plan, SIEVE_BITS_PER_KEY};
use crate::run::Run;
use crate::strategy::memory::ResidentSet;
use crate::strategy::{
    StoredFilters, USELESS_FPR, describe, if_useful, partition::partition, save_if_wanted,
};

pub(crate) fn sieve(
    run: &mut Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    filters: StoredFilters<'_>,
    out: &Collector<'_>,
) -> Result<()> {
    let (Some((first, others)), Some(shape)) = (inputs.split_first(), plan.costs.filter) else {
        return partition(run, None, inputs, JoinKind::Common, out);
    };
    let mut built = filter(run, first, None, &shape)?;
    save_if_wanted(filters, &mut built)?;
    run.record().filter = Some(describe(&built));
    if let ([_, rest @ ..], Some((set, common))) = (others, set_instead(run, plan, others, &built)?)
    {
        drop(built);
        return set.mark(run, rest.iter().chain([first]), if_useful(&common), out);
    }
    let second_filter = match revision(run, plan, others, &built)? {
        None => plan.second_filter,
        Some(revision) if !revision.asks_filter => {
            drop(built);
            run.set_layout(revision.layout)?;
            return partition(run, None, inputs, JoinKind::Common, out);
        }
        Some(revision) => {
            run.set_layout(revision.layout)?;
            revision.second_filter
        }
    };
    let run = &*run;
    let pool = run.block_pool();
    let mut screen = Some(built);
    let mut stores = Vec::with_capacity(inputs.len());
    // Each further input, and the one that will go through a filter of its survivors.
    for (input, next) in others.iter().zip(others.iter().skip(1).chain([first])) {
        let mut fed = filter_to_feed(run, second_filter.as_ref())?;
        let useful = screen.as_ref().and_then(if_useful);
        let survivors = spill(run, &pool, input, useful, fed.as_mut())?;
        let fpr = match &screen {
            Some(filter) if useful.is_some() => filter.occupancy_sampled().fpr,
            _ => 1.0,
        };
        drop(screen);
        screen = match fed {
            Some(fed) => Some(fed),
            None => filter_if_it_pays(run, &survivors, fpr, input, next)?,
        };
        stores.push(survivors.buckets);
    }
    let useful = screen.as_ref().and_then(if_useful);
    stores.push(spill(run, &pool, first, useful, None)?.buckets);
    // The memory of filter and free blocks is the join's.
    drop((screen, pool));
    join(run, stores, JoinKind::Common, out)
}

/// The survivors of the second input as a set, with a filter of them, where so many lines repeat that they
/// fit. Where they do not after all, the sieve goes on: nothing was written yet, and a file can be read again.
fn set_instead(
    run: &Run<'_>,
    plan: &Plan,
    others: &[Input],
    built: &Filter,
) -> Result<Option<(ResidentSet, Filter)>> {
    let fpr = built.occupancy_sampled().fpr;
    let shape = plan.set_beside_filters(distinct(built), run.held_bytes(), fpr);
    let second = others.first().filter(|second| second.is_file());
    let (Some(shape), Some(second)) = (shape, second) else {
        return Ok(None);
    };
    match ResidentSet::of_survivors(run, built, second, shape, plan.build_line_bytes) {
        Err(Error::Memory { .. }) => Ok(None),
        set => set.map(Some),
    }
}

/// About how many different lines are in a filter.
fn distinct(filter: &Filter) -> f64 {
    filter
        .occupancy_sampled()
        .distinct
        .min(filter.keys() as f64)
}

/// How the run goes on, by what of the next input passes the filter.
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
        plan.revised_sieve(Look {
            filter_fpr: built.occupancy_sampled().fpr,
            filter_distinct: distinct(built),
            ..look
        })
    }))
}

/// The filter to feed, if one is planned and there is room for it: else it is built afterwards.
fn filter_to_feed(run: &Run<'_>, planned: Option<&FilterPlan>) -> Result<Option<Filter>> {
    match planned.map(|shape| empty(run, shape)) {
        None | Some(Err(Error::Memory { .. })) => Ok(None),
        Some(filter) => filter.map(Some),
    }
}

/// A filter of what survived of `input` a filter of rate `fpr`, if it saves more than reading that
/// once more costs.
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
    let saved = next.bytes().map_or(f64::INFINITY, |bytes| {
        // What is not spilled is neither written nor read.
        2.0 * (bytes as f64 - common).max(0.0) * refused
    });
    if shape.predicted_fpr > USELESS_FPR || saved <= read_back as f64 {
        return Ok(None);
    }
    filter_store(run, store, &shape).map(Some)
}

/// How much of `input` is common, in bytes, if `passed` of its lines passed a filter of rate f. The
/// share that passed is s = c + (1 - c) f, which gives the share c that is common.
fn common_bytes(passed: u64, fpr: f64, input: &Input) -> f64 {
    let share = passed as f64 / input.lines().max(1) as f64;
    // A filter that refused nothing tells nothing.
    let common = if fpr < 0.99 {
        ((share - fpr) / (1.0 - fpr)).max(0.0)
    } else {
        0.0
    };
    common * input.bytes().unwrap_or(0) as f64
}
