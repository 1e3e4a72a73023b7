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

mod advice;
mod buckets;
mod costs;
mod design;
mod filters;
mod job;
pub(crate) mod layout;
mod phases;
mod request;
pub(crate) mod revision;
mod strategy;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::size::{display_apart, display_rate};

use advice::{advised, least_memory, too_high, with_advice};
pub use costs::{Costs, FilterPlan, Rejected};
use design::{Design, bloom, memory, partition, sieve};
pub use job::{InputShape, Job, SetEstimate};
pub(crate) use job::{all_threads, threads_bytes};
pub(crate) use layout::Layout;
pub use phases::PlannedPhase;
use request::{check_floor, check_request};
pub use strategy::Strategy;

/// The least memory limit that is accepted.
pub const LEAST_MEMORY_BYTES: u64 = 16 << 20;

/// Lines that are common, as a share of the smaller input, where nothing is known about it.
pub(crate) const ASSUMED_COMMON: f64 = 0.1;
/// A filter that keeps fewer lines than this share out of the buckets is not worth asking.
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
    /// The inputs in the order they are worked on, the build side first, as indexes into the
    /// caller's order.
    #[serde(skip)]
    pub(crate) order: Vec<usize>,
    /// Lines of the build side.
    #[serde(skip)]
    pub(crate) build_lines: u64,
    /// Their mean length in bytes.
    #[serde(skip)]
    pub(crate) build_line_bytes: u64,
    /// Whether a bitmap of addresses takes the place of the set.
    #[serde(skip)]
    pub(crate) uses_bitmap: bool,
    /// How memory is divided.
    #[serde(skip)]
    pub(crate) layout: Layout,
    /// What it is a plan for.
    #[serde(skip)]
    job: Job,
}

impl Plan {
    /// The chosen strategy.
    pub fn strategy(&self) -> Strategy {
        self.costs.strategy
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

/// Which of `inputs` is worked on first.
pub(crate) fn smallest(inputs: &[InputShape]) -> usize {
    job::order(inputs).first().copied().unwrap_or_default()
}

/// Decides how `job` is done.
///
/// # Errors
/// [`Error::MemoryPlan`] when the limit is below the floor or the strategy asked for does not fit
/// it, [`Error::RateTooHigh`] when the filter would exceed the accepted rate.
///
/// ```
/// use outset::plan::{InputShape, Job, plan};
/// use outset::Strategy;
/// let side = InputShape { bytes: Some(320_000_000_000), lines: Some(5_000_000_000), is_cached: false };
/// let job = |max_fpr| Job {
///     inputs: vec![side, side],
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
        // Whoever gives a filter in place of an input has chosen.
        None | Some(Strategy::Bloom) if job.stored_filter.is_some() => {
            asked_for(job, Strategy::Bloom)
        }
        Some(strategy) => asked_for(job, strategy),
        None => chosen(job),
    };
    plan.map_err(|error| with_advice(job, error))
}

/// The layout for reading the inputs of `job` with `beside_bytes` of memory for `consumer`, by one who
/// cannot plan again when a line turns out too long.
///
/// # Errors
/// [`Error::MemoryPlan`] when the limit is below the floor, or leaves less than that.
pub(crate) fn scan_layout(job: &Job, consumer: &str, beside_bytes: u64) -> Result<Layout> {
    check_floor(job)?;
    let layout_in = |memory_bytes: u64| Layout::for_single_try(&job.with_memory(memory_bytes));
    let layout = layout_in(job.memory_bytes);
    if layout.rest_bytes() >= beside_bytes {
        return Ok(layout);
    }
    let fits = |mebibytes: u64| layout_in(mebibytes << 20).rest_bytes() >= beside_bytes;
    let (needed, limit) = display_apart(beside_bytes, job.memory_bytes);
    let what = format!("{consumer} of {needed} does not fit {limit}");
    Err(advised(what, least_memory(job, fits)))
}

