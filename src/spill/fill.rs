//! Filling a store of buckets: from empty to sealed.
//!
//! *Owns:* the writer threads and the way from a [`BucketWriter`] to sealed [`Bucket`]s.
//!
//! 1. The calling thread sets one block of the pool aside for each bucket, and starts the writers.
//! 2. It calls `work` with the [`BucketWriter`]. Any number of threads may append through it meanwhile;
//!    they send full blocks to the writers.
//! 3. When `work` returns, it flushes the open blocks and seals the buckets. That drops the sender: the
//!    writers write what was sent, and end.
//! 4. It waits for the writers, and returns the buckets if nothing has failed.
//!
//! *Invariants:* [`fill`] returns buckets only after every write has succeeded; after a failure the
//! writers only give blocks back, so nobody waits for ever. *Cost:* the writer threads' stacks.

use crate::error::Result;
use crate::spill::block::Address;
use crate::spill::bucket::Bucket;
use crate::spill::pool::BlockPool;
use crate::spill::writer::{BucketWriter, FullBlock};
use crate::sys::failpoint::fail_point;
use crate::sys::first_error::{FirstFailure, PanicAlarm};
use crate::sys::sync::channel::{self, Receiver, Sender};
use crate::sys::sync::thread::{self, Scope};
use crate::sys::threads;
use crate::temp::space::TempSpace;

/// What one filling is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FillRules<'a> {
    pub(crate) space: &'a TempSpace,
    pub(crate) pool: &'a BlockPool,
    /// The run and the store; bucket and number are filled in per block.
    pub(crate) address: Address,
    /// How many buckets.
    pub(crate) buckets: u32,
    /// Threads that write full blocks; 0: the thread that fills a block writes it.
    pub(crate) writers: usize,
}

/// Fills buckets through `work` and seals them.
///
/// # Errors
/// What `work` reports, or the first write that failed.
pub(crate) fn fill(
    rules: FillRules<'_>,
    work: impl FnOnce(&BucketWriter<'_>) -> Result<()>,
) -> Result<Vec<Bucket>> {
    rules.pool.claim(u64::from(rules.buckets))?;
    let failure = FirstFailure::default();
    let buckets = thread::scope(|scope| {
        let outbox = (rules.writers > 0).then(|| start_writers(scope, rules, &failure));
        let writer = BucketWriter::new(rules, &failure, outbox);
        let filled = failure
            .check()
            .and_then(|()| work(&writer))
            .and_then(|()| writer.flush());
        failure.record(filled);
        // Sealing drops the sender, which ends the writers once they have written what was sent.
        writer.seal()
    });
    failure.into_result()?;
    Ok(buckets)
}

/// Starts the threads that write full blocks, and gives the way to send them some.
fn start_writers<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    rules: FillRules<'env>,
    failure: &'env FirstFailure,
) -> Sender<FullBlock> {
    // Unbounded: the pool bounds how many blocks there are.
    let (outbox, inbox) = channel::unbounded();
    for number in 0..rules.writers {
        let inbox = inbox.clone();
        let body = move || write_blocks(rules, failure, &inbox);
        failure.record(threads::spawn(scope, format!("spill-{number}"), body));
    }
    outbox
}

/// A writer thread: writes blocks until the channel is closed. After a failure it only gives blocks
/// back.
fn write_blocks(rules: FillRules<'_>, failure: &FirstFailure, inbox: &Receiver<FullBlock>) {
    let _alarm = PanicAlarm(failure);
    for full in inbox {
        fail_point!("spill-thread");
        if !failure.has_failed() {
            failure.record(full.write(rules.space));
        }
        rules.pool.put(full.into_buffer());
    }
}
