//! Appending lines to buckets, block by block.
//!
//! *Owns:* the open block of each bucket, and the decision whether a full block is held or written.
//!
//! *Invariants.*
//! - A line is appended under its bucket's lock, so the pieces of a long record stay together.
//! - A bucket's file is written block by block at offsets decided under that lock; the first block
//!   makes the file and is written before the lock is released, the others by writer threads, in
//!   any order.
//!
//! *Cost:* one open block per bucket in use; full blocks stay in memory while the pool has room.

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::spill::block::{self, Address, BlockKind, HEADER, MAX_LENGTH_BYTES};
use crate::spill::bucket::{Bucket, BucketFile, FIRST_HELD, HeldBlock};
use crate::spill::fill::FillRules;
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::channel::Sender;
use crate::sys::sync::{Mutex, PoisonError};
use crate::temp::space::{BUCKET_LABEL, SpillPath, TempSpace, padded};

/// A sealed block on its way to its file.
#[derive(Debug)]
pub(super) struct FullBlock {
    buffer: Buffer,
    length: usize,
    file: SpillPath,
    offset: u64,
}

impl FullBlock {
    pub(super) fn into_buffer(self) -> Buffer {
        self.buffer
    }

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
    parts: Vec<Mutex<Part>>,
    failure: &'a FirstFailure,
    outbox: Option<Sender<FullBlock>>,
}

impl<'a> BucketWriter<'a> {
    /// A writer into empty buckets. Full blocks go to `outbox`; without one, the thread that fills a block
    /// writes it.
    pub(super) fn new(
        rules: FillRules<'a>,
        failure: &'a FirstFailure,
        outbox: Option<Sender<FullBlock>>,
    ) -> Self {
        let parts = (0..rules.buckets).map(|_| Mutex::default()).collect();
        Self {
            rules,
            parts,
            failure,
            outbox,
        }
    }

    /// Ends the filling. Flush before, or the open blocks are lost.
    pub(super) fn seal(self) -> Vec<Bucket> {
        let rules = self.rules;
        let seal = |(bucket, part): (usize, Mutex<Part>)| {
            let part = part.into_inner().unwrap_or_else(PoisonError::into_inner);
            let address = Address {
                bucket: bucket as u32,
                ..rules.address
            };
            part.seal(address, rules.pool.block_bytes())
        };
        self.parts.into_iter().enumerate().map(seal).collect()
    }

    /// How many buckets there are.
    pub(crate) fn buckets(&self) -> u32 {
        self.rules.buckets
    }

    /// The split level of the buckets.
    pub(crate) fn level(&self) -> u32 {
        self.rules.address.level
    }

    /// Appends the lines at `indexes` of the batch to one bucket.
    pub(crate) fn append(&self, bucket: u32, batch: Batch<'_>, indexes: &[u32]) -> Result<()> {
        self.failure.check()?;
        let mutex = &self.parts[bucket as usize];
        let mut part = mutex.lock().unwrap_or_else(PoisonError::into_inner);
        for &index in indexes {
            self.push(&mut part, bucket, batch.lines[index as usize])?;
            part.hash_sum = part.hash_sum.wrapping_add(batch.hashes[index as usize]);
        }
        Ok(())
    }

    fn push(&self, part: &mut Part, bucket: u32, line: &[u8]) -> Result<()> {
        let bytes = block::record_bytes(line.len());
        let block_bytes = self.rules.pool.block_bytes() as usize;
        if bytes > block_bytes - HEADER {
            self.push_long(part, bucket, line)?;
        } else {
            let open = self.room(part, bucket, bytes)?;
            let at = open.filled;
            let taken = block::put_length(&mut open.buffer[at..], line.len());
            open.buffer[at + taken..at + bytes].copy_from_slice(line);
            open.filled += bytes;
            open.records += 1;
        }
        part.lines += 1;
        part.record_bytes += bytes as u64;
        part.longest_line = part.longest_line.max(line.len() as u64);
        Ok(())
    }

    /// A record longer than a block: pieces in blocks of their own, its length in front of the
    /// first. They are written, one behind the other, even where there is room in memory.
    fn push_long(&self, part: &mut Part, bucket: u32, line: &[u8]) -> Result<()> {
        let mut length = [0; MAX_LENGTH_BYTES];
        let taken = block::put_length(&mut length, line.len());
        let mut kind = BlockKind::FirstPiece;
        let mut rest = line;
        if part.open.as_ref().is_some_and(|open| open.filled > HEADER) {
            self.rotate(part, bucket)?;
        }
        while !rest.is_empty() || kind == BlockKind::FirstPiece {
            let open = self.room(part, bucket, MAX_LENGTH_BYTES)?;
            if kind == BlockKind::FirstPiece {
                open.buffer[HEADER..HEADER + taken].copy_from_slice(&length[..taken]);
                open.filled += taken;
                open.records = 1;
            }
            let piece = rest.len().min(open.buffer.len() - open.filled);
            open.buffer[open.filled..open.filled + piece].copy_from_slice(&rest[..piece]);
            open.filled += piece;
            open.kind = kind;
            kind = BlockKind::FurtherPiece;
            rest = &rest[piece..];
            self.rotate_to_file(part, bucket)?;
        }
        Ok(())
    }

