//! Requests for bytes of temporary files, which threads serve in the background.
//!
//! *Owns:* the queue of requests, the way back of each answer, and the threads `load-N`.
//!
//! ```text
//!  reader, any number of them                          load-0 to load-15, shared by all readers
//!    LoadQueue::ask(part, buffer) ──── Load ────▶        TempSpace::read
//!         │                                                   │
//!         └─▶ Pending ─ wait ◀──── (buffer, result) ◀─────────┘
//! ```
//!
//! A thread that finds a request waiting starts the next thread. So the slower the disk is, the more requests it has
//! at a time.
//!
//! *Invariants:*
//! - Each request has an answer of its own, so readers share the threads, and answers cannot be mistaken for others.
//! - A wait ends: where a thread has ended, the answers that it owes are refused.
//!
//! *Cost:* one allocation for each request; the threads' stacks.

use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::sys::belt;
use crate::sys::failpoint::fail_point;
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::channel::{Receiver, Sender, bounded};
use crate::sys::threads::{self, Team};
use crate::temp::space::{SpillPath, TempSpace};

/// The most threads that it is worth having serve a queue: the number that write blocks, unless there are more readers.
/// Sixteen requests of 1 MiB at a time are 1.6 GB/s from a disk that takes 10 ms for each.
pub(crate) const MOST_LOADERS: usize = 16;

/// A part of a temporary file.
#[derive(Debug)]
pub(crate) struct FileRange {
    pub(crate) file: SpillPath,
    /// The offset at which it begins, in bytes; a multiple of `block_bytes`.
    pub(crate) offset: u64,
    /// The bytes to read: whole pages, at most those of the buffer.
    pub(crate) bytes: usize,
    /// The distance between blocks, in bytes.
    pub(crate) block_bytes: u64,
}

impl FileRange {
    /// Counts its blocks, the last one included, which may be short.
    pub(crate) fn blocks(&self) -> u64 {
        (self.bytes as u64).div_ceil(self.block_bytes)
    }
}

/// A request: the part, and the buffer into which it is loaded, from its start.
#[derive(Debug)]
struct Load {
    part: FileRange,
    buffer: Buffer,
    answer: Sender<Loaded>,
}

/// The answer to a request: its buffer, and how many bytes were read into it or why they could not be. The
/// buffer comes back in either case.
pub(crate) type Loaded = (Buffer, Result<usize>);

/// The end of the queue at which readers ask. When it is dropped, the threads end.
#[derive(Debug)]
pub(crate) struct LoadQueue(Sender<Load>);

/// A request that was made. Its buffer is lost if this is dropped.
#[derive(Debug)]
pub(crate) struct Pending(Receiver<Loaded>);

/// Runs `body` with a queue of requests for files of `space`, which at most `most` threads serve, and waits for
/// these.
///
/// If the first thread cannot be started, or one panics, `failure` has it. `body` runs anyway; a request that no
/// thread serves fails.
pub(crate) fn with_queue<R>(
    space: &TempSpace,
    most: usize,
    failure: &FirstFailure,
    body: impl FnOnce(&LoadQueue) -> R,
) -> R {
    let team = Team {
        name: "load",
        most: threads::with_open_files(most),
        must_all_start: false,
        failure,
    };
    let serve = |load, look: &dyn Fn()| serve(load, space, look);
    belt::with_queue(team, serve, |requests| body(&LoadQueue(requests)))
}

/// Serves a request, on `load-N`. An error does not end the thread; the reader decides whether to go on.
///
/// Calls `look`, which starts the next thread if requests wait: before the read, so that many requests that come
/// together do not wait for one another; and after it, because a reader may make its next request only when it has an
/// answer. Otherwise two readers could keep one thread busy, and never have a second request in the queue when it takes
/// one.
fn serve(load: Load, space: &TempSpace, look: &dyn Fn()) {
    fail_point!("load-thread");
    look();
    let Load {
        part,
        mut buffer,
        answer,
    } = load;
    let bytes = &mut buffer[..part.bytes];
    let result = space.read(&part.file, part.offset, bytes, part.block_bytes);
    look();
    // A reader that waits no longer wants neither.
    let _is_wanted = answer.send((buffer, result.map(|()| part.bytes)));
}

impl LoadQueue {
    /// Asks for `part`. Returns at once.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when no thread serves the queue: the first could not be started, or all have panicked.
    pub(crate) fn ask(&self, part: FileRange, buffer: Buffer) -> Result<Pending> {
        let (answer, loaded) = bounded(1);
        let load = Load {
            part,
            buffer,
            answer,
        };
        self.0.send(load).map_err(|_| Error::Interrupted)?;
        Ok(Pending(loaded))
    }
}

impl Pending {
    /// Waits for the answer.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when the thread has panicked.
    pub(crate) fn wait(self) -> Result<Loaded> {
        self.0.recv().map_err(|_| Error::Interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::Interrupt;
    use crate::temp::quota::Quota;

    #[test]
    fn a_part_has_its_last_block_even_if_that_is_short() {
        let directory = std::env::temp_dir();
        let space = TempSpace::new(&[directory], Quota::new(0), &Interrupt::new());
        let file = space.new_path("test");
        let blocks = |bytes: usize| {
            let file = file.as_ref().ok()?.clone();
            let part = FileRange {
                file,
                offset: 0,
                bytes,
                block_bytes: 16 << 10,
            };
            Some(part.blocks())
        };
        let found = [4 << 10, 16 << 10, 20 << 10, 64 << 10].map(blocks);
        assert_eq!(found, [Some(1), Some(1), Some(2), Some(4)]);
    }
}
