//! A thread's work on the chunks of a scan, and what all threads count together.
//!
//! *Owns:* [`Worker`], what the passes give a scan to do; cutting a chunk into lines or records and handing them on in
//! batches; what becomes of lines that are no records and of records without a key. *Invariants:* every line of a chunk
//! is in a batch, is counted as passed over or left out, or fails the scan. *Cost:* a few additions for each chunk.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::batch::{Batch, Keyed, Scratch, for_each_batch};
use crate::error::{Error, Result};
use crate::input::keying::{Keying, Taken};
use crate::input::{Input, ReadCounts};
use crate::lines::prefixed::{self, PrefixedLines};
use crate::memory::buffer::Buffer;
use crate::reading::Reading;
use crate::reading::chunk::{Chunk, Cut, Pooled};
use crate::reading::failure::LocatedFailure;
use crate::reading::long_lines::LongLines;
use crate::record::Bad;
use crate::run::{Phase, Run};
use crate::set::ipv4;
use crate::sys::failpoint::fail_point;
use crate::sys::first_error::FirstFailure;

/// The work and the state of one worker of a scan: made on the worker's thread, used there alone, and dropped there.
/// What workers share is borrowed by the closure that makes them.
pub(crate) trait Worker {
    /// True if it goes by the hashes of lines.
    const NEEDS_HASHES: bool = true;
    /// True if it goes by the places of lines alone, and gets records as they are to be written.
    const REWRITES: bool = false;
    /// True if it keeps the ordinals of lines: they are those by which lines are numbered, where that is wanted.
    const KEEPS_ORDINALS: bool = false;

    /// Works on a batch of lines. The batch borrows the chunk: nothing of it may be kept.
    fn work(&mut self, batch: Batch<'_>) -> Result<()>;

    /// Ends the work. Called once, after the worker's last batch of a scan that has not failed.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The counts of what all threads of a scan have read together.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanCounts {
    /// Lines that workers went through, records without a key included.
    lines: u64,
    /// Bytes of these lines, with their terminators or the lengths before them; of a compressed file, those that were
    /// decoded.
    bytes: u64,
    /// Lines of records without a key, which no worker saw.
    bad_records: u64,
    /// Blank lines and comments.
    passed_over: u64,
    /// Records that have no number to be ranked by.
    without_number: u64,
    /// The fault of one of the records without a key, and the file that it is in.
    first_bad: Option<(Bad, usize)>,
}

impl ScanCounts {
    /// Compares what was read with the size of the file.
    ///
    /// # Errors
    /// [`Error::InputChanged`] where the sizes differ.
    pub(super) fn check(self, input: &Input) -> Result<()> {
        if let Some(size) = input.bytes().filter(|&size| size != self.bytes) {
            return Err(Error::InputChanged {
                path: input.name().to_owned(),
                what: format!("{} of {size} bytes were read", self.bytes),
            });
        }
        Ok(())
    }

    /// Compares what was read with the size of the file, and lets the input note it.
    ///
    /// # Errors
    /// [`Error::InputChanged`] where the sizes differ; [`Error::NoRecords`] where all records were left out.
    pub(super) fn check_and_note(self, input: &Input) -> Result<()> {
        self.check(input)?;
        let of_lines = self.first_bad.filter(|_| self.lines == 0);
        if let (Some((bad, part)), Some(keying)) = (of_lines, input.keying()) {
            return Err(Error::NoRecords {
                path: input.name().to_owned(),
                lines: self.bad_records,
                what: bad.describe(keying.columns(part)).0,
            });
        }
        // The headers of streams were read before.
        let taken = input.all_taken();
        let of_headers = |count: fn(&Taken) -> u64| taken.iter().map(count).sum::<u64>();
        input.note_reading(ReadCounts {
            lines: self.lines,
            bytes: self.bytes + of_headers(|taken| taken.bytes),
            bad_records: self.bad_records,
            passed_over: self.passed_over + of_headers(|taken| taken.passed_over),
            without_number: self.without_number,
        });
        Ok(())
    }
}

/// The state that all threads of a scan share: what it is about, and what was counted.
pub(super) struct ScanState<'a> {
    pub(super) run: &'a Run<'a>,
    /// The first failure of any thread. Threads check it between chunks, and stop.
    pub(super) failure: &'a FirstFailure,
    /// The first failure of a line: of several, the first in the input is reported.
    located: &'a LocatedFailure,
    /// The memory of lines that do not fit a chunk, and of their keys where these are copied.
    long_lines: &'a LongLines<'a>,
    /// The phase whose progress is counted, chunk by chunk.
    phase: &'a Phase<'a>,
    /// The input that is read; its name stands in messages.
    pub(super) input: &'a Input,
    /// Lines of complete chunks.
    lines: AtomicU64,
    /// Bytes of complete chunks, all included: at the end the size of the file, or something is wrong.
    bytes: AtomicU64,
    /// Lines of records without a key that were left out.
    bad_records: AtomicU64,
    /// Blank lines and comments.
    passed_over: AtomicU64,
    /// Records that have no number to be ranked by.
    without_number: AtomicU64,
    /// True if lines are [`prefixed`]: they are keys, and no text.
    are_prefixed: bool,
    /// The first bad record, as in [`ScanCounts`].
    first_bad: OnceLock<(Bad, usize)>,
}

