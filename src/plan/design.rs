//! What each strategy would look like for a job: buckets, filters, layout, costs.
//!
//! *Owns:* one function per strategy, each the arithmetic of its row in the crate page's table.
//! *Invariants:* a design fits the limit, or there is none and the reason names a limit that would
//! do.
//!
//! *Formulas.* What a design reads and writes, in bytes. A and B are the inputs; a and b are the shares
//! (0..1) of them that pass a filter. What is spilled is written once and read once by the join; what fits
//! the blocks in memory is neither.
//!
//! ```text
//!             reads the inputs   spills           also reads
//! memory      A + B                               A again, with filters
//! partition   A + B              A + B            (A + b B where A is small beside B)
//! sieve       2A + B             a A + b B        b B, where the second filter is built from it
//! bloom       A + B              b B              a stored filter
//! ```
//!
//! Who gets which part of the memory beside reading (`layout` draws the whole):
//!
//! ```text
//!             set or filters                           blocks                          join
//! memory      the set and its filters                  none                            none
//! partition   1/16 for a filter, if A is small         6/10, less what reading takes   the rest
//!             (7/8 for known lines that come again     1/8)
//! sieve       what blocks leave, up to 12 bits a key   1/16, or one level of buckets   all of it,
//! bloom       what blocks leave, up to 32 bits a key   1/128, or one level of buckets  afterwards
//! ```
//!
//! In `sieve` and `bloom`, blocks get what the filters have no use for; see `give_rest_to_pool`.

use crate::error::Error;
use crate::filter::sizing::best_blocked;
use crate::memory::buffer::PAGE;
use crate::plan::Strategy;
use crate::plan::buckets::{
    DEFAULT_BUCKETS, LEAST_BUCKET_BYTES, SIEVE_HEADROOM, buckets_for_survivors, least_pool,
    set_buckets,
};
use crate::plan::filters::{MOST_BITS_PER_KEY, SievePlan, expected_survivors, surviving_others};
use crate::plan::job::{Extent, Job, SetEstimate, Sizes, order};
use crate::plan::known;
use crate::plan::layout::Layout;
use crate::plan::ordering;
use crate::plan::phases::{Survivors, phases};
use crate::plan::{Costs, FilterPlan, OrderPlan, Plan, Rejected, SIEVE_BITS_PER_KEY};
use crate::selection::Order;
use crate::set::addresses::BITMAP_BYTES;
use crate::set::sharded::SHARDS;
use crate::size::display_bytes;

/// The cap on bits per key of `bloom`, unless a lower rate is asked for: beyond it an approximate result
/// hardly gets better.
const BLOOM_BITS_PER_KEY: f64 = 32.0;
/// For a lower rate the cap grows in steps of this many bits per key.
const BLOOM_BITS_STEP: f64 = 8.0;
/// Bits per key of the filter before a set: 0.4 % pass by mistake.
pub(super) const SET_BITS_PER_KEY: f64 = 12.0;
/// Memory in bytes that blocks which stay in memory leave to the join, but no more than an eighth of it.
pub(super) const JOIN_SLACK_BYTES: u64 = 4 << 20;
/// The other inputs of `partition` go through a filter of the first if they have this many times its
/// bytes: what the filter keeps out of the buckets is then nearly everything.
const LOPSIDED_FACTOR: u64 = 8;
/// This filter may have this fraction of the memory for buffers: the buckets hardly miss it.
const LOPSIDED_FILTER_SHARE: u64 = 16;
/// Bits per key that it must have to be built: 2.3 % pass by mistake.
const LEAST_LOPSIDED_BITS: f64 = 8.0;
/// The arena of a shard grows by a quarter when it is full, so a set may have this multiple of its bytes.
const ARENA_SLACK: f64 = 1.25;
/// Room in bytes for each shard of a set: shards are uneven, and while the table of one grows, the old and
/// the new one are both in memory.
const SHARD_SLACK_BYTES: u64 = 64 << 10;
/// What a shard of even the smallest set takes, in bytes.
const LEAST_SHARD_BYTES: u64 = 8 << 10;
/// A filter is put before a set only if the lines that pass it by mistake are less than this share of the
/// set's lines. `strategy/memory.rs` checks the same when the filter is complete.
const MOST_BY_MISTAKE: f64 = 0.25;
/// The part of the memory for buffers, in tenths, that `partition` has for chunks and blocks. Blocks that
/// are still in memory when the join begins leave it the rest.
const POOL_TENTHS: u64 = 6;
/// Both filters of a sieve, as a multiple of the first: the second is of a tenth of the lines, with slack.
const SIEVE_FILTERS: f64 = 1.2;
/// Both filters of a chain of `bloom`, as a multiple of the first.
const BLOOM_FILTERS: f64 = 1.4;
/// Blocks have at least this fraction of the memory for buffers beside the filters of a sieve.
const SIEVE_POOL_SHARE: u64 = 16;
/// The same beside the filters of `bloom`, which spills only the last input.
pub(super) const BLOOM_POOL_SHARE: u64 = 128;
/// The second filter of a chain has this fraction of the room for filters.
const CHAIN_SHARE: u64 = 4;
/// A set of more bytes than this is far larger than the processor's caches: a look-up waits for memory.
const LARGE_SET_BYTES: u64 = 32 << 20;

