//! Places in a file, found by the hash of what stands there.
//!
//! *Owns:* [`PlaceTable`]: of each line that an answer has, the hash of its key, and where that stands or the record
//! that has it. The bytes themselves are in the file.
//!
//! ```text
//!  slot    │ hash │ offset │ 2 (length + 1) + is_key │      three words; 0 in the last: the slot is empty
//!  table   │ .... │ A │ .. │ B │ C │ .. │      probed linearly from `home`, around the end
//! ```
//!
//! *Invariants.*
//! - A hash only says where to look: whether two keys are equal, the caller finds out in the file.
//! - No place is taken out. At least three slots in ten are empty, so each search ends.
//! - A table that the budget does not let grow is as it was.
//!
//! *Cost:* 24 bytes a slot, at most 70 % of the slots in use. While it grows, the old and the new table are there.

use crate::error::Result;
use crate::hash::{Purpose, derive, reduce};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;

/// The words of a slot.
const WORDS: usize = 3;
/// The bytes of a slot.
const SLOT_BYTES: u64 = 8 * WORDS as u64;
/// Slots in use, at most, in per cent.
const MAX_LOAD_PERCENT: u64 = 70;
/// The name of this memory in messages.
const CONSUMER: &str = "set";

/// A place in a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilePlace {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// True if the key itself stands there; else the record does that it must be taken out of.
    pub(crate) is_key: bool,
}

/// A table of places. For one thread at a time.
#[derive(Debug)]
pub(crate) struct PlaceTable {
    budget: MemoryBudget,
    table: Buffer,
    /// Slots in force.
    slots: u64,
    /// Slots in use.
    used: u64,
}

/// Returns the slots for `places` places at the highest load.
fn slots_for(places: u64) -> u64 {
    places.saturating_add(1).saturating_mul(100) / MAX_LOAD_PERCENT + 8
}

/// Estimates the memory of a table of `places` places that was made for so many, in bytes.
pub(crate) fn place_table_bytes(places: u64) -> u64 {
    slots_for(places).saturating_mul(SLOT_BYTES)
}

/// Returns the places that a table of `bytes` bytes is made for.
pub(crate) fn places_in(bytes: u64) -> u64 {
    (bytes / SLOT_BYTES).saturating_sub(16) * MAX_LOAD_PERCENT / 100
}

impl PlaceTable {
    /// Makes an empty table for `places` places; it grows beyond them.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where they have no room.
    pub(crate) fn new(budget: &MemoryBudget, places: u64) -> Result<Self> {
        let slots = slots_for(places);
        Ok(Self {
            budget: budget.clone(),
            table: Buffer::new(budget, CONSUMER, slots * SLOT_BYTES)?,
            slots,
            used: 0,
        })
    }

    /// Returns true if `is_it` finds the key at one of the places with this hash.
    ///
    /// # Errors
    /// That of `is_it`.
    pub(crate) fn has(
        &self,
        hash: u64,
        mut is_it: impl FnMut(FilePlace) -> Result<bool>,
    ) -> Result<bool> {
        let mut slot = self.home(hash);
        while let Some((found, place)) = self.slot(slot) {
            if found == hash && is_it(place)? {
                return Ok(true);
            }
            slot = self.next(slot);
        }
        Ok(false)
    }

    /// Adds a place of a key with this hash.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where the table has no room, and cannot grow.
    pub(crate) fn insert(&mut self, hash: u64, place: FilePlace) -> Result<()> {
        if (self.used + 1) * 100 > self.slots * MAX_LOAD_PERCENT {
            self.grow()?;
        }
        self.used += 1;
        self.put(hash, place);
        Ok(())
    }

    /// Puts a place into the first free slot.
    fn put(&mut self, hash: u64, place: FilePlace) {
        let mut slot = self.home(hash);
        while self.slot(slot).is_some() {
            slot = self.next(slot);
        }
        let words = [
            hash,
            place.offset,
            (place.length + 1) << 1 | u64::from(place.is_key),
        ];
        self.table.words_mut()[slot * WORDS..][..WORDS].copy_from_slice(&words);
    }

    /// Doubles the table.
    fn grow(&mut self) -> Result<()> {
        let larger = Self::new(&self.budget, 2 * self.used)?;
        let smaller = std::mem::replace(self, larger);
        self.used = smaller.used;
        for slot in 0..smaller.slots as usize {
            if let Some((hash, place)) = smaller.slot(slot) {
                self.put(hash, place);
            }
        }
        Ok(())
    }

    /// Returns the hash and the place in a slot; `None` if it is empty.
    #[inline]
    fn slot(&self, slot: usize) -> Option<(u64, FilePlace)> {
        let words = &self.table.words()[slot * WORDS..][..WORDS];
        let place = FilePlace {
            offset: words[1],
            length: (words[2] >> 1).checked_sub(1)?,
            is_key: words[2] & 1 == 1,
        };
        Some((words[0], place))
    }

    /// Returns the slot at which the search for a hash begins.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        reduce(derive(hash, Purpose::Slot), self.slots) as usize
    }

    /// Returns the slot after this one; after the last comes the first.
    #[inline]
    fn next(&self, slot: usize) -> usize {
        if slot + 1 == self.slots as usize {
            0
        } else {
            slot + 1
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::error::Error;

    #[test]
    fn a_place_is_found_by_its_hash_among_others_with_the_same_however_the_table_grows() {
        let budget = MemoryBudget::new(64 << 20, 0);
        for expected in [0, 10, 20_000] {
            let mut table = PlaceTable::new(&budget, expected).unwrap();
            let mut model: HashMap<u64, Vec<FilePlace>> = HashMap::new();
            for offset in 0..20_000u64 {
                // Many have a hash of their own, some share one with hundreds.
                let hash = match offset % 50 {
                    0 => 7,
                    1 => u64::MAX,
                    _ => offset.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                };
                let place = FilePlace {
                    offset,
                    length: offset % 3,
                    is_key: offset % 2 == 0,
                };
                table.insert(hash, place).unwrap();
                model.entry(hash).or_default().push(place);
            }
            for (&hash, places) in &model {
                let mut seen = Vec::new();
                let mut note = |place| {
                    seen.push(place);
                    Ok(false)
                };
                assert!(!table.has(hash, &mut note).unwrap());
                seen.sort_by_key(|place| place.offset);
                assert_eq!(seen, *places);
                let last = places[places.len() - 1];
                assert!(table.has(hash, |place| Ok(place == last)).unwrap());
            }
            assert!(!table.has(3, |_| Ok(true)).unwrap());
        }
    }

    #[test]
    fn a_table_that_cannot_grow_says_so_and_has_what_it_had() {
        let budget = MemoryBudget::new(64 << 10, 0);
        let mut table = PlaceTable::new(&budget, 500).unwrap();
        let place = |offset| FilePlace {
            offset,
            length: 0,
            is_key: false,
        };
        let refused = (0..).find_map(|hash| {
            let inserted = table.insert(hash, place(hash));
            inserted.err().map(|error| (hash, error))
        });
        let (count, error) = refused.unwrap();
        assert!(matches!(error, Error::Memory { .. }) && count >= 500);
        let has = |hash| table.has(hash, |found| Ok(found == place(hash))).unwrap();
        assert!((0..count).all(has) && !has(count));
    }
}
