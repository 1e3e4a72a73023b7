//! The memory of blocks: a fixed number of one size, reused, and which of them may stay in memory.
//!
//! *Owns:* the block buffers of a run's buckets.
//!
//! ```text
//!  │ taken: open, in flight or held │ claims │ free or not made yet │
//!  0                                                              capacity
//! ```
//!
//! *Invariants.* Let `taken` be the blocks in use and `claims` the buckets that have not opened
//! their first block yet:
//! - `taken + claims <= capacity`: every bucket can always open a block, so no thread waits for a
//!   block that only another waiting thread could give back.
//! - A full block is kept in memory only while the pool still has a block for each one that may be on its way to the
//!   disk ([`in_flight`]). Otherwise it is written, and a worker that needs the next block waits for a write to end,
//!   which it will. The same margin leaves the next store of a run, which has the same number of buckets, a block for
//!   each.
//!
//! *Why waiting ends:* a worker waits only in [`Successor::take_or_wait`], after it has sent a block to a
//! writer thread. That block comes back: a writer waits for nothing but the disk and the pool's lock, and
//! a waiting worker does not hold that. The other calls leave blocks to those that wait: `take_claimed`
//! turns a claim into a taken block, and `take_if_roomy` leaves one for each [`Successor`] besides those in
//! flight. A successor is there before its block is sent: many blocks may come back before the workers
//! that wait for them run again, and a bucket that filled up meanwhile would keep the blocks in memory.
//!
//! *Cost:* up to `capacity * block_bytes`. The budget grants it block by block, when each is first needed.

use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::{Condvar, Mutex};

/// Counts the blocks of `buckets` buckets that may be on their way to the disk: one for each thread that writes,
/// while workers fill others. As many stay free when full blocks are kept in memory.
///
/// A fifth of all blocks, and 4 to 16. A disk that takes milliseconds for an answer is fast only if it has many
/// requests at a time; more memory for them would make all blocks smaller.
pub(crate) fn in_flight(buckets: u64) -> u64 {
    (buckets / 4).clamp(4, 16)
}

/// A fixed number of blocks of one size, shared by all threads of a filling, and by the stores of a run.
#[derive(Debug)]
pub(crate) struct BlockPool {
    /// The budget of the blocks; freed blocks go back to it when the pool, or the bucket that holds them, is dropped.
    budget: MemoryBudget,
    /// The size of a block, header included; a multiple of the page size.
    block_bytes: u64,
    /// Blocks that stay free for writing when full ones are kept in memory: what [`in_flight`] says of the buckets.
    in_flight: u64,
    state: Mutex<PoolState>,
    /// Signaled by each [`BlockPool::put`], for [`Successor::take_or_wait`].
    returned: Condvar,
}

/// The state that the lock guards, which is held for a few instructions, and while a new buffer is mapped.
#[derive(Debug, Default)]
struct PoolState {
    /// The most blocks that exist at a time. Held blocks count until the pool is dropped.
    capacity: u64,
    /// Blocks that came back, with their old content. `taken` does not count them.
    free: Vec<Buffer>,
    /// Blocks that were taken and have not come back: open, full and in flight, or held.
    taken: u64,
    /// Buckets that may still take their first block.
    claims: u64,
    /// Buckets without a block, whose full one was sent to a writer or is about to be.
    successors: u64,
}

impl BlockPool {
    /// Makes a pool of at most `capacity` blocks, which holds a full one only while `in_flight` more could be taken.
    /// It takes no memory yet.
    pub(crate) fn new(
        budget: &MemoryBudget,
        block_bytes: u64,
        capacity: u64,
        in_flight: u64,
    ) -> Self {
        Self {
            budget: budget.clone(),
            block_bytes,
            in_flight,
            state: Mutex::new(PoolState {
                capacity,
                ..PoolState::default()
            }),
            returned: Condvar::new(),
        }
    }

