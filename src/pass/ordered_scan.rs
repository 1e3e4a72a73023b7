//! Scanning an input so that what is written about its lines comes in their order.
//!
//! *Owns:* who may write when. Workers read chunks one after the other, work on them at the same time,
//! and write one after the other again, in the order in which the chunks were read: a chunk's number is its ticket.
//!
//! ```text
//!  worker 1   read 0 │ work 0      │ write 0 │ read 2 │ work 2 │ wait │ write 2
//!  worker 2           read 1 │ work 1 │ wait │ write 1 │ read 3 │ work 3  │ ...
//!                                          ticket: 0 ──▶ 1 ──▶ 2 ──▶ 3
//! ```
//!
//! 1. A worker takes the next chunk and its number from the [`Reading`]. For a long line that finds no room in what is
//!    set apart for it, it waits until `ticket` is its number.
//! 2. It goes through the lines. What there is to write collects in its own text, as large as a chunk.
//! 3. When the text is full, or the chunk is done, it waits until `ticket` is its number, and writes.
//! 4. At the end of the chunk it raises `ticket` by one and wakes the others.
//!
//! *Invariants.*
//! - What is written about a line comes after what is written about the lines before it.
//! - The worker of the first chunk that is not done never waits for another, so none waits for
//!   ever; after a failure all leave.
//! - From a pipe lines are taken as they come, and answered before the next ones are waited for.
//!
//! *Cost:* a chunk buffer for each worker, and as much text where workers write. Reading is not ahead of the work, as
//! it is in [`scan`](crate::pass::scan::scan).

use std::io::Write;

use crate::batch::{Batch, Scratch};
use crate::error::Result;
use crate::input::Input;
use crate::memory::buffer::{Buffer, PAGE};
use crate::output::output_error;
use crate::pass::scan;
use crate::pass::scan_state::{ScanState, Worker};
use crate::plan::Layout;
use crate::reading::chunk::ChunkRules;
use crate::reading::failure::LocatedFailure;
use crate::reading::long_lines::{ChunkOrder, LongLines};
use crate::reading::{Reading, ReadingRules};
use crate::run::{Phase, Run};
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::{Condvar, Mutex, MutexGuard};

/// Bytes of text for each line that may wait with it: of shorter lines fewer wait.
const BYTES_OF_A_LINE: usize = 16;

/// The work of each worker of an ordered scan.
pub(crate) trait OrderedWorker {
    /// True if it goes by the hashes of lines.
    const NEEDS_HASHES: bool = true;
    /// True if it goes by the places of lines alone, as [`Worker::REWRITES`] says.
    const REWRITES: bool = false;
    /// True if it writes text; else it hands its batches over.
    const WRITES: bool = true;

    /// Works on a batch of lines, and writes to `output` what there is to say of them, in order.
    fn work(&mut self, batch: Batch<'_>, output: &mut ChunkOutput<'_, '_>) -> Result<()>;
}

/// The place that an ordered scan writes to: one thread at a time. It takes text, lines, or batches, as the workers do
/// their work.
pub(crate) trait Destination: Send {
    /// Writes `text`. If it is of whole lines, `ends` says where each ends, before its terminator.
    ///
    /// # Errors
    /// Those of the output.
    fn write(&mut self, text: &[u8], ends: &[usize]) -> Result<()>;

    /// Writes a line that comes alone, without its terminator.
    ///
    /// # Errors
    /// Those of the output.
    fn write_line(&mut self, line: &[u8]) -> Result<()>;

    /// Takes a batch of lines, to do with them what must be done in their order.
    ///
    /// # Errors
    /// Those of the output.
    fn take(&mut self, _batch: Batch<'_>) -> Result<()> {
        Ok(())
    }

    /// Hears where the chunk begins that what comes next is about: the ordinal of its first byte, if the input has
    /// ordinals.
    ///
    /// # Errors
    /// Those of the output.
    fn begin(&mut self, _ordinal: u64) -> Result<()> {
        Ok(())
    }

    /// Hands what was written to the system.
    ///
    /// # Errors
    /// Those of the output.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A writer that takes text as it comes.
struct TextDestination<'w> {
    writer: &'w mut (dyn Write + Send),
    /// The name of the output in messages: a path, or "standard output".
    target: String,
}

impl Destination for TextDestination<'_> {
    fn write(&mut self, text: &[u8], _ends: &[usize]) -> Result<()> {
        let written = self.writer.write_all(text);
        written.map_err(|error| output_error(&self.target, "cannot write", error))
    }

    fn write_line(&mut self, line: &[u8]) -> Result<()> {
        self.write(line, &[])
    }

    fn flush(&mut self) -> Result<()> {
        let flushed = self.writer.flush();
        flushed.map_err(|error| output_error(&self.target, "cannot write", error))
    }
}

/// The output of an ordered scan. Several scans may write to one, one after the other.
pub(crate) struct OrderedOutput<'w> {
    state: Mutex<OutputState<'w>>,
    /// The signal that `ticket` has changed.
    ticket_changed: Condvar,
}

