//! The number of buckets, the size of their blocks, and the number of workers that join at a time.
//!
//! *Owns:* the arithmetic of buckets. *Invariants:* the blocks of all buckets fit the memory given
//! for them.
//!
//! *Formula:* as many buckets as it takes for the set of one bucket of the build side to fit the share of
//! one join worker, with 30 % for chance and for estimates that are off:
//!
//! ```text
//! buckets >= set bytes of the build side * 1.3 / bytes of a join worker's share
//! ```
//!
//! More, up to 1000, where the memory for blocks has room for full-size blocks. Where not even the smallest blocks fit
//! for so many, far fewer: each bucket is then split during the join, and both times blocks are large enough for quick
//! writes.
//!
//! ```text
//!  memory for blocks
//!  ├──────┬──────┬──── ... ──┬──────┬──────────────────┬─┐
//!  │ open │ open │           │ open │ being written    │1│  then blocks that stay in memory
//!  └──────┴──────┴──── ... ──┴──────┴──────────────────┴─┘
//!    one for each bucket                   a fifth
//! ```

use crate::error::Error;
use crate::plan::job::Job;
use crate::plan::layout::{Layout, SMALLEST_BLOCK, most_in_bucket};
use crate::plan::refusal::too_little;
use crate::spill::pool::in_flight;

/// Buckets are planned for this multiple of the estimated set: room for chance, and for estimates that are
/// off.
pub(super) const SLACK: f64 = 1.3;
/// A split makes this multiple of the parts that would do if all were equal.
const SPLIT_SLACK: f64 = 1.5;
/// The least that a bucket of the build side should have, in bytes, unless memory asks for smaller ones.
pub(super) const LEAST_BUCKET_BYTES: u64 = 8 << 20;
/// The most buckets of one level.
pub(super) const MOST_BUCKETS: u64 = 65_536;
/// The share of an input that buckets are laid out for if buckets for all of it do not fit. Three times what is
/// assumed to survive: a bucket that does not fit is written and read once more.
pub(super) const SIEVE_HEADROOM: f64 = 0.3;

/// The size in bytes from which a block is written at a good part of the disk's speed.
pub(super) const GOOD_BLOCK: u64 = 64 << 10;

/// The least set, in bytes, that is worth a join worker: a smaller one is joined in the time that a
/// thread takes to start.
const LEAST_WORKERS_SET: u64 = 64 << 10;

/// Returns the memory for blocks, in bytes, that a filter must leave, however much it wants: two dozen good blocks
/// (1.5 MiB); in a small memory a sixteenth of it, but at least two dozen of the smallest blocks.
pub(super) fn least_pool(usable_bytes: u64) -> u64 {
    (24 * GOOD_BLOCK)
        .min(usable_bytes / 16)
        .max(24 * SMALLEST_BLOCK)
}

/// Chooses buckets for what survives a filter, whose amount is unknown before the filter is built.
///
/// `set_bytes` is the set of everything that could survive; buckets must have room for the share `likely` of it.
/// `wanted_filters` are the bytes that the filters would use if they had them, `least_share` is the fraction of the
/// memory that blocks get in any case. In two tries:
///
/// 1. For everything: if the memory that the filters do not want, up to a third of all, has room for good
///    blocks, no number of survivors can make a bucket too large.
/// 2. For what is likely, in as little memory as one level of buckets takes: the rest goes to the filters.
pub(super) fn buckets_for_survivors(
    job: &Job,
    layout: &mut Layout,
    set_bytes: u64,
    likely: f64,
    wanted_filters: u64,
    least_share: u64,
) -> Result<(), Error> {
    let least_pool = (layout.usable_bytes / least_share).max(least_pool(layout.usable_bytes));
    let unwanted = layout
        .usable_bytes
        .saturating_sub(layout.scan.bytes() + wanted_filters);
    let roomy = unwanted.min(layout.usable_bytes / 3);
    if roomy >= least_pool {
        let mut generous = *layout;
        let wanted = |blocks: u64| blocks.min(set_bytes / LEAST_BUCKET_BYTES);
        let found = set_buckets(job, &mut generous, roomy, set_bytes, wanted);
        let good = GOOD_BLOCK.min(most_in_bucket(job, generous.pool.buckets));
        if found.is_ok() && generous.pool.block_bytes >= good {
            *layout = generous;
            return Ok(());
        }
    }
    let part = (set_bytes as f64 * likely) as u64;
    // Blocks come before the filter here: a second level of buckets writes and reads all survivors again,
    // which costs more than the filter's last bits save.
    let one_level = one_level_bytes(layout, part).min(layout.usable_bytes / 4);
    let pool_bytes = least_pool.max(one_level);
    set_buckets(job, layout, pool_bytes, part, |blocks| {
        blocks.min(part / LEAST_BUCKET_BYTES)
    })
}

