//! The outcome of a run, in a line or two on standard error.
//!
//! *Owns:* the label of an approximate result and the final summary. *Invariants:* the label is there
//! whatever was asked for; the summary never appears together with a report on standard error.

use crate::cli::numbers;
use outset::Stats;

/// Words what everybody must know of an approximate result; `None` if it is exact.
pub(super) fn label(stats: &Stats) -> Option<String> {
    let filter = stats.filter.as_ref().filter(|_| !stats.exact)?;
    let rates = format!(
        "(false-positive rate: {} predicted, {} computed from the contents of the filter)",
        numbers::rate(filter.predicted_fpr),
        numbers::rate(filter.fill_fpr)
    );
    if stats.command != "intersect" {
        let lines = numbers::grouped(stats.output.lines);
        let (missing, are) = about(filter.expected_missing_lines);
        return Some(format!(
            "approximate result: each of its lines ({lines} in all) is right, but {missing} more {are} expected to be missing {rates}"
        ));
    }
    let (expected, are) = about(filter.expected_false_lines.min(stats.output.lines as f64));
    let lines = numbers::counted(stats.output.lines, "line");
    Some(format!(
        "approximate result: no common line is missing, but of its {lines}, {expected} {are} expected to be false {rates}"
    ))
}

/// Words a number of lines that is expected, and the verb that goes with it.
fn about(lines: f64) -> (String, &'static str) {
    if lines > 0.0 && lines < 0.5 {
        return ("fewer than one".to_owned(), "is");
    }
    let lines = lines.round() as u64;
    let verb = if lines == 1 { "is" } else { "are" };
    (format!("about {}", numbers::grouped(lines)), verb)
}

/// Returns the noun for the lines of the result.
pub(super) fn noun(stats: &Stats) -> &'static str {
    match (stats.command, stats.output.lines) {
        ("intersect", 1) => "common line",
        ("intersect", _) => "common lines",
        (_, 1) => "line",
        _ => "lines",
    }
}

/// Words what was found, and what it took.
pub(super) fn summary(stats: &Stats) -> String {
    let disk = match stats.temp.peak_bytes {
        0 => "no temporary disk".to_owned(),
        bytes => format!("temporary disk {}", numbers::bytes(bytes)),
    };
    let noun = noun(stats);
    let passed = match stats.output.lines {
        1 => "line passed the filter",
        _ => "lines passed the filter",
    };
    let (found, how) = match &stats.filter {
        _ if stats.exact => (noun.to_owned(), "exact".to_owned()),
        Some(filter) => {
            let rate = numbers::rate(filter.fill_fpr);
            let how = format!("approximate, false-positive rate {rate}");
            let found = if stats.command == "intersect" {
                passed
            } else {
                noun
            };
            (found.to_owned(), how)
        }
        None => (passed.to_owned(), "approximate".to_owned()),
    };
    format!(
        "{} {found} ({how}, {}) in {:.2} s; peak memory {}; {disk}",
        numbers::grouped(stats.output.lines),
        stats.strategy,
        stats.seconds,
        numbers::peak_and_limit(&stats.memory),
    )
}
