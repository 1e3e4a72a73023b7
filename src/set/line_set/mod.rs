//! The exact set of lines: an arena and a table.
//!
//! *Owns:* [`LineSet`], which holds each distinct line once and counts, per line, how many inputs
//! in a row had it.
//!
//! *Layout.* A record in the arena is a header word (length in the low 48 bits, marks in the high
//! 16), the bytes, and padding to 8 bytes. A slot of the table is one word: a 24-bit tag of the
//! hash, and the record's offset in units of 8 bytes plus one, so that 0 is an empty slot. Linear
//! probing from a multiply-shift position: the table has any size.
//!
//! *Invariants.*
//! - Lines are compared byte by byte, length first; the tag only saves comparisons. Hash quality is
//!   a matter of speed, never of the answer.
//! - A repeated line costs nothing: it is found, not stored again.
//! - When the budget refuses more room the set says [`Insert::Full`] and is still intact.
//!
//! *Cost:* 8 + length + at most 7 bytes per distinct line in the arena; 8 bytes per slot, at most
//! 70 % of the slots in use. Operations come in groups whose slots and records are prefetched.

use arrayvec::ArrayVec;

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::hash::{LineHasher, Purpose, derive, reduce};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::{Buffer, PAGE};
use crate::sys::cpu;

/// The most inputs that marks can count.
pub(crate) const MAX_MARKS: u16 = u16::MAX - 1;
/// The mark of a line that was dealt with before and must not be reported again.
const EXCLUDED: u16 = u16::MAX;
/// Slots in use, at most, in per cent.
const MAX_LOAD_PERCENT: u64 = 70;
const OFFSET_BITS: u32 = 40;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;
const LENGTH_MASK: u64 = (1 << 48) - 1;
/// Lines whose memory is fetched ahead of its use.
const AHEAD: usize = 32;
/// Words in a line of cache.
const CACHE_LINE_WORDS: usize = 8;

/// What became of a line that was to be inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Insert {
    /// It is in the set now, with one mark.
    New,
    /// It was there already.
    Present,
    /// There is no room for it.
    Full,
}

/// A set of distinct lines within a memory budget.
#[derive(Debug)]
pub(crate) struct LineSet {
    budget: MemoryBudget,
    hasher: LineHasher,
    arena: Buffer,
    used_words: usize,
    table: Buffer,
    slots: u64,
    lines: u64,
}

/// What a set of `lines` lines with `record_bytes` bytes in all needs at most, in bytes.
pub(crate) fn estimate_set_bytes(lines: u64, line_bytes: u64) -> u64 {
    let arena = line_bytes.saturating_add(lines.saturating_mul(8 + 4));
    arena.saturating_add(table_slots(lines).saturating_mul(8))
}

/// Slots for `lines` lines at the highest load.
fn table_slots(lines: u64) -> u64 {
    (lines.saturating_add(1)).saturating_mul(100) / MAX_LOAD_PERCENT + 8
}

impl LineSet {
    /// An empty set that takes its memory from `budget` as it grows.
    pub(crate) fn new(budget: &MemoryBudget, hasher: LineHasher) -> Result<Self> {
        Ok(Self {
            budget: budget.clone(),
            hasher,
            arena: Buffer::new(budget, "set", PAGE)?,
            used_words: 0,
            table: Buffer::new(budget, "set", PAGE)?,
            slots: PAGE / 8,
            lines: 0,
        })
    }

    /// Empties the set and prepares its table for `lines` lines, or for as many as the budget
    /// allows when the lines are `line_bytes` long on average.
    pub(crate) fn reset(&mut self, lines: u64, line_bytes: u64) -> Result<()> {
        self.lines = 0;
        self.used_words = 0;
        let held = self.held_bytes();
        let room = (self.budget.available_bytes() + held).saturating_sub(4 * PAGE)
            / (line_bytes + 12 + 8 * 100 / MAX_LOAD_PERCENT);
        let slots = table_slots(lines.min(room)).max(PAGE / 8);
        if slots * 8 > self.table.len() as u64 {
            // Both go first: the arena may have taken what the new table needs.
            self.arena.shrink(PAGE)?;
            self.table.shrink(PAGE)?;
            self.table = Buffer::with_huge_pages(&self.budget, "set", slots * 8)?;
        }
        // Mapped at once rather than grown step by step; what is not used is never touched.
        let expected = lines.min(room) * (8 + line_bytes.next_multiple_of(8));
        let affordable = expected.min(self.budget.available_bytes() & !(PAGE - 1));
        if affordable > self.arena.len() as u64 {
            self.arena = Buffer::with_huge_pages(&self.budget, "set", affordable)?;
        }
        self.slots = slots;
        self.table.words_mut()[..slots as usize].fill(0);
        Ok(())
    }

