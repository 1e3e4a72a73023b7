//! Putting an answer in order that may be larger than memory: an external merge sort of the answer alone.
//!
//! *Owns:* the buffers of the order, with their runs until they are merged ([`merge`]). *Invariants:* every entry that
//! was pushed comes out of [`Sorter::merge`] once, in order, up to the number that is wanted; nothing comes out
//! before.
//!
//! Who runs what:
//!
//! ```text
//!  work-0 ─ push ─▶ SortBuffer ─┐ full: sorted, and written as a run by the worker that filled it
//!  work-1 ─ push ─▶ SortBuffer ─┼──────▶ run, run, run, ...  on the temporary disk
//!  work-2 ─ push ─▶ SortBuffer ─┘                     │
//!                                               ▼
//!  the calling thread, when all workers are done: merge of runs and of what is left in the buffers ──▶ sink
//! ```
//!
//! 1. A worker takes a buffer when it has its first line, and gives it back at the end of its pass. The next one goes
//!    on filling it.
//! 2. Where only the first N are wanted, a full buffer is cut to its first N instead, if that frees half of it. Then
//!    nothing is written.
//! 3. The buffers keep their memory in the merge; readers of runs have the memory that the strategy has left.
//!
//! *Cost:* an answer that fits the buffers is never written. Any other is written and read once, and once more for
//! each further level of the merge: one level merges some hundred runs, each as large as a buffer.
//!
//! [`merge`]: crate::answer::merge

use crate::answer::entry::Entry;
use crate::answer::merge::Merging;
use crate::answer::rules::SortRules;
use crate::answer::runs::{Runs, WorkBuffer};
use crate::error::{Error, Result};
use crate::memory::budget::MemoryBudget;
use crate::sys::sync::Mutex;
use crate::sys::sync::channel::{Receiver, Sender, unbounded};

/// Collects entries from several threads, and merges them.
pub(crate) struct Sorter<'s> {
    runs: Runs<'s>,
    budget: MemoryBudget,
    /// The memory of one buffer, in bytes.
    buffer_bytes: u64,
    /// The number of buffers that may still be made.
    unmade: Mutex<usize>,
    /// Buffers that no thread has.
    idle: (Sender<WorkBuffer>, Receiver<WorkBuffer>),
}

impl<'s> Sorter<'s> {
    /// Makes a sorter without an entry, for so many threads that push at the same time. It takes memory when entries
    /// come, up to `bytes` bytes.
    pub(crate) fn new(rules: SortRules<'s>, threads: usize, bytes: u64) -> Self {
        let buffers = threads.max(1);
        Self {
            runs: Runs::new(rules),
            budget: MemoryBudget::new(bytes, 0),
            buffer_bytes: bytes / buffers as u64,
            unmade: Mutex::new(buffers),
            idle: unbounded(),
        }
    }

    /// Takes a buffer for one thread, which gives it back with [`Sorter::put`]. Waits while all are taken.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is too little memory for the smallest buffers.
    pub(super) fn take(&self) -> Result<WorkBuffer> {
        if let Ok(buffer) = self.idle.1.try_recv() {
            return Ok(buffer);
        }
        let may_make = {
            let mut unmade = self.unmade.lock();
            let left = unmade.checked_sub(1);
            *unmade = left.unwrap_or(0);
            left.is_some()
        };
        if may_make {
            return self.runs.buffer(&self.budget, self.buffer_bytes);
        }
        // The other end is here, too: it is not closed.
        self.idle.1.recv().map_err(|_| Error::Interrupted)
    }

    /// Takes a buffer back, with what is in it.
    ///
    /// # Errors
    /// Where entries that must be written cannot be.
    pub(super) fn put(&self, mut buffer: WorkBuffer) -> Result<()> {
        if self.runs.rules.always_spill {
            self.runs.write(&mut buffer)?;
        }
        let _is_open = self.idle.0.send(buffer);
        Ok(())
    }

    /// Adds an entry, through the buffer of this thread.
    ///
    /// # Errors
    /// Where a run cannot be written.
    pub(super) fn push(&self, work: &mut WorkBuffer, entry: &Entry<'_>) -> Result<()> {
        self.runs.push(work, entry)
    }

    /// Estimates the bytes of lines that [`Sorter::merge`] will go through with this budget; no thread pushes any
    /// more.
    pub(crate) fn bytes_to_merge(&self, budget: &MemoryBudget) -> u64 {
        let buffers: Vec<_> = std::iter::from_fn(|| self.idle.1.try_recv().ok()).collect();
        let held = buffers.iter().map(|work| work.buffer.line_bytes());
        let runs: Vec<_> = buffers.iter().flat_map(|work| &work.runs).collect();
        let bytes: u64 = held.chain(runs.iter().map(|run| run.line_bytes)).sum();
        let entries = buffers.iter().map(|work| work.buffer.len() as u64);
        let entries: u64 = entries.chain(runs.iter().map(|run| run.entries)).sum();
        // Of the first N, it goes through what N lines have in the mean.
        let share = (self.runs.rules.most as f64 / entries.max(1) as f64).min(1.0);
        let before_last = self.merging(budget).bytes_before_last(&runs);
        for buffer in buffers {
            let _is_open = self.idle.0.send(buffer);
        }
        (bytes as f64 * share) as u64 + before_last
    }

    /// Hands every entry that is wanted to `each`, in order. `budget` has the memory for reading runs; no thread pushes
    /// any more. `advance` hears of the bytes of lines that are merged before they come to `each`.
    ///
    /// # Errors
    /// What `each` reports; where a run cannot be read, or is damaged.
    pub(crate) fn merge(
        self,
        budget: &MemoryBudget,
        advance: &dyn Fn(u64),
        each: impl FnMut(&Entry<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut buffers: Vec<_> = std::iter::from_fn(|| self.idle.1.try_recv().ok()).collect();
        self.merging(budget).merge(&mut buffers, advance, each)
    }

    /// Makes a merge that may use this memory.
    fn merging<'m>(&'m self, budget: &'m MemoryBudget) -> Merging<'m, 's> {
        Merging {
            runs: &self.runs,
            budget,
        }
    }
}
