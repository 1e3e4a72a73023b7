//! What each strategy would look like for a job: buckets, filters, layout, costs.
//!
//! *Owns:* one function per strategy, each the arithmetic of its row in the crate page's table.
//! *Invariants:* a design fits the limit, or there is none and the reason names a limit that would
//! do. *Cost:* none.
//!
//! *Formulas.* Buckets: so many that the set of one bucket of the build side fits a join worker's
//! share, with 30 % for chance and estimates. Bytes: with survivors s_A, s_B (shares of A and B
//! that pass a filter), `partition` moves 3A + 3B, `sieve` 2A + B + 2(s_B B + s_A A), `bloom` A + B
//! + 2 s_B B.

use crate::address::BITMAP_BYTES;
use crate::error::Error;
use crate::filter::sizing::{best_blocked, blocked_fpr};
use crate::options::Strategy;
use crate::plan::layout::{Layout, SMALLEST_BLOCK};
use crate::plan::{
    ASSUMED_COMMON, Costs, FilterPlan, InputShape, Job, Plan, Rejected, round_mebibytes,
};
use crate::set::estimate_set_bytes;
use crate::shards::SHARDS;
use crate::size::display_bytes;

/// Room for chance, and for estimates that are off.
const SLACK: f64 = 1.3;
/// Bits per key beyond which an exact sieve gains nothing: 0.08 % pass by mistake.
const SIEVE_BITS_PER_KEY: f64 = 16.0;
/// Bits per key beyond which an approximate result hardly gets better.
const BLOOM_BITS_PER_KEY: f64 = 32.0;
/// Buckets by default, where blocks of full size fit for so many.
const DEFAULT_BUCKETS: u64 = 1000;
/// The least that a bucket of the build side should have, unless memory asks for smaller ones.
const LEAST_BUCKET_BYTES: u64 = 8 << 20;
/// The most buckets of one level.
const MOST_BUCKETS: u64 = 65_536;
/// Survivors that buckets are laid out for where not all fit, as a share of the input: more than is
/// assumed, for a bucket that does not fit costs another reading and writing.
const SIEVE_HEADROOM: f64 = 0.3;

/// The least memory for blocks.
const LEAST_POOL: u64 = 24 * SMALLEST_BLOCK;
/// A block that is written at a good part of the disk's speed.
const GOOD_BLOCK: u64 = 64 << 10;

/// Survivors that the second filter is laid out for, as a multiple of what is expected: overfull it
/// would let everything through.
const SURVIVOR_SLACK: f64 = 1.25;

/// A strategy that fits.
#[derive(Debug)]
pub(crate) struct Design {
    pub(crate) costs: Costs,
    second_filter: Option<FilterPlan>,
    layout: Layout,
    uses_bitmap: bool,
}

impl Design {
    fn new(costs: Costs, second_filter: Option<FilterPlan>, layout: Layout) -> Self {
        Self {
            costs,
            second_filter,
            layout,
            uses_bitmap: false,
        }
    }

    pub(crate) fn into_plan(self, job: &Job, rejected: Vec<Rejected>) -> Plan {
        let (bytes, lines) = Sizes::of(job).build;
        Plan {
            build_lines: (lines, bytes / lines.max(1)),
            uses_bitmap: self.uses_bitmap,
            buckets: self.costs.buckets.max(1),
            costs: self.costs,
            rejected,
            second_filter: self.second_filter,
            order: order(&job.inputs),
            layout: self.layout,
        }
    }
}

/// The inputs in working order: fewest bytes first, those of unknown size last.
fn order(inputs: &[InputShape]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    order.sort_by_key(|&index| inputs[index].bytes.unwrap_or(u64::MAX));
    order
}

/// The sizes that the formulas use; an unknown size counts as that of the largest known input.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// Bytes and lines of the build side, the smallest input.
    build: (u64, u64),
    /// Bytes of all inputs.
    total: u64,
    /// Bytes and lines of the input that is worked on last.
    last: (u64, u64),
}

