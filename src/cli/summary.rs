//! What a run came to, in a line or two on standard error.
//!
//! *Owns:* the label of an approximate result and the final summary. *Invariants:* the label is there
//! whatever was asked for; the summary never stands beside a report on standard error. *Cost:*
//! none.

use outset::Stats;
use outset::size::display_bytes;

/// What everybody must know of an approximate result; `None` if it is exact.
pub(super) fn label(stats: &Stats) -> Option<String> {
    let filter = stats.filter.as_ref().filter(|_| !stats.exact)?;
    Some(format!(
        "approximate result: nothing common is missing, but about {:.0} of {} lines are expected to be false \
         (false-positive rate predicted {:.3}%, by the filter's fill {:.3}%)",
        filter.expected_false_lines.min(stats.output.lines as f64),
        stats.output.lines,
        filter.predicted_fpr * 100.0,
        filter.fill_fpr * 100.0
    ))
}

/// What was found, and what it took.
pub(super) fn summary(stats: &Stats) -> String {
    let disk = match stats.temp.peak_bytes {
        0 => "no temporary disk".to_owned(),
        bytes => format!("temporary disk {}", display_bytes(bytes)),
    };
    format!(
        "{} common {} ({}, {}) in {:.2} s; peak memory {} of {}; {disk}",
        stats.output.lines,
        if stats.output.lines == 1 {
            "line"
        } else {
            "lines"
        },
        if stats.exact { "exact" } else { "approximate" },
        stats.strategy,
        stats.seconds,
        display_bytes(stats.memory.peak_rss_bytes),
        display_bytes(stats.memory.limit_bytes),
    )
}
