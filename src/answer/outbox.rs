//! One thread's part of the answer.
//!
//! *Owns:* gathering lines until they are worth a lock. *Invariants:* lines reach the sink whole and in one piece
//! with their label. *Cost:* up to 64 KiB, and a copy of each line.

use std::sync::atomic::Ordering;

use crate::answer::entry::Entry;
use crate::answer::groups::LargestGroups;
use crate::answer::ranges::RangeBuffer;
use crate::answer::runs::WorkBuffer;
use crate::answer::{Collector, Holding};
use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::selection::NO_ORDINAL;
use crate::sys::first_error::FirstFailure;

/// The number of bytes that are gathered before the lock is taken: enough that this is seldom, few enough to stay in
/// the second-level cache.
const BYTES: usize = 64 << 10;

/// Lines one after the other, each with a terminator after it; at most [`BYTES`].
#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// The end of each line in `bytes`, before its terminator.
    ends: Vec<usize>,
}

impl Waiting {
    /// Returns true if there is room for `bytes` more. Lines are counted, too: each takes an end, which is more than
    /// a short one has bytes.
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes.len() + bytes <= BYTES && self.ends.len() < BYTES / 16
    }

    fn push(&mut self, label: &[u8], line: &[u8], terminator: u8) {
        self.bytes.extend_from_slice(label);
        self.bytes.extend_from_slice(line);
        self.ends.push(self.bytes.len());
        self.bytes.push(terminator);
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// One thread's lines on their way to the collector. It must be flushed at the end: lines in an outbox that
/// is dropped are lost, which is right only after a failure.
pub(crate) struct Outbox<'c, 's> {
    collector: &'c Collector<'s>,
    /// The lines of the answer.
    lines: Waiting,
    /// The lines that the answer drops, if they are wanted.
    duplicates: Waiting,
    /// The buffer that the lines go to instead, if they are put in order.
    buffer: Option<WorkBuffer>,
    /// The buffer that they go to, if they are put in order range by range.
    range: Option<RangeBuffer<'c>>,
    /// The text about a line that was dropped; kept for its capacity.
    text: Vec<u8>,
    /// Lines taken since the last flush.
    found: u64,
    /// The lines that came most often, of those noted since the last flush.
    groups: LargestGroups,
}

impl<'c, 's> Outbox<'c, 's> {
    /// Makes an empty outbox. It takes no memory before the first line.
    pub(crate) fn new(collector: &'c Collector<'s>) -> Self {
        Self {
            collector,
            lines: Waiting::default(),
            duplicates: Waiting::default(),
            buffer: None,
            range: None,
            text: Vec::new(),
            found: 0,
            groups: LargestGroups::default(),
        }
    }

    /// Makes an empty outbox whose lines come in order, range by range: [`Outbox::end_range`] ends each.
    pub(crate) fn in_ranges(collector: &'c Collector<'s>, range: Option<RangeBuffer<'c>>) -> Self {
        Self {
            range,
            ..Self::new(collector)
        }
    }

    /// Adds a line to the result, for an answer in any order.
    ///
    /// # Errors
    /// As [`Outbox::flush`].
    pub(crate) fn push(&mut self, line: &[u8]) -> Result<()> {
        self.push_found(&Entry::once(line, NO_ORDINAL))
    }

    /// Adds a label and its line to the result, as often as the entry says. Copies it; where it is put in order it
    /// may be written to a temporary file.
    ///
    /// # Errors
    /// As [`Outbox::flush`]; where a temporary file cannot be written.
    pub(crate) fn push_found(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.push_as_it_is(&Entry {
            line: self.collector.part_written(entry.line),
            ..*entry
        })
    }

    /// Takes an entry as [`Outbox::push_found`] does, where it is no record: a part of one, or words about one.
    pub(super) fn push_as_it_is(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.found += entry.times;
        let sorter = match &self.collector.holding {
            Holding::Sorter(sorter) => sorter,
            Holding::Kept(lines) => {
                debug_assert!(entry.times == 1 && entry.duplicates == 0 && entry.label.is_empty());
                return lines.insert(entry.place);
            }
            Holding::Rows(rows) => {
                debug_assert!(entry.times == 1 && entry.duplicates == 0 && entry.label.is_empty());
                rows.insert(entry.place);
                return Ok(());
            }
            Holding::Nothing => {
                return match &mut self.range {
                    Some(range) => range.push(entry),
                    None => self.pass_entry_on(entry),
                };
            }
        };
        let mut buffer = match self.buffer.take() {
            Some(buffer) => buffer,
            None => sorter.take()?,
        };
        let pushed = sorter.push(&mut buffer, entry);
        self.buffer = Some(buffer);
        pushed
    }

    /// Passes on all lines of the range with this number, in order, when those of the ranges before it were passed on.
    /// Does nothing for an outbox without ranges. `budget` has memory for what the range has on disk.
    ///
    /// # Errors
    /// As [`Outbox::flush`]; where a temporary file cannot be read or written, and where another thread has failed.
    pub(crate) fn end_range(
        &mut self,
        number: u32,
        budget: &MemoryBudget,
        failure: &FirstFailure,
    ) -> Result<()> {
        let Some(mut range) = self.range.take() else {
            return Ok(());
        };
        range.end(number, budget, failure, |entry| match entry {
            Some(entry) => self.pass_entry_on(entry),
            None => self.flush_lines().and_then(|()| self.flush_duplicates()),
        })?;
        self.range = Some(range);
        Ok(())
    }

    /// Returns true if a range that has not ended has lines on disk.
    pub(crate) fn has_runs(&self) -> bool {
        self.range.as_ref().is_some_and(RangeBuffer::has_runs)
    }

    /// Adds what is told of a line that the answer drops, `times` times: where it stands, at the ordinal `dropped`, and
    /// the line that is kept for it, at `kept`.
    ///
    /// # Errors
    /// Those of [`Outbox::push_found`].
    pub(crate) fn push_places(
        &mut self,
        times: u64,
        dropped: u64,
        kept: u64,
        place: u64,
    ) -> Result<()> {
        let Some(numbers) = &self.collector.line_numbers else {
            return Ok(());
        };
        let mut text = std::mem::take(&mut self.text);
        numbers.tell(&mut text, dropped, kept);
        let pushed = self.push_as_it_is(&Entry {
            times: 0,
            duplicates: times,
            place,
            label: b"",
            line: &text,
        });
        self.text = text;
        pushed
    }

    /// Notes how often a line of the result came, in all inputs together.
    pub(crate) fn note_group(&mut self, occurrences: u64, line: &[u8]) {
        self.groups
            .note(occurrences, self.collector.part_shown(line));
    }

    /// Passes on an entry as often as it says.
    fn pass_entry_on(&mut self, entry: &Entry<'_>) -> Result<()> {
        (0..entry.times).try_for_each(|_| self.pass_on(entry.label, entry.line))?;
        (0..entry.duplicates).try_for_each(|_| self.pass_duplicate_on(entry.line))
    }

    /// Adds a label and its line. Passes the lines before it on when there is no room: then it waits for the
    /// collector's lock and for the sink.
    fn pass_on(&mut self, label: &[u8], line: &[u8]) -> Result<()> {
        let bytes = label.len() + line.len() + 1;
        if !self.lines.has_room(bytes) {
            self.flush_lines()?;
        }
        // A line that does not fit is passed on as it is, without a copy.
        if bytes > BYTES {
            let mut shared = self.collector.shared.lock();
            return shared.pass_on(1, bytes, |sink| match label {
                [] => sink.line(line),
                label => sink.long_line(label, line),
            });
        }
        self.lines.push(label, line, self.collector.terminator);
        Ok(())
    }

    /// Works as [`Outbox::pass_on`], for a line that the answer drops.
    fn pass_duplicate_on(&mut self, line: &[u8]) -> Result<()> {
        let bytes = line.len() + 1;
        if !self.duplicates.has_room(bytes) {
            self.flush_duplicates()?;
        }
        if bytes > BYTES {
            let mut shared = self.collector.shared.lock();
            return shared.pass_on(0, 0, |sink| sink.duplicate(line));
        }
        self.duplicates.push(&[], line, self.collector.terminator);
        Ok(())
    }

    /// Passes everything on to the sink, or to the sorter.
    ///
    /// # Errors
    /// [`crate::Error::Output`] when the sink fails, [`crate::Error::Interrupted`] when it has failed before. Some
    /// lines may have been passed on; the outbox is of no further use.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if let (Holding::Sorter(sorter), Some(buffer)) =
            (&self.collector.holding, self.buffer.take())
        {
            sorter.put(buffer)?;
        }
        let found = std::mem::take(&mut self.found);
        self.collector.found.fetch_add(found, Ordering::Relaxed);
        let groups = std::mem::take(&mut self.groups);
        self.collector.groups.lock().add(groups);
        self.flush_lines()?;
        self.flush_duplicates()
    }

    /// Passes the lines of the answer on, in one go under the collector's lock.
    fn flush_lines(&mut self) -> Result<()> {
        let Waiting { bytes, ends } = &self.lines;
        if !ends.is_empty() {
            let mut shared = self.collector.shared.lock();
            shared.pass_on(ends.len(), bytes.len(), |sink| sink.block(bytes, ends))?;
        }
        self.lines.clear();
        Ok(())
    }

    /// Works as [`Outbox::flush_lines`], for what the answer drops: it is not counted as part of the answer.
    fn flush_duplicates(&mut self) -> Result<()> {
        let Waiting { bytes, ends } = &self.duplicates;
        if !ends.is_empty() {
            let mut shared = self.collector.shared.lock();
            shared.pass_on(0, 0, |sink| sink.duplicates(bytes, ends))?;
        }
        self.duplicates.clear();
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::answer::Collector;

    #[test]
    fn the_collector_counts_what_all_threads_push() {
        let mut lines = Vec::new();
        let mut sink = |line: &[u8]| {
            lines.push(line.to_vec());
            Ok(())
        };
        let collector = Collector::new(&mut sink);
        std::thread::scope(|scope| {
            for thread in 0..3u8 {
                let collector = &collector;
                scope.spawn(move || {
                    let mut outbox = Outbox::new(collector);
                    for length in [0usize, 1, 70_000, 500] {
                        outbox.push(&vec![thread; length]).unwrap();
                    }
                    outbox.flush().unwrap();
                });
            }
        });
        assert_eq!(collector.written().lines, 12);
        assert_eq!(lines.len(), 12);
    }
}