impl<'a> ScanState<'a> {
    pub(super) fn new(
        run: &'a Run<'a>,
        phase: &'a Phase<'a>,
        input: &'a Input,
        located: &'a LocatedFailure,
        long_lines: &'a LongLines<'a>,
    ) -> Self {
        input.begin_reading();
        Self {
            run,
            failure: located.first(),
            located,
            long_lines,
            phase,
            input,
            lines: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            bad_records: AtomicU64::new(0),
            passed_over: AtomicU64::new(0),
            without_number: AtomicU64::new(0),
            // An address is looked at before it is a key.
            are_prefixed: input.gives_keys_of_rows() && !run.is_ipv4(),
            first_bad: OnceLock::new(),
        }
    }

    /// Returns true if lines are [`prefixed`]: they are keys, and no text.
    pub(super) fn are_prefixed(&self) -> bool {
        self.are_prefixed
    }

    /// Returns what was counted.
    pub(super) fn finish(self) -> ScanCounts {
        ScanCounts {
            lines: self.lines.into_inner(),
            bytes: self.bytes.into_inner(),
            bad_records: self.bad_records.into_inner(),
            passed_over: self.passed_over.into_inner(),
            without_number: self.without_number.into_inner(),
            first_bad: self.first_bad.into_inner(),
        }
    }

    /// Runs a worker thread that reads its chunks itself. One buffer goes round: the reading fills it, the worker
    /// goes through its lines while they are in the core's cache, and the reading fills it again.
    pub(super) fn read_and_work(
        &self,
        reading: &Reading<'_>,
        found_work: &dyn Fn(),
        mut worker: impl Worker,
    ) -> Result<()> {
        let mut buffer = Buffer::new(&self.run.budget, "chunk buffers", reading.buffer_bytes())?;
        let mut scratch = Scratch::default();
        while let Some((_, cut)) = reading.next(buffer)? {
            self.failure.check()?;
            found_work();
            buffer = self.work_on(cut, &mut scratch, &mut worker)?;
        }
        worker.finish()
    }

    /// Goes through the lines of what one buffer was read for, in order; returns the buffer.
    pub(super) fn work_on(
        &self,
        cut: Cut,
        scratch: &mut Scratch,
        worker: &mut impl Worker,
    ) -> Result<Buffer> {
        let buffer = match cut.pooled {
            Pooled::Lines(chunk) => {
                self.work(&chunk, scratch, worker)?;
                chunk.into_buffer()
            }
            Pooled::Spare(buffer) => buffer,
        };
        if let Some(long_line) = cut.long_line {
            self.work(&long_line, scratch, worker)?;
        }
        Ok(buffer)
    }

    /// Fails on the first line of the batch that is no IPv4 address. Workers may take it for granted after this. Where
    /// the line is, is looked up in the end.
    fn check_addresses(&self, batch: Batch<'_>, chunk: &Chunk) -> Result<()> {
        /// The most bytes of a line that a message shows.
        const SHOWN: usize = 40;
        let mut lines = batch.keys.iter().zip(batch.lines);
        match lines.find(|(key, _)| ipv4::parse(key).is_none()) {
            None => Ok(()),
            Some((line, record)) => {
                let error = Error::NotAnAddress {
                    path: self.input.part_name(chunk.part).to_owned(),
                    offset: 0,
                    line: line[..line.len().min(SHOWN)].escape_ascii().to_string(),
                };
                Err(self.located.note_at(chunk.location_of(record), error))
            }
        }
    }

    /// Notifies the observer if a file or stream that begins with this chunk is no plain text. Files that were sampled
    /// were looked at before.
    fn look_at_front(&self, chunk: &Chunk) {
        let Some(observer) = &self.run.options.observer else {
            return;
        };
        let format = self.run.options.line_format();
        let notice = self.input.look_at_front(chunk.part, chunk.bytes(), format);
        if let Some(notice) = notice {
            observer.noticed(&notice);
        }
    }

    /// Passes over what a chunk has of the front of its file: a mark, a header, and comments before that, which it
    /// counts. Returns where the first record starts in the chunk.
    fn pass_over_front(&self, keying: &Keying, chunk: &Chunk) -> usize {
        let front = chunk.bytes_in_front(keying.front(chunk.part));
        let mark = if chunk.is_first_of_file() {
            keying.mark(chunk.bytes())
        } else {
            0
        };
        if let Some(passed_over) = keying.passed_over(chunk.part).filter(|_| front > 0) {
            let lines = self
                .run
                .options
                .line_format()
                .lines(&chunk.bytes()[mark..front]);
            let count = lines.filter(|line| passed_over.has(line)).count() as u64;
            self.passed_over.fetch_add(count, Ordering::Relaxed);
        }
        front.max(mark)
    }