/// A strategy that fits the limit of its job.
#[derive(Debug)]
pub(crate) struct Design {
    /// What it would cost; `auto` compares these.
    pub(crate) costs: Costs,
    /// As [`Plan::second_filter`].
    second_filter: Option<FilterPlan>,
    /// How memory is divided; its parts and the filters fit `usable_bytes`.
    layout: Layout,
    /// As [`Plan::uses_bitmap`]; `memory` only.
    uses_bitmap: bool,
    /// Bytes that the later phases go through, for the progress display.
    survivors: Survivors,
    /// What the order of the answer costs.
    ordering: Option<OrderPlan>,
}

impl Design {
    /// A design without a bitmap and without anything to join.
    pub(super) fn new(costs: Costs, second_filter: Option<FilterPlan>, layout: Layout) -> Self {
        Self {
            costs,
            second_filter,
            layout,
            uses_bitmap: false,
            survivors: Survivors::default(),
            ordering: None,
        }
    }

    /// The same design, whose join goes through `bytes` bytes.
    pub(super) fn joining(mut self, bytes: u64) -> Self {
        self.survivors.joined = bytes;
        self
    }

    /// The same design with the costs of the order that `job` asks for.
    pub(super) fn ordered(mut self, job: &Job) -> Self {
        self.ordering = ordering::order(job, &self.layout, &mut self.costs);
        self
    }

    /// The plan that this design of `job` is, with the reasons against the others.
    pub(crate) fn into_plan(self, job: &Job, rejected: Vec<Rejected>) -> Plan {
        let Extent { bytes, lines } = Sizes::of(job).of_set;
        Plan {
            build_lines: lines,
            build_line_bytes: bytes / lines.max(1),
            phases: phases(job, &self.costs, self.survivors, self.ordering.as_ref()),
            ordering: self.ordering,
            uses_bitmap: self.uses_bitmap,
            costs: self.costs,
            rejected,
            second_filter: self.second_filter,
            order: order(job),
            layout: self.layout,
            job: job.clone(),
        }
    }
}

/// What a set of the lines of `extent` takes, in bytes, with room to grow:
///
/// ```text
/// (bytes + 12 per line + table) * 1.25  +  64 shards * min(64 KiB, bytes + 8 KiB)
/// ```
///
/// The minimum keeps a set of a few lines from being charged 4 MiB.
pub(super) fn resident_set_bytes(extent: Extent) -> u64 {
    let each_shard = SHARD_SLACK_BYTES.min(extent.bytes + LEAST_SHARD_BYTES);
    (extent.set_bytes() as f64 * ARENA_SLACK) as u64 + SHARDS as u64 * each_shard
}

/// What the set of a strategy is made of, as a sentence's beginning.
pub(crate) fn build_side(job: &Job) -> &'static str {
    match job.building_inputs() {
        _ if job.selection.repeats => "the inputs behind the first do",
        1 if job.selection.in_first => "the first input does",
        1 => "the smallest input does",
        building if building < job.inputs.len() => "the smaller inputs do",
        _ => "the lines of all inputs do",
    }
}

