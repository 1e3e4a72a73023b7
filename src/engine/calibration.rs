//! Predicting the seconds of each phase, for a plan that is shown and for a run.
//!
//! *Owns:* the call of a [`Rehearsal`]. *Invariants:* it has temporary space of its own, in the places of the run: what it
//! writes is in no statistics of the run, and is gone when it ends. *Cost:* that of the rehearsal.

use super::attempts::in_order;
use super::opening::temp_space;
use crate::error::Result;
use crate::hash::LineHasher;
use crate::input::{Input, Source};
use crate::options::Options;
use crate::plan::{Plan, PlannedPhase};
use crate::selection::{Rule, Selection, Sides};
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
    (inputs, sources, sides): (&[Input], &[Source], &Sides),
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
        sides,
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
    selection: Selection,
    options: &Options,
) -> Result<Plan> {
    if options.calibrate {
        let inputs = in_order(inputs, &plan.order);
        let sides = sides_of(&inputs, selection, sources.len())?;
        let hasher = LineHasher::new(options.hash_key)?;
        plan.phases = predict(&plan, (&inputs, sources, &sides), options, hasher)?;
    }
    Ok(plan)
}

/// Which of the `sides` of a run each input is. What all sides have is what all files have, however often a file was
/// given.
///
/// # Errors
/// [`crate::Error::Usage`] for a selection that does not fit the number of sides.
pub(super) fn sides_of(inputs: &[Input], selection: Selection, sides: usize) -> Result<Sides> {
    if selection.is_plain_intersection(sides) {
        return Ok(Sides::common(inputs.len(), selection.order));
    }
    let rule = Rule::new(selection, sides)?;
    Ok(Sides::new(rule, inputs.iter().map(Input::sides)))
}