    /// Returns the size of a block in bytes.
    pub(crate) fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// Sets one block aside for each of `buckets`. Each claim ends with [`BlockPool::take_claimed`] or
    /// [`BlockPool::unclaim`].
    ///
    /// # Errors
    /// [`crate::Error::Memory`] when the pool would have no block left besides the claims. Nothing is claimed
    /// then.
    pub(crate) fn claim(&self, buckets: u64) -> Result<()> {
        // The one beyond the claims lets a worker go on while a full block is being written.
        let mut state = self.state.lock();
        if state.taken + state.claims + buckets + 1 > state.capacity {
            let missing = state.taken + state.claims + buckets + 1 - state.capacity;
            // The refusal asks the budget for its numbers, under a lock of its own.
            drop(state);
            let bytes = missing * self.block_bytes;
            return Err(self.budget.refusal("bucket blocks", bytes));
        }
        state.claims += buckets;
        Ok(())
    }

    /// Gives the claims of buckets back that stayed empty.
    pub(crate) fn unclaim(&self, buckets: u64) {
        self.state.lock().claims -= buckets;
    }

    /// Takes the first block of a bucket that has a claim; never waits. Its content is whatever was there before.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] when the budget, not the pool, has no room for it.
    pub(crate) fn take_claimed(&self) -> Result<Buffer> {
        let mut state = self.state.lock();
        let block = self.take_from(&mut state)?;
        // Not before: a bucket that got no block still has its claim.
        state.claims -= 1;
        Ok(block)
    }

    /// Takes the next block of a bucket, if the full one that it replaces may stay in memory; never waits. `None`
    /// means that the full block must be written.
    pub(crate) fn take_if_roomy(&self) -> Result<Option<Buffer>> {
        let mut state = self.state.lock();
        if !self.has_room(&state) {
            return Ok(None);
        }
        self.take_from(&mut state).map(Some)
    }

    /// Returns true if a full block could stay in memory now.
    pub(crate) fn is_roomy(&self) -> bool {
        self.has_room(&self.state.lock())
    }

    fn has_room(&self, state: &PoolState) -> bool {
        state.taken + state.claims + state.successors + self.in_flight < state.capacity
    }

    /// Returns true if a partly filled block may stay in memory at the end of a filling. The next filling must still
    /// find a block for each of its `buckets`, and those in flight. The block itself is in `taken`.
    pub(crate) fn may_hold(&self, buckets: u64) -> bool {
        let state = self.state.lock();
        state.taken + state.claims + buckets + self.in_flight <= state.capacity
    }

    /// Announces the successor of a full block that is to be written. Call it before the block is sent.
    pub(crate) fn successor(&self) -> Successor<'_> {
        self.state.lock().successors += 1;
        Successor { pool: self }
    }

    /// Takes a block back, from a writer thread or from a flush, and wakes one worker that waits for it.
    pub(crate) fn put(&self, block: Buffer) {
        let mut state = self.state.lock();
        state.taken -= 1;
        state.free.push(block);
        self.returned.notify_one();
    }

    /// Counts what is taken, claimed and free.
    #[cfg(all(test, feature = "schedules"))]
    pub(crate) fn counts(&self) -> (u64, u64, usize) {
        let state = self.state.lock();
        (state.taken, state.claims, state.free.len())
    }

    /// Takes a free block, or makes a new one. The caller has checked that the capacity allows it. On an error
    /// nothing was counted.
    fn take_from(&self, state: &mut PoolState) -> Result<Buffer> {
        let block = match state.free.pop() {
            Some(block) => block,
            None => Buffer::new(&self.budget, "bucket blocks", self.block_bytes)?,
        };
        state.taken += 1;
        Ok(block)
    }
}

/// A block that a bucket will need in the place of one that goes to a writer. While it exists, one block more
/// is kept from being held.
#[derive(Debug)]
pub(crate) struct Successor<'p> {
    pool: &'p BlockPool,
}

impl Successor<'_> {
    /// Takes the block; waits until one is free. The caller holds the lock of its bucket meanwhile, so workers that
    /// need the same bucket wait as well.
    ///
    /// # Errors
    /// [`crate::Error::Interrupted`] when the run has failed elsewhere: its blocks may never come
    /// back.
    pub(crate) fn take_or_wait(self, failure: &FirstFailure) -> Result<Buffer> {
        let pool = self.pool;
        let mut state = pool.state.lock();
        loop {
            if state.taken + state.claims < state.capacity {
                let block = pool.take_from(&mut state);
                // Dropping `self` takes the lock.
                drop(state);
                return block;
            }
            // On an error, too, the lock is given back before `self` is dropped.
            failure.wait(&pool.returned, &mut state)?;
        }
    }
}

