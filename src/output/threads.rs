//! The threads that write a result, and the buffers that go to them and come back.
//!
//! *Owns:* the number of threads. A buffer that does not come back in time means that the file is slower than the
//! lines: then there is one more, as readers and spill writers start one another
//! ([`Team`](crate::sys::threads::Team)). These cannot be a team: they live as long as the writer, across the passes
//! of a run, and a team lives in one pass.
//!
//! *Invariants:* there are at most as many buffers on their way as threads. No thread of a regular file outlives
//! this value. *Cost:* a buffer and the touched part of a stack for each thread.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::output::target::{Target, WriteBuffer};
use crate::sys::failpoint::fail_point;
use crate::sys::first_error::LOOK_UP;
use crate::sys::threads::STACK_BYTES;

/// The most threads that write into one file, each a buffer at a time: with the one that is filled, buffers take 1 MiB.
pub(super) const MOST_THREADS: usize = 3;

/// Makes the error of a writer whose first error was reported.
pub(super) fn failed_before() -> io::Error {
    io::Error::other("an earlier write failed")
}

/// The threads `result-N`, seen from the one that writes lines. Each buffer but the one that is filled is on its way
/// to a thread, with one, or on its way back: there is one for each thread.
#[derive(Debug)]
pub(super) struct WritingThreads {
    /// Full buffers to the threads, with their offsets. Dropping it ends the threads; it is there until then.
    full: Option<Sender<(WriteBuffer, Option<u64>)>>,
    /// The other end, for each thread that is started.
    to_write: Receiver<(WriteBuffer, Option<u64>)>,
    /// Buffers that were written and are empty now, or the error of a write.
    written: Receiver<io::Result<WriteBuffer>>,
    /// The other end, for each thread that is started.
    done: Sender<io::Result<WriteBuffer>>,
    handles: Vec<JoinHandle<()>>,
    /// The most threads that there may be; 1 for what is no regular file.
    most: usize,
}

impl WritingThreads {
    /// Makes a value without threads, which starts no more than `most`.
    pub(super) fn new(most: usize) -> Self {
        // Unbounded: there are no more buffers than threads.
        let (full, to_write) = unbounded();
        let (done, written) = unbounded();
        Self {
            full: Some(full),
            to_write,
            written,
            done,
            handles: Vec::new(),
            most,
        }
    }

    /// Returns an empty buffer: one that was written, a new one for a further thread if there may be one more, or the
    /// next that will have been written.
    ///
    /// # Errors
    /// The error of an earlier write; that not even one thread can be started.
    pub(super) fn spare(&mut self, target: &Arc<Target>) -> io::Result<WriteBuffer> {
        if let Ok(written) = self.written.try_recv() {
            return written;
        }
        // One that has panicked has taken a piece with it.
        if self.handles.len() < self.most && !self.has_panicked() {
            match WriteBuffer::new().and_then(|piece| self.start_one(target).map(|()| piece)) {
                Ok(piece) => return Ok(piece),
                Err(error) if self.handles.is_empty() => return Err(error),
                // Those that are there will do.
                Err(_) => {}
            }
        }
        // This end has a sender itself, so a thread that has panicked would not end the waiting.
        while !self.has_panicked() {
            if let Ok(written) = self.written.recv_timeout(LOOK_UP) {
                return written;
            }
        }
        Err(failed_before())
    }

    /// Returns true if a thread has ended. While buffers may still come, only one that has panicked has.
    fn has_panicked(&self) -> bool {
        self.handles.iter().any(JoinHandle::is_finished)
    }

    /// Hands a full buffer to the next thread that is free.
    ///
    /// # Errors
    /// When there are no threads any more.
    pub(super) fn send(&self, full: WriteBuffer, offset: Option<u64>) -> io::Result<()> {
        let sender = self.full.as_ref().ok_or_else(failed_before)?;
        sender.send((full, offset)).map_err(|_| failed_before())
    }

    /// Starts one more. They are not threads of a scope: they live as long as the writer, across the passes of a run.
    fn start_one(&mut self, target: &Arc<Target>) -> io::Result<()> {
        let (target, to_write, done) =
            (Arc::clone(target), self.to_write.clone(), self.done.clone());
        let handle = std::thread::Builder::new()
            .name(format!("result-{}", self.handles.len()))
            .stack_size(STACK_BYTES)
            .spawn(move || {
                for (mut piece, offset) in to_write {
                    fail_point!("result-thread");
                    let result = target.write(&mut piece, offset);
                    if done.send(result.map(|()| piece)).is_err() {
                        break;
                    }
                }
            })?;
        self.handles.push(handle);
        Ok(())
    }

    /// Waits until all pieces were written, and ends the threads.
    ///
    /// # Errors
    /// The first error of a write; also when a thread has panicked.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.full = None;
        // All of them, before the first error ends this: none may write later.
        let joined: Vec<_> = self.handles.drain(..).map(JoinHandle::join).collect();
        self.written
            .try_iter()
            .try_for_each(|written| written.map(drop))?;
        let panicked = joined.iter().any(std::result::Result::is_err);
        if panicked {
            Err(failed_before())
        } else {
            Ok(())
        }
    }
}

impl Drop for WritingThreads {
    /// Waits for the threads of a result that was given up: what they have must not come into the file later, where
    /// another attempt may have begun to write. A pipe may take nothing for ever: nobody waits for that.
    fn drop(&mut self) {
        self.full = None;
        if self.most == 1 {
            return;
        }
        for handle in self.handles.drain(..) {
            // A panic does not matter: this result was given up.
            let _joined = handle.join();
        }
    }
}
