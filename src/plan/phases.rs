//! Which phases a plan expects, in their order, and what each goes through: a fold over its steps.
//!
//! *Owns:* the expectation by which a progress display divides the time. *Invariants:* the names
//! are the verbs of the run's own phases, and the bytes are counted as theirs are: blocks that
//! stay in memory included. The phases add up to the bytes read of the plan and these blocks, less the
//! reading of a stored filter, which is over before there is a plan.

use serde::Serialize;

/// A phase that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlannedPhase {
    /// What it does: the first word of its name, or all of it where it works on no input.
    pub name: &'static str,
    /// Bytes that it goes through: of an input, of buckets, or of blocks in memory. Of an input of
    /// unknown size this is a guess, or 0 where there is none.
    pub bytes_read: u64,
    /// Seconds that it is predicted to take, if the machine was measured
    /// ([`Options::calibrate`](crate::Options::calibrate)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_seconds: Option<f64>,
}

impl PlannedPhase {
    /// Which of `phases` a phase is that calls itself `name`: one of exactly this name, or else the first whose verb
    /// the name begins with.
    pub fn position<'p>(
        mut phases: impl Iterator<Item = &'p Self> + Clone,
        name: &str,
    ) -> Option<usize> {
        let mut again = phases.clone();
        let is_of = |planned: &Self| {
            name.strip_prefix(planned.name)
                .is_some_and(|rest| rest.starts_with(' ') && !planned.name.is_empty())
        };
        let exact = phases.position(|planned| planned.name == name);
        exact.or_else(|| again.position(is_of))
    }
}
