//! Reading a run, entry by entry.
//!
//! *Owns:* the present entry and its block, and the request for the block after it.
//!
//! A line is completed where it lies: the bytes that were left out are copied from the line before to those in front of
//! the rest. These belong to that line, or to the record's front, and are no longer needed:
//!
//! ```text
//!  before   │ ..front │ https://a.org/1 │ shared: 14 ..front │ 2 │
//!  after    │ ..front │ https:https://a.org/2 │
//! ```
//!
//! *Invariants:* a block is checked before anything in it is used. At the end, all entries have come.
//!
//! *Cost:* two blocks of memory, of which one is loaded in the background, and room for the present entry where that is
//! longer than a block.

use std::ops::Range;

use crate::answer::entry::Entry;
use crate::answer::sorted_run::SortedRun;
use crate::error::Result;
use crate::lines::prefixed::take_length;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::selection::Order;
use crate::spill::block::{self, Address, BlockKind, HEADER};
use crate::spill::loads::{LoadQueue, Pending};
use crate::spill::reader::LongRecord;
use crate::sys::cpu;

/// An entry in a block: its line and its label are where these ranges say.
#[derive(Debug, Default)]
struct Present {
    times: u64,
    duplicates: u64,
    place: u64,
    line: Range<usize>,
    label: Range<usize>,
    /// The first bytes of its line that the line before it has, too; at most 255.
    shared: usize,
}

/// A run that is being read, entry by entry.
pub(super) struct RunReader<'a> {
    run: SortedRun,
    order: Order,
    budget: &'a MemoryBudget,
    /// The queue that loads blocks.
    queue: &'a LoadQueue,
    block: Buffer,
    /// The block after it, if there is one.
    coming: Option<Pending>,
    /// Blocks that have come.
    blocks: u64,
    /// The offset in the block at which the next record begins; `end` is that at which the payload ends.
    at: usize,
    end: usize,
    /// The present entry in the block.
    present: Present,
    /// The present entry, if it is longer than a block.
    long: Option<LongRecord>,
    /// Entries read.
    read: u64,
}

impl<'a> RunReader<'a> {
    /// Makes a reader before the first entry of `run`. Needs [`SortedRun::reading_bytes`] of `budget`.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where the budget has less.
    pub(super) fn new(
        run: SortedRun,
        order: Order,
        budget: &'a MemoryBudget,
        queue: &'a LoadQueue,
    ) -> Result<Self> {
        let buffer = || Buffer::new(budget, "merging the result", run.block_bytes);
        let (block, next) = (buffer()?, buffer()?);
        let coming = run.ask(0, next, queue)?;
        Ok(Self {
            run,
            order,
            budget,
            queue,
            block,
            coming,
            blocks: 0,
            at: 0,
            end: 0,
            present: Present::default(),
            long: None,
            read: 0,
        })
    }

    /// Goes to the next entry; false at the end.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] where the run is not what was written; [`crate::Error::Temp`] where it cannot be read.
    pub(super) fn advance(&mut self) -> Result<bool> {
        self.long = None;
        while self.at == self.end {
            let Some(coming) = self.coming.take() else {
                return self.check_end();
            };
            if self.load(coming)? {
                return Ok(true);
            }
        }
        self.read += 1;
        self.take_record()
            .map(|()| true)
            .ok_or_else(|| self.run.damaged(self.blocks - 1, "a record is cut"))
    }

    /// Takes the record at `at`, and completes its line; `None` if it is none.
    fn take_record(&mut self) -> Option<()> {
        let (length, taken) = take_length(&self.block[self.at..self.end])?;
        let start = self.at + taken;
        let record = self.block[start..self.end].get(..length)?;
        let (&shared, bytes) = record.split_first()?;
        let entry = Entry::read(bytes, self.order)?;
        let end = start + length;
        let label = end - entry.label.len()..end;
        let (shared, is_first) = (usize::from(shared), self.at == HEADER);
        let left_out = if is_first { 0 } else { shared };
        let before = self.present.line.clone();
        if left_out > before.len() {
            return None;
        }
        let rest = label.start - entry.line.len();
        let present = Present {
            times: entry.times,
            duplicates: entry.duplicates,
            place: entry.place,
            line: rest - left_out..label.start,
            label,
            shared,
        };
        // The line before ends before this record begins, so there is room for its first bytes.
        let prefix = before.start..before.start + left_out;
        if left_out > 0 {
            self.block.copy_within(prefix, present.line.start);
        }
        self.present = present;
        self.at = end;
        // Hundreds of runs are read by turns: by the next turn of this one, its next records are in the cache.
        cpu::prefetch(&self.block, end + cpu::CACHE_LINE);
        Some(())
    }

    /// Takes the block that was asked for, and asks for the next one. True if it completes a long entry, which is
    /// then the present one; the block has no other.
    fn load(&mut self, coming: Pending) -> Result<bool> {
        let (block, loaded) = coming.wait()?;
        let bytes = loaded?;
        let used = std::mem::replace(&mut self.block, block);
        let number = self.blocks;
        self.blocks += 1;
        self.coming = self.run.ask(self.blocks, used, self.queue)?;
        let address = Address {
            number,
            ..self.run.address
        };
        let info = block::check(&self.block[..bytes], &address)
            .map_err(|what| self.run.damaged(number, &what))?;
        let payload = HEADER..HEADER + info.payload_bytes;
        if info.kind == BlockKind::Records {
            (self.at, self.end) = (payload.start, payload.end);
            return Ok(false);
        }
        let piece = &self.block[payload];
        let long = LongRecord::go_on(self.long.take(), info.kind, piece, self.budget).map_err(
            |error| {
                error.unwrap_or_else(|| self.run.damaged(number, "a piece of an entry is missing"))
            },
        )?;
        let is_complete = long.is_complete();
        if is_complete
            && Entry::read(long.line().get(1..).unwrap_or_default(), self.order).is_none()
        {
            return Err(self.run.damaged(number, "a record is cut"));
        }
        self.long = Some(long);
        self.read += u64::from(is_complete);
        Ok(is_complete)
    }

    /// Checks at the end of the blocks that all entries came back. Returns false: there is no further entry.
    fn check_end(&self) -> Result<bool> {
        if self.read == self.run.entries {
            return Ok(false);
        }
        let what = format!(
            "only {} of {} lines were read back",
            self.read, self.run.entries
        );
        Err(self.run.damaged(self.run.blocks, &what))
    }

    /// Returns the present entry; `None` before the first [`RunReader::advance`].
    pub(super) fn entry(&self) -> Option<Entry<'_>> {
        if let Some(long) = &self.long {
            return Entry::read(long.line().get(1..)?, self.order);
        }
        let Present {
            times,
            duplicates,
            place,
            ..
        } = self.present;
        Some(Entry {
            times,
            duplicates,
            place,
            line: self.block.get(self.present.line.clone())?,
            label: self.block.get(self.present.label.clone())?,
        })
    }

    /// Counts the first bytes of the present line that the one before it has, too, up to 255.
    pub(super) fn shared(&self) -> usize {
        match &self.long {
            Some(long) => long.line().first().map_or(0, |&shared| shared.into()),
            None => self.present.shared,
        }
    }

    /// Returns the run, to be discarded.
    pub(super) fn into_run(self) -> SortedRun {
        self.run
    }
}