/// `memory`: the building inputs as a set, the others streamed past it.
///
/// # Errors
/// [`Error::MemoryPlan`] where the set does not fit; see [`SetEstimate`] for how far that estimate is
/// trusted. Refused, too, where no input has a known size and the caller did not name `memory`.
pub(crate) fn memory(job: &Job) -> Result<Design, Error> {
    let sizes = Sizes::of(job);
    let layout = Layout::for_scan(job);
    let has_known = job.inputs.iter().any(|shape| shape.bytes.is_some());
    let set_bytes = resident_set_bytes(sizes.of_set).saturating_add(job.tally_bytes(sizes.of_set));
    let beside_set = layout.base_bytes + layout.scan_bytes();
    // From three inputs on, the bitmap of what is common so far and that of the next input are both in
    // memory.
    let bitmap_bytes = BITMAP_BYTES * if job.inputs.len() > 2 { 2 } else { 1 };
    let uses_bitmap =
        job.is_ipv4 && job.finds_common() && beside_set + bitmap_bytes <= job.memory_bytes;
    // A bitmap has no room for ordinals.
    let uses_bitmap = uses_bitmap && job.selection.order != Order::Input;
    let needed = beside_set + if uses_bitmap { bitmap_bytes } else { set_bytes };
    let is_wanted = job.strategy == Some(Strategy::Memory);
    let is_refused = match job.set_estimate {
        SetEstimate::Try if is_wanted => false,
        SetEstimate::Try | SetEstimate::Trust => {
            needed > job.memory_bytes || !(has_known || is_wanted)
        }
        SetEstimate::Overflowed => true,
    };
    if is_refused {
        let what = format!("{} not fit as a set", build_side(job));
        return Err(too_little(&what, job));
    }
    let filters = set_filters(job, &sizes, needed, uses_bitmap);
    let (passes, again, filter_bytes) = filters.map_or((1, 0, 0), |(first, second)| {
        (2, sizes.build.bytes, (first.bits + second.bits) / 8)
    });
    let costs = Costs {
        strategy: Strategy::Memory,
        exact: true,
        buckets: 0,
        passes,
        bytes_read: sizes.total.saturating_add(again),
        bytes_written: 0,
        temp_peak_bytes: 0,
        memory_bytes: (needed + filter_bytes).min(job.memory_bytes),
        filter: filters.map(|(first, _)| first),
        expected_false_lines: 0.0,
        expected_missing_lines: 0.0,
        expected_precision: None,
    };
    Ok(Design {
        uses_bitmap,
        ..Design::new(costs, filters.map(|(_, second)| second), layout)
    })
}

/// The two filters of `memory`, where they pay.
///
/// The first is of the smallest input; only lines of the second input that pass it enter the set. The second
/// is of the lines in the set; only lines of the other inputs, and of the smallest one at the end, that pass
/// it are looked up. The set then holds the common lines and some more, mostly a small part of an input.
///
/// They cost another reading of the smallest input. That pays where the input is in the page cache and a set
/// of all of it would be far larger than the processor's caches. `needed` is what the run takes in bytes
/// without filters; they must fit beside it, because the design does not count on a smaller set.
fn set_filters(
    job: &Job,
    sizes: &Sizes,
    needed: u64,
    uses_bitmap: bool,
) -> Option<(FilterPlan, FilterPlan)> {
    let build = *order(job).first()?;
    let pays = !uses_bitmap
        && job.finds_common()
        && job.inputs.len() > 1
        && job.inputs[build].is_cached
        && (sizes.build.set_bytes() > LARGE_SET_BYTES || job.bits_per_key.is_some());
    let bits_per_key = job.bits_per_key.unwrap_or(SET_BITS_PER_KEY);
    let first = FilterPlan::new(sizes.build.lines, job.memory_bytes, bits_per_key);
    let survivors = expected_survivors(sizes, &first);
    let second = FilterPlan::new(survivors, job.memory_bytes, bits_per_key);
    let fits = needed + (first.bits + second.bits) / 8 <= job.memory_bytes;
    // Beside an input that is much larger, the lines that pass by mistake would be most of the set.
    let by_mistake = sizes.last.lines as f64 * first.predicted_fpr;
    let stays_small =
        by_mistake < sizes.build.lines as f64 * MOST_BY_MISTAKE || job.bits_per_key.is_some();
    (pays && fits && stays_small).then_some((first, second))
}

