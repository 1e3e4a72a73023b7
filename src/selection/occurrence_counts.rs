//! The numbers of occurrences that a selected line may have.
//!
//! *Owns:* [`OccurrenceCounts`]. *Invariants:* the set is not empty once [`OccurrenceCounts::check`] has looked at it.
//! *Cost:* two comparisons, and that of counting the occurrences of every line.

use serde::Serialize;

use crate::error::{Error, Result};

/// A set of numbers of occurrences in all sides together, from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(crate) struct OccurrenceCounts {
    /// The fewest; `None` means 1.
    #[serde(rename = "min_count", skip_serializing_if = "Option::is_none")]
    least: Option<u64>,
    /// The most; `None` means any number.
    #[serde(rename = "max_count", skip_serializing_if = "Option::is_none")]
    most: Option<u64>,
}

impl OccurrenceCounts {
    /// Any number of occurrences.
    pub(super) const ANY: Self = Self {
        least: None,
        most: None,
    };

    /// Makes the range from `least` on, with the same end.
    pub(super) const fn from(self, least: u64) -> Self {
        Self {
            least: Some(least),
            ..self
        }
    }

    /// Makes the range to `most`, with the same beginning.
    pub(super) const fn up_to(self, most: u64) -> Self {
        Self {
            most: Some(most),
            ..self
        }
    }

    /// Returns true if a line with `count` occurrences is selected.
    pub(super) fn contains(self, count: u64) -> bool {
        self.least.is_none_or(|least| count >= least) && self.most.is_none_or(|most| count <= most)
    }

    /// Names the bound that makes the number of occurrences matter; `None` if every line has enough and not too many.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self { most: Some(_), .. } => Some("`max_count`"),
            Self {
                least: Some(2..), ..
            } => Some("`min_count`"),
            _ => None,
        }
    }

    /// Refuses numbers of occurrences that no line can have.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub(super) fn check(self) -> Result<()> {
        let (name, advice) = match (self.least, self.most) {
            (Some(0), _) => ("`min_count` 0", "give `min_count` a number from 1"),
            (_, Some(0)) => ("`max_count` 0", "give `max_count` a number from 1"),
            (Some(least), Some(most)) if least > most => {
                return Err(Error::usage(
                    format!("`min_count` {least}, `max_count` {most}: no number is in this range"),
                    "give `max_count` a number that is not below `min_count`",
                ));
            }
            _ => return Ok(()),
        };
        Err(Error::usage(
            format!("{name}: every line occurs at least once"),
            advice,
        ))
    }
}