impl Sizes {
    fn of(job: &Job) -> Self {
        let known = |shape: &InputShape| Some((shape.bytes?, shape.lines?));
        // With nothing known, assume that it is much more than memory; a set that was asked for
        // grows as needed.
        let unknown = match job.strategy {
            Some(Strategy::Memory) => (0, 0),
            _ => (job.memory_bytes.saturating_mul(16), job.memory_bytes / 4),
        };
        let largest = job.inputs.iter().filter_map(known).max().unwrap_or(unknown);
        let sizes: Vec<(u64, u64)> = order(&job.inputs)
            .iter()
            .map(|&index| known(&job.inputs[index]).unwrap_or(largest))
            .collect();
        Self {
            build: sizes.first().copied().unwrap_or_default(),
            total: sizes.iter().map(|size| size.0).sum(),
            last: sizes.last().copied().unwrap_or_default(),
        }
    }

    /// Bytes of a set of the whole build side.
    fn build_set_bytes(&self) -> u64 {
        estimate_set_bytes(self.build.1, self.build.0)
    }
}

/// The smallest input as a set, the others streamed past it.
pub(crate) fn memory(job: &Job) -> Result<Design, Error> {
    let sizes = Sizes::of(job);
    let layout = Layout::for_scan(job);
    let has_known = job.inputs.iter().any(|shape| shape.bytes.is_some());
    // Arenas grow by a quarter; shards are uneven; tables of neighbours coexist while one grows.
    let set_bytes = (sizes.build_set_bytes() as f64 * 1.25) as u64
        + SHARDS as u64 * (64 << 10).min(sizes.build.0 + 8192);
    let beside_set = layout.base_bytes + layout.scan_bytes();
    // Two bitmaps live at a time from three inputs on.
    let bitmap_bytes = BITMAP_BYTES * if job.inputs.len() > 2 { 2 } else { 1 };
    let uses_bitmap = job.is_ipv4 && beside_set + bitmap_bytes <= job.memory_bytes;
    let needed = beside_set + if uses_bitmap { bitmap_bytes } else { set_bytes };
    let is_wanted = job.strategy == Some(Strategy::Memory);
    if needed > job.memory_bytes || job.set_overflowed || !(has_known || is_wanted) {
        return Err(too_little(
            "memory",
            "the smallest input does not fit as a set",
            job,
            needed,
        ));
    }
    let costs = Costs {
        strategy: Strategy::Memory,
        exact: true,
        buckets: 0,
        passes: 1,
        bytes_read: sizes.total,
        bytes_written: 0,
        temp_peak_bytes: 0,
        memory_bytes: needed,
        filter: None,
        expected_false_lines: 0.0,
    };
    Ok(Design {
        uses_bitmap,
        ..Design::new(costs, None, layout)
    })
}

/// All inputs into buckets.
pub(crate) fn partition(job: &Job) -> Result<Design, Error> {
    let sizes = Sizes::of(job);
    let mut layout = Layout::for_scan(job);
    let pool_bytes =
        layout.usable_bytes * 6 / 10 - layout.scan_bytes().min(layout.usable_bytes / 2);
    let wanted = |blocks: u64| {
        DEFAULT_BUCKETS
            .min(blocks)
            .min(sizes.build.0 / LEAST_BUCKET_BYTES)
    };
    let buckets = set_buckets(
        job,
        &mut layout,
        pool_bytes,
        sizes.build_set_bytes(),
        wanted,
    )?;
    let spilled = spilled_bytes(&layout, buckets, sizes.total, job);
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
    };
    Ok(Design::new(costs, None, layout))
}

