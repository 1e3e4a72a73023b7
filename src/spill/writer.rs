//! Appending lines to buckets, block by block.
//!
//! *Owns:* the open block of each bucket, and the decision whether a full block is held or written.
//!
//! What happens to a line, all on the worker that appends it:
//!
//! 1. [`BucketWriter::append`] locks the bucket once for all lines that a batch has for it.
//! 2. If the open block has room for the record, the line is copied into it. A bucket that has no open block
//!    yet takes the one that it claimed.
//! 3. Else a new block becomes the open one (`rotate`). If the pool is roomy, the full block is held in memory as it
//!    is.
//! 4. If not, the full block is sealed and written (`rotate_to_file`). The first block of a bucket is written here,
//!    under the lock. Any other goes to a writer thread, and the worker waits for a free block.
//! 5. When all lines are in, `flush` deals with the open blocks and `seal` turns each `FillingBucket` into a
//!    [`Bucket`].
//!
//! Where the filling has a [`BlockSink`](crate::spill::block_sink::BlockSink), the worker hands it each full block,
//! under the bucket's lock, and goes on in the same buffer: nothing is held and nothing is written.
//!
//! *Locks:* a thread holds at most one bucket's lock. Under it, the thread may wait in the pool, and writes
//! the first block of the bucket. The writer threads, the pool and the temporary space take no bucket's lock.
//! So a worker that waits delays only workers that need the same bucket.
//!
//! *Invariants.*
//! - A line is appended under its bucket's lock, so the pieces of a long record stay together.
//! - The number and the offset of a block are decided under that lock. The first block creates the file
//!   and is written before the lock is released; the writer threads write the others, in any order.
//!
//! *Cost:* one open block per bucket in use; full blocks stay in memory while the pool has room.

use crate::batch::{Batch, ORDINAL_BYTES};
use crate::error::{Error, Result};
use crate::lines::prefixed::{MAX_LENGTH_BYTES, put_length, record_bytes};
use crate::memory::buffer::Buffer;
use crate::spill::block::{Address, BlockKind, HEADER};
use crate::spill::bucket::Bucket;
use crate::spill::filling_bucket::{FillingBucket, OpenBlock};
use crate::spill::rules::FillRules;
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::Mutex;
use crate::sys::sync::channel::Sender;
use crate::temp::space::{BUCKET_LABEL, SpillPath, TempSpace, padded};

/// A sealed block on its way to its file. It has everything that a writer thread needs, and no lock.
#[derive(Debug)]
pub(super) struct FullBlock {
    /// A block of the pool; its owner must `put` it back.
    buffer: Buffer,
    /// Bytes of header and payload. The padding after them is zeroed already.
    length: usize,
    /// The file of the bucket.
    file: SpillPath,
    /// The offset of the block in the file, in bytes: its number times the size of a block.
    offset: u64,
}

impl FullBlock {
    /// Gives the buffer back, to be put back into the pool, whether the block was written or not.
    pub(super) fn into_buffer(self) -> Buffer {
        self.buffer
    }

    /// Writes header, payload and padding, and waits for the disk. The unused pages of the buffer are not
    /// written.
    ///
    /// # Errors
    /// What [`TempSpace::write_block`] reports: the quota or the disk has no room, or the run was stopped.
    pub(super) fn write(&self, space: &TempSpace) -> Result<()> {
        space.write_block(
            &self.file,
            self.offset,
            &self.buffer[..padded(self.length as u64) as usize],
            self.buffer.len() as u64,
        )
    }
}

/// Appends lines to buckets; shared by all threads of a pass.
#[derive(Debug)]
pub(crate) struct BucketWriter<'a> {
    rules: FillRules<'a>,
    /// One per bucket, by its number.
    parts: Vec<Mutex<FillingBucket>>,
    /// The failure of the filling. The writer threads record theirs here; workers look at it.
    failure: &'a FirstFailure,
    /// The channel to the writer threads; `None` if there are none. Unbounded: the pool bounds what is in it.
    to_writers: Option<Sender<FullBlock>>,
}

