//! Writing a result: in large pieces, by threads of its own, around the page cache where the file
//! system allows it.
//!
//! *Owns:* [`OutputWriter`], which fills the buffers and knows where they go. The threads are in
//! [`threads`](super::threads), the file in [`target`](super::target).
//!
//! ```text
//!  the thread that writes lines                        threads result-0, result-1, ...
//!   filling ──────── full, and its offset ──────────▶  Target::write
//!      ▲                                                   │
//!      └── spare, or a new one ◀── written ◀───────────────┘
//! ```
//!
//! 1. Lines are copied into the buffer `filling`.
//! 2. When it is full, its owner takes a buffer that was written. If there is none, there is no thread yet, or the
//!    file is slower than the lines: the owner makes a new buffer and starts one more thread, up to [`MOST_THREADS`];
//!    after that it waits for a buffer. A pipe has one thread: its bytes must come in order.
//! 3. It sends the full one, with its offset in the file, and goes on with the other.
//! 4. A flush waits for the threads, ends them, and writes the rest itself. More lines would start others.
//!
//! *Invariants:* bytes reach a pipe in order, and a file at their offsets; what was flushed was handed to the system.
//! An error of a thread comes back from a later write or from the flush, and after it every call fails.
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
use std::sync::Arc;

use crate::output::compressed::{Compressor, CompressorPlan};
use crate::output::consumer::Program;
use crate::output::rereadable::Rereadable;
use crate::output::target::{BYTES, Target, WriteBuffer};
use crate::output::threads::{MOST_THREADS, WritingThreads, failed_before};

/// A buffered writer into the file of a result. Flush it: what is in the buffer when it is dropped
/// is lost.
#[derive(Debug)]
pub struct OutputWriter {
    /// The buffer for the next bytes. Behind everything that the threads have.
    filling: WriteBuffer,
    target: Arc<Target>,
    /// The offset of `filling` in the file; `None` if the file has no offsets, as a pipe. A multiple of the page size
    /// while the target is written directly.
    offset: Option<u64>,
    drain: Drain,
    /// Stands before all this, where bytes are compressed.
    compressor: Option<Compressor>,
}

/// The receiver of full buffers.
#[derive(Debug)]
enum Drain {
    /// No thread: nothing was written since the start or the last flush.
    Idle,
    /// To threads.
    Threads(WritingThreads),
    /// An error was reported, or a thread has ended.
    Failed,
}

impl OutputWriter {
    /// Makes a writer through the page cache, or to what is no regular file.
    ///
    /// # Errors
    /// When the system gives no memory for the buffer.
    pub fn buffered(file: impl Into<Arc<File>>) -> io::Result<Self> {
        Self::new(Target::buffered(file.into()), None)
    }

    /// Makes a writer into the input of a command.
    ///
    /// # Errors
    /// When the system gives no memory for the buffer.
    pub(super) fn consumed((input, program): (File, Arc<Program>)) -> io::Result<Self> {
        Self::new(Target::consumed(input, program), None)
    }

    /// Makes a writer into an empty regular file, around the page cache if the file system allows that.
    ///
    /// # Errors
    /// When the system gives no memory for the buffer.
    pub(crate) fn direct(file: File) -> io::Result<Self> {
        Self::new(Target::direct(file), Some(0))
    }

    fn new(target: Target, offset: Option<u64>) -> io::Result<Self> {
        Ok(Self {
            filling: WriteBuffer::new()?,
            target: Arc::new(target),
            offset,
            drain: Drain::Idle,
            compressor: None,
        })
    }

    /// Has it compress what it is given.
    pub(super) fn compressing(self, plan: CompressorPlan) -> Self {
        Self {
            compressor: Some(Compressor::new(plan)),
            ..self
        }
    }

    /// Returns it as a file that a run may read while it writes, if it is a regular file that takes bytes as they come.
    pub(super) fn rereadable(&mut self) -> Option<&mut dyn Rereadable> {
        let is_plain = self.offset.is_some() && self.compressor.is_none();
        is_plain.then_some(self)
    }

    /// Hands the full buffer to the threads, starting one if all are busy, and goes on with another buffer. Waits
    /// where the most that there may be are busy.
    ///
    /// # Errors
    /// The error of an earlier write, or of starting the first thread. Every later call fails then: bytes are missing.
    fn hand_over(&mut self) -> io::Result<()> {
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

    /// Moves the offset by `bytes`: these were handed over.
    fn go_on(&mut self, bytes: usize) {
        self.offset = self.offset.map(|offset| offset + bytes as u64);
    }

    /// Takes some bytes as they go into the file, and returns how many.
    fn take(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.filling.filled == BYTES {
            self.hand_over()?;
        }
        let start = self.filling.filled;
        let taken = bytes.len().min(BYTES - start);
        self.filling.buffer[start..start + taken].copy_from_slice(&bytes[..taken]);
        self.filling.filled += taken;
        Ok(taken)
    }

    /// Takes all of a frame.
    fn take_all(&mut self, mut frame: &[u8]) -> io::Result<()> {
        while !frame.is_empty() {
            frame = &frame[self.take(frame)?..];
        }
        Ok(())
    }

    /// Has `work` done by the compressor, if there is one.
    fn compressed<T>(
        &mut self,
        work: impl FnOnce(&mut Compressor, &mut Self) -> io::Result<T>,
    ) -> Option<io::Result<T>> {
        let mut compressor = self.compressor.take()?;
        let done = work(&mut compressor, self);
        self.compressor = Some(compressor);
        Some(done)
    }
}

impl Write for OutputWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let compressed =
            self.compressed(|compressor, it| compressor.take(bytes, |frame| it.take_all(frame)));
        compressed.unwrap_or_else(|| self.take(bytes))
    }

    /// Waits until everything was handed to the system. It need not be on the disk then. Direct writing ends
    /// here if the last page is not full, and so does a frame of what is compressed.
    fn flush(&mut self) -> io::Result<()> {
        self.compressed(|compressor, it| compressor.finish(|frame| it.take_all(frame)))
            .unwrap_or(Ok(()))?;
        match mem::replace(&mut self.drain, Drain::Failed) {
            Drain::Idle => {}
            Drain::Threads(threads) => threads.finish()?,
            Drain::Failed => return Err(failed_before()),
        }
        let bytes = self.filling.filled;
        self.target.write(&mut self.filling, self.offset)?;
        self.go_on(bytes);
        self.drain = Drain::Idle;
        Ok(())
    }
}

impl Rereadable for OutputWriter {
    fn file(&mut self) -> io::Result<Arc<File>> {
        self.flush()?;
        Ok(self.target.through_cache())
    }

    fn settle(&mut self) -> io::Result<()> {
        self.flush()?;
        // Or all of it would be written in the end, when the run waits for it.
        self.target.begin_writing();
        Ok(())
    }

    fn empty(&mut self) -> io::Result<()> {
        self.flush()?;
        self.target.empty()?;
        self.offset = Some(0);
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::memory::buffer::PAGE;

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
