//! Digests of lines in an exact table.
//!
//! *Owns:* the kind `fingerprint`: 128-bit keyed digests, open addressing, linear probing.
//!
//! *Invariants.*
//! - Two words a slot, low word first; a slot of zeros is empty. (A line whose digest is zero, one
//!   in 2^128, is kept as 1.)
//! - Every digest can be reached from its home slot without crossing an empty one, also after
//!   digests were taken out.
//! - At least one slot is empty, so that every search ends.
//!
//! ```text
//!  slot      0     1     2     3     4     5          home = reduce(first word of the digest, slots)
//!          ├─────┼─────┼─────┼─────┼─────┼─────┤
//!          │     │ A   │ B   │ C   │     │     │      A and B have home 1, C has home 2
//!          └─────┴─────┴─────┴─────┴─────┴─────┘
//!  take A: a hole at 1. Home of B is 1, not after the hole: B moves to 1, hole at 2. Home of C is 2: the same
//! ```
//!
//! *Cost:* 16 bytes a slot, of which four fifths are used at most; about one cache line per
//! question.
//!
//! *Source:* Knuth, The Art of Computer Programming 3, 6.4, algorithms L and R.

use crate::filter::cells::{Ask, Change, Forget, Put};
use crate::filter::words::ReadWords;
use crate::hash::reduce;

/// The form in which the filter keeps a line.
pub(super) type Digest = [u64; 2];

/// A slot without a digest.
pub(super) const EMPTY: Digest = [0, 0];

/// Returns a digest as it is kept: never empty.
#[inline]
fn storable(digest: Digest) -> Digest {
    if digest == EMPTY { [1, 0] } else { digest }
}

/// A table of digests.
#[derive(Debug)]
pub(super) struct Digests<W> {
    /// Two words for each slot.
    words: W,
    /// Slots, at least 2.
    slots: u64,
    /// Slots that are not empty; fewer than `slots`. Where a table is only asked, it may be 0.
    used: u64,
}

impl<W: ReadWords> Digests<W> {
    /// Makes the table in `words`, of which `used` slots are not empty.
    pub(super) fn new(words: W, slots: u64, used: u64) -> Self {
        Self { words, slots, used }
    }

    /// Returns the number of slots that are not empty.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    #[inline]
    fn slot(&self, slot: u64) -> Digest {
        let first = slot as usize * 2;
        [self.words.word(first), self.words.word(first + 1)]
    }

    #[inline]
    fn home(&self, digest: Digest) -> u64 {
        reduce(digest[0], self.slots)
    }

    #[inline]
    fn next(&self, slot: u64) -> u64 {
        if slot + 1 == self.slots { 0 } else { slot + 1 }
    }

    /// Finds the slot that has `digest`, or else the empty one where it belongs; `None` in a table without an empty
    /// one.
    #[inline]
    fn seek(&self, digest: Digest) -> Option<Result<u64, u64>> {
        let mut slot = self.home(digest);
        for _ in 0..self.slots {
            match self.slot(slot) {
                EMPTY => return Some(Err(slot)),
                found if found == digest => return Some(Ok(slot)),
                _ => slot = self.next(slot),
            }
        }
        None
    }
}

impl<W: ReadWords> Ask for Digests<W> {
    type Key = Digest;

    #[inline]
    fn fetch(&self, key: Digest) {
        self.words.fetch(self.home(storable(key)) as usize * 2);
    }

    #[inline]
    fn contains(&self, key: Digest) -> bool {
        matches!(self.seek(storable(key)), Some(Ok(_)))
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Digests<W> {
    fn set(&mut self, slot: u64, digest: Digest) {
        self.words.as_mut()[slot as usize * 2..][..2].copy_from_slice(&digest);
    }

    /// Empties a slot, and moves digests after it forward so that each can still be reached from its home
    /// (algorithm R). Ends at the next empty slot; the table always has one.
    fn empty(&mut self, mut hole: u64) {
        let mut slot = hole;
        loop {
            slot = self.next(slot);
            let digest = self.slot(slot);
            if digest == EMPTY {
                break;
            }
            // The distance of the digest from its home, and from the hole, in slots around the end. If
            // its home is at or before the hole, its search would end in the hole: it moves there.
            let distance = |from: u64| (slot + self.slots - from) % self.slots;
            if distance(self.home(digest)) >= distance(hole) {
                self.set(hole, digest);
                hole = slot;
            }
        }
        self.set(hole, EMPTY);
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Change for Digests<W> {
    fn put(&mut self, key: Digest) -> Put {
        match self.seek(storable(key)) {
            Some(Ok(_)) => Put::Present,
            Some(Err(slot)) if self.used + 1 < self.slots => {
                self.set(slot, storable(key));
                self.used += 1;
                Put::New
            }
            _ => Put::Full,
        }
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Forget for Digests<W> {
    fn take(&mut self, key: Digest) -> bool {
        let Some(Ok(slot)) = self.seek(storable(key)) else {
            return false;
        };
        self.empty(slot);
        self.used -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_is_a_set_under_putting_and_taking_until_it_is_full() {
        for slots in [2u64, 3, 7, 64] {
            let mut table = Digests::new(vec![0u64; slots as usize * 2], slots, 0);
            let mut model = BTreeSet::new();
            let mut state = slots;
            for _ in 0..20_000 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                // Few different digests, many with the same home; the zero digest among them.
                let digest = [
                    (state >> 33) % 3 * (u64::MAX / 3),
                    (state >> 40) % (slots / 2 + 2),
                ];
                if state >> 63 == 0 {
                    let put = table.put(digest);
                    if model.contains(&storable(digest)) {
                        assert_eq!(put, Put::Present);
                    } else if model.len() as u64 + 1 == slots {
                        assert_eq!(put, Put::Full);
                    } else {
                        assert_eq!(put, Put::New);
                        model.insert(storable(digest));
                    }
                } else {
                    assert_eq!(table.take(digest), model.remove(&storable(digest)));
                }
                assert_eq!(table.used(), model.len() as u64);
                assert_eq!(table.contains(digest), model.contains(&storable(digest)));
            }
            assert!(model.iter().all(|&digest| table.contains(digest)));
        }
    }
}