impl<'a> BucketWriter<'a> {
    /// Makes a writer into empty buckets. Full blocks go to `to_writers`; without one, the thread that fills a block
    /// writes it.
    pub(super) fn new(
        rules: FillRules<'a>,
        failure: &'a FirstFailure,
        to_writers: Option<Sender<FullBlock>>,
    ) -> Self {
        let parts = (0..rules.buckets).map(|_| Mutex::default()).collect();
        Self {
            rules,
            parts,
            failure,
            to_writers,
        }
    }

    /// Ends the filling: no thread has the writer any more, and the sender to the writer threads is dropped.
    /// Call [`BucketWriter::flush`] first, or the lines in the open blocks are lost. Never blocks; blocks may
    /// still be on their way to the files.
    pub(super) fn seal(self) -> Vec<Bucket> {
        let rules = self.rules;
        let seal = |(bucket, part): (usize, Mutex<FillingBucket>)| {
            let part = part.into_inner();
            let address = Address {
                bucket: bucket as u32,
                ..rules.address
            };
            part.seal(address, rules)
        };
        self.parts.into_iter().enumerate().map(seal).collect()
    }

    /// Counts the buckets.
    pub(crate) fn buckets(&self) -> u32 {
        self.rules.buckets
    }

    /// Returns the split level of the buckets.
    pub(crate) fn level(&self) -> u32 {
        self.rules.address.level
    }

    /// Appends the lines at `indexes` of the batch to `bucket`, which must be the bucket of their hashes, or ranges, on
    /// the level of this writer. Nothing here checks that.
    ///
    /// Any thread may call it. It waits for the bucket's lock, for the write of the bucket's first block, and
    /// for a free block when the pool is short.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when the filling has failed elsewhere; a failed write of the first block;
    /// [`Error::Memory`] when the budget refuses a block. Some of the lines may have been appended, and the
    /// writer is of no further use.
    pub(crate) fn append(&self, bucket: u32, batch: Batch<'_>, indexes: &[u32]) -> Result<()> {
        self.failure.check()?;
        let mutex = &self.parts[bucket as usize];
        let mut part = mutex.lock();
        let behind = if self.rules.has_ordinals {
            ORDINAL_BYTES
        } else {
            0
        };
        for &index in indexes {
            let ordinal = batch.ordinal(index).to_le_bytes();
            let behind = &ordinal[..behind];
            let hash = batch.hashes[index as usize];
            let line = batch.lines[index as usize];
            self.push(&mut part, bucket, line, hash, behind)?;
            part.hash_sum = part.hash_sum.wrapping_add(hash);
        }
        Ok(())
    }

    /// Appends one line with this hash, with its ordinal or nothing `behind` it. The caller holds the lock of `part`,
    /// which is bucket number `bucket`, and adds the hash to its sum afterwards: a block that is handed over meanwhile
    /// has the sum of the lines before.
    fn push(
        &self,
        part: &mut FillingBucket,
        bucket: u32,
        line: &[u8],
        hash: u64,
        behind: &[u8],
    ) -> Result<()> {
        let length = line.len() + behind.len();
        let bytes = record_bytes(length);
        let block_bytes = self.rules.pool.block_bytes() as usize;
        if bytes > block_bytes - HEADER {
            match self.rules.block_sink {
                Some(block_sink) => part.push_out(block_sink, bucket, line, hash)?,
                None => self.push_long(part, bucket, line, behind)?,
            }
        } else {
            let open = self.room(part, bucket, bytes)?;
            // `room` has checked that all of the record fits after `at`.
            let at = open.filled;
            let start = at + put_length(&mut open.buffer[at..], length);
            let end = start + line.len();
            open.buffer[start..end].copy_from_slice(line);
            open.buffer[end..at + bytes].copy_from_slice(behind);
            open.filled += bytes;
            open.records += 1;
        }
        part.lines += 1;
        part.record_bytes += bytes as u64;
        part.longest_line = part.longest_line.max(length as u64);
        Ok(())
    }

