//! The choice of a strategy: the one that the caller named, or the one that `auto` finds best.
//!
//! *Owns:* the rules of `auto`, and the reasons against the strategies that were not chosen. *Invariants:* every
//! strategy but the chosen one has a reason, which `outset plan` prints.
//!
//! *Cost:* one design for each strategy.

use crate::error::{Error, Result};
use crate::plan::advice::{too_high, with_advice};
use crate::plan::assumptions::OF_STRATEGY;
use crate::plan::design::Design;
use crate::plan::designs::{design_of, least_of};
use crate::plan::reading_again::Ways;
use crate::plan::{FilterPlan, Job, Plan, Rejected, Strategy};
use crate::size::display_rate;

/// Makes the plan for a strategy that the caller named, or that a stored filter implies.
///
/// The alternatives are designed too, so that `outset plan` can print what they would cost. With a stored
/// filter there are none.
///
/// # Errors
/// [`Error::MemoryPlan`] when the design does not fit, [`Error::RateTooHigh`] when its filter is predicted
/// above the accepted rate, [`Error::Usage`] when a filter is to be saved and this strategy builds none, and for a
/// largest rate where sizes are guesses.
pub(super) fn asked_for(ways: &Ways, strategy: Strategy) -> Result<Plan> {
    let (job, design) = (&ways.once.job, design_of(ways, strategy)?);
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
        .map(|other| match design_of(ways, other) {
            Ok(design) => reject(&design, format!("you chose {strategy}")),
            Err(error) => refused(job, other, error),
        })
        .collect();
    Ok(design.into_plan(rejected))
}

/// Applies the rules of `auto`: `bloom` if the caller accepts its rate and no set fits; else a set that fits, where
/// nothing else is sure to find room on disk; else the exact strategy that moves the fewest bytes, as
/// [`Design::moved_bytes`] counts them.
pub(super) fn chosen(ways: &Ways) -> Result<Plan> {
    let job = &ways.once.job;
    // In the order of the rules: a set first, if one fits.
    let (mut possible, mut rejected) = (Vec::<Design<'_>>::new(), Vec::new());
    for strategy in Strategy::ALL {
        match design_of(ways, strategy) {
            Err(error) => rejected.push(refused(job, strategy, error)),
            Ok(design) => match objection(job, &design, !possible.is_empty()) {
                Some(reason) => rejected.push(reject(&design, reason)),
                None => possible.push(design),
            },
        }
    }
    // Of a pipe nobody knows how much it spills, and under a cap, what is expected may be too little.
    let has_pipe = job.inputs.iter().any(|shape| shape.bytes.is_none());
    let spares_disk = has_pipe || job.max_temp_bytes.is_some();
    let (winner, reason) = match possible.first().map(|first| first.costs.strategy) {
        // Nothing fits. The reason of the one that needs the least memory is the one that helps.
        None => {
            return design_of(ways, least_of(job)).map(|design| design.into_plan(rejected));
        }
        Some(Strategy::Bloom) => (0, "auto prefers bloom at the rate that you accept".into()),
        Some(Strategy::Memory) if spares_disk => {
            (0, "memory is sure to need no temporary disk".into())
        }
        Some(_) => {
            let fewest = (0..possible.len()).min_by_key(|&at| possible[at].moved_bytes());
            let winner = fewest.unwrap_or(0);
            let name = possible[winner].costs.strategy;
            (winner, format!("{name} is expected to move fewer bytes"))
        }
    };
    let design = possible.remove(winner);
    let losers = possible.iter().map(|other| reject(other, reason.clone()));
    rejected.extend(losers);
    rejected.sort_by_key(|other| Strategy::ALL.iter().position(|&it| it == other.strategy));
    Ok(design.into_plan(rejected))
}

/// Says why `auto` must not choose this design; `None` if it may. `bloom` is not asked for where a set fits.
fn objection(job: &Job, design: &Design<'_>, set_fits: bool) -> Option<String> {
    match design.costs.strategy {
        _ if job.wants_filter && design.costs.filter.is_none() => {
            Some("it builds no filter that could be saved".to_owned())
        }
        Strategy::Bloom if set_fits => {
            Some("a set fits, so auto takes an exact strategy".to_owned())
        }
        Strategy::Bloom => unwanted_bloom(job, design),
        _ => None,
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
fn unwanted_bloom(job: &Job, design: &Design<'_>) -> Option<String> {
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
fn reject(design: &Design<'_>, reason: String) -> Rejected {
    Rejected {
        strategy: design.costs.strategy,
        reason,
        costs: Some(design.costs.clone()),
    }
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
