//! `sieve` that keeps the repeats of the first side: `--repeats`.
//!
//! 1. `filter` of the other inputs: of all of them for a difference, of the smallest for an intersection.
//! 2. `spill` the first through it. A line that it refuses is in no other input (or not in all of them), for
//!    certain: a difference writes it now, as often as it comes, and an intersection drops it. A filter of what is
//!    spilled is fed on the way.
//! 3. `spill` each other input through that second filter: what it refuses is of no use.
//! 4. `join`, which writes each selected line as often as the first input has it.
//!
//! ```text
//!  memory   filter B │ filter B, filter A, blocks      │ filter A, blocks │ sets of the join
//!  pass     filter B │ spill A ──▶ result (difference) │ spill B          │ join
//! ```
//!
//! *Invariants:* exact. The distinct lines of the first input are never held: only those that may be in another.
//!
//! *Cost:* one reading of the first input, two of those whose filter is built, one of the others. What may be in
//! both is spilled.

use crate::answer::Collector;
use crate::error::Result;
use crate::input::Input;
use crate::pass::filter::{empty, insert};
use crate::pass::join::join;
use crate::pass::spill::{Refused, Screening, spill};
use crate::plan::Plan;
use crate::run::Run;
use crate::selection::Sides;
use crate::strategy::{describe, if_useful, partition::partition};

/// Runs the strategy. The inputs whose filter is built must be files: they are read twice.
///
/// # Errors
/// The first failure of any pass. No line has reached the sink before step 2.
pub(crate) fn repeats(
    run: &Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    // A plan for `sieve` always has both filters, and the first input first; the fallback is exact.
    let planned = plan.costs.filter.zip(plan.second_filter);
    let (Some((shape, second_shape)), [first, others @ ..]) = (planned, inputs) else {
        return partition(run, None, inputs, sides, out);
    };
    let rule = sides.rule();
    let is_second_side = first.sides().len() > 1;
    if others.is_empty() || is_second_side {
        // The first input is another side, too: no filter tells more than the sides do.
        return partition(run, None, inputs, sides, out);
    }
    let mut filter = empty(run, &shape)?;
    for input in &others[..plan.filtered_inputs()] {
        insert(run, input, &mut filter)?;
    }
    run.record().filter = Some(describe(&filter));
    let mut fed = empty(run, &second_shape)?;
    let pool = run.block_pool();
    let lone = sides.lone(0);
    let refused = Refused {
        rule,
        lone,
        times: 1,
        out,
    };
    let screening = Screening {
        feed: Some(&mut fed),
        keeps_repeats: true,
        refused: rule.selects(lone.mark).then_some(refused),
        ..Screening::by(if_useful(&filter))
    };
    let mut stores = vec![spill(run, &pool, first, screening)?.buckets];
    drop(filter);
    for input in others {
        let screening = Screening::by(if_useful(&fed));
        stores.push(spill(run, &pool, input, screening)?.buckets);
    }
    // The join divides all memory that is free: the filter and free blocks go first. Held blocks stay.
    drop((fed, pool));
    join(run, stores, sides, out)
}