struct OutputState<'w> {
    destination: Box<dyn Destination + 'w>,
    /// The number of the chunk that may be written about: all before it are complete.
    ticket: u64,
    /// True if the other end of a pipe may be waiting for answers before it sends more lines. While it may,
    /// everything written is flushed at once.
    is_awaited: bool,
}

impl OutputState<'_> {
    /// Hands what was written to the system, if somebody may be waiting for it.
    fn flush_if_awaited(&mut self) -> Result<()> {
        if self.is_awaited {
            self.destination.flush()
        } else {
            Ok(())
        }
    }
}

impl<'w> OrderedOutput<'w> {
    /// Writes to `writer`, which messages call `target`.
    pub(crate) fn new(writer: &'w mut (dyn Write + Send), target: &str) -> Self {
        let target = target.to_owned();
        Self::into(TextDestination { writer, target })
    }

    /// Writes to `destination`.
    pub(crate) fn into(destination: impl Destination + 'w) -> Self {
        Self {
            state: Mutex::new(OutputState {
                destination: Box::new(destination),
                ticket: 0,
                is_awaited: false,
            }),
            ticket_changed: Condvar::new(),
        }
    }

    /// Notes that there is nothing to read, or something again. Where there is nothing, what was
    /// written must reach those who wait for it; and so must what is written until there is more.
    fn set_awaited(&self, is_awaited: bool) -> Result<()> {
        let mut state = self.state.lock();
        state.is_awaited = is_awaited;
        state.flush_if_awaited()
    }

    /// Returns the writer, once chunk `number` may write. It stays locked for as long as the caller holds it.
    ///
    /// # Errors
    /// When another thread has failed: the ticket might never come up.
    fn at_ticket(
        &self,
        number: u64,
        failure: &FirstFailure,
    ) -> Result<MutexGuard<'_, OutputState<'w>>> {
        let mut state = self.state.lock();
        while state.ticket != number {
            // The worker that has the ticket may have ended.
            failure.wait(&self.ticket_changed, &mut state)?;
        }
        Ok(state)
    }
}

/// The text that is to be written about one chunk.
pub(crate) struct ChunkOutput<'a, 'w> {
    output: &'a OrderedOutput<'w>,
    failure: &'a FirstFailure,
    /// The chunk's number, and so its ticket.
    number: u64,
    /// The ordinal of its first byte, if the input has ordinals.
    ordinal: u64,
    /// The text that is not written yet. Its capacity is that of a chunk, and it never grows beyond it: the worker
    /// writes when it is full.
    text: &'a mut Vec<u8>,
    /// The end of each line in `text`, if it is of whole lines.
    ends: &'a mut Vec<usize>,
}

