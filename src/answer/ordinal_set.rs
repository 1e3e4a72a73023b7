//! A set of ordinals: the lines of an answer that are found again by where they begin.
//!
//! *Owns:* [`OrdinalSet`], a table with open addressing and linear probing. *Invariants:* 0 is a free slot, because
//! sides are numbered from 1; at least an eighth of the slots is free, so every search ends. *Cost:* 8 bytes for each
//! slot; one cache miss for each line that is inserted or asked for.
//!
//! *Sources:* Knuth, The Art of Computer Programming, volume 3, 6.4: algorithm L, and multiplicative hashing.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::answer::rules::KEPT_LINES;
use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::AtomicWords;

/// 2^64 divided by the golden ratio: ordinals, which are dense in few places, are spread over all slots.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A set of ordinals, shared by threads.
#[derive(Debug)]
pub(crate) struct OrdinalSet {
    slots: AtomicWords,
    /// The ordinals that were inserted.
    count: AtomicU64,
    budget: MemoryBudget,
}

impl OrdinalSet {
    /// Makes a set in all memory of `budget`.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where that is none.
    pub(super) fn new(budget: MemoryBudget) -> Result<Self> {
        let words = budget.available_bytes() / 8;
        Ok(Self {
            slots: AtomicWords::new(&budget, KEPT_LINES, words & !511)?,
            count: AtomicU64::new(0),
            budget,
        })
    }

    /// Inserts an ordinal, which is not 0. No thread inserts it a second time.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where the set is full.
    pub(super) fn insert(&self, ordinal: u64) -> Result<()> {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        if count >= self.slots.len() as u64 / 8 * 7 {
            return Err(self.budget.refusal(KEPT_LINES, 8));
        }
        for slot in self.slots_from(ordinal) {
            let taken = slot.compare_exchange(0, ordinal, Ordering::Relaxed, Ordering::Relaxed);
            if taken.is_ok() {
                break;
            }
        }
        Ok(())
    }

    /// Returns true if an ordinal was inserted.
    pub(super) fn contains(&self, ordinal: u64) -> bool {
        let held = self
            .slots_from(ordinal)
            .map(|slot| slot.load(Ordering::Relaxed));
        held.take_while(|&held| held != 0)
            .any(|held| held == ordinal)
    }

    /// Iterates over the slots that may have an ordinal, in the order of the search.
    fn slots_from(&self, ordinal: u64) -> impl Iterator<Item = &AtomicU64> {
        let spread = u128::from(ordinal.wrapping_mul(GOLDEN));
        let first = ((spread * self.slots.len() as u128) >> 64) as usize;
        self.slots[first..].iter().chain(&self.slots[..first])
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::selection::first_ordinal;

    #[test]
    fn l10_an_ordinal_is_found_that_was_inserted_and_no_other_until_the_set_is_full() {
        let set = OrdinalSet::new(MemoryBudget::new(8 << 10, 0)).unwrap();
        let ordinal = |number: u64| first_ordinal(1 + (number % 3) as u32) + number / 3 * 2000;
        let room = set.slots.len() as u64 / 8 * 7;
        let threads: Vec<_> = (0..2).collect();
        std::thread::scope(|scope| {
            for thread in threads {
                let set = &set;
                scope.spawn(move || {
                    for number in (thread..room).step_by(2) {
                        set.insert(ordinal(number)).unwrap();
                    }
                });
            }
        });
        for number in 0..2 * room {
            assert_eq!(set.contains(ordinal(number)), number < room, "{number}");
        }
        assert!(matches!(
            set.insert(ordinal(room)),
            Err(Error::Memory { .. })
        ));
        assert!(!set.contains(first_ordinal(1) - 1));
    }
}
