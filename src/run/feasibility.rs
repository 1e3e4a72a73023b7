//! From a job to a plan that can be run, or to a refusal that helps.
//!
//! *Owns:* what the planner cannot know, because it does no I/O: that address space is short, how much room the
//! temporary directories have, and that a set was tried and did not fit. *Invariants:* nothing is written, and no input
//! is read. *Cost:* that of the planner, and a system call for each directory.

use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::options::Options;
use crate::plan::Strategy;
use crate::plan::{self, InputShape, Job, Plan, SetEstimate};
use crate::size::display_at_least;
use crate::temp::directories::no_directory;
use crate::temp::disk::{free_bytes, is_read_only};

/// Plans a job.
///
/// # Errors
/// As [`plan::plan`]; where address space is short, the advice says so.
pub(crate) fn plan_of(job: &Job, options: &Options) -> Result<Plan> {
    plan::plan(job).map_err(|error| with_address_space(error, job, options))
}

/// Adds to a refusal of memory that address space is needed, too. That is the case where the survey has
/// planned with less than the caller asked for: only `ulimit -v` makes it do that.
pub(crate) fn with_address_space(error: Error, job: &Job, options: &Options) -> Error {
    let asked_bytes = options.memory_bytes.unwrap_or(job.memory_bytes);
    match error {
        // The survey lowers the limit in one case only: `ulimit -v` leaves less than was asked for.
        Error::MemoryPlan {
            what,
            advice,
            least_bytes,
        } if job.memory_bytes < asked_bytes => {
            let advice = format!("{advice}, and raise the address-space limit (ulimit -v)");
            Error::MemoryPlan {
                what,
                advice,
                least_bytes,
            }
        }
        other => other,
    }
}

/// Refuses a `partition` of files whose spill certainly does not fit the temporary disk. How much another
/// strategy spills depends on the data, so it runs until the disk is full.
///
/// The caller may know better how much will be free (`--force`). The cap is the caller's own and holds in
/// any case.
///
/// # Errors
/// [`Error::TempLimit`], with what is needed and what there is; [`Error::Temp`] for a directory that cannot
/// be written.
pub(crate) fn check_space(plan: &Plan, job: &Job, options: &Options) -> Result<()> {
    // Other runs of the same command (`compare` keeps their results) draw on the same cap.
    let others = options.shared.as_ref();
    let others_bytes = others.map_or(0, |shared| shared.quota.used_bytes());
    // How large the answer is shows only at the end.
    let of_answer = plan.ordering.map_or(0, |ordering| ordering.spilled_bytes);
    let certain = plan.costs.bytes_written.saturating_sub(of_answer);
    let needed_bytes = certain.saturating_add(others_bytes);
    let too_little = |limit_bytes, reason, advice| {
        let path = options.temp_parents().remove(0);
        Err(Error::TempLimit {
            path,
            needed_bytes,
            limit_bytes,
            reason,
            advice,
        })
    };
    // A pipe has no size before it is read, and that of a compressed file is a guess.
    let has_size = |shape: &InputShape| shape.bytes.is_some() && shape.decoding.is_none();
    let is_known = job.inputs.iter().all(has_size);
    if plan.strategy() != Strategy::Partition || !is_known || plan.duplicate_cache_bytes > 0 {
        // How much survives a filter, comes through a pipe, or is a repeat, is known only afterwards. Of a run
        // that may fit nothing is refused.
        return Ok(());
    }
    if let Some(cap) = options.max_temp_bytes.filter(|&cap| cap < needed_bytes) {
        return too_little(
            cap,
            "allowed by `max_temp_bytes`",
            if plan.sized.rule().finds_common() {
                "raise `max_temp_bytes`, give more memory, or use `Strategy::Sieve`"
            } else {
                "raise `max_temp_bytes`, or give more memory"
            },
        );
    }
    if options.ignore_free_space {
        return Ok(());
    }
    let directories = options.temp_parents();
    let free = free_bytes(&directories);
    // What others hold is on the disk already, so it is not free.
    if free < needed_bytes - others_bytes {
        // A read-only directory is the better explanation: its free bytes cannot be used.
        if let Some(parent) = directories.iter().find(|parent| is_read_only(parent)) {
            return Err(no_directory(parent, Errno::ROFS.into()));
        }
        return too_little(
            free,
            "free",
            if plan.sized.rule().finds_common() {
                "choose a larger disk with `temp_dirs`, give more memory, use `Strategy::Sieve`, or override with `ignore_free_space`"
            } else {
                "choose a larger disk with `temp_dirs`, give more memory, or override with `ignore_free_space`"
            },
        );
    }
    Ok(())
}

/// Makes the error for the set of `plan`, one of `job`, that was asked for, tried, and found too large.
///
/// How much would do is not known, because lines that repeat take no room. Advised is what would do if no
/// line did. Where the planner holds that the limit in force is enough for that, its sample has misled it,
/// and twice the limit is advised.
pub(crate) fn refused_set(job: &Job, plan: &Plan) -> Error {
    // The sample has misled the plan: it counts no more.
    let all_different = |shape: &InputShape| InputShape {
        distinct_lines: None,
        ..*shape
    };
    let estimate = Job {
        set_estimate: SetEstimate::Trust,
        inputs: job.inputs.iter().map(all_different).collect(),
        ..job.clone()
    };
    let (least_bytes, enough) = match plan::plan(&estimate) {
        Err(Error::MemoryPlan { least_bytes, .. }) if least_bytes < u64::MAX => {
            let enough = format!(
                "give at least {} (less may be enough if many lines repeat)",
                display_at_least(least_bytes)
            );
            (least_bytes, enough)
        }
        // No limit would do, which is the better advice.
        Err(error @ Error::MemoryPlan { .. }) => return error,
        _ => {
            let least_bytes = 2 * plan.layout.memory_bytes;
            let enough = format!("give at least {}", display_at_least(least_bytes));
            (least_bytes, enough)
        }
    };
    Error::MemoryPlan {
        what: plan::set_refusal(&plan.sized, plan.layout.memory_bytes),
        advice: format!("{enough}, or choose another strategy"),
        least_bytes,
    }
}
