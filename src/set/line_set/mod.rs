//! The exact set of lines: an arena and a table.
//!
//! *Owns:* [`LineSet`], which holds each distinct line once and keeps, per line, a mark that tells which sides
//! have it and what else the answer needs ([`StateLayout`]).
//!
//! *Layout,* in words of 8 bytes:
//!
//! ```text
//!  slot of the table     │ tag: 24 │ index of a record + 1: 40 │       0 is an empty slot
//!  header of a record    │ mark: 24 │ length in bytes: 40 │
//!
//!  table    │ 0 │ tag, 1 │ 0 │ tag, 6 │ tag, 4 │ 0 │ ...    probed linearly from `home`, around the end
//!
//!  arena    │ header │ line...│ line.  │ header │ line.. │ header │ line...│ free ...
//!  index      0                          3                 5                 used_words
//! ```
//!
//! A record is its header, the words of what else is kept, the bytes of the line, and padding to whole words.
//! Records are appended and never moved or removed. The home of a hash comes from multiplying it by the number of
//! slots, so the table has any size, not only powers of two.
//!
//! *Invariants.*
//! - Lines are compared byte by byte, length first; the tag only saves comparisons. Hash quality is
//!   a matter of speed, never of the answer.
//! - A repeated line costs nothing: it is found, not stored again.
//! - When the budget refuses more room the set returns [`Insert::Full`] and is still intact.
//! - At least three slots in ten are empty, so each search ends.
//!
//! *Cost:* 8 + length + at most 7 bytes per distinct line in the arena; 8 bytes per slot, at most
//! 70 % of the slots in use. Operations come in groups whose slots and records are prefetched. Not on huge pages: where
//! these are at hand, a job with a set of 0.4 GB takes 0.96 of the time by them, one of 1.6 GB 0.83; where a virtual
//! machine has to fetch them from its host, 1.6 and 2.5 times the time.

mod groups;
mod records;

use crate::error::{Error, Result};
use crate::hash::{LineHasher, Purpose, derive, reduce};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::{Buffer, PAGE};
use crate::selection::{LineState, Place, StateLayout};
use crate::set::line_set::records::{OFFSET_MASK, Records};

/// Slots in use, at most, in per cent. Beyond it, linear probing visits many slots for a line that is absent.
const MAX_LOAD_PERCENT: u64 = 70;
/// Bytes that a set needs beyond its lines: rounding to whole pages, and the pages with which it begins.
const SPARE_BYTES: u64 = 8 * PAGE;

/// The outcome of inserting a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Insert {
    /// It is in the set now, with its first mark.
    New,
    /// It was there already.
    Present,
    /// There is no room for it, and it is not there.
    Full,
}

/// A set of distinct lines within a memory budget. For one thread at a time.
#[derive(Debug)]
pub(crate) struct LineSet {
    /// The budget that the arena and the table grow from; others may take from it meanwhile.
    budget: MemoryBudget,
    /// The hash of the run. Only growing the table hashes lines again: the full hash is not stored.
    hasher: LineHasher,
    /// The lines, with what is kept of each.
    records: Records,
    /// The slots, and beyond them what an earlier use has left.
    table: Buffer,
    /// Slots in force: at least a page of them, at most the words of `table`.
    slots: u64,
    /// Distinct lines held: the slots in use, and the records in the arena.
    lines: u64,
    /// True if [`note_all`](LineSet::note_all) has found no room for a line, and so inserts no further one.
    is_closed: bool,
}

/// Estimates the bytes that a set of `lines` lines with `line_bytes` bytes in all needs. The padding is taken for 4
/// bytes a line, its mean; it is 0 to 7. Saturates, so a number that nobody can have means "too much".
pub(crate) fn estimate_set_bytes(lines: u64, line_bytes: u64) -> u64 {
    let arena = line_bytes.saturating_add(lines.saturating_mul(8 + 4));
    arena.saturating_add(table_slots(lines).saturating_mul(8))
}

/// Returns the number of lines of `line_bytes` that a set of `bytes` bytes holds.
pub(crate) fn most_lines(bytes: u64, line_bytes: u64, kept: StateLayout) -> u64 {
    let record = 8 + (line_bytes + 8 * kept.words() as u64).next_multiple_of(8);
    let slots = (8 * 100_u64).div_ceil(MAX_LOAD_PERCENT);
    bytes.saturating_sub(SPARE_BYTES) / (record + slots)
}

