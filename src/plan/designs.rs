//! The design of each strategy for a job.
//!
//! *Owns:* which of the designs it is, by what the job asks for. *Invariants:* a strategy that cannot do what is asked
//! for is refused, as one that does not fit the limit. *Cost:* that of the design.

use crate::error::Error;
use crate::plan::Strategy;
use crate::plan::assumptions::OF_STRATEGY;
use crate::plan::design::first_side_sieve::first_side_sieve;
use crate::plan::design::negatives::{bloom_difference, bloom_union};
use crate::plan::design::singleton_sieve::singleton_sieve;
use crate::plan::design::{Design, bloom, cheaper, memory, partition, sieve};
use crate::plan::job::Job;
use crate::plan::reading_again::Ways;
use crate::plan::sizes::SizedJob;
use crate::selection::{Approximate, Order};

/// Designs a job with one strategy, in the way that moves fewer bytes; or says why it does not fit the limit.
pub(super) fn design_of(ways: &Ways, strategy: Strategy) -> Result<Design<'_>, Error> {
    let again = ways.again.as_ref().map(|again| design_in(again, strategy));
    cheaper(design_in(&ways.once, strategy), again.and_then(Result::ok))
}

/// Designs a job with one strategy and one way to put its answer in order.
fn design_in(sized: &SizedJob, strategy: Strategy) -> Result<Design<'_>, Error> {
    match strategy {
        Strategy::Sieve if sized.rule().asks_first() => first_side_sieve(sized),
        Strategy::Sieve if !sized.rule().finds_common() => singleton_sieve(sized),
        Strategy::Memory => memory(sized),
        Strategy::Partition => partition(sized),
        Strategy::Sieve => sieve(sized),
        Strategy::Bloom => approximate(sized),
    }
}

/// Returns the strategy that needs the least memory of those that can do `job`.
pub(super) fn least_of(job: &Job) -> Strategy {
    match job.stored_filter {
        Some(_) => Strategy::Bloom,
        None if job.wants_filter => Strategy::Sieve,
        None => Strategy::Partition,
    }
}

/// Designs `bloom`, for the operations that have an approximate answer.
///
/// # Errors
/// [`Error::Usage`] for any other, and for the order of the input where it is not known: `bloom` finds common lines in
/// the last input alone, and those of a union where a worker comes to them first.
fn approximate(sized: &SizedJob) -> Result<Design<'_>, Error> {
    let (rule, keeps_order) = (sized.rule(), sized.rule().order() == Order::Input);
    let usage =
        |what: &str, advice: &str| Err(Error::usage(format!("{OF_STRATEGY}{what}"), advice));
    if rule.finds_common() {
        let is_first_last = sized.numbers().last().is_none_or(|&last| last == 1);
        if keeps_order && !is_first_last {
            return usage(
                "bloom can keep the input order only if the largest input comes first",
                "name the largest input first, or leave out `Order::Input`",
            );
        }
        return bloom(sized);
    }
    match rule.approximate() {
        Some(Approximate::Difference) => bloom_difference(sized),
        Some(Approximate::Union) if !keeps_order => Ok(bloom_union(sized)),
        Some(Approximate::Union) => usage(
            "bloom cannot tell where a line of a union first occurs",
            "choose an exact strategy, or leave out `Order::Input`",
        ),
        None => usage(
            "bloom works only with a plain intersect, diff or union (no `at_least`, `only`, `with_all`, `min_count`, `max_count`, `top`, `Order::Count`, `Label::Sides` or `Label::Count`; `with_repeats` only with diff; `keys` only with diff or without `of_records`)",
            "choose an exact strategy, or leave the choice to auto",
        ),
    }
}