/// The layout of `partition`: `layout`, which has the buffers for scanning, with buckets added. The second
/// look uses it, too, when it drops the filters of a sieve.
///
/// # Errors
/// [`Error::MemoryPlan`] when the buckets do not fit.
pub(super) fn partition_layout(
    job: &Job,
    mut layout: Layout,
    sizes: &Sizes,
) -> Result<Layout, Error> {
    // Six tenths of the memory, less the buffers for scanning, which are in use at the same time.
    let pool_bytes =
        layout.usable_bytes * POOL_TENTHS / 10 - layout.scan_bytes().min(layout.usable_bytes / 2);
    let wanted = |blocks: u64| {
        DEFAULT_BUCKETS
            .min(blocks)
            .min(sizes.build.bytes / LEAST_BUCKET_BYTES)
    };
    let set_bytes = sizes.build.set_bytes() + job.tally_bytes(sizes.build);
    set_buckets(job, &mut layout, pool_bytes, set_bytes, wanted)?;
    Ok(layout)
}

/// `partition`: all inputs into buckets; the others through a filter of the first where that is small beside
/// them. Everything that is spilled is written once and read once:
/// moved = A + B + 2 (A + b B), with b = 1 without a filter. Where most lines come again, less: see [`known`].
///
/// # Errors
/// [`Error::MemoryPlan`] when there is no room for the least number of blocks.
pub(crate) fn partition(job: &Job) -> Result<Design, Error> {
    let sizes = Sizes::of(job);
    let mut layout = partition_layout(job, Layout::for_scan(job), &sizes)?;
    let filter = lopsided_filter(job, &sizes, &layout);
    let survivors = match filter {
        Some(filter) => sizes.build.bytes + surviving_others(&sizes, filter.predicted_fpr) as u64,
        None => known::make_room(job, &sizes, &mut layout),
    };
    let buckets = layout.buckets;
    let spilled = spilled_bytes(&layout, buckets, survivors, job);
    let costs = Costs {
        strategy: Strategy::Partition,
        exact: true,
        buckets,
        passes: 1,
        bytes_read: sizes.total.saturating_add(spilled),
        bytes_written: spilled,
        temp_peak_bytes: spilled,
        memory_bytes: used_at_most(&layout, layout.usable_bytes),
        filter: None,
        expected_false_lines: 0.0,
        expected_missing_lines: 0.0,
        expected_precision: None,
    };
    Ok(Design::new(costs, filter, layout).joining(survivors))
}

/// The filter of a first input that is small beside the others, or may be: beside a pipe, whose size is
/// unknown. It is fed while that input is spilled, so it costs no reading. `None` where it would have too few
/// bits in its sixteenth of the memory.
fn lopsided_filter(job: &Job, sizes: &Sizes, layout: &Layout) -> Option<FilterPlan> {
    let has_unknown = job.inputs.iter().any(|shape| shape.bytes.is_none());
    let is_known = job.inputs.iter().any(|shape| shape.bytes.is_some());
    let others = sizes.total - sizes.build.bytes;
    let is_lopsided =
        is_known && (has_unknown || sizes.build.bytes.saturating_mul(LOPSIDED_FACTOR) <= others);
    let room = layout.usable_bytes / LOPSIDED_FILTER_SHARE;
    let filter = FilterPlan::new(sizes.build.lines, room, SIEVE_BITS_PER_KEY);
    (is_lopsided
        && job.inputs.len() > 1
        && job.building_inputs() == 1
        && filter.bits_per_key >= LEAST_LOPSIDED_BITS)
        .then_some(filter)
}

