//! Scanning an input: reader threads fill chunks, workers go through their lines.
//!
//! ```text
//!  reader ──chunk──▶ bounded channel ──▶ worker: lines, hashes, batch ──▶ work
//!     ▲                                     │
//!     └────────────── empty buffer ◀────────┘
//! ```
//!
//! *Owns:* the threads' hand-over. Workers are the run's rayon threads, so `--threads` bounds the
//! computing; readers mostly wait for the disk.
//!
//! *Invariants.*
//! - Every line of the input reaches `work` exactly once, in some batch, unless the scan fails.
//! - After the first failure readers stop and workers only return buffers, so no thread waits for
//!   ever.
//! - The bytes of all chunks are the size of the file, and the file is the one that was checked, or
//!   the scan fails.
//!
//! *Cost:* the chunk buffers of the plan's layout, granted by the budget for the time of the scan.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded};

use crate::address;
use crate::batch::{Batch, for_each_batch};
use crate::budget::MemoryBudget;
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::failure::{FirstFailure, PanicAlarm};
use crate::hash::LineHasher;
use crate::input::Input;
use crate::input::chunk::{Chunk, ChunkRules, Cut, FileChunks};
use crate::input::file::PositionedFile;
use crate::input::long_lines::LongLines;
use crate::input::stream::StreamChunks;
use crate::run::{Phase, Run, STACK_BYTES, no_thread};

/// How often a waiting thread looks whether another has failed.
const LOOK_UP: Duration = Duration::from_millis(50);

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
    let layout = &run.plan.layout;
    let failure = FirstFailure::default();
    let (lines, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let long_budget = run.budget.share("long lines", layout.long_line_bytes)?;
    let long_lines = LongLines::new(long_budget, layout.memory_bytes, &failure);
    let rules = ChunkRules {
        format: run.options.format,
        chunk_bytes: layout.chunk_bytes,
        long_lines: &long_lines,
    };
    let source = ChunkSource::open(input, rules, &run.budget)?;
    let (full_sender, full) = bounded(layout.chunk_buffers);
    let (empty_sender, empty) = bounded(layout.chunk_buffers);
    for _ in 0..layout.chunk_buffers {
        let buffer = Buffer::new(
            &run.budget,
            "chunk buffers",
            ChunkRules::buffer_bytes(layout.chunk_bytes),
        )?;
        // The channel has room for all of them.
        let _has_room = empty_sender.send(buffer);
    }
    let worker_view = WorkerView {
        full: &full,
        empty: &empty_sender,
        failure: &failure,
        run,
        input,
        phase,
        lines: &lines,
        bytes: &bytes,
    };
    std::thread::scope(|scope| {
        let threads = source.threads(layout.readers);
        for (number, source) in source.into_readers(threads).into_iter().enumerate() {
            let reader = ReaderView {
                full: full_sender.clone(),
                empty: &empty,
                empty_sender: &empty_sender,
                failure: &failure,
            };
            std::thread::Builder::new()
                .name(format!("read-{number}"))
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, move || {
                    let _alarm = PanicAlarm(reader.failure);
                    reader.failure.keep(reader.read_all(source));
                })
                .map_err(|error| failure.note(no_thread(error)))
                .ok();
        }
        // The channel of full chunks is closed when the last reader is done.
        drop(full_sender);
        run.workers
            .broadcast(|_| worker_view.work_all(new_worker()));
    });
    drop(empty);
    drop(long_lines);
    failure.into_result()?;
    let (lines, bytes) = (lines.into_inner(), bytes.into_inner());
    check_size(input, bytes)?;
    input.note_reading(lines, bytes);
    Ok(())
}

fn check_size(input: &Input, read: u64) -> Result<()> {
    match input.bytes() {
        Some(size) if size != read => Err(Error::InputChanged {
            path: input.name().to_owned(),
            what: format!("{read} of {size} bytes were read"),
        }),
        _ => Ok(()),
    }
}

