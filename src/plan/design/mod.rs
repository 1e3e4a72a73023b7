//! The design of each strategy for a job: buckets, filters, layout, costs.
//!
//! *Owns:* one file per strategy and question, each the arithmetic of its row in the crate page's table.
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
//!  into file  A + B              nothing          what comes again, in the file
//! partition   A + B              A + B            (A + b B where A is small compared with B)
//! sieve       2A + B             a A + b B        b B, where the second filter is built from it
//! bloom       A + B              b B              a stored filter
//! ```
//!
//! Who gets which part of the memory that reading leaves (`layout` draws the whole):
//!
//! ```text
//!             set or filters                           blocks                          join
//! memory      the set and its filters                  none                            none
//! partition   1/16 for a filter, if A is small         6/10, less what reading takes   the rest
//!             (7/8 for a cache of lines that repeat    1/8)
//! sieve       what blocks leave, up to 12 bits a key   1/16, or one level of buckets   all of it,
//! bloom       what blocks leave, up to 32 bits a key   1/128, or one level of buckets  afterwards
//! ```
//!
//! In `sieve` and `bloom`, blocks get what the filters have no use for; see `give_rest_to_pool`.

mod bloom;
mod duplicate_cache;
pub(in crate::plan) mod first_side_sieve;
pub(in crate::plan) mod memory;
mod moved_bytes;
pub(in crate::plan) mod negatives;
pub(in crate::plan) mod partition;
mod sieve;
pub(in crate::plan) mod singleton_sieve;
mod written_set;

pub(crate) use self::bloom::bloom;
pub(crate) use self::memory::memory;
pub(crate) use self::partition::partition;
pub(crate) use self::sieve::sieve;

use crate::error::Error;
use crate::memory::buffer::PAGE;
use crate::plan::buckets::SLACK;
use crate::plan::job::{DataSize, Job};
use crate::plan::layout::Layout;
use crate::plan::refusal::too_little;
use crate::plan::sizes::SizedJob;
use crate::plan::steps::peak::{HeldBytes, peak};
use crate::plan::steps::{List, Step, Steps, holds_answer, readings, writes_in_order};
use crate::plan::{Costs, FilterPlan, OrderPlan, Plan, Rejected, Strategy, ordering};
use crate::selection::Order;
use crate::size::display_bytes;

/// Memory in bytes that blocks which stay in memory leave to the join, but no more than an eighth of it.
pub(in crate::plan) const JOIN_SLACK_BYTES: u64 = 4 << 20;

/// The join has room for a line this many times: in the set, in its reader, and while each of them grows.
const LONGEST_LINE_FACTOR: u64 = 4;

/// A strategy for a job, whose limit it fits, with its costs.
#[derive(Debug)]
pub(crate) struct Design<'s> {
    /// The job, and how its answer is put in order.
    pub(crate) sized: &'s SizedJob,
    /// The costs that it would have; `auto` compares these.
    pub(crate) costs: Costs,
    /// The steps of the run.
    steps: Vec<Step>,
    /// The division of memory; its parts and the filters fit `usable_bytes`.
    layout: Layout,
    /// The filter of [`Plan::second_filter`].
    second_filter: Option<FilterPlan>,
    /// The bytes of all inputs that the join goes through.
    joined_bytes: u64,
    /// The layout in which it is spilled, where the run makes another than `layout` before.
    revised: Option<Layout>,
    /// The bytes read from buckets to build filters of survivors, where any is written.
    read_back_bytes: u64,
    /// The set in memory, or the bitmaps.
    set_bytes: u64,
    /// The lines that blocks, a duplicate cache, a large set or a sort that spills hold in memory.
    pub(crate) held: DataSize,
    /// The costs of putting the answer in order.
    ordering: Option<OrderPlan>,
}

impl<'s> Design<'s> {
    /// Makes a strategy without filters and buckets. What follows from its steps is not counted yet.
    fn new(sized: &'s SizedJob, strategy: Strategy, list: List, layout: Layout) -> Self {
        let mut steps = sized.steps(list);
        if layout.pool.by_range {
            // The join writes the answer in order.
            steps.retain(|step| *step != Step::Order);
        }
        Self {
            sized,
            costs: Costs {
                strategy,
                exact: strategy.is_exact(),
                buckets: layout.pool.buckets,
                passes: 0,
                bytes_read: 0,
                bytes_written: 0,
                temp_peak_bytes: 0,
                memory_bytes: 0,
                filter: None,
                expected_false_lines: 0.0,
                expected_missing_lines: 0.0,
                most_wrong_lines: None,
                expected_precision: None,
            },
            steps,
            layout,
            second_filter: None,
            joined_bytes: 0,
            revised: None,
            read_back_bytes: 0,
            set_bytes: 0,
            held: DataSize::default(),
            ordering: None,
        }
    }