/// `sieve`: each input through a filter of the one before it; the first again at the end.
///
/// Memory is divided in this order: buffers for scanning; blocks, as `buckets_for_survivors` chooses them;
/// both filters in what is left, up to their cap; then what the filters cannot use goes back to the blocks,
/// so that survivors stay in memory.
///
/// # Errors
/// [`Error::MemoryPlan`] when there is no room for the least number of blocks.
pub(crate) fn sieve(job: &Job) -> Result<Design, Error> {
    let sizes = Sizes::of(job);
    let mut layout = Layout::for_scan(job);
    let cap = job.bits_per_key.unwrap_or(SIEVE_BITS_PER_KEY);
    let wanted_filters = (sizes.build.lines as f64 * cap / 8.0 * SIEVE_FILTERS) as u64;
    let least_pool = (layout.usable_bytes / SIEVE_POOL_SHARE).max(least_pool(layout.usable_bytes));
    let buckets = buckets_for_survivors(
        job,
        &mut layout,
        (sizes.build.set_bytes(), SIEVE_HEADROOM),
        wanted_filters,
        least_pool,
    )?;
    let plan = SievePlan::new(&sizes, layout.rest_bytes(), cap);
    let filters = (plan.first.bits + plan.fed.map_or(0, |fed| fed.bits)) / 8;
    give_rest_to_pool(&mut layout, filters, job);

    let spilled = spilled_bytes(&layout, buckets, plan.survivors, job);
    // Survivors that stay in memory are read back from there: no bytes from disk.
    let read_back = if spilled == 0 { 0 } else { plan.read_back };
    let costs = Costs {
        strategy: Strategy::Sieve,
        exact: true,
        buckets,
        passes: 2,
        bytes_read: sizes
            .total
            .saturating_add(sizes.build.bytes)
            .saturating_add(spilled)
            .saturating_add(read_back),
        bytes_written: spilled,
        temp_peak_bytes: spilled,
        memory_bytes: used_at_most(&layout, filters + layout.scan_bytes() + layout.pool_bytes()),
        filter: Some(plan.first),
        expected_false_lines: 0.0,
        expected_missing_lines: 0.0,
        expected_precision: None,
    };
    let mut design = Design::new(costs, plan.fed, layout).joining(plan.survivors);
    design.survivors.read_back = plan.read_back;
    Ok(design)
}

/// `bloom`: the lines of the last input that pass a filter of the one before; with three inputs or more, a
/// chain of filters. The result goes through buckets, so that each line is written once.
///
/// Rates: with rate p1 for the first filter and p2 for each of the n - 1 later ones, a line that is not
/// common passes at most with p = 1 - (1 - p1) (1 - p2)^(n - 1). Lines of the result that are false, with L
/// lines in the last input of which C are common: (L - C) p. Precision: C over C and the false lines.
///
/// # Errors
/// [`Error::MemoryPlan`] when there is no room for the least number of blocks. Whether the rate is accepted
/// is checked by the callers.
pub(crate) fn bloom(job: &Job) -> Result<Design, Error> {
    let sizes = Sizes::of(job);
    let mut layout = Layout::for_scan(job);
    // A stored filter is one more input.
    let chain = (job.inputs.len() + usize::from(job.stored_filter.is_some())).max(2) - 1;
    let cap = bloom_cap(job, chain);
    let wanted_filters = (sizes.build.lines as f64 * cap / 8.0 * BLOOM_FILTERS) as u64;
    let least_pool = (layout.usable_bytes / BLOOM_POOL_SHARE).max(least_pool(layout.usable_bytes));
    let result_set = (sizes.last.set_bytes(), SIEVE_HEADROOM);
    let buckets = buckets_for_survivors(job, &mut layout, result_set, wanted_filters, least_pool)?;
    // In a chain two filters are in memory at a time: the one that is asked and the one that is fed.
    let room = layout.rest_bytes();
    let (room, second_room) = if chain > 1 {
        (room - room / CHAIN_SHARE, room / CHAIN_SHARE)
    } else {
        (room, 0)
    };
    let planned = || FilterPlan::new(sizes.build.lines, room, cap);
    let mut first = job.stored_filter.unwrap_or_else(planned);
    let second = (chain > 1).then(|| FilterPlan::new(sizes.build.lines, second_room, cap));
    // A stored filter may be larger than the room for it: it is then read from its file piece by piece.
    let filters = (first.bits / 8).min(room) + second.map_or(0, |second| second.bits / 8);
    give_rest_to_pool(&mut layout, filters, job);
    // A line that is not common may be in some inputs and pass by mistake where it is missing: at most at
    // every filter of the chain. This is 1 - (1 - p)^n, but right to the last digits for tiny rates.
    let later = second.map_or(0.0, |second| {
        -((chain - 1) as f64 * (-second.predicted_fpr).ln_1p()).exp_m1()
    });
    first.predicted_fpr += (1.0 - first.predicted_fpr) * later;

    // Common lines cannot be false. Where their number was not estimated it counts as 0 here, so that the
    // false lines are not underestimated; the share that is assumed elsewhere would be a guess.
    let common = job
        .common_share
        .map(|share| share * sizes.build.lines as f64);
    let strangers = (sizes.last.lines as f64 - common.unwrap_or(0.0)).max(0.0);
    let false_lines = strangers * first.predicted_fpr;
    let expected_precision = common
        .map(|common| common / (common + false_lines))
        .filter(|precision| precision.is_finite());
    let survivors = sizes.last.bytes as f64 * first.predicted_fpr
        + sizes.build.bytes as f64 * sizes.common_share;
    let spilled = spilled_bytes(&layout, buckets, survivors as u64, job);
    let costs = Costs {
        strategy: Strategy::Bloom,
        exact: false,
        buckets,
        passes: 1,
        bytes_read: sizes
            .total
            .saturating_add(spilled)
            .saturating_add(job.stored_filter.map_or(0, |stored| stored.bits / 8)),
        bytes_written: spilled,
        temp_peak_bytes: spilled,
        memory_bytes: used_at_most(&layout, filters + layout.scan_bytes() + layout.pool_bytes()),
        filter: Some(first),
        expected_false_lines: false_lines,
        expected_missing_lines: 0.0,
        expected_precision,
    };
    Ok(Design::new(costs, second, layout).joining(survivors as u64))
}

