//! The numbers of sides that a selected line may be in.
//!
//! *Owns:* [`SideCounts`]. *Invariants:* the set is not empty, and lies within the sides, once [`SideCounts::check`]
//! has looked at it. *Cost:* two comparisons.

use serde::Serialize;

use crate::error::{Error, Result};

/// A set of numbers of sides, from 1 to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(crate) struct SideCounts {
    /// The fewest sides; `None` means all sides.
    least: Option<u32>,
    /// The most sides; `None` means all sides.
    most: Option<u32>,
}

impl SideCounts {
    /// All sides, however many there are.
    pub(super) const ALL: Self = Self {
        least: None,
        most: None,
    };
    /// Any number of sides.
    pub(super) const ANY: Self = Self::from(1);
    /// One side.
    pub(super) const ONE: Self = Self::between(1, 1);

    /// Makes the range from this number of sides to all.
    pub(super) const fn from(least: u32) -> Self {
        Self {
            least: Some(least),
            most: None,
        }
    }

    /// Makes the range from `least` to `most` sides.
    pub(super) const fn between(least: u32, most: u32) -> Self {
        Self {
            least: Some(least),
            most: Some(most),
        }
    }

    /// Returns the least number, of `sides` sides.
    pub(super) fn least(self, sides: u32) -> u32 {
        self.least.unwrap_or(sides)
    }

    /// Returns true if a line that is in `count` of `sides` sides is selected.
    pub(super) fn contains(self, count: u32, sides: u32) -> bool {
        (self.least(sides)..=self.most.unwrap_or(sides)).contains(&count)
    }

    /// Returns true if a line must be in every one of `sides` sides. The union of one side is not of that kind.
    pub(super) fn is_all(self, sides: u32) -> bool {
        let is_all = |least: u32| sides > 1 && least == sides;
        self.least.is_none_or(is_all)
    }

    /// Returns true if any line is selected, in however many of `sides` sides it is.
    pub(super) fn is_any(self, sides: u32) -> bool {
        (1..=sides).all(|count| self.contains(count, sides))
    }

    /// Refuses numbers of sides that no line can have.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub(super) fn check(self, sides: usize) -> Result<()> {
        let given = match (self.least, self.most) {
            (Some(least), Some(most)) if least == most => format!("`exactly` {least}"),
            (Some(1) | None, Some(most)) => format!("`at_most` {most}"),
            (Some(least), Some(most)) => format!("`at_least` {least}, `at_most` {most}"),
            (Some(least), None) => format!("`at_least` {least}"),
            (None, None) => return Ok(()),
        };
        let is_within = |bound: u32| (1..=sides).contains(&(bound as usize));
        let (what, advice) = if !self.least.into_iter().chain(self.most).all(is_within) {
            (
                format!("{given}: {} given", only_files(sides)),
                format!("give a number from 1 to {sides}"),
            )
        } else if self.least > self.most && self.most.is_some() {
            (
                format!("{given}: no number of files is in this range"),
                "give `at_most` a number that is not below `at_least`".to_owned(),
            )
        } else {
            return Ok(());
        };
        Err(Error::usage(what, advice))
    }
}

/// Says that there are no more files than these.
fn only_files(files: usize) -> String {
    match files {
        1 => "only one file".to_owned(),
        files => format!("only {files} files"),
    }
}
