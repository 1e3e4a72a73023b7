//! Reading blocks of buckets: from the page cache at once, from a disk ahead. The threads `load-N`, which all workers
//! share, load the next blocks while a worker is busy with those before.
//!
//! *Owns:* the two buffers of a reader, and which blocks are requested when.
//!
//! 1. What is in the page cache is at the beginning of a file. The worker copies it from there itself, 256 KiB at a
//!    time: another thread would leave the bytes in the cache of another core, and each handing over takes as long as
//!    such a copy.
//! 2. Behind that, the worker asks for as much as its free buffers hold: twice at the start.
//! 3. Threads `load-N` serve the requests ([`loads`](crate::spill::loads)), both at the same time if the disk is
//!    slower than the worker.
//! 4. The worker waits for the oldest request, goes through its blocks and puts the buffer back. Meanwhile the other
//!    one is filled.
//!
//! *Invariants:*
//! - Nothing is copied from the page cache while a request is under way, and the oldest request is waited for first:
//!   so blocks come in the order of their numbers.
//! - A buffer is either free, or requested, or with the worker.
//! - When a reading ends early, its requests are awaited and their buffers become free again. The next
//!   reading begins with both.
//!
//! *Cost:* two buffers of memory. A buffer holds as many blocks as fit. Blocks are small if memory was short
//! while many were open, but they lie one after the other, and a disk is fast only in large requests.

use std::collections::VecDeque;

use crate::error::{Error, Result};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::spill::bucket::Bucket;
use crate::spill::loads::{FileRange, LoadQueue, Pending};
use crate::temp::space::TempSpace;

/// The bytes that are copied from the page cache at a time, unless a block has more: as much as stays in the
/// second-level cache until its lines are in the set.
const COPIED: u64 = 256 << 10;

/// Consecutive written blocks of one bucket. Return it with [`BlockReading::put`]: a dropped one takes its buffer
/// with it, and later readings are no longer ahead.
#[derive(Debug)]
pub(crate) struct LoadedBlocks {
    buffer: Buffer,
    /// Bytes of the buffer that were read.
    bytes: usize,
    /// The distance between the starts of blocks, in bytes.
    stride: usize,
}

impl LoadedBlocks {
    /// Lists the blocks, each with the padding and the hole after it. The last one ends with its padding.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.buffer[..self.bytes].chunks(self.stride)
    }
}

/// The worker's side of reading: the source of the blocks of buckets, copied from the page cache or loaded ahead.
#[derive(Debug)]
pub(crate) struct Loader<'s> {
    /// The temporary space that the files are in.
    space: &'s TempSpace,
    /// The size of a buffer.
    bytes: u64,
    /// The queue for requests of blocks.
    queue: &'s LoadQueue,
    /// Buffers that are neither requested nor with the worker; all of them between two readings.
    free: Vec<Buffer>,
}

impl<'s> Loader<'s> {
    /// Buffers of a loader: one or both are filled while the worker waits, and one while it goes through the other.
    pub(crate) const BUFFERS: usize = 2;

    /// Makes a loader of up to `bytes` of files of `space` at a time, which it requests from `queue`. `bytes` must be
    /// enough for a block of every bucket that will be read.
    ///
    /// # Errors
    /// [`Error::Memory`] when `budget` has not twice `bytes`.
    pub(crate) fn new(
        space: &'s TempSpace,
        queue: &'s LoadQueue,
        budget: &MemoryBudget,
        bytes: u64,
    ) -> Result<Self> {
        let buffer = || Buffer::new(budget, "blocks being read", bytes);
        let free = (0..Self::BUFFERS)
            .map(|_| buffer())
            .collect::<Result<_>>()?;
        Ok(Self {
            space,
            bytes,
            queue,
            free,
        })
    }

    /// Begins to read the file of `bucket` from its first block on. Requests nothing before the first
    /// [`BlockReading::take`].
    pub(crate) fn start<'l>(&'l mut self, bucket: &'l Bucket) -> BlockReading<'l, 's> {
        BlockReading {
            loader: self,
            bucket,
            next: 0,
            in_flight: VecDeque::with_capacity(Self::BUFFERS),
        }
    }
}

/// One reading of the written blocks of a bucket. It borrows the loader, so there is one at a time.
#[derive(Debug)]
pub(crate) struct BlockReading<'l, 's> {
    loader: &'l mut Loader<'s>,
    bucket: &'l Bucket,
    /// The number of the first block that was neither copied nor requested yet.
    next: u64,
    /// Requests whose answer was not received yet: 0 to [`Loader::BUFFERS`].
    in_flight: VecDeque<Pending>,
}

