//! The revision of a plan: buckets and filters are planned again when the first filter is complete. By then a sample
//! of the next input tells how much passes.
//!
//! *Owns:* the second plan of buckets, blocks and filters of `sieve` and `bloom`, by what a sample of the next input
//! shows ([`SurvivorSample`]).
//!
//! *Invariants:* what a revised layout assigns, and the filters that live at the same time, add up to no
//! more than the limit, for any number of inputs. Without a better layout there is none, and the first one
//! stays. A revision never needs temporary disk that is not there.
//!
//! *Cost:* a few microseconds, besides the sample that `pass/survivor_sample.rs` reads.
//!
//! The first plan has to assume how many lines survive a filter. Where far more do, their buckets would
//! not fit, and each would be written and read once more. Where lines repeat, the different ones may fit as
//! a set, and nothing has to be written. And where filters keep hardly anything out of the
//! buckets, they save less than it costs to ask them: then the rest of the run is `partition`, with their
//! memory for its blocks.

use crate::batch::coalescer::Coalescer;
use crate::plan::buckets::{LEAST_BUCKET_BYTES, one_level_bytes, set_buckets};
use crate::plan::design::memory::{SET_BITS_PER_KEY, resident_set_bytes};
use crate::plan::design::partition::partition_layout;
use crate::plan::design::{JOIN_SLACK_BYTES, most_blocks};
use crate::plan::filters::SURVIVOR_SLACK;
use crate::plan::job::DataSize;
use crate::plan::layout::Layout;
use crate::plan::sizes::Sizes;
use crate::plan::{FilterPlan, LEAST_USEFUL_SAVING, Plan, SIEVE_BITS_PER_KEY, SetEstimate};

/// Bits per key below which a filter of survivors is not fed while they are spilled, but built afterwards
/// from their known number.
const LEAST_FED_BITS: f64 = 4.0;
/// The share of all lines that filters must keep out of the buckets of a sieve whose buckets are too few to be joined
/// at once. What is left is then written twice, and a partition writes everything once.
const LEAST_SAVING_OF_SPLITS: f64 = 0.55;
/// Halvings of an interval: a range of 2^60 lines is known to a line.
const HALVINGS: u32 = 60;

/// The facts that are known when the first filter is complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SurvivorSample {
    /// The input that comes next, as an index into the plan's order.
    pub(crate) input: usize,
    /// Its lines in the sample, repeats included.
    pub(crate) sampled: u64,
    /// Those of them that the filter lets through.
    pub(crate) passed: u64,
    /// The different lines among these.
    pub(crate) passed_distinct: u64,
    /// The bytes of the budget that filters take now.
    pub(crate) filter_bytes: u64,
    /// The filter's false-positive rate, 0..1, by its fill.
    pub(crate) filter_fpr: f64,
    /// Different lines in the filter, by its fill.
    pub(crate) filter_distinct: f64,
    /// Temporary disk that may still be used, in bytes.
    pub(crate) temp_bytes: u64,
}

impl SurvivorSample {
    /// Returns the share of the next input that passes, 0..1.
    fn share(&self) -> f64 {
        self.passed as f64 / self.sampled.max(1) as f64
    }

