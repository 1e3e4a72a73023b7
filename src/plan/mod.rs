//! The planner: numbers in, decisions out.
//!
//! *Owns:* which strategy runs, with how many buckets, what filter, and how the memory is divided.
//! No I/O, no clock, no machine: what it needs to know comes in as a [`Job`], so it is tested with
//! 5 billion lines in microseconds.
//!
//! *Invariants.*
//! - `auto` follows the memory limit: `memory` if the smallest input fits as a set; else `bloom` if
//!   the caller accepts a rate and the filter is predicted to stay under it; else exact, `sieve`
//!   where it moves fewer bytes than `partition`.
//! - What a layout assigns adds up to no more than the limit (`layout`).
//! - An estimate that is off costs time, or a second plan; never a line, never memory.
//!
//! *Cost:* a few microseconds. *Sources:* bytes moved per plan: hybrid hash join (DeWitt et al.,
//! 1984) and Bloom-filter semi-joins, both ways; the prediction of rates:
//! [`crate::filter::sizing`].
//!
//! ```text
//!  Job ─▶ request: refuse what no plan can do
//!          │
//!          ▼
//!         design: one function per strategy ─▶ layout   divides the memory, of which decoding has a share
//!          │                                ─▶ filters  sizes filters, estimates survivors
//!          │                                ─▶ buckets  counts buckets, sizes blocks
//!          ▼
//!         choice: keep one design, keep the reasons against the others
//!          │                                   refused: advice finds a limit that would do
//!          ▼
//!         Plan ─▶ revision, once the first filter is complete
//! ```

mod advice;
mod buckets;
mod choice;
mod costs;
mod decoding;
mod design;
pub(crate) mod exchange;
mod files;
mod filters;
mod job;
pub(crate) mod layout;
mod limit;
mod ordering;
mod phases;
mod request;
pub(crate) mod revision;
mod shares;
pub(crate) mod steps;
mod strategy;

use serde::Serialize;

use crate::error::Result;
use crate::selection::Sides;
use crate::size::display_apart;
use steps::Steps;

pub use crate::input::compressed::Decoding;
pub use crate::input::repeats::Distinct;
use advice::{advised, least_memory, too_high, with_advice};
use choice::{asked_for, chosen};
pub use costs::{Costs, FilterPlan, Rejected};
pub(crate) use design::lone::Again;
pub(crate) use design::set_refusal;
pub use files::ManyFiles;
pub use job::{InputShape, Job, SetEstimate};
pub(crate) use job::{all_threads, threads_bytes};
use job::{distinct_lines_in_order, sizes_in_order};
pub(crate) use layout::Layout;
pub use ordering::OrderPlan;
pub use phases::PlannedPhase;
pub(crate) use request::least_for_any_plan;
use request::{check_floor, check_request};
pub(crate) use shares::LEAST_USABLE_BYTES;
pub use strategy::Strategy;

/// The least memory limit that is accepted.
pub const LEAST_MEMORY_BYTES: u64 = 16 << 20;

/// The share of itself by which the rate of a complete filter may be above the accepted one: it is a measurement.
const ABOVE_BY_CHANCE: f64 = 0.05;

/// Lines that are common, as a share of the smaller input, where no estimate was made. The second look
/// ([`revision`]) corrects it as soon as a filter can be asked.
pub(crate) const ASSUMED_COMMON: f64 = 0.1;
/// A filter that keeps less than this share of the lines out of the buckets costs more to ask than it
/// saves.
pub(crate) const LEAST_USEFUL_SAVING: f64 = 0.1;
/// Bits per key beyond which memory serves an exact sieve better as larger blocks: 0.4 % pass by
/// mistake.
pub(crate) const SIEVE_BITS_PER_KEY: f64 = 12.0;

