//! What each strategy would look like for a job: buckets, filters, layout, costs.
//!
//! *Owns:* one function per strategy, each the arithmetic of its row in the crate page's table.
//! *Invariants:* a design fits the limit, or there is none and the reason names a limit that would
//! do. *Cost:* none.
//!
//! *Formulas.* Bytes: with survivors s_A, s_B (shares of A and B that pass a filter), `partition`
//! moves 3A + 3B (3A + B + 2 s_B B where A is small), `sieve` 2A + B + 2(s_B B + s_A A), `bloom` A + B + 2 s_B B.

use crate::error::Error;
use crate::filter::sizing::best_blocked;
use crate::plan::Strategy;
use crate::plan::buckets::{
    DEFAULT_BUCKETS, LEAST_BUCKET_BYTES, buckets_for_survivors, least_pool, set_buckets,
};
use crate::plan::filters::{MOST_BITS_PER_KEY, SievePlan, expected_survivors, surviving_others};
use crate::plan::job::{Extent, Job, SetEstimate, Sizes, order};
use crate::plan::layout::Layout;
use crate::plan::phases::{Survivors, phases};
use crate::plan::{Costs, FilterPlan, Plan, Rejected, SIEVE_BITS_PER_KEY};
use crate::set::addresses::BITMAP_BYTES;
use crate::set::sharded::SHARDS;
use crate::size::display_bytes;

/// Bits per key beyond which an approximate result hardly gets better, unless a rate is asked for that
/// takes more.
const BLOOM_BITS_PER_KEY: f64 = 32.0;
/// Bits per key that such a rate is tried with, one step after the other.
const BLOOM_BITS_STEP: f64 = 8.0;
/// Bits per key of the filter before a set: 0.4 % pass by mistake.
pub(super) const SET_BITS_PER_KEY: f64 = 12.0;
/// Memory that blocks in memory leave to the join, where there is so much.
pub(super) const JOIN_SLACK_BYTES: u64 = 4 << 20;
/// The other inputs of `partition` go through a filter of the first if they have this many times its
/// bytes: what the filter keeps out of the buckets is then nearly everything.
const LOPSIDED_FACTOR: u64 = 8;
/// The part of the memory that this filter may have: the buckets hardly miss it.
const LOPSIDED_FILTER_SHARE: u64 = 16;
/// Bits per key that it must have: 3 % pass by mistake.
const LEAST_LOPSIDED_BITS: f64 = 8.0;
/// Arenas of a set grow by a quarter, and are copied then.
const ARENA_SLACK: f64 = 1.25;
/// Shards of a set are uneven, and the tables of neighbours coexist while one grows: room for each.
const SHARD_SLACK_BYTES: u64 = 64 << 10;
/// What a shard has at least.
const LEAST_SHARD_BYTES: u64 = 8 << 10;
/// Lines that pass the filter before a set by mistake may be this share of the set's lines.
const MOST_BY_MISTAKE: f64 = 0.25;
/// The part of the memory, in tenths, that `partition` has for chunks and blocks: the join needs the rest.
const POOL_TENTHS: u64 = 6;
/// Both filters of a sieve, as a multiple of the first: the second is of a tenth of the lines, with slack.
const SIEVE_FILTERS: f64 = 1.2;
/// Both filters of a chain of `bloom`, as a multiple of the first.
const BLOOM_FILTERS: f64 = 1.4;
/// The part of the memory that blocks have beside the filters of a sieve, and beside those of `bloom`, of
/// which fewer lines are spilled.
const SIEVE_POOL_SHARE: u64 = 16;
const BLOOM_POOL_SHARE: u64 = 128;
/// The part of the room for filters that a second one has in a chain.
const CHAIN_SHARE: u64 = 4;
/// A set larger than this is far from the processor's caches.
const LARGE_SET_BYTES: u64 = 32 << 20;

/// A strategy that fits.
#[derive(Debug)]
pub(crate) struct Design {
    pub(crate) costs: Costs,
    second_filter: Option<FilterPlan>,
    layout: Layout,
    uses_bitmap: bool,
    survivors: Survivors,
}

impl Design {
    fn new(costs: Costs, second_filter: Option<FilterPlan>, layout: Layout) -> Self {
        Self {
            costs,
            second_filter,
            layout,
            uses_bitmap: false,
            survivors: Survivors::default(),
        }
    }

    /// So many bytes are joined at the end.
    fn joining(mut self, bytes: u64) -> Self {
        self.survivors.joined = bytes;
        self
    }

    pub(crate) fn into_plan(self, job: &Job, rejected: Vec<Rejected>) -> Plan {
        let Extent { bytes, lines } = Sizes::of(job).build;
        Plan {
            build_lines: lines,
            build_line_bytes: bytes / lines.max(1),
            phases: phases(job, &self.costs, self.survivors),
            uses_bitmap: self.uses_bitmap,
            costs: self.costs,
            rejected,
            second_filter: self.second_filter,
            order: order(&job.inputs),
            layout: self.layout,
            job: job.clone(),
        }
    }
}

