//! The answer: lines that many threads find, on their way to one sink.
//!
//! *Owns:* collecting lines from many threads into one sink ([`Collector`], [`Outbox`]), and putting them in the order
//! that was asked for ([`sorter`], [`kept`], [`row_bits`]); and the end of one that is read while it is written
//! ([`tail`]).
//!
//! ```text
//!  any order:
//!  work-0 ─ push ─▶ Outbox ─┐ 64 KiB
//!  work-1 ─ push ─▶ Outbox ─┼─ flush ─▶ Collector: one lock ─▶ Sink, the caller's
//!  work-2 ─ push ─▶ Outbox ─┘                                   │ the command's:
//!                                                               ▼
//!                               OutputWriter ─ 256 KiB ─▶ threads `result-N` ─▶ OutputFile
//!  in order:
//!  work-N ─ push ─▶ Outbox ─▶ Sorter ─ merge, when the strategy is done ─▶ Outbox ─▶ Collector ─▶ Sink
//!  in order, where buckets are ranges of lines:
//!  work-N ─ push ─▶ Outbox ─▶ RangeBuffer ─ sorted, when it is the turn of its range ─▶ Collector ─▶ Sink
//!  in the order of files that can be read once more:
//!  work-N ─ push ─▶ Outbox ─▶ KeptLines: where it is     a last pass asks it about each line ─▶ Collector ─▶ Sink
//!  numbers of rows in order:
//!  work-N ─ push ─▶ Outbox ─▶ RowBits ─ numbers, when the strategy is done ─▶ Collector ─▶ Sink
//! ```
//!
//! A sink may ask for an answer divided by the files that its lines come from: the collector, which gets the lines in
//! order then, tells it when the next file begins ([`files`]).
//!
//! *Invariants.*
//! - A sink is called by one thread at a time, once for each line of the result. The thread may be another one each
//!   time.
//! - After its first error a sink is not called again.
//! - Where an order is asked for, the sink gets no line before the strategy is done; unless the strategy writes in that
//!   order.
//!
//! *Cost:* one lock per 64 KiB of result and thread. A slow sink stops the workers: they wait for the lock, so
//! no more than an outbox per worker is ever stored. The engine pushes (rather than being iterated)
//! because its lines come from many threads and live in buffers that are reused. For an order: [`sorter`],
//! [`row_bits`].

mod cell_bits;
pub(crate) mod entry;
mod files;
mod groups;
mod kept;
mod key_order;
mod line_numbers;
mod merge;
mod ordinal_set;
mod outbox;
mod ranges;
mod row_bits;
mod rules;
mod run_reader;
mod run_writer;
mod runs;
mod sort_buffer;
mod sorted_run;
mod sorter;
mod source;
pub(crate) mod tail;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use self::entry::Entry;
pub(crate) use self::files::AnswerFiles;
use self::groups::LargestGroups;
pub(crate) use self::kept::KeptLines;
pub(crate) use self::line_numbers::{LineNumbers, PieceLines};
pub(crate) use self::outbox::Outbox;
pub(crate) use self::ranges::RangeSorter;
pub(crate) use self::row_bits::RowBits;
pub(crate) use self::rules::{KEPT_LINES, SortRules};
pub(crate) use self::sorter::Sorter;
use crate::error::{Error, Result};
use crate::memory::budget::MemoryBudget;
use crate::output::{Rereadable, Sink, output_error};
use crate::record::BYTE_ORDER_MARK;
use crate::stats::{FileStats, GroupStats, OutputStats};
use crate::sys::sync::Mutex;

/// The bytes of lines that are passed on between two reports: to report each short line takes as long as to pass it on.
const BYTES_PER_ADVANCE: u64 = 64 << 10;

/// Collects lines from several threads into one sink and counts them. Each thread has an [`Outbox`] for it.
pub(crate) struct Collector<'s> {
    /// The sink's terminator.
    terminator: u8,
    /// One sink for all attempts of a run.
    shared: Arc<Mutex<CollectorState<'s>>>,
    /// The place of this attempt's lines until their order is known.
    holding: Holding<'s>,
    /// The byte that ends the number that records begin with, if that number alone is the answer.
    row_number_end: Option<u8>,
    /// True if the sink is told of the files that the lines come from.
    is_divided: bool,
    /// The numbers of lines, if it is told which were dropped.
    line_numbers: Option<Arc<LineNumbers>>,
    /// Lines that outboxes have taken, whether they have reached the sink or wait to be put in order.
    found: AtomicU64,
    /// The lines that came most often, of those that outboxes have flushed.
    groups: Mutex<LargestGroups>,
}

