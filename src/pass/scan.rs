//! Scanning an input: every line once, hashed, in batches, on all worker threads.
//!
//! *Owns:* the choice between two ways of reading. A file that is in the page cache is read by the
//! workers themselves, in chunks that are still in a core's cache when their lines are gone
//! through. What comes from a disk or a pipe is read ahead by reader threads ([`pipeline`]).
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

use std::sync::atomic::{AtomicU64, Ordering};

use crate::batch::{Batch, for_each_batch};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::input::chunk::{Chunk, ChunkRules, FileChunks, Pooled};
use crate::input::file::PositionedFile;
use crate::input::long_lines::LongLines;
use crate::input::stream::{StoppableStream, StreamChunks};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::pass::pipeline::{ChunkSource, pipeline};
use crate::run::{Phase, Run};
use crate::set::addresses;
use crate::sys::failpoint::fail_point;
use crate::sys::first_error::FirstFailure;

/// Chunks of a file in the page cache: they and the tables of a batch fit the second-level cache.
pub(super) const WARM_CHUNK: u64 = 256 << 10;

/// What each worker of a scan has for itself.
pub(crate) trait Worker {
    /// Works on a batch of lines.
    fn work(&mut self, batch: Batch<'_>) -> Result<()>;

    /// Is called once, after the worker's last batch of a scan that has not failed.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

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
        .split_off("long lines", run.layout.long_line_bytes)?;
    scan_in(run, phase, input, room, new_worker)
}

/// As [`scan`], with what `spare` has left for long lines where that is more than the plan's room
/// for them. Nothing else must want it during the scan.
pub(crate) fn scan_with_room<W: Worker>(
    run: &Run<'_>,
    phase: &Phase<'_>,
    input: &Input,
    spare: &MemoryBudget,
    new_worker: impl Fn() -> W + Sync,
) -> Result<()> {
    let left = spare.available_bytes();
    if left <= run.layout.long_line_bytes {
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

fn scan_in<W: Worker>(
    run: &Run<'_>,
    phase: &Phase<'_>,
    input: &Input,
    long_budget: MemoryBudget,
    new_worker: impl Fn() -> W + Sync,
) -> Result<()> {
    let layout = &run.layout;
    let failure = FirstFailure::default();
    let tally = Tally::new(run, phase, input, &failure);
    let long_lines = LongLines::new(long_budget, layout, run.interrupt(), &failure);
    let (format, chunk_bytes) = (run.options.format, layout.chunk_bytes);
    let rules = ChunkRules {
        format,
        chunk_bytes,
        long_lines: &long_lines,
    };
    match input.open_file()? {
        Some((file, size)) => {
            let file = PositionedFile::new(file, size, input.is_warm());
            if file.is_warm() {
                let rules = ChunkRules {
                    chunk_bytes: chunk_bytes.min(WARM_CHUNK),
                    ..rules
                };
                let chunks = FileChunks::new(input, file, rules);
                run.workers.run(&failure, |found_work| {
                    tally.read_and_work(&chunks, found_work, new_worker())
                });
            } else {
                let chunks = FileChunks::new(input, file, rules);
                pipeline(&tally, ChunkSource::File(&chunks), new_worker);
            }
        }
        None => {
            let stop = || failure.check().and_then(|()| run.interrupt().check());
            let file = StoppableStream::new(input.take_stream()?, &stop);
            let stream = StreamChunks::new(input, file, rules, &run.budget)?;
            pipeline(&tally, ChunkSource::Stream(stream), new_worker);
        }
    }
    let counts = tally.finish();
    drop(long_lines);
    failure.into_result()?;
    counts.check_and_note(input)
}

/// Fails on the first line of the batch that is no IPv4 address.
fn check_addresses(batch: Batch<'_>, chunk: &Chunk, input: &Input) -> Result<()> {
    /// As much of the line as a message shows, in bytes.
    const SHOWN: usize = 40;
    match batch
        .lines
        .iter()
        .find(|line| addresses::parse(line).is_none())
    {
        None => Ok(()),
        Some(line) => Err(Error::NotAnAddress {
            path: input.name().to_owned(),
            offset: chunk.offset_of(line),
            line: line[..line.len().min(SHOWN)].escape_ascii().to_string(),
        }),
    }
}

/// What a scan has read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    lines: u64,
    bytes: u64,
}

impl Counts {
    /// Compares what was read with the size of the file, and lets the input note it.
    pub(super) fn check_and_note(self, input: &Input) -> Result<()> {
        if let Some(size) = input.bytes().filter(|&size| size != self.bytes) {
            return Err(Error::InputChanged {
                path: input.name().to_owned(),
                what: format!("{} of {size} bytes were read", self.bytes),
            });
        }
        input.note_reading(self.lines, self.bytes);
        Ok(())
    }
}

/// What all threads of a scan share: what it is about, and what was counted.
pub(super) struct Tally<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) failure: &'a FirstFailure,
    phase: &'a Phase<'a>,
    input: &'a Input,
    lines: AtomicU64,
    bytes: AtomicU64,
}

impl<'a> Tally<'a> {
    pub(super) fn new(
        run: &'a Run<'a>,
        phase: &'a Phase<'a>,
        input: &'a Input,
        failure: &'a FirstFailure,
    ) -> Self {
        Self {
            run,
            failure,
            phase,
            input,
            lines: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// What was counted.
    pub(super) fn finish(self) -> Counts {
        Counts {
            lines: self.lines.into_inner(),
            bytes: self.bytes.into_inner(),
        }
    }

    /// A worker thread that reads its chunks itself.
    fn read_and_work(
        &self,
        chunks: &FileChunks<'_>,
        found_work: &dyn Fn(),
        mut worker: impl Worker,
    ) -> Result<()> {
        let layout = &self.run.layout;
        let bytes = ChunkRules::buffer_bytes(layout.chunk_bytes.min(WARM_CHUNK));
        let mut buffer = Buffer::new(&self.run.budget, "chunk buffers", bytes)?;
        let mut hashes = Vec::new();
        while let Some((_, start)) = chunks.claim() {
            self.failure.check()?;
            found_work();
            let cut = chunks.read_range(start, buffer)?;
            buffer = match cut.pooled {
                Pooled::Lines(chunk) => {
                    self.work(&chunk, &mut hashes, &mut worker)?;
                    chunk.into_buffer()
                }
                Pooled::Spare(buffer) => buffer,
            };
            if let Some(long_line) = cut.long_line {
                self.work(&long_line, &mut hashes, &mut worker)?;
            }
        }
        chunks.finish()?;
        worker.finish()
    }

    /// Goes through the lines of a chunk.
    pub(super) fn work(
        &self,
        chunk: &Chunk,
        hashes: &mut Vec<u64>,
        worker: &mut impl Worker,
    ) -> Result<()> {
        fail_point!("work");
        self.run.interrupt().check()?;
        let bytes = chunk.bytes();
        let lines = self.run.options.format.lines(bytes);
        let count = for_each_batch(lines, &self.run.hasher, hashes, |batch| {
            if self.run.is_ipv4() {
                check_addresses(batch, chunk, self.input)?;
            }
            worker.work(batch).map(|()| true)
        })?;
        self.lines.fetch_add(count, Ordering::Relaxed);
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.phase.advance(bytes.len() as u64, count);
        Ok(())
    }
}