/// Slots for `lines` lines at the highest load.
fn table_slots(lines: u64) -> u64 {
    (lines.saturating_add(1)).saturating_mul(100) / MAX_LOAD_PERCENT + 8
}

impl LineSet {
    /// Makes an empty set that takes its memory from `budget` as it grows. It begins with two pages.
    ///
    /// # Errors
    /// [`Error::Memory`] when the budget has not even these.
    pub(crate) fn new(
        budget: &MemoryBudget,
        hasher: LineHasher,
        kept: StateLayout,
    ) -> Result<Self> {
        Ok(Self {
            budget: budget.clone(),
            hasher,
            records: Records::new(budget, kept)?,
            table: Buffer::new(budget, "set", PAGE)?,
            slots: PAGE / 8,
            lines: 0,
            is_closed: false,
        })
    }

    /// Empties the set and prepares table and arena for `lines` lines, or for as many as the budget
    /// allows when the lines are `line_bytes` long on average.
    ///
    /// The numbers may be wrong: the set grows beyond them while the budget allows. But growing a table needs
    /// the old and the new one at the same time, so a table of the right size from the start lets the set
    /// use nearly all of its budget.
    ///
    /// # Errors
    /// [`Error::Memory`] when another user of the budget took memory meanwhile; [`Error::Machine`] when the
    /// system refuses.
    pub(crate) fn reset(&mut self, lines: u64, line_bytes: u64) -> Result<()> {
        self.lines = 0;
        self.records.used_words = 0;
        let held = self.held_bytes();
        // A line takes its bytes, 8 of header and 4 of padding, what is kept of it, and its share of the slots. Four
        // pages stay free for rounding.
        let line_bytes = line_bytes + 8 * self.records.kept.words() as u64;
        let room = (self.budget.available_bytes() + held).saturating_sub(4 * PAGE)
            / (line_bytes + 12 + 8 * 100 / MAX_LOAD_PERCENT);
        let slots = table_slots(lines.min(room)).max(PAGE / 8);
        if slots * 8 > self.table.len() as u64 {
            // Both go first: the arena may have taken what the new table needs.
            self.records.arena.shrink(PAGE)?;
            self.table.shrink(PAGE)?;
            self.table = Buffer::new(&self.budget, "set", slots * 8)?;
        }
        // Mapped at once rather than grown step by step; what is not used is never touched.
        let expected = lines.min(room) * (8 + line_bytes.next_multiple_of(8));
        let affordable = expected.min(self.budget.available_bytes() & !(PAGE - 1));
        if affordable > self.records.arena.len() as u64 {
            self.records.arena = Buffer::new(&self.budget, "set", affordable)?;
        }
        self.slots = slots;
        // The arena keeps its old records: `used_words` is 0, so nothing reads them.
        self.table.words_mut()[..slots as usize].fill(0);
        Ok(())
    }

    /// Tells whether a set that was just reset has room for any `lines` lines of `line_bytes` bytes in all: as long as
    /// nobody else takes from its budget, none of them finds it full.
    pub(crate) fn has_room_for(&self, lines: u64, line_bytes: u64) -> bool {
        let has_slots = lines.saturating_mul(100) <= self.slots * MAX_LOAD_PERCENT;
        // Each has a header, what is kept of it, and up to 7 bytes of padding.
        let each = 8 * (1 + self.records.kept.words() as u64) + 7;
        let arena = line_bytes.saturating_add(lines.saturating_mul(each));
        let available = self.budget.available_bytes() & !(PAGE - 1);
        has_slots && arena <= self.records.arena.len() as u64 + available
    }

    /// Returns the bytes of memory that the set holds, whether in use or not.
    pub(crate) fn held_bytes(&self) -> u64 {
        (self.records.arena.len() + self.table.len()) as u64
    }

    /// Empties the set and gives its memory back, except for two pages. A split calls it, whose blocks need
    /// the memory; the set can be used again.
    ///
    /// # Errors
    /// [`Error::Machine`] when the system refuses.
    pub(crate) fn release(&mut self) -> Result<()> {
        self.records.arena.shrink(PAGE)?;
        self.table.shrink(PAGE)?;
        self.table.words_mut().fill(0);
        (self.slots, self.lines, self.records.used_words) = (PAGE / 8, 0, 0);
        Ok(())
    }

