//! One reading of an input: whole lines, chunk by chunk, for any number of threads.
//!
//! *Owns:* the choice of how an input is read: a file by position, in ranges that threads claim; anything
//! else in order, by one thread at a time. A pass does not know which it has.
//!
//! *Invariants.*
//! - Every byte of the input comes in exactly one chunk; chunks are numbered in the order of the input, from
//!   0, without a gap.
//! - A file is compared with the one that was checked at the start, when it is opened and again by every
//!   thread that finds its end.
//!
//! *Cost:* a descriptor; of a stream, a buffer for the line that is not complete yet.
//!
//! ```text
//!  thread: Reading::next(buffer) ──▶ (number, Cut) ──▶ work on its chunks ──▶ the buffer again
//!              │
//!              ├─ File:   claim a range (atomic counter), read it; no lock
//!              └─ Stream: lock, read up to the last line end, carry the rest over, unlock
//! ```

use crate::error::Result;
use crate::input::Input;
use crate::input::chunk::{ChunkRules, Cut, FileChunks};
use crate::input::file::PositionedFile;
use crate::input::stream::{StoppableStream, StreamChunks};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::sys::sync::{Mutex, PoisonError};

/// Bytes of a chunk of a file in the page cache: the chunk and the tables of a batch fit the second-level
/// cache of a core. What comes from a disk is read in the larger chunks of the plan.
const WARM_CHUNK: u64 = 256 << 10;

/// How a reading stops, and what it is part of.
#[derive(Clone, Copy)]
pub(crate) struct ReadingRules<'a> {
    /// What a chunk is. The chunks of a cached file are smaller where these are large.
    pub(crate) chunks: ChunkRules<'a>,
    /// Grants the buffer for an unfinished line of a stream.
    pub(crate) budget: &'a MemoryBudget,
    /// Returns an error when the run is to stop; asked while a stream is silent.
    pub(crate) stop: &'a (dyn Fn() -> Result<()> + Sync),
    /// For a stream whose lines are wanted as soon as they are there: called with `true` when reading
    /// begins to wait for more, and with `false` when more has come.
    pub(crate) waiting: Option<&'a (dyn Fn(bool) -> Result<()> + Sync)>,
}

/// An input that is open for one reading.
pub(crate) struct Reading<'a> {
    chunks: Chunks<'a>,
    /// Bytes of a chunk, at most.
    chunk_bytes: u64,
    is_warm: bool,
}

