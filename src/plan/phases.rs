//! Which phases a plan expects, in their order, and what each goes through: a fold over its steps.
//!
//! *Owns:* the expectation by which a progress display divides the time. *Invariants:* the names
//! are the verbs of the run's own phases, and the bytes are counted as theirs are: blocks that
//! stay in memory included. The phases add up to the bytes read of the plan and these blocks, less the
//! reading of a stored filter, which is over before there is a plan.

use serde::Serialize;

use crate::plan::Plan;
use crate::plan::job::read_in_order;
use crate::plan::steps::phases::StepBytes;
use crate::plan::steps::{self, Step};

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
    /// Which of `phases` a phase is that calls itself `name`: one of exactly this name, or else the first whose verb the
    /// name begins with.
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

impl Plan {
    /// The phases of steps of this plan, whose join goes through `joined` bytes, and whose filters of survivors read
    /// `read_back` bytes again.
    pub(crate) fn phases_of(
        &self,
        steps: &[Step],
        joined: u64,
        read_back: u64,
    ) -> Vec<PlannedPhase> {
        let sizes = read_in_order(&self.job).into_iter();
        let bytes = StepBytes {
            inputs: &sizes.map(|size| size.bytes).collect::<Vec<_>>(),
            joined,
            read_back,
            answer: self.ordering.map_or(0, |ordering| ordering.answer_bytes),
        };
        steps::phases::phases(steps, &bytes)
    }

    /// The bytes that all phases of this name go through.
    fn bytes_of(&self, name: &str) -> u64 {
        let of_name = self.phases.iter().filter(|phase| phase.name == name);
        of_name.map(|phase| phase.bytes_read).sum()
    }

    /// The share, 0..1, of the lines that a filter of this plan is expected to let through where it is asked.
    pub(crate) fn passing_share(&self) -> f64 {
        let (passing, asked) = match (self.bytes_of("spill"), self.second_filter) {
            (0, Some(second)) => (second.keys, self.build_lines),
            (spilled, _) => (self.bytes_of("join"), spilled),
        };
        (passing as f64 / asked.max(1) as f64).min(1.0)
    }

    /// Whether blocks of buckets are expected to be written; the order of the answer does not count.
    pub(crate) fn writes_buckets(&self) -> bool {
        let of_answer = self.ordering.map_or(0, |ordering| ordering.spilled_bytes);
        self.costs.bytes_written > of_answer
    }

    /// What is expected to be joined, in bytes.
    pub(crate) fn joined_bytes(&self) -> u64 {
        self.bytes_of("join")
    }
}