    /// Returns the number of distinct lines held.
    #[cfg(test)]
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    /// Inserts a line of `side`, which is there at `place`, or marks the one that the set has. `hash` is the hash of
    /// the line under the hasher of this set.
    ///
    /// # Errors
    /// [`Error::Machine`] when the system refuses memory that the budget grants. A refusal by the budget is
    /// [`Insert::Full`].
    pub(crate) fn insert(
        &mut self,
        hash: u64,
        line: &[u8],
        side: u32,
        place: impl Into<Place>,
    ) -> Result<Insert> {
        let place = place.into();
        if (self.lines + 1) * 100 > self.slots * MAX_LOAD_PERCENT && !self.grow_table()? {
            // A full table may still hold this line.
            return Ok(match self.find(hash, line) {
                Some(record) => self.mark_again(record, side, place),
                None => Insert::Full,
            });
        }
        let slot = match self.seek(hash, |record| self.records.record(record) == line) {
            Ok(record) => return Ok(self.mark_again(record, side, place)),
            Err(slot) => slot,
        };
        let Some(record) = self.records.store(line, side, place)? else {
            return Ok(Insert::Full);
        };
        self.table.words_mut()[slot] = tag(hash) | (record as u64 + 1);
        self.lines += 1;
        Ok(Insert::New)
    }

    /// Marks a line that was to be inserted and is there.
    #[inline]
    fn mark_again(&mut self, record: usize, side: u32, place: Place) -> Insert {
        self.records.mark_record(record, side, place);
        Insert::Present
    }

    /// Marks a line as one of `side`, if it is in the set. Returns its mark if that is a new one.
    #[cfg(test)]
    fn mark(&mut self, hash: u64, line: &[u8], side: u32) -> Option<u32> {
        self.find(hash, line)
            .and_then(|record| self.records.mark_record(record, side, u64::MAX.into()))
    }

    /// Yields the lines held, in the order in which they were inserted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.records.iter()
    }

    /// Yields the lines held that are not excluded, with what was kept of them, in the order in which they were
    /// inserted.
    pub(crate) fn iter_marked(&self) -> impl Iterator<Item = (&[u8], LineState)> {
        self.records.iter_marked()
    }

    /// Excludes a line from all further marking and from [`LineSet::iter_marked`], if it is in the set. It
    /// stays in the set.
    pub(crate) fn exclude(&mut self, hash: u64, line: &[u8]) {
        if let Some(record) = self.find(hash, line) {
            self.records.exclude(record);
        }
    }

    /// Finds the record of a line: the index of its header in the arena.
    #[inline]
    fn find(&self, hash: u64, line: &[u8]) -> Option<usize> {
        self.seek(hash, |record| self.records.record(record) == line)
            .ok()
    }

    /// Goes along the slots from the home of `hash` to the first record that has its tag and
    /// `is_wanted`: `Ok` with the record. Without one it ends at an empty slot: `Err` with that slot, where the
    /// line would go. No slot ever becomes empty again, so a line that is there is found before one.
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

    /// Doubles the table and puts every record into it. False when the budget refuses: the old table is then
    /// as it was. Both exist at the same time for as long as it takes to make the new one.
    fn grow_table(&mut self) -> Result<bool> {
        let slots = self.slots * 2;
        let table = match Buffer::new(&self.budget, "set", slots * 8) {
            Ok(table) => table,
            Err(Error::Memory { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        self.table = table;
        self.slots = slots;
        let mut record = 0;
        while record < self.records.used_words {
            let line = self.records.record(record);
            let (hash, words) = (
                self.hasher.hash(line),
                self.records.record_words(line.len()),
            );
            // All lines are different: the first empty slot will do, and no line is compared.
            let mut slot = self.home(hash);
            while self.table.words()[slot] != 0 {
                slot = self.next(slot);
            }
            self.table.words_mut()[slot] = tag(hash) | (record as u64 + 1);
            record += words;
        }
        Ok(true)
    }

    /// Returns the slot at which the search for a hash begins: below `slots`.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        reduce(derive(hash, Purpose::Slot), self.slots) as usize
    }

    /// Returns the slot after `slot`; after the last comes the first.
    #[inline]
    fn next(&self, slot: usize) -> usize {
        if slot + 1 == self.slots as usize {
            0
        } else {
            slot + 1
        }
    }
}

/// Returns the tag of a hash: the upper 24 bits of a slot, the lower 40 zero.
#[inline]
fn tag(hash: u64) -> u64 {
    derive(hash, Purpose::Tag) & !OFFSET_MASK
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
