//! Runs: entries in order, in a temporary file.
//!
//! *Owns:* writing a run and reading it back, entry by entry. The blocks are those of
//! [`spill::block`](crate::spill::block), so damage is noticed in the same way; an entry is one of its records.
//!
//! *Invariants:* entries come back in the order in which they were written, all that were written, or the reading
//! fails. An entry that fits an empty block is never cut; a longer one has blocks of its own.
//!
//! *Cost:* one block of memory to write; to read, two, of which one is loaded in the background, and room for the
//! present entry where that is longer than a block.

use crate::answer::entry::Entry;
use crate::error::{Error, Result};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::{Buffer, PAGE};
use crate::selection::Order;
use crate::spill::block::{
    self, Address, BlockKind, HEADER, MAX_LENGTH_BYTES, put_length, record_bytes, take_length,
};
use crate::spill::loads::{FileRange, LoadQueue, Pending};
use crate::spill::reader::LongRecord;
use crate::temp::space::{BUCKET_LABEL, SpillPath, TempSpace, padded};

/// A complete run.
#[derive(Debug)]
pub(super) struct SortedRun {
    file: SpillPath,
    /// The address of its blocks; the number is filled in for each.
    address: Address,
    block_bytes: u64,
    blocks: u64,
    entries: u64,
    /// The bytes of the lines, with one more for the end of each.
    line_bytes: u64,
    /// The longest entry, in bytes.
    longest: u64,
    /// The end of the last block in the file.
    end: u64,
    /// Bytes written: blocks are as far apart as the longest of them needs, and holes take no disk.
    written_bytes: u64,
}

impl SortedRun {
    /// Returns the bytes that a reader of this run takes.
    pub(super) fn reading_bytes(&self) -> u64 {
        let is_long = record_bytes(self.longest as usize) + HEADER > self.block_bytes as usize;
        let long = if is_long { self.longest + 2 * PAGE } else { 0 };
        2 * self.block_bytes + long
    }

    /// Returns the bytes of lines that a merge goes through in it.
    pub(super) fn line_bytes(&self) -> u64 {
        self.line_bytes
    }

    /// Counts its entries.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns its bytes on disk.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Gives its disk space back.
    pub(super) fn discard(self, space: &TempSpace) {
        space.remove(&self.file, self.written_bytes);
    }

    /// Asks for the block with this number; `None` after the last one.
    fn ask(&self, number: u64, buffer: Buffer, queue: &LoadQueue) -> Result<Option<Pending>> {
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

    fn damaged(&self, block: u64, what: &str) -> Error {
        Error::Damaged {
            path: self.file.path.clone(),
            block,
            what: what.to_owned(),
        }
    }
}

/// A run that is being written. If it is dropped without [`RunWriter::finish`], its file is removed with the others of
/// the attempt.
pub(super) struct RunWriter<'a> {
    space: &'a TempSpace,
    /// The block that is filled: lent, so that its memory is used again.
    block: &'a mut Buffer,
    filled: usize,
    records: u64,
    run: SortedRun,
}

impl<'a> RunWriter<'a> {
    /// Begins a run in blocks as large as `block`.
    ///
    /// # Errors
    /// Where a temporary directory cannot be made.
    pub(super) fn new(
        space: &'a TempSpace,
        address: Address,
        block: &'a mut Buffer,
    ) -> Result<Self> {
        let label = format!("answer-{BUCKET_LABEL}{}", address.bucket);
        Ok(Self {
            space,
            run: SortedRun {
                file: space.new_bucket_path(&label)?,
                address,
                block_bytes: block.len() as u64,
                blocks: 0,
                entries: 0,
                line_bytes: 0,
                longest: 0,
                end: 0,
                written_bytes: 0,
            },
            block,
            filled: HEADER,
            records: 0,
        })
    }

