//! `partition`: everything into buckets.
//!
//! *Owns:* its design, and the filter of a first input that is small. *Invariants:* as those of
//! [`design`](crate::plan::design).

use crate::error::Error;
use crate::plan::assumptions::{DEFAULT_BUCKETS, MANY_FILES};
use crate::plan::buckets::{LEAST_BUCKET_BYTES, set_buckets};
use crate::plan::design::{Design, cheaper, duplicate_cache};
use crate::plan::filters::surviving_others;
use crate::plan::job::{DataSize, InputShape};
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
/// Of lines that are longer in the mean, in bytes, windows of a sample show too few for the borders of ranges.
const MOST_SAMPLED_BYTES: u64 = 256;
/// Of more inputs, the sample of one shows too few.
const MOST_SAMPLED_INPUTS: u64 = 64;
/// The most bytes that a worker sorts at once: those of the largest sort buffer.
const MOST_SORTED_BYTES: u64 = 1 << 30;
/// Less memory for buffers has no room for the sample of the ranges beside a filter.
const LEAST_RANGED_BYTES: u64 = 8 << 20;
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
    layout: Layout,
    build: DataSize,
) -> Result<Layout, Error> {
    with_buckets(sized, layout, build, sized.set_bytes(build))
}

/// Adds buckets to a layout for scanning, for a build side of this size, whose lines take `set_bytes` bytes in a join.
fn with_buckets(
    sized: &SizedJob,
    mut layout: Layout,
    build: DataSize,
    set_bytes: u64,
) -> Result<Layout, Error> {
    // Six tenths of the memory, less the buffers for scanning, which are in use at the same time.
    let pool_bytes =
        layout.usable_bytes * POOL_TENTHS / 10 - layout.scan.bytes().min(layout.usable_bytes / 2);
    // Each bucket of each input is a file.
    let most = DEFAULT_BUCKETS.min(MANY_FILES / sized.order.len().max(1) as u64);
    let wanted = |blocks: u64| most.min(blocks).min(build.bytes / LEAST_BUCKET_BYTES);
    set_buckets(&sized.job, &mut layout, pool_bytes, set_bytes, wanted)?;
    Ok(layout)
}

/// Designs `partition`, in the way that moves fewer bytes: with buckets by hash, or by range where the answer is
/// sorted.
///
/// # Errors
/// [`Error::MemoryPlan`] when there is no room for the least number of blocks.
pub(crate) fn partition(sized: &SizedJob) -> Result<Design<'_>, Error> {
    cheaper(by_hash(sized), by_range(sized))
}

/// Designs it by hash: all inputs into buckets; the others through a filter of the first where that is small compared
/// with them. Everything that is spilled is written once and read once: moved = A + B + 2 (A + b B), with b = 1
/// without a filter. Where most lines come again, less: see [`duplicate_cache`].
///
/// # Errors
/// [`Error::MemoryPlan`] when there is no room for the least number of blocks.
fn by_hash(sized: &SizedJob) -> Result<Design<'_>, Error> {
    let sizes = &sized.sizes;
    let mut layout = partition_layout(sized, sized.scan, sizes.build)?;
    let filter = lopsided_filter(sized, &layout);
    let survivors = match filter {
        Some(_) => survivors(sized, filter),
        None => duplicate_cache::make_room(sized, &mut layout),
    };
    let mut design = design(sized, layout, filter, survivors);
    // The cache is a set of the lines that come again.
    if layout.pool.duplicate_cache_bytes > 0 {
        design.held = sizes.of_set;
    }
    Ok(design.priced())
}

/// Designs it by range, for an answer in the order of its lines: each bucket is joined and sorted in memory, and
/// written when its turn comes. Nothing is spilled but the inputs, once. `None` for any other answer; where a sample
/// would show too few lines of an input, or not in all its parts; and where buckets would have to be split.
///
/// A join has room for the set of a bucket and for as much again, to sort it. The borders come from a sample: of
/// URLs, the largest of 176 buckets had 1.16 times the mean, for which buckets have room as it is.
fn by_range(sized: &SizedJob) -> Option<Design<'_>> {
    let (rule, build) = (sized.rule(), sized.sizes.build);
    let is_plain = |shape: &InputShape| shape.bytes.is_some() && shape.decoding.is_none();
    let is_sampled = |size: &DataSize| size.bytes <= MOST_SAMPLED_BYTES * size.lines.max(1);
    let mut scan = sized.layout_without_order();
    scan.pool.by_range = true;
    if !rule.writes_keys_sorted()
        || !sized.job.inputs.iter().all(is_plain)
        || !sized.read.iter().all(is_sampled)
        || sized.order.len() as u64 > MOST_SAMPLED_INPUTS
        || scan.usable_bytes < LEAST_RANGED_BYTES
    {
        return None;
    }
    let join_bytes = sized.set_bytes(build).saturating_mul(2);
    let layout = with_buckets(sized, scan, build, join_bytes).ok()?;
    let share = layout.join_share(layout.pool.join_workers);
    let share = share.min(2 * MOST_SORTED_BYTES);
    if u64::from(layout.pool.buckets).saturating_mul(share) < join_bytes {
        return None;
    }
    let filter = lopsided_filter(sized, &layout);
    Some(design(sized, layout, filter, survivors(sized, filter)).priced())
}

/// Makes the design of a layout, in which `survivors` bytes are spilled.
fn design(
    sized: &SizedJob,
    layout: Layout,
    filter: Option<FilterPlan>,
    survivors: u64,
) -> Design<'_> {
    let list = List::Partition {
        feeds: filter.is_some(),
    };
    let mut design = Design::new(sized, Strategy::Partition, list, layout);
    design.joined_bytes = survivors;
    design.second_filter = filter;
    design
}

/// Estimates the bytes that are spilled, of the others those that pass the filter, if there is one.
fn survivors(sized: &SizedJob, filter: Option<FilterPlan>) -> u64 {
    let sizes = &sized.sizes;
    filter.map_or(sizes.total.bytes, |filter| {
        sizes.build.bytes + surviving_others(sizes, filter.predicted_fpr) as u64
    })
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
