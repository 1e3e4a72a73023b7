//! Scanning an input so that what is written about its lines comes in their order.
//!
//! *Owns:* who may write when. Workers read chunks by turns, work on them at the same time, and
//! write by turns again, in the order in which the chunks were read.
//!
//! *Invariants.*
//! - What is written about a line comes behind what is written about the lines before it.
//! - The worker of the first chunk that is not done never waits for another, so none waits for
//!   ever; after a failure all leave.
//! - From a pipe lines are taken as they come, and answered before the next ones are waited for.
//!
//! *Cost:* a chunk buffer and as much text for each worker. Reading is not ahead of the work, as it
//! is in [`scan`](crate::pass::scan::scan).

use std::io::{self, Write};
use std::time::Duration;

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::input::chunk::{ChunkRules, Cut, FileChunks, Pooled};
use crate::input::file::PositionedFile;
use crate::input::long_lines::LongLines;
use crate::input::stream::{StoppableStream, StreamChunks};
use crate::memory::buffer::Buffer;
use crate::output::output_error;
use crate::pass::scan::{Tally, WARM_CHUNK, Worker};
use crate::plan::Layout;
use crate::run::{Phase, Run};
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How often a waiting thread looks whether another has failed.
const LOOK_UP: Duration = Duration::from_millis(50);

/// What each worker of an ordered scan does.
pub(crate) trait OrderedWorker {
    /// Works on a batch of lines, and writes to `output` what there is to say of them, in order.
    fn work(&mut self, batch: Batch<'_>, output: &mut ChunkOutput<'_, '_>) -> Result<()>;
}

/// Where an ordered scan writes.
pub(crate) struct OrderedOutput<'w> {
    state: Mutex<State<'w>>,
    turned: Condvar,
    target: String,
}

struct State<'w> {
    writer: &'w mut (dyn Write + Send),
    /// The chunk whose turn it is.
    turn: u64,
    /// Whether the other end of a pipe may be waiting for answers before it goes on.
    is_awaited: bool,
}

impl State<'_> {
    /// Hands what was written to the system, if somebody may be waiting for it.
    fn flush_if_awaited(&mut self) -> io::Result<()> {
        if self.is_awaited {
            self.writer.flush()
        } else {
            Ok(())
        }
    }
}

