//! The report of `outset compare`.
//!
//! *Owns:* the report as JSON and as a table. *Invariants:* a comparison that is not of a sweep stands for itself.

use outset::compare::Comparison;
use serde::Serialize;

use super::table;

/// The JSON report: the comparison, or the points of a sweep.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum ComparisonReport<'a> {
    One(&'a Comparison),
    Sweep {
        version: &'static str,
        command: &'static str,
        points: &'a [Comparison],
    },
}

impl<'a> ComparisonReport<'a> {
    /// Makes the report of `points`: a sweep, or the one point alone if `is_sweep` is false.
    pub(crate) fn new(points: &'a [Comparison], is_sweep: bool) -> Self {
        match points {
            [only] if !is_sweep => Self::One(only),
            points => Self::Sweep {
                version: env!("CARGO_PKG_VERSION"),
                command: "compare",
                points,
            },
        }
    }

    /// Formats the report as a table.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::One(only) => table::of_one(only),
            Self::Sweep { points, .. } => table::of_sweep(points),
        }
    }

    /// Returns the comparison at each point.
    pub(crate) fn points(&self) -> &'a [Comparison] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Sweep { points, .. } => points,
        }
    }
}
