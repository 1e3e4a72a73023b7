//! `sieve`: each input through a filter of the one before it; only what survives reaches the
//! buckets.
//!
//! Exact: a filter only ever drops lines that are certainly not common, and the join compares
//! bytes. Reads the first input twice, the others once; writes the common lines and the few per
//! cent that pass by mistake. A filter is complete before the first line is held against it.
//!
//! The filter of survivors is fed while they are spilled, where the plan has memory for two filters
//! at a time, or else built from them afterwards, when it is known how many they are; and not at
//! all where so many are common that it would not drop enough to pay for reading them once more.

use crate::error::Result;
use crate::filter::BlockedFilter;
use crate::input::Input;
use crate::output::Collector;
use crate::pass::filter::{filter, filter_store, shape_for_store};
use crate::pass::join::join;
use crate::pass::spill::{Spilled, spill};
use crate::plan::{FilterPlan, SIEVE_BITS_PER_KEY};
use crate::run::Run;
use crate::spill::bucket::Bucket;
use crate::strategy::{USELESS_FPR, describe, if_useful, partition::partition};

pub(crate) fn sieve(run: &Run<'_>, inputs: &[Input], out: &Collector<'_>) -> Result<()> {
    let (Some((first, others)), Some(shape)) = (inputs.split_first(), run.plan.costs.filter) else {
        return partition(run, inputs, out);
    };
    let pool = run.block_pool();
    let mut keep = Some(filter(run, first, None, &shape)?);
    run.record().filter = keep.as_ref().map(describe);
    let mut stores = Vec::with_capacity(inputs.len());
    // Each further input, and what its survivors will be held against.
    for (input, next) in others.iter().zip(others.iter().skip(1).chain([first])) {
        let mut fed = match run.plan.second_filter {
            Some(shape) => Some(BlockedFilter::new(
                &run.budget,
                shape.bits / 8,
                shape.hashes,
            )?),
            None => None,
        };
        let useful = keep.as_ref().and_then(if_useful);
        let survivors = spill(run, &pool, input, useful, fed.as_mut())?;
        let passed_by_mistake = useful.map_or(1.0, |filter| filter.fill().fpr);
        drop(keep);
        keep = match fed {
            Some(fed) => Some(fed),
            None => {
                let most_bits = run.options.bits_per_key.unwrap_or(SIEVE_BITS_PER_KEY);
                let store = &survivors.buckets;
                let pays = |shape: &FilterPlan| {
                    let fprs = (passed_by_mistake, shape.predicted_fpr);
                    pays(&survivors, input, next, fprs)
                };
                match shape_for_store(run, store, most_bits).filter(pays) {
                    Some(shape) => Some(filter_store(run, store, &shape)?),
                    None => None,
                }
            }
        };
        stores.push(survivors.buckets);
    }
    let useful = keep.as_ref().and_then(if_useful);
    stores.push(spill(run, &pool, first, useful, None)?.buckets);
    // The memory of filter and free blocks is the join's.
    drop((keep, pool));
    join(run, stores, out)
}

/// Whether a filter of what survived of `input` saves more than reading that once more costs.
///
/// Of n lines the share s survived the first filter, whose rate is f: s = c + (1 - c) f, which gives
/// the share c that is common. As many lines of the next input are common; what the new filter
/// refuses of the rest need not be written and read again.
fn pays(
    survivors: &Spilled,
    input: &Input,
    next: &Input,
    (first_fpr, new_fpr): (f64, f64),
) -> bool {
    let written = |bucket: &Bucket| bucket.file.written_bytes;
    let on_disk: u64 = survivors.buckets.iter().map(written).sum();
    let survived = survivors.passed as f64 / input.lines().max(1) as f64;
    // A filter that refused nothing tells nothing.
    let common = match first_fpr {
        ..0.99 => ((survived - first_fpr) / (1.0 - first_fpr)).max(0.0),
        _ => 0.0,
    };
    let next_bytes = next.bytes().unwrap_or(u64::MAX) as f64;
    let common_bytes = common * input.bytes().map_or(next_bytes, |bytes| bytes as f64);
    let saved = 2.0 * (next_bytes - common_bytes).max(0.0) * (1.0 - new_fpr);
    new_fpr <= USELESS_FPR && saved > on_disk as f64
}