/// The decision.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// What the chosen strategy costs.
    #[serde(flatten)]
    pub costs: Costs,
    /// The phases that it expects, in their order.
    pub phases: Vec<PlannedPhase>,
    /// The others, and why not.
    pub rejected: Vec<Rejected>,
    /// The filter of the survivors of the second input, if it is fed while they are found (`sieve`,
    /// `memory` with filters, and `bloom` with three inputs or more); of `partition` that of a first
    /// input which is small beside the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) second_filter: Option<FilterPlan>,
    /// What the order of the answer costs, if one is asked for; a part of the costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordering: Option<OrderPlan>,
    /// The memory in bytes for lines that come again and again, so that each is spilled once; `partition` only, and 0
    /// where a sample shows few repeats.
    #[serde(skip_serializing_if = "is_none")]
    pub known_bytes: u64,
    /// Whether sizes are guesses, because files are compressed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guesses_sizes: bool,
    /// The files of the buckets that the caller asked for, where these are very many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub many_files: Option<ManyFiles>,
    /// The inputs in the order they are worked on, the build side first, as indexes into the
    /// caller's order.
    #[serde(skip)]
    pub(crate) order: Vec<usize>,
    /// Lines of the build side, repeats included: a set is prepared for this number.
    #[serde(skip)]
    pub(crate) build_lines: u64,
    /// Their mean length in bytes, rounded down; 0 if there are no lines.
    #[serde(skip)]
    pub(crate) build_line_bytes: u64,
    /// What a run does, in order.
    pub(crate) steps: Steps,
    /// Which of the sides each input is.
    #[serde(skip)]
    pub(crate) sides: Sides,
    /// How memory is divided until a revision replaces it.
    #[serde(skip)]
    pub(crate) layout: Layout,
    /// What it is a plan for: a revision computes from the same numbers.
    #[serde(skip)]
    job: Job,
}

/// Whether `bytes` are none: such a member of a plan is left out.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_none(bytes: &u64) -> bool {
    *bytes == 0
}

impl Plan {
    /// The chosen strategy.
    pub fn strategy(&self) -> Strategy {
        self.costs.strategy
    }

    /// Whether the lines are wanted that every input has, and nothing but these.
    pub(crate) fn finds_common(&self) -> bool {
        self.job.finds_common()
    }

    /// The number of sides, a file that was given twice counted twice.
    pub(crate) fn side_count(&self) -> usize {
        self.job.sides.len()
    }

    /// What a run does, a sentence for each step, without a full stop. Files have the numbers that the caller gave
    /// them, from 1.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = String> + '_ {
        self.steps.sentences()
    }

    /// Whether the result may lack lines: an approximate one of anything but an intersection, which may have lines
    /// too many instead.
    pub fn may_miss_lines(&self) -> bool {
        !self.costs.exact && !self.finds_common()
    }

    /// Whether the inputs were read for an estimate before, so that their different lines are known.
    pub fn is_estimated(&self) -> bool {
        self.job.any_lines.is_some()
    }

    /// Checks the rate of a filter that is complete, 0..1, where it was planned for fewer lines than there are, because
    /// samples show repeats: there may be more different lines than they show.
    ///
    /// # Errors
    /// [`crate::Error::RateTooHigh`]; a plan that counts every line as a different one is then to be made.
    pub(crate) fn check_rate(&self, fpr: f64) -> Result<()> {
        let job = &self.job;
        match (job.max_fpr, self.costs.filter) {
            (Some(accepted), Some(filter))
                if job.counts_repeats() && fpr > accepted * (1.0 + ABOVE_BY_CHANCE) =>
            {
                let found = FilterPlan {
                    predicted_fpr: fpr,
                    ..filter
                };
                Err(too_high(job, &found, accepted))
            }
            _ => Ok(()),
        }
    }

    /// The least share, 0..1, of the lines of the input that comes last that are different, as far as its sample shows
    /// it.
    pub(crate) fn distinct_share_of_last(&self) -> f64 {
        let distinct = distinct_lines_in_order(&self.job).last().map(|it| it.least);
        let lines = sizes_in_order(&self.job).last().map(|size| size.lines);
        distinct.unwrap_or(0) as f64 / lines.unwrap_or(0).max(1) as f64
    }

    /// The memory limit of the process, in bytes.
    pub fn limit_bytes(&self) -> u64 {
        self.layout.memory_bytes
    }

    /// What the buffers take that are neither filter nor set, in bytes: what stands between the
    /// memory limit and the filter.
    pub fn buffer_bytes(&self) -> u64 {
        self.layout.base_bytes + self.layout.scan_bytes() + self.layout.pool_bytes()
    }
}

