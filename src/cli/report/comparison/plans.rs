//! The plans of a comparison.

use maud::{Markup, html};

use crate::cli::report::figures::{Figures, Unit};
use crate::cli::report::page::section;
use crate::cli::report::tables::{rows, rows_at};

/// Writes the plans of both runs at each point, and the strategies that were not chosen.
pub(super) fn plans(figures: &Figures) -> Markup {
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
        "expected_missing_lines",
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
            ("missing lines", &names[9], Unit::Count),
        ],
    )
}

/// Returns pointers to the strategies that were not chosen, each with the same reason once.
fn rejected(figures: &Figures, run: &str) -> Vec<String> {
    let all = (0..figures.count("/plans")).flat_map(|number| {
        let list = format!("/plans/{number}/{run}/rejected");
        (0..figures.count(&list)).map(move |index| format!("{list}/{index}"))
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
