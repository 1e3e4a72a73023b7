//! The page of `outset compare`.
//!
//! *Owns:* its document and its parts. *Invariants:* `comparison` in the document is the comparison
//! as `--stats` writes it, of one point or of several. *Cost:* that of the parts.

use std::io::{self, Write};

use maud::{Markup, html};
use outset::compare::{Comparison, Plans};
use serde_json::{Value, json};

use super::charts::curves::{self, MeasuredRate, MeasuredTime};
use super::figures::{Figures, Unit, grouped};
use super::page::{alone, figure, page as frame, section};
use super::recording::Recorded;
use super::sections;
use super::tables::{Named, rows, rows_at};
use crate::cli::compare::Report;
use crate::cli::numbers;

/// Writes the page.
pub(super) fn page(
    report: &Report<'_>,
    plans: &[Plans],
    predicted: &[(u64, f64)],
    recorded: &Recorded,
    out: &mut dyn Write,
) -> io::Result<()> {
    let points = report.points();
    let figures = Figures::new(document(report, plans, predicted, recorded)?);
    let bases = bases(report);
    let peaks = points
        .iter()
        .flat_map(|point| [&point.exact, &point.approximate]);
    let peak = peaks.map(|run| run.stats.memory.peak_rss_bytes).max();
    let peak = format!(
        "The largest peak of a run was {}.",
        numbers::bytes(peak.unwrap_or(0))
    );
    let last = points.last().zip(bases.last());
    let sections = html! {
        (results(&figures, &bases))
        (rates(&figures, &bases, points, predicted))
        (times(&figures, &bases, points))
        (plan(&figures))
        (sections::timeline(&figures, recorded))
        (sections::memory(&figures, recorded, &peak))
        @if let Some((point, base)) = last {
            (sections::buckets(&figures, &format!("{base}/exact"), &point.exact.stats.buckets))
        }
    };
    let title = match points.len() {
        1 => "Exact and approximate intersection".to_owned(),
        count => format!("Exact and approximate intersection at {count} points"),
    };
    frame(&title, &lead(points), &sections, figures.document(), out)
}

fn document(
    report: &Report<'_>,
    plans: &[Plans],
    predicted: &[(u64, f64)],
    recorded: &Recorded,
) -> serde_json::Result<Value> {
    let comparison = serde_json::to_value(report)?;
    let plans: Vec<Value> = plans
        .iter()
        .map(|plans| json!({ "limit_bytes": plans.exact.limit_bytes(), "exact": plans.exact, "approximate": plans.approximate }))
        .collect();
    let predicted: Vec<Value> = predicted
        .iter()
        .map(|(bytes, fpr)| json!({ "memory_bytes": bytes, "predicted_fpr": fpr }))
        .collect();
    Ok(json!({
        "comparison": comparison,
        "plans": plans,
        "predicted": predicted,
        "recording": serde_json::to_value(recorded)?,
    }))
}

/// Where each point is in the document.
fn bases(report: &Report<'_>) -> Vec<String> {
    match report {
        Report::One(_) => vec!["/comparison".to_owned()],
        Report::Sweep { points, .. } => (0..points.len())
            .map(|number| format!("/comparison/points/{number}"))
            .collect(),
    }
}

fn lead(points: &[Comparison]) -> Markup {
    let missing: u64 = points.iter().map(|point| point.missing_lines).sum();
    html! {
        @match points {
            [point] => (lead_of_one(point)),
            points => (lead_of_several(points)),
        }
        @if missing > 0 {
            p.warning { strong { (grouped(missing as f64)) " common lines are missing" } " from the approximate result, which should never happen." }
        }
    }
}

fn lead_of_one(point: &Comparison) -> Markup {
    let (exact, approximate) = (&point.exact.stats, &point.approximate.stats);
    html! {
        p.lead {
            strong { (grouped(exact.output.lines as f64)) " common lines" }
            ", found exactly by " (exact.strategy) " in " (numbers::duration(exact.seconds))
            "; approximately in " (numbers::duration(approximate.seconds)) ", with "
            strong { (grouped(point.false_lines as f64)) " false lines" }
            " among " (grouped(approximate.output.lines as f64))
            " (precision " (numbers::share(point.precision)) "). Both had " (numbers::bytes(point.memory.limit_bytes)) " of memory."
        }
    }
}

fn lead_of_several(points: &[Comparison]) -> Markup {
    let range = |figure: fn(&Comparison) -> f64, text: fn(f64) -> String| {
        let least = points.iter().map(figure).fold(f64::MAX, f64::min);
        let most = points.iter().map(figure).fold(0.0, f64::max);
        match (text(least), text(most)) {
            (least, most) if least == most => most,
            (least, most) => format!("{least} to {most}"),
        }
    };
    let bytes = |bytes: f64| numbers::bytes(bytes as u64);
    html! {
        p.lead {
            strong { (range(|point| point.exact.stats.output.lines as f64, grouped)) " common lines" }
            ". With " (range(|point| point.memory.limit_bytes as f64, bytes)) " of memory the exact way took "
            (range(|point| point.exact.stats.seconds, numbers::duration)) ", the approximate one "
            (range(|point| point.approximate.stats.seconds, numbers::duration)) ", with "
            strong { (range(|point| point.false_lines as f64, grouped)) " false lines" }
            " (precision " (range(|point| point.precision, numbers::share)) ")."
        }
    }
}