/// Each input through a filter of the one before it; the first again at the end.
pub(crate) fn sieve(job: &Job) -> Result<Design, Error> {
    let sizes = Sizes::of(job);
    let mut layout = Layout::for_scan(job);
    let cap = job.bits_per_key.unwrap_or(SIEVE_BITS_PER_KEY);
    let wanted_filters = (sizes.build.1 as f64 * cap / 8.0 * 1.2) as u64;
    let least_pool = (layout.usable_bytes / 16).max(LEAST_POOL);
    let buckets = buckets_for_survivors(
        job,
        &mut layout,
        sizes.build_set_bytes(),
        wanted_filters,
        least_pool,
    )?;
    let room = layout.rest_bytes();
    // A sixth for the second filter: at 6 bits a key in all and a tenth common, that is where the
    // fewest lines survive both.
    let first = filter_plan(sizes.build.1, room - room / 6, cap);
    let expected_survivors =
        sizes.build.1 as f64 * ASSUMED_COMMON + sizes.last.1 as f64 * first.predicted_fpr;
    let second = filter_plan(
        (expected_survivors * SURVIVOR_SLACK) as u64 + 1024,
        room / 6,
        cap,
    );
    give_rest_to_pool(&mut layout, &first, &second, job);

    let others = sizes.total - sizes.build.0;
    let common = sizes.build.0 as f64 * ASSUMED_COMMON * job.inputs.len() as f64;
    let by_mistake =
        others as f64 * first.predicted_fpr + sizes.build.0 as f64 * second.predicted_fpr;
    let spilled = spilled_bytes(&layout, buckets, (common + by_mistake) as u64, job);
    let filters = (first.bits + second.bits) / 8;
    let costs = Costs {
        strategy: Strategy::Sieve,
        exact: true,
        buckets,
        passes: 2,
        bytes_read: sizes
            .total
            .saturating_add(sizes.build.0)
            .saturating_add(spilled),
        bytes_written: spilled,
        temp_peak_bytes: spilled,
        memory_bytes: used_at_most(&layout, filters + layout.scan_bytes() + layout.pool_bytes()),
        filter: Some(first),
        expected_false_lines: 0.0,
    };
    Ok(Design::new(costs, Some(second), layout))
}

/// One filter, no second look.
pub(crate) fn bloom(job: &Job) -> Result<Design, Error> {
    let sizes = Sizes::of(job);
    let mut layout = Layout::for_scan(job);
    let cap = job.bits_per_key.unwrap_or(BLOOM_BITS_PER_KEY);
    let wanted_filters = (sizes.build.1 as f64 * cap / 8.0 * 1.4) as u64;
    let least_pool = (layout.usable_bytes / 128).max(LEAST_POOL);
    let result_set = estimate_set_bytes(sizes.last.1, sizes.last.0);
    let buckets = buckets_for_survivors(job, &mut layout, result_set, wanted_filters, least_pool)?;
    let chain = job.inputs.len().max(2) - 1;
    // With three inputs or more two filters live at a time.
    let room = layout.rest_bytes();
    let (room, second_room) = if chain > 1 {
        (room - room / 4, room / 4)
    } else {
        (room, 0)
    };
    let mut first = filter_plan(sizes.build.1, room, cap);
    let second = (chain > 1).then(|| filter_plan(sizes.build.1, second_room, cap));
    give_rest_to_pool(
        &mut layout,
        &first,
        second.as_ref().unwrap_or(&NO_FILTER),
        job,
    );
    // A line that is not common can pass by mistake at any filter of the chain: the bound adds up.
    let refused_later = second.map_or(1.0, |second| {
        (1.0 - second.predicted_fpr).powi(chain as i32 - 1)
    });
    first.predicted_fpr = 1.0 - (1.0 - first.predicted_fpr) * refused_later;

    let false_lines = sizes.last.1 as f64 * first.predicted_fpr;
    let survivors =
        sizes.last.0 as f64 * first.predicted_fpr + sizes.build.0 as f64 * ASSUMED_COMMON;
    let spilled = spilled_bytes(&layout, buckets, survivors as u64, job);
    let filters = (first.bits + second.map_or(0, |second| second.bits)) / 8;
    let costs = Costs {
        strategy: Strategy::Bloom,
        exact: false,
        buckets,
        passes: 1,
        bytes_read: sizes.total.saturating_add(spilled),
        bytes_written: spilled,
        temp_peak_bytes: spilled,
        memory_bytes: used_at_most(&layout, filters + layout.scan_bytes() + layout.pool_bytes()),
        filter: Some(first),
        expected_false_lines: false_lines,
    };
    Ok(Design::new(costs, second, layout))
}

/// Buckets for what survives a filter, which nobody knows: for everything where the memory that the
/// filters do not want has room for the blocks, else for a part, and the least memory.
fn buckets_for_survivors(
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
    set_buckets(job, layout, least_pool, part, |blocks| {
        blocks.min(part / LEAST_BUCKET_BYTES)
    })
}

