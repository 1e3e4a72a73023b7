//! The advice of a refusal: a limit, or a rate, that would be accepted.
//!
//! *Owns:* the advice of refusals. *Invariants:* the same request is accepted under the limit that a
//! refusal advises. Where no limit would do, the advice says so.
//!
//! *Cost:* some dozens of designs, a few microseconds each. That is why limits are found by trying: the
//! formulas of a design cannot be solved for the limit, since threads, chunks and blocks change in steps.

use crate::error::Error;
use crate::plan::FilterPlan;
use crate::plan::Strategy;
use crate::plan::designs::{design_of, least_of};
use crate::plan::filters::MOST_BITS_PER_KEY;
use crate::plan::job::{Job, SetEstimate};
use crate::plan::layout::Layout;
use crate::plan::reading_again::Ways;
use crate::plan::request::check_floor;
use crate::size::display_at_least;

/// The largest limit that is tried, in MiB (1 PiB). Where even that is too small, no limit is advised.
const MOST_MEBIBYTES: u64 = 1 << 30;

/// Replaces the advice in a refusal of memory by the least limit that would do. Other errors stay as they
/// are.
pub(super) fn with_advice(job: &Job, error: Error) -> Error {
    let Error::MemoryPlan { what, .. } = error else {
        return error;
    };
    // `auto` accepts a limit as soon as any strategy fits it.
    let strategy = job.strategy.unwrap_or_else(|| least_of(job));
    let fits = |mebibytes: u64| {
        let larger = Job {
            // With `Try` a set that was asked for would fit any limit; the advice must be one under which it is
            // estimated to fit.
            set_estimate: SetEstimate::Trust,
            ..job.with_memory(mebibytes << 20)
        };
        Ways::of(larger).is_ok_and(|ways| design_of(&ways, strategy).is_ok())
    };
    advised(what, least_memory(job, fits))
}

/// Makes the layout of `job` by `layout_in`, which returns none where the limit is too low for what it must hold.
///
/// # Errors
/// [`Error::MemoryPlan`] when the limit is below the floor; that `what` does not fit, with a limit that would do.
pub(super) fn advised_layout(
    job: &Job,
    layout_in: impl Fn(&Job) -> Option<Layout>,
    what: impl FnOnce() -> String,
) -> Result<Layout, Error> {
    let fits = |mebibytes: u64| layout_in(&job.with_memory(mebibytes << 20)).is_some();
    let made = |job: &Job| layout_in(job).ok_or_else(|| least_memory(job, fits));
    check_floor(job, |job| {
        let refused = |least| advised(String::new(), least);
        made(job).map(drop).map_err(refused)
    })?;
    made(job).map_err(|least| advised(what(), least))
}

/// Makes the refusal that says `what` does not fit and advises `least_bytes`, if there is such a limit.
fn advised(what: String, least_bytes: Option<u64>) -> Error {
    let advice = least_bytes.map_or_else(
        || "no memory limit is enough, so use smaller inputs or choose another strategy".to_owned(),
        |bytes| format!("give at least {}", display_at_least(bytes)),
    );
    Error::MemoryPlan {
        what,
        advice,
        least_bytes: least_bytes.unwrap_or(u64::MAX),
    }
}

/// Finds the least limit of whole MiB, in bytes, under which `fits` (called with a limit in MiB) is true; `None`
/// beyond [`MOST_MEBIBYTES`]. The limit in force is known not to fit.
///
/// Doubles the limit until it fits, then halves the interval, then adds some room and tries limits within
/// it: `fits` is not monotonic.
fn least_memory(job: &Job, fits: impl Fn(u64) -> bool) -> Option<u64> {
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
    // Two reasons for advising 1 MiB and a 64th more than was found. The process itself needs a little more
    // in some runs than in others. And buffers grow in steps with the limit, so that now and then a larger
    // limit leaves less for the rest: the limits between the one found and the one advised must do, too.
    let with_room = |least: u64| least + 1 + least / 64;
    // The largest limit within the room that does not fit, of some at even distances.
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

/// Makes the refusal of a filter whose rate is above the `accepted` one.
pub(super) fn too_high(job: &Job, filter: &FilterPlan, accepted: f64) -> Error {
    Error::RateTooHigh {
        predicted: filter.predicted_fpr,
        accepted,
        advice: advice_on_rate(job, accepted),
    }
}

/// Advises the first of these that gives an approximate result at the accepted rate: nothing (for a rate of 0),
/// another stored filter, more memory, a higher cap on bits per key; else only a higher rate.
fn advice_on_rate(job: &Job, accepted: f64) -> String {
    if accepted == 0.0 {
        return "no filter has a rate of 0, so accept a higher rate or choose an exact strategy"
            .to_owned();
    }
    if let Some(stored) = job.stored_filter {
        return match stored.overfull_for {
            Some(planned) => format!(
                "accept a higher rate, or build a larger filter (this one was built for {planned} lines and contains more)"
            ),
            None => "accept a higher rate, or build a larger filter".to_owned(),
        };
    }
    if job.stored_filter.is_none() && job.inputs.iter().any(|shape| shape.bytes.is_none()) {
        return "write the pipe to a file first, so that its lines can be counted, or choose an exact strategy".into();
    }
    if let Some(bytes) = memory_for_rate(job, accepted) {
        let least = display_at_least(bytes);
        return format!("give about {least} of memory, or choose an exact strategy");
    }
    if let Some(bits) = job.bits_per_key.filter(|&bits| bits < MOST_BITS_PER_KEY) {
        return format!(
            "{bits} bits per key are too few, so raise `bits_per_key`, accept a higher rate, or choose an exact strategy"
        );
    }
    format!(
        "the maximum of {MOST_BITS_PER_KEY} bits per key is too few, so accept a higher rate or choose an exact strategy"
    )
}

/// Finds the least memory limit, in bytes and to an eighth, with which the filter of a `bloom` would have the
/// accepted rate; `None` if no limit up to [`MOST_MEBIBYTES`] gives it.
fn memory_for_rate(job: &Job, accepted: f64) -> Option<u64> {
    let is_enough = |memory_bytes: u64| {
        let ways = Ways::of(job.with_memory(memory_bytes));
        let design = |ways: &Ways| design_of(ways, Strategy::Bloom).ok()?.costs.filter;
        let filter = ways.ok().as_ref().and_then(design);
        filter.is_some_and(|filter| filter.predicted_fpr <= accepted)
    };
    // Steps of an eighth: the message says "about".
    let steps = std::iter::successors(Some(job.memory_bytes), |bytes| bytes.checked_add(bytes / 8));
    steps
        .take_while(|&bytes| bytes >> 20 < MOST_MEBIBYTES)
        .find(|&bytes| is_enough(bytes))
}
