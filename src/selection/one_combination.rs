//! The one combination of sides that has a selected line.
//!
//! *Owns:* [`OneCombination`]. *Invariants:* it names every side, and one of them has the line, once
//! [`OneCombination::check`] has looked at it. *Cost:* a comparison.

use serde::{Serialize, Serializer};

use crate::error::{Error, Result};
use crate::selection::marks::MOST_TOLD_SIDES as MOST_SIDES;

/// The sides that have a line, and those that do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OneCombination {
    /// A bit for each side that has the line, the lowest for the first.
    bits: u64,
    /// The number of sides that are named.
    sides: usize,
}

impl OneCombination {
    /// Makes the combination of the sides that are true.
    pub(super) const fn new(has: &[bool]) -> Self {
        let (mut bits, mut side) = (0, 0);
        while side < has.len() && side < MOST_SIDES {
            bits |= (has[side] as u64) << side;
            side += 1;
        }
        Self {
            bits,
            sides: has.len(),
        }
    }

    /// Counts the sides that have the line.
    pub(super) const fn count(self) -> u32 {
        self.bits.count_ones()
    }

    /// Returns true if a line is selected that the sides with these bits have, and no others.
    pub(super) fn has(self, sides: u64) -> bool {
        sides == self.bits
    }

    /// Returns true if the side with this number, from 1, has the line.
    pub(super) fn includes(self, number: u32) -> bool {
        let bits = self.bits.checked_shr(number.wrapping_sub(1));
        bits.is_some_and(|bits| bits & 1 == 1)
    }

    /// Refuses a combination that is none of `sides` sides.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub(super) fn check(self, sides: usize) -> Result<()> {
        let only = format!("`only` {self}");
        let example = Self::example(sides.min(MOST_SIDES));
        let (what, advice) = if self.sides > MOST_SIDES {
            (
                format!(
                    "`only`: {} digits given, but it takes at most {MOST_SIDES}",
                    self.sides
                ),
                format!(
                    "give at most {MOST_SIDES} digits, and files that belong together as one side with `Files`, or as a \
                     list with `Listing`"
                ),
            )
        } else if sides > MOST_SIDES {
            // More sides than marks have bits for: the rule says so.
            return Ok(());
        } else if self.sides != sides {
            (
                format!("{only}: {} for {sides} sides", digits(self.sides)),
                format!("give a digit for each of the {sides} sides, such as {example}"),
            )
        } else if self.bits == 0 {
            (
                format!("{only}: every line is in at least one side"),
                format!(
                    "give the digit 1 for each side that must have the lines, such as {example}"
                ),
            )
        } else {
            return Ok(());
        };
        Err(Error::usage(what, advice))
    }

    /// Returns the combination of the first and the last of `sides` sides.
    fn example(sides: usize) -> Self {
        Self {
            bits: 1 | 1 << sides.saturating_sub(1),
            sides,
        }
    }
}

/// Counts digits in words.
fn digits(number: usize) -> String {
    match number {
        0 => "no digit".to_owned(),
        1 => "one digit".to_owned(),
        number => format!("{number} digits"),
    }
}

/// A digit for each side: 1 if it has the line and 0 if not.
impl std::fmt::Display for OneCombination {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (0..self.sides.min(MOST_SIDES))
            .try_for_each(|side| write!(text, "{}", self.bits >> side & 1))
    }
}

impl Serialize for OneCombination {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
