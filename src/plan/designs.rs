//! The design of each strategy for a job.
//!
//! *Owns:* which of the designs it is, by what the job asks for. *Invariants:* a strategy that cannot do what is asked
//! for is refused, as one that does not fit the limit. *Cost:* that of the design.

use crate::error::Error;
use crate::plan::assumptions::OF_STRATEGY;
use crate::plan::design::{Design, absent, bloom, lone, memory, partition, repeats, sieve};
use crate::plan::job::order;
use crate::plan::{Job, Strategy};
use crate::selection::{Approximate, Order};

/// The design of one strategy, or why it does not fit the limit.
pub(super) fn design_of(job: &Job, strategy: Strategy) -> Result<Design, Error> {
    match strategy {
        Strategy::Sieve if job.asks_first() => repeats::repeats(job),
        Strategy::Sieve if !job.finds_common() => lone::lone(job),
        Strategy::Memory => memory(job),
        Strategy::Partition => partition(job),
        Strategy::Sieve => sieve(job),
        Strategy::Bloom => approximate(job),
    }
}

/// The design of `bloom`, for the operations that have an approximate answer.
///
/// # Errors
/// [`Error::Usage`] for any other, and for the order of the input where it is not known: `bloom` finds common lines in
/// the last input alone, and those of a union where a worker comes to them first.
fn approximate(job: &Job) -> Result<Design, Error> {
    let (selection, keeps_order) = (job.selection, job.selection.order == Order::Input);
    let usage = |what: &str, advice: &str| {
        Err(Error::Usage {
            what: format!("{OF_STRATEGY}{what}"),
            advice: advice.into(),
        })
    };
    if job.finds_common() {
        let is_first_last = order(job).last().is_none_or(|&last| last == 0);
        if keeps_order && !is_first_last {
            return usage(
                "bloom can keep the input order only if the largest input comes first",
                "name the largest input first, or leave out --order input",
            );
        }
        return bloom(job);
    }
    match selection.approximate() {
        Some(Approximate::Difference) => absent::difference(job),
        Some(Approximate::Union) if !keeps_order => absent::union(job),
        Some(Approximate::Union) => usage(
            "bloom cannot tell where a line of a union first occurs",
            "choose an exact strategy, or leave out --order input",
        ),
        None => usage(
            "bloom works only with a plain intersect, diff or union (no --at-least, --all, --which or --count; --repeats only with diff; --key only with diff or --keys-only)",
            "choose an exact strategy, or leave the choice to auto",
        ),
    }
}