fn results(figures: &Figures, bases: &[String]) -> Markup {
    let found: &[Named] = &[
        ("memory limit", "/memory/limit_bytes", Unit::Bytes),
        ("common lines", "/exact/output/lines", Unit::Count),
        (
            "approximate result",
            "/approximate/output/lines",
            Unit::Count,
        ),
        ("false lines", "/false_lines", Unit::Count),
        ("missing lines", "/missing_lines", Unit::Count),
        ("precision", "/precision", Unit::Rate),
        (
            "could pass by mistake, about",
            "/could_pass_lines/estimate",
            Unit::Count,
        ),
        ("at least", "/could_pass_lines/low", Unit::Count),
        ("at most", "/could_pass_lines/high", Unit::Count),
    ];
    let first = bases.first().map_or("", String::as_str);
    let inputs = rows(
        figures,
        "Inputs",
        &format!("{first}/exact/inputs"),
        &[
            ("path", "/path", Unit::Text),
            ("bytes", "/bytes", Unit::Bytes),
            ("lines, repeats included", "/lines", Unit::Count),
        ],
    );
    let different = rows(
        figures,
        "Distinct lines of each input",
        &format!("{first}/different_lines"),
        &[
            ("about", "/estimate", Unit::Count),
            ("at least", "/low", Unit::Count),
            ("at most", "/high", Unit::Count),
        ],
    );
    let content = html! {
        (rows_at(figures, "What was found", bases, found))
        div.pair { div { (inputs) } div { (different) } }
    };
    let text = "A false line is in the approximate result but not in the exact one. The lines that could pass by mistake \
                are the distinct lines of the input that was checked against the filter, minus the common ones.";
    section("Results", text, &content)
}

/// Which memory the curves are over: the limits, or where these are all the same, the filters' sizes.
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

fn rates(
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
    let text = "The share of the lines not common to both files that pass the filter by mistake. A point at the lower edge means that none did.";
    section(TITLE, text, &content)
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
            ("from the fill", "/fill_fpr", Unit::Rate),
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

fn times(figures: &Figures, bases: &[String], points: &[Comparison]) -> Markup {
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
            ("limit", "/limit_bytes", Unit::Bytes),
            ("strategy", &names[0], Unit::Text),
            ("read", &names[1], Unit::Bytes),
            ("written", &names[2], Unit::Bytes),
            ("peak disk", &names[3], Unit::Bytes),
            ("peak memory", &names[4], Unit::Bytes),
        ],
    )
}

fn plan(figures: &Figures) -> Markup {
    let content = html! {
        (planned(figures, "Exact runs, as planned", "exact"))
        (planned(figures, "Approximate runs, as planned", "approximate"))
        // Bloom is what the approximate run is: there was no choice.
        @let rejected = rejected(figures, "exact");
        @if !rejected.is_empty() {
            (rows_at(figures, "Not chosen for the exact runs", &rejected, &[
                ("strategy", "/strategy", Unit::Text),
                ("why not", "/reason", Unit::Text),
            ]))
        }
    };
    section(
        "Plans",
        "What the plan predicted for each run before it began.",
        &content,
    )
}

fn planned(figures: &Figures, caption: &str, run: &str) -> Markup {
    let names = [
        "strategy",
        "passes",
        "buckets",
        "bytes_read",
        "bytes_written",
        "temp_peak_bytes",
        "memory_bytes",
        "filter/predicted_fpr",
        "expected_false_lines",
    ]
    .map(|name| format!("/{run}/{name}"));
    rows(
        figures,
        caption,
        "/plans",
        &[
            ("memory limit", "/limit_bytes", Unit::Bytes),
            ("strategy", &names[0], Unit::Text),
            ("passes", &names[1], Unit::Count),
            ("buckets", &names[2], Unit::Count),
            ("read", &names[3], Unit::Bytes),
            ("written", &names[4], Unit::Bytes),
            ("peak disk", &names[5], Unit::Bytes),
            ("memory", &names[6], Unit::Bytes),
            ("filter's rate", &names[7], Unit::Rate),
            ("false lines", &names[8], Unit::Count),
        ],
    )
}

/// Where the strategies are that were not chosen, each with the same reason once.
fn rejected(figures: &Figures, run: &str) -> Vec<String> {
    let all = (0..figures.count("/plans")).flat_map(|number| {
        let list = format!("/plans/{number}/{run}/rejected");
        (0..figures.count(&list)).map(move |place| format!("{list}/{place}"))
    });
    let mut said = Vec::new();
    all.filter(|base| {
        let words =
            ["strategy", "reason"].map(|name| figures.text(&format!("{base}/{name}"), Unit::Text));
        let is_new = !said.contains(&words);
        said.push(words);
        is_new
    })
    .collect()
}

#[cfg(test)]
mod tests;
