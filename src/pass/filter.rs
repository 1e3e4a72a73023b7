//! The filter pass: read lines, hash each, set bits.
//!
//! 1. The calling thread allocates the filter and borrows it to an [`Updater`], so that nobody can ask it
//!    before it is complete.
//! 2. The workers of a [`scan`] hash batches, and put the lines that pass the prefilter in through the
//!    updater. Its regions have a lock each; a batch takes each lock once.
//! 3. The scan ends, the updater is dropped, and the filter may be asked.
//!
//! A filter of survivors ([`filter_store`]) is built from their buckets instead: each worker reads one
//! bucket after the other, and threads `load-N` read ahead for all of them.
//!
//! *Owns:* the way from an input, or from what survived of one, to a complete filter. *Invariants:*
//! the filter that is returned has every line of the input (that `prefilter` lets through), or of the
//! store; it did not exist for anybody before. *Cost:* one reading of the input or the store, no
//! disk.

use crate::batch::scatter::Scatter;
use crate::batch::{BATCH, Batch, Prefilter, absent};
use crate::error::Result;
use crate::filter::{Filter, Kind, Rules, Shape, Updater};
use crate::input::Input;
use crate::memory::buffer::PAGE;
use crate::pass::prefiltered_worker::{BatchWork, PrefilteredWorker};
use crate::pass::scan::{Worker, scan};
use crate::plan::FilterPlan;
use crate::run::Run;
use crate::spill::bucket::Bucket;
use crate::spill::loads;
use crate::spill::reader::{BucketReader, ReadRules};
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::atomic::{AtomicUsize, Ordering};

/// Makes an empty filter of a planned shape, in the memory of the run.
///
/// # Errors
/// [`crate::Error::Memory`] where there is no room for it.
pub(crate) fn empty(run: &Run<'_>, plan: &FilterPlan) -> Result<Filter> {
    let shape = Shape {
        kind: Kind::Blocked,
        cells: plan.bits,
        hashes: plan.hashes,
    };
    let rules = Rules {
        hasher: run.hasher,
        format: run.options.format,
        key_form: run.options.key_form(),
        planned_keys: plan.keys,
    };
    Filter::new(&run.budget, shape, rules)
}

/// Puts the lines of `input` into a filter, which may have lines of other inputs already; with `prefilter`, those that
/// pass that filter. Reads the input once, on all workers.
///
/// # Errors
/// The first failure of reading, or of asking the prefilter.
pub(crate) fn insert(
    run: &Run<'_>,
    input: &Input,
    prefilter: Option<&dyn Prefilter>,
    filter: &mut Filter,
) -> Result<()> {
    let phase = run.input_phase("filter", input);
    let updater = filter.updater();
    scan(run, &phase, input, || {
        let insertion = Insertion {
            updater: &updater,
            scatter: Scatter::default(),
        };
        PrefilteredWorker::new(prefilter, insertion)
    })
}

/// Puts the lines of `input` into the filter of `seen`, and those that seem to be in it already into that of
/// `again`. Of a line that occurs twice, in this input or in two that share these filters, one occurrence at least
/// is in `again`: a region of `seen` is asked and changed under one lock.
///
/// # Errors
/// The first failure of reading.
pub(crate) fn filter_again(
    run: &Run<'_>,
    input: &Input,
    seen: &mut Filter,
    again: &mut Filter,
) -> Result<()> {
    let (seen, again) = (&seen.updater(), &again.updater());
    let phase = run.input_phase("filter", input);
    scan(run, &phase, input, || AgainWorker {
        seen,
        again,
        new: Vec::with_capacity(BATCH),
        old: Vec::with_capacity(BATCH),
        scatter: Scatter::default(),
    })
}

