//! Marks: what is kept of a line to tell which sides have it.
//!
//! *Owns:* the four codes of a mark, and the step from one to the next. *Invariants:* a mark has 24 bits; it
//! is 0 only for a line that was never inserted; a side that is seen again changes nothing.
//!
//! ```text
//! Row     │ number of sides that had the line, one after the other without a gap: 24 │
//! Bits    │ a bit for each side: 23 │
//! Count   │ number of sides that have the line: 12 │ the last of them: 12 │
//! Wide    │ as Count │    and a word of its own with a bit for each side: 64 │
//! ```
//!
//! `Row` suits lines that every side must have: a line that lacks a side is never marked again.

/// The mark of a line that was dealt with before and must not be reported again.
pub(crate) const EXCLUDED: u32 = (1 << 24) - 1;
/// The largest mark of a line that is not excluded.
pub(crate) const LARGEST_MARK: u32 = EXCLUDED - 1;
/// Bits of each half of a counting mark.
const HALF: u32 = 12;
/// The most sides that a counting mark tells apart. One more would look like [`EXCLUDED`].
pub(crate) const MOST_COUNTED_SIDES: usize = (1 << HALF) - 2;
/// The most sides that a mark has bits for, less one for [`EXCLUDED`].
pub(super) const MOST_BITS: u32 = 23;
/// The most sides that are told apart in any way: the bits of a word.
pub(crate) const MOST_TOLD_SIDES: usize = 64;

/// The ways in which a mark tells which sides have a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marks {
    /// The number of sides in a row that had it.
    Row,
    /// The sides that have it, as bits.
    Bits,
    /// The number of sides that have it. All lines of one side must come before those of the next.
    Count,
    /// The number of sides that have it, and in a word which ones. As for [`Marks::Count`], sides come one by one.
    Wide,
}

impl Marks {
    /// Returns the mark of a line that had `mark`, or 0 if it is new, when side number `side` (from 1) has it, too.
    /// `None` if nothing changes.
    #[inline]
    pub(crate) fn next(self, mark: u32, side: u32) -> Option<u32> {
        if mark == EXCLUDED {
            return None;
        }
        match self {
            Self::Row => (mark + 1 == side).then_some(side),
            Self::Bits => {
                let bit = 1 << (side - 1);
                (mark & bit == 0).then_some(mark | bit)
            }
            Self::Count | Self::Wide => {
                let (count, last) = (mark >> HALF, mark & ((1 << HALF) - 1));
                (last != side).then_some((count + 1) << HALF | side)
            }
        }
    }

    /// Returns the marks that tell which of `sides` sides have a line: without a word where the bits find room.
    pub(super) fn telling(sides: usize) -> Self {
        if sides <= MOST_BITS as usize {
            Self::Bits
        } else {
            Self::Wide
        }
    }

    /// Counts the words that are kept beside the mark.
    pub(super) fn words(self) -> usize {
        usize::from(self == Self::Wide)
    }

    /// Counts the sides that have a line with this mark.
    pub(super) fn sides(self, mark: u32) -> u32 {
        match self {
            Self::Row => mark,
            Self::Bits => mark.count_ones(),
            Self::Count | Self::Wide => mark >> HALF,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mark of a line that these sides have.
    fn after(marks: Marks, sides: &[u32]) -> u32 {
        sides
            .iter()
            .fold(0, |mark, &side| marks.next(mark, side).unwrap_or(mark))
    }

    #[test]
    fn a_repeat_in_the_same_side_is_no_news() {
        for marks in [Marks::Row, Marks::Bits, Marks::Count, Marks::Wide] {
            assert_eq!(after(marks, &[1, 1, 2, 2, 2]), after(marks, &[1, 2]));
            assert_eq!(marks.sides(after(marks, &[1, 1, 2, 3])), 3);
            assert_eq!(marks.next(EXCLUDED, 2), None);
        }
    }

    #[test]
    fn a_row_ends_at_its_first_gap() {
        assert_eq!(after(Marks::Row, &[1, 3]), 1);
        assert_eq!(after(Marks::Row, &[2, 3]), 0);
    }

    #[test]
    fn the_most_sides_are_told_apart_and_none_looks_excluded() {
        let all: Vec<u32> = (1..=MOST_COUNTED_SIDES as u32).collect();
        let mark = after(Marks::Count, &all);
        assert_eq!(Marks::Count.sides(mark), MOST_COUNTED_SIDES as u32);
        assert!(mark <= LARGEST_MARK);
        let bits: Vec<u32> = (1..=MOST_BITS).collect();
        assert_eq!(after(Marks::Bits, &bits), (1 << MOST_BITS) - 1);
        assert!(after(Marks::Bits, &bits) <= LARGEST_MARK);
    }
}
