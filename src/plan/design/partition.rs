//! `partition`: everything into buckets.
//!
//! *Owns:* its design, and the filter of a first input that is small. *Invariants:* as those of
//! [`design`](crate::plan::design).

use crate::error::Error;
use crate::plan::assumptions::{DEFAULT_BUCKETS, MANY_FILES};
use crate::plan::buckets::{LEAST_BUCKET_BYTES, set_buckets};
use crate::plan::design::{Design, duplicate_cache};
use crate::plan::filters::surviving_others;
use crate::plan::job::DataSize;
use crate::plan::layout::Layout;
use crate::plan::sizes::SizedJob;
use crate::plan::steps::List;
use crate::plan::{FilterPlan, SIEVE_BITS_PER_KEY, Strategy};

/// The other inputs of `partition` go through a filter of the first if they have this many times its
/// bytes: what the filter keeps out of the buckets is then nearly everything.
const LOPSIDED_FACTOR: u64 = 8;
/// This filter may have this fraction of the memory for buffers: the buckets hardly miss it.
const LOPSIDED_FILTER_SHARE: u64 = 16;
/// Bits per key that it must have to be built: 2.3 % pass by mistake.
const LEAST_LOPSIDED_BITS: f64 = 8.0;
/// The part of the memory for buffers, in tenths, that `partition` has for chunks and blocks. Blocks that
/// are still in memory when the join begins leave it the rest.
const POOL_TENTHS: u64 = 6;

/// Makes the layout of `partition` for a build side of this size: `layout`, which has the buffers for scanning, with
/// buckets added. A replan uses it, too, when it drops the filters of a sieve.
///
/// # Errors
/// [`Error::MemoryPlan`] when the buckets do not fit.
pub(in crate::plan) fn partition_layout(
    sized: &SizedJob,
    mut layout: Layout,
    build: DataSize,
) -> Result<Layout, Error> {
    // Six tenths of the memory, less the buffers for scanning, which are in use at the same time.
    let pool_bytes =
        layout.usable_bytes * POOL_TENTHS / 10 - layout.scan.bytes().min(layout.usable_bytes / 2);
    // Each bucket of each input is a file.
    let most = DEFAULT_BUCKETS.min(MANY_FILES / sized.order.len().max(1) as u64);
    let wanted = |blocks: u64| most.min(blocks).min(build.bytes / LEAST_BUCKET_BYTES);
    let set_bytes = sized.set_bytes(build);
    set_buckets(&sized.job, &mut layout, pool_bytes, set_bytes, wanted)?;
    Ok(layout)
}

/// Designs `partition`: all inputs into buckets; the others through a filter of the first where that is small compared
/// with them. Everything that is spilled is written once and read once: moved = A + B + 2 (A + b B), with b = 1
/// without a filter. Where most lines come again, less: see [`duplicate_cache`].
///
/// # Errors
/// [`Error::MemoryPlan`] when there is no room for the least number of blocks.
pub(crate) fn partition(sized: &SizedJob) -> Result<Design<'_>, Error> {
    let sizes = &sized.sizes;
    let mut layout = partition_layout(sized, sized.scan, sizes.build)?;
    let filter = lopsided_filter(sized, &layout);
    let survivors = match filter {
        Some(filter) => sizes.build.bytes + surviving_others(sizes, filter.predicted_fpr) as u64,
        None => duplicate_cache::make_room(sized, &mut layout),
    };
    let list = List::Partition {
        feeds: filter.is_some(),
    };
    let mut design = Design::new(sized, Strategy::Partition, list, layout);
    design.joined_bytes = survivors;
    design.second_filter = filter;
    // The cache is a set of the lines that come again.
    if layout.pool.duplicate_cache_bytes > 0 {
        design.held = sizes.of_set;
    }
    Ok(design.priced())
}

/// Plans the filter of a first input that is small compared with the others, or may be: compared with a pipe, whose
/// size is unknown. It is fed while that input is spilled, so it costs no reading. `None` if it would have too few
/// bits in its sixteenth of the memory.
fn lopsided_filter(sized: &SizedJob, layout: &Layout) -> Option<FilterPlan> {
    let (job, sizes) = (&sized.job, &sized.sizes);
    let has_unknown = job.inputs.iter().any(|shape| shape.bytes.is_none());
    let is_known = job.inputs.iter().any(|shape| shape.bytes.is_some());
    let others = sizes.total.bytes - sizes.build.bytes;
    let is_lopsided =
        is_known && (has_unknown || sizes.build.bytes.saturating_mul(LOPSIDED_FACTOR) <= others);
    let room = layout.usable_bytes / LOPSIDED_FILTER_SHARE;
    let filter = FilterPlan::new(sizes.build.lines, room, SIEVE_BITS_PER_KEY);
    (is_lopsided
        && job.inputs.len() > 1
        && sizes.building == 1
        && filter.bits_per_key >= LEAST_LOPSIDED_BITS)
        .then_some(filter)
}
