//! Counters instead of bits: lines can be removed, or their number estimated.
//!
//! *Owns:* cells of 4 bits that count keys (`counting`) and cells of 16 bits whose least one
//! estimates how often a key came (`spectral`).
//!
//! *Invariants.*
//! - A counter never wraps. One that has reached the top stays there for good: it no longer has the true
//!   number, and counting down from it could reach 0 while keys are still in.
//! - A key counts once in each of its *different* positions, so that what was put in can be taken
//!   out again exactly.
//! - A count is never below the truth, up to the top of a counter.
//!
//! ```text
//!  counting   word:  │ cell 15 │ ... │ cell 1 │ cell 0 │   4 bits each, 0 to 15
//!  spectral   word:  │ cell 3  │ cell 2 │ cell 1 │ cell 0 │   16 bits each, 0 to 65,535
//!
//!  put a key with cells 2 7 5:   counting   3 8 6    each counts the keys that use it
//!                                spectral   3 7 5    only the least grows: its value is an upper bound of
//!                                                    how often the key came
//! ```
//!
//! *Cost:* `k` cache lines per key.
//!
//! *Sources:* Fan, Cao, Almeida, Broder, "Summary Cache", IEEE/ACM Transactions on Networking 8(3),
//! 2000 (4-bit counters); Cohen, Matias, "Spectral Bloom Filters", SIGMOD 2003 (minimal increase:
//! only the least counters of a key grow; a key cannot be taken out again then).

use arrayvec::ArrayVec;

use crate::filter::cells::{Ask, Change, Forget, Put};
use crate::filter::flat::positions;
use crate::filter::words::ReadWords;

/// The most positions of a key: that of [`Kind::most_hashes`](crate::filter::shape::Kind::most_hashes).
const MOST: usize = 64;

/// Counters of `BITS` bits, low ones first in a word.
#[derive(Debug)]
pub(super) struct Counters<W, const BITS: u32> {
    words: W,
    /// Counters, at least 1; the rest of the last word is not used.
    cells: u64,
    /// Positions of a key, 1 to 64; some may be equal.
    hashes: u32,
}

/// The kind `counting`.
pub(super) type Counting<W> = Counters<W, 4>;
/// The kind `spectral`.
pub(super) type Spectral<W> = Counters<W, 16>;

impl<W, const BITS: u32> Counters<W, BITS> {
    /// The highest value of a counter.
    pub(super) const TOP: u64 = (1 << BITS) - 1;
    const PER_WORD: u64 = (64 / BITS) as u64;

    /// Makes the filter of the cells in `words`: at least one, and 1 to 64 of them for a key.
    pub(super) fn new(words: W, cells: u64, hashes: u32) -> Self {
        Self {
            words,
            cells,
            hashes,
        }
    }

    /// Returns the word and the shift of a counter.
    #[inline]
    fn word_and_shift(position: u64) -> (usize, u32) {
        (
            (position / Self::PER_WORD) as usize,
            (position % Self::PER_WORD) as u32 * BITS,
        )
    }

    /// Returns the different positions of a key: changes count each cell once.
    fn distinct(&self, hash: u64) -> ArrayVec<u64, MOST> {
        let mut distinct = ArrayVec::new();
        for position in positions(hash, self.cells, self.hashes.min(MOST as u32)) {
            if !distinct.contains(&position) {
                distinct.push(position);
            }
        }
        distinct
    }
}

impl<W: ReadWords, const BITS: u32> Counters<W, BITS> {
    #[inline]
    fn value(&self, position: u64) -> u64 {
        let (word, shift) = Self::word_and_shift(position);
        (self.words.word(word) >> shift) & Self::TOP
    }

    /// Returns the least counter at these positions; 0 without any.
    fn least(&self, positions: impl IntoIterator<Item = u64>) -> u64 {
        let values = positions.into_iter().map(|position| self.value(position));
        values.min().unwrap_or(0)
    }
}

impl<W: ReadWords, const BITS: u32> Ask for Counters<W, BITS> {
    type Key = u64;

    #[inline]
    fn fetch(&self, key: u64) {
        for position in positions(key, self.cells, self.hashes) {
            self.words.fetch(Self::word_and_shift(position).0);
        }
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        positions(key, self.cells, self.hashes).all(|position| self.value(position) != 0)
    }

    fn count(&self, key: u64) -> u64 {
        self.least(positions(key, self.cells, self.hashes))
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Change for Counting<W> {
    fn put(&mut self, key: u64) -> Put {
        let mut is_new = false;
        for position in self.distinct(key) {
            let value = self.value(position);
            is_new |= value == 0;
            // A sum cannot carry into the next counter: the value is below the top.
            if value < Self::TOP {
                let (word, shift) = Self::word_and_shift(position);
                self.words.as_mut()[word] += 1 << shift;
            }
        }
        if is_new { Put::New } else { Put::Present }
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Forget for Counting<W> {
    fn take(&mut self, key: u64) -> bool {
        if !self.contains(key) {
            return false;
        }
        for position in self.distinct(key) {
            // Not zero, as the key is in; at the top it stays.
            if self.value(position) < Self::TOP {
                let (word, shift) = Self::word_and_shift(position);
                self.words.as_mut()[word] -= 1 << shift;
            }
        }
        true
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Change for Spectral<W> {
    fn put(&mut self, key: u64) -> Put {
        let distinct = self.distinct(key);
        let least = self.least(distinct.iter().copied());
        if least < Self::TOP {
            for position in distinct {
                if self.value(position) == least {
                    let (word, shift) = Self::word_and_shift(position);
                    self.words.as_mut()[word] += 1 << shift;
                }
            }
        }
        if least == 0 { Put::New } else { Put::Present }
    }
}

/// Adds counters of `BITS` bits, word by word; a sum above the top becomes the top. `from` is as long as `to`.
pub(super) fn add<const BITS: u32>(to: &mut [u64], from: &[u64]) {
    let top = (1u64 << BITS) - 1;
    for (to, &from) in to.iter_mut().zip(from) {
        let mut sum = 0;
        for shift in (0..64).step_by(BITS as usize) {
            let both = ((*to >> shift) & top) + ((from >> shift) & top);
            sum |= both.min(top) << shift;
        }
        *to = sum;
    }
}