/// What a set of the lines of `extent` takes, in bytes, with room to grow.
pub(super) fn resident_set_bytes(extent: Extent) -> u64 {
    let each_shard = SHARD_SLACK_BYTES.min(extent.bytes + LEAST_SHARD_BYTES);
    (extent.set_bytes() as f64 * ARENA_SLACK) as u64 + SHARDS as u64 * each_shard
}

/// The smallest input as a set, the others streamed past it.
pub(crate) fn memory(job: &Job) -> Result<Design, Error> {
    let sizes = Sizes::of(job);
    let layout = Layout::for_scan(job);
    let has_known = job.inputs.iter().any(|shape| shape.bytes.is_some());
    let set_bytes = resident_set_bytes(sizes.build);
    let beside_set = layout.base_bytes + layout.scan_bytes();
    // Two bitmaps live at a time from three inputs on.
    let bitmap_bytes = BITMAP_BYTES * if job.inputs.len() > 2 { 2 } else { 1 };
    let uses_bitmap = job.is_ipv4 && beside_set + bitmap_bytes <= job.memory_bytes;
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
        return Err(too_little(
            "memory",
            "the smallest input does not fit as a set",
            job,
        ));
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
        expected_precision: None,
    };
    Ok(Design {
        uses_bitmap,
        ..Design::new(costs, filters.map(|(_, second)| second), layout)
    })
}

/// The filters that keep out of the set what the smallest input does not have, and from its probe
/// what the set does not have. They cost another reading of that input, which pays where that is
/// in the page cache and the whole set would be far from the processor's: mostly it is then a
/// small part of that.
fn set_filters(
    job: &Job,
    sizes: &Sizes,
    needed: u64,
    uses_bitmap: bool,
) -> Option<(FilterPlan, FilterPlan)> {
    let build = *order(&job.inputs).first()?;
    let pays = !uses_bitmap
        && job.inputs.len() > 1
        && job.inputs[build].is_cached
        && (sizes.build.set_bytes() > LARGE_SET_BYTES || job.bits_per_key.is_some());
    let bits_per_key = job.bits_per_key.unwrap_or(SET_BITS_PER_KEY);
    let first = FilterPlan::new(sizes.build.lines, job.memory_bytes, bits_per_key);
    let survivors = expected_survivors(sizes, &first);
    let second = FilterPlan::new(survivors, job.memory_bytes, bits_per_key);
    let fits = needed + (first.bits + second.bits) / 8 <= job.memory_bytes;
    // Next to inputs that are much larger, what passes by mistake would be most of the set.
    let by_mistake = sizes.last.lines as f64 * first.predicted_fpr;
    let stays_small =
        by_mistake < sizes.build.lines as f64 * MOST_BY_MISTAKE || job.bits_per_key.is_some();
    (pays && fits && stays_small).then_some((first, second))
}

/// The buckets of `partition` in what scanning by `layout` leaves.
pub(super) fn partition_layout(
    job: &Job,
    mut layout: Layout,
    sizes: &Sizes,
) -> Result<Layout, Error> {
    let pool_bytes =
        layout.usable_bytes * POOL_TENTHS / 10 - layout.scan_bytes().min(layout.usable_bytes / 2);
    let wanted = |blocks: u64| {
        DEFAULT_BUCKETS
            .min(blocks)
            .min(sizes.build.bytes / LEAST_BUCKET_BYTES)
    };
    let set_bytes = sizes.build.set_bytes();
    set_buckets(job, &mut layout, pool_bytes, set_bytes, wanted)?;
    Ok(layout)
}

/// All inputs into buckets; the others through a filter of the first where that is small beside them.
pub(crate) fn partition(job: &Job) -> Result<Design, Error> {
    let sizes = Sizes::of(job);
    let layout = partition_layout(job, Layout::for_scan(job), &sizes)?;
    let buckets = layout.buckets;
    let filter = lopsided_filter(job, &sizes, &layout);
    let survivors = filter.map_or(sizes.total, |filter| {
        sizes.build.bytes + surviving_others(&sizes, filter.predicted_fpr) as u64
    });
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
        expected_precision: None,
    };
    Ok(Design::new(costs, filter, layout).joining(survivors))
}

/// The filter of a first input that is small beside the others, or may be: beside a pipe. It is fed while
/// that input is spilled, so it costs no reading.
fn lopsided_filter(job: &Job, sizes: &Sizes, layout: &Layout) -> Option<FilterPlan> {
    let has_unknown = job.inputs.iter().any(|shape| shape.bytes.is_none());
    let is_known = job.inputs.iter().any(|shape| shape.bytes.is_some());
    let others = sizes.total - sizes.build.bytes;
    let is_lopsided =
        is_known && (has_unknown || sizes.build.bytes.saturating_mul(LOPSIDED_FACTOR) <= others);
    let room = layout.usable_bytes / LOPSIDED_FILTER_SHARE;
    let filter = FilterPlan::new(sizes.build.lines, room, SIEVE_BITS_PER_KEY);
    (is_lopsided && job.inputs.len() > 1 && filter.bits_per_key >= LEAST_LOPSIDED_BITS)
        .then_some(filter)
}

