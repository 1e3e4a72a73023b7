//! The page of `outset compare`.
//!
//! *Owns:* its document and the order of its parts: [`results`], rates and times [`over_memory`], and [`plans`].
//! *Invariants:* `comparison` in the document is the comparison as `--stats` writes it, of one point or of several.
//! *Cost:* that of the parts.

mod over_memory;
mod plans;
mod results;

use std::io::{self, Write};

use maud::html;
use outset::compare::Plans;
use serde_json::{Value, json};

use super::figures::Figures;
use super::page::page as frame;
use super::recording::Recorded;
use super::sections;
use crate::cli::compare::report::ComparisonReport;
use crate::cli::compare::words::Words;
use crate::cli::numbers;
use crate::cli::origin::Origin;

/// Writes the page.
pub(super) fn page(
    report: &ComparisonReport<'_>,
    (plans, predicted): (&[Plans], &[(u64, f64)]),
    recorded: &Recorded,
    origin: &Origin,
    out: &mut dyn Write,
) -> io::Result<()> {
    let points = report.points();
    let mut document = document(report, plans, predicted, recorded)?;
    document["comparison"]["origin"] = serde_json::to_value(origin)?;
    let figures = Figures::new(document);
    let bases = bases(report);
    let peaks = points
        .iter()
        .flat_map(|point| [&point.exact, &point.approximate]);
    let peak = peaks.map(|run| run.stats.memory.peak_rss_bytes).max();
    let peak = format!(
        "The largest peak of a run was {}.",
        numbers::peak(peak.unwrap_or(0))
    );
    let last = points.last().zip(bases.last());
    let sections = html! {
        (results::results(&figures, &bases, points))
        (over_memory::rates(&figures, &bases, points, predicted))
        (over_memory::times(&figures, &bases, points))
        (plans::plans(&figures))
        (sections::timeline(&figures, recorded))
        (sections::memory(&figures, recorded, &peak))
        @if let Some((point, base)) = last {
            (sections::buckets(&figures, &format!("{base}/exact"), &point.exact.stats.buckets))
        }
        (sections::origin(&figures, "/comparison"))
    };
    let operation = Words::of_all(points).operation;
    let title = match points.len() {
        1 => format!("Exact and approximate {operation}"),
        count => format!("Exact and approximate {operation} at {count} points"),
    };
    frame(
        &title,
        &results::lead(points),
        &sections,
        figures.document(),
        out,
    )
}

fn document(
    report: &ComparisonReport<'_>,
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

/// Returns the pointer to each point in the document.
fn bases(report: &ComparisonReport<'_>) -> Vec<String> {
    match report {
        ComparisonReport::One(_) => vec!["/comparison".to_owned()],
        ComparisonReport::Sweep { points, .. } => (0..points.len())
            .map(|number| format!("/comparison/points/{number}"))
            .collect(),
    }
}

#[cfg(test)]
mod tests;
