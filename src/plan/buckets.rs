//! How many buckets, in blocks of what size, joined by how many workers at a time.
//!
//! *Owns:* the arithmetic of buckets. *Invariants:* the blocks of all buckets fit the memory given
//! for them. *Cost:* none.
//!
//! *Formula:* as many buckets as it takes for the set of one bucket of the build side fits a join worker's
//! share, with 30 % for chance and for estimates that are off; more, up to 1000, where blocks of
//! full size fit for more.

use crate::error::Error;
use crate::plan::design::too_little;
use crate::plan::job::Job;
use crate::plan::layout::{Layout, SMALLEST_BLOCK};
use crate::spill::pool::IN_FLIGHT;

/// Room for chance, and for estimates that are off.
pub(super) const SLACK: f64 = 1.3;
/// Buckets by default, where blocks of full size fit for all of them.
pub(super) const DEFAULT_BUCKETS: u64 = 1000;
/// The least that a bucket of the build side should have, unless memory asks for smaller ones.
pub(super) const LEAST_BUCKET_BYTES: u64 = 8 << 20;
/// The most buckets of one level.
pub(super) const MOST_BUCKETS: u64 = 65_536;
/// Survivors that buckets are laid out for where not all fit, as a share of the input: more than is
/// assumed, for a bucket that does not fit costs another reading and writing.
pub(super) const SIEVE_HEADROOM: f64 = 0.3;

/// A block that is written at a good part of the disk's speed.
pub(super) const GOOD_BLOCK: u64 = 64 << 10;

/// The least set that is worth a join worker: less is joined in the time that a thread and its loader take
/// to start.
const LEAST_WORKERS_SET: u64 = 64 << 10;

/// The memory for blocks that a filter must leave, however much it wants: two dozen good blocks, or
/// a sixteenth of a small memory.
pub(super) fn least_pool(usable_bytes: u64) -> u64 {
    (24 * GOOD_BLOCK)
        .min(usable_bytes / 16)
        .max(24 * SMALLEST_BLOCK)
}

/// Buckets for what survives a filter, which nobody knows: for everything where the memory that the
/// filters do not want has room for the blocks, else for a part, and the least memory.
pub(super) fn buckets_for_survivors(
    job: &Job,
    layout: &mut Layout,
    set_bytes: u64,
    wanted_filters: u64,
    least_pool: u64,
) -> Result<u32, Error> {
    let unwanted = layout
        .usable_bytes
        .saturating_sub(layout.scan_bytes() + wanted_filters);
    let roomy = unwanted.min(layout.usable_bytes / 3);
    if roomy >= least_pool {
        let mut generous = *layout;
        let wanted = |blocks: u64| blocks.min(set_bytes / LEAST_BUCKET_BYTES);
        let buckets = set_buckets(job, &mut generous, roomy, set_bytes, wanted);
        if let Some(buckets) = buckets.ok().filter(|_| generous.block_bytes >= GOOD_BLOCK) {
            *layout = generous;
            return Ok(buckets);
        }
    }
    let part = (set_bytes as f64 * SIEVE_HEADROOM) as u64;
    // Bits of a filter are worth less than a second level of buckets, which moves everything again.
    let one_level = one_level_bytes(layout, part).min(layout.usable_bytes / 4);
    let pool_bytes = least_pool.max(one_level);
    set_buckets(job, layout, pool_bytes, part, |blocks| {
        blocks.min(part / LEAST_BUCKET_BYTES)
    })
}

/// The least memory for blocks with which no bucket has to be split, for a build side whose set has
/// `set_bytes`.
pub(super) fn one_level_bytes(layout: &Layout, set_bytes: u64) -> u64 {
    let needed = (set_bytes as f64 * SLACK / layout.join_share(1).max(1) as f64) as u64;
    (needed + IN_FLIGHT + 8) * SMALLEST_BLOCK
}

/// Chooses the number of buckets, the join workers and the blocks. `set_bytes` is the set of the
/// whole build side.
pub(super) fn set_buckets(
    job: &Job,
    layout: &mut Layout,
    pool_bytes: u64,
    set_bytes: u64,
    wanted: impl Fn(u64) -> u64,
) -> Result<u32, Error> {
    if let Some(buckets) = job.buckets {
        if layout.set_pool(job, buckets, pool_bytes, 4096) {
            return Ok(buckets);
        }
        return Err(too_little(
            "buckets",
            &format!("blocks for {buckets} buckets do not fit"),
            job,
        ));
    }
    let most = layout.most_buckets(job.inputs.len()).max(1);
    // As many join workers as threads if their shares can be filled with blocks of a good size;
    // else, and where there is little to join, fewer.
    let busy = (set_bytes / LEAST_WORKERS_SET).max(1) as usize;
    for workers in (1..=layout.workers.min(busy)).rev() {
        let share = layout.join_share(workers).max(1);
        let needed = (set_bytes as f64 * SLACK / share as f64).ceil() as u64;
        let full_blocks = (pool_bytes >> 20).saturating_sub(8);
        let buckets = needed
            .max(wanted(full_blocks))
            .max(workers as u64 * 2)
            .min(MOST_BUCKETS.min(most)) as u32;
        let least = if workers == 1 {
            SMALLEST_BLOCK
        } else {
            GOOD_BLOCK
        };
        if layout.set_pool(job, buckets, pool_bytes, least) {
            layout.join_workers = workers;
            return Ok(buckets);
        }
    }
    // Too many for one level: as many as there are blocks, and those that do not fit are split.
    layout.join_workers = 1;
    let buckets = (pool_bytes / SMALLEST_BLOCK)
        .saturating_sub(8)
        .clamp(1, MOST_BUCKETS.min(most)) as u32;
    if layout.set_pool(job, buckets, pool_bytes, 4096) {
        return Ok(buckets);
    }
    Err(too_little("blocks", "there is no room for them", job))
}