/// The place of lines between an outbox and the sink.
pub(crate) enum Holding<'s> {
    /// None: any order will do.
    Nothing,
    /// The lines wait in buffers and runs.
    Sorter(Sorter<'s>),
    /// Nothing but where the lines stand is kept: a last pass writes them.
    Kept(Arc<KeptLines>),
    /// Nothing but the numbers of rows is kept, which are the lines.
    Rows(RowBits),
}

/// The state that the lock guards. It is held while the sink works.
struct CollectorState<'s> {
    sink: &'s mut dyn Sink,
    /// Lines and bytes that the sink has accepted; each line counts one byte more, for its terminator.
    written: OutputStats,
    /// The files that the lines come from, if the sink is told of them.
    files: Option<AnswerFiles>,
    /// True after the first error of the sink: it is not called again.
    has_failed: bool,
}

impl<'s> Collector<'s> {
    /// Makes a collector into `sink`, which has got no line yet.
    pub(crate) fn new(sink: &'s mut dyn Sink) -> Self {
        Self {
            terminator: sink.terminator(),
            is_divided: sink.divides_by_file(),
            shared: Arc::new(Mutex::new(CollectorState {
                sink,
                written: OutputStats::default(),
                files: None,
                has_failed: false,
            })),
            holding: Holding::Nothing,
            row_number_end: None,
            line_numbers: None,
            found: AtomicU64::new(0),
            groups: Mutex::default(),
        }
    }

    /// Keeps of each record only the number that it begins with, up to the byte `row_number_end`, if that is given.
    pub(crate) fn numbering_rows(self, row_number_end: Option<u8>) -> Self {
        Self {
            row_number_end,
            ..self
        }
    }

    /// Makes a collector into the same sink for one attempt of a run, whose lines go through `holding`, and have
    /// `line_numbers` where it is told which were dropped.
    pub(crate) fn through(
        &self,
        holding: Holding<'s>,
        line_numbers: Option<Arc<LineNumbers>>,
    ) -> Self {
        Self {
            terminator: self.terminator,
            shared: Arc::clone(&self.shared),
            // A row is known by its place: its line is its key, and is not looked at.
            row_number_end: self
                .row_number_end
                .filter(|_| !matches!(holding, Holding::Rows(_))),
            holding,
            is_divided: self.is_divided,
            line_numbers,
            found: AtomicU64::new(0),
            groups: Mutex::default(),
        }
    }

    /// Returns what the sink has accepted so far. Lines in outboxes are not counted. The engine asks it whether a run
    /// may be started over: only before the first line, if the sink cannot be emptied.
    pub(crate) fn written(&self) -> OutputStats {
        self.shared.lock().written
    }

    /// Passes on the header of the answer, after what its labels are called, before all lines. What the answer drops
    /// has no labels, and no header where only the places of lines are told (`tells_places`).
    ///
    /// # Errors
    /// Those of the sink.
    pub(crate) fn header(&self, label: &[u8], header: &[u8], tells_places: bool) -> Result<()> {
        let mut shared = self.shared.lock();
        shared.written.header_bytes = (label.len() + header.len() + 1) as u64;
        shared.pass_on(0, 0, |sink| {
            // A mark stays the first in its file.
            let rest = header.strip_prefix(BYTE_ORDER_MARK).unwrap_or(header);
            let mark = &header[..header.len() - rest.len()];
            sink.header(&[mark, label, rest].concat())?;
            if tells_places {
                return Ok(());
            }
            sink.duplicates_header(header)
        })
    }

