//! Requests for bytes of temporary files, which threads serve in the background.
//!
//! *Owns:* the queue of requests, the way back of each answer, and the body of the threads `load`.
//!
//! ```text
//!  reader                                              thread `load`, one or several
//!    LoadQueue::ask(part, buffer) ──── Load ────▶        TempSpace::read
//!         │                                                   │
//!         └─▶ Pending ─ wait ◀──── (buffer, result) ◀─────────┘
//! ```
//!
//! *Invariants:*
//! - Each request has an answer of its own, so readers may share threads, and answers cannot be mistaken for others.
//! - A wait ends: where a thread is gone, the answers that it owes are refused.
//!
//! *Cost:* one allocation for each request.

use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::sys::failpoint::fail_point;
use crate::sys::sync::channel::{Receiver, Sender, bounded, unbounded};
use crate::temp::space::{SpillPath, TempSpace};

/// A part of a temporary file.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) file: SpillPath,
    /// Where it begins, in bytes; a multiple of `block_bytes`.
    pub(crate) offset: u64,
    /// How many bytes to read: whole pages, at most those of the buffer.
    pub(crate) bytes: usize,
    /// The distance between blocks, in bytes.
    pub(crate) block_bytes: u64,
}

impl Part {
    /// How many blocks it has, the last one included, which may be short.
    pub(crate) fn blocks(&self) -> u64 {
        (self.bytes as u64).div_ceil(self.block_bytes)
    }
}

/// A request: the part, and the buffer into which it is loaded, from its start.
#[derive(Debug)]
struct Load {
    part: Part,
    buffer: Buffer,
    answer: Sender<Loaded>,
}

/// The answer to a request: its buffer, and how many bytes were read into it or why they could not be. The
/// buffer comes back in either case.
pub(crate) type Loaded = (Buffer, Result<usize>);

/// Where requests go. When the last clone of it is dropped, the threads end.
#[derive(Debug, Clone)]
pub(crate) struct LoadQueue(Sender<Load>);

/// What a thread `load` owns: its end of the queue.
#[derive(Debug, Clone)]
pub(crate) struct LoadThread(Receiver<Load>);

/// A request that was made. Its buffer is lost if this is dropped.
#[derive(Debug)]
pub(crate) struct Pending(Receiver<Loaded>);

/// A queue, and what each thread that serves it must run. The threads are the caller's to start.
pub(crate) fn queue() -> (LoadQueue, LoadThread) {
    let (requests, asked) = unbounded();
    (LoadQueue(requests), LoadThread(asked))
}

impl LoadQueue {
    /// Asks for `part`. Returns at once.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when all threads have panicked.
    pub(crate) fn ask(&self, part: Part, buffer: Buffer) -> Result<Pending> {
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

impl LoadThread {
    /// The body of a thread `load`: serves requests until the queue is dropped. An error of one request does not end
    /// it; the reader decides whether to go on.
    pub(crate) fn run(self, space: &TempSpace) {
        for load in self.0 {
            fail_point!("load-thread");
            let Load {
                part,
                mut buffer,
                answer,
            } = load;
            let bytes = &mut buffer[..part.bytes];
            let result = space.read(&part.file, part.offset, bytes, part.block_bytes);
            // A reader that waits no longer wants neither.
            let _is_wanted = answer.send((buffer, result.map(|()| part.bytes)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::Interrupt;
    use crate::temp::quota::Quota;

    #[test]
    fn a_part_has_its_last_block_even_if_that_is_short() {
        let place = std::env::temp_dir();
        let space = TempSpace::new(&[place], Quota::new(0), &Interrupt::new());
        let file = space.new_path("test");
        let blocks = |bytes: usize| {
            let file = file.as_ref().ok()?.clone();
            let part = Part {
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
