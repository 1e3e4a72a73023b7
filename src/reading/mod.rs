//! One reading of an input: whole lines, chunk by chunk, for any number of threads.
//!
//! *Owns:* the choice of how an input is read: files by position, in ranges that threads claim ([`range_queue`],
//! [`range`]); pipes and what is compressed in order ([`stream_chunks`]), in one lane or several ([`lanes`]). A pass
//! does not know which it has. A line that does not fit a [`chunk`] has memory of its own ([`long_lines`]), and a
//! failure of a line is located at the end ([`failure`]).
//!
//! *Invariants.*
//! - Every byte of the input comes in exactly one chunk; chunks are numbered from 0, without a gap, and in the order of
//!   the input where it is not read in several lanes.
//! - A file is compared with the one that was checked at the start, when it is opened and again when it is closed, or
//!   at the end of the reading by every thread that finds it.
//!
//! *Cost:* a descriptor for each thread or lane and a few; of a lane, a buffer for the line that is not complete yet.
//!
//! ```text
//!  thread: Reading::next(buffer) ──▶ (number, Cut) ──▶ work on its chunks ──▶ the buffer again
//!              │
//!              ├─ Files:  claim a range of a file (short lock), read it without a lock
//!              └─ Lanes:  lock one, read or decode up to the last line end, carry the rest over, unlock
//! ```

pub(crate) mod chunk;
pub(crate) mod failure;
mod lanes;
mod location;
pub(crate) mod long_lines;
mod lookahead;
mod range;
mod range_queue;
mod stream_chunks;

use std::sync::Arc;

use crate::error::Result;
use crate::input::Input;
use crate::input::byte_reader::{ByteReader, PieceOpening};
use crate::input::parts::Parts;
use crate::input::pieces::{Cuts, Pieces};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::reading::chunk::{ChunkRules, Cut};
use crate::reading::lanes::Lanes;
use crate::reading::range_queue::RangeQueue;
use crate::reading::stream_chunks::StreamChunks;
use crate::sys::machine;
use crate::temp::space::TempSpace;

/// Bytes of a chunk of a file in the page cache: the chunk and the tables of a batch fit the second-level
/// cache of a core. What comes from a disk is read in the larger chunks of the plan.
const WARM_CHUNK: u64 = 256 << 10;

/// Files that a run may have open besides those that it reads: standard streams, outputs, a lock, directories, and a
/// spill file for each thread that writes. With two readers it runs within 16.
const OTHER_FILES: u64 = 14;

/// The rules of a reading: its chunks, its memory, and its end.
#[derive(Clone, Copy)]
pub(crate) struct ReadingRules<'a> {
    /// The rules for chunks. The chunks of a cached file are smaller where these are large.
    pub(crate) chunks: ChunkRules<'a>,
    /// Grants the buffers for unfinished lines.
    pub(crate) budget: &'a MemoryBudget,
    /// Grants the memory of decoders.
    pub(crate) decoding: &'a MemoryBudget,
    /// Keeps what must be read before its turn, and cannot be read again.
    pub(crate) space: &'a TempSpace,
    /// The most pieces of the input that are decoded at the same time; 1 where chunks are to come in order.
    pub(crate) lanes: usize,
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
    is_read_by_workers: bool,
}

