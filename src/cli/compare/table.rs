//! A comparison as text.
//!
//! *Owns:* the layout for people. *Invariants:* every figure is one of the JSON report, rounded; what
//! was estimated says so.

use outset::compare::{Comparison, Mistake, RunReport};
use outset::estimate::Bounds;

use super::words::{self, Words};
use crate::cli::numbers::{self, aligned, grouped, percent, share};

/// Formats both ways side by side.
pub(super) fn of_one(found: &Comparison) -> String {
    let (exact, approximate) = (&found.exact, &found.approximate);
    let row = |name: &str, figure: &dyn Fn(&RunReport) -> String| {
        [name.to_owned(), figure(exact), figure(approximate)]
    };
    let mut table = vec![
        [String::new(), "exact".to_owned(), "approximate".to_owned()],
        row("strategy", &|run| run.stats.strategy.clone()),
        row("lines", &|run| grouped(run.stats.output.lines)),
        [
            found.mistake.name().to_owned(),
            "0".to_owned(),
            grouped(found.mistakes()),
        ],
        row("seconds", &|run| format!("{:.2}", run.stats.seconds)),
        row("bytes read", &|run| numbers::bytes(run.bytes_read)),
        row("bytes written", &|run| numbers::bytes(run.bytes_written)),
        row("temporary disk", &|run| {
            numbers::bytes(run.stats.temp.peak_bytes)
        }),
        row("peak memory", &|run| {
            numbers::peak(run.stats.memory.peak_rss_bytes)
        }),
    ];
    if let Some(filter) = &approximate.stats.filter {
        let bits = format!("{:.2}", filter.bits_per_key);
        table.push(["filter bits per line".to_owned(), "-".to_owned(), bits]);
    }
    let mut lines = vec![format!(
        "memory limit {}; temporary disk with both results: {}",
        numbers::bytes(found.memory.limit_bytes),
        numbers::bytes(found.temp_peak_bytes)
    )];
    lines.extend(aligned(&table));
    lines.extend(describe_loss(found));
    lines.push(describe_rates(found));
    lines.push(describe_result(found));
    lines.join("\n")
}

/// Words how right the approximate result is, and that it has no mistakes of the other kind.
fn describe_result(found: &Comparison) -> String {
    let words = Words::of(found.mistake);
    let broken = match words::broken_promises(found) {
        0 => "no".to_owned(),
        lines => grouped(lines),
    };
    format!(
        "{}: {} {}; {broken} {}",
        words.quality,
        share(found.quality()),
        words.share,
        words.never
    )
}

/// Words how many lines a filter alone would lose of a union, as measured and as predicted.
fn describe_loss(found: &Comparison) -> Option<String> {
    let filter = found.approximate.stats.filter.as_ref()?;
    if found.mistake != Mistake::LostLines {
        return None;
    }
    let all = found.exact.stats.output.lines as f64;
    let predicted = found.predicted_fpr.map_or_else(
        || "-".to_owned(),
        |rate| grouped((rate * all).round() as u64),
    );
    Some(format!(
        "lost: {} of {} distinct lines, with a Bloom filter of {} instead of an exact comparison (predicted: \
         {predicted})",
        grouped(found.missing_lines),
        grouped(found.exact.stats.output.lines),
        numbers::bytes(filter.bits.div_ceil(8)),
    ))
}

fn describe_rates(found: &Comparison) -> String {
    let (Some(all), Some(measured)) = (found.could_pass_lines, found.measured_fpr_bounds) else {
        let known = found
            .could_pass_lines
            .map(|_| "no line could pass by mistake");
        let why = known.unwrap_or("unknown: too little memory to estimate the distinct lines");
        return format!("false-positive rate: {why}");
    };
    let predicted = found.predicted_fpr_bounds.map(describe_bounds);
    let could_pass = if all.is_exact() {
        format!("the {}", grouped(all.estimate as u64))
    } else {
        format!("about {}", grouped(all.estimate as u64))
    };
    // The filter of a union fills up while it is asked: what it contains tells the rate of the last line.
    let when = match found.mistake {
        Mistake::LostLines => " at the end,",
        Mistake::FalseLines | Mistake::MissingLines => "",
    };
    format!(
        "false-positive rate: of {could_pass} lines that {}, {} passed the filter\n  measured {} ({} to {} at 98%)\n  \
         predicted {}; {}{when} computed from the contents of the filter",
        Words::of(found.mistake).could_pass,
        grouped(found.mistakes()),
        percent(measured.estimate),
        percent(measured.low),
        percent(measured.high),
        predicted.unwrap_or_else(|| "-".to_owned()),
        optional(found.fill_fpr),
    )
}

fn describe_bounds(rate: Bounds) -> String {
    if rate.is_exact() {
        return percent(rate.estimate);
    }
    let (low, high) = (percent(rate.low), percent(rate.high));
    format!("{} ({low} to {high} at 99%)", percent(rate.estimate))
}

fn optional(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), percent)
}

/// Formats a row for each point, all of one operation.
pub(super) fn of_sweep(found: &[Comparison]) -> String {
    let words = Words::of_all(found);
    let mut table = vec![
        [
            "memory",
            "exact by",
            "exact s",
            "exact disk",
            words.exact_column,
            "bits/line",
            "approx. s",
            "approx. disk",
            "approx. lines",
            "false",
            "missing",
            "measured",
            "predicted",
            "by contents",
            words.quality,
            "peak memory",
        ]
        .map(str::to_owned),
    ];
    table.extend(found.iter().map(row));
    aligned(&table).join("\n")
}

/// Formats the figures of a point.
fn row(point: &Comparison) -> [String; 16] {
    let (exact, approximate) = (&point.exact.stats, &point.approximate.stats);
    let bits = approximate
        .filter
        .as_ref()
        .map(|filter| filter.bits_per_key);
    [
        numbers::bytes(point.memory.limit_bytes),
        exact.strategy.clone(),
        format!("{:.2}", exact.seconds),
        numbers::bytes(exact.temp.peak_bytes),
        grouped(exact.output.lines),
        bits.map_or_else(|| "-".to_owned(), |bits| format!("{bits:.2}")),
        format!("{:.2}", approximate.seconds),
        numbers::bytes(approximate.temp.peak_bytes),
        grouped(approximate.output.lines),
        grouped(point.false_lines),
        grouped(point.missing_lines),
        optional(point.measured_fpr),
        optional(point.predicted_fpr),
        optional(point.fill_fpr),
        share(point.quality()),
        numbers::peak(point.memory.peak_rss_bytes),
    ]
}
