//! Sending: blocks of lines to one stream or file, as frames.
//!
//! *Owns:* the order of frames in the stream, and the totals of each bucket.
//!
//! The way of a block, on the worker that filled it and under the lock of its bucket:
//!
//! 1. It is compressed into a spare buffer, unless it would not become smaller.
//! 2. The header is sealed: with the number of the frame in its bucket, and the offset of the frame before it.
//! 3. Header and payload are written under the lock of the stream, one after the other.
//!
//! ```text
//!  work-0  block of bucket 7 ─ compress, seal ─┐
//!                                              ├─ lock ─▶ │ frame │ frame │ ... │ counters │ trailer │
//!  work-1  block of bucket 2 ─ compress, seal ─┘
//! ```
//!
//! *Invariants:* a stream that ends with a trailer is complete. Without [`Sender::finish`] it has none.
//!
//! *Cost:* one pass of LZ4 over the lines; 48 bytes for each bucket, and [`scratch_bytes`] for each worker.

use std::io::{self, Write};

use lz4_flex::block::{compress_into, get_maximum_output_size};

use crate::error::Result;
use crate::exchange::frame::{FrameHeader, FrameKind, HEADER, MOST_DECODED, NOWHERE};
use crate::exchange::totals::{BucketTotals, ENTRY, Trailer};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::output::output_error;
use crate::spill::block_sink::{BlockSink, Content};
use crate::sys::sync::Mutex;

/// Returns the bytes that a worker needs to compress a block: room for the result, and the compressor's table.
pub(crate) fn scratch_bytes() -> u64 {
    /// Of `lz4_flex`: 4096 entries of 4 bytes, and their allocation.
    const TABLE: u64 = 20 << 10;
    get_maximum_output_size(MOST_DECODED as usize) as u64 + TABLE
}

/// The numbers that all frames of a stream have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp {
    pub(crate) job: u64,
    pub(crate) shard: u64,
    pub(crate) side: u32,
}

/// The form in which blocks are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// LZ4 blocks, where that makes them smaller. The default.
    #[default]
    Lz4,
    /// Lines, not compressed.
    None,
}

/// Sends the blocks of a filling to a stream; shared by all threads of the pass.
pub(crate) struct Sender<'s> {
    stamp: Stamp,
    compression: Compression,
    /// One per bucket, by its number. A frame is sent under the lock of its bucket, so nobody waits for these.
    totals: Vec<Mutex<BucketTotals>>,
    stream: Mutex<Stream<'s>>,
    /// The name that messages call it by.
    target: &'s str,
    /// Buffers for compressed blocks that no worker uses.
    spare: Mutex<Vec<Buffer>>,
    budget: &'s MemoryBudget,
}

impl std::fmt::Debug for Sender<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender")
            .field("stamp", &self.stamp)
            .finish_non_exhaustive()
    }
}

impl<'s> Sender<'s> {
    /// Makes a sender of frames of `buckets` buckets to `out`, which messages call `target`.
    pub(crate) fn new(
        out: &'s mut (dyn Write + Send),
        target: &'s str,
        stamp: Stamp,
        buckets: u32,
        compression: Compression,
        budget: &'s MemoryBudget,
    ) -> Self {
        Self {
            stamp,
            compression,
            totals: (0..buckets).map(|_| Mutex::default()).collect(),
            stream: Mutex::new(Stream::new(out)),
            target,
            spare: Mutex::default(),
            budget,
        }
    }