impl Drop for Successor<'_> {
    fn drop(&mut self) {
        self.pool.state.lock().successors -= 1;
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::memory::buffer::PAGE;

    const IN_FLIGHT: u64 = 3;

    fn pool(capacity: u64) -> (MemoryBudget, BlockPool) {
        let budget = MemoryBudget::new(100 * PAGE, 7);
        let pool = BlockPool::new(&budget, PAGE, capacity, IN_FLIGHT);
        (budget, pool)
    }

    #[test]
    fn claims_leave_one_block_and_a_refusal_names_what_is_missing() {
        let (budget, pool) = pool(6);
        pool.claim(2).unwrap();
        let block = pool.take_claimed().unwrap();
        // One taken, one claimed, one to spare: three of six are left.
        let refused = pool.claim(5).unwrap_err();
        let Error::Memory { asked_bytes, .. } = refused else {
            panic!("{refused}");
        };
        assert_eq!(asked_bytes, 2 * PAGE);
        pool.claim(3).unwrap();
        assert!(pool.claim(1).is_err());
        pool.unclaim(1);
        pool.claim(1).unwrap();
        pool.put(block);
        assert_eq!(
            budget.available_bytes(),
            99 * PAGE,
            "the block is kept for others"
        );
    }

    #[test]
    fn a_fifth_of_all_blocks_may_be_in_flight_within_limits() {
        let of = [0, 19, 20, 50, 64, 65_536].map(in_flight);
        assert_eq!(of, [4, 4, 5, 12, 16, 16]);
    }

    #[test]
    fn a_full_block_is_held_while_as_many_as_may_be_in_flight_are_left() {
        let (_, pool) = pool(IN_FLIGHT + 4);
        pool.claim(2).unwrap();
        let first = pool.take_claimed().unwrap();
        assert!(pool.may_hold(2) && !pool.may_hold(3));
        let second = pool.take_if_roomy().unwrap().unwrap();
        let third = pool.take_if_roomy().unwrap().unwrap();
        assert!(
            pool.take_if_roomy().unwrap().is_none(),
            "three taken, one claimed"
        );
        assert!(pool.may_hold(0) && !pool.may_hold(1));
        pool.put(first);
        assert!(pool.take_if_roomy().unwrap().is_some());
        drop((second, third));
    }

    #[test]
    fn j2_blocks_that_came_back_for_others_are_not_held() {
        let buckets = 9;
        let (_, pool) = pool(buckets + IN_FLIGHT);
        pool.claim(buckets).unwrap();
        let mut open: Vec<Buffer> = (0..buckets).map(|_| pool.take_claimed().unwrap()).collect();
        // All but one bucket send their block, and the writers are done before anybody takes the next.
        let mut waiting = Vec::new();
        while open.len() > 1 {
            waiting.push(pool.successor());
            pool.put(open.pop().unwrap());
        }
        // Meanwhile the last bucket fills block after block.
        let mut held = Vec::new();
        while let Some(block) = pool.take_if_roomy().unwrap() {
            held.push(block);
        }
        let failure = FirstFailure::default();
        failure.note(Error::Interrupted);
        for successor in waiting {
            open.push(successor.take_or_wait(&failure).unwrap());
        }
        assert_eq!(open.len() as u64, buckets);
        // The next store of the run has the same number of buckets.
        assert!(held.len() as u64 <= IN_FLIGHT, "{} are held", held.len());
    }

    #[test]
    fn who_waits_gets_what_nobody_has_claimed_and_ends_with_a_failure() {
        let (_, pool) = pool(4);
        let failure = FirstFailure::default();
        pool.claim(2).unwrap();
        let first = pool.successor().take_or_wait(&failure).unwrap();
        let _second = pool.successor().take_or_wait(&failure).unwrap();
        failure.note(Error::Interrupted);
        assert!(
            pool.successor().take_or_wait(&failure).is_err(),
            "the others are claimed"
        );
        pool.put(first);
        let again = pool.successor().take_or_wait(&failure);
        assert!(again.is_ok(), "one has come back");
        assert!(pool.take_claimed().is_ok() && pool.take_claimed().is_ok());
    }
}
