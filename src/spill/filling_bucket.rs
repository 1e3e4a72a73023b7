//! One bucket while it is being filled.
//!
//! *Owns:* [`FillingBucket`], the state of such a bucket, and [`OpenBlock`], the block that lines are appended to. Who
//! changes them holds the bucket's lock. *Invariants:* the counts of a part are those of all lines that were appended,
//! whether they are in the open block, held, or in the file. *Cost:* one block for each bucket that has lines.

use crate::error::Result;
use crate::lines::prefixed::{MAX_LENGTH_BYTES, put_length};
use crate::memory::buffer::Buffer;
use crate::spill::block::{self, Address, BlockKind, HEADER};
use crate::spill::block_sink::{BlockSink, Content};
use crate::spill::bucket::{Bucket, BucketFile, HeldBlock};
use crate::spill::rules::FillRules;
use crate::temp::space::padded;

/// One bucket while it is being filled. The counts have the meaning of those of [`Bucket`].
#[derive(Debug, Default)]
pub(super) struct FillingBucket {
    /// The block that the next line goes to; `None` before the first line, and while a full block is written.
    pub(super) open: Option<OpenBlock>,
    /// True if the bucket has used its claim. Tells a bucket without a line from one that lost its block.
    pub(super) has_opened: bool,
    /// True if the bucket has had its one short block.
    pub(super) has_staggered: bool,
    /// Blocks written, or sent to a writer thread.
    pub(super) file: BucketFile,
    /// Full blocks that stay in memory, in the order in which they were filled.
    pub(super) held: Vec<HeldBlock>,
    pub(super) lines: u64,
    pub(super) record_bytes: u64,
    pub(super) longest_line: u64,
    pub(super) hash_sum: u64,
    /// The part of `hash_sum` that block sinks were told of.
    pub(super) handed_sum: u64,
}

impl FillingBucket {
    /// Keeps a full block in memory. The pool counts its buffer as taken until the pool is dropped.
    pub(super) fn hold(&mut self, full: OpenBlock) {
        self.held.push(HeldBlock {
            buffer: full.buffer,
            filled: full.filled,
            records: full.records,
        });
    }

    /// Hands the lines of the open block to `block_sink`, if there are any, and empties the block.
    ///
    /// # Errors
    /// What the block sink reports. The block is still full then, and the filling fails.
    pub(super) fn hand_over(&mut self, block_sink: &dyn BlockSink, bucket: u32) -> Result<()> {
        let Some(open) = self.open.as_mut().filter(|open| open.records > 0) else {
            return Ok(());
        };
        let content = Content {
            bucket,
            records: open.records,
            hash_sum: self.hash_sum.wrapping_sub(self.handed_sum),
            payload: [&open.buffer[HEADER..open.filled], &[]],
        };
        block_sink.put(content)?;
        (open.filled, open.records) = (HEADER, 0);
        self.handed_sum = self.hash_sum;
        Ok(())
    }

    /// Hands `block_sink` one line that is longer than a block. What the open block has goes first.
    ///
    /// # Errors
    /// What the block sink reports.
    pub(super) fn push_out(
        &mut self,
        block_sink: &dyn BlockSink,
        bucket: u32,
        line: &[u8],
        hash: u64,
    ) -> Result<()> {
        self.hand_over(block_sink, bucket)?;
        let mut length = [0; MAX_LENGTH_BYTES];
        let taken = put_length(&mut length, line.len());
        block_sink.put(Content {
            bucket,
            records: 1,
            hash_sum: hash,
            payload: [&length[..taken], line],
        })?;
        self.handed_sum = self.handed_sum.wrapping_add(hash);
        Ok(())
    }

    /// Makes the complete bucket. Its open block must have been flushed.
    pub(super) fn seal(self, address: Address, rules: FillRules<'_>) -> Bucket {
        Bucket {
            address,
            block_bytes: rules.pool.block_bytes(),
            has_ordinals: rules.has_ordinals,
            columns: rules.columns.cloned(),
            file: self.file,
            held: self.held,
            lines: self.lines,
            record_bytes: self.record_bytes,
            longest_line: self.longest_line,
            hash_sum: self.hash_sum,
        }
    }
}

/// A block that lines are appended to.
#[derive(Debug)]
pub(super) struct OpenBlock {
    /// A block of the pool. Behind `filled` it has the content of an earlier use.
    pub(super) buffer: Buffer,
    /// Bytes in use, the room for the header included: from [`HEADER`] to the size of a block.
    pub(super) filled: usize,
    /// The number of bytes after which a further record begins the next block: the size of a block, less for a short
    /// one. A record that is alone in the block may reach beyond it.
    pub(super) limit: usize,
    /// Records that begin in the block.
    pub(super) records: u64,
    /// `Records`, unless `push_long` fills the block.
    pub(super) kind: BlockKind,
}

impl OpenBlock {
    /// Makes an empty block in `buffer`, whose content does not matter.
    pub(super) fn new(buffer: Buffer) -> Self {
        Self {
            limit: buffer.len(),
            buffer,
            filled: HEADER,
            records: 0,
            kind: BlockKind::Records,
        }
    }

    /// Returns true if a record of `bytes` bytes, which fits an empty block, must go to the next one.
    pub(super) fn is_full_for(&self, bytes: usize) -> bool {
        let end = self.filled + bytes;
        end > self.buffer.len() || (end > self.limit && self.filled > HEADER)
    }

    /// Takes as much from the front of `bytes` as there is room for.
    pub(super) fn take(&mut self, bytes: &mut &[u8]) {
        let (piece, rest) = bytes.split_at(bytes.len().min(self.buffer.len() - self.filled));
        self.buffer[self.filled..self.filled + piece.len()].copy_from_slice(piece);
        self.filled += piece.len();
        *bytes = rest;
    }

    /// Writes the header and zeroes the padding; returns the length without it.
    pub(super) fn seal(&mut self, address: Address) -> usize {
        let length = self.filled;
        // Up to the end of the last page: direct I/O writes whole pages.
        self.buffer[length..padded(length as u64) as usize].fill(0);
        block::seal(
            &mut self.buffer[..length],
            &address,
            self.kind,
            self.records,
        );
        length
    }
}
