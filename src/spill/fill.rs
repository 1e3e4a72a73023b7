//! Filling a store of buckets: from empty to sealed.
//!
//! *Owns:* the writer threads and the way from a [`BucketWriter`] to sealed [`Bucket`]s.
//!
//! 1. The calling thread sets one block of the pool aside for each bucket, and starts the first writer. A writer that
//!    leaves blocks waiting starts the next one: the slower the disk is than the workers, the more blocks
//!    are written at a time, up to [`FillRules::writers`].
//! 2. It calls `work` with the [`BucketWriter`]. Any number of threads may append through it meanwhile;
//!    they send full blocks to the writers.
//! 3. When `work` returns, it flushes the open blocks and seals the buckets. That drops the sender: the
//!    writers write what was sent, and end.
//! 4. It waits for the writers, and returns the buckets if nothing has failed.
//!
//! *Invariants:* [`fill`] returns buckets only after every write has succeeded. After a failure the writers
//! still receive blocks, but only give them back to the pool, so no thread waits for ever.
//!
//! *Cost:* the writer threads' stacks.

use crate::error::Result;
use crate::spill::bucket::Bucket;
use crate::spill::rules::FillRules;
use crate::spill::writer::{BucketWriter, FullBlock};
use crate::sys::belt;
use crate::sys::failpoint::fail_point;
use crate::sys::first_error::FirstFailure;
use crate::sys::threads::{self, Team};

/// Fills buckets through `work` and seals them: one bucket for each number below `rules.buckets`, in order.
///
/// `work` runs on the calling thread and may lend the writer to threads that it starts and waits for.
///
/// # Errors
/// The first failure: [`crate::Error::Memory`] if the pool has too few blocks left, a write that failed, or
/// what `work` reports. The files of the buckets then stay until the caller removes all of its run, and the
/// pool must not be used again: blocks in it are not accounted for.
pub(crate) fn fill(
    rules: FillRules<'_>,
    work: impl FnOnce(&BucketWriter<'_>) -> Result<()>,
) -> Result<Vec<Bucket>> {
    rules.pool.claim(u64::from(rules.buckets))?;
    let failure = FirstFailure::default();
    let writers = Team {
        name: "spill",
        most: threads::with_open_files(rules.writers),
        must_all_start: false,
        failure: &failure,
    };
    // Blocks of one bucket may be written in any order: each knows its offset.
    let write = |full: FullBlock, look: &dyn Fn()| {
        fail_point!("spill-thread");
        look();
        if !failure.has_failed() {
            failure.record(full.write(rules.space));
        }
        // Also after a failure: a worker may wait for it.
        rules.pool.put(full.into_buffer());
    };
    let buckets = belt::with_queue(writers, write, |to_writers| {
        let to_writers = (rules.writers > 0).then_some(to_writers);
        let writer = BucketWriter::new(rules, &failure, to_writers);
        // A writer thread may not have started: nothing must be sent then.
        let filled = failure
            .check()
            .and_then(|()| work(&writer))
            .and_then(|()| writer.flush());
        failure.record(filled);
        // Sealing drops the sender, which ends the writers once they have written what was sent. It happens
        // after a failure as well, or the team would be waited for for ever.
        writer.seal()
    });
    // Only now: a writer may fail on the last block, after `work` and `flush` have succeeded.
    failure.into_result()?;
    Ok(buckets)
}
