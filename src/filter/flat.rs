//! The Bloom filter of the textbooks: `k` bits anywhere in it.
//!
//! *Owns:* the positions of a key in a flat filter, and the kind `classic`. *Invariants:* positions
//! depend on the hash, the number of cells and `k`, and on nothing else: stored filters rely on it.
//! *Cost:* `k` cache lines per key.
//!
//! The positions are `h1 + i h2` modulo the number of cells, in the enhanced form: the step itself grows, by
//! 1, 2, 3 and so on. In the plain form, where it stays the same, the positions of one key coincide,
//! or those of two keys overlap, more often than chance would have it.
//!
//! ```text
//!  position   p    p + s    p + 2s + 1    p + 3s + 4    ...    each modulo the number of cells
//!  step         s    s + 1        s + 3         s + 6
//! ```
//!
//! *Sources:* Kirsch, Mitzenmacher, "Less Hashing, Same Performance", ESA 2006; Dillinger,
//! Manolios, "Bloom Filters in Probabilistic Verification", FMCAD 2004, section 5.2 (enhanced
//! double hashing).

use crate::filter::cells::{Ask, Change, Put};
use crate::filter::words::ReadWords;
use crate::hash::{Purpose, derive, reduce};

/// Yields the cells of a key, out of `cells` (at least 1): `hashes` numbers below it, some of which may be equal.
#[inline]
pub(super) fn positions(hash: u64, cells: u64, hashes: u32) -> impl Iterator<Item = u64> {
    let mut position = reduce(derive(hash, Purpose::FlatStart), cells);
    let mut step = reduce(derive(hash, Purpose::FlatStep), cells);
    (0..u64::from(hashes)).map(move |number| {
        let this = position;
        // Neither sum can overflow: a filter has fewer than 2^61 cells.
        position = below(position + step, cells);
        step = below(step + number + 1, cells);
        this
    })
}

/// Brings `value` below `cells`; in all but tiny filters it takes one subtraction at most.
#[inline]
fn below(value: u64, cells: u64) -> u64 {
    if value < cells {
        value
    } else if value < 2 * cells {
        value - cells
    } else {
        value % cells
    }
}

/// Bits anywhere in the filter.
#[derive(Debug)]
pub(super) struct Bits<W> {
    words: W,
    cells: u64,
    hashes: u32,
}

impl<W> Bits<W> {
    /// Makes the filter of the cells in `words`: at least one, and 1 to 64 of them for a key.
    pub(super) fn new(words: W, cells: u64, hashes: u32) -> Self {
        Self {
            words,
            cells,
            hashes,
        }
    }

    fn positions(&self, hash: u64) -> impl Iterator<Item = u64> + use<W> {
        positions(hash, self.cells, self.hashes)
    }
}

impl<W: ReadWords> Ask for Bits<W> {
    type Key = u64;

    #[inline]
    fn fetch(&self, key: u64) {
        for position in self.positions(key) {
            self.words.fetch((position / 64) as usize);
        }
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.positions(key)
            .all(|position| self.words.word((position / 64) as usize) & (1 << (position % 64)) != 0)
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Change for Bits<W> {
    #[inline]
    fn put(&mut self, key: u64) -> Put {
        let mut is_new = false;
        for position in self.positions(key) {
            let word = &mut self.words.as_mut()[(position / 64) as usize];
            let bit = 1 << (position % 64);
            is_new |= *word & bit == 0;
            *word |= bit;
        }
        if is_new { Put::New } else { Put::Present }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_begin_again_behind_the_last_cell() {
        for cells in [1, 2, 7, 64] {
            for value in 0..5 * cells {
                assert_eq!(below(value, cells), value % cells);
            }
        }
    }

    #[test]
    fn positions_are_in_range_and_reach_the_top_of_filters_beyond_32_bits() {
        for cells in [1, 2, 63, 64, 1000, (1 << 35) + 7, 1 << 40] {
            let mut highest = 0;
            for key in 0..20_000u64 {
                let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                for position in positions(hash, cells, 13) {
                    assert!(position < cells);
                    highest = highest.max(position);
                }
            }
            // 260,000 positions: the top hundredth is missed with a chance of e^-2600.
            assert!(highest >= cells - cells / 100 - 1, "{highest} of {cells}");
        }
    }

    #[test]
    fn the_positions_of_a_key_never_change() {
        // Stored filters depend on them.
        let of = |cells| positions(0x0123_4567_89ab_cdef, cells, 4).collect::<Vec<u64>>();
        assert_eq!(of(1_000_003), EXPECTED_SMALL);
        assert_eq!(of(1 << 36), EXPECTED_LARGE);
    }

    const EXPECTED_SMALL: [u64; 4] = [370_250, 411_704, 453_159, 494_616];
    const EXPECTED_LARGE: [u64; 4] = [
        25_443_377_572,
        28_292_069_426,
        31_140_761_281,
        33_989_453_138,
    ];
}