    /// Appends an entry, which does not come before the last one.
    ///
    /// # Errors
    /// Where the temporary disk refuses a block.
    pub(super) fn push(&mut self, entry: &Entry<'_>, order: Order) -> Result<()> {
        let front = entry.front(order);
        let length = front.len() + entry.label.len() + entry.line.len();
        let mut length_bytes = [0; MAX_LENGTH_BYTES];
        let taken = put_length(&mut length_bytes, length);
        let bytes = record_bytes(length);
        let is_long = bytes > self.block.len() - HEADER;
        if (is_long && self.filled > HEADER) || (!is_long && self.filled + bytes > self.block.len())
        {
            self.write(BlockKind::Records)?;
        }
        let mut kind = if is_long {
            BlockKind::FirstPiece
        } else {
            BlockKind::Records
        };
        self.records += 1;
        let pieces = [&length_bytes[..taken], &front, entry.label, entry.line];
        for mut piece in pieces {
            while !piece.is_empty() {
                if self.filled == self.block.len() {
                    self.write(kind)?;
                    kind = BlockKind::FurtherPiece;
                }
                let (now, later) = piece.split_at(piece.len().min(self.block.len() - self.filled));
                self.block[self.filled..self.filled + now.len()].copy_from_slice(now);
                self.filled += now.len();
                piece = later;
            }
        }
        if is_long {
            self.write(kind)?;
        }
        self.run.entries += 1;
        self.run.line_bytes += entry.line_bytes();
        self.run.longest = self.run.longest.max(length as u64);
        Ok(())
    }

    /// Writes the block, if there is anything in it, and begins an empty one.
    fn write(&mut self, kind: BlockKind) -> Result<()> {
        if self.filled == HEADER {
            return Ok(());
        }
        let address = Address {
            number: self.run.blocks,
            ..self.run.address
        };
        let bytes = padded(self.filled as u64);
        self.block[self.filled..bytes as usize].fill(0);
        block::seal(&mut self.block[..self.filled], &address, kind, self.records);
        let offset = self.run.blocks * self.run.block_bytes;
        let block = &self.block[..bytes as usize];
        self.space
            .write_block(&self.run.file, offset, block, self.run.block_bytes)?;
        self.run.blocks += 1;
        self.run.end = offset + bytes;
        self.run.written_bytes += bytes;
        (self.filled, self.records) = (HEADER, 0);
        Ok(())
    }

    /// Writes what is left, and ends the run.
    ///
    /// # Errors
    /// As [`RunWriter::push`].
    pub(super) fn finish(mut self) -> Result<SortedRun> {
        self.write(BlockKind::Records)?;
        Ok(self.run)
    }
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
    entry: std::ops::Range<usize>,
    /// The present entry, if it is longer than a block.
    long: Option<LongRecord>,
    /// Entries read.
    read: u64,
}

impl<'a> RunReader<'a> {
    /// Makes a reader before the first entry of `run`. Needs [`SortedRun::reading_bytes`] of `budget`.
    ///
    /// # Errors
    /// [`Error::Memory`] where the budget has less.
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
            entry: 0..0,
            long: None,
            read: 0,
        })
    }

    /// Goes to the next entry; false at the end.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the run is not what was written; [`Error::Temp`] where it cannot be read.
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
        let found = take_length(&self.block[self.at..self.end]);
        let Some((length, taken)) = found.filter(|(length, taken)| {
            let left = self.end - self.at - taken;
            *length <= left
        }) else {
            return Err(self.run.damaged(self.blocks - 1, "a record is cut"));
        };
        self.entry = self.at + taken..self.at + taken + length;
        self.at = self.entry.end;
        self.read += 1;
        Ok(true)
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
        Entry::read(self.bytes(), self.order)
    }

    fn bytes(&self) -> &[u8] {
        match &self.long {
            Some(long) => long.line(),
            None => &self.block[self.entry.clone()],
        }
    }

    /// Returns the run, to be discarded.
    pub(super) fn into_run(self) -> SortedRun {
        self.run
    }
}
