//! `partition`: spill every input into buckets by hash, join bucket by bucket.
//!
//! Exact. Reads A + B + spill, writes what does not stay in memory. The one strategy that needs no
//! idea of the inputs beforehand, and reads each of them once: pipes included.
//!
//! Where the first input is small beside the others, a filter of it is fed while it is spilled, and
//! keeps nearly all of the others out of the buckets: one line beside 5 GB spills a line.

use crate::error::Result;
use crate::input::Input;
use crate::output::Collector;
use crate::pass::filter::empty;
use crate::pass::join::{JoinKind, join};
use crate::pass::spill::spill;
use crate::plan::FilterPlan;
use crate::run::Run;
use crate::strategy::if_useful;

pub(crate) fn partition(
    run: &Run<'_>,
    filter: Option<FilterPlan>,
    inputs: &[Input],
    kind: JoinKind,
    out: &Collector<'_>,
) -> Result<()> {
    let pool = run.block_pool();
    let mut fed = match filter {
        Some(shape) => Some(empty(run, &shape)?),
        None => None,
    };
    let mut stores = Vec::with_capacity(inputs.len());
    let mut inputs = inputs.iter();
    if let Some(first) = inputs.next() {
        stores.push(spill(run, &pool, first, None, fed.as_mut())?.buckets);
    }
    let screen = fed.as_ref().and_then(if_useful);
    for input in inputs {
        stores.push(spill(run, &pool, input, screen, None)?.buckets);
    }
    // The memory of the filter and of free blocks is the join's.
    drop((fed, pool));
    join(run, stores, kind, out)
}