    /// Counts the lines of a record without a key, and lines that are not records. A record that fails the scan is only
    /// located here; its line number is looked up at the end.
    ///
    /// # Errors
    /// [`Error::BadRecord`], unless such records are to be left out.
    fn leave_out(&self, record: &[u8], bad: Bad, chunk: &Chunk) -> Result<()> {
        if bad == Bad::PassedOver {
            self.passed_over.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let Some(keying) = self.input.keying() else {
            return Ok(());
        };
        if keying.skips_bad() {
            self.first_bad.get_or_init(|| (bad, chunk.part));
            let ends = memchr::memchr_iter(self.run.options.format.terminator, record).count();
            self.bad_records
                .fetch_add(1 + ends as u64, Ordering::Relaxed);
            return Ok(());
        }
        let (what, advice) = bad.describe(keying.columns(chunk.part));
        let advice = bad.advice_by_look(record).unwrap_or(advice);
        let error = Error::BadRecord {
            path: self.input.part_name(chunk.part).to_owned(),
            line: None,
            offset: 0,
            what,
            advice,
        };
        Err(self.located.note_at(chunk.location_of(record), error))
    }

    /// Checks that a chunk, which is one long line, came with memory for a copy of its key.
    ///
    /// # Errors
    /// [`Error::LineTooLong`] where there was none.
    fn check_key_room(&self, record: &[u8], chunk: &Chunk) -> Result<()> {
        if chunk.has_key_room() {
            return Ok(());
        }
        let name = self.input.part_name(chunk.part);
        let error = self.long_lines.no_room_for_key(name, record.len() as u64);
        Err(self.located.note_at(chunk.location_of(record), error))
    }

    /// Goes through the lines of a chunk, hashing them in batches, and counts them when all are done.
    ///
    /// # Errors
    /// What `worker` returns; [`Error::NotAnAddress`] where lines must be addresses; the run's interrupt.
    pub(super) fn work<W: Worker>(
        &self,
        chunk: &Chunk,
        scratch: &mut Scratch,
        worker: &mut W,
    ) -> Result<()> {
        fail_point!("work");
        self.run.interrupt().check()?;
        if self.are_prefixed {
            return self.work_on_prefixed(chunk, scratch, worker);
        }
        let bytes = chunk.bytes();
        if chunk.is_first_of_file() {
            self.look_at_front(chunk);
        }
        let keying = self.input.keying();
        let front = keying.map_or(0, |keying| self.pass_over_front(keying, chunk));
        let format = self.run.options.line_format();
        let lines = self
            .input
            .format_of(chunk.part, format)
            .lines(&bytes[front..]);
        let ordinals = self.ordinals_in::<W>(chunk, front)?;
        let on_bad = |record: &[u8], bad| self.leave_out(record, bad, chunk);
        let room_for_key = |record: &[u8]| self.check_key_room(record, chunk).map(|()| None);
        // Where records are written again, nobody looks for their keys: those without one were left out before.
        let rewrites = W::REWRITES && self.input.writes_records();
        let keyed = keying.filter(|_| !rewrites).map(|keying| Keyed {
            columns: keying.columns(chunk.part),
            room_for_key: &room_for_key,
            keeps_records: self.input.keeps_records(),
            passed_over: keying.passed_over(chunk.part),
            is_key: (self.run.is_ipv4() && keying.skips_bad()).then_some(is_address),
            on_bad: &on_bad,
        });
        let hasher = W::NEEDS_HASHES.then_some(&self.run.hasher);
        let mut without_number = 0;
        let count = for_each_batch(lines, ordinals, keyed, hasher, scratch, |batch| {
            without_number += batch.without_number();
            if self.run.is_ipv4() && !rewrites {
                self.check_addresses(batch, chunk)?;
            }
            worker.work(batch).map(|()| true)
        })?;
        self.without_number
            .fetch_add(without_number, Ordering::Relaxed);
        self.count(chunk, count);
        Ok(())
    }

    /// Works as [`ScanState::work`] on prefixed lines.
    #[inline(never)]
    fn work_on_prefixed<W: Worker>(
        &self,
        chunk: &Chunk,
        scratch: &mut Scratch,
        worker: &mut W,
    ) -> Result<()> {
        let lines = PrefixedLines(chunk.bytes());
        debug_assert_eq!(prefixed::whole_bytes(lines.0), lines.0.len());
        let ordinals = self.ordinals_in::<W>(chunk, 0)?;
        let hasher = W::NEEDS_HASHES.then_some(&self.run.hasher);
        let count = for_each_batch(lines, ordinals, None, hasher, scratch, |batch| {
            worker.work(batch).map(|()| true)
        })?;
        self.count(chunk, count);
        Ok(())
    }

    /// Counts the lines of a chunk that is done.
    fn count(&self, chunk: &Chunk, lines: u64) {
        let bytes = chunk.bytes().len() as u64;
        self.lines.fetch_add(lines, Ordering::Relaxed);
        self.input.count_lines(chunk.part, chunk.position(), lines);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.phase.advance(bytes, lines);
    }
}

/// Returns true if a key is an IPv4 address.
fn is_address(key: &[u8]) -> bool {
    ipv4::parse(key).is_some()
}
