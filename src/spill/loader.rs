//! Reading blocks of buckets ahead: one thread per join worker loads the next blocks while the worker is busy
//! with those before.
//!
//! *Owns:* the two buffers of a reader, and which blocks are requested when.
//!
//! 1. The worker asks for as much as its free buffers hold, in the order in which it will want it: the rest of this bucket,
//!    then the start of the one that it will read next.
//! 2. The thread `load` serves the requests ([`loads`](crate::spill::loads)).
//! 3. The worker waits for the oldest request, goes through its blocks and puts the buffer back. Meanwhile `load`
//!    fills the other one.
//!
//! ```text
//!  worker    bucket 7: blocks 0-3 │ blocks 4-7 │ blocks 8-9 │ bucket 8: blocks 0-3 │
//!  load      blocks 4-7 │ blocks 8-9 │ bucket 8: blocks 0-3 │ blocks 4-7 │
//! ```
//!
//! *Invariants:*
//! - The oldest request is waited for first, so blocks come in the order in which they were requested.
//! - A buffer is either free, or with the loading thread, or with the worker.
//! - When a reading ends early, or another bucket is read than was expected, the requests are awaited and their buffers
//!   become free again. The next reading begins with both. What such a request has met is no error.
//!
//! *Cost:* two buffers of memory. A buffer holds as many blocks as fit. Blocks are small if memory was short
//! while many were open, but they lie one behind the other, and a disk is fast only in large requests.

use std::collections::VecDeque;

use crate::error::{Error, Result};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::spill::block::Address;
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
    /// Buffers that are neither with the thread nor with the worker.
    free: Vec<Buffer>,
    /// Requests whose answer was not received yet, the oldest first: 0 to [`Loader::BUFFERS`]. Between two readings, those
    /// for the start of the bucket that is expected next.
    in_flight: VecDeque<Asked>,
}

/// A request for consecutive blocks of a bucket.
#[derive(Debug)]
struct Asked {
    address: Address,
    /// How many blocks were asked for.
    blocks: u64,
    answer: Pending,
}

impl Loader {
    /// Buffers of a loader: one being filled while the other is gone through.
    pub(crate) const BUFFERS: usize = 2;

    /// A loader of up to `bytes` at a time, and what its thread must run. `bytes` must be enough for a block
    /// of every bucket that will be read. The thread is the caller's to start.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] when `budget` has not [`Loader::BUFFERS`] times `bytes`.
    pub(crate) fn new(budget: &MemoryBudget, bytes: u64) -> Result<(Self, LoadThread)> {
        let (queue, thread) = queue();
        let buffer = || Buffer::new(budget, "blocks being read", bytes);
        let free = (0..Self::BUFFERS)
            .map(|_| buffer())
            .collect::<Result<_>>()?;
        let in_flight = VecDeque::with_capacity(Self::BUFFERS);
        Ok((
            Self {
                queue,
                free,
                in_flight,
            },
            thread,
        ))
    }

    /// Begins to read the file of `bucket` from its first block on. When all of it was requested, the first blocks of
    /// `next` are: it should be the bucket that is read after this one.
    ///
    /// Requests nothing before the first [`Reading::take`], but has what the reading before has requested.
    pub(crate) fn start<'l>(
        &'l mut self,
        bucket: &'l Bucket,
        next: Option<&'l Bucket>,
    ) -> Reading<'l> {
        if self
            .in_flight
            .iter()
            .any(|asked| asked.address != bucket.address)
        {
            self.give_up();
        }
        let ahead = self.in_flight.iter().map(|asked| asked.blocks).sum();
        Reading {
            loader: self,
            bucket,
            requested: ahead,
            next,
            next_requested: 0,
            left: bucket.file.blocks,
        }
    }

    /// Sends a request for blocks of `bucket` from number `first` on, if a buffer is free; returns how many blocks.
    fn ask(&mut self, bucket: &Bucket, first: u64) -> Result<u64> {
        let (file, stride) = (&bucket.file, bucket.block_bytes);
        let Some(path) = file.path.clone() else {
            return Err(bucket.damaged(first, "it is missing".into()));
        };
        let Some(buffer) = self.free.pop() else {
            return Ok(0);
        };
        let offset = first * stride;
        let blocks = (buffer.len() as u64 / stride).clamp(1, file.blocks - first);
        let part = Part {
            file: path,
            offset,
            // The file ends with the padding of its last block, not at a multiple of the stride.
            bytes: (blocks * stride).min(file.end - offset) as usize,
            block_bytes: stride,
        };
        let answer = self.queue.ask(part, buffer)?;
        self.in_flight.push_back(Asked {
            address: bucket.address,
            blocks,
            answer,
        });
        Ok(blocks)
    }

    /// Waits for the answers to all requests: the next reading needs their buffers. If the thread is gone its
    /// buffers are lost, and the next reading reports that.
    fn give_up(&mut self) {
        for asked in self.in_flight.drain(..) {
            if let Ok((buffer, _given_up)) = asked.answer.wait() {
                self.free.push(buffer);
            }
        }
    }
}

/// One reading of the written blocks of a bucket. It borrows the loader, so there is one at a time.
#[derive(Debug)]
pub(crate) struct Reading<'l> {
    loader: &'l mut Loader,
    bucket: &'l Bucket,
    /// How many blocks of it were requested: 0 to all.
    requested: u64,
    /// The bucket that is read after this one.
    next: Option<&'l Bucket>,
    /// How many blocks of that were requested.
    next_requested: u64,
    /// How many blocks of this bucket were not received yet.
    left: u64,
}

impl Reading<'_> {
    /// Requests blocks for all free buffers, then waits for the answer to the oldest request. `None` when all
    /// blocks have come. Return what it gives with [`Reading::put`] before the next call: there are only two
    /// buffers.
    ///
    /// # Errors
    /// What [`TempSpace::read`](crate::temp::space::TempSpace::read) reports; [`crate::Error::Interrupted`] when the
    /// thread has panicked.
    pub(crate) fn take(&mut self) -> Result<Option<Blocks>> {
        self.ask_ahead()?;
        if self.left == 0 {
            return Ok(None);
        }
        let Some(oldest) = self.loader.in_flight.pop_front() else {
            // Buffers were lost with a thread that has panicked.
            return Err(Error::Interrupted);
        };
        let (buffer, result) = oldest.answer.wait()?;
        match result {
            Ok(bytes) => {
                self.left -= oldest.blocks;
                Ok(Some(Blocks {
                    buffer,
                    bytes,
                    stride: self.bucket.block_bytes as usize,
                }))
            }
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

    /// Sends a request for each free buffer, as long as there are blocks that were not requested, here or in the bucket
    /// after.
    fn ask_ahead(&mut self) -> Result<()> {
        let own = (Some(self.bucket), &mut self.requested);
        for (bucket, requested) in [own, (self.next, &mut self.next_requested)] {
            let Some(bucket) = bucket else { break };
            while *requested < bucket.file.blocks {
                match self.loader.ask(bucket, *requested)? {
                    0 => return Ok(()),
                    blocks => *requested += blocks,
                }
            }
        }
        Ok(())
    }
}

impl Drop for Reading<'_> {
    /// Gives up what was requested, unless all of the bucket has come: then only the start of the next one is in flight.
    fn drop(&mut self) {
        if self.left > 0 {
            self.loader.give_up();
        }
    }
}
