//! Filling a store of buckets: from empty to sealed.
//!
//! *Owns:* the writer threads and the way from a [`BucketWriter`] to sealed [`Bucket`]s.
//!
//! 1. The calling thread sets one block of the pool aside for each bucket, and starts the first writer. A writer that
//!    leaves blocks waiting starts the next one: as many are written at a time as the disk is slower than the
//!    workers, up to [`FillRules::writers`].
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

use std::sync::Arc;

use crate::error::Result;
use crate::record::Columns;
use crate::spill::block::Address;
use crate::spill::block_sink::BlockSink;
use crate::spill::bucket::Bucket;
use crate::spill::pool::BlockPool;
use crate::spill::writer::{BucketWriter, FullBlock};
use crate::sys::belt;
use crate::sys::failpoint::fail_point;
use crate::sys::first_error::FirstFailure;
use crate::sys::threads::{self, Team};
use crate::temp::space::TempSpace;

/// The needs of one filling; the same for all its threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FillRules<'a> {
    /// The temporary space that the bucket files go to.
    pub(crate) space: &'a TempSpace,
    /// The source of blocks. It may hold blocks of earlier stores.
    pub(crate) pool: &'a BlockPool,
    /// Run, store and split level; the bucket and the number are filled in for each block.
    pub(crate) address: Address,
    /// The number of buckets, at least 1: the range of `bucket` in [`BucketWriter::append`].
    pub(crate) buckets: u32,
    /// The most threads that write full blocks. With 0, the thread that fills a block writes it: so does a split
    /// where many workers join, or whose parts stay in memory.
    pub(crate) writers: usize,
    /// True if the lines have ordinals, which are kept behind them.
    pub(crate) has_ordinals: bool,
    /// The columns that the keys of the lines are in, if these are records.
    pub(crate) columns: Option<&'a Arc<Columns>>,
    /// The receiver of all blocks; the sealed buckets then have counts and no lines. Not for lines with ordinals.
    /// `None`: blocks are held in memory or written to `space`.
    pub(crate) block_sink: Option<&'a dyn BlockSink>,
}

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
    let buckets = belt::with_queue(writers, write, |outbox| {
        let outbox = (rules.writers > 0).then_some(outbox);
        let writer = BucketWriter::new(rules, &failure, outbox);
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
