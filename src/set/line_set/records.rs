//! The records of a set of lines: what is kept of each line, and its bytes.
//!
//! *Owns:* the arena of a [`LineSet`](crate::set::line_set::LineSet). *Invariants:* a record never moves, and nothing
//! is taken out; `used_words` is the end of the last one. *Cost:* see [the set](crate::set::line_set).

use crate::error::{Error, Result};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::{Buffer, PAGE};
use crate::selection::{EXCLUDED, LineState, Place, StateLayout};

/// Bits of a header for the length of the line: 1 TiB, far more than a set can have room for. The rest is for
/// the mark.
const LENGTH_BITS: u32 = 40;
const LENGTH_MASK: u64 = (1 << LENGTH_BITS) - 1;

/// Bits of a slot of the table that point to a record: 2^40 words are 8 TiB of arena. The rest is for the tag.
const OFFSET_BITS: u32 = 40;
pub(super) const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// The lines of a set, each with its mark and what is kept of it.
#[derive(Debug)]
pub(super) struct Records {
    /// The layout of the data kept of each line: its mark, and words after its header.
    pub(super) kept: StateLayout,
    /// The records, one after the other from word 0.
    pub(super) arena: Buffer,
    /// Words of the arena in use: where the next record begins.
    pub(super) used_words: usize,
}

impl Records {
    /// Makes an arena of a page, without a record.
    ///
    /// # Errors
    /// [`Error::Memory`] when the budget has not even this.
    pub(super) fn new(budget: &MemoryBudget, kept: StateLayout) -> Result<Self> {
        Ok(Self {
            kept,
            arena: Buffer::new(budget, "set", PAGE)?,
            used_words: 0,
        })
    }

    /// Excludes a record from all further marking and from [`Records::iter_marked`].
    pub(super) fn exclude(&mut self, record: usize) {
        self.arena.words_mut()[record] |= u64::from(EXCLUDED) << LENGTH_BITS;
    }

    /// Marks the line of a record as one of `side`, which has it at `place`. Returns its mark if that is a new one.
    #[inline]
    pub(super) fn mark_record(&mut self, record: usize, side: u32, place: Place) -> Option<u32> {
        let words = &mut self.arena.words_mut()[record..];
        let old = (words[0] >> LENGTH_BITS) as u32;
        let new = self.kept.marks.next(old, side);
        if let Some(mark) = new {
            words[0] = (words[0] & LENGTH_MASK) | u64::from(mark) << LENGTH_BITS;
        }
        if self.kept.words() > 0 {
            let words = &mut words[1..=self.kept.words()];
            let mark = new.unwrap_or(old);
            self.kept.add(words, side, new.is_some(), mark, place);
        }
        new
    }

    /// Yields the lines held, in the order in which they were inserted.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.records().map(|record| self.record(record))
    }

    /// Yields the lines held that are not excluded, with what was kept of them, in the order in which they were
    /// inserted.
    pub(super) fn iter_marked(&self) -> impl Iterator<Item = (&[u8], LineState)> {
        let marked = |record| {
            let found = self.found(record);
            (found.mark != EXCLUDED).then(|| (self.record(record), found))
        };
        self.records().filter_map(marked)
    }

    /// Reads what is kept of the line of a record.
    #[inline]
    pub(super) fn found(&self, record: usize) -> LineState {
        let words = &self.arena.words()[record..];
        let mark = (words[0] >> LENGTH_BITS) as u32;
        self.kept.found(&words[1..=self.kept.words()], mark)
    }

    /// Yields the first word of each record, in the order of the arena.
    pub(super) fn records(&self) -> impl Iterator<Item = usize> {
        let mut at = 0;
        std::iter::from_fn(move || {
            (at < self.used_words).then(|| {
                let record = at;
                at += self.record_words(self.record(record).len());
                record
            })
        })
    }

    /// Appends a record of a line that `side` has at `place` to the arena, and returns it; `None` when there is no
    /// room, or the arena would be longer than a slot can point to. The table does not know the record yet.
    #[inline]
    pub(super) fn store(&mut self, line: &[u8], side: u32, place: Place) -> Result<Option<usize>> {
        let words = self.record_words(line.len());
        let end = self.used_words + words;
        if end as u64 > OFFSET_MASK || !self.make_room(end)? {
            return Ok(None);
        }
        let record = self.used_words;
        let mark = self.kept.marks.next(0, side).unwrap_or_default();
        let arena = self.arena.words_mut();
        arena[record] = line.len() as u64 | u64::from(mark) << LENGTH_BITS;
        let kept = self.kept.words();
        if kept > 0 {
            let words = &mut arena[record + 1..=record + kept];
            self.kept.start(words, side, place);
        }
        // The padding keeps what was there: nothing reads it.
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut arena[record + 1 + kept..end]);
        bytes[..line.len()].copy_from_slice(line);
        self.used_words = end;
        Ok(Some(record))
    }

    /// Lets the arena hold `words` in all. Grows by a quarter, because growing is a system call; when that is
    /// refused, by what is needed, so that the last bytes of the budget are used. False when that is refused
    /// as well.
    pub(super) fn make_room(&mut self, words: usize) -> Result<bool> {
        let (needed, held) = (words as u64 * 8, self.arena.len() as u64);
        if needed <= held {
            return Ok(true);
        }
        for bytes in [needed.max(held + held / 4), needed] {
            match self.arena.grow(bytes) {
                Ok(()) => return Ok(true),
                Err(Error::Memory { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Returns the line of a record.
    #[inline]
    pub(super) fn record(&self, record: usize) -> &[u8] {
        let words = self.arena.words();
        let length = (words[record] & LENGTH_MASK) as usize;
        let bytes: &[u8] = bytemuck::cast_slice(&words[record + 1 + self.kept.words()..]);
        &bytes[..length]
    }

    /// Returns the words of a record: its header, what is kept with it, and the bytes of the line rounded up.
    #[inline]
    pub(super) fn record_words(&self, line_bytes: usize) -> usize {
        1 + self.kept.words() + line_bytes.div_ceil(8)
    }
}
