//! A table of digests that grows.
//!
//! *Owns:* when it grows, and the move. *Invariants:* no digest is lost in a move; a refused one
//! leaves the table as it was. *Cost:* a table that is four fifths full moves into one of twice the
//! size, for which the budget must have room at the same time.

use crate::error::Result;
use crate::filter::cells::{Ask, Change, Put, change_each_ahead};
use crate::filter::digests::{Digest, Digests, EMPTY};
use crate::memory::buffer::Buffer;

/// A table of digests that moves into a larger one when it is nearly full.
#[derive(Debug)]
pub(super) struct Growing<'a> {
    /// The memory of the table: at least two words for each slot.
    pub(super) buffer: &'a mut Buffer,
    /// Its slots.
    pub(super) slots: &'a mut u64,
    /// Its slots that are not empty.
    pub(super) used: u64,
}

impl Growing<'_> {
    /// Works on the table as it is, without growing, and takes over how many slots are in use afterwards.
    pub(super) fn with<R>(&mut self, work: impl FnOnce(&mut Digests<&mut [u64]>) -> R) -> R {
        let words = &mut self.buffer.words_mut()[..*self.slots as usize * 2];
        let mut digests = Digests::new(words, *self.slots, self.used);
        let result = work(&mut digests);
        self.used = digests.used();
        result
    }

    /// Puts digests in, in order, and hands `each` the index of each and what came of it (never `Full`). Grows
    /// when a fifth of the slots would no longer be free for a new digest.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] when the table must grow and cannot: the digests that `each` got are in.
    pub(super) fn put(&mut self, digests: &[Digest], mut each: impl FnMut(u32, Put)) -> Result<()> {
        let mut done = 0;
        loop {
            let slots = *self.slots;
            done += self.with(|cells| {
                change_each_ahead(cells, &digests[done..], |cells, index, key| {
                    let has_room = cells.used() < slots - slots / 5;
                    // One that is there already takes no room.
                    let put = if has_room || cells.contains(key) {
                        cells.put(key)
                    } else {
                        Put::Full
                    };
                    if put != Put::Full {
                        each((done + index) as u32, put);
                    }
                    put != Put::Full
                })
            });
            if done == digests.len() {
                return Ok(());
            }
            self.move_into((*self.slots).max(4).saturating_mul(2))?;
        }
    }

    /// Makes room for this many more digests, with a fifth of the slots still free afterwards.
    ///
    /// # Errors
    /// [`crate::Error::Memory`]; the table is as it was.
    pub(super) fn reserve(&mut self, more: u64) -> Result<()> {
        let needed = self.used.saturating_add(more).saturating_add(1);
        let slots = needed.saturating_add(needed / 4);
        if slots <= *self.slots {
            return Ok(());
        }
        self.move_into(slots)
    }

    /// Moves everything into a table of `slots` slots, more than now. Old and new are in memory at once.
    fn move_into(&mut self, slots: u64) -> Result<()> {
        let bytes = slots.saturating_mul(16);
        let mut larger = Buffer::with_huge_pages(self.buffer.budget(), "filter", bytes)?;
        let words = &self.buffer.words()[..*self.slots as usize * 2];
        let mut table = Digests::new(&mut larger.words_mut()[..slots as usize * 2], slots, 0);
        let (digests, _) = words.as_chunks::<2>();
        for &digest in digests.iter().filter(|&&digest| digest != EMPTY) {
            table.put(digest);
        }
        *self.buffer = larger;
        *self.slots = slots;
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::memory::budget::MemoryBudget;

    fn digests(range: std::ops::Range<u64>) -> Vec<Digest> {
        let mix = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        range.map(|i| [mix(i), mix(mix(i))]).collect()
    }

    #[test]
    fn room_that_was_reserved_is_enough_and_a_fifth_of_it_stays_free() {
        let budget = MemoryBudget::new(1 << 20, 0);
        let mut buffer = Buffer::new(&budget, "filter", 8 * 16).unwrap();
        let mut slots = 8;
        let mut growing = Growing {
            buffer: &mut buffer,
            slots: &mut slots,
            used: 0,
        };
        growing.put(&digests(0..6), |_, _| {}).unwrap();
        assert_eq!(*growing.slots, 8, "7 of 8 may be in use");
        for (more, after) in [(0, 8), (93, 125), (92, 125), (94, 126)] {
            growing.reserve(more).unwrap();
            assert_eq!(*growing.slots, after, "for {more} more");
        }
        assert_eq!(growing.used, 6, "moving loses none");
        let mut new = 0;
        growing
            .put(&digests(0..100), |_, put| new += u32::from(put == Put::New))
            .unwrap();
        assert_eq!((new, growing.used, *growing.slots), (94, 100, 126));
        growing.put(&digests(100..101), |_, _| {}).unwrap();
        assert_eq!(*growing.slots, 126, "one slot of room was left");
        let mut known = 0;
        growing
            .put(&digests(0..101), |_, put| {
                known += u32::from(put == Put::Present);
            })
            .unwrap();
        assert_eq!(
            (known, *growing.slots),
            (101, 126),
            "what is in takes no room"
        );
        growing.put(&digests(101..102), |_, _| {}).unwrap();
        assert_eq!((*growing.slots, growing.used), (252, 102));
        let mut told = Vec::new();
        let all = growing.put(&digests(100..600), |index, put| told.push((index, put)));
        all.unwrap();
        let expected =
            (0..500).map(|index| (index, if index < 2 { Put::Present } else { Put::New }));
        assert!(
            told.into_iter().eq(expected),
            "in order, also where it grows"
        );
        let held = growing.with(|table| {
            digests(0..102)
                .iter()
                .filter(|&&digest| crate::filter::cells::Ask::contains(table, digest))
                .count()
        });
        assert_eq!(held, 102);
    }
}
