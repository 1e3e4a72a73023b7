//! What is refused before anything is planned.
//!
//! *Owns:* the checks of a [`Job`]. *Invariants:* what passes has at least an input, a thread and
//! the memory that any plan needs. *Cost:* none.

use crate::error::{Error, Result};
use crate::plan::Strategy;
use crate::plan::job::{Job, MOST};
use crate::plan::{LEAST_MEMORY_BYTES, layout};
use crate::size::{display_apart, display_at_least, round_mebibytes};

/// Refuses a memory limit that nothing can run in.
pub(super) fn check_floor(job: &Job) -> Result<()> {
    let least_beside =
        |job: &Job| LEAST_MEMORY_BYTES.max(job.base_bytes + layout::LEAST_USABLE_BYTES);
    if job.memory_bytes >= least_beside(job) {
        return Ok(());
    }
    // Under a larger limit more threads may run, which need memory, too: less than a sixth of what is
    // added, so this ends.
    let mut least = round_mebibytes(least_beside(job));
    loop {
        let next = round_mebibytes(least_beside(&job.with_memory(least)));
        if next <= least {
            break;
        }
        least = next;
    }
    let (given, _) = display_apart(job.memory_bytes, least);
    Err(Error::MemoryPlan {
        what: format!("{given} is too little to run in"),
        advice: format!("give at least {}", display_at_least(least)),
        least_bytes: least,
    })
}

/// Refuses requests that make no sense.
pub(super) fn check_request(job: &Job) -> Result<()> {
    let usage = |what: &str, advice: &str| {
        Err(Error::Usage {
            what: what.into(),
            advice: advice.into(),
        })
    };
    if job.max_fpr.is_some_and(|rate| !(0.0..=1.0).contains(&rate)) {
        return usage(
            "max-fpr: it is no rate",
            "give a number from 0 to 1, or a percentage",
        );
    }
    let sizes = job
        .inputs
        .iter()
        .flat_map(|shape| [shape.bytes, shape.lines]);
    if sizes.flatten().max() > Some(MOST) {
        return usage(
            "inputs: more than 64 PiB, or 2^56 lines, in one of them, which no machine has",
            "give less",
        );
    }
    if job.buckets == Some(0) || job.threads == 0 {
        return usage(
            "buckets, threads: there must be at least one",
            "leave the option out for the default",
        );
    }
    if job
        .bits_per_key
        .is_some_and(|bits| bits.is_nan() || bits <= 0.0)
    {
        return usage(
            "bits-per-key: it must be positive",
            "leave the option out for the default",
        );
    }
    if job.stored_filter.is_some() && job.strategy.is_some_and(Strategy::is_exact) {
        return usage(
            "filter: of what it was built of there are only bits, and no lines to compare",
            "leave --strategy out, or name the file that it was built of",
        );
    }
    if job.stored_filter.is_some() && job.wants_filter {
        return usage(
            "save-filter: with --filter none is built",
            "leave one of them out",
        );
    }
    if job.inputs.is_empty() || job.inputs.len() > usize::from(crate::set::line_set::MAX_MARKS) {
        return usage(
            "inputs: from 2 to 65534 can be intersected",
            "intersect them in groups",
        );
    }
    Ok(())
}