/// Where the chunks of an input come from.
enum ChunkSource<'i> {
    File(std::sync::Arc<FileChunks<'i>>),
    Stream(StreamChunks<'i>),
}

impl<'i> ChunkSource<'i> {
    fn open(input: &'i Input, rules: ChunkRules<'i>, budget: &MemoryBudget) -> Result<Self> {
        Ok(match input.open_file()? {
            Some((file, size)) => {
                let file = PositionedFile::new(file, size);
                Self::File(std::sync::Arc::new(FileChunks::new(input, file, rules)))
            }
            None => Self::Stream(StreamChunks::new(
                input,
                input.take_stream()?,
                rules,
                budget,
            )?),
        })
    }

    /// A stream has an order, and so one reader.
    fn threads(&self, wanted: usize) -> usize {
        if matches!(self, Self::File(_)) {
            wanted
        } else {
            1
        }
    }

    fn into_readers(self, threads: usize) -> Vec<Self> {
        match self {
            Self::File(chunks) => (0..threads).map(|_| Self::File(chunks.clone())).collect(),
            stream @ Self::Stream(_) => vec![stream],
        }
    }
}

/// What a reader thread sees.
struct ReaderView<'a> {
    full: Sender<Chunk>,
    empty: &'a Receiver<Buffer>,
    empty_sender: &'a Sender<Buffer>,
    failure: &'a FirstFailure,
}

impl ReaderView<'_> {
    fn read_all(&self, source: ChunkSource<'_>) -> Result<()> {
        match source {
            ChunkSource::File(chunks) => {
                while let Some(start) = chunks.claim() {
                    self.pass_on(chunks.read_range(start, self.take_buffer()?)?)?;
                }
                chunks.finish()
            }
            ChunkSource::Stream(mut chunks) => {
                while let Some(cut) = chunks.next(self.take_buffer()?)? {
                    self.pass_on(cut)?;
                }
                Ok(())
            }
        }
    }

    fn pass_on(&self, cut: Cut) -> Result<()> {
        if let Some(buffer) = cut.spare {
            // There are never more buffers than the channel has room for.
            let _has_room = self.empty_sender.send(buffer);
        }
        for chunk in [cut.lines, cut.long_line].into_iter().flatten() {
            self.send(chunk)?;
        }
        Ok(())
    }

    fn take_buffer(&self) -> Result<Buffer> {
        loop {
            self.failure.check()?;
            match self.empty.recv_timeout(LOOK_UP) {
                Ok(buffer) => return Ok(buffer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Interrupted),
            }
        }
    }

    fn send(&self, mut chunk: Chunk) -> Result<()> {
        loop {
            self.failure.check()?;
            match self.full.send_timeout(chunk, LOOK_UP) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Timeout(back)) => chunk = back,
                Err(SendTimeoutError::Disconnected(_)) => return Err(Error::Interrupted),
            }
        }
    }
}

/// What a worker thread sees.
struct WorkerView<'a> {
    full: &'a Receiver<Chunk>,
    empty: &'a Sender<Buffer>,
    failure: &'a FirstFailure,
    run: &'a Run<'a>,
    input: &'a Input,
    phase: &'a Phase<'a>,
    lines: &'a AtomicU64,
    bytes: &'a AtomicU64,
}

impl WorkerView<'_> {
    fn work_all(&self, mut worker: impl Worker) {
        let _alarm = PanicAlarm(self.failure);
        let hasher = self.run.hasher;
        let mut hashes = Vec::new();
        for chunk in self.full {
            if !self.failure.has_failed() {
                let worked = self
                    .run
                    .interrupt()
                    .check()
                    .and_then(|()| self.work_chunk(&chunk, &hasher, &mut hashes, &mut worker));
                self.failure.keep(worked);
            }
            if chunk.is_pooled {
                let _has_room = self.empty.send(chunk.into_buffer());
            }
        }
        if !self.failure.has_failed() {
            self.failure.keep(worker.finish());
        }
    }

    fn work_chunk(
        &self,
        chunk: &Chunk,
        hasher: &LineHasher,
        hashes: &mut Vec<u64>,
        worker: &mut impl Worker,
    ) -> Result<()> {
        let bytes = chunk.bytes();
        let lines = self.run.options.format.lines(bytes);
        let count = for_each_batch(lines, hasher, hashes, |batch| {
            if self.run.is_ipv4() {
                address::check_all(batch, chunk, self.input)?;
            }
            worker.work(batch).map(|()| true)
        })?;
        self.lines.fetch_add(count, Ordering::Relaxed);
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.phase.advance(bytes.len() as u64, count);
        Ok(())
    }
}
