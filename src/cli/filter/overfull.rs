//! The warning about a filter with more lines than it was laid out for.

use std::path::Path;

use outset::filter::{Occupancy, Rules, Shape};

use crate::cli::numbers;
use crate::cli::screen::warn;

/// Warns if a filter has more lines than it was laid out for, and is wrong more often for it.
pub(super) fn warn_if_overfull(path: &Path, shape: Shape, rules: Rules, occupancy: &Occupancy) {
    let planned = shape.predicted_fpr(rules.planned_keys.max(1));
    if occupancy.is_overfull(shape, rules.planned_keys) {
        // Without a free cell nothing tells how many.
        let lines = if occupancy.distinct.is_finite() {
            format!("about {:.0}", occupancy.distinct)
        } else {
            "far more".to_owned()
        };
        let [now, planned] = [occupancy.fpr, planned].map(numbers::rate);
        let wrong = if now == planned {
            format!("false-positive rate {now}")
        } else {
            format!("false-positive rate {now} instead of {planned}")
        };
        warn(&format!(
            "{}: overfull (built for {}, holds {lines}), {wrong}: build a larger one",
            path.display(),
            numbers::counted(rules.planned_keys, "line"),
        ));
    }
}
