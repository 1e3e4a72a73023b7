//! An answer in the order of its lines, range after range: where buckets are ranges, and are joined in their order.
//!
//! *Owns:* the turns of the ranges, and sorting one. *Invariants:* every entry of a range is passed on in order, after
//! those of all ranges before it, and before those of the ranges after it.
//!
//! Who runs what, with two workers:
//!
//! ```text
//!  work-0   join range 0, sort │ write 0 │ join range 2, sort │      │ write 2 │ join range 3, ...
//!  work-1   join range 1, sort │         │ write 1 │ join range 3, sort ...
//!                                turn: 0 ──▶ 1 ────────▶ 2
//! ```
//!
//! 1. A worker takes the next range, and a buffer of its own has what the join finds in it. What the buffer has no room
//!    for becomes runs of this range, as in [`Runs`].
//! 2. It sorts the buffer, and waits until all ranges before have been written.
//! 3. It writes the buffer, merged with the runs if there are any, and lets the next range write.
//!
//! The worker of the first range that is not written waits for nobody, so none waits for ever; after a failure all
//! leave.
//!
//! *Cost:* a buffer for each worker, of its share of the join's memory; no disk, unless a range is larger than its
//! buffer.
//!
//! *Sources:* Frazer and McKellar, Samplesort: A Sampling Approach to Minimal Storage Tree Sorting, JACM 17 (1970);
//! DeWitt, Naughton, Schneider, Parallel Sorting on a Shared-Nothing Architecture using Probabilistic Splitting, PDIS
//! 1991.

use crate::answer::entry::Entry;
use crate::answer::merge::Merging;
use crate::answer::rules::SortRules;
use crate::answer::runs::{Runs, WorkBuffer};
use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::{Condvar, Mutex};

/// Sorts the ranges of an answer, each on the worker that has joined it.
pub(crate) struct RangeSorter<'s> {
    runs: Runs<'s>,
    /// The number of the range that may be written: all before it were.
    turn: Mutex<u32>,
    /// The signal that `turn` has changed.
    turn_changed: Condvar,
}

impl<'s> RangeSorter<'s> {
    /// Makes the sorter of an answer whose first range has the number 0.
    pub(crate) fn new(rules: SortRules<'s>) -> Self {
        Self {
            runs: Runs::new(rules),
            turn: Mutex::new(0),
            turn_changed: Condvar::new(),
        }
    }

    /// Makes the buffer of a worker, of `bytes` bytes.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where the budget refuses them.
    pub(crate) fn buffer<'r>(
        &'r self,
        budget: &MemoryBudget,
        bytes: u64,
    ) -> Result<RangeBuffer<'r>> {
        Ok(RangeBuffer {
            ranges: self,
            work: self.runs.buffer(budget, bytes)?,
        })
    }

    /// Waits until the range with this number may be written.
    ///
    /// # Errors
    /// When another thread has failed: the turn might never come.
    fn wait_for(&self, number: u32, failure: &FirstFailure) -> Result<()> {
        let mut turn = self.turn.lock();
        while *turn != number {
            failure.wait(&self.turn_changed, &mut turn)?;
        }
        Ok(())
    }

    /// Lets the next range be written.
    fn end_turn(&self) {
        *self.turn.lock() += 1;
        self.turn_changed.notify_all();
    }
}

/// The part of the answer that one worker has found in its present range.
pub(crate) struct RangeBuffer<'r> {
    ranges: &'r RangeSorter<'r>,
    work: WorkBuffer,
}

impl RangeBuffer<'_> {
    /// Adds an entry.
    ///
    /// # Errors
    /// Where a run cannot be written.
    pub(super) fn push(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.ranges.runs.push(&mut self.work, entry)
    }

    /// Returns true if not all of the range is in memory: merging it takes some.
    pub(crate) fn has_runs(&self) -> bool {
        !self.work.runs.is_empty()
    }

    /// Ends the range with this number: hands its entries to `each`, in order, when its turn has come. The buffer is
    /// empty afterwards.
    ///
    /// # Errors
    /// What `each` reports; where a run cannot be written or read; [`crate::Error::Interrupted`] where another thread
    /// has failed.
    pub(super) fn end(
        &mut self,
        number: u32,
        budget: &MemoryBudget,
        failure: &FirstFailure,
        mut each: impl FnMut(Option<&Entry<'_>>) -> Result<()>,
    ) -> Result<()> {
        let Self { ranges, work } = self;
        if ranges.runs.rules.always_spill {
            ranges.runs.write(work)?;
        }
        work.buffer.sort();
        ranges.wait_for(number, failure)?;
        if work.runs.is_empty() {
            work.buffer
                .iter()
                .try_for_each(|entry| each(Some(&entry)))?;
        } else {
            let runs = &ranges.runs;
            let buffers = std::slice::from_mut(&mut *work);
            Merging { runs, budget }.merge(buffers, &|_| {}, |entry| each(Some(entry)))?;
        }
        each(None)?;
        work.buffer.clear();
        ranges.end_turn();
        Ok(())
    }
}
