//! The requests that are refused before anything is planned.
//!
//! *Owns:* the checks of a [`Job`]. *Invariants:* a job that passes has at least one input, one thread
//! and the memory that any plan needs, and none of its numbers can overflow a formula. Whether its strategy
//! fits the limit is decided by the design.

use crate::error::{Error, Result};
use crate::output::compressors_bytes;
use crate::plan::LEAST_MEMORY_BYTES;
use crate::plan::Strategy;
use crate::plan::decoding::DecodingPlan;
use crate::plan::job::{Job, MOST};
use crate::plan::shares::LEAST_USABLE_BYTES;
use crate::selection::{Approximate, Rule};
use crate::size::{display_apart, display_at_least, display_bytes, round_mebibytes};

/// A refusal names decoders or compressors where they take more than these bytes, 256 KiB.
const MUCH: u64 = 256 << 10;

/// The difference between runs in what a process needs besides buffers, in bytes: 512 KiB, because the system maps code
/// in pieces of many sizes. An advised limit has room for that.
const VARIATION: u64 = 512 << 10;

/// Refuses a memory limit that nothing can run in: below 16 MiB, or with less than
/// [`LEAST_USABLE_BYTES`] for buffers besides what the process itself needs. `request` makes what was asked for under
/// another limit.
///
/// # Errors
/// [`Error::MemoryPlan`] with the least limit that would do.
pub(super) fn check_floor(job: &Job, request: impl FnOnce(&Job) -> Result<()>) -> Result<()> {
    if job.memory_bytes >= least_beside(job) {
        return Ok(());
    }
    let floor = least_for_any_plan(job);
    let least = match request(&job.with_memory(floor)) {
        Err(Error::MemoryPlan { least_bytes, .. }) if least_bytes < u64::MAX => least_bytes,
        _ => floor,
    };
    let (given, _) = display_apart(job.memory_bytes, least);
    let decoding = DecodingPlan::of(job).bytes;
    let compressing = compressors_bytes(&job.compressions, job.threads, job.memory_bytes);
    let (what, bytes) = if compressing > decoding {
        ("compressing the result", compressing)
    } else {
        ("decoding", decoding)
    };
    let what = match bytes {
        // Less than the process itself takes.
        0..=MUCH => format!("{given} is too low for any run"),
        bytes => format!(
            "{given} is too low, because {what} takes {}",
            display_bytes(bytes)
        ),
    };
    Err(Error::MemoryPlan {
        what,
        advice: format!("give at least {}", display_at_least(least)),
        least_bytes: least,
    })
}

/// Returns the least memory for any plan, in bytes: what the process takes, and a little for buffers.
fn least_beside(job: &Job) -> u64 {
    let beside = job
        .base_bytes
        .saturating_add(DecodingPlan::of(job).all_bytes());
    LEAST_MEMORY_BYTES.max(beside.saturating_add(LEAST_USABLE_BYTES))
}

/// Finds the least limit that [`check_floor`] accepts for `job`, in whole mebibytes, where it refuses the one that it
/// has.
pub(crate) fn least_for_any_plan(job: &Job) -> u64 {
    // Under a larger limit more threads may run, which need memory, too, and more of the program stays there. That is
    // less than a fifth of what is added, so raising the limit step by step ends.
    let advised = |job: &Job| match least_beside(job) {
        LEAST_MEMORY_BYTES => LEAST_MEMORY_BYTES,
        least => round_mebibytes(least + VARIATION),
    };
    let mut least = advised(job);
    loop {
        let next = advised(&job.with_memory(least));
        if next <= least {
            return least;
        }
        least = next;
    }
}

/// Refuses requests that make no sense under any limit.
///
/// # Errors
/// [`Error::Usage`], which names the option.
pub(super) fn check_request(job: &Job) -> Result<()> {
    check_numbers(job)?;
    // One input is accepted here: with a stored filter, or where two names are one file; `engine` checks what
    // was given.
    if job.inputs.is_empty() {
        return Err(Error::number_of_files(
            job.selection.name(),
            0,
            "give one or more",
        ));
    }
    let is_input = |&input: &usize| input < job.inputs.len();
    if !job.sides.iter().all(is_input) || !is_each_a_side(job) {
        return Err(Error::usage(
            "sides: they are not those of the inputs",
            "name the index of an input for each side, and each input at least once",
        ));
    }
    let rule = Rule::new(job.selection, job.sides.len())?;
    check_filters(job, &rule)?;
    check_rate(job, &rule)
}

