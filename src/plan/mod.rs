//! The planner: numbers in, decisions out.
//!
//! *Owns:* which strategy runs, with how many buckets, what filter, and how the memory is divided.
//! No I/O, no clock, no machine: what it needs to know comes in as a [`Job`], so it is tested with
//! 5 billion lines in microseconds.
//!
//! *Invariants.*
//! - `auto` follows the memory limit: `bloom` if no set fits, the caller accepts a rate and the filter is
//!   predicted to stay under it; else the exact strategy that moves the fewest bytes, of those that fit.
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
//!         sizes: inputs in working order, their sizes and sides, once for all designs
//!          │                                ─▶ reading_again: the same for an answer that is not sorted
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
mod assumptions;
mod buckets;
mod choice;
mod costs;
mod decision;
mod decoding;
mod design;
mod designs;
pub(crate) mod exchange;
mod files;
mod filters;
mod job;
pub(crate) mod layout;
mod limit;
mod ordering;
mod phases;
mod reading_again;
mod refusal;
mod request;
pub(crate) mod revision;
mod shares;
mod sizes;
pub(crate) mod steps;
mod strategy;

use crate::error::Result;
use crate::size::display_apart;

pub use crate::decode::compressed::Decoding;
pub use crate::input::sample::distinct_lines::Distinct;
use advice::{advised_layout, with_advice};
pub use assumptions::LEAST_MEMORY_BYTES;
pub(crate) use assumptions::{ASSUMED_COMMON, LEAST_USEFUL_SAVING, SIEVE_BITS_PER_KEY};
use choice::{asked_for, chosen};
pub use costs::{Costs, FilterPlan, ManyFiles, Rejected};
pub use decision::Plan;
pub(crate) use design::set_refusal;
pub(crate) use design::singleton_sieve::Again;
pub use job::{InputShape, Job, SetEstimate};
pub(crate) use job::{all_threads, program_bytes, smallest, threads_bytes};
pub(crate) use layout::Layout;
pub use ordering::OrderPlan;
pub use phases::PlannedPhase;
use reading_again::Ways;
pub(crate) use request::least_for_any_plan;
use request::{check_floor, check_request};
pub(crate) use shares::LEAST_USABLE_BYTES;
pub use strategy::Strategy;

/// Decides how `job` is done.
///
/// # Errors
/// [`crate::Error::MemoryPlan`] when the limit is below the floor or the strategy asked for does not fit
/// it, [`crate::Error::RateTooHigh`] when the filter would exceed the accepted rate.
///
/// ```
/// use outset::plan::{InputShape, Job, plan};
/// use outset::Strategy;
/// let side = InputShape {
///     bytes: Some(320_000_000_000),
///     lines: Some(5_000_000_000),
///     distinct_lines: None,
///     is_cached: false,
///     decoding: None,
///     key_bytes: None,
/// };
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
///     compressions: Vec::new(),
///     lines_go_on: false,
///     max_temp_bytes: None,
///     row_bits_bytes: None,
///     can_read_again: true,
///     rereadable_bytes: 0,
///     set_estimate: Default::default(),
/// };
/// assert_eq!(plan(&job(Some(0.05)))?.strategy(), Strategy::Bloom);
/// assert!(plan(&job(Some(0.01)))?.strategy().is_exact());
/// assert!(plan(&job(None))?.strategy().is_exact());
/// # Ok::<(), outset::Error>(())
/// ```
pub fn plan(job: &Job) -> Result<Plan> {
    check_floor(job, |job| plan(job).map(drop))?;
    check_request(job)?;
    let ways = Ways::of(job.clone())?;
    let plan = match job.strategy {
        // A stored filter has no lines to compare: `bloom` is the only strategy that can use it.
        None | Some(Strategy::Bloom) if job.stored_filter.is_some() => {
            asked_for(&ways, Strategy::Bloom)
        }
        Some(strategy) => asked_for(&ways, strategy),
        None => chosen(&ways),
    };
    let plan = plan.map_err(|error| with_advice(job, error))?;
    Ok(Plan {
        many_files: ManyFiles::of(job, &plan),
        ..plan
    })
}

/// Makes the layout for reading the inputs of `job` once, with `beside_bytes` of memory left for `consumer` (its name
/// in a refusal). For callers that cannot plan again when a line turns out too long: `estimate` and the `filter`
/// commands.
///
/// # Errors
/// [`crate::Error::MemoryPlan`] when the limit is below the floor, or leaves less than `beside_bytes`.
pub(crate) fn scan_layout(job: &Job, consumer: &str, beside_bytes: u64) -> Result<Layout> {
    let has_room = |layout: &Layout| layout.rest_bytes() >= beside_bytes;
    let layout_in = |job: &Job| Some(Layout::for_scan(job, true)).filter(has_room);
    advised_layout(job, layout_in, || {
        let (needed, limit) = display_apart(beside_bytes, job.memory_bytes);
        format!("{needed} for {consumer} does not fit in {limit}")
    })
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
