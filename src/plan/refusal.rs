//! The refusal of a design.
//!
//! *Owns:* its error. *Invariants:* the advice in it is a placeholder until it is reported. *Cost:* that of a text.

use crate::error::Error;
use crate::plan::Job;
use crate::size::display_bytes;

/// Makes the refusal of a design for which the memory limit is too low.
pub(in crate::plan) fn too_little(what: &str, job: &Job) -> Error {
    refusal(
        format!("{what} in {}", display_bytes(job.memory_bytes)),
        job,
    )
}

/// Makes the refusal of a design. Its advice is a placeholder: `advice::with_advice` finds the limit that would do
/// where the refusal is reported, because finding it takes dozens of designs.
pub(in crate::plan) fn refusal(what: String, job: &Job) -> Error {
    Error::MemoryPlan {
        what,
        advice: "give more memory".to_owned(),
        least_bytes: job.memory_bytes + 1,
    }
}