/// Returns true if each input is a side, or several.
fn is_each_a_side(job: &Job) -> bool {
    let mut is_side = vec![false; job.inputs.len()];
    for &input in &job.sides {
        is_side[input] = true;
    }
    is_side.into_iter().all(|is_side| is_side)
}

/// Refuses numbers that mean nothing, or that would overflow a formula.
fn check_numbers(job: &Job) -> Result<()> {
    // `contains` is false for NaN, too.
    if job.max_fpr.is_some_and(|rate| !(0.0..=1.0).contains(&rate)) {
        return Err(Error::usage(
            "`max_fpr`: not a rate",
            "give a number from 0 to 1, or a percentage",
        ));
    }
    let sizes = job
        .inputs
        .iter()
        .flat_map(|shape| [shape.bytes, shape.lines]);
    // Only `outset plan` and the library can give such numbers: they plan for inputs that need not exist.
    if sizes.flatten().max() > Some(MOST) {
        return Err(Error::usage(
            "inputs: one of them is larger than 64 PiB or 2^56 lines",
            "give smaller numbers",
        ));
    }
    if job.buckets == Some(0) || job.threads == 0 {
        return Err(Error::usage(
            "`buckets`, `threads`: must be at least 1",
            "leave the option out for the default",
        ));
    }
    let is_positive = |bits: f64| bits > 0.0;
    if !job.bits_per_key.is_none_or(is_positive) {
        return Err(Error::usage(
            "`bits_per_key`: must be positive",
            "leave the option out for the default",
        ));
    }
    Ok(())
}

/// Refuses a stored filter, or the wish for one, where the operation or the strategy has no use for it.
fn check_filters(job: &Job, rule: &Rule) -> Result<()> {
    let (has_filter, wants_filter) = (job.stored_filter.is_some(), job.wants_filter);
    // An exact strategy compares lines, and a filter has none.
    if has_filter && job.strategy.is_some_and(Strategy::is_exact) {
        return Err(Error::usage(
            "`stored_filter`: a stored filter contains no lines, so an exact strategy cannot use it",
            "leave out `strategy`, or name the file that the filter was built from",
        ));
    }
    // `--save-filter` keeps the filter that a run builds of its smallest input; with `--filter` none is built.
    if has_filter && wants_filter {
        return Err(Error::usage(
            "`save_filter`: a run with `stored_filter` builds no filter",
            "leave out `stored_filter` or `save_filter`",
        ));
    }
    let (option, instead) = match (has_filter, wants_filter) {
        _ if rule.finds_common() => return Ok(()),
        (false, false) => return Ok(()),
        (_, true) => ("`save_filter`", "use outset filter build"),
        (true, false) => ("`stored_filter`", "name the file that it was built from"),
    };
    Err(Error::usage(
        format!(
            "{option}: works only with a plain intersect (no `at_least`, `only`, `with_repeats`, `with_all`, `min_count`, `max_count`, `top`, `Order::Count`, `Label::Sides` or \
             `Label::Count`, and \
             `keys`, `ignores_case`, `trims` and `squeezes` only without `of_records`)"
        ),
        format!("leave out {option}, or {instead}"),
    ))
}

/// Refuses to accept a rate where no approximate result has one, or where nobody expects it to be approximate.
fn check_rate(job: &Job, rule: &Rule) -> Result<()> {
    if job.max_fpr.is_none_or(|rate| rate == 0.0) || rule.finds_common() {
        return Ok(());
    }
    let is_asked = job.strategy == Some(Strategy::Bloom);
    match rule.approximate() {
        Some(Approximate::Difference) => Ok(()),
        // Users do not expect a union to lose lines: the name of the strategy says that they know.
        Some(Approximate::Union) if is_asked => Ok(()),
        Some(Approximate::Union) => Err(Error::usage(
            "`max_fpr`: an approximate union loses lines",
            "leave out `max_fpr`, or accept that with `Strategy::Bloom`",
        )),
        None => Err(Error::usage(
            "`max_fpr`: this operation has no approximate result",
            "leave out `max_fpr`",
        )),
    }
}
