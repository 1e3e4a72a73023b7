//! Reading blocks ahead: one thread per join worker loads the next blocks while the worker is busy
//! with those before.
//!
//! *Owns:* the two buffers of a reader and the hand-over between the two threads.
//!
//! ```text
//!  worker: Reading                                   thread `load`: LoaderThread
//!    free buffer ──── Load { offset, bytes } ────▶     TempSpace::read
//!         ▲                                                 │
//!         └── put ◀── Blocks ◀────── (buffer, result) ◀─────┘
//! ```
//!
//! 1. The worker asks for as much as its free buffers hold: twice at the start of a bucket.
//! 2. `load` serves one request after the other and sends each buffer back, with its bytes or an error.
//! 3. The worker takes the first buffer, goes through its blocks and puts it back. Meanwhile `load` fills the
//!    other one.
//!
//! *Invariants:*
//! - One thread serves the requests, so blocks come back in the order in which they were requested.
//! - A buffer is either free, or with the loading thread, or with the worker. So neither channel ever holds
//!   more than [`Loader::BUFFERS`] messages, although both are unbounded.
//! - When a reading ends early, its requests are awaited and their buffers become free again. The next
//!   reading begins with both.
//!
//! *Cost:* two buffers of memory. A buffer holds as many blocks as fit. Blocks are small if memory was short
//! while many were open, but they lie one behind the other, and a disk is fast only in large requests.

use crate::error::{Error, Result};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::spill::bucket::Bucket;
use crate::sys::failpoint::fail_point;
use crate::sys::sync::channel::{Receiver, Sender, unbounded};
use crate::temp::space::{SpillPath, TempSpace};

/// A request: blocks that are to be loaded.
#[derive(Debug)]
pub(crate) struct Load {
    file: SpillPath,
    /// Where the first of them begins, in bytes; a multiple of `block_bytes`.
    offset: u64,
    /// How many bytes to read: whole pages, at most those of the buffer.
    bytes: usize,
    /// The distance between blocks, in bytes. Only for the message about a file that is too short.
    block_bytes: u64,
    /// Where the bytes go, from its start.
    buffer: Buffer,
}

/// The answer to a request: its buffer, and how many bytes were read into it or why they could not be. The
/// buffer comes back in either case.
type Loaded = (Buffer, Result<usize>);

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

/// What the thread `load` owns: its ends of the two channels.
#[derive(Debug)]
pub(crate) struct LoaderThread {
    requests: Receiver<Load>,
    loaded: Sender<Loaded>,
}

impl LoaderThread {
    /// The body of the thread `load`: serves requests until the [`Loader`] is dropped. An error of one request
    /// does not end it; the worker decides whether to go on.
    pub(crate) fn run(self, space: &TempSpace) {
        for mut load in self.requests {
            fail_point!("load-thread");
            let buffer = &mut load.buffer[..load.bytes];
            let result = space.read(&load.file, load.offset, buffer, load.block_bytes);
            if self
                .loaded
                .send((load.buffer, result.map(|()| load.bytes)))
                .is_err()
            {
                return;
            }
        }
    }
}

/// Loads the blocks of buckets, one buffer ahead: the worker's side. Dropping it ends the thread `load`.
#[derive(Debug)]
pub(crate) struct Loader {
    requests: Sender<Load>,
    loaded: Receiver<Loaded>,
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
    /// [`Error::Memory`] when `budget` has not twice `bytes`.
    pub(crate) fn new(budget: &MemoryBudget, bytes: u64) -> Result<(Self, LoaderThread)> {
        let (requests, asked) = unbounded();
        let (sender, loaded) = unbounded();
        let buffer = || Buffer::new(budget, "blocks being read", bytes);
        let loader = Self {
            requests,
            loaded,
            free: (0..Self::BUFFERS)
                .map(|_| buffer())
                .collect::<Result<_>>()?,
        };
        Ok((
            loader,
            LoaderThread {
                requests: asked,
                loaded: sender,
            },
        ))
    }

    /// Begins to read the file of `bucket` from its first block on. Requests nothing before the first
    /// [`Reading::take`].
    pub(crate) fn start<'l>(&'l mut self, bucket: &'l Bucket) -> Reading<'l> {
        Reading {
            loader: self,
            bucket,
            next: 0,
            in_flight: 0,
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
    in_flight: usize,
}

impl Reading<'_> {
    /// Requests blocks for all free buffers, then waits for the answer to the oldest request. `None` when all
    /// blocks have come. Return what it gives with [`Reading::put`] before the next call, or nothing is
    /// requested ahead.
    ///
    /// # Errors
    /// What [`TempSpace::read`] reports; [`Error::Interrupted`] when the thread has panicked.
    pub(crate) fn take(&mut self) -> Result<Option<Blocks>> {
        self.ask_ahead()?;
        if self.in_flight == 0 {
            return Ok(None);
        }
        let (buffer, result) = self.loader.loaded.recv().map_err(|_| Error::Interrupted)?;
        self.in_flight -= 1;
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
            // The file ends with the padding of its last block, not at a multiple of the stride.
            let bytes = (blocks * stride).min(file.end - offset) as usize;
            let load = Load {
                file: path,
                offset,
                bytes,
                block_bytes: stride,
                buffer,
            };
            self.loader
                .requests
                .send(load)
                .map_err(|_| Error::Interrupted)?;
            self.in_flight += 1;
            self.next += blocks;
        }
        Ok(())
    }
}

impl Drop for Reading<'_> {
    /// Waits for the answers to all requests, so that none of them passes for one of the next reading. If the
    /// thread is gone its buffers are lost, and the next reading reports that.
    fn drop(&mut self) {
        for _ in 0..self.in_flight {
            if let Ok((buffer, _given_up)) = self.loader.loaded.recv() {
                self.loader.free.push(buffer);
            }
        }
    }
}