    /// Appends a record that is longer than a block: pieces in blocks of their own, its length in front of
    /// the first. They are written even if there is room in memory, because a reader sees all written
    /// blocks before the held ones and must find the pieces one after the other.
    ///
    /// Afterwards the open block is empty.
    fn push_long(
        &self,
        part: &mut FillingBucket,
        bucket: u32,
        line: &[u8],
        behind: &[u8],
    ) -> Result<()> {
        let mut length = [0; MAX_LENGTH_BYTES];
        let taken = put_length(&mut length, line.len() + behind.len());
        let mut kind = BlockKind::FirstPiece;
        let (mut rest, mut behind) = (line, behind);
        // The first piece begins in an empty block, so that its length is where the reader looks for it.
        if part.open.as_ref().is_some_and(|open| open.filled > HEADER) {
            self.rotate(part, bucket)?;
        }
        while !rest.is_empty() || !behind.is_empty() || kind == BlockKind::FirstPiece {
            // The block is empty, so any number of bytes does; a new bucket takes its claimed block here.
            let open = self.room(part, bucket, MAX_LENGTH_BYTES)?;
            if kind == BlockKind::FirstPiece {
                open.buffer[HEADER..HEADER + taken].copy_from_slice(&length[..taken]);
                open.filled += taken;
                open.records = 1;
            }
            open.take(&mut rest);
            open.take(&mut behind);
            open.kind = kind;
            kind = BlockKind::FurtherPiece;
            self.rotate_to_file(part, bucket)?;
        }
        Ok(())
    }