enum Chunks<'a> {
    /// Any number of threads read at the same time.
    File(FileChunks<'a>),
    /// Threads take turns; beside the stream, the number of its next chunk.
    Stream(Mutex<(StreamChunks<'a>, u64)>),
}

impl<'a> Reading<'a> {
    /// Opens `input`: a file anew, a stream for the only time.
    ///
    /// # Errors
    /// [`crate::Error::Input`] where it cannot be opened or was read before, [`crate::Error::InputChanged`]
    /// where it is another file than the one that was checked.
    pub(crate) fn open(input: &'a Input, rules: ReadingRules<'a>) -> Result<Self> {
        let mut chunk_rules = rules.chunks;
        let Some((file, size)) = input.open_file()? else {
            let mut stream = StoppableStream::new(input.take_stream()?, rules.stop);
            if let Some(waiting) = rules.waiting {
                stream = stream.promptly(chunk_rules.format.terminator, waiting);
            }
            let chunks = StreamChunks::new(input, stream, chunk_rules, rules.budget)?;
            return Ok(Self {
                chunks: Chunks::Stream(Mutex::new((chunks, 0))),
                chunk_bytes: chunk_rules.chunk_bytes,
                is_warm: false,
            });
        };
        let file = PositionedFile::new(file, size, input.is_warm());
        let is_warm = file.is_warm();
        if is_warm {
            chunk_rules.chunk_bytes = chunk_rules.chunk_bytes.min(WARM_CHUNK);
        }
        Ok(Self {
            chunks: Chunks::File(FileChunks::new(input, file, chunk_rules)),
            chunk_bytes: chunk_rules.chunk_bytes,
            is_warm,
        })
    }

    /// Whether it is read from the page cache, so that nothing is gained by reading ahead of the work.
    pub(crate) fn is_warm(&self) -> bool {
        self.is_warm
    }

    /// Bytes of a chunk, at most; a chunk for one long line may have more.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        self.chunk_bytes
    }

    /// Bytes of the buffers that [`Reading::next`] is to have.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        ChunkRules::buffer_bytes(self.chunk_bytes)
    }

    /// How many of `threads` can read at the same time.
    pub(crate) fn readers(&self, threads: usize) -> usize {
        match self.chunks {
            Chunks::File(_) => threads,
            Chunks::Stream(_) => threads.min(1),
        }
    }

    /// Reads the next chunk into `buffer`: its number, and what was cut from the input. `None` at the end.
    ///
    /// # Errors
    /// Where the input cannot be read, has changed, or has a line that is too long; and what `stop` returns.
    pub(crate) fn next(&self, buffer: Buffer) -> Result<Option<(u64, Cut)>> {
        match &self.chunks {
            Chunks::File(chunks) => match chunks.claim() {
                Some((number, start)) => Ok(Some((number, chunks.read_range(start, buffer)?))),
                None => chunks.finish().map(|()| None),
            },
            Chunks::Stream(shared) => {
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                let (chunks, number) = &mut *shared;
                // Also where reading fails: a thread that reads on before the failure is known must not get the
                // number, and so the turn, of the chunk that is missing.
                let own = *number;
                *number += 1;
                Ok(chunks.next(buffer)?.map(|cut| (own, cut)))
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;
    use crate::error::Error;
    use crate::input::Source;
    use crate::input::lines::LineFormat;
    use crate::input::long_lines::{LimitAdvice, LongLines};
    use crate::interrupt::Interrupt;
    use crate::sys::first_error::FirstFailure;

    #[derive(Debug)]
    struct NoAdvice;

    impl LimitAdvice for NoAdvice {
        fn limit_for_long_lines(&self, needed_bytes: u64, _: u64) -> u64 {
            needed_bytes
        }
    }

    #[test]
    fn a_chunk_that_could_not_be_read_keeps_its_number() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let source = path.clone();
        let writer = std::thread::spawn(move || {
            let mut pipe = fs::OpenOptions::new().write(true).open(source).unwrap();
            pipe.write_all(b"one\ntwo\n").unwrap();
        });
        let input = Input::open_all(&[Source::from(&path)]).unwrap().remove(0);
        let budget = MemoryBudget::new(1 << 20, 0);
        let (interrupt, failure) = (Interrupt::new(), FirstFailure::default());
        let room = budget.split_off("long lines", 1 << 16).unwrap();
        let long_lines = LongLines::new(room, &NoAdvice, &interrupt, &failure);
        let is_to_fail = AtomicBool::new(true);
        let stop = || {
            let fails = is_to_fail.swap(false, Ordering::Relaxed);
            if fails {
                Err(Error::Interrupted)
            } else {
                Ok(())
            }
        };
        let rules = ReadingRules {
            chunks: ChunkRules {
                format: LineFormat::default(),
                chunk_bytes: 4096,
                long_lines: &long_lines,
            },
            budget: &budget,
            stop: &stop,
            waiting: None,
        };
        let reading = Reading::open(&input, rules).unwrap();
        let buffer = || Buffer::new(&budget, "a chunk", reading.buffer_bytes()).unwrap();
        assert!(matches!(reading.next(buffer()), Err(Error::Interrupted)));
        let (number, _) = reading.next(buffer()).unwrap().unwrap();
        assert_eq!(number, 1);
        writer.join().unwrap();
    }
}
