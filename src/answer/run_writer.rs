//! Writing a run, entry by entry.
//!
//! *Owns:* the block that is filled, and the line before, of which the next one leaves out what both share.
//! *Invariants:* each block can be read without those before it, but for the pieces of a long entry.
//!
//! *Cost:* one block of memory, which is lent; a copy of each entry.

use crate::answer::entry::{Entry, MOST_FRONT};
use crate::answer::key_order::{MOST_SHARED, shared_prefix};
use crate::answer::sorted_run::SortedRun;
use crate::error::Result;
use crate::lines::prefixed::{MAX_LENGTH_BYTES, put_length, record_bytes};
use crate::memory::buffer::Buffer;
use crate::selection::Order;
use crate::spill::block::{self, Address, BlockKind, HEADER};
use crate::temp::space::{BUCKET_LABEL, TempSpace, padded};

/// A run that is being written. If it is dropped without [`RunWriter::finish`], its file is removed with the others of
/// the attempt.
pub(super) struct RunWriter<'a> {
    space: &'a TempSpace,
    /// The block that is filled: lent, so that its memory is used again.
    block: &'a mut Buffer,
    filled: usize,
    records: u64,
    /// The first bytes of the line before, `before` of them.
    line_before: [u8; MOST_SHARED],
    before: usize,
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
            line_before: [0; MOST_SHARED],
            before: 0,
        })
    }

    /// Appends an entry, which does not come before the last one.
    ///
    /// # Errors
    /// Where the temporary disk refuses a block.
    pub(super) fn push(&mut self, entry: &Entry<'_>, order: Order) -> Result<()> {
        // Not in the block: the length stands before it, and it may go on in the next one.
        let mut front = [0; MOST_FRONT];
        let taken = entry.put_front(order, &mut front);
        let front = &front[..taken];
        let shared = self.share(entry.line);
        let whole = 1 + front.len() + entry.line.len() + entry.label.len();
        let is_long = record_bytes(whole) > self.block.len() - HEADER;
        let has_room = self.filled + record_bytes(whole - shared) <= self.block.len();
        if self.filled > HEADER && (is_long || !has_room) {
            self.write(BlockKind::Records)?;
        }
        let left_out = if self.filled == HEADER { 0 } else { shared };
        let mut length_bytes = [0; MAX_LENGTH_BYTES];
        let taken = put_length(&mut length_bytes, whole - left_out);
        let mut kind = if is_long {
            BlockKind::FirstPiece
        } else {
            BlockKind::Records
        };
        self.records += 1;
        let pieces = [
            &length_bytes[..taken],
            &[shared as u8],
            front,
            &entry.line[left_out..],
            entry.label,
        ];
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
        self.run.longest = self.run.longest.max(whole as u64);
        Ok(())
    }

    /// Counts the first bytes that `line` shares with the line before it, and takes its place.
    fn share(&mut self, line: &[u8]) -> usize {
        let shared = shared_prefix(&self.line_before[..self.before], line);
        self.before = line.len().min(MOST_SHARED);
        self.line_before[shared..self.before].copy_from_slice(&line[shared..self.before]);
        shared
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
    /// Those of [`RunWriter::push`].
    pub(super) fn finish(mut self) -> Result<SortedRun> {
        self.write(BlockKind::Records)?;
        Ok(self.run)
    }
}