    /// Counts the lines that outboxes have brought and flushed since, in order or not.
    pub(crate) fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }

    /// Returns what is written of a record.
    fn part_written<'l>(&self, record: &'l [u8]) -> &'l [u8] {
        let end = self
            .row_number_end
            .and_then(|end| memchr::memchr(end, record));
        end.map_or(record, |end| &record[..end])
    }

    /// Returns what people see of a record: not the number that it begins with.
    fn part_shown<'l>(&self, record: &'l [u8]) -> &'l [u8] {
        let end = self
            .row_number_end
            .and_then(|end| memchr::memchr(end, record));
        end.map_or(record, |end| &record[end + 1..])
    }

    /// Takes the lines that came most often, of those that outboxes have noted and flushed since.
    pub(crate) fn take_groups(&self) -> Vec<GroupStats> {
        std::mem::take(&mut *self.groups.lock()).into_stats()
    }

    /// Returns true if the sink is told of the files that the lines come from.
    pub(crate) fn is_divided(&self) -> bool {
        self.is_divided
    }

    /// Divides the lines that are to come by `files`.
    pub(crate) fn divide_by(&self, files: AnswerFiles) {
        self.shared.lock().files = Some(files);
    }

    /// Describes the files that the lines came from, once all lines were passed on; none if the sink was told of none.
    pub(crate) fn file_stats(&self) -> Vec<FileStats> {
        let files = self.shared.lock().files.take();
        files.map_or_else(Vec::new, |files| files.stats())
    }

    /// Tells the sink of all files that begin at `place` or before, a line of the answer that comes next, and that it
    /// was not told of yet; all files for [`u64::MAX`]. Returns where the next file begins, or [`u64::MAX`].
    ///
    /// # Errors
    /// Those of the sink.
    pub(crate) fn turn_to(&self, place: u64) -> Result<u64> {
        let mut shared = self.shared.lock();
        loop {
            let Some(files) = &mut shared.files else {
                return Ok(u64::MAX);
            };
            let next = files.next_start();
            let Some(path) = files.take_next_if(next <= place) else {
                return Ok(next);
            };
            shared.pass_on(0, 0, |sink| sink.file(&path))?;
        }
    }

    /// Returns true if the lines of this collector are held back, so that [`Collector::finish`] has work to do.
    pub(crate) fn holds_lines(&self) -> bool {
        matches!(self.holding, Holding::Sorter(_) | Holding::Rows(_))
    }

    /// Passes lines on that lie one after the other in `block`, in place of those that were kept; `ends` is as in
    /// [`Sink::block`].
    ///
    /// # Errors
    /// Those of the sink.
    pub(crate) fn pass_block(&self, block: &[u8], ends: &[usize]) -> Result<()> {
        if ends.is_empty() {
            return Ok(());
        }
        let mut shared = self.shared.lock();
        shared.pass_on(ends.len(), block.len(), |sink| sink.block(block, ends))
    }

    /// Works as [`Collector::pass_block`], with one line.
    ///
    /// # Errors
    /// Those of the sink.
    pub(crate) fn pass_line(&self, line: &[u8]) -> Result<()> {
        let mut shared = self.shared.lock();
        shared.pass_on(1, line.len() + 1, |sink| sink.line(line))
    }

    /// Returns true if the answer can be read where the sink writes it, and emptied.
    pub(crate) fn can_be_reread(&self) -> bool {
        !self.is_divided && self.shared.lock().sink.rereadable().is_some()
    }

    /// Returns the file of an answer that can be read while it is written.
    ///
    /// # Errors
    /// Those of the sink, and where it cannot.
    pub(crate) fn file(&self) -> Result<Arc<File>> {
        let file = self.shared.lock().reread(|written| written.file())?;
        file.ok_or_else(|| self.reread_error(io::ErrorKind::Unsupported.into()))
    }

    /// Lets everything that was passed on be read in the file of the answer, and returns the number of bytes there.
    ///
    /// # Errors
    /// Those of the sink.
    pub(crate) fn settle(&self) -> Result<u64> {
        let mut shared = self.shared.lock();
        shared.reread(|written| written.settle())?;
        Ok(shared.written.header_bytes + shared.written.bytes)
    }

    /// Empties the file of the answer. The next attempt begins with the header.
    ///
    /// # Errors
    /// Those of the sink.
    pub(crate) fn start_over(&self) -> Result<()> {
        let mut shared = self.shared.lock();
        shared.reread(|written| written.empty())?;
        shared.written = OutputStats::default();
        Ok(())
    }

    /// Makes the error of an answer that cannot be read again.
    pub(crate) fn reread_error(&self, error: io::Error) -> Error {
        output_error(
            &self.shared.lock().sink.target(),
            "cannot read again",
            error,
        )
    }

    /// Returns the byte after each line of a block.
    pub(crate) fn terminator(&self) -> u8 {
        self.terminator
    }

    /// Estimates the bytes of lines that [`Collector::finish`] will go through with this budget, when no thread has
    /// an outbox any more.
    pub(crate) fn bytes_to_order(&self, budget: &MemoryBudget) -> u64 {
        match &self.holding {
            Holding::Sorter(sorter) => sorter.bytes_to_merge(budget),
            Holding::Rows(rows) => rows.line_bytes(self.found()),
            Holding::Nothing | Holding::Kept(_) => 0,
        }
    }

    /// Passes on what was held back to be put in order, when no thread has an outbox any more. `budget` is the memory
    /// that a merge may use; `advance` hears of bytes and lines that were passed on.
    ///
    /// # Errors
    /// What the sink reports; where the temporary files of the order cannot be read.
    pub(crate) fn finish(
        mut self,
        budget: &MemoryBudget,
        advance: impl Fn(u64, u64),
    ) -> Result<()> {
        match std::mem::replace(&mut self.holding, Holding::Nothing) {
            Holding::Sorter(sorter) => self.merge(sorter, budget, advance),
            Holding::Rows(rows) => self.pass_rows(&rows, advance),
            Holding::Nothing | Holding::Kept(_) => Ok(()),
        }?;
        self.turn_to(u64::MAX).map(drop)
    }

    /// Passes on the numbers of rows.
    fn pass_rows(&self, rows: &RowBits, advance: impl Fn(u64, u64)) -> Result<()> {
        rows.for_each(self.found(), |start, rows| {
            self.turn_to(start)?;
            let (count, bytes) = (rows.count(), rows.line_bytes());
            if count > 0 {
                let mut shared = self.shared.lock();
                shared.pass_on(count as usize, bytes as usize, |sink| {
                    sink.rows(&mut rows.numbers())
                })?;
            }
            advance(bytes, count);
            Ok(())
        })
    }

    /// Passes on what was sorted.
    fn merge(
        &self,
        sorter: Sorter<'_>,
        budget: &MemoryBudget,
        advance: impl Fn(u64, u64),
    ) -> Result<()> {
        let mut out = Outbox::new(self);
        let mut next_file = self.turn_to(0)?;
        let (mut bytes, mut lines) = (0, 0);
        let each = |entry: &Entry<'_>| {
            // Without files to come there is no turn, also for a line whose place does not matter.
            if entry.place >= next_file && next_file < u64::MAX {
                out.flush()?;
                next_file = self.turn_to(entry.place)?;
            }
            out.push_as_it_is(entry)?;
            (bytes, lines) = (bytes + entry.line_bytes(), lines + entry.times);
            if bytes >= BYTES_PER_ADVANCE {
                advance(std::mem::take(&mut bytes), std::mem::take(&mut lines));
            }
            Ok(())
        };
        sorter.merge(budget, &|bytes| advance(bytes, 0), each)?;
        advance(bytes, lines);
        out.flush()
    }
}

