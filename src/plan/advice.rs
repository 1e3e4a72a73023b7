//! What would do, where a plan is refused: found by trying, for the planner is quick.
//!
//! *Owns:* the advice of refusals. *Invariants:* a limit that is advised is accepted by the same
//! request, and where none would be none is advised. *Cost:* some dozens of designs.

use crate::error::Error;
use crate::plan::Strategy;
use crate::plan::filters::MOST_BITS_PER_KEY;
use crate::plan::job::{Job, SetEstimate};
use crate::plan::{FilterPlan, design_of};
use crate::size::display_at_least;

/// A limit that nobody gives (1 PiB): where that does not do either, nothing is said to do.
const MOST_MEBIBYTES: u64 = 1 << 30;

/// Replaces the advice of a refusal by the least limit that would do, found by trying: the planner
/// is quick.
pub(super) fn with_advice(job: &Job, error: Error) -> Error {
    let Error::MemoryPlan { what, .. } = error else {
        return error;
    };
    // Where nobody has chosen: a stored filter has one use, and of the others partition needs the least.
    let strategy = job.strategy.unwrap_or(match job.stored_filter {
        Some(_) => Strategy::Bloom,
        None => Strategy::Partition,
    });
    let fits = |mebibytes: u64| {
        let larger = Job {
            set_estimate: SetEstimate::Trust,
            ..job.with_memory(mebibytes << 20)
        };
        design_of(&larger, strategy).is_ok()
    };
    advised(what, least_memory(job, fits))
}

/// The refusal that names the limit that would do, if there is one.
pub(super) fn advised(what: String, least_bytes: Option<u64>) -> Error {
    let advice = least_bytes.map_or_else(
        || "no memory limit would do: ask for less, or for another strategy".to_owned(),
        |bytes| format!("give at least {}", display_at_least(bytes)),
    );
    Error::MemoryPlan {
        what,
        advice,
        least_bytes: least_bytes.unwrap_or(u64::MAX),
    }
}

/// The least limit under which a job `fits`, which is told the limit in MiB, found by trying.
pub(super) fn least_memory(job: &Job, fits: impl Fn(u64) -> bool) -> Option<u64> {
    let mut low = job.memory_bytes >> 20;
    let mut high = low.max(1) * 2;
    while !fits(high) && high < MOST_MEBIBYTES {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    // What the process itself needs varies a little from run to run. And with more memory buffers are
    // larger, which now and then leaves less for the rest: limits up to the advised one must do too.
    let with_room = |least: u64| least + 1 + least / 64;
    let refused = |least: u64| {
        let step = ((with_room(least) - least) / 16).max(1);
        let mut limits = (least..=with_room(least)).rev().step_by(step as usize);
        limits.find(|&limit| !fits(limit))
    };
    while high < MOST_MEBIBYTES
        && let Some(limit) = refused(high)
    {
        high = limit + 1;
    }
    fits(high).then(|| with_room(high) << 20)
}

/// The refusal of a filter whose rate is above the `accepted` one.
pub(super) fn too_high(job: &Job, filter: &FilterPlan, accepted: f64) -> Error {
    Error::RateTooHigh {
        predicted: filter.predicted_fpr,
        accepted,
        advice: advice_on_rate(job, accepted),
    }
}

/// What would give an approximate result at the accepted rate, or stands against it.
fn advice_on_rate(job: &Job, accepted: f64) -> String {
    if accepted == 0.0 {
        return "no filter has that rate: accept a higher one, or run an exact strategy".to_owned();
    }
    if let Some(stored) = job.stored_filter {
        return match stored.overfull_for {
            Some(planned) => format!(
                "the filter was built for {planned} lines and has more: accept a higher rate, or build a larger one"
            ),
            None => "accept a higher rate, or build a larger filter".to_owned(),
        };
    }
    if let Some(bytes) = memory_for_rate(job, accepted) {
        let least = display_at_least(bytes);
        return format!("give about {least} of memory, or run an exact strategy");
    }
    if let Some(bits) = job.bits_per_key.filter(|&bits| bits < MOST_BITS_PER_KEY) {
        return format!(
            "no filter of {bits} bits a key reaches that: raise --bits-per-key, accept a higher rate, or run an exact strategy"
        );
    }
    format!(
        "no filter of up to {MOST_BITS_PER_KEY} bits a key, the most that a run gives it, reaches that: accept a higher rate, or run an exact strategy"
    )
}

/// The memory with which the filter of a run would have the accepted rate, if some would do.
fn memory_for_rate(job: &Job, accepted: f64) -> Option<u64> {
    let is_enough = |memory_bytes: u64| {
        let filter = design_of(&job.with_memory(memory_bytes), Strategy::Bloom)
            .ok()
            .and_then(|design| design.costs.filter);
        filter.is_some_and(|filter| filter.predicted_fpr <= accepted)
    };
    // Steps of an eighth: the advice is "about".
    let steps = std::iter::successors(Some(job.memory_bytes), |bytes| bytes.checked_add(bytes / 8));
    steps
        .take_while(|&bytes| bytes >> 20 < MOST_MEBIBYTES)
        .find(|&bytes| is_enough(bytes))
}