/// The index of the input with the fewest bytes, in the caller's order. 0 for no inputs.
pub(crate) fn smallest(inputs: &[InputShape]) -> usize {
    let bytes = |&index: &usize| inputs[index].bytes.unwrap_or(u64::MAX);
    (0..inputs.len()).min_by_key(bytes).unwrap_or_default()
}

/// Decides how `job` is done.
///
/// # Errors
/// [`crate::Error::MemoryPlan`] when the limit is below the floor or the strategy asked for does not fit
/// it, [`crate::Error::RateTooHigh`] when the filter would exceed the accepted rate.
///
/// ```
/// use outset::plan::{InputShape, Job, plan};
/// use outset::Strategy;
/// let side = InputShape { bytes: Some(320_000_000_000), lines: Some(5_000_000_000), distinct_lines: None, is_cached: false, decoding: None, key_bytes: None };
/// let job = |max_fpr| Job {
///     inputs: vec![side, side],
///     selection: outset::Selection::intersection(),
///     sides: vec![0, 1],
///     longest_line_bytes: 64,
///     memory_bytes: 4 << 30,
///     base_bytes: 8 << 20,
///     threads: 2,
///     strategy: None,
///     max_fpr,
///     buckets: None,
///     bits_per_key: None,
///     stored_filter: None,
///     wants_filter: false,
///     is_ipv4: false,
///     common_share: None,
///     any_lines: None,
///     always_spill: false,
///     set_estimate: Default::default(),
/// };
/// assert_eq!(plan(&job(Some(0.05)))?.strategy(), Strategy::Bloom);
/// assert!(plan(&job(Some(0.01)))?.strategy().is_exact());
/// assert!(plan(&job(None))?.strategy().is_exact());
/// # Ok::<(), outset::Error>(())
/// ```
pub fn plan(job: &Job) -> Result<Plan> {
    check_floor(job)?;
    check_request(job)?;
    let plan = match job.strategy {
        // A stored filter has no lines to compare: `bloom` is the only strategy that can use it.
        None | Some(Strategy::Bloom) if job.stored_filter.is_some() => {
            asked_for(job, Strategy::Bloom)
        }
        Some(strategy) => asked_for(job, strategy),
        None => chosen(job),
    };
    let plan = plan.map_err(|error| with_advice(job, error))?;
    Ok(Plan {
        many_files: ManyFiles::of(job, &plan),
        ..plan
    })
}

/// The layout for reading the inputs of `job` once, with `beside_bytes` of memory left for `consumer` (its
/// name in a refusal). For callers that cannot plan again when a line turns out too long: `estimate` and the
/// `filter` commands.
///
/// # Errors
/// [`crate::Error::MemoryPlan`] when the limit is below the floor, or leaves less than `beside_bytes`.
pub(crate) fn scan_layout(job: &Job, consumer: &str, beside_bytes: u64) -> Result<Layout> {
    check_floor(job)?;
    let layout_in = |memory_bytes: u64| Layout::for_single_try(&job.with_memory(memory_bytes));
    let layout = layout_in(job.memory_bytes);
    if layout.rest_bytes() >= beside_bytes {
        return Ok(layout);
    }
    let fits = |mebibytes: u64| layout_in(mebibytes << 20).rest_bytes() >= beside_bytes;
    let (needed, limit) = display_apart(beside_bytes, job.memory_bytes);
    let what = format!("{needed} for {consumer} does not fit in {limit}");
    Err(advised(what, least_memory(job, fits)))
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