    /// Estimates how many different lines pass, where `passing` lines do: 1 to `passing`.
    ///
    /// With D different lines, all equally frequent, a sample of s lines shows about D (1 - e^(-s/D))
    /// different ones. This solves for the D that would show as many as were seen, by halving. Repeats that
    /// stand together in the file are seen too often, and D comes out too low: then a filter is asked in
    /// vain, rather than dropped in error.
    fn distinct(&self, passing: u64) -> f64 {
        let (seen, different) = (self.passed as f64, self.passed_distinct as f64);
        // D (1 - e^(-s/D)), right to the last digits where s is small compared with D.
        let shown = |all: f64| -all * (-seen / all).exp_m1();
        let (mut low, mut high) = (different.max(1.0), passing as f64);
        if high <= low || shown(high) <= different {
            return high;
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if shown(middle) < different {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// The changes to a plan while it runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Revision {
    /// The division of memory from now on.
    pub(crate) layout: Layout,
    /// True if the first filter is worth asking. If not, the caller drops it: the layout uses its memory.
    pub(crate) asks_filter: bool,
    /// The filter of survivors, if it is fed while they are spilled.
    pub(crate) second_filter: Option<FilterPlan>,
}

impl Plan {
    /// Plans the filter of survivors for a run that keeps these in a set: where the `distinct` different lines of the
    /// first input's `keys` lines, and what passes their filter by mistake, fit as a set together with both filters.
    /// The plan knew the lines of the input only from a sample. `None` if they do not fit, or where the caller
    /// asked for a strategy. `filter_bytes` and `filter_fpr` are those of the first filter.
    pub(crate) fn set_beside_filters(
        &self,
        distinct: f64,
        keys: u64,
        filter_bytes: u64,
        filter_fpr: f64,
    ) -> Option<FilterPlan> {
        let is_open = self.sized.job.strategy.is_none() && !self.sized.job.always_spill;
        if !is_open || self.sized.job.set_estimate == SetEstimate::Overflowed {
            return None;
        }
        let (first, next) = (self.sized.kept.first()?, self.sized.kept.get(1)?);
        let different = DataSize {
            lines: distinct as u64,
            ..first.part((distinct / keys.max(1) as f64).min(1.0))
        };
        let by_mistake = next.part(filter_fpr);
        let survivors = DataSize {
            bytes: different.bytes.saturating_add(by_mistake.bytes),
            lines: different.lines.saturating_add(by_mistake.lines),
        };
        let cap = self.sized.job.bits_per_key.unwrap_or(SET_BITS_PER_KEY);
        let second = FilterPlan::new(survivors.lines, u64::MAX, cap);
        let beside =
            second.bits / 8 + filter_bytes + Coalescer::all_bytes(self.layout.scan.workers);
        let needed = resident_set_bytes(survivors).saturating_add(beside);
        (needed <= self.layout.without_buckets().rest_bytes()).then_some(second)
    }

    /// Plans the rest of a `sieve`: with other buckets, or as `partition`. `None` keeps the first layout.
    pub(crate) fn revised_sieve(&self, sample: SurvivorSample) -> Option<Revision> {
        let planned = &self.sized.sizes;
        // A set keeps each line once, so buckets of the first input are planned for its different lines.
        let distinct = sample.filter_distinct / planned.build.lines.max(1) as f64;
        let build = planned.build.part(distinct.min(1.0));
        let survivors = self.survivors(sample);
        let saving = saving(planned, sample, survivors);
        if saving < LEAST_USEFUL_SAVING {
            return self.partitioned(build, sample);
        }
        // The join builds its set from the smaller side of a bucket, whichever input that is.
        let set_bytes = survivors.min(build).set_bytes();
        // The second filter is sized for different lines: those of the first input at most, and those that
        // pass by mistake.
        let by_mistake = survivors.lines as f64 * sample.filter_fpr;
        let most = build.lines.saturating_add(by_mistake as u64);
        let feeds = self.second_filter.map(|_| survivors.lines.min(most));
        let sieved = self.sieved(sample, set_bytes, feeds);
        if sieved.is_none() && saving < LEAST_SAVING_OF_SPLITS {
            return self.partitioned(build, sample);
        }
        sieved
    }

    /// Plans the rest of a `bloom`: with other buckets, or `None` for those of the first layout. Its filter stays in
    /// any case: what passes it is the result.
    pub(crate) fn revised_bloom(&self, sample: SurvivorSample) -> Option<Layout> {
        let set_bytes = self.survivors(sample).set_bytes();
        self.sieved(sample, set_bytes, None)
            .map(|revision| revision.layout)
    }

    /// Estimates what passes of the next input: the share of the sample that does.
    fn survivors(&self, sample: SurvivorSample) -> DataSize {
        let next = self
            .sized
            .kept
            .get(sample.input)
            .copied()
            .unwrap_or_default();
        next.part(sample.share())
    }

    /// Plans buckets for survivors whose set takes `set_bytes`, in the memory that the filter leaves. `feeds` is the
    /// number of lines that go into a second filter. Returns `None` if they do not fit.
    ///
    /// The filter exists already and keeps its size. Of the rest, the join keeps some slack. Then come one level of
    /// buckets and the second filter. Blocks get all else that the join does not need.
    fn sieved(
        &self,
        sample: SurvivorSample,
        set_bytes: u64,
        feeds: Option<u64>,
    ) -> Option<Revision> {
        let (job, mut layout) = (&self.sized.job, self.layout.without_buckets());
        let rest = layout.rest_bytes().checked_sub(sample.filter_bytes)?;
        let rest = rest.saturating_sub(JOIN_SLACK_BYTES.min(layout.usable_bytes / 8));
        let room = rest.checked_sub(one_level_bytes(&layout, set_bytes))?;
        // From three inputs on, the fed filter is asked while another of its size is fed. Both must fit where
        // now the first filter and the fed one are: so it may not be larger than the first.
        let room = if job.inputs.len() > 2 {
            room.min(sample.filter_bytes)
        } else {
            room
        };
        let second_filter = feeds.and_then(|lines| self.fed(lines, room));
        let fed_bytes = second_filter.map_or(0, |plan| plan.bits / 8);
        let pool_bytes = (rest - fed_bytes).min(layout.usable_bytes / 2);
        // Blocks that stay in memory leave less for the sets of the join. Planning for a set that is larger by
        // the same factor gives more and so smaller buckets.
        let crowded = layout.usable_bytes as f64 / (layout.usable_bytes - pool_bytes).max(1) as f64;
        let crowded_set = (set_bytes as f64 * crowded) as u64;
        let wanted = |blocks: u64| blocks.min(set_bytes / LEAST_BUCKET_BYTES);
        set_buckets(job, &mut layout, pool_bytes, crowded_set, wanted).ok()?;
        shrink_pool(&mut layout, sample.filter_bytes + fed_bytes)?;
        let filters = sample.filter_bytes + fed_bytes;
        layout.pool.blocks = most_blocks(&layout, filters, set_bytes, job);
        Some(Revision {
            layout,
            asks_filter: true,
            second_filter,
        })
    }

    /// Plans a filter of `lines` survivors, with slack, in `room` bytes; `None` if it would have too few bits to be
    /// of use.
    fn fed(&self, lines: u64, room: u64) -> Option<FilterPlan> {
        let keys = (lines as f64 * SURVIVOR_SLACK) as u64;
        let cap = self.sized.job.bits_per_key.unwrap_or(SIEVE_BITS_PER_KEY);
        let plan = FilterPlan::new(keys, room, cap);
        let is_useful = plan.bits / 8 <= room && plan.bits_per_key >= LEAST_FED_BITS.min(cap);
        is_useful.then_some(plan)
    }

    /// Buckets for everything, in all of the memory, as `partition` has them; `None` if the temporary disk has
    /// no room for all inputs.
    fn partitioned(&self, build: DataSize, sample: SurvivorSample) -> Option<Revision> {
        if self.sized.sizes.total.bytes > sample.temp_bytes {
            return None;
        }
        let scan = self.layout.without_buckets();
        let layout = partition_layout(&self.sized, scan, build).ok()?;
        Some(Revision {
            layout,
            asks_filter: false,
            second_filter: None,
        })
    }
}

/// Estimates what both filters keep out of the buckets, as a share of all bytes, 0..1:
///
/// ```text
/// (others (1 - s) + A (1 - c) (1 - fpr of the second)) / (A + others)
/// ```
///
/// with s the share of the next input that passes the first filter, and c the share of the first input's different
/// lines that are among those: the second filter keeps the others out, but for its own mistakes. What passes the first
/// filter by mistake is not a line of the first input: of the lines that pass, the share t / s is common, with s = t +
/// (1 - t) fpr. The second filter is taken to have the memory of the first.
fn saving(sizes: &Sizes, sample: SurvivorSample, survivors: DataSize) -> f64 {
    let (share, fpr) = (sample.share(), sample.filter_fpr);
    let truly = ((share - fpr) / (1.0 - fpr)).max(0.0) / share.max(f64::MIN_POSITIVE);
    let distinct = sample.distinct(survivors.lines);
    let common = (truly * distinct / sample.filter_distinct.max(1.0)).min(1.0);
    let second = FilterPlan::new(distinct as u64, sample.filter_bytes, SIEVE_BITS_PER_KEY);
    let build = sizes.build.bytes as f64;
    let others = (sizes.total.bytes - sizes.build.bytes) as f64;
    let kept_out = others * (1.0 - share) + build * (1.0 - common) * (1.0 - second.predicted_fpr);
    kept_out / (build + others).max(1.0)
}

/// Takes blocks from the pool until scanning, blocks and `filters` bytes fit the memory again: `set_pool` has
/// taken the bookkeeping of the buckets out of it. `None` if too few blocks would be left.
fn shrink_pool(layout: &mut Layout, filters: u64) -> Option<()> {
    let assigned = layout.scan.bytes() + layout.pool.bytes() + filters;
    let excess = assigned.saturating_sub(layout.usable_bytes);
    let blocks = layout
        .pool
        .blocks
        .checked_sub(excess.div_ceil(layout.pool.block_bytes))?;
    layout.pool.blocks = blocks;
    // Each bucket has a block, and one is being written.
    (blocks > u64::from(layout.pool.buckets)).then_some(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
