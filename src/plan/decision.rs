//! The decision of the planner.
//!
//! *Owns:* [`Plan`]. *Invariants:* what its steps and its layout say belongs together; a revision replaces both.
//! *Cost:* a few hundred bytes for each input.

use serde::Serialize;

use crate::plan::costs::{Costs, FilterPlan, ManyFiles, Rejected};
use crate::plan::layout::Layout;
use crate::plan::ordering::OrderPlan;
use crate::plan::phases::PlannedPhase;
use crate::plan::sizes::SizedJob;
use crate::plan::steps::phases::{StepBytes, phases};
use crate::plan::steps::{Step, Steps, holds_answer, writes_in_order};
use crate::plan::strategy::Strategy;

/// The decision.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// The costs of the chosen strategy.
    #[serde(flatten)]
    pub costs: Costs,
    /// The phases that it expects, in their order.
    pub phases: Vec<PlannedPhase>,
    /// The others, and why not.
    pub rejected: Vec<Rejected>,
    /// The filter of the survivors of the second input, if it is fed while they are found (`sieve`,
    /// `memory` with filters, and `bloom` with three inputs or more); of `partition` that of a first
    /// input which is small compared with the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) second_filter: Option<FilterPlan>,
    /// The costs of putting the answer in order, if an order is asked for in which it is not found; part of `costs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordering: Option<OrderPlan>,
    /// The memory of the duplicate cache, in bytes: of lines that come again and again, each is spilled once;
    /// `partition` only, and 0 where a sample shows few repeats.
    #[serde(skip_serializing_if = "is_none")]
    pub duplicate_cache_bytes: u64,
    /// True if sizes are guesses, because files are compressed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guesses_sizes: bool,
    /// The bytes that are assumed for each input whose size is not known: a pipe, or what a command writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumed_bytes: Option<u64>,
    /// The files of the buckets that the caller asked for, where these are very many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub many_files: Option<ManyFiles>,
    /// Lines of the build side, repeats included: a set is prepared for this number.
    #[serde(skip)]
    pub(crate) build_lines: u64,
    /// Their mean length in bytes, rounded down; 0 if there are no lines.
    #[serde(skip)]
    pub(crate) build_line_bytes: u64,
    /// The passes of a run, in order.
    pub(crate) steps: Steps,
    /// The division of memory until a revision replaces it.
    #[serde(skip)]
    pub(crate) layout: Layout,
    /// The job that it is a plan for, with the inputs in the order they are worked on: a revision computes from the
    /// same numbers.
    #[serde(skip)]
    pub(crate) sized: SizedJob,
}

/// Returns true if `bytes` are none: such a member of a plan is left out.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_none(bytes: &u64) -> bool {
    *bytes == 0
}

impl Plan {
    /// Returns the chosen strategy.
    pub fn strategy(&self) -> Strategy {
        self.costs.strategy
    }

    /// Describes what a run does, a sentence for each step, without a full stop. Files have the numbers that the
    /// caller gave them, from 1.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = String> + '_ {
        self.steps.sentences()
    }

    /// Returns true if the result may lack lines: an approximate result of anything but an intersection. That of an
    /// intersection may have lines too many instead.
    pub fn may_miss_lines(&self) -> bool {
        !self.costs.exact && !self.sized.rule().finds_common()
    }

    /// Returns true if the inputs were read for an estimate before, so that the number of their different lines is
    /// known.
    pub fn is_estimated(&self) -> bool {
        self.sized.job.any_lines.is_some()
    }

    /// Returns the memory limit of the process, in bytes.
    pub fn limit_bytes(&self) -> u64 {
        self.layout.memory_bytes
    }

    /// Returns the bytes of all buffers that are neither filter nor set, and of the process itself: these stand
    /// between the memory limit and the filter.
    pub fn buffer_bytes(&self) -> u64 {
        self.layout.base_bytes + self.layout.scan.bytes() + self.layout.pool.bytes()
    }

    /// Lists the phases of steps of this plan, whose join goes through `joined` bytes, and whose filters of survivors
    /// read `read_back` bytes again.
    pub(crate) fn phases_of(
        &self,
        steps: &[Step],
        joined: u64,
        read_back: u64,
    ) -> Vec<PlannedPhase> {
        let bytes = StepBytes {
            inputs: &self
                .sized
                .read
                .iter()
                .map(|size| size.bytes)
                .collect::<Vec<_>>(),
            joined,
            read_back,
            answer: self.ordering.map_or(0, |ordering| ordering.answer_bytes),
        };
        phases(steps, &bytes)
    }

    /// Returns the most bytes that an answer may have which is read where it is written. What was planned is half of
    /// the memory of the machine.
    pub(crate) fn most_reread_bytes(&self) -> u64 {
        let job = &self.sized.job;
        match job.strategy {
            None => job.rereadable_bytes.saturating_mul(2),
            Some(_) => u64::MAX,
        }
    }

    /// Returns true if the answer waits until the last step puts it in order.
    pub(crate) fn holds_answer(&self) -> bool {
        holds_answer(&self.steps.list)
    }

    /// Returns true if its lines are written in the order of the inputs, as they are read.
    pub(crate) fn writes_in_order(&self) -> bool {
        writes_in_order(&self.steps.list)
    }

    /// Returns true if the answer is put in order by reading inputs once more.
    pub(crate) fn reads_again(&self) -> bool {
        !self.sized.read_again.is_empty()
    }

    /// Returns true if the answer is rows by their numbers, and each row has a bit in place of a sort.
    pub(crate) fn has_row_bits(&self) -> bool {
        self.sized.has_row_bits
    }

    /// Lists those of `inputs`, which are in the plan's order, that are read once more, in the order of the answer.
    pub(crate) fn inputs_again<'i, T>(&self, inputs: &'i [T]) -> Vec<&'i T> {
        let again = self.sized.read_again.iter();
        again.map(|&at| &inputs[at as usize]).collect()
    }

    /// Returns true if blocks of buckets are expected to be written; what is written for the order of the answer does
    /// not count.
    pub(crate) fn writes_buckets(&self) -> bool {
        let of_answer = self.ordering.map_or(0, |ordering| ordering.spilled_bytes);
        self.costs.bytes_written > of_answer
    }
}
