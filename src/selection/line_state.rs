//! The words that a set keeps of each line besides its bytes.
//!
//! *Owns:* [`StateLayout`], the words of a record in a set, and [`LineState`], what they say in the end.
//! *Invariants:* the smallest place of all occurrences that a set has seen is the one that is kept.
//!
//! ```text
//! header of the record │ mark │ ...      then the sides if the mark has no bits for them, the words of the tally,
//!                                        and the ordinal if the order is kept, with the rank if there are ranks
//! ```

use crate::selection::order::{NO_ORDINAL, Place};
use crate::selection::{Marks, Tally};

/// The choice of the facts that a set keeps of each line, and so of the words that they take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StateLayout {
    /// The code of its mark.
    pub(crate) marks: Marks,
    /// The count that is kept of it.
    pub(crate) tally: Tally,
    /// True if its smallest ordinal is kept.
    pub(crate) has_ordinal: bool,
    /// True if occurrences have ranks, and the ordinal is that of the smallest one.
    pub(crate) has_rank: bool,
}

/// The facts that are known of a line when it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineState {
    /// The mark, which says which sides have it.
    pub(crate) mark: u32,
    /// The sides that have it, a bit for each, the lowest for the first; of marks that tell no sides it means nothing.
    pub(crate) sides: u64,
    /// The result of its tally.
    pub(crate) tally: u64,
    /// The ordinal of its first occurrence; of the one with the smallest rank, where there are ranks.
    pub(crate) ordinal: u64,
}

impl LineState {
    /// Describes a line that has `mark`, and of which nothing else was kept.
    pub(crate) fn with_mark(mark: u32) -> Self {
        Self {
            mark,
            sides: mark.into(),
            tally: 1,
            ordinal: NO_ORDINAL,
        }
    }

    /// Puts the line at `ordinal`.
    pub(crate) fn at(self, ordinal: u64) -> Self {
        Self { ordinal, ..self }
    }
}

impl StateLayout {
    /// Marks in a row and nothing else: what the intersection of any number of sides keeps.
    #[cfg(any(test, feature = "internals"))]
    pub(crate) const ROW: Self = Self {
        marks: Marks::Row,
        tally: Tally::None,
        has_ordinal: false,
        has_rank: false,
    };

    /// Counts the words of a record, without its header.
    pub(crate) fn words(self) -> usize {
        self.marks.words()
            + self.tally.words()
            + usize::from(self.has_ordinal)
            + 2 * usize::from(self.has_rank)
    }

    /// Sets `words` for the first occurrence of a line: in `side`, at `place`.
    pub(crate) fn start(self, words: &mut [u64], side: u32, place: Place) {
        let (sides, words) = words.split_at_mut(self.marks.words());
        let (counted, rest) = words.split_at_mut(self.tally.words());
        sides.fill(bit(side));
        self.tally.start(counted, side);
        keep(rest, place);
    }

    /// Notes a further occurrence, in `side` at `place`, of a line that has `mark` now; `is_new` says that it got
    /// this mark by this occurrence.
    pub(crate) fn add(self, words: &mut [u64], side: u32, is_new: bool, mark: u32, place: Place) {
        let (sides, words) = words.split_at_mut(self.marks.words());
        let (counted, rest) = words.split_at_mut(self.tally.words());
        if let [sides] = sides {
            *sides |= bit(side);
        }
        self.tally.add(counted, side, is_new, mark);
        if kept(rest).is_some_and(|first| place < first) {
            keep(rest, place);
        }
    }

    /// Reads from these words what is known of a line with `mark`.
    pub(crate) fn found(self, words: &[u64], mark: u32) -> LineState {
        let (sides, words) = words.split_at(self.marks.words());
        let (counted, rest) = words.split_at(self.tally.words());
        LineState {
            mark,
            sides: sides.first().copied().unwrap_or(mark.into()),
            tally: self.tally.result(counted),
            ordinal: kept(rest).map_or(NO_ORDINAL, |place| place.ordinal),
        }
    }
}

/// Writes a place to the words for it.
fn keep(words: &mut [u64], place: Place) {
    match words {
        [ordinal] => *ordinal = place.ordinal,
        [ordinal, rank @ ..] => {
            *ordinal = place.ordinal;
            rank.copy_from_slice(&[(place.rank >> 64) as u64, place.rank as u64]);
        }
        [] => {}
    }
}

/// Reads the place from the words for it; `None` if none is kept.
fn kept(words: &[u64]) -> Option<Place> {
    match *words {
        [ordinal] => Some(Place::from(ordinal)),
        [ordinal, high, low] => Some(Place {
            rank: u128::from(high) << 64 | u128::from(low),
            ordinal,
        }),
        _ => None,
    }
}

/// Returns the bit of a side, which has a number from 1 to 64 where bits tell sides.
fn bit(side: u32) -> u64 {
    1 << ((side - 1) & 63)
}
