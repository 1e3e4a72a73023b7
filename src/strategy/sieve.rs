//! `sieve`: each input through a filter of the one before it; only what survives reaches the
//! buckets.
//!
//! Exact: a filter only ever drops lines that are certainly not common, and the join compares
//! bytes. Reads the first input twice, the others once; writes the common lines and the few per
//! cent that pass by mistake. The filter is complete before the first line is held against it.

use crate::error::Result;
use crate::filter::BlockedFilter;
use crate::input::Input;
use crate::output::Collector;
use crate::pass::filter::filter;
use crate::pass::join::join;
use crate::pass::spill::spill;
use crate::run::Run;
use crate::strategy::{describe, if_useful, partition::partition};

pub(crate) fn sieve(run: &Run<'_>, inputs: &[Input], out: &Collector<'_>) -> Result<()> {
    let (Some((first, others)), Some(shape), Some(next_shape)) = (
        inputs.split_first(),
        run.plan.costs.filter,
        run.plan.second_filter,
    ) else {
        return partition(run, inputs, out);
    };
    let pool = run.block_pool();
    let mut keep = filter(run, first, None, &shape)?;
    note(run, &keep);
    let mut stores = Vec::with_capacity(inputs.len());
    for input in others {
        let mut survivors =
            BlockedFilter::new(&run.budget, next_shape.bits / 8, next_shape.hashes)?;
        stores.push(spill(
            run,
            &pool,
            input,
            if_useful(&keep),
            Some(&mut survivors),
        )?);
        keep = survivors;
    }
    stores.push(spill(run, &pool, first, if_useful(&keep), None)?);
    // The memory of filter and free blocks is the join's.
    drop((keep, pool));
    join(run, stores, out)
}

fn note(run: &Run<'_>, filter: &BlockedFilter) {
    run.record().filter = Some(describe(filter));
}
