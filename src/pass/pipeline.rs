//! Reading ahead of the work: reader threads fill chunks, workers go through them.
//!
//! ```text
//!  reader ──chunk──▶ bounded channel ──▶ worker: lines, hashes, batch ──▶ work
//!     ▲                                     │
//!     └────────────── empty buffer ◀────────┘
//! ```
//!
//! *Owns:* the threads' hand-over. Readers mostly wait for the disk; the processors belong to the workers.
//!
//! The life of a buffer:
//!
//! 1. A reader makes it, while fewer exist than the layout has, or takes an empty one from the channel.
//! 2. The reader fills it with whole lines and sends it as a chunk. Where the channel is full, all workers
//!    are busy and the reader waits: reading never runs further ahead than the buffers go.
//! 3. A worker takes the chunk, goes through its lines, and sends the empty buffer back.
//! 4. A reader that finds the end of the input closes the channel of chunks for those that might still start. When the last
//!    one has ended, the workers empty the channel, and finish.
//!
//! How many chunks are read at the same time follows from what the disk answers: the first reader starts the second
//! when the workers have taken all chunks before it has the next one, the second starts the third, and so on, up to the
//! number for which the layout has buffers. Where the workers are slower than one reader, there is one.
//!
//! A line that does not fit a buffer comes as a chunk with a buffer of its own, which is dropped after use.
//!
//! *Invariants:* after the first failure readers stop and workers only return buffers, so no thread
//! waits forever; a panic of one thread counts as a failure. There is room in the channel of empty buffers
//! for all that exist, so returning one never waits. *Cost:* the chunk buffers of the
//! plan's layout; a wake-up or two per chunk.

use crate::batch::Scratch;
use crate::error::{Error, Result};
use crate::input::chunk::{Chunk, Cut, Pooled};
use crate::input::reading::Reading;
use crate::memory::buffer::Buffer;
use crate::pass::tally::{Tally, Worker};
use crate::run::Run;
use crate::sys::failpoint::fail_point;
use crate::sys::first_error::{FirstFailure, LOOK_UP};
use crate::sys::sync::atomic::{AtomicUsize, Ordering};
use crate::sys::sync::channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded};
use crate::sys::sync::thread;
use crate::sys::threads::{Handout, Team};

/// Goes through all chunks of `reading` on the run's workers, while reader threads read ahead. Returns when
/// every thread has ended. Failures are noted in the tally.
pub(super) fn pipeline<W: Worker>(
    tally: &Tally<'_>,
    reading: &Reading<'_>,
    new_worker: impl Fn() -> W + Sync,
) {
    let (run, failure) = (tally.run, tally.failure);
    let layout = &run.layout;
    let (full_sender, full) = bounded(layout.chunk_buffers);
    let (empty_sender, empty) = bounded(layout.chunk_buffers);
    // Buffers are made when they are first wanted: a small input needs two or three of them.
    let unmade = AtomicUsize::new(layout.chunk_buffers);
    let source = Handout::new(full_sender);
    let read = |start_next: &dyn Fn()| {
        // Where the last reader has closed it meanwhile, there is nothing left to read.
        let Some((full, _end)) = source.share() else {
            return Ok(());
        };
        let reader = ReaderView {
            full,
            empty: &empty,
            empty_sender: &empty_sender,
            run,
            reading,
            unmade: &unmade,
            failure,
        };
        reader.read_all(start_next)
    };
    let readers = Team {
        name: "read",
        most: reading.readers(layout.readers),
        must_all_start: false,
        failure,
        work: &read,
    };
    thread::scope(|scope| {
        readers.start(scope);
        if failure.has_failed() {
            // There may be no reader that closes the channel.
            source.close();
        }
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
    let mut scratch = Scratch::default();
    for chunk in full {
        found_work();
        if !failure.has_failed() {
            failure.record(tally.work(&chunk, &mut scratch, &mut worker));
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
struct ReaderView<'a, 'r> {
    /// To the workers. Each reader owns a sender; when the last one is dropped, and the source is closed, so is the
    /// channel.
    full: Sender<Chunk>,
    /// Buffers that workers are done with.
    empty: &'a Receiver<Buffer>,
    /// For a buffer that was read into without finding the start of a line.
    empty_sender: &'a Sender<Buffer>,
    run: &'a Run<'a>,
    reading: &'a Reading<'r>,
    /// Buffers that may still be made, when no made one is empty. From the layout's number down to 0.
    unmade: &'a AtomicUsize,
    failure: &'a FirstFailure,
}

impl ReaderView<'_, '_> {
    /// The work of a reader thread: chunks until the end of the input. Where the workers have taken all chunks by the
    /// time that it has the next one, they are faster than the disk, and one more reader starts.
    fn read_all(&self, start_next: &dyn Fn()) -> Result<()> {
        fail_point!("read-thread");
        while let Some((_, cut)) = self.reading.next(self.take_buffer()?)? {
            if self.full.is_empty() {
                start_next();
            }
            self.pass_on(cut)?;
        }
        Ok(())
    }

    /// Sends what was read to the workers: the lines in the buffer first, then the long line behind them.
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

    /// A buffer to read into: an empty one, else a new one, else the next that a worker gives back.
    ///
    /// # Errors
    /// When the run has failed, and the workers may be gone.
    fn take_buffer(&self) -> Result<Buffer> {
        self.failure.check()?;
        if let Ok(buffer) = self.empty.try_recv() {
            return Ok(buffer);
        }
        if take_one(self.unmade) {
            let bytes = self.reading.buffer_bytes();
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

    /// Hands a chunk to the workers, waiting while they have as many as there is room for.
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
