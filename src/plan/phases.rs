//! The phases that a plan expects, in their order, with the bytes of each: a fold over its steps.
//!
//! *Owns:* the expectation by which a progress display divides the time. *Invariants:* the names
//! are the verbs of the run's own phases, and the bytes are counted as theirs are: blocks that
//! stay in memory included. The phases add up to the bytes read of the plan and these blocks, less the
//! reading of a stored filter, which is over before there is a plan.

use serde::Serialize;

/// A phase that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlannedPhase {
    /// The index in the list of [`Plan::steps`](crate::plan::Plan::steps) of the step that it is, from 0.
    pub step: usize,
    /// The verb of the phase: the first word of its name, or all of it where it works on no input.
    pub name: &'static str,
    /// Bytes that it goes through: of an input, of buckets, or of blocks in memory. Of an input of
    /// unknown size this is a guess, or 0 where there is none.
    pub bytes_read: u64,
}