    /// Returns the open block of a bucket, with room for `bytes` more: the present one, or an empty one after the
    /// present one was held or written. `bytes` must fit an empty block.
    fn room<'p>(
        &self,
        part: &'p mut FillingBucket,
        bucket: u32,
        bytes: usize,
    ) -> Result<&'p mut OpenBlock> {
        let is_full = part
            .open
            .as_ref()
            .is_some_and(|open| open.is_full_for(bytes));
        if is_full {
            self.rotate(part, bucket)?;
        }
        match part.open {
            Some(ref mut open) => Ok(open),
            // A failed rotation has taken the block and brought no other. The thread that failed reports the cause.
            None if part.has_opened => Err(Error::Interrupted),
            None => {
                let first = self.rules.pool.take_claimed()?;
                // Only now: as long as it is false, `flush` gives the claim back.
                part.has_opened = true;
                let open = self.open(part, bucket, first);
                Ok(part.open.insert(open))
            }
        }
    }

    /// Puts an empty block in the place of the open one. Holds the full block in memory if the pool has a further block
    /// for it, else writes it.
    fn rotate(&self, part: &mut FillingBucket, bucket: u32) -> Result<()> {
        if let Some(block_sink) = self.rules.block_sink {
            return part.hand_over(block_sink, bucket);
        }
        let Some(next) = self.rules.pool.take_if_roomy()? else {
            return self.rotate_to_file(part, bucket);
        };
        let next = self.open(part, bucket, next);
        if let Some(open) = part.open.replace(next) {
            part.hold(open);
        }
        Ok(())
    }

    /// Opens an empty block in `buffer` for a bucket: a short one, once, as soon as full blocks must be written.
    ///
    /// Hashes spread lines evenly, so all buckets would fill their blocks at the same time: a burst of writes that
    /// workers have to wait for, and then a time in which the disk has nothing to do. One short block for each bucket,
    /// of another length for each, spreads the writes over the time that it takes to fill a block.
    fn open(&self, part: &mut FillingBucket, bucket: u32, buffer: Buffer) -> OpenBlock {
        let mut open = OpenBlock::new(buffer);
        if !part.has_staggered && self.rules.block_sink.is_none() && !self.rules.pool.is_roomy() {
            part.has_staggered = true;
            let share = u64::from(bucket + 1) * open.limit as u64 / u64::from(self.rules.buckets);
            open.limit = share as usize;
        }
        open
    }

    /// Writes the open block and puts an empty one in its place: the same buffer if this thread has written
    /// it, else one for which it waits.
    ///
    /// # Errors
    /// What the write or the pool reports. The bucket has no open block then.
    fn rotate_to_file(&self, part: &mut FillingBucket, bucket: u32) -> Result<()> {
        let Some(open) = part.open.take() else {
            return Ok(());
        };
        let successor = self.rules.pool.successor();
        let next = match self.write(part, bucket, open)? {
            Some(reusable) => reusable,
            None => successor.take_or_wait(self.failure)?,
        };
        part.open = Some(self.open(part, bucket, next));
        Ok(())
    }

    /// Seals a block, and writes it or sends it to a writer thread. Returns the buffer if it is free again
    /// now; `None` if a writer thread will put it back into the pool.
    ///
    /// The caller holds the lock of `part`. Under it the block gets its number and offset, which are counted
    /// before the write has happened: no other block can get the same, and a failure ends the run anyway.
    fn write(
        &self,
        part: &mut FillingBucket,
        bucket: u32,
        mut open: OpenBlock,
    ) -> Result<Option<Buffer>> {
        let file = &mut part.file;
        let address = Address {
            bucket,
            number: file.blocks,
            ..self.rules.address
        };
        let length = open.seal(address);
        let path = match &file.path {
            Some(path) => path.clone(),
            None => {
                // A bucket that stays in memory never gets a name, and needs no file.
                let label = format!("store{}-{BUCKET_LABEL}{bucket}", self.rules.address.store);
                file.path
                    .insert(self.rules.space.new_bucket_path(&label)?)
                    .clone()
            }
        };
        let offset = file.blocks * self.rules.pool.block_bytes();
        let bytes = padded(length as u64);
        file.blocks += 1;
        file.end = offset + bytes;
        file.written_bytes += bytes;
        let full = FullBlock {
            buffer: open.buffer,
            length,
            file: path,
            offset,
        };
        match &self.to_writers {
            // The first block creates the file, here, before the lock is released. A writer thread must find
            // the file, whichever of the later blocks it writes first.
            Some(to_writers) if offset > 0 => {
                to_writers.send(full).map_err(|_| Error::Interrupted)?;
                Ok(None)
            }
            _ => {
                full.write(self.rules.space)?;
                Ok(Some(full.buffer))
            }
        }
    }

    /// Deals with the open block of every bucket, so that no bucket has one afterwards:
    ///
    /// | the bucket has | then |
    /// |---|---|
    /// | an empty block | it goes back to the pool |
    /// | a block with lines, and the pool has room besides the next filling's blocks | it is held |
    /// | a block with lines, and the pool is short | it is written, here or by a writer thread |
    /// | a block with lines, and the filling has a block sink | it is handed over and goes back to the pool |
    /// | no block because it got no line | its claim goes back |
    ///
    /// Called once, when no thread appends any more.
    ///
    /// # Errors
    /// A write that failed, or [`Error::Interrupted`] when a thread has failed.
    pub(super) fn flush(&self) -> Result<()> {
        let pool = self.rules.pool;
        for (bucket, part) in self.parts.iter().enumerate() {
            let mut part = part.lock();
            if let Some(block_sink) = self.rules.block_sink {
                part.hand_over(block_sink, bucket as u32)?;
            }
            match part.open.take() {
                Some(open) if open.filled == HEADER => pool.put(open.buffer),
                Some(open) if pool.may_hold(u64::from(self.rules.buckets)) => {
                    part.hold(open);
                }
                Some(open) => {
                    if let Some(buffer) = self.write(&mut part, bucket as u32, open)? {
                        pool.put(buffer);
                    }
                }
                None if !part.has_opened => pool.unclaim(1),
                // Lost to a failure, which is recorded.
                None => {}
            }
        }
        Ok(())
    }
}