/// The cap on bits per key of each filter of a `bloom` with `chain` filters. Their rates add up, so each may
/// have its part of the accepted rate; the cap grows until a filter reaches that, at most to
/// [`MOST_BITS_PER_KEY`].
pub(super) fn bloom_cap(job: &Job, chain: usize) -> f64 {
    if let Some(cap) = job.bits_per_key {
        return cap;
    }
    let mut cap = BLOOM_BITS_PER_KEY;
    if let Some(accepted) = job.max_fpr.filter(|&rate| rate > 0.0) {
        let each = accepted / chain as f64;
        while cap < MOST_BITS_PER_KEY && best_blocked(cap).1 > each {
            cap += BLOOM_BITS_STEP;
        }
    }
    cap
}

/// Gives the memory that the filters do not use to the blocks, so that more of them stay in memory. `filters`
/// is the size of the filters in bytes. Blocks get no more than half of the memory, and leave the join some
/// slack and room for the longest line.
pub(super) fn give_rest_to_pool(layout: &mut Layout, filters: u64, job: &Job) {
    if job.always_spill {
        return;
    }
    let rest = layout
        .rest_bytes()
        .saturating_sub(filters + JOIN_SLACK_BYTES.min(layout.usable_bytes / 8));
    let most = (layout.usable_bytes / 2)
        .min(layout.most_pool_bytes(job))
        .saturating_sub(layout.pool_bytes());
    layout.pool_blocks += rest.min(most) / layout.block_bytes;
}

/// Makes the pool of a layout for `partition` leave room for filters of `filter_bytes`: smaller, or larger where
/// they leave more. Each of two filters is rounded up to a page.
///
/// # Errors
/// [`Error::MemoryPlan`] when not even the smallest blocks fit beside them.
pub(super) fn fit_pool(layout: &mut Layout, filter_bytes: u64, job: &Job) -> Result<(), Error> {
    let taken = layout.scan_bytes() + filter_bytes + 2 * PAGE;
    let room = layout.usable_bytes.saturating_sub(taken);
    if layout.pool_bytes() > room && !layout.set_pool(job, layout.buckets, room, PAGE) {
        return Err(too_little("there is no room for blocks", job));
    }
    give_rest_to_pool(layout, filter_bytes + 2 * PAGE, job);
    Ok(())
}

/// How many of `bytes` go to disk: none if the blocks beyond the open one of each bucket hold them all; else
/// all, which is an upper bound.
pub(super) fn spilled_bytes(layout: &Layout, buckets: u32, bytes: u64, job: &Job) -> u64 {
    let open = u64::from(buckets) * layout.block_bytes;
    let held = if job.always_spill {
        0
    } else {
        layout.pool_bytes().saturating_sub(open)
    };
    if bytes <= held { 0 } else { bytes }
}

/// Resident bytes at the peak, the process included: `buffers` cannot exceed what the budget grants.
pub(super) fn used_at_most(layout: &Layout, buffers: u64) -> u64 {
    layout.base_bytes + buffers.min(layout.usable_bytes)
}

/// The refusal of a design. Its advice is a placeholder: `advice::with_advice` finds the limit that would do
/// where the refusal is reported, because finding it takes dozens of designs.
pub(super) fn too_little(what: &str, job: &Job) -> Error {
    Error::MemoryPlan {
        what: format!("{what} in {}", display_bytes(job.memory_bytes)),
        advice: "give more memory".to_owned(),
        least_bytes: job.memory_bytes + 1,
    }
}