    /// Returns the memory that its steps take at the peak, in bytes, the process included.
    fn memory_bytes(&self) -> u64 {
        let filter_bytes = |filter: Option<FilterPlan>| filter.map_or(0, |shape| shape.bits / 8);
        let held = HeldBytes {
            scan: self.layout.scan.bytes(),
            first_filter: filter_bytes(self.costs.filter),
            later_filter: filter_bytes(self.second_filter),
            blocks: self.layout.pool.bytes(),
            set: self.set_bytes,
            all: self.layout.usable_bytes,
        };
        self.layout.base_bytes + peak(&self.steps, &held)
    }

    /// Counts what its steps read, write and hold.
    fn priced(mut self) -> Self {
        let memory_bytes = self.memory_bytes();
        let sized = self.sized;
        let (job, costs) = (&sized.job, &mut self.costs);
        let readings = readings(&self.steps, sized.order.len());
        let of_inputs = sized.read.iter().zip(&readings);
        let of_inputs = of_inputs.fold(0u64, |bytes, (size, &times)| {
            bytes.saturating_add(size.bytes.saturating_mul(u64::from(times)))
        });
        let spilled = spilled_bytes(&self.revised.unwrap_or(self.layout), self.joined_bytes, job);
        let read_back = match spilled {
            // Survivors that stay in memory are read back from there: no bytes from disk.
            0 => 0,
            _ => self.read_back_bytes,
        };
        let stored = job.stored_filter.map_or(0, |stored| stored.bits / 8);
        costs.passes = readings.into_iter().max().unwrap_or(0);
        costs.bytes_read = of_inputs
            .saturating_add(spilled)
            .saturating_add(read_back)
            .saturating_add(stored);
        costs.bytes_written = spilled;
        costs.temp_peak_bytes = spilled;
        let (all, in_blocks) = (sized.sizes.total, self.joined_bytes.saturating_sub(spilled));
        let in_blocks = all.part(in_blocks as f64 / all.bytes.max(1) as f64);
        self.held = self.held.and(in_blocks);
        costs.memory_bytes = memory_bytes;
        // A list that comes to the same without filters has none.
        let asks = self.steps.iter().any(Step::names_filter);
        costs.filter = costs.filter.filter(|_| asks);
        if holds_answer(&self.steps) {
            self.ordering = ordering::order(sized, &self.layout, &mut self.costs);
        }
        // Lines of the answer that are sorted wait for memory like those of a set, and again when runs are merged.
        if self.ordering.is_some_and(|order| order.spilled_bytes > 0) {
            self.held = self.held.and(sized.answer);
        }
        self
    }

    /// Returns true if its steps write the answer in the order of the input: one reads after the other, too.
    pub(crate) fn writes_in_order(&self) -> bool {
        writes_in_order(&self.steps)
    }

    /// Makes the plan of this design, with the reasons against the others.
    pub(crate) fn into_plan(self, rejected: Vec<Rejected>) -> Plan {
        let sized = self.sized;
        let DataSize { bytes, lines } = sized.sizes.of_set;
        let feeds = self.second_filter.is_some();
        let mut plan = Plan {
            build_lines: lines,
            build_line_bytes: bytes / lines.max(1),
            phases: Vec::new(),
            ordering: self.ordering,
            duplicate_cache_bytes: self.layout.pool.duplicate_cache_bytes,
            guesses_sizes: sized.job.guesses_sizes(),
            assumed_bytes: sized.job.assumed_bytes(),
            many_files: None,
            costs: self.costs,
            rejected,
            second_filter: self.second_filter,
            steps: Steps::new(
                self.steps,
                sized.numbers(),
                feeds,
                self.layout.pool.by_range,
            ),
            layout: self.layout,
            sized: sized.clone(),
        };
        plan.phases = plan.phases_of(&plan.steps.list, self.joined_bytes, self.read_back_bytes);
        plan
    }
}

/// Returns the one of two designs that moves fewer bytes, the first where both move as many. A set that was asked for
/// by name keeps the order of the input without temporary disk and without another reading, if one of them does.
///
/// # Errors
/// Why there is no first one, where there is no second one, either.
pub(in crate::plan) fn cheaper<'s>(
    first: Result<Design<'s>, Error>,
    second: Option<Design<'s>>,
) -> Result<Design<'s>, Error> {
    let is_wanted = |design: &Design<'_>| {
        let is_named = design.sized.job.strategy == Some(Strategy::Memory);
        let is_in_order = design.sized.rule().order() == Order::Input;
        is_named && is_in_order && design.writes_in_order()
    };
    let rank = |design: &Design<'_>| (!is_wanted(design), design.moved_bytes());
    match (first, second) {
        (Ok(first), Some(second)) if rank(&first) <= rank(&second) => Ok(first),
        (_, Some(second)) => Ok(second),
        (first, None) => first,
    }
}

