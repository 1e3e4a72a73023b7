//! `memory` of a union whose answer is the set.
//!
//! *Owns:* its design. *Invariants:* as those of [`design`](crate::plan::design); no line is in memory but those at the
//! end of the answer. *Formulas:* see [`rereading`](crate::plan::rereading); each input is read once, and nothing is
//! spilled.

use crate::error::Error;
use crate::plan::Strategy;
use crate::plan::design::Design;
use crate::plan::refusal::refusal;
use crate::plan::rereading::Rereading;
use crate::plan::sizes::SizedJob;
use crate::plan::steps::List;
use crate::size::display_bytes;

/// Designs it.
///
/// # Errors
/// [`Error::MemoryPlan`] where there is no room for the places of the lines.
pub(in crate::plan) fn written_set(
    sized: &SizedJob,
    rereading: Rereading,
) -> Result<Design, Error> {
    let job = &sized.job;
    if !rereading.fits(job) {
        let limit = display_bytes(job.memory_bytes);
        let what = format!("where all lines stand in the result does not fit in {limit}");
        return Err(refusal(what, job));
    }
    let mut design = Design::new(sized, Strategy::Memory, List::WrittenSet, rereading.layout);
    design.set_bytes = rereading.set_bytes;
    design.held = rereading.held;
    Ok(design.priced(sized))
}
