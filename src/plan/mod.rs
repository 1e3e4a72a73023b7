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

mod buckets;
mod costs;
mod design;
mod filters;
mod job;
pub(crate) mod layout;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::options::Strategy;
use crate::size::{display_at_least, display_bytes, round_mebibytes};

pub use costs::{Costs, FilterPlan, Rejected};
use design::{Design, bloom, memory, partition, sieve};
pub use job::{InputShape, Job, SetEstimate};
pub(crate) use layout::Layout;

/// The least memory limit that is accepted.
pub const LEAST_MEMORY_BYTES: u64 = 16 << 20;

/// Lines that are common, as a share of the smaller input, where nothing is known about it.
pub(crate) const ASSUMED_COMMON: f64 = 0.1;
/// Bits per key beyond which memory serves an exact sieve better as larger blocks: 0.4 % pass by
/// mistake.
pub(crate) const SIEVE_BITS_PER_KEY: f64 = 12.0;

/// The decision.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// What the chosen strategy costs.
    #[serde(flatten)]
    pub costs: Costs,
    /// The others, and why not.
    pub rejected: Vec<Rejected>,
    /// The filter of the survivors of the second input, if it is fed while they are found (`sieve`,
    /// `memory` with filters, and `bloom` with three inputs or more).
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
/// assert_eq!(plan(&job(0.05))?.strategy(), Strategy::Bloom);
/// assert!(plan(&job(0.01))?.strategy().is_exact());
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

/// Replaces the advice of a refusal by the least limit that would do, found by trying: the planner
/// is quick.
fn with_advice(job: &Job, error: Error) -> Error {
    let Error::MemoryPlan { what, .. } = error else {
        return error;
    };
    let strategy = job.strategy.unwrap_or(Strategy::Partition);
    let fits = |mebibytes: u64| {
        let larger = Job {
            memory_bytes: mebibytes << 20,
            set_estimate: SetEstimate::Trust,
            ..job.clone()
        };
        design_of(&larger, strategy).is_ok()
    };
    let least_bytes = least_memory(job, fits);
    let advice = format!("give at least {}", display_at_least(least_bytes));
    Error::MemoryPlan {
        what,
        advice,
        least_bytes,
    }
}

/// The least limit under which a job `fits`, which is told the limit in MiB, found by trying.
fn least_memory(job: &Job, fits: impl Fn(u64) -> bool) -> u64 {
    let mut low = job.memory_bytes >> 20;
    let mut high = low.max(1) * 2;
    while !fits(high) && high < 1 << 40 {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    // What the process itself needs varies a little from run to run.
    (high + 1 + high / 64) << 20
}

/// The layout for reading the inputs of `job` with `beside_bytes` of memory for `consumer`, by one who
/// cannot plan again when a line turns out too long.
///
/// # Errors
/// [`Error::MemoryPlan`] when the limit is below the floor, or leaves less than that.
pub(crate) fn scan_layout(job: &Job, consumer: &str, beside_bytes: u64) -> Result<Layout> {
    check_floor(job)?;
    let layout_in = |memory_bytes: u64| {
        Layout::for_single_try(&Job {
            memory_bytes,
            ..job.clone()
        })
    };
    let layout = layout_in(job.memory_bytes);
    if layout.rest_bytes() >= beside_bytes {
        return Ok(layout);
    }
    let fits = |mebibytes: u64| layout_in(mebibytes << 20).rest_bytes() >= beside_bytes;
    let least_bytes = least_memory(job, fits);
    Err(Error::MemoryPlan {
        what: format!(
            "{consumer} of {} does not fit {}",
            display_bytes(beside_bytes),
            display_bytes(job.memory_bytes)
        ),
        advice: format!("give at least {}", display_at_least(least_bytes)),
        least_bytes,
    })
}

fn check_floor(job: &Job) -> Result<()> {
    let least = LEAST_MEMORY_BYTES.max(job.base_bytes + layout::LEAST_USABLE_BYTES);
    if job.memory_bytes >= least {
        return Ok(());
    }
    Err(Error::MemoryPlan {
        what: format!(
            "{} is too little to run in",
            display_bytes(job.memory_bytes)
        ),
        advice: format!("give at least {}", display_at_least(least)),
        least_bytes: round_mebibytes(least),
    })
}

fn check_request(job: &Job) -> Result<()> {
    let usage = |what: &str, advice: &str| {
        Err(Error::Usage {
            what: what.into(),
            advice: advice.into(),
        })
    };
    if !(0.0..=1.0).contains(&job.max_fpr) {
        return usage(
            "max-fpr: it is no rate",
            "give a number from 0 to 1, or a percentage",
        );
    }
    if job.buckets == Some(0) || job.threads == 0 {
        return usage(
            "buckets, threads: there must be at least one",
            "leave the option out for the default",
        );
    }
    if job
        .bits_per_key
        .is_some_and(|bits| bits.is_nan() || bits <= 0.0)
    {
        return usage(
            "bits-per-key: it must be positive",
            "leave the option out for the default",
        );
    }
    if job.stored_filter.is_some() && job.strategy.is_some_and(Strategy::is_exact) {
        return usage(
            "filter: of what it was built of there are only bits, and no lines to compare",
            "leave --strategy out, or name the file that it was built of",
        );
    }
    if job.stored_filter.is_some() && job.wants_filter {
        return usage(
            "save-filter: with --filter none is built",
            "leave one of them out",
        );
    }
    if job.inputs.is_empty() || job.inputs.len() > usize::from(crate::set::MAX_MARKS) {
        return usage(
            "inputs: from 2 to 65534 can be intersected",
            "intersect them in groups",
        );
    }
    Ok(())
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
    let filter = design
        .costs
        .filter
        .filter(|_| strategy == Strategy::Bloom && job.max_fpr > 0.0);
    if let Some(filter) = filter.filter(|filter| filter.predicted_fpr > job.max_fpr) {
        return Err(too_high(job, &filter));
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

fn too_high(job: &Job, filter: &FilterPlan) -> Error {
    if job.stored_filter.is_some() {
        return Error::RateTooHigh {
            predicted: filter.predicted_fpr,
            accepted: job.max_fpr,
            advice: "accept a higher rate, or build a larger filter".into(),
        };
    }
    let is_enough = |memory_bytes: u64| {
        let larger = Job {
            memory_bytes,
            ..job.clone()
        };
        let filter = design_of(&larger, Strategy::Bloom)
            .ok()
            .and_then(|design| design.costs.filter);
        filter.is_some_and(|filter| filter.predicted_fpr <= job.max_fpr)
    };
    // Steps of an eighth: the advice is "about".
    let steps = std::iter::successors(Some(job.memory_bytes), |bytes| bytes.checked_add(bytes / 8));
    let enough = steps
        .take_while(|&bytes| bytes < 1 << 50)
        .find(|&bytes| is_enough(bytes));
    let advice = match enough {
        Some(bytes) => {
            format!(
                "give about {} of memory, or run an exact strategy",
                display_at_least(bytes)
            )
        }
        None => "no filter reaches that: accept a higher rate, or run an exact strategy".to_owned(),
    };
    Error::RateTooHigh {
        predicted: filter.predicted_fpr,
        accepted: job.max_fpr,
        advice,
    }
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
    if job.max_fpr == 0.0 {
        Some("it is approximate, and no --max-fpr allows that".to_owned())
    } else if predicted > job.max_fpr {
        Some(format!(
            "its false-positive rate is predicted as {:.2}%, above the accepted {:.2}%",
            predicted * 100.0,
            job.max_fpr * 100.0
        ))
    } else {
        None
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
mod tests;
