//! `sieve` of anything but an intersection: lines that occur once are written at once, and only the others are
//! spilled.
//!
//! 1. `filter` of all inputs: every line goes into a first filter. A line that seems to be in it already goes into
//!    a second one.
//! 2. The second filter shows how many different lines come again: plan the buckets for these.
//! 3. `spill` all inputs through the second filter. A line that it refuses occurs once in all inputs together, so
//!    it is in one side alone: it is written now if such lines are selected, and dropped if not.
//! 4. `join`.
//!
//! ```text
//!  memory   first filter, second filter │ second filter, blocks       │ sets of the join
//!  pass     filter A, filter B          │ spill A, spill B ──▶ result │ join
//! ```
//!
//! *Invariants:* exact. Of the occurrences of a line that comes again, all but the first find it in the first
//! filter, so it is in the second one when that is complete, and every occurrence is spilled.
//!
//! *Cost:* two readings of each input. Lines that come again, and the few per cent that a filter takes for such,
//! are spilled.

use crate::answer::Collector;
use crate::error::Result;
use crate::filter::Filter;
use crate::input::Input;
use crate::pass::filter::{empty, filter_again};
use crate::pass::join::join;
use crate::pass::spill::{Refused, Screening, spill};
use crate::plan::Again;
use crate::plan::Plan;
use crate::run::Run;
use crate::selection::Sides;
use crate::strategy::{describe, if_useful, keeps_repeats, partition::partition};

/// Runs the strategy. All inputs must be files: they are read twice. `run` gets the layout of the second plan.
///
/// # Errors
/// The first failure of any pass. No line has reached the sink before step 3.
pub(crate) fn lone(
    run: &mut Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    // A plan for `sieve` always has both; the fallback is exact.
    let (Some(first), Some(second)) = (plan.costs.filter, plan.second_filter) else {
        return partition(run, None, inputs, sides, out);
    };
    let (mut seen, mut again) = (empty(run, &first)?, empty(run, &second)?);
    {
        let (seen, again) = (seen.updater(), again.updater());
        for input in inputs {
            filter_again(run, input, &seen, &again)?;
        }
    }
    run.record().filter = Some(describe(&seen));
    // Blocks use its memory from here on.
    drop(seen);
    if let Some(layout) = plan.revised_lone(about(inputs, &again)) {
        run.set_layout(layout)?;
    }
    let pool = run.block_pool();
    let (screen, rule) = (if_useful(&again), sides.rule());
    let mut stores = Vec::with_capacity(inputs.len());
    for (number, input) in inputs.iter().enumerate() {
        let lone = sides.lone(number);
        let times = rule.times(lone);
        let refused = Refused {
            rule,
            lone,
            times,
            out,
        };
        let screening = Screening {
            refused: (times > 0).then_some(refused),
            keeps_repeats: keeps_repeats(sides, input),
            ..Screening::by(screen)
        };
        stores.push(spill(run, &pool, input, screening)?.buckets);
    }
    // The join divides all memory that is free: the filter and free blocks go first. Held blocks stay.
    drop((again, pool));
    join(run, stores, sides, out)
}

/// What the second filter, now complete, shows of the inputs.
fn about(inputs: &[Input], again: &Filter) -> Again {
    let occupancy = again.occupancy_sampled();
    Again {
        lines: inputs.iter().map(Input::lines).sum(),
        keys: again.keys(),
        // The estimate is infinite for a filter without a free bit.
        distinct: occupancy.distinct.min(again.keys() as f64),
        fpr: occupancy.fpr,
        filter_bytes: again.shape().bytes(),
    }
}