    /// Ends the stream: writes what each bucket has, and the trailer. Returns the trailer.
    ///
    /// # Errors
    /// [`crate::Error::Output`].
    pub(crate) fn finish(self) -> Result<Trailer> {
        let mut stream = self.stream.into_inner();
        let totals: Vec<BucketTotals> = self.totals.into_iter().map(Mutex::into_inner).collect();
        let header = FrameHeader {
            job: self.stamp.job,
            shard: self.stamp.shard,
            side: self.stamp.side,
            bucket: totals.len() as u32,
            kind: FrameKind::Counters,
            records: totals.len() as u32,
            number: 0,
            previous: NOWHERE,
            hash_sum: totals
                .iter()
                .fold(0, |sum, of| sum.wrapping_add(of.hash_sum)),
            stored_bytes: (totals.len() * ENTRY) as u64,
            decoded_bytes: (totals.len() * ENTRY) as u64,
        };
        let seed = header.seed();
        let entries = (0..).zip(&totals);
        let payload: Vec<u8> = entries
            .flat_map(|(bucket, totals)| totals.encode(seed, bucket))
            .collect();
        let counters = stream.frame(&header.seal(&[&payload]), &[&payload]);
        let ended = counters.and_then(|counters| stream.end(counters));
        ended.map_err(|error| output_error(self.target, "cannot write", error))
    }

    /// Takes a spare buffer for a compressed block, or makes one.
    fn scratch(&self) -> Result<Buffer> {
        let spare = self.spare.lock().pop();
        match spare {
            Some(buffer) => Ok(buffer),
            None => Buffer::new(self.budget, "compressed blocks", scratch_bytes()),
        }
    }
}

impl BlockSink for Sender<'_> {
    fn put(&self, content: Content<'_>) -> Result<()> {
        let [first, second] = content.payload;
        let decoded_bytes = (first.len() + second.len()) as u64;
        let mut totals = self.totals[content.bucket as usize].lock();
        let mut header = FrameHeader {
            job: self.stamp.job,
            shard: self.stamp.shard,
            side: self.stamp.side,
            bucket: content.bucket,
            kind: FrameKind::Records,
            records: content.records as u32,
            number: totals.frames,
            previous: totals.last,
            hash_sum: content.hash_sum,
            stored_bytes: decoded_bytes,
            decoded_bytes,
        };
        let is_block = second.is_empty() && decoded_bytes <= MOST_DECODED;
        let mut scratch = None;
        if is_block && self.compression == Compression::Lz4 {
            let mut buffer = self.scratch()?;
            // It fails for want of room only, which there is.
            let stored = compress_into(first, &mut buffer).unwrap_or(usize::MAX);
            if stored < first.len() {
                header.stored_bytes = stored as u64;
            }
            scratch = Some(buffer);
        }
        let sealed = header.seal(&content.payload);
        let sent = match &scratch {
            Some(buffer) if header.is_compressed() => {
                let stored = &buffer[..header.stored_bytes as usize];
                self.stream.lock().frame(&sealed, &[stored])
            }
            _ => self.stream.lock().frame(&sealed, &content.payload),
        };
        let offset = sent.map_err(|error| output_error(self.target, "cannot write", error))?;
        self.spare.lock().extend(scratch);
        totals.frames += 1;
        totals.lines += content.records;
        totals.bytes += decoded_bytes;
        totals.hash_sum = totals.hash_sum.wrapping_add(content.hash_sum);
        totals.last = offset;
        totals.largest = totals.largest.max(decoded_bytes);
        Ok(())
    }
}

/// A stream of frames that is being written.
pub(crate) struct Stream<'s> {
    out: &'s mut (dyn Write + Send),
    frames: u64,
    bytes: u64,
}

impl<'s> Stream<'s> {
    /// Makes a stream to `out`.
    pub(crate) fn new(out: &'s mut (dyn Write + Send)) -> Self {
        Self {
            out,
            frames: 0,
            bytes: 0,
        }
    }

    /// Writes a frame with this header and the pieces of its payload as they are stored; returns where it begins.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn frame(&mut self, header: &[u8; HEADER], payload: &[&[u8]]) -> io::Result<u64> {
        let offset = self.bytes;
        self.write(header)?;
        payload.iter().try_for_each(|piece| self.write(piece))?;
        self.frames += 1;
        Ok(offset)
    }

    /// Ends the stream, whose frame of counters begins at `counters`. Returns what it wrote.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn end(mut self, counters: u64) -> io::Result<Trailer> {
        let trailer = Trailer {
            frames: self.frames,
            bytes: self.bytes,
            counters,
        };
        self.write(&trailer.encode())?;
        Ok(trailer)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}
