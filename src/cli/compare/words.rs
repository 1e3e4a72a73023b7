//! The words for the parts of a comparison.
//!
//! *Owns:* the words that depend on the operation. *Invariants:* the table and the page use the same ones.

use outset::compare::{Comparison, Mistake};

/// The words for one kind of mistake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    /// The operation, as a noun.
    pub(crate) operation: &'static str,
    /// The lines of the exact result.
    pub(crate) exact_lines: &'static str,
    /// The form of these words at the head of a column.
    pub(crate) exact_column: &'static str,
    /// The property of the lines that could pass the filter by mistake, after "lines that".
    pub(crate) could_pass: &'static str,
    /// The name of the share that [`Comparison::quality`] is: precision or recall.
    pub(crate) quality: &'static str,
    /// The whole of the share, and the property that it measures.
    pub(crate) share: &'static str,
    /// The property that lines are promised never to have.
    pub(crate) never: &'static str,
}

/// Of an intersection.
const FALSE_LINES: Words = Words {
    operation: "intersection",
    exact_lines: "common lines",
    exact_column: "common",
    could_pass: "only the larger file has",
    quality: "precision",
    share: "of the lines of the approximate result are common",
    never: "common lines are missing",
};

/// Of a difference.
const MISSING_LINES: Words = Words {
    operation: "difference",
    exact_lines: "lines that only the first file has",
    exact_column: "first only",
    could_pass: "only the first file has",
    quality: "recall",
    share: "of the lines of the exact result are in the approximate one",
    never: "lines are false",
};

/// Of a union.
const LOST_LINES: Words = Words {
    operation: "union",
    exact_lines: "distinct lines",
    exact_column: "distinct",
    could_pass: "came for the first time",
    ..MISSING_LINES
};

impl Words {
    /// Returns the words for `mistake`.
    pub(crate) fn of(mistake: Mistake) -> &'static Self {
        match mistake {
            Mistake::FalseLines => &FALSE_LINES,
            Mistake::MissingLines => &MISSING_LINES,
            Mistake::LostLines => &LOST_LINES,
        }
    }

    /// Returns the words for these points, all of one operation.
    pub(crate) fn of_all(points: &[Comparison]) -> &'static Self {
        points
            .first()
            .map_or(&FALSE_LINES, |point| Self::of(point.mistake))
    }
}

/// Returns the number of lines that are wrong in the way that the operation never gets them wrong: 0, as is promised.
pub(crate) fn broken_promises(found: &Comparison) -> u64 {
    match found.mistake {
        Mistake::FalseLines => found.missing_lines,
        Mistake::MissingLines | Mistake::LostLines => found.false_lines,
    }
}
