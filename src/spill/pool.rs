//! The memory of blocks: so many of one size, reused, and who may keep one.
//!
//! *Owns:* the block buffers of a run's buckets.
//!
//! *Invariants.* Let `taken` be the blocks in use and `claims` the buckets that have not opened
//! their first block yet:
//! - `taken + claims <= capacity`: every bucket can always open a block, so no thread waits for a
//!   block that only another waiting thread could give back.
//! - A full block is kept in memory only while [`IN_FLIGHT`] more could be taken after that;
//!   otherwise it is written, and the one who needs its successor waits for a write to end, which
//!   it will.
//!
//! *Cost:* `capacity * block_bytes`, asked from the budget block by block as they are first needed.

use std::time::Duration;

use crate::budget::MemoryBudget;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::failure::FirstFailure;
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Blocks kept for writes under way, so that filling goes on meanwhile.
pub(crate) const IN_FLIGHT: u64 = 4;

/// A fixed number of blocks of one size.
#[derive(Debug)]
pub(crate) struct BlockPool {
    budget: MemoryBudget,
    block_bytes: u64,
    capacity: u64,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct State {
    free: Vec<Buffer>,
    taken: u64,
    claims: u64,
}

impl BlockPool {
    /// A pool of at most `capacity` blocks.
    pub(crate) fn new(budget: &MemoryBudget, block_bytes: u64, capacity: u64) -> Self {
        Self {
            budget: budget.clone(),
            block_bytes,
            capacity,
            state: Mutex::default(),
            returned: Condvar::new(),
        }
    }

    /// The size of a block in bytes.
    pub(crate) fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// Sets one block aside for each of `buckets`.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] when the pool has not so many left.
    pub(crate) fn claim(&self, buckets: u64) -> Result<()> {
        let mut state = self.lock();
        if state.taken + state.claims + buckets + 1 > self.capacity {
            let missing = state.taken + state.claims + buckets + 1 - self.capacity;
            drop(state);
            let bytes = missing * self.block_bytes;
            return Err(self.budget.refusal("bucket blocks", bytes));
        }
        state.claims += buckets;
        Ok(())
    }

    /// Gives claims back that were not used.
    pub(crate) fn unclaim(&self, buckets: u64) {
        self.lock().claims -= buckets;
    }

    /// The first block of a bucket that has a claim.
    pub(crate) fn take_claimed(&self) -> Result<Buffer> {
        let mut state = self.lock();
        let block = self.take_from(&mut state)?;
        // Not before: a bucket that got no block still has its claim.
        state.claims -= 1;
        Ok(block)
    }

    /// A block, if the full one it replaces may stay in memory.
    pub(crate) fn take_if_roomy(&self) -> Result<Option<Buffer>> {
        let mut state = self.lock();
        if state.taken + state.claims + IN_FLIGHT >= self.capacity {
            return Ok(None);
        }
        self.take_from(&mut state).map(Some)
    }

    /// Whether a partly filled block may stay in memory while `buckets` more are to be opened.
    pub(crate) fn may_hold(&self, buckets: u64) -> bool {
        let state = self.lock();
        state.taken + state.claims + buckets + IN_FLIGHT <= self.capacity
    }

    /// A block in the place of one that is being written; waits until there is one.
    ///
    /// # Errors
    /// [`crate::Error::Interrupted`] when the run has failed elsewhere: its blocks may never come
    /// back.
    pub(crate) fn take_or_wait(&self, failure: &FirstFailure) -> Result<Buffer> {
        let mut state = self.lock();
        loop {
            if state.taken + state.claims < self.capacity {
                return self.take_from(&mut state);
            }
            failure.check()?;
            let waited = self.returned.wait_timeout(state, Duration::from_millis(50));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes a block back.
    pub(crate) fn put(&self, block: Buffer) {
        let mut state = self.lock();
        state.taken -= 1;
        state.free.push(block);
        self.returned.notify_one();
    }

    /// What is taken, claimed and free.
    #[cfg(all(test, feature = "schedules"))]
    pub(crate) fn counts(&self) -> (u64, u64, usize) {
        let state = self.lock();
        (state.taken, state.claims, state.free.len())
    }

    fn take_from(&self, state: &mut State) -> Result<Buffer> {
        let block = match state.free.pop() {
            Some(block) => block,
            None => Buffer::new(&self.budget, "bucket blocks", self.block_bytes)?,
        };
        state.taken += 1;
        Ok(block)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