/// Returns the least memory for blocks, in bytes, with which no bucket has to be split, for a build side whose set
/// has `set_bytes`: the smallest block for each bucket that a single join worker needs, and one or two dozen more.
pub(super) fn one_level_bytes(layout: &Layout, set_bytes: u64) -> u64 {
    let needed = (set_bytes as f64 * SLACK / layout.join_share(1).max(1) as f64) as u64;
    (needed + in_flight(needed) + 8) * SMALLEST_BLOCK
}

/// Counts the buckets of the first level, at least 1, where every bucket will be split: as many as give both levels
/// blocks of the same size, because the smaller of two would set the pace. More where a split could not divide them
/// far enough, up to one for each smallest block; and that many where without the slack one level would do.
///
/// There are P bytes for blocks here, and S / 2 in a split, with S the share of the worker. F buckets have blocks of P
/// / F. If n parts are needed in all, each bucket is split into n / F, and their blocks have (S / 2) / (n / F). Both
/// sizes are equal at F = sqrt(2 n P / S).
fn first_of_two_levels(layout: &Layout, pool_bytes: u64, set_bytes: u64) -> u64 {
    let share = layout.join_share(1).max(1) as f64;
    let blocks = |bytes: u64| {
        let all = bytes / SMALLEST_BLOCK;
        all.saturating_sub(in_flight(all) + 4).max(1)
    };
    let most = blocks(pool_bytes);
    let without_slack = set_bytes as f64 / share;
    if without_slack < most as f64 {
        return most;
    }
    let parts = without_slack * SPLIT_SLACK;
    let equal = (2.0 * parts * pool_bytes as f64 / share).sqrt() as u64;
    let least = (parts / blocks(share as u64 / 2) as f64) as u64;
    equal.max(least).min(most)
}

/// Chooses the number of buckets, the join workers and the blocks, and writes them to `layout`.
///
/// `set_bytes` is the set of the whole build side, `pool_bytes` the memory for blocks. `wanted` says how
/// many buckets the strategy would like, given how many full-size blocks fit.
///
/// # Errors
/// [`Error::MemoryPlan`] when blocks for the buckets that the caller asked for do not fit, or when not even
/// the smallest blocks do.
pub(super) fn set_buckets(
    job: &Job,
    layout: &mut Layout,
    pool_bytes: u64,
    set_bytes: u64,
    wanted: impl Fn(u64) -> u64,
) -> Result<(), Error> {
    if let Some(buckets) = job.buckets {
        // The caller chose the number: blocks of a page will do.
        if layout.set_pool(job, buckets, pool_bytes, 4096) {
            return Ok(());
        }
        return Err(too_little(
            &format!("blocks for {buckets} buckets do not fit"),
            job,
        ));
    }
    let most = layout.most_buckets(job.inputs.len()).max(1);
    // More workers have smaller shares, need more buckets for them, and so get smaller blocks. Take the
    // most workers with which blocks stay of a good size, and no more than there is work for. A single
    // worker may have the smallest blocks; two may, where they sort ranges, which is the most work of the run.
    let few = if layout.pool.by_range { 2 } else { 1 };
    let busy = (set_bytes / LEAST_WORKERS_SET).max(1) as usize;
    for workers in (1..=layout.scan.workers.min(busy)).rev() {
        let share = layout.join_share(workers).max(1);
        let needed = (set_bytes as f64 * SLACK / share as f64).ceil() as u64;
        let full_blocks = (pool_bytes >> 20).saturating_sub(8);
        // At least two buckets for each worker, so that all have work while the last ones are joined.
        let buckets = needed
            .max(wanted(full_blocks))
            .max(workers as u64 * 2)
            .min(MOST_BUCKETS.min(most)) as u32;
        let least = if workers <= few {
            SMALLEST_BLOCK
        } else {
            GOOD_BLOCK
        };
        if layout.set_pool(job, buckets, pool_bytes, least) {
            layout.pool.join_workers = workers;
            return Ok(());
        }
    }
    // One level cannot make buckets small enough: the join splits those that do not fit. One worker has the largest
    // blocks for that; two with blocks of half the size were slower.
    layout.pool.join_workers = 1;
    let buckets = first_of_two_levels(layout, pool_bytes, set_bytes).min(MOST_BUCKETS.min(most));
    let buckets = buckets as u32;
    if layout.set_pool(job, buckets, pool_bytes, 4096) {
        return Ok(());
    }
    Err(too_little(
        "there is no room for the buffers of the buckets",
        job,
    ))
}
