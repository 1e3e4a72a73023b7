//! The filter pass: read lines, hash each, set bits.
//!
//! *Owns:* the way from an input to a complete filter. *Invariants:* the filter that is returned
//! has every line of the input (that `keep` lets through); it did not exist for anybody before.
//! *Cost:* one reading of the input, no disk.

use crate::batch::{BATCH, Batch};
use crate::error::Result;
use crate::filter::BlockedFilter;
use crate::filter::blocked::FilterBuilder;
use crate::input::Input;
use crate::pass::scan::{Worker, scan};
use crate::plan::FilterPlan;
use crate::run::Run;
use crate::scatter::Scatter;

/// Builds a filter of the lines of `input`; with `keep`, of those that pass that filter.
pub(crate) fn filter(
    run: &Run<'_>,
    input: &Input,
    keep: Option<&BlockedFilter>,
    shape: &FilterPlan,
) -> Result<BlockedFilter> {
    let phase = run.input_phase("filter", input);
    let mut filter = BlockedFilter::new(&run.budget, shape.bits / 8, shape.hashes)?;
    let builder = filter.builder();
    scan(run, &phase, input, || FilterWorker {
        keep,
        builder: &builder,
        kept: Vec::with_capacity(BATCH),
        scatter: Scatter::default(),
    })?;
    drop(builder);
    Ok(filter)
}

struct FilterWorker<'a, 'f> {
    keep: Option<&'a BlockedFilter>,
    builder: &'a FilterBuilder<'f>,
    kept: Vec<u32>,
    scatter: Scatter,
}

impl Worker for FilterWorker<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        batch.keep(self.keep, &mut self.kept);
        let kept = self.kept.iter().copied();
        self.builder.insert(batch.hashes, kept, &mut self.scatter);
        Ok(())
    }
}
