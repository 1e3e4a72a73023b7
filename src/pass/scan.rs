//! Scanning an input: every line once, hashed, in batches, on all worker threads.
//!
//! *Owns:* the choice between two ways of reading. A file that is in the page cache is read by the
//! workers themselves, in chunks that are still in a core's cache when their lines are read; so is one of which
//! each worker can decode a piece. What comes from a disk or a pipe is read ahead by reader threads, on a [`Belt`].
//! Workers are the run's ([`Workers`](crate::sys::threads::Workers)), so `--threads` bounds the computing.
//!
//! 1. The thread that calls [`scan`] opens the input again and checks that it is still the same.
//! 2. It starts the first worker. A worker starts the next one when it has found a chunk, so there are no
//!    more than there is work for.
//! 3. Each worker makes its own state with `new_worker`, and takes chunks until there are none: of a cached
//!    file by claiming the next range and reading it, else from the readers' channel.
//! 4. It cuts a chunk into lines, hashes them in batches and hands each batch to [`Worker::work`].
//! 5. After its last chunk it calls [`Worker::finish`]. The calling thread waits for all workers, then
//!    compares what was read with the size of the file.
//!
//! The first failure of any thread stops the others at their next chunk, and is what [`scan`] returns.
//!
//! *Invariants.*
//! - Every line of the input reaches a worker exactly once, in some batch, unless the scan fails.
//! - The bytes of all chunks are the size of the file, and the file is the one that was checked, or
//!   the scan fails.
//!
//! *Cost:* the chunk buffers of the plan's layout, granted by the budget for the time of the scan.

use crate::batch::Scratch;
use crate::error::Result;
use crate::input::Input;
use crate::input::byte_reader::PieceOpening;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::pass::scan_state::ScanState;
pub(crate) use crate::pass::scan_state::Worker;
use crate::reading::chunk::{Chunk, ChunkRules, Pooled};
use crate::reading::failure::LocatedFailure;
use crate::reading::long_lines::LongLines;
use crate::reading::{Reading, ReadingRules};
use crate::run::{Phase, Run};
use crate::sys::belt::{Belt, Filled, Producer};
use crate::sys::failpoint::fail_point;

/// Reads all lines of `input`, handing them in batches to workers that `new_worker` makes, one per
/// thread. The input notes how many there were.
///
/// # Errors
/// The first failure of reading or working.
pub(crate) fn scan<W: Worker>(
    run: &Run<'_>,
    phase: &Phase<'_>,
    input: &Input,
    new_worker: impl Fn() -> W + Sync,
) -> Result<()> {
    let room = run
        .budget
        .split_off("long lines", run.layout.scan.long_line_bytes)?;
    scan_in(run, phase, input, room, new_worker)
}

/// Works as [`scan`], with what `spare` has left for long lines where that is more than the plan's room for them.
/// Nothing else must want it during the scan.
pub(crate) fn scan_with_room<W: Worker>(
    run: &Run<'_>,
    phase: &Phase<'_>,
    input: &Input,
    spare: &MemoryBudget,
    new_worker: impl Fn() -> W + Sync,
) -> Result<()> {
    let left = spare.available_bytes();
    if left <= run.layout.scan.long_line_bytes {
        return scan(run, phase, input, new_worker);
    }
    scan_in(
        run,
        phase,
        input,
        spare.split_off("long lines", left)?,
        new_worker,
    )
}

/// Runs a scan whose long lines have `long_budget`. In the order of the steps in the module's head.
fn scan_in<W: Worker>(
    run: &Run<'_>,
    phase: &Phase<'_>,
    input: &Input,
    long_budget: MemoryBudget,
    new_worker: impl Fn() -> W + Sync,
) -> Result<()> {
    let layout = &run.layout;
    let located = LocatedFailure::default();
    let long_lines = LongLines::new(long_budget, layout, run.interrupt(), &located)
        .copying_keys(input.copies_keys());
    let state = ScanState::new(run, phase, input, &located, &long_lines);
    let chunks = ChunkRules {
        format: run.options.line_format(),
        chunk_bytes: input.chunk_bytes(layout.scan.chunk_bytes),
        long_lines: &long_lines,
        counts_lines: run.line_numbers.is_some() && W::KEEPS_ORDINALS,
        are_prefixed: state.are_prefixed(),
    };
    let failure = located.first();
    // A silent pipe must not keep a run from ending: reading asks this while it waits.
    let stop = || failure.check().and_then(|()| run.interrupt().check());
    let rules = ReadingRules {
        chunks,
        budget: &run.budget,
        decoding: &run.decoding,
        space: run.space,
        lanes: layout.scan.lanes,
        stop: &stop,
        waiting: None,
    };
    let reading = Reading::open(input, rules)?;
    if reading.is_read_by_workers() {
        run.workers.run(failure, |found_work| {
            state.read_and_work(&reading, found_work, new_worker())
        });
    } else {
        read_ahead(&state, &reading, new_worker);
    }
    // All of them borrow `located`, which is about to be taken apart. What they had of memory is free again.
    drop(reading);
    let are_prefixed = state.are_prefixed();
    let counts = state.finish();
    drop(long_lines);
    end(run, input, located, are_prefixed)?;
    counts.check_and_note(input)
}

impl Filled for Chunk {
    type Buffer = Buffer;

    fn into_spare(self) -> Option<Buffer> {
        self.is_pooled.then(|| self.into_buffer())
    }
}

/// Goes through all chunks of `reading` on the run's workers, while reader threads read ahead. Failures are noted in
/// `state`.
fn read_ahead<W: Worker>(
    state: &ScanState<'_>,
    reading: &Reading<'_>,
    new_worker: impl Fn() -> W + Sync,
) {
    let run = state.run;
    let belt = Belt {
        buffers: run.layout.scan.chunk_buffers,
        readers: reading.readers(run.layout.scan.readers),
        workers: run.workers,
        failure: state.failure,
    };
    let new_buffer = || Buffer::new(&run.budget, "chunk buffers", reading.buffer_bytes());
    let read = |workers: &Producer<'_, Chunk>| {
        fail_point!("read-thread");
        while let Some((_, cut)) = reading.next(workers.take(new_buffer)?)? {
            match cut.pooled {
                Pooled::Lines(chunk) => workers.send(chunk)?,
                Pooled::Spare(buffer) => workers.put(buffer),
            }
            // What does not fit a buffer comes after the lines in it, with a buffer of its own.
            cut.long_line.map_or(Ok(()), |line| workers.send(line))?;
        }
        Ok(())
    };
    belt.run(&read, &|chunks| {
        let (mut worker, mut scratch) = (new_worker(), Scratch::default());
        chunks.each(|chunk| state.work(chunk, &mut scratch, &mut worker))?;
        worker.finish()
    });
}

/// Returns the failure of a scan whose threads have ended, if it failed. Where its line is, is told in bytes as they
/// were read: of lines that `are_prefixed`, or of text.
pub(super) fn end(
    run: &Run<'_>,
    input: &Input,
    failure: LocatedFailure,
    are_prefixed: bool,
) -> Result<()> {
    let opening = PieceOpening {
        terminator: run.options.format.terminator,
        stop: &|| run.interrupt().check(),
        budget: run.decoding.clone(),
        are_prefixed,
    };
    failure.into_result(input, &opening)
}
