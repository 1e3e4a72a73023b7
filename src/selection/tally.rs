//! Tallies: how often the sides have a line.
//!
//! *Owns:* what is counted for each kind of result, and the words that it takes. *Invariants:* a tally sees every
//! occurrence of its line, side after side; it never wraps around: an input has less than 2^56 lines.
//!
//! ```text
//!           words        an occurrence                                   result
//! None      -            -                                               1
//! Sum       sum          sum + 1                                         sum
//! Left      left         first side: left + 1; others: left - 1, from 0  left
//! Least     least, own   the same side: own + 1; the next:               the smaller of least and own
//!                        least = min(least, own), own = 1
//! Signed    difference   first side: + 1; the other: - 1                 its absolute value
//! ```
//!
//! *Sources:* the SQL standard's UNION ALL, EXCEPT ALL and INTERSECT ALL, which are what `comm` does with repeats.

/// The occurrences that are counted of each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tally {
    /// Nothing: each line is written once.
    None,
    /// All occurrences.
    Sum,
    /// Those of the first side, less those of all others.
    Left,
    /// Those of the side that has the fewest. Only with marks in a row.
    Least,
    /// Those of the first of two sides, less those of the other.
    Signed,
}

impl Tally {
    /// Counts the words that it takes.
    pub(crate) fn words(self) -> usize {
        match self {
            Self::None => 0,
            Self::Sum | Self::Left | Self::Signed => 1,
            Self::Least => 2,
        }
    }

    /// Sets `words` for the first occurrence of a line, which is in `side`.
    pub(crate) fn start(self, words: &mut [u64], side: u32) {
        words.fill(0);
        if self == Self::Least {
            words[0] = u64::MAX;
        }
        self.add(words, side, false, side);
    }

    /// Counts an occurrence in `side` of a line that has `mark` now; `is_new` says that it got this mark by this
    /// occurrence.
    pub(crate) fn add(self, words: &mut [u64], side: u32, is_new: bool, mark: u32) {
        match (self, words) {
            (Self::Sum, [sum, ..]) => *sum += 1,
            (Self::Left, [left, ..]) if side == 1 => *left += 1,
            (Self::Left, [left, ..]) => *left = left.saturating_sub(1),
            (Self::Signed, [difference, ..]) if side == 1 => {
                *difference = difference.wrapping_add(1);
            }
            (Self::Signed, [difference, ..]) => *difference = difference.wrapping_sub(1),
            (Self::Least, [least, own, ..]) if is_new => {
                *least = (*least).min(*own);
                *own = 1;
            }
            (Self::Least, [_, own, ..]) if mark == side => *own += 1,
            // A line whose row has a gap is not selected.
            _ => {}
        }
    }

    /// Returns what was counted.
    pub(crate) fn result(self, words: &[u64]) -> u64 {
        match (self, words) {
            (Self::Sum | Self::Left, [number, ..]) => *number,
            (Self::Signed, [difference, ..]) => difference.cast_signed().unsigned_abs(),
            (Self::Least, [least, own, ..]) => *least.min(own),
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts a line that these sides have, one occurrence after the other; marks are in a row.
    fn counted(tally: Tally, sides: &[u32]) -> u64 {
        let mut words = [7; 2];
        let mut mark = 0;
        for &side in sides {
            let is_new = side == mark + 1;
            mark = if is_new { side } else { mark };
            if words == [7; 2] {
                tally.start(&mut words, side);
            } else {
                tally.add(&mut words, side, is_new, mark);
            }
        }
        tally.result(&words[..tally.words()])
    }

    #[test]
    fn occurrences_are_counted_as_sql_and_comm_do() {
        let sides = [1, 1, 1, 1, 2, 2, 2, 3, 3, 3];
        assert_eq!(counted(Tally::None, &sides), 1);
        assert_eq!(counted(Tally::Sum, &sides), 10);
        assert_eq!(counted(Tally::Least, &sides), 3);
        assert_eq!(counted(Tally::Least, &[1, 2, 2, 3, 3]), 1);
        assert_eq!(counted(Tally::Least, &[1, 1, 2, 2, 3]), 1);
        assert_eq!(counted(Tally::Left, &[1, 1, 1, 2, 3]), 1);
        assert_eq!(counted(Tally::Left, &[1, 2, 2, 3]), 0);
        assert_eq!(counted(Tally::Signed, &[1, 1, 1, 2]), 2);
        assert_eq!(counted(Tally::Signed, &[1, 2, 2, 2]), 2);
        assert_eq!(counted(Tally::Signed, &[2, 2]), 2);
    }
}
