//! The order of the answer, and ordinals: where a line came first.
//!
//! *Owns:* [`Order`], and the form of an ordinal. *Invariants:* of two lines that were read, the one with the
//! smaller ordinal came earlier: in an earlier side, or in the same side at an earlier position, as
//! [`Parts`](crate::input::parts::Parts) has them: a byte, or some for each byte of a compressed file.
//!
//! ```text
//! ordinal   │ side, from 1: 16 │ position in the side where the line begins: 48 │
//! ```
//!
//! Where the answer is read once more from the inputs, lines are numbered in cells instead, which the table of
//! [`KeptLines`](crate::answer::KeptLines) shows: from the byte where the cell begins. Where places of lines are told,
//! they are numbered in pieces, as [`LineNumbers`](crate::answer::LineNumbers) says. A row of a Parquet file, where
//! rows have numbers, is at the position of its file plus its number.

use serde::Serialize;

/// The order in which the lines of the answer come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Order {
    /// The order in which they are found: the cheapest, and different from run to run.
    #[default]
    Any,
    /// By their first occurrence: in the first side, and in the sides one after the other for lines that the
    /// first side lacks.
    Input,
    /// By their bytes, as `LC_ALL=C sort` puts them.
    Sorted,
    /// By the number of their occurrences in all sides together, those with the most first; lines with the same number
    /// by their bytes.
    Count,
}

impl Order {
    /// Its name on the command line and in plans.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Input => "input",
            Self::Sorted => "sorted",
            Self::Count => "count",
        }
    }

    /// Returns true if lines come by a number that is kept beside them: their ordinals or their counts.
    pub(crate) fn has_places(self) -> bool {
        matches!(self, Self::Input | Self::Count)
    }

    /// Returns true if the bytes of lines decide, at least where all else is equal.
    pub(crate) fn compares_lines(self) -> bool {
        self != Self::Input
    }
}

/// The place of an occurrence among those of its line: the smallest is the one that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Its rank, where records are ranked; else 0.
    pub(crate) rank: u128,
    /// Its ordinal, which decides between equal ranks.
    pub(crate) ordinal: u64,
}

impl From<u64> for Place {
    fn from(ordinal: u64) -> Self {
        Self { rank: 0, ordinal }
    }
}

/// Bits of an ordinal for the byte: 256 TiB in one side.
const OFFSET_BITS: u32 = 48;
/// The ordinal of a line whose position is not known, or does not matter: after all others.
pub(crate) const NO_ORDINAL: u64 = u64::MAX;

/// Returns the bits that are turned over in ordinals, so that the smallest, which is kept of each line, is that of the
/// occurrence to keep: none for the first, all for the last.
pub(crate) fn keep_mask(keeps_last: bool) -> u64 {
    if keeps_last { u64::MAX } else { 0 }
}

/// Returns the ordinal of the first byte of a side (from 1).
pub(crate) fn first_ordinal(side: u32) -> u64 {
    u64::from(side) << OFFSET_BITS
}

/// Bytes of a file that are numbered together where the answer is read once more: no chunk of a file is smaller.
pub(crate) const CELL_BYTES: u64 = 64 << 10;
/// The number in its cell of a line that goes on beyond it.
pub(crate) const LAST_OF_CELL: u64 = CELL_BYTES - 1;

/// Memory for a piece of an input whose lines are numbered, because places of lines are told, in bytes.
pub(crate) const NUMBERED_PIECE_BYTES: u64 = 64;

/// Divides an ordinal into the number of the side and what comes after it.
pub(crate) fn side_and_offset(ordinal: u64) -> (usize, u64) {
    let offset = ordinal & (MOST_ORDERED_BYTES - 1);
    ((ordinal >> OFFSET_BITS) as usize, offset)
}

/// Bytes that one side may have where the order of the input is kept.
pub(crate) const MOST_ORDERED_BYTES: u64 = 1 << OFFSET_BITS;