impl<'w> OrderedOutput<'w> {
    /// Writes to `writer`, which messages call `target`.
    pub(crate) fn new(writer: &'w mut (dyn Write + Send), target: &str) -> Self {
        Self {
            state: Mutex::new(State {
                writer,
                turn: 0,
                is_awaited: false,
            }),
            turned: Condvar::new(),
            target: target.to_owned(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<'w>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that there is nothing to read, or something again. Where there is nothing, what was
    /// written must reach those who wait for it; and so must what is written until there is more.
    fn set_awaited(&self, is_awaited: bool) -> Result<()> {
        let mut state = self.lock();
        state.is_awaited = is_awaited;
        let flushed = state.flush_if_awaited();
        flushed.map_err(|error| output_error(&self.target, "cannot write", error))
    }

    /// The writer, once it is the turn of chunk `number`.
    fn at_turn(&self, number: u64, failure: &FirstFailure) -> Result<MutexGuard<'_, State<'w>>> {
        let mut state = self.lock();
        while state.turn != number {
            failure.check()?;
            let (again, _) = self
                .turned
                .wait_timeout(state, LOOK_UP)
                .unwrap_or_else(PoisonError::into_inner);
            state = again;
        }
        Ok(state)
    }
}

/// What is to be written about one chunk.
pub(crate) struct ChunkOutput<'a, 'w> {
    output: &'a OrderedOutput<'w>,
    failure: &'a FirstFailure,
    number: u64,
    /// What is not written yet, in room for as much as the chunk has.
    text: &'a mut Vec<u8>,
}

impl ChunkOutput<'_, '_> {
    /// Adds to what is written about the chunk.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if self.text.len() + bytes.len() > self.text.capacity() {
            self.write()?;
        }
        // What does not fit goes on as it is, without a copy.
        if bytes.len() > self.text.capacity() {
            let mut state = self.output.at_turn(self.number, self.failure)?;
            let written = state.writer.write_all(bytes);
            return written.map_err(|error| self.unwritable(error));
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        let mut state = self.output.at_turn(self.number, self.failure)?;
        let written = state.writer.write_all(self.text);
        drop(state);
        self.text.clear();
        written.map_err(|error| self.unwritable(error))
    }

    /// Writes the rest and lets the next chunk have its turn, unless writing failed.
    fn finish(mut self) -> Result<()> {
        self.write()?;
        let mut state = self.output.lock();
        let flushed = state.flush_if_awaited();
        state.turn += u64::from(flushed.is_ok());
        drop(state);
        self.output.turned.notify_all();
        flushed.map_err(|error| self.unwritable(error))
    }

    fn unwritable(&self, error: std::io::Error) -> Error {
        output_error(&self.output.target, "cannot write", error)
    }
}

/// Where the chunks come from, with their numbers.
enum Source<'a> {
    File(FileChunks<'a>),
    Stream(Mutex<(StreamChunks<'a>, u64)>),
}

impl Source<'_> {
    /// The next chunk; `None` at the end.
    fn next(&self, buffer: Buffer) -> Result<Option<(u64, Cut)>> {
        match self {
            Self::File(chunks) => match chunks.claim() {
                Some((number, start)) => Ok(Some((number, chunks.read_range(start, buffer)?))),
                None => chunks.finish().map(|()| None),
            },
            Self::Stream(shared) => {
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                let (chunks, number) = &mut *shared;
                let cut = chunks.next(buffer)?;
                *number += 1;
                Ok(cut.map(|cut| (*number - 1, cut)))
            }
        }
    }
}

/// Reads all lines of `input` in order, handing them in batches to workers that `new_worker` makes,
/// one per thread, which write to `writer`.
///
/// # Errors
/// The first failure of reading, working or writing.
pub(crate) fn scan_in_order<W: OrderedWorker>(
    run: &Run<'_>,
    phase: &Phase<'_>,
    input: &Input,
    output: &OrderedOutput<'_>,
    new_worker: impl Fn() -> W + Sync,
) -> Result<()> {
    let layout = &run.layout;
    let room = run.budget.split_off("long lines", layout.long_line_bytes)?;
    output.lock().turn = 0;
    let failure = FirstFailure::default();
    let tally = Tally::new(run, phase, input, &failure);
    let long_lines = LongLines::new(room, layout, run.interrupt(), &failure);
    let rules = ChunkRules {
        format: run.options.format,
        chunk_bytes: chunk_bytes(run, input),
        long_lines: &long_lines,
    };
    let stop = || failure.check().and_then(|()| run.interrupt().check());
    let waiting = |is_waiting| output.set_awaited(is_waiting);
    let source = match input.open_file()? {
        Some((file, size)) => {
            let file = PositionedFile::new(file, size, input.is_warm());
            Source::File(FileChunks::new(input, file, rules))
        }
        None => {
            let stream = StoppableStream::new(input.take_stream()?, &stop);
            let stream = stream.promptly(rules.format.terminator, &waiting);
            let chunks = StreamChunks::new(input, stream, rules, &run.budget)?;
            Source::Stream(Mutex::new((chunks, 0)))
        }
    };
    run.workers.run(&failure, |found_work| {
        let reading = (&source, rules.chunk_bytes);
        work(&tally, reading, output, found_work, new_worker())
    });
    drop(source);
    let counts = tally.finish();
    drop(long_lines);
    failure.into_result()?;
    counts.check_and_note(input)
}

/// Chunks of a cached file stay in a core's cache; what comes from a disk comes in larger ones.
fn chunk_bytes(run: &Run<'_>, input: &Input) -> u64 {
    let largest = run.layout.chunk_bytes;
    if input.is_warm() {
        largest.min(WARM_CHUNK)
    } else {
        largest
    }
}

/// What an ordered scan takes beyond what the layout has for reading.
pub(crate) fn beyond_scan_bytes(layout: &Layout) -> u64 {
    let pieces = 2 * layout.workers as u64 + 1;
    (pieces * ChunkRules::buffer_bytes(layout.chunk_bytes) + layout.long_line_bytes)
        .saturating_sub(layout.scan_bytes())
}

/// A worker thread.
fn work(
    tally: &Tally<'_>,
    (source, chunk_bytes): (&Source<'_>, u64),
    output: &OrderedOutput<'_>,
    found_work: &dyn Fn(),
    mut worker: impl OrderedWorker,
) -> Result<()> {
    let budget = &tally.run.budget;
    let bytes = ChunkRules::buffer_bytes(chunk_bytes);
    let mut buffer = Buffer::new(budget, "chunk buffers", bytes)?;
    let _for_text = budget.reserve("answers", chunk_bytes)?;
    let mut text = Vec::with_capacity(chunk_bytes as usize);
    let mut hashes = Vec::new();
    loop {
        tally.failure.check()?;
        let Some((number, cut)) = source.next(buffer)? else {
            return Ok(());
        };
        found_work();
        let output = ChunkOutput {
            output,
            failure: tally.failure,
            number,
            text: &mut text,
        };
        let mut writing = Writing {
            worker: &mut worker,
            output,
        };
        buffer = match cut.pooled {
            Pooled::Lines(chunk) => {
                tally.work(&chunk, &mut hashes, &mut writing)?;
                chunk.into_buffer()
            }
            Pooled::Spare(buffer) => buffer,
        };
        if let Some(long_line) = cut.long_line {
            tally.work(&long_line, &mut hashes, &mut writing)?;
        }
        writing.output.finish()?;
    }
}

/// A worker with the slip of its chunk.
struct Writing<'a, 'w, 'k, W> {
    worker: &'k mut W,
    output: ChunkOutput<'a, 'w>,
}

impl<W: OrderedWorker> Worker for Writing<'_, '_, '_, W> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        self.worker.work(batch, &mut self.output)
    }
}