    /// The memory that the set holds, in bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        (self.arena.len() + self.table.len()) as u64
    }

    /// Empties the set and gives nearly all of its memory back.
    pub(crate) fn release(&mut self) -> Result<()> {
        self.arena.shrink(PAGE)?;
        self.table.shrink(PAGE)?;
        self.table.words_mut().fill(0);
        (self.slots, self.lines, self.used_words) = (PAGE / 8, 0, 0);
        Ok(())
    }

    /// Distinct lines held.
    #[cfg(test)]
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    /// Inserts the lines of `batch` at `indexes`, telling of each new one. Stops at the first that
    /// finds no room and returns how many of the indexes were dealt with.
    pub(crate) fn insert_all(
        &mut self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32>,
        mut on_new: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<usize> {
        let mut done = 0;
        for group in groups(indexes) {
            // The set changes on the way: only the fetching counts here.
            let _fetched = self.fetch_candidates(batch, &group);
            for &index in &group {
                let line = batch.lines[index as usize];
                match self.insert(batch.hashes[index as usize], line)? {
                    Insert::New => on_new(line)?,
                    Insert::Present => {}
                    Insert::Full => return Ok(done),
                }
                done += 1;
            }
        }
        Ok(done)
    }

    /// Marks the lines of `batch` at `indexes` as seen by input number `mark` (from 2), if all
    /// inputs before it had them. Tells of each line that gets this mark now.
    pub(crate) fn mark_all(
        &mut self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32>,
        mark: u16,
        mut on_mark: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        for group in groups(indexes) {
            let candidates = self.fetch_candidates(batch, &group);
            for (&index, candidate) in group.iter().zip(candidates) {
                let line = batch.lines[index as usize];
                let is_marked = match candidate {
                    None => false,
                    Some(record) if self.record(record) == line => self.mark_record(record, mark),
                    Some(_) => self.mark(batch.hashes[index as usize], line, mark),
                };
                if is_marked {
                    on_mark(line)?;
                }
            }
        }
        Ok(())
    }

    /// Fetches the memory that a group of lines needs, the slots first, then the records that they
    /// point to, and tells of each line which record it may be: the first with its tag. Without one
    /// the line is not there.
    fn fetch_candidates(&self, batch: Batch<'_>, group: &Group) -> ArrayVec<Option<usize>, AHEAD> {
        for &index in group {
            let home = self.home(batch.hashes[index as usize]);
            cpu::prefetch(self.table.words(), home);
        }
        let candidate = |&index: &u32| {
            let hash = batch.hashes[index as usize];
            let record = self.seek(hash, |_| true).ok()?;
            // Two lines of cache, which most records are in.
            cpu::prefetch(self.arena.words(), record);
            cpu::prefetch(self.arena.words(), record + CACHE_LINE_WORDS);
            Some(record)
        };
        group.iter().map(candidate).collect()
    }

    /// Inserts a line, with one mark.
    pub(crate) fn insert(&mut self, hash: u64, line: &[u8]) -> Result<Insert> {
        if (self.lines + 1) * 100 > self.slots * MAX_LOAD_PERCENT && !self.grow_table()? {
            // A full table may still hold this line.
            let is_present = self.find(hash, line).is_some();
            return Ok(if is_present {
                Insert::Present
            } else {
                Insert::Full
            });
        }
        let Err(slot) = self.seek(hash, |record| self.record(record) == line) else {
            return Ok(Insert::Present);
        };
        let Some(record) = self.store(line)? else {
            return Ok(Insert::Full);
        };
        self.table.words_mut()[slot] = tag(hash) | (record as u64 + 1);
        self.lines += 1;
        Ok(Insert::New)
    }

    /// Marks a line as seen by input number `mark`, if it has the mark before it. True if it got
    /// the mark now.
    pub(crate) fn mark(&mut self, hash: u64, line: &[u8], mark: u16) -> bool {
        self.find(hash, line)
            .is_some_and(|record| self.mark_record(record, mark))
    }

    fn mark_record(&mut self, record: usize, mark: u16) -> bool {
        let header = &mut self.arena.words_mut()[record];
        let is_next = (*header >> 48) as u16 == mark - 1;
        if is_next {
            *header = (*header & LENGTH_MASK) | (u64::from(mark) << 48);
        }
        is_next
    }

    /// Takes a line out of all further marking, if it is there.
    pub(crate) fn exclude(&mut self, hash: u64, line: &[u8]) {
        if let Some(record) = self.find(hash, line) {
            self.arena.words_mut()[record] |= u64::from(EXCLUDED) << 48;
        }
    }

    /// The lines held, in the order they came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.records().map(|record| self.record(record))
    }

    /// The lines that have only the mark of their insertion: neither further marks nor excluded.
    pub(crate) fn iter_unmarked(&self) -> impl Iterator<Item = &[u8]> {
        let is_unmarked = |record: &usize| self.arena.words()[*record] >> 48 == 1;
        self.records()
            .filter(is_unmarked)
            .map(|record| self.record(record))
    }

    /// Where the records are in the arena.
    fn records(&self) -> impl Iterator<Item = usize> {
        let mut at = 0;
        std::iter::from_fn(move || {
            (at < self.used_words).then(|| {
                let record = at;
                at += record_words(self.record(record).len());
                record
            })
        })
    }

    /// The record of a line.
    fn find(&self, hash: u64, line: &[u8]) -> Option<usize> {
        self.seek(hash, |record| self.record(record) == line).ok()
    }

    /// Goes along the slots from the home of `hash` to the first record that has its tag and
    /// `is_wanted`; where there is none, the empty slot at the end.
    #[inline]
    fn seek(
        &self,
        hash: u64,
        is_wanted: impl Fn(usize) -> bool,
    ) -> std::result::Result<usize, usize> {
        let tag = tag(hash);
        let mut slot = self.home(hash);
        loop {
            let word = self.table.words()[slot];
            if word == 0 {
                return Err(slot);
            }
            if word & !OFFSET_MASK == tag {
                let record = (word & OFFSET_MASK) as usize - 1;
                if is_wanted(record) {
                    return Ok(record);
                }
            }
            slot = self.next(slot);
        }
    }

    /// Appends a record to the arena; `None` when there is no room.
    fn store(&mut self, line: &[u8]) -> Result<Option<usize>> {
        let words = record_words(line.len());
        let end = self.used_words + words;
        if end as u64 > OFFSET_MASK || !self.make_room(end)? {
            return Ok(None);
        }
        let record = self.used_words;
        let arena = self.arena.words_mut();
        arena[record] = line.len() as u64 | (1 << 48);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut arena[record + 1..end]);
        bytes[..line.len()].copy_from_slice(line);
        self.used_words = end;
        Ok(Some(record))
    }

    /// Lets the arena hold `words`, growing by a quarter or, when that is refused, by what is
    /// needed.
    fn make_room(&mut self, words: usize) -> Result<bool> {
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

    /// Doubles the table. False when the budget refuses.
    fn grow_table(&mut self) -> Result<bool> {
        let slots = self.slots * 2;
        let table = match Buffer::with_huge_pages(&self.budget, "set", slots * 8) {
            Ok(table) => table,
            Err(Error::Memory { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        self.table = table;
        self.slots = slots;
        let mut record = 0;
        while record < self.used_words {
            let line = self.record(record);
            let (hash, words) = (self.hasher.hash(line), record_words(line.len()));
            let mut slot = self.home(hash);
            while self.table.words()[slot] != 0 {
                slot = self.next(slot);
            }
            self.table.words_mut()[slot] = tag(hash) | (record as u64 + 1);
            record += words;
        }
        Ok(true)
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        reduce(derive(hash, Purpose::Slot), self.slots) as usize
    }

    #[inline]
    fn next(&self, slot: usize) -> usize {
        if slot + 1 == self.slots as usize {
            0
        } else {
            slot + 1
        }
    }

    #[inline]
    fn record(&self, record: usize) -> &[u8] {
        let words = self.arena.words();
        let length = (words[record] & LENGTH_MASK) as usize;
        let bytes: &[u8] = bytemuck::cast_slice(&words[record + 1..]);
        &bytes[..length]
    }
}

/// Lines whose memory is fetched together.
type Group = ArrayVec<u32, AHEAD>;

/// The indexes, group by group.
fn groups(indexes: impl Iterator<Item = u32>) -> impl Iterator<Item = Group> {
    let mut indexes = indexes.fuse();
    std::iter::from_fn(move || {
        let group: Group = indexes.by_ref().take(AHEAD).collect();
        (!group.is_empty()).then_some(group)
    })
}

/// The tag of a hash, in its place in a slot.
#[inline]
fn tag(hash: u64) -> u64 {
    derive(hash, Purpose::Tag) & !OFFSET_MASK
}

/// Words of a record: header and padded bytes.
#[inline]
fn record_words(line_bytes: usize) -> usize {
    1 + line_bytes.div_ceil(8)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
