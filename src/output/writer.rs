//! Writing a result: in large pieces, by a thread of its own, around the page cache where the file
//! system allows it.
//!
//! *Owns:* the buffers between lines and file.
//!
//! ```text
//!  the thread that writes lines                     thread `result`
//!   filling ──────── full (room for 1) ─────────▶  FileEnd::write
//!      ▲                                               │
//!      └── spare ◀── written (room for 1) ◀────────────┘
//! ```
//!
//! 1. Lines are copied into the buffer `filling`.
//! 2. When it is full, its owner waits for the other buffer, which the thread has written or, the first time,
//!    never used. Then it sends the full one and goes on with the other.
//! 3. A flush waits for the thread, ends it, and writes the rest itself. More lines would start another thread.
//!
//! *Invariants:* bytes reach the file in order; what was flushed was handed to the system. An error of the
//! thread comes back from the next write or flush, and after it every call fails.
//!
//! *Cost:* 1 MiB of memory; half of it, and the thread, only for a result that is larger than a buffer.
//!
//! A result that went through the page cache would have to be written to the disk anyway before it
//! is put in place; where that was measured, writing it directly took a quarter of the time; and a
//! container's memory limit stays free of it. The thread is there because a worker that has lines holds
//! the collector's lock, and should not hold it while a disk works.
//!
//! *Sources:* open(2) on `O_DIRECT`.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::FileExt;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};
use memmap2::MmapMut;

use crate::memory::buffer::PAGE;
use crate::sys::direct_io::{is_refusal, set_direct};
use crate::sys::failpoint::fail_point;
use crate::sys::threads::STACK_BYTES;

/// The size of a buffer, in bytes: a multiple of the page size. Direct writes are fast only in large pieces.
const BYTES: usize = 512 << 10;

/// A buffered writer into the file of a result. Flush it: what is in the buffer when it is dropped
/// is lost.
#[derive(Debug)]
pub struct OutputWriter {
    /// What the next bytes go to. Behind everything that the drain has.
    filling: Piece,
    drain: Drain,
}

/// Where full buffers go.
#[derive(Debug)]
enum Drain {
    /// No thread: nothing was written since the start or the last flush.
    Idle(FileEnd),
    /// The thread has the file, and at most one full buffer.
    Thread(WritingThread),
    /// An error was reported, or the thread is gone.
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
        Self::new(FileEnd {
            file,
            offset: None,
            is_direct: false,
        })
    }

    /// A writer into an empty regular file, around the page cache if the file system allows that.
    ///
    /// # Errors
    /// When the system gives no memory for the buffer.
    pub(crate) fn direct(file: File) -> io::Result<Self> {
        let is_direct = set_direct(&file, true);
        Self::new(FileEnd {
            file,
            offset: Some(0),
            is_direct,
        })
    }

    fn new(end: FileEnd) -> io::Result<Self> {
        Ok(Self {
            filling: Piece::new()?,
            drain: Drain::Idle(end),
        })
    }

    /// Hands the full buffer to the thread, starting it if there is none, and makes the other buffer the one
    /// that is filled. Waits while the thread is writing the other one.
    ///
    /// # Errors
    /// The error of an earlier write, or of starting the thread. Every later call fails then: bytes are missing.
    fn turn(&mut self) -> io::Result<()> {
        // `Failed` stays in place if anything below fails.
        let thread = match mem::replace(&mut self.drain, Drain::Failed) {
            Drain::Idle(end) => WritingThread::start(end)?,
            Drain::Thread(thread) => thread,
            Drain::Failed => return Err(failed_before()),
        };
        let spare = thread.written.recv().map_err(|_| failed_before())??;
        let full = mem::replace(&mut self.filling, spare);
        thread.full.send(full).map_err(|_| failed_before())?;
        self.drain = Drain::Thread(thread);
        Ok(())
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
        let mut end = match mem::replace(&mut self.drain, Drain::Failed) {
            Drain::Idle(end) => end,
            Drain::Thread(thread) => thread.finish()?,
            Drain::Failed => return Err(failed_before()),
        };
        end.write(&mut self.filling)?;
        end.file.flush()?;
        self.drain = Drain::Idle(end);
        Ok(())
    }
}

