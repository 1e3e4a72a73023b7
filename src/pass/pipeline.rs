//! Reading ahead of the work: reader threads fill chunks, workers go through them.
//!
//! ```text
//!  reader ──chunk──▶ bounded channel ──▶ worker: lines, hashes, batch ──▶ work
//!     ▲                                     │
//!     └────────────── empty buffer ◀────────┘
//! ```
//!
//! *Owns:* the threads' hand-over. Readers mostly wait for the disk.
//!
//! *Invariants:* after the first failure readers stop and workers only return buffers, so no thread
//! waits for ever; a panic of one thread counts as a failure. *Cost:* the chunk buffers of the
//! plan's layout; a wake-up or two per chunk.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::input::chunk::{Chunk, ChunkRules, Cut, FileChunks, Pooled};
use crate::input::stream::StreamChunks;
use crate::memory::buffer::Buffer;
use crate::pass::scan::{Tally, Worker};
use crate::run::Run;
use crate::sys::failpoint::fail_point;
use crate::sys::first_error::{FirstFailure, PanicAlarm};
use crate::sys::sync::atomic::{AtomicUsize, Ordering};
use crate::sys::sync::channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded};
use crate::sys::sync::thread;
use crate::sys::threads;

/// How often a waiting thread looks whether another has failed.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Where the chunks of an input come from.
pub(super) enum ChunkSource<'a> {
    /// A file, read by position: by any number of readers.
    File(&'a FileChunks<'a>),
    /// A stream, which has an order, and so one reader.
    Stream(StreamChunks<'a>),
}

impl ChunkSource<'_> {
    /// This source for each of `readers` threads, or for one.
    fn divide(self, readers: usize) -> Vec<Self> {
        match self {
            Self::File(chunks) => (0..readers).map(|_| Self::File(chunks)).collect(),
            stream @ Self::Stream(_) => vec![stream],
        }
    }
}

/// Goes through all chunks of `source`. Failures are noted in the tally.
pub(super) fn pipeline<W: Worker>(
    tally: &Tally<'_>,
    source: ChunkSource<'_>,
    new_worker: impl Fn() -> W + Sync,
) {
    let (run, failure) = (tally.run, tally.failure);
    let layout = &run.layout;
    let (full_sender, full) = bounded(layout.chunk_buffers);
    let (empty_sender, empty) = bounded(layout.chunk_buffers);
    let unmade = AtomicUsize::new(layout.chunk_buffers);
    thread::scope(|scope| {
        for (number, source) in source.divide(layout.readers).into_iter().enumerate() {
            let (full, empty, empty_sender) = (full_sender.clone(), &empty, &empty_sender);
            let reader = ReaderView {
                full,
                empty,
                empty_sender,
                run,
                unmade: &unmade,
                failure,
            };
            let body = move || {
                let _alarm = PanicAlarm(reader.failure);
                reader.failure.record(reader.read_all(source));
            };
            failure.record(threads::spawn(scope, format!("read-{number}"), body));
        }
        // The channel of full chunks is closed when the last reader is done.
        drop(full_sender);
        run.workers.run(failure, |found_work| {
            work_all(tally, &full, &empty_sender, found_work, new_worker())
        });
    });
}

/// A worker thread: works until there are no more chunks. After a failure it only gives buffers
/// back.
fn work_all(
    tally: &Tally<'_>,
    full: &Receiver<Chunk>,
    empty: &Sender<Buffer>,
    found_work: &dyn Fn(),
    mut worker: impl Worker,
) -> Result<()> {
    let failure = tally.failure;
    let mut hashes = Vec::new();
    for chunk in full {
        found_work();
        if !failure.has_failed() {
            failure.record(tally.work(&chunk, &mut hashes, &mut worker));
        }
        if chunk.is_pooled {
            let _has_room = empty.send(chunk.into_buffer());
        }
    }
    failure.check()?;
    worker.finish()
}

/// Takes one of what is counted; false where there are none left.
fn take_one(count: &AtomicUsize) -> bool {
    let taken = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
        left.checked_sub(1)
    });
    taken.is_ok()
}

/// What a reader thread sees.
struct ReaderView<'a> {
    full: Sender<Chunk>,
    empty: &'a Receiver<Buffer>,
    empty_sender: &'a Sender<Buffer>,
    run: &'a Run<'a>,
    /// Buffers that may still be made: they are when none of those that were is empty.
    unmade: &'a AtomicUsize,
    failure: &'a FirstFailure,
}

impl ReaderView<'_> {
    fn read_all(&self, source: ChunkSource<'_>) -> Result<()> {
        fail_point!("read-thread");
        match source {
            ChunkSource::File(chunks) => {
                while let Some((_, start)) = chunks.claim() {
                    self.pass_on(chunks.read_range(start, self.take_buffer()?)?)?;
                }
                chunks.finish()
            }
            ChunkSource::Stream(mut chunks) => {
                while let Some(cut) = chunks.next(self.take_buffer()?)? {
                    self.pass_on(cut)?;
                }
                Ok(())
            }
        }
    }

    fn pass_on(&self, cut: Cut) -> Result<()> {
        match cut.pooled {
            Pooled::Lines(chunk) => self.send(chunk)?,
            Pooled::Spare(buffer) => {
                // There are never more buffers than the channel has room for.
                let _has_room = self.empty_sender.send(buffer);
            }
        }
        cut.long_line.map_or(Ok(()), |chunk| self.send(chunk))
    }

    fn take_buffer(&self) -> Result<Buffer> {
        self.failure.check()?;
        if let Ok(buffer) = self.empty.try_recv() {
            return Ok(buffer);
        }
        if take_one(self.unmade) {
            let bytes = ChunkRules::buffer_bytes(self.run.layout.chunk_bytes);
            return Buffer::new(&self.run.budget, "chunk buffers", bytes);
        }
        loop {
            self.failure.check()?;
            match self.empty.recv_timeout(LOOK_UP) {
                Ok(buffer) => return Ok(buffer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Interrupted),
            }
        }
    }

    fn send(&self, mut chunk: Chunk) -> Result<()> {
        loop {
            self.failure.check()?;
            match self.full.send_timeout(chunk, LOOK_UP) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Timeout(back)) => chunk = back,
                Err(SendTimeoutError::Disconnected(_)) => return Err(Error::Interrupted),
            }
        }
    }
}
