//! Reading blocks of buckets ahead: one thread per join worker loads the next blocks while the worker is busy
//! with those before.
//!
//! *Owns:* the two buffers of a reader, and which blocks are requested when.
//!
//! 1. The worker asks for as much as its free buffers hold: twice at the start of a bucket.
//! 2. The thread `load` serves the requests ([`loads`](crate::spill::loads)).
//! 3. The worker waits for the oldest request, goes through its blocks and puts the buffer back. Meanwhile `load`
//!    fills the other one.
//!
//! *Invariants:*
//! - The oldest request is waited for first, so blocks come in the order in which they were requested.
//! - A buffer is either free, or with the loading thread, or with the worker.
//! - When a reading ends early, its requests are awaited and their buffers become free again. The next
//!   reading begins with both.
//!
//! *Cost:* two buffers of memory. A buffer holds as many blocks as fit. Blocks are small if memory was short
//! while many were open, but they lie one behind the other, and a disk is fast only in large requests.

use std::collections::VecDeque;

use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::spill::bucket::Bucket;
use crate::spill::loads::{LoadQueue, LoadThread, Part, Pending, queue};

/// Consecutive written blocks of one bucket. Return it with [`Reading::put`]: a dropped one takes its buffer
/// with it, and later readings are no longer ahead.
#[derive(Debug)]
pub(crate) struct Blocks {
    buffer: Buffer,
    /// Bytes of the buffer that were read.
    bytes: usize,
    /// The distance between the starts of blocks, in bytes.
    stride: usize,
}

impl Blocks {
    /// Each block, with the padding and the hole behind it. The last one ends with its padding.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.buffer[..self.bytes].chunks(self.stride)
    }
}

/// Loads the blocks of buckets, one buffer ahead: the worker's side. Dropping it ends the thread `load`.
#[derive(Debug)]
pub(crate) struct Loader {
    queue: LoadQueue,
    /// Buffers that are neither with the thread nor with the worker; all of them between two readings.
    free: Vec<Buffer>,
}

impl Loader {
    /// Buffers of a loader: one being filled while the other is gone through.
    pub(crate) const BUFFERS: usize = 2;

    /// A loader of up to `bytes` at a time, and what its thread must run. `bytes` must be enough for a block
    /// of every bucket that will be read. The thread is the caller's to start.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] when `budget` has not twice `bytes`.
    pub(crate) fn new(budget: &MemoryBudget, bytes: u64) -> Result<(Self, LoadThread)> {
        let (queue, thread) = queue();
        let buffer = || Buffer::new(budget, "blocks being read", bytes);
        let free = (0..Self::BUFFERS)
            .map(|_| buffer())
            .collect::<Result<_>>()?;
        Ok((Self { queue, free }, thread))
    }

    /// Begins to read the file of `bucket` from its first block on. Requests nothing before the first
    /// [`Reading::take`].
    pub(crate) fn start<'l>(&'l mut self, bucket: &'l Bucket) -> Reading<'l> {
        Reading {
            loader: self,
            bucket,
            next: 0,
            in_flight: VecDeque::with_capacity(Self::BUFFERS),
        }
    }
}

/// One reading of the written blocks of a bucket. It borrows the loader, so there is one at a time.
#[derive(Debug)]
pub(crate) struct Reading<'l> {
    loader: &'l mut Loader,
    bucket: &'l Bucket,
    /// The number of the first block that was not requested yet.
    next: u64,
    /// Requests whose answer was not received yet: 0 to [`Loader::BUFFERS`].
    in_flight: VecDeque<Pending>,
}

impl Reading<'_> {
    /// Requests blocks for all free buffers, then waits for the answer to the oldest request. `None` when all
    /// blocks have come. Return what it gives with [`Reading::put`] before the next call, or nothing is
    /// requested ahead.
    ///
    /// # Errors
    /// What [`TempSpace::read`](crate::temp::space::TempSpace::read) reports; [`crate::Error::Interrupted`] when the
    /// thread has panicked.
    pub(crate) fn take(&mut self) -> Result<Option<Blocks>> {
        self.ask_ahead()?;
        let Some(oldest) = self.in_flight.pop_front() else {
            return Ok(None);
        };
        let (buffer, result) = oldest.wait()?;
        match result {
            Ok(bytes) => Ok(Some(Blocks {
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
    pub(crate) fn put(&mut self, blocks: Blocks) {
        self.loader.free.push(blocks.buffer);
    }

    /// Sends a request for each free buffer, as long as there are blocks that were not requested.
    fn ask_ahead(&mut self) -> Result<()> {
        let (file, stride) = (&self.bucket.file, self.bucket.block_bytes);
        while self.next < file.blocks {
            let Some(path) = file.path.clone() else {
                return Err(self.bucket.damaged(self.next, "it is missing".into()));
            };
            let Some(buffer) = self.loader.free.pop() else {
                return Ok(());
            };
            let offset = self.next * stride;
            let blocks = (buffer.len() as u64 / stride).max(1);
            let part = Part {
                file: path,
                offset,
                // The file ends with the padding of its last block, not at a multiple of the stride.
                bytes: (blocks * stride).min(file.end - offset) as usize,
                block_bytes: stride,
            };
            self.in_flight
                .push_back(self.loader.queue.ask(part, buffer)?);
            self.next += blocks;
        }
        Ok(())
    }
}

impl Drop for Reading<'_> {
    /// Waits for the answers to all requests: the next reading needs their buffers. If the thread is gone its
    /// buffers are lost, and the next reading reports that.
    fn drop(&mut self) {
        for pending in self.in_flight.drain(..) {
            if let Ok((buffer, _given_up)) = pending.wait() {
                self.loader.free.push(buffer);
            }
        }
    }
}
