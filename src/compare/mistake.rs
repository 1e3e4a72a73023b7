//! The mistakes of an approximate result.
//!
//! *Owns:* [`Mistake`], by which comparisons of different operations differ. *Invariants:* a filter errs on one side
//! only, so a result has mistakes of one kind, or none.
//!
//! ```text
//! operation      mistakes        are in the result of   could be mistakes
//! intersection   false lines     the approximate run    lines asked about that are not common
//! difference     missing lines   the exact run          lines asked about that no other input has: the exact result
//! union          missing lines   the exact run          every line, the first time that it comes: the exact result
//! ```

use serde::Serialize;

use crate::error::{Error, Result};
use crate::selection::Selection;

/// The kind of line that makes an approximate result differ from the exact one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mistake {
    /// Lines that only the approximate result has: of an intersection.
    FalseLines,
    /// Lines that only the exact result has: of a difference.
    MissingLines,
    /// The same of a union, whose filter fills up while it is asked: it takes a new line for one that came before.
    #[serde(rename = "missing_lines")]
    LostLines,
}

impl Mistake {
    /// Returns the kind of mistake that an approximate result of `selection` has.
    ///
    /// # Errors
    /// [`Error::Usage`] for all but [`Selection::intersection`], [`Selection::difference`] and [`Selection::union`]:
    /// they have no approximate result, or it is not compared.
    pub fn of(selection: Selection) -> Result<Self> {
        if selection == Selection::intersection() {
            return Ok(Self::FalseLines);
        }
        if selection == Selection::difference() {
            return Ok(Self::MissingLines);
        }
        if selection == Selection::union() {
            return Ok(Self::LostLines);
        }
        let what = match selection.name() {
            "intersect" | "diff" | "union" => {
                "compare works only with a plain intersect, diff or union (of all files, each line once, in any order, without labels)".to_owned()
            }
            name => format!("{name} has no approximate result to compare"),
        };
        Err(Error::usage(
            format!("`selection`: {what}"),
            "compare intersect, diff or union",
        ))
    }

    /// Returns true if the rate takes an estimate of how many lines are different.
    pub(super) fn needs_estimate(self) -> bool {
        self != Self::LostLines
    }

    /// Returns the name of the lines in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::FalseLines => "false lines",
            Self::MissingLines | Self::LostLines => "missing lines",
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::selection::{Label, Order};

    #[test]
    fn l14_the_kind_of_mistake_follows_from_the_operation() {
        let of = |selection| Mistake::of(selection).unwrap();
        assert_eq!(of(Selection::intersection()), Mistake::FalseLines);
        assert_eq!(of(Selection::difference()), Mistake::MissingLines);
        assert_eq!(of(Selection::union()), Mistake::LostLines);
    }

    #[test]
    fn l14_what_is_not_compared_is_refused_with_the_reason() {
        let labelled = Selection::union().labelled(Label::SidesOnly);
        for (selection, reason) in [
            (Selection::union().ordered(Order::Input), "any order"),
            (Selection::union().with_duplicates(), "each line once"),
            (
                Selection::symmetric_difference(),
                "symdiff has no approximate result",
            ),
            (labelled, "overlaps has no approximate result"),
            (Selection::at_least(2), "all files"),
            (Selection::intersection().with_repeats(), "each line once"),
            (Selection::difference().with_all(), "each line once"),
            (Selection::difference().ordered(Order::Sorted), "any order"),
            (Selection::difference().labelled(Label::Count), "labels"),
        ] {
            let error = Mistake::of(selection).unwrap_err();
            assert!(matches!(error, Error::Usage { .. }), "{error}");
            let said = error.to_string();
            assert!(said.contains(reason), "{said}");
            assert!(said.contains("compare intersect, diff or union"), "{said}");
        }
    }
}