/// Says that the set of a strategy does not fit, in the words of a refusal.
pub(crate) fn set_refusal(sized: &SizedJob, memory_bytes: u64) -> String {
    let (side, limit) = (build_side(sized), display_bytes(memory_bytes));
    format!("{side} not fit in {limit} as an in-memory set")
}

/// Names the lines that the set of a strategy is made of, for the beginning of a sentence.
fn build_side(sized: &SizedJob) -> &'static str {
    match sized.sizes.building {
        _ if sized.rule().repeats() => "the inputs after the first do",
        1 if sized.rule().in_first() => "the first input does",
        1 => "the smallest input does",
        building if building < sized.order.len() => "the smaller inputs do",
        _ => "the lines of all inputs do",
    }
}

/// Gives the memory that the filters do not use to the blocks, so that more of them stay in memory. `filters`
/// is the size of the filters in bytes. Blocks get no more than half of the memory, and leave the join some
/// slack and room for the longest line.
pub(in crate::plan) fn give_rest_to_pool(layout: &mut Layout, filters: u64, job: &Job) {
    if job.always_spill {
        return;
    }
    let rest = layout
        .rest_bytes()
        .saturating_sub(filters + JOIN_SLACK_BYTES.min(layout.usable_bytes / 8));
    let most = (layout.usable_bytes / 2)
        .min(layout.most_pool_bytes(job))
        .saturating_sub(layout.pool.bytes());
    layout.pool.blocks += rest.min(most) / layout.pool.block_bytes;
}

/// Counts the blocks that the pool may have where buckets are planned for what survives, whose sets have `set_bytes`.
/// As many as fit together with `filters` bytes of filters and leave each worker of the join its set and its read
/// buffers, and one of them a line as long as the longest that a scan accepts; but no fewer than the pool has, which
/// the buckets were planned for. With more blocks, every bucket would have to be split.
pub(in crate::plan) fn most_blocks(
    layout: &Layout,
    filters: u64,
    set_bytes: u64,
    job: &Job,
) -> u64 {
    if job.always_spill {
        return layout.pool.blocks;
    }
    let set = set_bytes as f64 * SLACK / f64::from(layout.pool.buckets.max(1));
    let join = layout.pool.join_workers as u64 * (set as u64 + 2 * layout.read_bytes());
    let slack = JOIN_SLACK_BYTES.min(layout.usable_bytes / 8);
    let long_line = LONGEST_LINE_FACTOR * layout.scan.long_line_bytes;
    let beside_join = layout.usable_bytes.saturating_sub(join + long_line + slack);
    let beside_filters = layout
        .usable_bytes
        .saturating_sub(layout.scan.bytes() + filters + slack);
    let most = beside_join
        .min(beside_filters)
        .min(layout.most_pool_bytes(job));
    layout.pool.blocks.max(most / layout.pool.block_bytes)
}

/// Makes the pool of a layout for `partition` leave room for filters of `filter_bytes`: smaller, or larger where
/// they leave more. Each of two filters is rounded up to a page.
///
/// # Errors
/// [`Error::MemoryPlan`] when not even the smallest blocks fit together with them.
pub(in crate::plan) fn fit_pool(
    layout: &mut Layout,
    filter_bytes: u64,
    job: &Job,
) -> Result<(), Error> {
    let taken = layout.scan.bytes() + filter_bytes + 2 * PAGE;
    let room = layout.usable_bytes.saturating_sub(taken);
    if layout.pool.bytes() > room && !layout.set_pool(job, layout.pool.buckets, room, PAGE) {
        return Err(too_little(
            "there is no room for the buffers of the buckets",
            job,
        ));
    }
    give_rest_to_pool(layout, filter_bytes + 2 * PAGE, job);
    Ok(())
}

/// Returns how many of `bytes` go to disk: those for which the blocks beyond the open one of each bucket, and those
/// that are kept free for writing, have no room.
fn spilled_bytes(layout: &Layout, bytes: u64, job: &Job) -> u64 {
    let open =
        (u64::from(layout.pool.buckets) + layout.pool.writers as u64) * layout.pool.block_bytes;
    let held = if job.always_spill {
        0
    } else {
        layout.pool.bytes().saturating_sub(open)
    };
    bytes.saturating_sub(held)
}
