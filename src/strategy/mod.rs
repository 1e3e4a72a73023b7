//! The four strategies, each a short sequence of the three passes.
//!
//! | strategy | passes |
//! |---|---|
//! | [`memory`] | join of inputs that never leave memory |
//! | [`partition`] | spill each input, join |
//! | [`sieve`] | filter the first, spill each further one through the filter before it, spill the first through the last, join |
//! | [`bloom`] | filter all but the last, each through the filter before it, spill the last through the last filter, distinct |
//!
//! *Invariants:* `inputs` are in the plan's order, the build side first, none of them twice; with a
//! single input the result is its distinct lines. *Cost:* the table in the crate page.

mod addresses;
mod bloom;
mod memory;
mod partition;
mod sieve;

use crate::batch::Screen;
use crate::error::Result;
use crate::filter::{CheckedFilter, Filter, FilterTarget};
use crate::input::Input;
use crate::output::Collector;
use crate::pass::join::JoinKind;
use crate::plan::Plan;
use crate::plan::Strategy;
use crate::run::Run;
use crate::stats::FilterStats;

/// Filters that are there before a run, or after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredFilters<'a> {
    /// One to be asked in place of an input.
    pub(crate) stored: Option<&'a CheckedFilter>,
    /// Where the one that is built of the first input goes.
    pub(crate) saving: Option<&'a FilterTarget>,
}

/// Runs the plan's strategy over `inputs`, of which a stored filter may be one more (`bloom`).
pub(crate) fn execute(
    run: &mut Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    filters: StoredFilters<'_>,
    out: &Collector<'_>,
) -> Result<()> {
    match plan.strategy() {
        Strategy::Memory => memory::memory(run, plan, inputs, filters, out),
        Strategy::Partition => {
            partition::partition(run, plan.second_filter, inputs, JoinKind::Common, out)
        }
        Strategy::Sieve => sieve::sieve(run, plan, inputs, filters, out),
        Strategy::Bloom => bloom::bloom(run, plan, inputs, filters, out),
    }
}

/// The lines of the first of `inputs` that no other has, each once.
pub(crate) fn only_in_first(run: &Run<'_>, inputs: &[Input], out: &Collector<'_>) -> Result<()> {
    // A filter would have to be of the first input, which need not be the smallest one.
    partition::partition(run, None, inputs, JoinKind::OnlyFirst, out)
}

/// A filter that lets more than this share of what it does not have pass is not worth asking.
const USELESS_FPR: f64 = 0.75;

/// The filter, if it is worth asking: it was laid out before anybody knew how many lines survive.
/// Where nearly all do it is overfull, and the next input goes to its buckets as it is.
///
/// This is known at the end of a pass, and not decided earlier from a part of it: a file is often
/// in some order, and what survives of its first per cent tells nothing of the rest. Deciding
/// early would save the insertions of one pass; deciding wrongly costs writing a whole input.
fn if_useful(filter: &Filter) -> Option<&dyn Screen> {
    (filter.occupancy_sampled().fpr <= USELESS_FPR).then_some(filter)
}

/// Writes the filter of the first input to where the caller wants to keep it.
fn save_if_wanted(filters: StoredFilters<'_>, filter: &mut Filter) -> Result<()> {
    let Some(target) = filters.saving else {
        return Ok(());
    };
    filter.plan_for_own_keys();
    target.write(filter)
}

/// What a complete filter is, for the statistics.
fn describe(filter: &Filter) -> FilterStats {
    FilterStats::of(filter.shape(), filter.keys(), &filter.occupancy_sampled())
}
