//! Reading blocks ahead: one thread per join worker loads the next blocks while the worker is busy
//! with those before.
//!
//! *Owns:* the two buffers of a reader and the hand-over between the two threads.
//!
//! *Invariants:* blocks come back in the order they were asked for; a buffer is either free, with
//! the loading thread, or with the reader. When a reading is given up, what was asked for is
//! awaited and thrown away, so that the next reading begins with both buffers. *Cost:* two buffers
//! of memory. They hold as many blocks as fit: blocks are small where memory was short while many
//! were open, but lie one behind the other, and a disk is fast only in large requests.

use crate::error::{Error, Result};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::spill::bucket::Bucket;
use crate::sys::failpoint::fail_point;
use crate::sys::sync::channel::{Receiver, Sender, unbounded};
use crate::temp::space::{SpillPath, TempSpace};

/// Blocks that are to be loaded.
#[derive(Debug)]
pub(crate) struct Load {
    file: SpillPath,
    offset: u64,
    bytes: usize,
    /// The distance between blocks.
    block_bytes: u64,
    buffer: Buffer,
}

/// Loaded bytes, or why they could not be.
type Loaded = (Buffer, Result<usize>);

/// Blocks of one bucket, one behind the other.
#[derive(Debug)]
pub(crate) struct Blocks {
    buffer: Buffer,
    bytes: usize,
    stride: usize,
}

impl Blocks {
    /// Each block, with whatever is behind it up to the next.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.buffer[..self.bytes].chunks(self.stride)
    }
}

/// The loading thread's end of a [`Loader`].
#[derive(Debug)]
pub(crate) struct LoaderThread {
    requests: Receiver<Load>,
    loaded: Sender<Loaded>,
}

impl LoaderThread {
    /// Loads what is asked for until the loader is gone.
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

/// Loads the blocks of buckets, one buffer ahead.
#[derive(Debug)]
pub(crate) struct Loader {
    requests: Sender<Load>,
    loaded: Receiver<Loaded>,
    free: Vec<Buffer>,
}

impl Loader {
    /// Buffers of a loader: one being filled while the other is gone through.
    pub(crate) const BUFFERS: usize = 2;

    /// A loader of up to `bytes` at a time, which must be enough for a block, and the other end for
    /// a thread of its own.
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

    /// Begins to read the file of `bucket` from its first block on.
    pub(crate) fn start<'l>(&'l mut self, bucket: &'l Bucket) -> Reading<'l> {
        Reading {
            loader: self,
            bucket,
            next: 0,
            in_flight: 0,
        }
    }
}

/// One reading of a bucket.
#[derive(Debug)]
pub(crate) struct Reading<'l> {
    loader: &'l mut Loader,
    bucket: &'l Bucket,
    /// The first block that was not asked for yet.
    next: u64,
    in_flight: usize,
}

impl Reading<'_> {
    /// Waits for the next blocks and asks for those after them; `None` when all have come. Give
    /// them back with [`Reading::put`].
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
                self.loader.free.push(buffer);
                Err(error)
            }
        }
    }

    /// Takes the buffer of blocks back.
    pub(crate) fn put(&mut self, blocks: Blocks) {
        self.loader.free.push(blocks.buffer);
    }

    /// Asks for blocks while there are buffers.
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
    fn drop(&mut self) {
        for _ in 0..self.in_flight {
            if let Ok((buffer, _given_up)) = self.loader.loaded.recv() {
                self.loader.free.push(buffer);
            }
        }
    }
}