impl BlockReading<'_, '_> {
    /// Copies the next blocks, if they are in the page cache. Else it requests blocks for all free buffers, then
    /// waits for the answer to the oldest request. `None` when all blocks have come. Return what it gives with
    /// [`BlockReading::put`] before the next call, or nothing is requested ahead.
    ///
    /// # Errors
    /// What [`TempSpace::read`](crate::temp::space::TempSpace::read) reports; [`Error::Interrupted`] when the
    /// thread that served a request has panicked.
    pub(crate) fn take(&mut self) -> Result<Option<LoadedBlocks>> {
        if let Some(copied) = self.copy()? {
            return Ok(Some(copied));
        }
        self.ask_ahead()?;
        let Some(oldest) = self.in_flight.pop_front() else {
            // Blocks are left, but no buffer: they were lost with threads that panicked, or not put back.
            let is_over = self.next >= self.bucket.file.blocks;
            return if is_over {
                Ok(None)
            } else {
                Err(Error::Interrupted)
            };
        };
        let (buffer, result) = oldest.wait()?;
        match result {
            Ok(bytes) => Ok(Some(LoadedBlocks {
                buffer,
                bytes,
                stride: self.bucket.block_bytes as usize,
            })),
            Err(error) => {
                // The error may end only this reading: the next one needs both buffers.
                self.loader.free.push(buffer);
                Err(error)
            }
        }
    }

    /// Makes the buffer of blocks free for the next request.
    pub(crate) fn put(&mut self, blocks: LoadedBlocks) {
        self.loader.free.push(blocks.buffer);
    }

    /// Copies blocks from the page cache; `None` if the next ones are not there, or something is under way.
    fn copy(&mut self) -> Result<Option<LoadedBlocks>> {
        let part = self.next_part(COPIED.min(self.loader.bytes))?;
        let Some(part) = part.filter(|part| part.file.is_cached_at(part.offset)) else {
            return Ok(None);
        };
        // It is in front of all that is not in the page cache, so nothing was requested.
        debug_assert!(self.in_flight.is_empty());
        // Both are free then, unless they were lost with a thread.
        let Some(mut buffer) = self.loader.free.pop() else {
            return Ok(None);
        };
        let bytes = &mut buffer[..part.bytes];
        let read = self
            .loader
            .space
            .read(&part.file, part.offset, bytes, part.block_bytes);
        if let Err(error) = read {
            self.loader.free.push(buffer);
            return Err(error);
        }
        self.next += part.blocks();
        Ok(Some(LoadedBlocks {
            buffer,
            bytes: part.bytes,
            stride: part.block_bytes as usize,
        }))
    }

    /// Sends a request for each free buffer, as long as there are blocks that were not requested.
    fn ask_ahead(&mut self) -> Result<()> {
        while let Some(part) = self.next_part(self.loader.bytes)? {
            let Some(buffer) = self.loader.free.pop() else {
                return Ok(());
            };
            self.next += part.blocks();
            let asked = self.loader.queue.ask(part, buffer)?;
            self.in_flight.push_back(asked);
        }
        Ok(())
    }

    /// Returns the next blocks that fit `most` bytes, at least one; `None` after the last.
    fn next_part(&self, most: u64) -> Result<Option<FileRange>> {
        let (file, stride) = (&self.bucket.file, self.bucket.block_bytes);
        if self.next >= file.blocks {
            return Ok(None);
        }
        let Some(path) = file.path.clone() else {
            return Err(self.bucket.damaged(self.next, "it is missing".into()));
        };
        let offset = self.next * stride;
        let blocks = (most / stride).max(1);
        Ok(Some(FileRange {
            file: path,
            offset,
            // The file ends with the padding of its last block, not at a multiple of the stride.
            bytes: (blocks * stride).min(file.end - offset) as usize,
            block_bytes: stride,
        }))
    }
}

impl Drop for BlockReading<'_, '_> {
    /// Waits for the answers to all requests: the next reading needs their buffers. A buffer that
    /// was with a thread when that panicked is lost, and the next reading reports that, or the run does.
    fn drop(&mut self) {
        for pending in self.in_flight.drain(..) {
            if let Ok((buffer, _given_up)) = pending.wait() {
                self.loader.free.push(buffer);
            }
        }
    }
}
