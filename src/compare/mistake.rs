//! The mistakes of an approximate result.
//!
//! *Owns:* [`Mistake`], by which comparisons of different operations differ. *Invariants:* a filter errs on one side
//! only, so a result has mistakes of one kind, or none.
//!
//! ```text
//! operation      mistakes        are in the result of   could be mistakes
//! intersection   false lines     the approximate run    lines asked about that are not common
//! difference     missing lines   the exact run          lines asked about that no other input has: the exact result
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
}

impl Mistake {
    /// Returns the kind of mistake that an approximate result of `selection` has.
    ///
    /// # Errors
    /// [`Error::Usage`] for all but [`Selection::intersection`] and [`Selection::difference`]: they have no approximate
    /// result, or one whose rate of mistakes is different for each file.
    pub fn of(selection: Selection) -> Result<Self> {
        if selection == Selection::intersection() {
            return Ok(Self::FalseLines);
        }
        if selection == Selection::difference() {
            return Ok(Self::MissingLines);
        }
        let what = match selection.name() {
            "union" => {
                "compare measures a single rate, but the filter of an approximate union keeps filling, so its rate \
                 changes during the run"
                    .to_owned()
            }
            "intersect" | "diff" => {
                "compare works only with a plain intersect or diff (of all files, each line once, in any order, without labels)".to_owned()
            }
            name => format!("{name} has no approximate result to compare"),
        };
        Err(Error::usage(
            format!("`selection`: {what}"),
            "compare intersect or diff",
        ))
    }

    /// Returns the name of the lines in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::FalseLines => "false lines",
            Self::MissingLines => "missing lines",
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
    }

    #[test]
    fn l14_what_has_no_one_rate_is_refused_with_the_reason() {
        let labelled = Selection::union().labelled(Label::SidesOnly);
        for (selection, reason) in [
            (Selection::union(), "keeps filling, so its rate changes"),
            (Selection::union().ordered(Order::Input), "keeps filling"),
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
            assert!(said.contains("compare intersect or diff"), "{said}");
        }
    }
}
