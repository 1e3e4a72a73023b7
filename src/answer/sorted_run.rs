//! Runs: entries in order, in a temporary file.
//!
//! *Owns:* the form of a run, and what is known of one. It is written by a [`RunWriter`] and read by a [`RunReader`].
//! The blocks are those of [`spill::block`](crate::spill::block), so damage is noticed in the same way.
//!
//! ```text
//!  record                                 │ shared: 8 │ entry, without the bytes that its line shares │
//!  first of a block, or longer than one   │ shared: 8 │ entry │
//! ```
//!
//! Lines in order share much with their neighbours: of URLs, a third or so is not written. The number of bytes that a
//! line shares with the one before, up to [`MOST_SHARED`], serves the merge as well.
//!
//! *Invariants:* entries come back in the order in which they were written, all that were written, or the reading
//! fails. An entry that fits an empty block is never cut; a longer one has blocks of its own.
//!
//! *Cost:* a byte for each entry.
//!
//! [`RunWriter`]: crate::answer::run_writer::RunWriter
//! [`RunReader`]: crate::answer::run_reader::RunReader
//! [`MOST_SHARED`]: crate::answer::key_order::MOST_SHARED

use crate::error::{Error, Result};
use crate::lines::prefixed::record_bytes;
use crate::memory::buffer::{Buffer, PAGE};
use crate::spill::block::{Address, HEADER};
use crate::spill::loads::{FileRange, LoadQueue, Pending};
use crate::temp::space::{SpillPath, TempSpace};

/// A complete run.
#[derive(Debug)]
pub(super) struct SortedRun {
    pub(super) file: SpillPath,
    /// The address of its blocks; the number is filled in for each.
    pub(super) address: Address,
    pub(super) block_bytes: u64,
    pub(super) blocks: u64,
    pub(super) entries: u64,
    /// The bytes of the lines, with one more for the end of each.
    pub(super) line_bytes: u64,
    /// The longest entry, in bytes.
    pub(super) longest: u64,
    /// The end of the last block in the file.
    pub(super) end: u64,
    /// Bytes written: blocks are as far apart as the longest of them needs, and holes take no disk.
    pub(super) written_bytes: u64,
}

impl SortedRun {
    /// Returns the bytes that a reader of this run takes.
    pub(super) fn reading_bytes(&self) -> u64 {
        let is_long = record_bytes(self.longest as usize) + HEADER > self.block_bytes as usize;
        let long = if is_long { self.longest + 2 * PAGE } else { 0 };
        2 * self.block_bytes + long
    }

    /// Gives its disk space back.
    pub(super) fn discard(self, space: &TempSpace) {
        space.remove(&self.file, self.written_bytes);
    }

    /// Asks for the block with this number; `None` after the last one.
    pub(super) fn ask(
        &self,
        number: u64,
        buffer: Buffer,
        queue: &LoadQueue,
    ) -> Result<Option<Pending>> {
        if number == self.blocks {
            return Ok(None);
        }
        let offset = number * self.block_bytes;
        let part = FileRange {
            file: self.file.clone(),
            offset,
            // The file ends with the padding of the last block.
            bytes: self.block_bytes.min(self.end - offset) as usize,
            block_bytes: self.block_bytes,
        };
        queue.ask(part, buffer).map(Some)
    }

    pub(super) fn damaged(&self, block: u64, what: &str) -> Error {
        Error::Damaged {
            path: self.file.path.clone(),
            block,
            what: what.to_owned(),
        }
    }
}