fn design_of(job: &Job, strategy: Strategy) -> Result<Design, Error> {
    match strategy {
        Strategy::Memory => memory(job),
        Strategy::Partition => partition(job),
        Strategy::Sieve => sieve(job),
        Strategy::Bloom => bloom(job),
    }
}

fn asked_for(job: &Job, strategy: Strategy) -> Result<Plan> {
    let design = design_of(job, strategy)?;
    if let (Strategy::Bloom, Some(accepted), Some(filter)) =
        (strategy, job.max_fpr, design.costs.filter)
        && filter.predicted_fpr > accepted
    {
        return Err(too_high(job, &filter, accepted));
    }
    if job.wants_filter && design.costs.filter.is_none() {
        return Err(Error::Usage {
            what: format!("save-filter: {strategy} builds no filter here"),
            advice: "choose sieve or bloom, or use outset filter build".into(),
        });
    }
    let others = if job.stored_filter.is_some() {
        &[][..]
    } else {
        &Strategy::ALL
    };
    let rejected = others
        .iter()
        .copied()
        .filter(|&other| other != strategy)
        .map(|other| match design_of(job, other) {
            Ok(design) => reject(&design, format!("{strategy} was asked for")),
            Err(error) => refused(job, other, error),
        })
        .collect();
    Ok(design.into_plan(job, rejected))
}

/// The three rules of `auto`.
fn chosen(job: &Job) -> Result<Plan> {
    let mut rejected = Vec::new();
    let mut best: Option<Design> = None;
    for strategy in Strategy::ALL {
        let design = match design_of(job, strategy) {
            Ok(design) => design,
            Err(error) => {
                rejected.push(refused(job, strategy, error));
                continue;
            }
        };
        let unwanted = match (&best, strategy) {
            _ if job.wants_filter && design.costs.filter.is_none() => {
                Some("it builds no filter that could be saved".to_owned())
            }
            (None, Strategy::Bloom) => unwanted_bloom(job, &design),
            (None, _) => None,
            (Some(best), _) if best.costs.strategy == Strategy::Sieve => {
                if moved(&best.costs) <= moved(&design.costs) {
                    Some("the sieve is expected to move fewer bytes".to_owned())
                } else {
                    None
                }
            }
            (Some(best), _) => Some(format!(
                "{} comes first at this memory limit",
                best.costs.strategy
            )),
        };
        match unwanted {
            Some(reason) => rejected.push(reject(&design, reason)),
            None => {
                if let Some(before) = best.replace(design) {
                    rejected.push(reject(
                        &before,
                        "partition is expected to move fewer bytes".to_owned(),
                    ));
                }
            }
        }
    }
    match best {
        Some(design) => Ok(design.into_plan(job, rejected)),
        // Partition needs the least: its reason is the one that helps.
        None => partition(job).map(|design| design.into_plan(job, rejected)),
    }
}

/// A strategy that does not fit.
fn refused(job: &Job, strategy: Strategy, error: Error) -> Rejected {
    let asked = Job {
        strategy: Some(strategy),
        ..job.clone()
    };
    Rejected {
        strategy,
        reason: with_advice(&asked, error).to_string(),
        costs: None,
    }
}

fn unwanted_bloom(job: &Job, design: &Design) -> Option<String> {
    let predicted = design
        .costs
        .filter
        .map_or(0.0, |filter| filter.predicted_fpr);
    match job.max_fpr {
        Some(accepted) if accepted > 0.0 => (predicted > accepted).then(|| {
            format!(
                "its false-positive rate is predicted as {}, above the accepted {}",
                display_rate(predicted),
                display_rate(accepted)
            )
        }),
        _ => Some("it is approximate, and no --max-fpr allows that".to_owned()),
    }
}

fn reject(design: &Design, reason: String) -> Rejected {
    Rejected {
        strategy: design.costs.strategy,
        reason,
        costs: Some(design.costs.clone()),
    }
}

fn moved(costs: &Costs) -> u64 {
    costs.bytes_read.saturating_add(costs.bytes_written)
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
