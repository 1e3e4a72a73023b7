//! From a job to a plan that can be run, or to a refusal that helps.
//!
//! *Owns:* what the pure planner cannot know: whether it is the address space that is short, how much
//! room the temporary places have, and that a set which was tried did not fit. *Invariants:* nothing
//! is written, and no input is read. *Cost:* that of the planner, and a system call for each place.

use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::options::Options;
use crate::plan::Strategy;
use crate::plan::{self, Job, Plan, SetEstimate};
use crate::run::temp_parents;
use crate::size::{display_at_least, display_bytes};
use crate::temp::disk::{free_bytes, is_read_only};
use crate::temp::places::no_directory;

/// The plan of a job; a refusal says so where it is the address space that is short.
pub(crate) fn plan_of(job: &Job, options: &Options) -> Result<Plan> {
    plan::plan(job).map_err(|error| with_address_space(error, job, options))
}

/// Adds to a refusal that there must be address space for more memory, where that is what was short.
pub(crate) fn with_address_space(error: Error, job: &Job, options: &Options) -> Error {
    let asked_bytes = options.memory_bytes.unwrap_or(job.memory_bytes);
    match error {
        Error::MemoryPlan {
            what,
            advice,
            least_bytes,
        } if job.memory_bytes < asked_bytes => {
            let advice = format!("{advice}, and address space for it (ulimit -v)");
            Error::MemoryPlan {
                what,
                advice,
                least_bytes,
            }
        }
        other => other,
    }
}

/// Refuses a run whose spill certainly does not fit. The caller may know better than what is free now;
/// the cap is the caller's own word and holds in any case.
pub(crate) fn check_space(plan: &Plan, job: &Job, options: &Options) -> Result<()> {
    // What other runs of the same command hold counts towards the cap.
    let others = options.shared.as_ref();
    let others_bytes = others.map_or(0, |shared| shared.quota.used_bytes());
    let needed_bytes = plan.costs.temp_peak_bytes.saturating_add(others_bytes);
    let too_little = |limit_bytes, reason, advice| {
        let path = temp_parents(options).remove(0);
        Err(Error::TempLimit {
            path,
            needed_bytes,
            limit_bytes,
            reason,
            advice,
        })
    };
    let is_known = job.inputs.iter().all(|shape| shape.bytes.is_some());
    if plan.strategy() != Strategy::Partition || !is_known {
        // How much survives a filter, or comes through a pipe, is only known after the fact.
        return Ok(());
    }
    if let Some(cap) = options.max_temp_bytes.filter(|&cap| cap < needed_bytes) {
        return too_little(
            cap,
            "allowed by --max-temp",
            "raise --max-temp, give more memory, or use --strategy sieve",
        );
    }
    if options.ignore_free_space {
        return Ok(());
    }
    let places = temp_parents(options);
    let free = free_bytes(&places);
    if free < needed_bytes - others_bytes {
        // What is free there is of no use.
        if let Some(place) = places.iter().find(|place| is_read_only(place)) {
            return Err(no_directory(place, Errno::ROFS.into()));
        }
        return too_little(
            free,
            "free",
            "choose a larger disk with --temp-dir, give more memory, use --strategy sieve, or override with --force",
        );
    }
    Ok(())
}

/// The error for a set that was asked for, tried, and found too large. How much would do is not known,
/// for lines that repeat take no room: what would do if none did, or twice the limit where that is no
/// more than was tried.
pub(crate) fn refused_set(job: &Job, memory_bytes: u64) -> Error {
    let estimate = Job {
        set_estimate: SetEstimate::Trust,
        ..job.clone()
    };
    let (least_bytes, enough) = match plan::plan(&estimate) {
        Err(Error::MemoryPlan { least_bytes, .. }) if least_bytes < u64::MAX => {
            let enough = format!(
                "give at least {} (less may do if many lines repeat)",
                display_at_least(least_bytes)
            );
            (least_bytes, enough)
        }
        Err(error @ Error::MemoryPlan { .. }) => return error,
        _ => {
            let least_bytes = 2 * memory_bytes;
            let enough = format!("give at least {}", display_at_least(least_bytes));
            (least_bytes, enough)
        }
    };
    Error::MemoryPlan {
        what: format!(
            "memory: the smallest input does not fit as a set in {}",
            display_bytes(memory_bytes)
        ),
        advice: format!("{enough}, or choose another strategy"),
        least_bytes,
    }
}
