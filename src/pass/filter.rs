//! The filter pass: read lines, hash each, set bits.
//!
//! *Owns:* the way from an input, or from what survived of one, to a complete filter. *Invariants:*
//! the filter that is returned has every line of the input (that `keep` lets through), or of the
//! store; it did not exist for anybody before. *Cost:* one reading of the input or the store, no
//! disk.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::batch::{BATCH, Batch};
use crate::buffer::PAGE;
use crate::error::Result;
use crate::failure::{FirstFailure, PanicAlarm};
use crate::filter::BlockedFilter;
use crate::filter::blocked::FilterBuilder;
use crate::input::Input;
use crate::pass::scan::{Worker, scan};
use crate::plan::FilterPlan;
use crate::run::Run;
use crate::scatter::Scatter;
use crate::spill::bucket::Bucket;
use crate::spill::reader::BucketReader;

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

/// Builds a filter of all lines of `store`, in all the memory that the next scan can spare, up to
/// `most_bits` a key. The number of keys is known by now.
pub(crate) fn filter_store(
    run: &Run<'_>,
    store: &[Bucket],
    most_bits: f64,
) -> Result<BlockedFilter> {
    let keys: u64 = store.iter().map(|bucket| bucket.lines).sum();
    let bytes = store.iter().map(|bucket| bucket.record_bytes).sum();
    let longest = store.iter().map(|bucket| bucket.longest_line).max();
    let layout = &run.plan.layout;
    let reading = BucketReader::memory_bytes(layout, longest.unwrap_or(0));
    let workers = (layout.join_workers as u64).min(run.budget.available_bytes() / 4 / reading);
    let beside = layout.scan_bytes().max(workers.max(1) * reading);
    let room = run.budget.available_bytes().saturating_sub(beside) & !(PAGE - 1);
    let shape = FilterPlan::new(keys, room, most_bits);

    let phase = run.phase("filter survivors", Some(bytes));
    let mut filter = BlockedFilter::new(&run.budget, shape.bits / 8, shape.hashes)?;
    let builder = filter.builder();
    let (next, failure) = (AtomicUsize::new(0), FirstFailure::default());
    std::thread::scope(|scope| {
        run.workers.broadcast(|context| {
            if context.index() as u64 >= workers.max(1) {
                return;
            }
            let _alarm = PanicAlarm(&failure);
            let reader = BucketReader::spawn(run, scope, &run.budget, longest.unwrap_or(0));
            let insert_all = |mut reader: BucketReader| {
                let mut scatter = Scatter::default();
                while let Some(bucket) = store.get(next.fetch_add(1, Ordering::Relaxed)) {
                    failure.check()?;
                    reader.read(bucket, |batch| {
                        run.interrupt().check()?;
                        let all = 0..batch.lines.len() as u32;
                        builder.insert(batch.hashes, all, &mut scatter);
                        Ok(())
                    })?;
                    phase.advance(bucket.record_bytes, bucket.lines);
                }
                Ok(())
            };
            failure.keep(reader.and_then(insert_all));
        });
    });
    drop(builder);
    failure.into_result()?;
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
