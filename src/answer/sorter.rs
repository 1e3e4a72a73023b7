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
use crate::answer::rules::{SorterRules, WorkBuffer};
use crate::answer::run_writer::RunWriter;
use crate::answer::sort_buffer::SortBuffer;
use crate::error::{Error, Result};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::{Buffer, PAGE};
use crate::spill::block::Address;
use crate::sys::sync::Mutex;
use crate::sys::sync::atomic::AtomicU32;
use crate::sys::sync::channel::{Receiver, Sender, unbounded};

/// The largest block of a run, in bytes.
const LARGEST_BLOCK: u64 = 64 << 10;
/// The smallest.
const SMALLEST_BLOCK: u64 = 16 << 10;
/// A block has at most this fraction of the memory for one buffer.
const BLOCK_SHARE: u64 = 16;

/// Collects entries from several threads, and merges them.
pub(crate) struct Sorter<'s> {
    rules: SorterRules<'s>,
    budget: MemoryBudget,
    /// The number of buffers that may still be made.
    unmade: Mutex<usize>,
    /// The number of the next run.
    next: AtomicU32,
    /// Buffers that no thread has.
    idle: (Sender<WorkBuffer>, Receiver<WorkBuffer>),
}

impl<'s> Sorter<'s> {
    /// Makes a sorter without an entry. It takes memory when entries come.
    pub(crate) fn new(rules: SorterRules<'s>) -> Self {
        Self {
            budget: MemoryBudget::new(rules.bytes, 0),
            unmade: Mutex::new(rules.buffers.max(1)),
            next: AtomicU32::new(0),
            idle: unbounded(),
            rules,
        }
    }

    /// Takes a buffer for one thread, which gives it back with [`Sorter::put`]. Waits while all are taken.
    ///
    /// # Errors
    /// [`Error::Memory`] where the rules have too little memory for the smallest buffers.
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
            let bytes = self.rules.bytes / self.rules.buffers.max(1) as u64;
            return self.new_buffer(&self.budget, bytes);
        }
        // The other end is here, too: it is not closed.
        self.idle.1.recv().map_err(|_| Error::Interrupted)
    }

    /// Makes a buffer of `bytes` bytes, the block through which it is written included.
    ///
    /// # Errors
    /// [`Error::Memory`] where the budget refuses them.
    pub(super) fn new_buffer(&self, budget: &MemoryBudget, bytes: u64) -> Result<WorkBuffer> {
        let block = (bytes / BLOCK_SHARE).clamp(SMALLEST_BLOCK, LARGEST_BLOCK) & !(PAGE - 1);
        let buffer = bytes.saturating_sub(block) & !(PAGE - 1);
        Ok(WorkBuffer {
            buffer: SortBuffer::new(budget, buffer, self.rules.order)?,
            block: Buffer::new(budget, "sorting the result", block)?,
            runs: Vec::new(),
        })
    }

    /// Takes a buffer back, with what is in it.
    ///
    /// # Errors
    /// Where entries that must be written cannot be.
    pub(super) fn put(&self, mut buffer: WorkBuffer) -> Result<()> {
        if self.rules.always_spill {
            self.write(&mut buffer)?;
        }
        let _is_open = self.idle.0.send(buffer);
        Ok(())
    }

    /// Adds an entry, through the buffer of this thread.
    ///
    /// # Errors
    /// Where a run cannot be written.
    pub(super) fn push(&self, work: &mut WorkBuffer, entry: &Entry<'_>) -> Result<()> {
        let has_room = work.buffer.push(entry);
        if has_room || (work.buffer.cut(self.rules.most) && work.buffer.push(entry)) {
            return Ok(());
        }
        self.write(work)?;
        if work.buffer.push(entry) {
            return Ok(());
        }
        // Longer than a buffer: a run of its own, from where it lies.
        let mut writer = RunWriter::new(self.rules.space, self.next_run(), &mut work.block)?;
        writer.push(entry, self.rules.order)?;
        work.runs.push(writer.finish()?);
        Ok(())
    }

    /// Writes what is in a buffer as a run, and empties it.
    pub(super) fn write(&self, work: &mut WorkBuffer) -> Result<()> {
        if work.buffer.len() == 0 {
            return Ok(());
        }
        work.buffer.cut(self.rules.most);
        work.buffer.sort();
        let mut writer = RunWriter::new(self.rules.space, self.next_run(), &mut work.block)?;
        for entry in work.buffer.iter() {
            writer.push(&entry, self.rules.order)?;
        }
        work.runs.push(writer.finish()?);
        work.buffer.clear();
        Ok(())
    }

    /// Returns the address of the blocks of the next run.
    fn next_run(&self) -> Address {
        self.rules.next_run(&self.next)
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
        let share = (self.rules.most as f64 / entries.max(1) as f64).min(1.0);
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

    /// Returns true if every entry is to be written.
    pub(super) fn always_spills(&self) -> bool {
        self.rules.always_spill
    }

    /// Makes a merge that may use this memory.
    pub(super) fn merging<'m>(&'m self, budget: &'m MemoryBudget) -> Merging<'m, 's> {
        Merging {
            rules: &self.rules,
            budget,
            next: &self.next,
        }
    }
}