/// The error of a writer whose first error was reported.
fn failed_before() -> io::Error {
    io::Error::other("an earlier write failed")
}

/// The thread `result`, seen from the one that writes lines. Between two calls, exactly one of the two
/// buffers is with the thread or on its way back.
#[derive(Debug)]
struct WritingThread {
    /// Full buffers to the thread. Dropping it ends the thread.
    full: Sender<Piece>,
    /// Buffers that were written and are empty now, or the error of a write.
    written: Receiver<io::Result<Piece>>,
    /// Gives the file back when the thread ends.
    handle: JoinHandle<FileEnd>,
}

impl WritingThread {
    /// Starts the thread, which owns the file until it ends. It is not a thread of a scope: it lives as long as
    /// the writer, across the passes of a run.
    fn start(mut end: FileEnd) -> io::Result<Self> {
        let (full, to_write) = bounded::<Piece>(1);
        let (done, written) = bounded(1);
        // The first spare buffer. The channel has room for it.
        let _has_room = done.send(Piece::new());
        let handle = std::thread::Builder::new()
            .name("result".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                for mut piece in to_write {
                    fail_point!("result-thread");
                    let result = end.write(&mut piece);
                    if done.send(result.map(|()| piece)).is_err() {
                        break;
                    }
                }
                end
            })?;
        Ok(Self {
            full,
            written,
            handle,
        })
    }

    /// Waits for the last piece, ends the thread and takes the file back.
    ///
    /// # Errors
    /// The error of the last write; also when the thread has panicked.
    fn finish(self) -> io::Result<FileEnd> {
        let last = self.written.recv().map_err(|_| failed_before())?;
        drop(self.full);
        let end = self.handle.join().map_err(|_| failed_before())?;
        last.map(|_| end)
    }
}

/// The file that pieces are written to, one behind the other.
#[derive(Debug)]
struct FileEnd {
    file: File,
    /// Where the next bytes go; `None` if the file has no offsets, as a pipe. A multiple of the page size while
    /// `is_direct`.
    offset: Option<u64>,
    /// Whether the file is written around the page cache. Once false it stays false.
    is_direct: bool,
}

impl FileEnd {
    /// Writes what is in the piece, and empties it, also if that fails.
    ///
    /// While writing is direct, whole pages are written directly. A file system that refuses that, and the rest
    /// of a page, make it write through the page cache from then on: the offset is no longer aligned.
    fn write(&mut self, piece: &mut Piece) -> io::Result<()> {
        let bytes = mem::take(&mut piece.filled);
        let whole_pages = bytes & !(PAGE as usize - 1);
        let mut written = 0;
        if self.is_direct {
            match self.append(&piece.buffer[..whole_pages]) {
                Ok(()) => written = whole_pages,
                // Written again from the start of the piece, in the same place.
                Err(error) if is_refusal(&error) => self.stop_direct(),
                Err(error) => return Err(error),
            }
        }
        if written < bytes {
            // Less than a page is left, the end of the file most likely.
            self.stop_direct();
            self.append(&piece.buffer[written..bytes])?;
        }
        Ok(())
    }

    /// Writes all of `bytes` behind what was written. An error leaves the offset where it was.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        fail_point!("output-write", Err(crate::sys::failpoint::injected()));
        let Some(offset) = &mut self.offset else {
            return self.file.write_all(bytes);
        };
        self.file.write_all_at(bytes, *offset)?;
        *offset += bytes.len() as u64;
        Ok(())
    }

    /// Goes on through the page cache.
    fn stop_direct(&mut self) {
        if self.is_direct {
            set_direct(&self.file, false);
            self.is_direct = false;
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
        let bytes: Vec<u8> = (0..3 * BYTES as u32 + 4567)
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
