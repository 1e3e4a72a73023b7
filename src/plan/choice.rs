//! The choice of a strategy: the one that the caller named, or the one that `auto` finds best.
//!
//! *Owns:* the rules of `auto`, and the reasons against the strategies that were not chosen. *Invariants:* every
//! strategy but the chosen one has a reason, which `outset plan` prints.
//!
//! *Cost:* one design for each strategy.

use crate::decode::compressed::Decoding;
use crate::error::{Error, Result};
use crate::plan::advice::{too_high, with_advice};
use crate::plan::assumptions::OF_STRATEGY;
use crate::plan::decoding::DecodingPlan;
use crate::plan::design::Design;
use crate::plan::designs::design_of;
use crate::plan::sizes::SizedJob;
use crate::plan::{FilterPlan, InputShape, Job, Plan, Rejected, Strategy};
use crate::size::display_rate;

/// The cost of a line that is held in memory besides its bytes, in bytes that are moved.
const HELD_LINE_COST: u64 = 100;
/// The cost of finding the key of a record, in bytes that are moved: CSV of 87 bytes a record takes half as long again
/// as plain lines.
const KEY_COST: f64 = 40.0;

/// Makes the plan for a strategy that the caller named, or that a stored filter implies.
///
/// The alternatives are designed too, so that `outset plan` can print what they would cost. With a stored
/// filter there are none.
///
/// # Errors
/// [`Error::MemoryPlan`] when the design does not fit, [`Error::RateTooHigh`] when its filter is predicted
/// above the accepted rate, [`Error::Usage`] when a filter is to be saved and this strategy builds none, and for a
/// largest rate where sizes are guesses.
pub(super) fn asked_for(sized: &SizedJob, strategy: Strategy) -> Result<Plan> {
    let (job, design) = (&sized.job, design_of(sized, strategy)?);
    if strategy == Strategy::Bloom && job.max_fpr.is_some() && job.guesses_sizes() {
        return Err(Error::usage(
            "`max_fpr`: the sizes of compressed files are only estimated, so a filter's rate cannot be guaranteed",
            "leave out `max_fpr`, or decompress the files first",
        ));
    }
    if let (Strategy::Bloom, Some(accepted), Some(filter)) =
        (strategy, job.max_fpr, design.costs.filter)
        && filter.predicted_fpr > accepted
    {
        return Err(too_high(job, &filter, accepted));
    }
    if job.wants_filter && design.costs.filter.is_none() {
        return Err(Error::usage(
            format!("`save_filter`: {strategy} builds no filter here"),
            "choose sieve or bloom, or use outset filter build",
        ));
    }
    let is_other = |&other: &Strategy| other != strategy && job.stored_filter.is_none();
    let rejected = Strategy::ALL
        .into_iter()
        .filter(is_other)
        .map(|other| match design_of(sized, other) {
            Ok(design) => reject(&design, format!("you chose {strategy}")),
            Err(error) => refused(job, other, error),
        })
        .collect();
    Ok(design.into_plan(sized, rejected))
}

/// Applies the rules of `auto`: `bloom` if the caller accepts its rate and no set fits; else the exact strategy that
/// moves the fewest bytes, as [`moved`] counts them. A set that fits is taken in any case where nothing else is sure to
/// find room on disk.
///
/// [`Strategy::ALL`] is in the order of the rules: of two that move as many bytes, the first wins.
pub(super) fn chosen(sized: &SizedJob) -> Result<Plan> {
    let job = &sized.job;
    let mut rejected = Vec::new();
    let mut best: Option<Design> = None;
    // Of a pipe nobody knows how much it spills, and under a cap, what is expected may be too little.
    let has_pipe = job.inputs.iter().any(|shape| shape.bytes.is_none());
    let spares_disk = has_pipe || job.max_temp_bytes.is_some();
    for strategy in Strategy::ALL {
        let design = match design_of(sized, strategy) {
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
            (Some(best), _) if best.costs.strategy == Strategy::Bloom => {
                Some("auto prefers bloom at the rate that you accept".to_owned())
            }
            (Some(_), Strategy::Bloom) => {
                Some("a set fits, so auto takes an exact strategy".to_owned())
            }
            (Some(best), _) if best.costs.strategy == Strategy::Memory && spares_disk => {
                Some("memory is sure to need no temporary disk".to_owned())
            }
            (Some(best), _) => (moved(job, best) <= moved(job, &design)).then(String::new),
        };
        let loser = match unwanted {
            Some(reason) => Some(reject(&design, reason)),
            None => best
                .replace(design)
                .map(|before| reject(&before, String::new())),
        };
        rejected.extend(loser);
    }
    match best {
        Some(design) => {
            // Those that move more bytes than the winner have no reason yet.
            for other in rejected.iter_mut().filter(|other| other.reason.is_empty()) {
                let winner = design.costs.strategy;
                other.reason = format!("{winner} is expected to move fewer bytes");
            }
            Ok(design.into_plan(sized, rejected))
        }
        // Nothing fits. Partition needs the least memory, so its reason is the one that helps.
        None => {
            design_of(sized, Strategy::Partition).map(|design| design.into_plan(sized, rejected))
        }
    }
}

