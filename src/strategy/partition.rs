//! `partition`: spill every input into buckets by hash, join bucket by bucket.
//!
//! Exact. Reads A + B + spill, writes what does not stay in memory. The one strategy that needs no
//! idea of the inputs beforehand, and reads each of them once: pipes included.

use crate::error::Result;
use crate::input::Input;
use crate::output::Collector;
use crate::pass::join::{Wish, join};
use crate::pass::spill::spill;
use crate::run::Run;

pub(crate) fn partition(
    run: &Run<'_>,
    inputs: &[Input],
    wish: Wish,
    out: &Collector<'_>,
) -> Result<()> {
    let pool = run.block_pool();
    let mut stores = Vec::with_capacity(inputs.len());
    for input in inputs {
        stores.push(spill(run, &pool, input, None, None)?.buckets);
    }
    // The free blocks' memory is the join's.
    drop(pool);
    join(run, stores, wish, out)
}