    /// The open block of a bucket, with room for `bytes` more.
    fn room<'p>(&self, part: &'p mut Part, bucket: u32, bytes: usize) -> Result<&'p mut OpenBlock> {
        let is_full = part
            .open
            .as_ref()
            .is_some_and(|open| open.filled + bytes > open.buffer.len());
        if is_full {
            self.rotate(part, bucket)?;
        }
        match part.open {
            Some(ref mut open) => Ok(open),
            // The block was lost to a failure that another thread reports.
            None if part.has_opened => Err(Error::Interrupted),
            None => {
                let first = self.rules.pool.take_claimed()?;
                part.has_opened = true;
                Ok(part.open.insert(OpenBlock::new(first)))
            }
        }
    }

    /// Seals the open block and puts an empty one in its place: beside it while there is room in
    /// memory, after writing it when there is none.
    fn rotate(&self, part: &mut Part, bucket: u32) -> Result<()> {
        let Some(next) = self.rules.pool.take_if_roomy()? else {
            return self.rotate_to_file(part, bucket);
        };
        if let Some(open) = part.open.replace(OpenBlock::new(next)) {
            self.hold(part, bucket, open);
        }
        Ok(())
    }

    /// Writes the open block and puts an empty one in its place.
    fn rotate_to_file(&self, part: &mut Part, bucket: u32) -> Result<()> {
        let Some(open) = part.open.take() else {
            return Ok(());
        };
        let next = match self.write(part, bucket, open)? {
            Some(reusable) => reusable,
            None => self.rules.pool.take_or_wait(self.failure)?,
        };
        part.open = Some(OpenBlock::new(next));
        Ok(())
    }

    fn hold(&self, part: &mut Part, bucket: u32, mut open: OpenBlock) {
        let length = open.seal(self.address(bucket, FIRST_HELD + part.held.len() as u64));
        part.held.push(HeldBlock {
            buffer: open.buffer,
            length,
        });
    }

    /// Writes a block, or hands it to a writer. Returns the buffer where it is free again at once.
    fn write(&self, part: &mut Part, bucket: u32, mut open: OpenBlock) -> Result<Option<Buffer>> {
        let file = &mut part.file;
        let length = open.seal(self.address(bucket, file.blocks));
        let path = match &file.path {
            Some(path) => path.clone(),
            None => {
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
        match &self.outbox {
            // The first block makes the file; the ones behind it must find it.
            Some(outbox) if offset > 0 => {
                outbox.send(full).map_err(|_| Error::Interrupted)?;
                Ok(None)
            }
            _ => {
                full.write(self.rules.space)?;
                Ok(Some(full.buffer))
            }
        }
    }

    /// Seals the blocks that are still open: held where there is room for them beside the next
    /// filling's, written where not.
    pub(super) fn flush(&self) -> Result<()> {
        let pool = self.rules.pool;
        for (bucket, part) in self.parts.iter().enumerate() {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            match part.open.take() {
                Some(open) if open.filled == HEADER => pool.put(open.buffer),
                Some(open) if pool.may_hold(u64::from(self.rules.buckets)) => {
                    self.hold(&mut part, bucket as u32, open);
                }
                Some(open) => {
                    if let Some(buffer) = self.write(&mut part, bucket as u32, open)? {
                        pool.put(buffer);
                    }
                }
                None if !part.has_opened => pool.unclaim(1),
                None => {}
            }
        }
        Ok(())
    }

    fn address(&self, bucket: u32, number: u64) -> Address {
        Address {
            bucket,
            number,
            ..self.rules.address
        }
    }
}

/// One bucket while it is being filled.
#[derive(Debug, Default)]
struct Part {
    open: Option<OpenBlock>,
    has_opened: bool,
    file: BucketFile,
    held: Vec<HeldBlock>,
    lines: u64,
    record_bytes: u64,
    longest_line: u64,
    hash_sum: u64,
}

impl Part {
    fn seal(self, address: Address, block_bytes: u64) -> Bucket {
        Bucket {
            address,
            block_bytes,
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
struct OpenBlock {
    buffer: Buffer,
    /// Header room included.
    filled: usize,
    records: u64,
    kind: BlockKind,
}

impl OpenBlock {
    fn new(buffer: Buffer) -> Self {
        Self {
            buffer,
            filled: HEADER,
            records: 0,
            kind: BlockKind::Records,
        }
    }

    /// Writes the header and zeroes the padding; returns the length without it.
    fn seal(&mut self, address: Address) -> usize {
        let length = self.filled;
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
