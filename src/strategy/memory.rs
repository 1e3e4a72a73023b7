//! `memory`: a set in memory, the inputs streamed past it.
//!
//! A join with a single bucket that never leaves memory:
//!
//! 1. The distinct lines of the building sides become a set, each marked with its sides. For what every side
//!    must have, that is one side, the smallest; for a union it is all of them.
//! 2. The further sides mark the lines that are in the set.
//! 3. What every side must have is written when it gets its last mark, by the worker that gives the mark. Else
//!    the lines whose marks are selected are written at the end.
//!
//! If the plan of an intersection has filters, the inputs take the order of the sieve:
//!
//! ```text
//!  read     through            becomes                               mark
//!  first    -                  a filter
//!  second   filter of first    the set, and a filter of its lines    1
//!  further  filter of the set  -                                     2, 3, ...
//!  first    filter of the set  -                                     the last
//! ```
//!
//! The first input is read twice. In return, a filter drops most lines before they are looked up in the set.
//! Filters are small enough to stay near the processor, a set is not; and this one holds only lines that
//! are probably common.
//!
//! Where repeats are kept, the set is of the sides behind the first (of an intersection, of one of them), the others
//! mark it, and each line of the first side is looked up at the end and written as often as it comes.
//!
//! Addresses need no set ([`addresses`]).
//!
//! *Owns:* which input builds the set ([`ResidentSet`]), and which are streamed past it. *Invariants:* exact; each common line is
//! written once.
//!
//! *Cost:* one reading of each input, or two of the first; no disk, but for an answer that is put in order. The set
//! and the filters are in memory.

use crate::answer::Collector;
use crate::error::Result;
use crate::filter::Filter;
use crate::input::Input;
use crate::pass::filter::filter;
use crate::plan::{FilterPlan, Plan};
use crate::run::Run;
use crate::selection::Sides;
use crate::strategy::ipv4::addresses;
use crate::strategy::resident::ResidentSet;
use crate::strategy::{StoredFilters, describe, if_useful, save_if_wanted};

/// Runs the strategy.
///
/// # Errors
/// [`crate::Error::Memory`] when the set does not fit. No line has reached the sink then, because it gets
/// lines only while the last input is read, or after it. The engine can plan again if all inputs can be read
/// again.
pub(crate) fn memory(
    run: &Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    filters: StoredFilters<'_>,
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    let Some((first, others)) = inputs.split_first() else {
        return Ok(());
    };
    match (plan.costs.filter, plan.second_filter, others) {
        _ if plan.uses_bitmap => addresses(run, inputs, sides, out),
        (Some(shape), Some(second_shape), [second, rest @ ..]) => {
            let mut screen = filter(run, first, None, &shape)?;
            save_if_wanted(filters, &mut screen)?;
            if !keeps_set_small(&screen, first, second) {
                // The sample misled the plan. Only the time of one reading is lost: the planner chooses filters
                // only if the first input is a cached file.
                drop(screen);
                return plainly(run, plan, inputs, sides, out);
            }
            run.record().filter = Some(describe(&screen));
            let line_bytes = plan.build_line_bytes;
            // The set is prepared for the lines that are expected to pass, but never for more than the set
            // of the first input would have had, which is what fits.
            let keys = second_shape.keys.min(plan.build_lines);
            let rule = sides.rule();
            let shape = FilterPlan {
                keys,
                ..second_shape
            };
            // `common` is a filter of the lines in the set: it screens everything that is read later.
            let (set, common) =
                ResidentSet::of_survivors(run, &screen, (second, rule), shape, line_bytes)?;
            set.mark_common(run, rest.iter().chain([first]), &common, out)
        }
        _ => plainly(run, plan, inputs, sides, out),
    }
}

/// The strategy without filters: the building sides are the set, the others mark it in their order.
fn plainly(
    run: &Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    let rule = sides.rule();
    let set = ResidentSet::new(run, rule, plan.build_lines, plan.build_line_bytes)?;
    if rule.repeats() {
        return set.answer(run, inputs, sides, out);
    }
    let turns = sides.turns().iter().zip(1..);
    let mut turns = turns.map(|(turn, rank)| (&inputs[turn.input], rule.side(turn.number, rank)));
    for (input, side) in turns.by_ref().take(rule.building_sides()) {
        set.insert(run, input, side, None)?;
    }
    set.mark(run, turns, None, out)?;
    set.write(out)
}

/// Whether what of `second` passes `screen` by mistake is little beside the set of `first`, for which the
/// memory was planned: at most a quarter of its bytes. A filter with more lines than expected, or a small
/// one beside a large second input, would fill the set with lines that are not common.
///
/// If a size is unknown, as that of a pipe, the rate alone decides.
fn keeps_set_small(screen: &Filter, first: &Input, second: &Input) -> bool {
    let known = |input: &Input| input.likely_bytes().map(|bytes| bytes as f64);
    match (known(first), known(second)) {
        (Some(first), Some(second)) => second * screen.occupancy_sampled().fpr <= first / 4.0,
        _ => if_useful(screen).is_some(),
    }
}
