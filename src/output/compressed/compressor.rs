//! The threads that compress a result, piece by piece, beside the run.
//!
//! ```text
//!  the thread that writes lines              threads compress-0, compress-1, ...
//!   filling ────────── full ──────────────▶  Encoder::encode
//!      ▲                                          │
//!      └── written to the file, in order ◀────────┘
//! ```
//!
//! *Owns:* the pieces, and their order. The thread that writes lines takes the oldest piece when it needs a buffer, and
//! writes its frame. If that is not done, there is one more piece and one more thread, as many as planned; then it
//! waits.
//!
//! *Invariants:* frames come in the order of their text. After an error every call fails. A result without any text is
//! one empty frame. A result that fits one piece needs no thread. No thread outlives this value.
//!
//! *Cost:* [`CompressorPlan::bytes`](super::CompressorPlan) of memory at most.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::CompressorPlan;
use super::encoder::Encoder;
use crate::sys::failpoint::fail_point;

/// The size of the stack of a thread that compresses, in bytes.
const STACK_BYTES: usize = 1 << 20;

/// Text, and the frame that it becomes.
#[derive(Debug, Default)]
struct Piece {
    text: Vec<u8>,
    frame: Vec<u8>,
}

/// A piece on its way to a thread, and where that sends it when it is compressed.
type Task = (Piece, Sender<io::Result<Piece>>);

/// Compresses what it is given, and passes on the frames.
#[derive(Debug)]
pub(crate) struct Compressor {
    plan: CompressorPlan,
    /// The piece for the next bytes.
    filling: Piece,
    /// The pieces that threads have, from the oldest.
    underway: VecDeque<Receiver<io::Result<Piece>>>,
    /// To the threads. Another one in its place ends them.
    tasks: Sender<Task>,
    /// The other end, for each thread that is started.
    queue: Receiver<Task>,
    handles: Vec<JoinHandle<()>>,
    /// True if there is a frame, or a piece that becomes one.
    has_frames: bool,
    has_failed: bool,
}

impl Compressor {
    /// Makes one without threads.
    pub(crate) fn new(plan: CompressorPlan) -> Self {
        let (tasks, queue) = unbounded();
        Self {
            plan,
            filling: Piece::default(),
            underway: VecDeque::new(),
            tasks,
            queue,
            handles: Vec::new(),
            has_frames: false,
            has_failed: false,
        }
    }

    /// Takes some of `bytes`, and returns how many. Frames that are complete go to `out`.
    ///
    /// # Errors
    /// That of `out` or of an encoder; that no thread can be started.
    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        out: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<usize> {
        if self.filling.text.len() == self.plan.piece_bytes {
            self.guarded(|it| it.hand_over(out))?;
        }
        let text = &mut self.filling.text;
        if text.capacity() == 0 {
            text.reserve_exact(self.plan.piece_bytes);
        }
        let taken = bytes.len().min(self.plan.piece_bytes - text.len());
        text.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// Passes on all that is left, and ends the threads. More text would begin another frame.
    ///
    /// # Errors
    /// As [`Compressor::take`].
    pub(crate) fn finish(
        &mut self,
        mut out: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.guarded(|it| {
            while let Some(oldest) = it.underway.pop_front() {
                out(&received(&oldest)?.frame)?;
            }
            it.end();
            if !it.filling.text.is_empty() || !it.has_frames {
                it.has_frames = true;
                let Piece { text, frame } = &mut it.filling;
                Encoder::new(&it.plan)?.encode(text, frame)?;
                text.clear();
                out(frame)?;
            }
            Ok(())
        })
    }

    /// Does `work`, unless an earlier one has failed: bytes are missing then.
    fn guarded(&mut self, work: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::other("an earlier write failed"));
        }
        let done = work(self);
        self.has_failed = done.is_err();
        done
    }

    /// Hands the full piece to the threads, and goes on with another one.
    fn hand_over(&mut self, out: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let spare = self.spare(out)?;
        let full = mem::replace(&mut self.filling, spare);
        let (done, compressed) = bounded(1);
        self.underway.push_back(compressed);
        self.has_frames = true;
        self.tasks.send((full, done)).map_err(|_| ended())
    }

    /// Returns an empty piece: the oldest, when its frame was passed on, or a new one if there may be one more. There
    /// is a thread then.
    fn spare(&mut self, mut out: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<Piece> {
        let is_done = |oldest: &Receiver<_>| !oldest.is_empty();
        let may_grow = self.underway.len() < self.plan.threads;
        if may_grow && !self.underway.front().is_some_and(is_done) {
            if self.handles.len() <= self.underway.len() {
                match self.start_one() {
                    Err(error) if self.handles.is_empty() => return Err(error),
                    // Those that are there will do.
                    _ => {}
                }
            }
            return Ok(Piece::default());
        }
        let oldest = self.underway.pop_front().ok_or_else(ended)?;
        let mut piece = received(&oldest)?;
        out(&piece.frame)?;
        piece.text.clear();
        Ok(piece)
    }

    /// Starts one more thread.
    fn start_one(&mut self) -> io::Result<()> {
        let (plan, number) = (self.plan, self.handles.len());
        let queue = self.queue.clone();
        let handle = std::thread::Builder::new()
            .name(format!("compress-{number}"))
            .stack_size(STACK_BYTES)
            .spawn(move || compress(&plan, &queue))?;
        self.handles.push(handle);
        Ok(())
    }

    /// Ends the threads, when each has compressed what it has.
    fn end(&mut self) {
        (self.tasks, self.queue) = unbounded();
        self.underway.clear();
        for handle in self.handles.drain(..) {
            // One that has panicked has not sent its piece, which was an error.
            let _joined = handle.join();
        }
    }
}

impl Drop for Compressor {
    /// Waits for the threads of a result that was given up: another attempt needs their memory.
    fn drop(&mut self) {
        self.end();
    }
}

/// Compresses pieces until no more can come.
fn compress(plan: &CompressorPlan, queue: &Receiver<Task>) {
    let mut encoder = Encoder::new(plan);
    for (mut piece, done) in queue {
        fail_point!("compress-thread");
        let encoded = match &mut encoder {
            Ok(encoder) => {
                if piece.frame.capacity() == 0 {
                    piece.frame.reserve_exact(plan.frame_bytes());
                }
                encoder.encode(&piece.text, &mut piece.frame)
            }
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        };
        // Nobody waits for the pieces of a result that was given up.
        let _sent = done.send(encoded.map(|()| piece));
    }
}

/// Waits for a piece to be compressed.
fn received(piece: &Receiver<io::Result<Piece>>) -> io::Result<Piece> {
    // A thread that has panicked has dropped the other end.
    piece.recv().map_err(|_| ended())?
}

/// Makes the error of a thread that has panicked.
fn ended() -> io::Error {
    io::Error::other("a thread that compresses has ended")
}