enum Chunks<'a> {
    /// Any number of threads read at the same time.
    Files(RangeQueue<'a>),
    /// Threads take turns, or decode one piece each.
    Lanes(Lanes<'a>),
}

impl<'a> Reading<'a> {
    /// Opens `input`: files anew, a stream for the only time. What is compressed is decoded by the threads that read.
    ///
    /// # Errors
    /// [`crate::Error::Input`] where it cannot be opened or was read before, [`crate::Error::InputChanged`]
    /// where it is another file than the one that was checked.
    pub(crate) fn open(input: &'a Input, rules: ReadingRules<'a>) -> Result<Self> {
        let mut chunk_rules = rules.chunks;
        let parts = match input.parts() {
            None => {
                let mut stream = input.take_stream(0, rules.stop)?;
                if let Some(waiting) = rules.waiting {
                    stream = stream.promptly(chunk_rules.format.terminator, waiting);
                }
                let reader = input.byte_reader(stream, rules.decoding, rules.stop);
                return Self::in_lanes(input, vec![reader], rules);
            }
            // Where lines end between quotes shows only from the start of a file on.
            Some(parts) if parts.decoding().is_some() || chunk_rules.format.quoted.is_some() => {
                let readers = readers(input, parts, rules)?;
                return Self::in_lanes(input, readers, rules);
            }
            Some(parts) => parts,
        };
        let first = range_queue::open(parts, 0)?;
        // A file system that has no direct reading has none for the other files either.
        let is_refused = first.is_warm() && !parts.all()[0].is_warm;
        let is_warm = parts.is_warm() || is_refused;
        if is_warm {
            chunk_rules.chunk_bytes = chunk_rules.chunk_bytes.min(WARM_CHUNK);
        }
        Ok(Self {
            chunks: Chunks::Files(RangeQueue::new(parts, first, chunk_rules)),
            chunk_bytes: chunk_rules.chunk_bytes,
            is_read_by_workers: is_warm,
        })
    }

    /// Reads `input` in order from each of `readers`.
    fn in_lanes(
        input: &'a Input,
        readers: Vec<ByteReader<'a>>,
        rules: ReadingRules<'a>,
    ) -> Result<Self> {
        let is_read_by_workers = readers.len() > 1;
        let mut chunks = rules.chunks;
        if is_read_by_workers {
            chunks.chunk_bytes = chunks.chunk_bytes.min(WARM_CHUNK);
        }
        let open = |reader| StreamChunks::new(input, reader, chunks, rules.budget, rules.space);
        let lanes: Vec<_> = readers.into_iter().map(open).collect::<Result<_>>()?;
        Ok(Self {
            chunks: Chunks::Lanes(Lanes::new(lanes)),
            chunk_bytes: chunks.chunk_bytes,
            is_read_by_workers,
        })
    }

    /// Returns true if workers are to read it themselves: reading ahead of the work gains nothing where the bytes come
    /// from the page cache, or where each worker has something to decode.
    pub(crate) fn is_read_by_workers(&self) -> bool {
        self.is_read_by_workers
    }

    /// Returns the bytes of a chunk, at most; a chunk for one long line may have more.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        self.chunk_bytes
    }

    /// Returns the bytes of the buffers that [`Reading::next`] is to have.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        ChunkRules::buffer_bytes(self.chunk_bytes)
    }

    /// Counts those of `threads` that can read at the same time. Of several files, each thread may have one of its own
    /// open.
    pub(crate) fn readers(&self, threads: usize) -> usize {
        match &self.chunks {
            Chunks::Files(queue) if queue.has_one_file() => threads,
            Chunks::Files(_) => {
                let left = machine::most_open_files().unwrap_or(u64::MAX);
                threads.min(left.saturating_sub(OTHER_FILES).max(2) as usize)
            }
            Chunks::Lanes(lanes) => threads.min(lanes.count()),
        }
    }

    /// Reads the next chunk into `buffer`: its number, and what was cut from the input. `None` at the end.
    ///
    /// # Errors
    /// Where the input cannot be read, has changed, or has a line that is too long; and what `stop` returns.
    pub(crate) fn next(&self, buffer: Buffer) -> Result<Option<(u64, Cut)>> {
        match &self.chunks {
            Chunks::Files(queue) => queue.next(buffer),
            Chunks::Lanes(lanes) => lanes.next(buffer),
        }
    }
}