/// Each input through a filter of the one before it; the first again at the end.
pub(crate) fn sieve(job: &Job) -> Result<Design, Error> {
    let sizes = Sizes::of(job);
    let mut layout = Layout::for_scan(job);
    let cap = job.bits_per_key.unwrap_or(SIEVE_BITS_PER_KEY);
    let wanted_filters = (sizes.build.lines as f64 * cap / 8.0 * SIEVE_FILTERS) as u64;
    let least_pool = (layout.usable_bytes / SIEVE_POOL_SHARE).max(least_pool(layout.usable_bytes));
    let buckets = buckets_for_survivors(
        job,
        &mut layout,
        sizes.build.set_bytes(),
        wanted_filters,
        least_pool,
    )?;
    let plan = SievePlan::new(&sizes, layout.rest_bytes(), cap);
    let filters = (plan.first.bits + plan.fed.map_or(0, |fed| fed.bits)) / 8;
    give_rest_to_pool(&mut layout, filters, job);

    let spilled = spilled_bytes(&layout, buckets, plan.survivors, job);
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
        expected_precision: None,
    };
    let mut design = Design::new(costs, plan.fed, layout).joining(plan.survivors);
    design.survivors.read_back = plan.read_back;
    Ok(design)
}

/// One filter, no second look.
pub(crate) fn bloom(job: &Job) -> Result<Design, Error> {
    let sizes = Sizes::of(job);
    let mut layout = Layout::for_scan(job);
    // A stored filter is one more input.
    let chain = (job.inputs.len() + usize::from(job.stored_filter.is_some())).max(2) - 1;
    let cap = bloom_cap(job, chain);
    let wanted_filters = (sizes.build.lines as f64 * cap / 8.0 * BLOOM_FILTERS) as u64;
    let least_pool = (layout.usable_bytes / BLOOM_POOL_SHARE).max(least_pool(layout.usable_bytes));
    let result_set = sizes.last.set_bytes();
    let buckets = buckets_for_survivors(job, &mut layout, result_set, wanted_filters, least_pool)?;
    // With three inputs or more two filters live at a time.
    let room = layout.rest_bytes();
    let (room, second_room) = if chain > 1 {
        (room - room / CHAIN_SHARE, room / CHAIN_SHARE)
    } else {
        (room, 0)
    };
    let planned = || FilterPlan::new(sizes.build.lines, room, cap);
    let mut first = job.stored_filter.unwrap_or_else(planned);
    let second = (chain > 1).then(|| FilterPlan::new(sizes.build.lines, second_room, cap));
    // A stored filter may be larger than the room for it: it is mapped.
    let filters = (first.bits / 8).min(room) + second.map_or(0, |second| second.bits / 8);
    give_rest_to_pool(&mut layout, filters, job);
    // A line that is not common can pass by mistake at any filter of the chain: the bound adds up.
    // As 1 - (1 - p)^n, but right to the last digits where the rates are tiny.
    let later = second.map_or(0.0, |second| {
        -((chain - 1) as f64 * (-second.predicted_fpr).ln_1p()).exp_m1()
    });
    first.predicted_fpr += (1.0 - first.predicted_fpr) * later;

    // A line that is common is never false.
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
        expected_precision,
    };
    Ok(Design::new(costs, second, layout).joining(survivors as u64))
}

/// The most bits per key of each filter of a `bloom` with `chain` filters, whose rates add up. A lower rate
/// than the usual cap reaches gets as many bits as it takes.
fn bloom_cap(job: &Job, chain: usize) -> f64 {
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

/// What the filters do not need lets more blocks stay in memory; at least a quarter of the memory
/// is kept for the join. `filters` is their size in bytes.
fn give_rest_to_pool(layout: &mut Layout, filters: u64, job: &Job) {
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

/// What of `bytes` does not stay in memory.
fn spilled_bytes(layout: &Layout, buckets: u32, bytes: u64, job: &Job) -> u64 {
    let open = u64::from(buckets) * layout.block_bytes;
    let held = if job.always_spill {
        0
    } else {
        layout.pool_bytes().saturating_sub(open)
    };
    if bytes <= held { 0 } else { bytes }
}

fn used_at_most(layout: &Layout, buffers: u64) -> u64 {
    layout.base_bytes + buffers.min(layout.usable_bytes)
}

/// The refusal of a design. What would do is found out where the refusal is reported.
pub(super) fn too_little(object: &str, what: &str, job: &Job) -> Error {
    Error::MemoryPlan {
        what: format!("{object}: {what} in {}", display_bytes(job.memory_bytes)),
        advice: "give more memory".to_owned(),
        least_bytes: job.memory_bytes + 1,
    }
}
