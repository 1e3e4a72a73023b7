//! The entries of one worker, put in order: in a buffer, and in runs where that has no room.
//!
//! *Owns:* [`WorkBuffer`], and what [`Runs`] does with one: filling it, and writing it as a run. *Invariants:* a
//! buffer, the block through which it is written and its runs go together, so that whoever has a buffer has all of its
//! entries. *Cost:* that of [`SortBuffer`], and a block.

use crate::answer::entry::Entry;
use crate::answer::rules::SortRules;
use crate::answer::run_writer::RunWriter;
use crate::answer::sort_buffer::SortBuffer;
use crate::answer::sorted_run::SortedRun;
use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::{Buffer, PAGE};
use crate::spill::block::Address;
use crate::sys::sync::atomic::{AtomicU32, Ordering};

/// The largest block of a run, in bytes.
const LARGEST_BLOCK: u64 = 64 << 10;
/// The smallest.
const SMALLEST_BLOCK: u64 = 16 << 10;
/// A block has at most this fraction of the memory for one buffer.
const BLOCK_SHARE: u64 = 16;

/// The runs of an answer: how they are written, and how many there are. Shared by threads.
pub(super) struct Runs<'s> {
    pub(super) rules: SortRules<'s>,
    /// The number of the next run.
    next: AtomicU32,
}

/// A buffer, the block through which it is written, and what was written.
pub(crate) struct WorkBuffer {
    pub(super) buffer: SortBuffer,
    pub(super) block: Buffer,
    pub(super) runs: Vec<SortedRun>,
}

impl<'s> Runs<'s> {
    /// Makes them without one.
    pub(super) fn new(rules: SortRules<'s>) -> Self {
        let next = AtomicU32::new(0);
        Self { rules, next }
    }

    /// Makes a buffer of `bytes` bytes, the block through which it is written included.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where the budget refuses them.
    pub(super) fn buffer(&self, budget: &MemoryBudget, bytes: u64) -> Result<WorkBuffer> {
        let block = (bytes / BLOCK_SHARE).clamp(SMALLEST_BLOCK, LARGEST_BLOCK) & !(PAGE - 1);
        let buffer = bytes.saturating_sub(block) & !(PAGE - 1);
        Ok(WorkBuffer {
            buffer: SortBuffer::new(budget, buffer, self.rules.order)?,
            block: Buffer::new(budget, "sorting the result", block)?,
            runs: Vec::new(),
        })
    }

    /// Adds an entry to a buffer. If that is full, it is cut to the entries that are wanted, or written as a run.
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
    ///
    /// # Errors
    /// Where the run cannot be written.
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
    pub(super) fn next_run(&self) -> Address {
        Address {
            bucket: self.next.fetch_add(1, Ordering::Relaxed),
            ..self.rules.address
        }
    }
}