/// Makes the entry of a strategy that does not fit: its reason advises a limit as if the caller had asked for the
/// strategy.
fn refused(job: &Job, strategy: Strategy, error: Error) -> Rejected {
    let asked = Job {
        strategy: Some(strategy),
        ..job.clone()
    };
    let reason = match with_advice(&asked, error) {
        Error::Usage { what, .. } => what.trim_start_matches(OF_STRATEGY).to_owned(),
        Error::MemoryPlan { what, advice, .. } => format!("{what}: {advice}"),
        error => error.to_string(),
    };
    Rejected {
        strategy,
        reason,
        costs: None,
    }
}

/// Says why `auto` must not choose this `bloom`; `None` if the caller accepts its predicted rate.
fn unwanted_bloom(job: &Job, design: &Design) -> Option<String> {
    let predicted = design
        .costs
        .filter
        .map_or(0.0, |filter| filter.predicted_fpr);
    match job.max_fpr {
        Some(accepted) if accepted > 0.0 && job.guesses_sizes() => Some(
            "the sizes of compressed files are only estimated, so its rate cannot be guaranteed"
                .into(),
        ),
        Some(accepted) if accepted > 0.0 => (predicted > accepted).then(|| {
            format!(
                "its predicted false-positive rate {} is above the accepted {}",
                display_rate(predicted),
                display_rate(accepted)
            )
        }),
        _ => Some("it is approximate, but no `max_fpr` allows that".to_owned()),
    }
}

/// Makes the entry of a strategy that would have run, with its costs.
fn reject(design: &Design, reason: String) -> Rejected {
    Rejected {
        strategy: design.costs.strategy,
        reason,
        costs: Some(design.costs.clone()),
    }
}

/// Adds up the bytes read and written, on disk or in memory, and what decoding costs and finding keys: `auto` compares
/// exact strategies by this sum.
///
/// What blocks and large sets hold in memory is moved, too, and each of its lines waits for memory when it comes and
/// when it is written. So a set is not worth it where few lines come again: a union of 2 x 10 million URLs takes 2.0 to
/// 6.1 s with a set of 1.4 GB, by how soon the system gives that memory, and 2.2 s with filters of 130 MB, which read
/// the files twice.
fn moved(job: &Job, design: &Design) -> u64 {
    let costs = &design.costs;
    // What is spilled is written once and read once; all other bytes are of inputs.
    let of_inputs = costs.bytes_read.saturating_sub(costs.bytes_written);
    let understood = (of_inputs as f64 * understanding_cost(job)) as u64;
    let all = costs.bytes_read.saturating_add(costs.bytes_written);
    let held = design.held.lines.saturating_mul(HELD_LINE_COST);
    let held = held.saturating_add(design.held.bytes);
    all.saturating_add(understood).saturating_add(held)
}

/// Returns the mean cost of decoding a byte of the inputs and of finding its key, in bytes that are moved.
fn understanding_cost(job: &Job) -> f64 {
    let bytes = |shape: &InputShape| shape.bytes.unwrap_or(0) as f64;
    let lanes = DecodingPlan::of(job).lanes as f64;
    let cost = |shape: &InputShape| {
        let decoding =
            |decoding: Decoding| decoding.cost as f64 / lanes.min(decoding.pieces as f64);
        let records = shape.lines.filter(|_| shape.key_bytes.is_some());
        let keys = records.unwrap_or(0) as f64 * KEY_COST / bytes(shape).max(1.0);
        keys + shape.decoding.map_or(0.0, decoding)
    };
    let all: f64 = job.inputs.iter().map(bytes).sum();
    let costs = job.inputs.iter().map(|shape| bytes(shape) * cost(shape));
    costs.sum::<f64>() / all.max(1.0)
}

/// The share of itself by which the rate of a complete filter may be above the accepted one: it is a measurement.
const ABOVE_BY_CHANCE: f64 = 0.05;

impl Plan {
    /// Checks the rate of a filter that is complete, 0..1, where it may have been planned for fewer lines than there
    /// are: because samples show repeats, and there may be more different lines than they show, or because an input is
    /// a pipe, of which nothing was known.
    ///
    /// # Errors
    /// [`crate::Error::RateTooHigh`]; a plan that counts every line as a different one is then to be made.
    pub(crate) fn check_rate(&self, fpr: f64) -> Result<()> {
        let job = &self.sized.job;
        let has_pipe = job.inputs.iter().any(|shape| shape.bytes.is_none());
        let is_unsure = job.counts_repeats() || has_pipe;
        match (job.max_fpr, self.costs.filter) {
            (Some(accepted), Some(filter))
                if is_unsure && fpr > accepted * (1.0 + ABOVE_BY_CHANCE) =>
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
}
