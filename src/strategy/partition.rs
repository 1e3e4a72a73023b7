//! `partition`: spill every input into buckets by hash, join bucket by bucket.
//!
//! 1. `spill(A)`. If the plan has a filter, it is fed with the lines of A on the way.
//! 2. `spill` every other input, through that filter if it turned out useful.
//! 3. `join` the stores.
//!
//! Exact. It needs no estimate of the inputs beforehand and reads each of them once, so pipes can be read
//! directly.
//!
//! The plan has a filter if the first input is small beside the others. It keeps nearly all of their lines
//! out of the buckets: with one line beside 5 GB, about one line is spilled.
//!
//! Where samples show that most lines come again, the lines that were spilled first are also kept in memory, and
//! a line that is among them is not spilled again ([`KnownLines`]).
//!
//! *Cost:* one reading of each input; what does not stay in memory is written and read once.

use crate::answer::Collector;
use crate::error::Result;
use crate::input::Input;
use crate::pass::filter::empty;
use crate::pass::join::join;
use crate::pass::known::KnownLines;
use crate::pass::spill::{Screening, spill};
use crate::plan::FilterPlan;
use crate::run::Run;
use crate::selection::Sides;
use crate::strategy::{if_useful, keeps_repeats};

/// Runs the strategy. `filter` is the shape of the filter of the first input, if one is to be fed. Without
/// one it is also what other strategies fall back on, and what finds the lines of the first input alone.
///
/// # Errors
/// The first failure of any pass. Nothing has reached the sink before the join begins.
pub(crate) fn partition(
    run: &Run<'_>,
    filter: Option<FilterPlan>,
    inputs: &[Input],
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    // One pool for all stores: later ones cannot use the blocks that an early one holds.
    let pool = run.block_pool();
    let mut fed = match filter {
        Some(shape) => Some(empty(run, &shape)?),
        None => None,
    };
    let known = KnownLines::new(run, sides.rule())?;
    let known_to = |number| known.as_ref().map(|known| (known, number));
    let mut stores = Vec::with_capacity(inputs.len());
    let mut inputs = inputs.iter().enumerate();
    if let Some((number, first)) = inputs.next() {
        let feeding = Screening {
            feed: fed.as_mut(),
            keeps_repeats: keeps_repeats(sides, first),
            known: known_to(number),
            ..Screening::default()
        };
        stores.push(spill(run, &pool, first, feeding)?.buckets);
    }
    // Complete now, so it may be asked: the first input was read to its end.
    let screen = fed.as_ref().and_then(if_useful);
    for (number, input) in inputs {
        let screening = Screening {
            keeps_repeats: keeps_repeats(sides, input),
            known: known_to(number),
            ..Screening::by(screen)
        };
        stores.push(spill(run, &pool, input, screening)?.buckets);
    }
    // The join divides all memory that is free: the filter and free blocks go first. Held blocks stay.
    drop((fed, pool, known));
    join(run, stores, sides, out)
}
