//! Predicting the seconds of each phase, for a plan that is shown and for a run.
//!
//! *Owns:* the call of a [`Rehearsal`]. *Invariants:* it has temporary space of its own, in the places of the run: what
//! it writes is in no statistics of the run, and is gone when it ends. *Cost:* that of the rehearsal.

use super::attempts::in_order;
use super::opening::temp_space;
use crate::error::Result;
use crate::hash::LineHasher;
use crate::input::{Input, Source};
use crate::options::Options;
use crate::plan::{Plan, PlannedPhase};
use crate::strategy::rehearsal::Rehearsal;

/// Refuses inputs that cannot be measured, where the options ask for that.
///
/// # Errors
/// As [`Rehearsal::check`].
pub(super) fn check_calibration(inputs: &[Input], options: &Options) -> Result<()> {
    if options.calibrate {
        Rehearsal::check(inputs, options)?;
    }
    Ok(())
}

/// The phases of `plan`, each with the seconds that it will take, measured over slices of the inputs; these are in the
/// order of the plan, and `sources` are the caller's.
///
/// # Errors
/// As [`Rehearsal::phases`].
pub(super) fn predict(
    plan: &Plan,
    (inputs, sources): (&[Input], &[Source]),
    options: &Options,
    hasher: LineHasher,
) -> Result<Vec<PlannedPhase>> {
    let options = Options {
        observer: None,
        ..options.clone()
    };
    let rehearsal = Rehearsal {
        sources,
        options: &options,
        plan,
        inputs,
        sides: &plan.sized.sides,
        hasher,
        space: &temp_space(&options),
    };
    rehearsal.phases()
}

/// The plan with predictions, if the options ask for them. `inputs` are in the caller's order.
///
/// # Errors
/// As [`predict`].
pub(super) fn calibrated(
    mut plan: Plan,
    (inputs, sources): (Vec<Input>, &[Source]),
    options: &Options,
) -> Result<Plan> {
    if options.calibrate {
        let inputs = in_order(inputs, &plan.sized.order);
        let hasher = LineHasher::new(options.hash_key)?;
        plan.phases = predict(&plan, (&inputs, sources), options, hasher)?;
    }
    Ok(plan)
}