/// Opens readers of files, some of which are decoded: several where that is possible, else one.
fn readers<'a>(
    input: &'a Input,
    parts: &'a Parts,
    rules: ReadingRules<'a>,
) -> Result<Vec<ByteReader<'a>>> {
    let lanes = rules.lanes;
    // A line has the same ordinal in every reading, however many lanes that has.
    let cuts = if lanes == 1 && input.first_ordinal().is_none() {
        Cuts::None
    } else if rules.chunks.format.quoted.is_some() {
        Cuts::Rows
    } else {
        Cuts::All
    };
    parts.tables().for_each(|table| table.begin_reading());
    let pieces = Arc::new(Pieces::new(parts, cuts));
    // A share for each lane: whether a piece can be decoded must not depend on what others decode at the time.
    let share = rules.decoding.limit_bytes() / lanes as u64;
    let next = || {
        let budget = rules.decoding.split_off("decoder", share);
        let opening = budget.map(|budget| PieceOpening {
            terminator: rules.chunks.format.terminator,
            stop: rules.stop,
            budget,
            are_prefixed: rules.chunks.are_prefixed,
        });
        opening
            .and_then(|opening| ByteReader::of_pieces(&pieces, opening))
            .transpose()
    };
    std::iter::from_fn(next).take(lanes).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;
    use crate::decode::request::Opening;
    use crate::error::Error;
    use crate::input::{Files, Source};
    use crate::interrupt::Interrupt;
    use crate::lines::LineFormat;
    use crate::reading::chunk::Pooled;
    use crate::reading::failure::LocatedFailure;
    use crate::reading::long_lines::{ChunkOrder, LimitAdvice, LongLines};
    use crate::temp::quota::Quota;

    #[derive(Debug)]
    struct NoAdvice;

    impl LimitAdvice for NoAdvice {
        fn limit_for_long_lines(&self, needed_bytes: u64, _: u64) -> u64 {
            needed_bytes
        }
    }

    /// Opens `input` for a reading in chunks of a page, which `stop` can end, and hands it to `read` with what makes
    /// its buffers.
    fn with_reading(
        input: &Input,
        stop: &(dyn Fn() -> Result<()> + Sync),
        read: impl FnOnce(&Reading<'_>, &dyn Fn() -> Buffer),
    ) {
        let budget = MemoryBudget::new(1 << 20, 0);
        let decoding = MemoryBudget::new(1 << 20, 0);
        let (interrupt, failure) = (Interrupt::new(), LocatedFailure::default());
        let room = budget.split_off("long lines", 1 << 16).unwrap();
        let long_lines = LongLines::new(room, &NoAdvice, &interrupt, &failure);
        let rules = ReadingRules {
            chunks: ChunkRules {
                format: LineFormat::default(),
                chunk_bytes: 4096,
                long_lines: &long_lines,
                counts_lines: false,
                are_prefixed: false,
            },
            budget: &budget,
            decoding: &decoding,
            space: &TempSpace::new(&[], Quota::new(0), &interrupt),
            lanes: 1,
            stop,
            waiting: None,
        };
        let reading = Reading::open(input, rules).unwrap();
        let bytes = reading.buffer_bytes();
        read(&reading, &|| {
            Buffer::new(&budget, "a chunk", bytes).unwrap()
        });
    }

    #[test]
    fn a_stream_that_could_not_be_read_gives_no_more_chunks() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let source = path.clone();
        let writer = std::thread::spawn(move || {
            let mut pipe = fs::OpenOptions::new().write(true).open(source).unwrap();
            // After the failure nobody may read any more.
            let _may_be_closed = pipe.write_all(b"one\ntwo\n");
        });
        let input = Input::open_all(&[Source::from(&path)], Opening::plain(&Interrupt::new()))
            .unwrap()
            .remove(0);
        let is_to_fail = AtomicBool::new(true);
        let stop = || {
            let fails = is_to_fail.swap(false, Ordering::Relaxed);
            if fails {
                Err(Error::Interrupted)
            } else {
                Ok(())
            }
        };
        with_reading(&input, &stop, |reading, buffer| {
            assert!(matches!(reading.next(buffer()), Err(Error::Interrupted)));
            assert!(reading.next(buffer()).unwrap().is_none());
        });
        writer.join().unwrap();
    }

    /// Files of one range and of several, empty ones, a line that is longer than a range, ends without a terminator.
    fn many() -> (tempfile::TempDir, Input, Vec<Vec<u8>>) {
        let texts = [
            b"".to_vec(),
            b"one\ntwo".to_vec(),
            b"a line\n".repeat(2000),
            b"".to_vec(),
            [b"short\n", &b"x".repeat(20_000)[..], b"\nlast"].concat(),
            b"y".repeat(4096),
            b"\n".to_vec(),
            b"another line\n".repeat(1000),
            b"".to_vec(),
        ];
        let directory = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..texts.len())
            .map(|number| directory.path().join(number.to_string()))
            .collect();
        for (path, text) in paths.iter().zip(&texts) {
            fs::write(path, text).unwrap();
        }
        let source = Source::from(Files::new("many", paths));
        let input = Input::open_all(&[source], Opening::plain(&Interrupt::new()))
            .unwrap()
            .remove(0);
        (directory, input, texts.to_vec())
    }

    #[test]
    fn b20_chunks_of_many_files_are_numbered_and_placed_in_the_order_of_the_side() {
        let (_directory, input, texts) = many();
        let bytes: usize = texts.iter().map(Vec::len).sum();
        assert_eq!(input.bytes(), Some(bytes as u64));
        with_reading(&input, &|| Ok(()), |reading, buffer| {
            let (mut numbers, mut position) = (0.., 0);
            while let Some((number, cut)) = reading.next(buffer()).unwrap() {
                assert_eq!(Some(number), numbers.next());
                let pooled = match cut.pooled {
                    Pooled::Lines(chunk) => Some(chunk),
                    Pooled::Spare(_) => None,
                };
                for chunk in pooled.into_iter().chain(cut.long_line) {
                    let (text, offset) = (&texts[chunk.part], chunk.offset as usize);
                    let end = offset + chunk.bytes().len();
                    assert_eq!(chunk.bytes(), &text[offset..end]);
                    assert!(end == text.len() || text[end - 1] == b'\n');
                    assert_eq!(chunk.position(), position);
                    position += chunk.bytes().len() as u64;
                }
            }
            assert_eq!(position, bytes as u64);
            // Ranges of 4096 bytes; an empty file has one.
            assert_eq!(numbers.next(), Some(1 + 1 + 4 + 1 + 5 + 1 + 1 + 4 + 1));
        });
    }

    #[test]
    fn a_long_line_waits_for_the_chunks_before_its_own_where_these_have_an_order() {
        // Without memory for those whose turn has not come, and with some for two.
        assert_eq!(turns_of_long_lines(0), 20);
        assert!(turns_of_long_lines(64 << 10) < 20);
    }

    /// Reads twenty long lines on four threads, which wait for one another, in memory for one of them, and with `ahead`
    /// bytes for others; returns how many had to wait for their turn.
    fn turns_of_long_lines(ahead: u64) -> u64 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("long");
        let line = [&b"x".repeat(9000)[..], b"\n"].concat();
        fs::write(&path, line.repeat(20)).unwrap();
        let input = Input::open_all(&[Source::from(&path)], Opening::plain(&Interrupt::new()))
            .unwrap()
            .remove(0);
        let (budget, decoding) = (MemoryBudget::new(1 << 20, 0), MemoryBudget::new(0, 0));
        let (interrupt, failure) = (Interrupt::new(), LocatedFailure::default());
        // For a line at a time.
        let room = MemoryBudget::new(32 << 10, 0);
        let (done, turns) = (AtomicU64::new(0), AtomicU64::new(0));
        let turn_of = |number| {
            while done.load(Ordering::Acquire) != number {
                std::thread::yield_now();
            }
            assert_eq!(room.available_bytes(), room.limit_bytes(), "chunk {number}");
            turns.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let order = ChunkOrder {
            turn_of: &turn_of,
            ahead: MemoryBudget::new(ahead, 0),
        };
        let long_lines =
            LongLines::new(room.clone(), &NoAdvice, &interrupt, &failure).in_order(order);
        let rules = ReadingRules {
            chunks: ChunkRules {
                format: LineFormat::default(),
                chunk_bytes: 4096,
                long_lines: &long_lines,
                counts_lines: false,
                are_prefixed: false,
            },
            budget: &budget,
            decoding: &decoding,
            space: &TempSpace::new(&[], Quota::new(0), &interrupt),
            lanes: 1,
            stop: &|| Ok(()),
            waiting: None,
        };
        let reading = Reading::open(&input, rules).unwrap();
        let found = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let buffer = || Buffer::new(&budget, "a chunk", reading.buffer_bytes());
                    while let Some((number, cut)) = reading.next(buffer().unwrap()).unwrap() {
                        found.fetch_add(u64::from(cut.long_line.is_some()), Ordering::Relaxed);
                        while done.load(Ordering::Acquire) != number {
                            std::thread::yield_now();
                        }
                        drop(cut);
                        done.store(number + 1, Ordering::Release);
                    }
                });
            }
        });
        assert_eq!(found.into_inner(), 20);
        turns.load(Ordering::Relaxed)
    }

    #[test]
    fn b5_b6_a_file_among_many_that_changes_is_named() {
        for part in [0, 1, 2, 4, 8] {
            let (directory, input, _) = many();
            let path = directory.path().join(part.to_string());
            fs::write(&path, "other\n").unwrap();
            let failed = std::cell::Cell::new(part == 0);
            if part == 0 {
                // The first is opened with the reading.
                assert!(
                    matches!(input.verify(), Err(Error::InputChanged { path: named, .. }) if named == path)
                );
                continue;
            }
            with_reading(&input, &|| Ok(()), |reading, buffer| {
                loop {
                    match reading.next(buffer()) {
                        Ok(Some(_)) => {}
                        Ok(None) => break,
                        Err(Error::InputChanged { path: named, .. }) => {
                            assert_eq!(named, path);
                            failed.set(true);
                            break;
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            });
            assert!(failed.get(), "{part}");
        }
    }
}
