//! Writing a result: in large pieces, by threads of its own, around the page cache where the file
//! system allows it.
//!
//! *Owns:* the buffers between lines and file.
//!
//! ```text
//!  the thread that writes lines                        threads result-0, result-1, ...
//!   filling ──────── full, and its offset ──────────▶  Target::write
//!      ▲                                                   │
//!      └── spare, or a new one ◀── written ◀───────────────┘
//! ```
//!
//! 1. Lines are copied into the buffer `filling`.
//! 2. When it is full, its owner takes a buffer that was written. Where none is there, there is no thread yet, or the file is
//!    slower than the lines: it makes a new one and starts one more thread, up to [`MOST_THREADS`]; after that it waits for a
//!    buffer. A pipe has one thread: its bytes must come in order.
//! 3. It sends the full one, with its place in the file, and goes on with the other.
//! 4. A flush waits for the threads, ends them, and writes the rest itself. More lines would start others.
//!
//! *Invariants:* bytes reach a pipe in order, and a file in their places; what was flushed was handed to the system. An error
//! of a thread comes back from a later write or from the flush, and after it every call fails.
//!
//! *Cost:* 256 KiB of memory for a result that fits a buffer, and as much for each thread of a larger one.
//!
//! A result that went through the page cache would have to be written to the disk anyway before it
//! is put in place; where that was measured, writing it directly took a quarter of the time; and a
//! container's memory limit stays free of it. The threads are there because a worker that has lines holds
//! the collector's lock, and should not hold it while a disk works.
//!
//! *Sources:* open(2) on `O_DIRECT`.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use memmap2::MmapMut;

use crate::memory::buffer::PAGE;
use crate::sys::direct_io::{is_refusal, set_direct};
use crate::sys::failpoint::fail_point;
use crate::sys::threads::STACK_BYTES;

/// The size of a buffer, in bytes: a multiple of the page size. Direct writes are fast only in large pieces.
const BYTES: usize = 256 << 10;
/// The most threads that write into one file, each a buffer at a time.
const MOST_THREADS: usize = 3;
/// How often a writer that waits looks whether a thread has panicked.
const LOOK_UP: Duration = Duration::from_millis(50);

/// A buffered writer into the file of a result. Flush it: what is in the buffer when it is dropped
/// is lost.
#[derive(Debug)]
pub struct OutputWriter {
    /// What the next bytes go to. Behind everything that the threads have.
    filling: Piece,
    target: Arc<Target>,
    /// Where `filling` goes; `None` if the file has no offsets, as a pipe. A multiple of the page size while the target is
    /// written directly.
    offset: Option<u64>,
    drain: Drain,
}

/// Where full buffers go.
#[derive(Debug)]
enum Drain {
    /// No thread: nothing was written since the start or the last flush.
    Idle,
    /// To threads.
    Threads(WritingThreads),
    /// An error was reported, or a thread is gone.
    Failed,
}

/// A buffer and how much of it is filled. A mapping, because direct writing needs it aligned.
#[derive(Debug)]
struct Piece {
    buffer: MmapMut,
    /// Bytes in use from the start: 0 to [`BYTES`].
    filled: usize,
}

impl Piece {
    /// An empty one. It is not reserved from the budget, because it does not grow with the input.
    fn new() -> io::Result<Self> {
        Ok(Self {
            buffer: MmapMut::map_anon(BYTES)?,
            filled: 0,
        })
    }
}

impl OutputWriter {
    /// A writer through the page cache, or to what is no regular file.
    ///
    /// # Errors
    /// When the system gives no memory for the buffer.
    pub fn buffered(file: File) -> io::Result<Self> {
        Self::new(file, None, false)
    }

    /// A writer into an empty regular file, around the page cache if the file system allows that.
    ///
    /// # Errors
    /// When the system gives no memory for the buffer.
    pub(crate) fn direct(file: File) -> io::Result<Self> {
        let is_direct = set_direct(&file, true);
        Self::new(file, Some(0), is_direct)
    }

    fn new(file: File, offset: Option<u64>, is_direct: bool) -> io::Result<Self> {
        let is_direct = AtomicBool::new(is_direct);
        Ok(Self {
            filling: Piece::new()?,
            target: Arc::new(Target { file, is_direct }),
            offset,
            drain: Drain::Idle,
        })
    }

