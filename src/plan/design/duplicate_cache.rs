//! The memory for a cache of lines that come again and again, so that each is spilled once.
//!
//! *Owns:* that division of the memory of `partition`, and what it saves. *Invariants:* a layout is changed only where
//! that saves a quarter of what would be spilled.
//!
//! *Formulas.* With r the share of lines that repeat another line of their input, and k the share of the different
//! lines that the memory holds, r k of all lines are not spilled: each of the lines that are known is spilled once,
//! unless occurrences are counted.
//!
//! ```text
//!  partition:    scan │ blocks: 6/10 less scan │ free for the join                │
//!  with cache:   scan │ blocks: 1/8 │ duplicate cache: 7/8 of the rest      │ free │
//! ```

use crate::memory::buffer::PAGE;
use crate::plan::assumptions::DEFAULT_BUCKETS;
use crate::plan::buckets::{GOOD_BLOCK, LEAST_BUCKET_BYTES, least_pool, set_buckets};
use crate::plan::design::spilled_bytes;
use crate::plan::layout::Layout;
use crate::plan::sizes::SizedJob;
use crate::selection::{MOST_COUNTED_SIDES, Marks};
use crate::set::line_set::estimate_set_bytes;

/// The least share of all lines that a duplicate cache must keep from being spilled to pay.
const LEAST_SAVED: f64 = 0.25;
/// Buckets are laid out for this multiple of the different lines: there are more than a sample shows where lines
/// are unequally frequent, and a bucket that is too large costs another writing and reading.
const BUCKET_HEADROOM: u64 = 3;
/// The fraction of the memory for buffers that blocks get if there is a duplicate cache.
const POOL_SHARE: u64 = 8;

/// Gives a duplicate cache memory in `layout`, that of `partition`, if that pays. Returns how many bytes are spilled.
pub(in crate::plan) fn make_room(sized: &SizedJob, layout: &mut Layout) -> u64 {
    let (job, sizes) = (&sized.job, &sized.sizes);
    let total = sizes.total.bytes;
    let spills = spilled_bytes(layout, total, job) > 0;
    let may_pay = spills && sizes.repeats >= LEAST_SAVED && job.buckets.is_none();
    if !may_pay || !can_drop_repeats(sized) {
        return total;
    }
    let line_bytes = sizes.distinct.bytes / sizes.distinct.lines.max(1);
    let mut other = layout.without_buckets();
    let pool_bytes = (layout.usable_bytes / POOL_SHARE).max(least_pool(layout.usable_bytes));
    let of_different = sized.set_bytes(sizes.distinct);
    let of_all = sized.set_bytes(sizes.build);
    let set_bytes = of_different.saturating_mul(BUCKET_HEADROOM).min(of_all);
    let wanted = |blocks: u64| {
        blocks
            .min(DEFAULT_BUCKETS)
            .min(set_bytes / LEAST_BUCKET_BYTES)
    };
    if set_buckets(job, &mut other, pool_bytes, set_bytes, wanted).is_err()
        || other.pool.block_bytes < GOOD_BLOCK.min(layout.pool.block_bytes)
    {
        return total;
    }
    other.pool.duplicate_cache_bytes = (other.rest_bytes() / 8 * 7) & !(PAGE - 1);
    other.pool.cached_line_bytes = line_bytes;
    let kept_bytes = 8 * sized.rule().kept().words() as u64;
    let each = estimate_set_bytes(1 << 20, (line_bytes + kept_bytes) << 20) >> 20;
    let held = other.pool.duplicate_cache_bytes as f64
        / each.max(1) as f64
        / sizes.distinct.lines.max(1) as f64;
    let saved = sizes.repeats * held.min(1.0);
    if saved < LEAST_SAVED {
        return total;
    }
    *layout = other;
    (total as f64 * (1.0 - saved)) as u64
}

/// Returns true if a line that repeats another may be dropped, or counted in the set. Dropped: if the selection counts
/// none, and the marks of the set have room for the inputs where they must be told apart. Counted: if the set alone
/// tells what is written of a line, and each input is one side.
fn can_drop_repeats(sized: &SizedJob) -> bool {
    let rule = sized.rule();
    // Where repeats of any side matter, those of the first do.
    if rule.needs_repeats_of(&[1]) {
        let is_told = !rule.writes_again() && rule.kept().marks != Marks::Row;
        return is_told && sized.sides.readings().len() == sized.order.len();
    }
    rule.takes_any() || sized.order.len() <= MOST_COUNTED_SIDES
}
