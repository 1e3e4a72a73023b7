//! The phases of a list, and what each goes through.
//!
//! *Owns:* the fold from steps to phases. *Invariants:* a step is one phase; but what writes a set, and a decision, are
//! none, and a filter of survivors that is fed is none of its own. *Cost:* a few nanoseconds a step.

use super::step::Step;
use crate::plan::PlannedPhase;

/// The bytes that steps go through.
#[derive(Debug, Clone, Copy)]
pub(in crate::plan) struct StepBytes<'a> {
    /// Those of each input, in the plan's order, when it is read.
    pub(in crate::plan) inputs: &'a [u64],
    /// The bytes of all inputs that the join goes through.
    pub(in crate::plan) joined: u64,
    /// The bytes read from buckets to build filters of survivors, all together.
    pub(in crate::plan) read_back: u64,
    /// The answer that is put in order.
    pub(in crate::plan) answer: u64,
}

/// Lists the phases of these steps.
pub(in crate::plan) fn phases(steps: &[Step], bytes: &StepBytes<'_>) -> Vec<PlannedPhase> {
    let is_refilter = |step: &&Step| matches!(step, Step::Refilter { .. });
    let mut refilters = steps.iter().filter(is_refilter).count() as u64;
    // What is read back is divided evenly; the last one gets the rest of the division.
    let mut left = bytes.read_back;
    let mut read_back = || {
        let share = left / refilters;
        (left, refilters) = (left - share, refilters - 1);
        share
    };
    let phase = |(number, step): (usize, &Step)| {
        let name = verb(step)?;
        let bytes_read = match step {
            Step::Refilter { .. } if bytes.read_back == 0 => return None,
            Step::Refilter { .. } => read_back(),
            Step::Join { .. } => bytes.joined,
            Step::Order => bytes.answer,
            step => step.input().map_or(0, |at| bytes.inputs[at as usize]),
        };
        Some(PlannedPhase {
            step: number,
            name,
            bytes_read,
        })
    };
    steps.iter().enumerate().filter_map(phase).collect()
}

/// Names the phase of a step; `None` if it is none.
pub(crate) fn verb(step: &Step) -> Option<&'static str> {
    match step {
        Step::Filter { .. } => Some("filter"),
        Step::Spill { .. } => Some("spill"),
        Step::Refilter { .. } => Some("filter survivors"),
        Step::Build { .. } | Step::WriteNew { .. } | Step::Collect { through: None, .. } => {
            Some("build")
        }
        Step::Mark { .. }
        | Step::LookUp { .. }
        | Step::Ask { .. }
        | Step::Collect { .. }
        | Step::Tell { .. } => Some("probe"),
        Step::Join { .. } => Some("join"),
        Step::Order => Some("order"),
        Step::Rewrite { .. } => Some("write"),
        Step::Write | Step::Replan(_) => None,
    }
}