    /// Hands the full buffer to the threads, starting one if all are busy, and goes on with another buffer. Waits where as many
    /// are busy as there may be.
    ///
    /// # Errors
    /// The error of an earlier write, or of starting the first thread. Every later call fails then: bytes are missing.
    fn turn(&mut self) -> io::Result<()> {
        // `Failed` stays in place if anything below fails.
        let mut threads = match mem::replace(&mut self.drain, Drain::Failed) {
            Drain::Idle => WritingThreads::new(self.offset.map_or(1, |_| MOST_THREADS)),
            Drain::Threads(threads) => threads,
            Drain::Failed => return Err(failed_before()),
        };
        let spare = threads.spare(&self.target)?;
        let full = mem::replace(&mut self.filling, spare);
        let bytes = full.filled;
        threads.send(full, self.offset)?;
        self.go_on(bytes);
        self.drain = Drain::Threads(threads);
        Ok(())
    }

    /// Moves the offset behind so many bytes.
    fn go_on(&mut self, bytes: usize) {
        self.offset = self.offset.map(|offset| offset + bytes as u64);
    }
}

impl Write for OutputWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.filling.filled == BYTES {
            self.turn()?;
        }
        let start = self.filling.filled;
        let taken = bytes.len().min(BYTES - start);
        self.filling.buffer[start..start + taken].copy_from_slice(&bytes[..taken]);
        self.filling.filled += taken;
        Ok(taken)
    }

    /// Waits until everything was handed to the system. It need not be on the disk then. Direct writing ends
    /// here if the last page is not full.
    fn flush(&mut self) -> io::Result<()> {
        match mem::replace(&mut self.drain, Drain::Failed) {
            Drain::Idle => {}
            Drain::Threads(threads) => threads.finish()?,
            Drain::Failed => return Err(failed_before()),
        }
        let bytes = self.filling.filled;
        self.target.write(&mut self.filling, self.offset)?;
        self.go_on(bytes);
        (&self.target.file).flush()?;
        self.drain = Drain::Idle;
        Ok(())
    }
}

/// The error of a writer whose first error was reported.
fn failed_before() -> io::Error {
    io::Error::other("an earlier write failed")
}

/// The threads `result-N`, seen from the one that writes lines. Each buffer but the one that is filled is on its way to a
/// thread, with one, or on its way back: there are as many as threads.
#[derive(Debug)]
struct WritingThreads {
    /// Full buffers to the threads, with their offsets. Dropping it ends the threads; it is there until then.
    full: Option<Sender<(Piece, Option<u64>)>>,
    /// The other end, for each thread that is started.
    to_write: Receiver<(Piece, Option<u64>)>,
    /// Buffers that were written and are empty now, or the error of a write.
    written: Receiver<io::Result<Piece>>,
    /// The other end, for each thread that is started.
    done: Sender<io::Result<Piece>>,
    handles: Vec<JoinHandle<()>>,
    /// How many there may be; 1 for what is no regular file.
    most: usize,
}