/// Plans the filter that could be built of all lines of `store`, in all the memory that the pool, the next scan and
/// reading the store leave, up to `most_bits` a key; `None` if they leave nothing. The number of keys is known by
/// now.
pub(crate) fn shape_for_store(
    run: &Run<'_>,
    store: &[Bucket],
    most_bits: f64,
) -> Option<FilterPlan> {
    let layout = &run.layout;
    let (rules, readers) = reading(run, store);
    let beside = layout.scan.bytes().max(readers * rules.memory_bytes());
    // The pool may still take what it has not drawn.
    let unpooled = layout.usable_bytes.saturating_sub(layout.pool.bytes());
    let available = run.budget.available_bytes().min(unpooled);
    let room = available.saturating_sub(beside) & !(PAGE - 1);
    let keys = store.iter().map(|bucket| bucket.lines).sum();
    (room > 0).then(|| FilterPlan::new(keys, room, most_bits))
}

/// Returns the rules for reading a store, and the number of threads that read: their buffers have up to a quarter of
/// the memory.
fn reading<'o>(run: &Run<'o>, store: &[Bucket]) -> (ReadRules<'o>, u64) {
    let rules = run.read_rules(store);
    let layout = &run.layout;
    let fitting = layout.usable_bytes / 4 / rules.memory_bytes();
    (rules, fitting.clamp(1, layout.pool.join_workers as u64))
}

/// Builds a filter of all lines of `store`, of the shape that [`shape_for_store`] has found. The store stays as
/// it is: the join reads it again.
///
/// Each worker claims the next bucket from a counter and reads it with a loader of its own. Buckets are many
/// and about equal, so no worker is left with most of the work.
///
/// # Errors
/// The first failure of reading a block; [`crate::Error::Memory`] where there is no room.
pub(crate) fn filter_store(run: &Run<'_>, store: &[Bucket], shape: &FilterPlan) -> Result<Filter> {
    let bytes = store.iter().map(|bucket| bucket.record_bytes).sum();
    let (rules, readers) = reading(run, store);
    let phase = run.phase("filter survivors", Some(bytes));
    let mut filter = empty(run, shape)?;
    let updater = filter.updater();
    let (next, failure) = (AtomicUsize::new(0), FirstFailure::default());
    let loaders = BucketReader::loaders(readers as usize);
    loads::with_queue(run.space, loaders, &failure, |queue| {
        run.workers
            .at_most(readers as usize)
            .run(&failure, |found_work| {
                let reader = BucketReader::new(queue, &run.budget, rules);
                let insert_all = |mut reader: BucketReader<'_>| {
                    let mut scatter = Scatter::default();
                    while let Some(bucket) = store.get(next.fetch_add(1, Ordering::Relaxed)) {
                        failure.check()?;
                        if bucket.lines > 0 {
                            found_work();
                        }
                        reader.read(bucket, |batch| {
                            run.interrupt().check()?;
                            updater.insert(batch, &mut scatter)
                        })?;
                        phase.advance(bucket.record_bytes, bucket.lines);
                    }
                    Ok(())
                };
                reader.and_then(insert_all)
            });
    });
    drop(updater);
    failure.into_result()?;
    Ok(filter)
}

/// The state of a worker of [`filter_again`].
struct AgainWorker<'a, 'f> {
    /// The filter of the lines that were seen, shared by all workers.
    seen: &'a Updater<'f>,
    /// The filter of the lines that came again, shared by all workers.
    again: &'a Updater<'f>,
    /// Indexes of the lines of a batch that were certainly not seen before.
    new: Vec<u32>,
    /// Indexes of all others.
    old: Vec<u32>,
    scatter: Scatter,
}

impl Worker for AgainWorker<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        self.seen
            .insert_new(batch, &mut self.scatter, &mut self.new)?;
        absent(&self.new, batch.lines.len(), &mut self.old);
        let old = self.old.iter().copied();
        self.again.insert_at(batch, old, &mut self.scatter)
    }
}

/// The work of [`insert`] on the lines that pass the prefilter.
struct Insertion<'a, 'f> {
    /// The filter, shared by all workers; it has a lock for each region.
    updater: &'a Updater<'f>,
    /// The groups of a batch by region, so that each lock is taken once.
    scatter: Scatter,
}

impl BatchWork for Insertion<'_, '_> {
    fn work_on(&mut self, batch: Batch<'_>, indexes: &[u32]) -> Result<()> {
        let indexes = indexes.iter().copied();
        self.updater.insert_at(batch, indexes, &mut self.scatter)
    }
}