impl<'w> ChunkOutput<'_, 'w> {
    /// Adds to what is written about the chunk.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if self.text.len() + bytes.len() > self.text.capacity() {
            self.write()?;
        }
        // What does not fit goes on as it is, without a copy.
        if bytes.len() > self.text.capacity() {
            return self.at_ticket()?.destination.write(bytes, &[]);
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    /// Adds a whole line, where nothing but whole lines is written.
    pub(crate) fn push_line(&mut self, line: &[u8], terminator: u8) -> Result<()> {
        let bytes = line.len() + 1;
        let is_full = self.ends.len() == self.ends.capacity();
        if is_full || self.text.len() + bytes > self.text.capacity() {
            self.write()?;
        }
        if bytes > self.text.capacity() {
            return self.at_ticket()?.destination.write_line(line);
        }
        self.text.extend_from_slice(line);
        self.ends.push(self.text.len());
        self.text.push(terminator);
        Ok(())
    }

    /// Waits for the chunk's ticket, and hands a batch of its lines over.
    pub(crate) fn hand_over(&mut self, batch: Batch<'_>) -> Result<()> {
        self.at_ticket()?.destination.take(batch)
    }

    /// Waits for the chunk's ticket.
    fn at_ticket(&self) -> Result<MutexGuard<'_, OutputState<'w>>> {
        let mut state = self.output.at_ticket(self.number, self.failure)?;
        state.destination.begin(self.ordinal)?;
        Ok(state)
    }

    /// Waits for the chunk's ticket and writes the text.
    fn write(&mut self) -> Result<()> {
        let mut state = self.at_ticket()?;
        let written = state.destination.write(self.text, self.ends);
        drop(state);
        self.text.clear();
        self.ends.clear();
        written
    }

    /// Writes the rest and lets the next chunk write, unless writing failed.
    fn finish(mut self) -> Result<()> {
        self.write()?;
        let mut state = self.output.state.lock();
        let flushed = state.flush_if_awaited();
        state.ticket += u64::from(flushed.is_ok());
        drop(state);
        self.output.ticket_changed.notify_all();
        flushed
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
    // Nothing else is held when lines are written again; a line that another pass had room for must have it here.
    let spare = if W::REWRITES {
        let available = run.budget.available_bytes();
        available.saturating_sub(2 * chunks_bytes(layout))
    } else {
        0
    };
    let room = run
        .budget
        .split_off("long lines", layout.scan.long_line_bytes.max(spare))?;
    output.state.lock().ticket = 0;
    let located = LocatedFailure::default();
    let failure = located.first();
    let turn_of = |number| output.at_ticket(number, failure).map(drop);
    let order = ChunkOrder {
        turn_of: &turn_of,
        ahead: run.budget.split_off("long lines", ahead_bytes(run))?,
    };
    let long_lines = LongLines::new(room, layout, run.interrupt(), &located)
        .copying_keys(input.copies_keys())
        .in_order(order);
    let state = ScanState::new(run, phase, input, &located, &long_lines);
    let chunks = ChunkRules {
        format: run.options.line_format(),
        chunk_bytes: input.chunk_bytes(layout.scan.chunk_bytes),
        long_lines: &long_lines,
        counts_lines: false,
        are_prefixed: state.are_prefixed(),
    };
    let stop = || failure.check().and_then(|()| run.interrupt().check());
    let waiting = |is_waiting| output.set_awaited(is_waiting);
    let rules = ReadingRules {
        chunks,
        budget: &run.budget,
        decoding: &run.decoding,
        space: run.space,
        lanes: 1,
        stop: &stop,
        waiting: Some(&waiting),
    };
    let reading = Reading::open(input, rules)?;
    run.workers.run(failure, |found_work| {
        work(&state, &reading, output, found_work, new_worker())
    });
    drop(reading);
    let are_prefixed = state.are_prefixed();
    let counts = state.finish();
    drop(long_lines);
    scan::end(run, input, located, are_prefixed)?;
    if W::REWRITES {
        // Records without a key were counted as others.
        counts.check(input)
    } else {
        counts.check_and_note(input)
    }
}

/// Returns the memory for long lines of chunks whose turn has not come, in bytes: half of what chunks, text and the
/// other long lines leave, for lines of a few chunks.
fn ahead_bytes(run: &Run<'_>) -> u64 {
    let chunks = chunks_bytes(&run.layout);
    let left = run.budget.available_bytes().saturating_sub(chunks);
    (left / 2).min(chunks) & !(PAGE - 1)
}

/// Returns the bytes that an ordered scan takes beyond what the layout has for reading.
pub(crate) fn beyond_scan_bytes(layout: &Layout) -> u64 {
    (chunks_bytes(layout) + layout.scan.long_line_bytes).saturating_sub(layout.scan.bytes())
}

/// Returns the memory for the chunks of an ordered scan, and for what is written about them, in bytes.
fn chunks_bytes(layout: &Layout) -> u64 {
    let (workers, chunk) = (layout.scan.workers as u64, layout.scan.chunk_bytes);
    (workers + 1) * ChunkRules::buffer_bytes(chunk) + workers * text_bytes(chunk)
}

/// Returns the memory for what is written about a chunk, in bytes, and for the ends of its lines.
fn text_bytes(chunk_bytes: u64) -> u64 {
    chunk_bytes + chunk_bytes * size_of::<usize>() as u64 / BYTES_OF_A_LINE as u64
}

/// Runs a worker thread: reads a chunk, works on it while others do the same with theirs, and writes when its ticket
/// comes.
fn work<W: OrderedWorker>(
    state: &ScanState<'_>,
    reading: &Reading<'_>,
    output: &OrderedOutput<'_>,
    found_work: &dyn Fn(),
    mut worker: W,
) -> Result<()> {
    let budget = &state.run.budget;
    let mut buffer = Buffer::new(budget, "chunk buffers", reading.buffer_bytes())?;
    let bytes = if W::WRITES { reading.chunk_bytes() } else { 0 };
    let _for_text = budget.reserve("answers", text_bytes(bytes))?;
    let bytes = bytes as usize;
    let mut text = Vec::with_capacity(bytes);
    let mut ends = Vec::with_capacity(bytes / BYTES_OF_A_LINE);
    let mut scratch = Scratch::default();
    let first_ordinal = state.input.first_ordinal().unwrap_or(0);
    state.failure.check()?;
    while let Some((number, cut)) = reading.next(buffer)? {
        found_work();
        let output = ChunkOutput {
            output,
            failure: state.failure,
            number,
            ordinal: first_ordinal + cut.position(),
            text: &mut text,
            ends: &mut ends,
        };
        let mut writing = ChunkWriting {
            worker: &mut worker,
            output,
        };
        buffer = state.work_on(cut, &mut scratch, &mut writing)?;
        writing.output.finish()?;
        state.failure.check()?;
    }
    Ok(())
}

/// A worker with the output of the chunk that it works on.
struct ChunkWriting<'a, 'w, 'k, W> {
    worker: &'k mut W,
    output: ChunkOutput<'a, 'w>,
}

impl<W: OrderedWorker> Worker for ChunkWriting<'_, '_, '_, W> {
    const NEEDS_HASHES: bool = W::NEEDS_HASHES;
    const REWRITES: bool = W::REWRITES;

    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        self.worker.work(batch, &mut self.output)
    }
}