impl WritingThreads {
    /// None yet, and no more than `most`.
    fn new(most: usize) -> Self {
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

    /// An empty buffer: one that was written, a new one for a further thread if there may be one more, or the next that
    /// will have been written.
    ///
    /// # Errors
    /// The error of an earlier write; that not even one thread can be started.
    fn spare(&mut self, target: &Arc<Target>) -> io::Result<Piece> {
        if let Ok(written) = self.written.try_recv() {
            return written;
        }
        // One that has panicked has taken a piece with it.
        if self.handles.len() < self.most && !self.has_panicked() {
            match Piece::new().and_then(|piece| self.start_one(target).map(|()| piece)) {
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

    /// Whether a thread has ended, as none does before it is told to, unless it panics.
    fn has_panicked(&self) -> bool {
        self.handles.iter().any(JoinHandle::is_finished)
    }

    /// Hands a full buffer to the next thread that is free.
    ///
    /// # Errors
    /// When there are no threads any more.
    fn send(&self, full: Piece, offset: Option<u64>) -> io::Result<()> {
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
    fn finish(mut self) -> io::Result<()> {
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
    /// Waits for the threads of a result that was given up: what they have must not come into the file later, where another
    /// attempt may have begun to write. A pipe may take nothing for ever: nobody waits for that.
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

/// The file that pieces are written to.
#[derive(Debug)]
struct Target {
    file: File,
    /// Whether the file is written around the page cache. Once false it stays false.
    is_direct: AtomicBool,
}

impl Target {
    /// Writes what is in the piece to its place, and empties it, also if that fails.
    ///
    /// While writing is direct, whole pages are written directly. A file system that refuses that, and the rest
    /// of a page, make it write through the page cache from then on: the offset is no longer aligned.
    fn write(&self, piece: &mut Piece, offset: Option<u64>) -> io::Result<()> {
        let bytes = mem::take(&mut piece.filled);
        let whole_pages = bytes & !(PAGE as usize - 1);
        let mut written = 0;
        if self.is_direct.load(Ordering::Acquire) {
            match self.put(&piece.buffer[..whole_pages], offset) {
                Ok(()) => written = whole_pages,
                // Written again from the start of the piece, in the same place.
                Err(error) if is_refusal(&error) => self.stop_direct(),
                Err(error) => return Err(error),
            }
        }
        if written < bytes {
            // Less than a page is left, the end of the file most likely.
            self.stop_direct();
            let offset = offset.map(|offset| offset + written as u64);
            self.put(&piece.buffer[written..bytes], offset)?;
        }
        Ok(())
    }

    /// Writes all of `bytes` to their place.
    fn put(&self, bytes: &[u8], offset: Option<u64>) -> io::Result<()> {
        fail_point!("output-write", Err(crate::sys::failpoint::injected()));
        match offset {
            Some(offset) => self.file.write_all_at(bytes, offset),
            None => (&self.file).write_all(bytes),
        }
    }

    /// Goes on through the page cache. Several threads may find at the same time that they must.
    fn stop_direct(&self) {
        if self.is_direct.load(Ordering::Acquire) {
            // First: a thread that finds the flag down must find the descriptor changed. Twice does no harm.
            set_direct(&self.file, false);
            self.is_direct.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn everything_arrives_in_order_however_it_is_cut_and_flushed() {
        let directory = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..9 * BYTES as u32 + 4567)
            .map(|i| (i * 31 / 7) as u8)
            .collect();
        for piece in [1013, PAGE as usize, BYTES - 1, BYTES, 2 * BYTES + 5] {
            for flush_after in [usize::MAX, PAGE as usize, BYTES, BYTES + 77] {
                let path = directory.path().join("result");
                let mut writer = OutputWriter::direct(File::create(&path).unwrap()).unwrap();
                let mut since_flush = 0;
                for part in bytes.chunks(piece) {
                    writer.write_all(part).unwrap();
                    since_flush += part.len();
                    if since_flush >= flush_after {
                        writer.flush().unwrap();
                        since_flush = 0;
                    }
                }
                writer.flush().unwrap();
                assert!(
                    std::fs::read(&path).unwrap() == bytes,
                    "pieces of {piece}, flushed after {flush_after}"
                );
            }
        }
    }

    #[test]
    fn what_was_given_up_does_not_come_into_the_file_later() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("result");
        for _ in 0..20 {
            let file = File::create(&path).unwrap();
            let mut writer = OutputWriter::direct(file.try_clone().unwrap()).unwrap();
            writer.write_all(&vec![b'x'; 9 * BYTES]).unwrap();
            let target = Arc::clone(&writer.target);
            drop(writer);
            // Each thread had one.
            assert_eq!(Arc::strong_count(&target), 1);
            file.set_len(0).unwrap();
            assert_eq!(file.metadata().unwrap().len(), 0);
        }
    }

    #[test]
    fn an_error_of_the_thread_comes_back_and_so_does_every_later_call() {
        let full = || File::options().write(true).open("/dev/full").unwrap();
        // The second buffer that is handed over comes after the first was tried.
        let mut writer = OutputWriter::buffered(full()).unwrap();
        let error = writer.write_all(&vec![b'x'; 4 * BYTES]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(writer.flush().is_err() && writer.write_all(&vec![0; 2 * BYTES]).is_err());
        let mut writer = OutputWriter::buffered(full()).unwrap();
        writer.write_all(b"little").unwrap();
        assert_eq!(
            writer.flush().unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
    }
}