const NO_FILTER: FilterPlan = FilterPlan {
    kind: "blocked",
    bits: 0,
    hashes: 1,
    keys: 0,
    bits_per_key: 0.0,
    predicted_fpr: 0.0,
};

/// A filter for `keys` keys in `bytes` bytes at most, and no more than `most` bits a key.
fn filter_plan(keys: u64, bytes: u64, most: f64) -> FilterPlan {
    let keys = keys.max(1);
    let capped = (keys as f64 * most / 512.0).ceil() * 512.0;
    let bits = ((bytes as f64 * 8.0).min(capped) as u64).max(512) / 512 * 512;
    let bits_per_key = bits as f64 / keys as f64;
    let (hashes, _) = best_blocked(bits_per_key);
    FilterPlan {
        kind: "blocked",
        bits,
        hashes,
        keys,
        bits_per_key,
        predicted_fpr: blocked_fpr(bits_per_key, hashes),
    }
}

/// What the filters do not need lets more blocks stay in memory; at least a quarter of the memory
/// is kept for the join.
fn give_rest_to_pool(layout: &mut Layout, first: &FilterPlan, second: &FilterPlan, job: &Job) {
    if job.always_spill {
        return;
    }
    let filters = (first.bits + second.bits) / 8;
    let rest = layout
        .rest_bytes()
        .saturating_sub(filters + (4 << 20).min(layout.usable_bytes / 8));
    let most = (layout.usable_bytes / 2).saturating_sub(layout.pool_bytes());
    layout.pool_blocks += rest.min(most) / layout.block_bytes;
}

/// Chooses the number of buckets, the join workers and the blocks. `set_bytes` is the set of the
/// whole build side.
fn set_buckets(
    job: &Job,
    layout: &mut Layout,
    pool_bytes: u64,
    set_bytes: u64,
    wanted: impl Fn(u64) -> u64,
) -> Result<u32, Error> {
    if let Some(buckets) = job.buckets {
        if layout.set_pool(buckets, pool_bytes, 4096, job.always_spill) {
            return Ok(buckets);
        }
        let scale = layout.usable_bytes as f64 / pool_bytes.max(1) as f64;
        let needed =
            layout.base_bytes + ((u64::from(buckets) + 8) as f64 * 4096.0 * scale * 1.1) as u64;
        return Err(too_little(
            "buckets",
            &format!("blocks for {buckets} buckets do not fit"),
            job,
            needed,
        ));
    }
    // As many join workers as threads if their shares can be filled with blocks of a good size;
    // else fewer.
    for workers in (1..=layout.workers).rev() {
        let share = layout.join_share(workers).max(1);
        let needed = (set_bytes as f64 * SLACK / share as f64).ceil() as u64;
        let full_blocks = (pool_bytes >> 20).saturating_sub(8);
        let buckets = needed
            .max(wanted(full_blocks))
            .max(workers as u64 * 2)
            .min(MOST_BUCKETS) as u32;
        let least = if workers == 1 {
            SMALLEST_BLOCK
        } else {
            64 << 10
        };
        if layout.set_pool(buckets, pool_bytes, least, job.always_spill) {
            layout.join_workers = workers;
            return Ok(buckets);
        }
    }
    // Too many for one level: as many as there are blocks, and those that do not fit are split.
    layout.join_workers = 1;
    let buckets = (pool_bytes / SMALLEST_BLOCK)
        .saturating_sub(8)
        .clamp(1, MOST_BUCKETS) as u32;
    if layout.set_pool(buckets, pool_bytes, 4096, job.always_spill) {
        return Ok(buckets);
    }
    Err(too_little(
        "memory limit",
        "there is no room for blocks",
        job,
        job.memory_bytes * 2,
    ))
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

fn too_little(object: &str, what: &str, job: &Job, needed: u64) -> Error {
    let least_bytes = round_mebibytes(needed.max(job.memory_bytes + 1));
    Error::MemoryPlan {
        what: format!("{object}: {what} in {}", display_bytes(job.memory_bytes)),
        advice: format!("give at least {}", display_bytes(least_bytes)),
        least_bytes,
    }
}