impl CollectorState<'_> {
    /// Lets `act` go to the file of the answer, with the lock held; `None` if there is none that can be read.
    ///
    /// # Errors
    /// As [`CollectorState::pass_on`].
    fn reread<T>(
        &mut self,
        act: impl FnOnce(&mut dyn Rereadable) -> io::Result<T>,
    ) -> Result<Option<T>> {
        if self.has_failed {
            return Err(Error::Interrupted);
        }
        let acted = self.sink.rereadable().map(act).transpose();
        acted.map_err(|error| {
            self.has_failed = true;
            output_error(&self.sink.target(), "cannot write", error)
        })
    }

    /// Lets `pass` hand lines to the sink, with the lock held. `lines` and `bytes` say how much of that belongs to the
    /// answer, terminators included.
    ///
    /// # Errors
    /// [`Error::Output`] with the sink's error, once; [`Error::Interrupted`] for every call after that, so that
    /// the first error is the one that the run reports.
    fn pass_on(
        &mut self,
        lines: usize,
        bytes: usize,
        pass: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
    ) -> Result<()> {
        if self.has_failed {
            return Err(Error::Interrupted);
        }
        if let Err(error) = pass(self.sink) {
            self.has_failed = true;
            return Err(output_error(&self.sink.target(), "cannot write", error));
        }
        self.written.lines += lines as u64;
        self.written.bytes += bytes as u64;
        if let Some(files) = &mut self.files {
            files.count_written(lines as u64);
        }
        Ok(())
    }
}
