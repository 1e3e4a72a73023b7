//! The rates and the times of a comparison over memory.
//!
//! *Owns:* which memory that is.

use maud::{Markup, html};
use outset::compare::Comparison;

use crate::cli::compare::words::Words;
use crate::cli::report::charts::curves::{self, MeasuredRate, MeasuredTime};
use crate::cli::report::figures::{Figures, Unit};
use crate::cli::report::page::{alone, figure, section};
use crate::cli::report::tables::{rows, rows_at};

/// Tells whether the curves are over the filters' sizes, because the limits are all the same; else they are over the
/// limits.
fn is_by_filter(points: &[Comparison]) -> bool {
    let is_same = |pair: &[Comparison]| matches!(pair, [a, b] if a.memory.limit_bytes == b.memory.limit_bytes);
    points.len() > 1 && points.windows(2).all(is_same) && points.iter().all(|p| filter_bytes(p) > 0)
}

fn filter_bytes(point: &Comparison) -> u64 {
    let filter = point.approximate.stats.filter.as_ref();
    filter.map_or(0, |filter| filter.bits / 8)
}

fn memory_of(point: &Comparison, by_filter: bool) -> u64 {
    if by_filter {
        filter_bytes(point)
    } else {
        point.memory.limit_bytes
    }
}

fn axis(by_filter: bool) -> &'static str {
    if by_filter {
        "memory of the filter"
    } else {
        "memory limit of the process"
    }
}

/// Writes the rates, measured and predicted; `predicted` are limits in bytes with the rate that a plan predicts for
/// each.
pub(super) fn rates(
    figures: &Figures,
    bases: &[String],
    points: &[Comparison],
    predicted: &[(u64, f64)],
) -> Markup {
    const TITLE: &str = "False-positive rate and memory";
    let by_filter = is_by_filter(points);
    let mut measured: Vec<MeasuredRate> = points
        .iter()
        .filter_map(|point| measured_rate(point, by_filter))
        .collect();
    measured.sort_by_key(|point| point.memory_bytes);
    let own = || {
        points
            .iter()
            .filter_map(|p| Some((memory_of(p, by_filter), p.predicted_fpr?)))
    };
    let mut line: Vec<(u64, f64)> = if by_filter || predicted.is_empty() {
        own().collect()
    } else {
        predicted.to_vec()
    };
    line.sort_by_key(|point| point.0);
    if measured.is_empty() && line.is_empty() {
        let none = "No filter was used, or no line could pass it by mistake, so there is no false-positive rate.";
        return section(TITLE, none, &html! {});
    }
    let key = html! {
        span.key { span.first { b { "━✕" } } " predicted" }
        span.key { span.second { b { "●" } } " measured, with its bounds" }
    };
    let picture = curves::rates(axis(by_filter), &line, &measured);
    let picture = alone("False-positive rate by memory", &key, picture);
    let planned = rows(
        figures,
        "Predicted by the plan",
        "/predicted",
        &[
            ("memory limit", "/memory_bytes", Unit::Bytes),
            ("predicted", "/predicted_fpr", Unit::Rate),
        ],
    );
    let content = html! {
        div.pair {
            (picture)
            @if !by_filter && !predicted.is_empty() { div { (planned) } }
        }
        (rates_table(figures, bases))
    };
    let text = format!(
        "Of the lines that {}, the share that passes the filter by mistake. A point at the lower edge means that none did.",
        Words::of_all(points).could_pass
    );
    section(TITLE, &text, &content)
}

fn rates_table(figures: &Figures, bases: &[String]) -> Markup {
    rows_at(
        figures,
        "Measured and predicted",
        bases,
        &[
            ("memory limit", "/memory/limit_bytes", Unit::Bytes),
            ("filter", "/approximate/filter/bits", Unit::Bits),
            (
                "bits per key",
                "/approximate/filter/bits_per_key",
                Unit::Plain,
            ),
            ("measured", "/measured_fpr", Unit::Rate),
            ("at least", "/measured_fpr_bounds/low", Unit::Rate),
            ("at most", "/measured_fpr_bounds/high", Unit::Rate),
            ("predicted", "/predicted_fpr", Unit::Rate),
            ("from the contents", "/fill_fpr", Unit::Rate),
        ],
    )
}

fn measured_rate(point: &Comparison, by_filter: bool) -> Option<MeasuredRate> {
    let bounds = point.measured_fpr_bounds?;
    Some(MeasuredRate {
        memory_bytes: memory_of(point, by_filter),
        rate: point.measured_fpr?,
        low: bounds.low,
        high: bounds.high,
    })
}

/// Writes the times of each run.
pub(super) fn times(figures: &Figures, bases: &[String], points: &[Comparison]) -> Markup {
    let by_filter = is_by_filter(points);
    let time = |point: &Comparison| MeasuredTime {
        memory_bytes: memory_of(point, by_filter),
        exact_seconds: point.exact.stats.seconds,
        approximate_seconds: point.approximate.stats.seconds,
    };
    let mut measured: Vec<MeasuredTime> = points.iter().map(time).collect();
    measured.sort_by_key(|point| point.memory_bytes);
    let key = html! {
        span.key { span.first { b { "━●" } } " exact" }
        span.key { span.second { b { "╌▲" } } " approximate" }
    };
    let table = rows_at(
        figures,
        "Time",
        bases,
        &[
            ("memory limit", "/memory/limit_bytes", Unit::Bytes),
            ("filter", "/approximate/filter/bits", Unit::Bits),
            ("exact", "/exact/seconds", Unit::Seconds),
            ("approximate", "/approximate/seconds", Unit::Seconds),
        ],
    );
    let picture = curves::times(axis(by_filter), &measured);
    let content = html! {
        (figure("Time by memory", &key, picture, &table))
        div.pair {
            div { (costs(figures, bases, "Exact runs", "exact")) }
            div { (costs(figures, bases, "Approximate runs", "approximate")) }
        }
    };
    let text = "Each run is measured as if it were alone. The time to compare the results is not included.";
    section("Time and memory", text, &content)
}

fn costs(figures: &Figures, bases: &[String], caption: &str, run: &str) -> Markup {
    let field = |name: &str| format!("/{run}/{name}");
    let names = [
        "strategy",
        "bytes_read",
        "bytes_written",
        "temp/peak_bytes",
        "memory/peak_rss_bytes",
    ]
    .map(field);
    rows_at(
        figures,
        caption,
        bases,
        &[
            ("limit", "/memory/limit_bytes", Unit::Bytes),
            ("strategy", &names[0], Unit::Text),
            ("read", &names[1], Unit::Bytes),
            ("written", &names[2], Unit::Bytes),
            ("peak disk", &names[3], Unit::Bytes),
            ("peak memory", &names[4], Unit::Bytes),
        ],
    )
}
