//! The four strategies, each a short sequence of the three passes.
//!
//! | strategy | passes |
//! |---|---|
//! | [`memory`] | join of inputs that never leave memory |
//! | [`partition`] | spill each input, join |
//! | [`sieve`] | `sieve` of an intersection: filter the first, spill each further one through the filter before it, spill the first through the last, join |
//! | [`lone`] | `sieve` of anything but an intersection: filter all, and what comes again into a second filter; spill all through that, write or drop what it refuses; join |
//! | [`repeats`] | `sieve` that keeps the repeats of the first: filter the others, spill the first through it, and the others through a filter of that; write what a difference has for certain; join |
//! | [`bloom`] | filter all but the last, each through the filter before it, spill the last through the last filter, distinct |
//! | [`absent`] | `bloom` of a difference: filter the others, spill what it refuses of the first, distinct. Of a union: filter all, write what it did not have |
//!
//! [`rehearsal`] runs their passes over slices of the inputs, to predict how long each phase takes.
//!
//! All of it runs on the thread that called the engine. Each pass starts its threads and waits for them, so
//! between two passes this thread is alone, and may drop a filter or a pool without a lock.
//!
//! What lives in memory decides the order of statements here. A value that the next pass does not need is
//! dropped first, because the planner has given its memory to that pass.
//!
//! *Invariants:*
//! - `inputs` are in the plan's order, the build side first, none of them twice.
//! - With a single input the result is its distinct lines.
//! - [`sieve`], [`bloom`] and the filters of [`memory`] only find what every input has.
//! - Each line of the result reaches the collector once, or as often as the rule says.
//!
//! *Cost:* the table in the crate page.

mod absent;
mod bloom;
mod ipv4;
mod lone;
mod memory;
mod partition;
pub(crate) mod rehearsal;
mod repeats;
mod resident;
mod sieve;

use crate::answer::Collector;
use crate::batch::Screen;
use crate::error::Result;
use crate::filter::{CheckedFilter, Filter, FilterTarget};
use crate::input::Input;
use crate::plan::Plan;
use crate::plan::Strategy;
use crate::run::Run;
use crate::selection::Sides;
use crate::stats::FilterStats;

/// Filters in files that a run uses or leaves. At most one of the two is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredFilters<'a> {
    /// A filter that stands for one more input, before all others (`bloom` only). It was checked when the run
    /// began, and is asked in its file or mapped.
    pub(crate) stored: Option<&'a CheckedFilter>,
    /// Where the filter of the first input is saved. The engine puts the file in place when the run has
    /// succeeded; a filter of an earlier attempt is overwritten.
    pub(crate) saving: Option<&'a FilterTarget>,
}

/// Runs the plan's strategy over `inputs`, of which a stored filter may be one more (`bloom`), and passes
/// the lines that the rule of `sides` selects to `out`. Returns when every line has reached the sink.
///
/// # Errors
/// The first failure of any pass. After [`crate::Error::Memory`] or a line that was too long, the engine
/// may plan again and call this once more with a new run, if no line has reached the sink.
pub(crate) fn execute(
    run: &mut Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    filters: StoredFilters<'_>,
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    match plan.strategy() {
        Strategy::Memory => memory::memory(run, plan, inputs, filters, sides, out),
        Strategy::Partition => partition::partition(run, plan.second_filter, inputs, sides, out),
        Strategy::Sieve if plan.finds_common() => {
            sieve::sieve(run, plan, inputs, filters, sides, out)
        }
        Strategy::Sieve if plan.asks_first() => repeats::repeats(run, plan, inputs, sides, out),
        Strategy::Sieve => lone::lone(run, plan, inputs, sides, out),
        Strategy::Bloom if plan.finds_common() => {
            bloom::bloom(run, plan, inputs, filters, sides, out)
        }
        Strategy::Bloom => absent::answer(run, plan, inputs, sides, out),
    }
}

/// Whether the lines of `input` must be spilled as often as they come.
fn keeps_repeats(sides: &Sides, input: &Input) -> bool {
    let mut numbers = input.sides().iter();
    numbers.any(|&number| sides.rule().needs_repeats(number))
}

/// A filter that lets more than this share of what it does not have pass is not worth asking: it would drop
/// at most a quarter of the lines, for a cache miss each.
const USELESS_FPR: f64 = 0.75;

/// The filter, if it is worth asking. It was sized for an estimate of the lines that survive. If nearly
/// all survive, it is overfull, and the next input goes to its buckets without it.
///
/// The decision is made at the end of a pass, not earlier from a part of it: a file is often
/// in some order, and what survives of its first per cent says nothing about the rest. Deciding
/// early would save the insertions of one pass; deciding wrongly costs writing a whole input.
fn if_useful(filter: &Filter) -> Option<&dyn Screen> {
    (filter.occupancy_sampled().fpr <= USELESS_FPR).then_some(filter)
}

/// Writes the filter of the first input to where the caller wants to keep it, once it is complete.
///
/// # Errors
/// [`crate::Error::Output`] when it cannot be written.
fn save_if_wanted(filters: StoredFilters<'_>, filter: &mut Filter) -> Result<()> {
    let Some(target) = filters.saving else {
        return Ok(());
    };
    // The plan's number of lines was an estimate. A later run would take a filter with more lines than its
    // file says for an overfull one.
    filter.plan_for_own_keys();
    target.write(filter)
}

/// What the statistics say about a complete filter. Its fill is taken from a sample of its blocks.
fn describe(filter: &Filter) -> FilterStats {
    FilterStats::of(filter.shape(), filter.keys(), &filter.occupancy_sampled())
}
