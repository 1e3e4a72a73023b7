//! The page of the commands that select lines.
//!
//! *Owns:* its document and its parts. *Invariants:* `stats` in the document is what `--stats` writes, but for `files`,
//! of which `removed` has those that the page shows; `plan` is what `outset plan --json` prints. *Cost:* that of the
//! parts.

use std::io::{self, Write};

use maud::{Markup, html};
use outset::Stats;
use outset::stats::FileStats;
use serde_json::json;

use super::figures::{Figures, Unit, grouped};
use super::groups;
use super::page::{page as frame, section};
use super::recording::Recorded;
use super::removed::{self, Removed};
use super::sections;
use super::tables::{Named, beside, list, rows};
use crate::cli::numbers;
use crate::cli::origin::{Origin, StatsWithOrigin};

/// Writes the page of a run that has written `files`, which its statistics do not have any more.
pub(super) fn page(
    stats: &Stats,
    files: &[FileStats],
    recorded: &Recorded,
    origin: &Origin,
    out: &mut dyn Write,
) -> io::Result<()> {
    let figures = Figures::new(json!({
        "stats": serde_json::to_value(StatsWithOrigin { stats, origin })?,
        "plan": serde_json::to_value(&recorded.plan)?,
        "recording": serde_json::to_value(recorded)?,
        "removed": serde_json::to_value(Removed::of(files))?,
        "groups": groups::document(stats.groups.as_deref()),
    }));
    let lines = grouped(stats.output.lines as f64);
    let about = if stats.exact { "" } else { "About " };
    let noun = crate::cli::summary::noun(stats);
    let inputs = numbers::counted(stats.inputs.len() as u64, "input");
    let title = format!("{about}{lines} {noun} of {inputs}");
    let found = [
        ("lines", "/stats/output/lines", Unit::Count),
        ("bytes", "/stats/output/bytes", Unit::Bytes),
    ];
    let sections = html! {
        (summary(&figures, &found))
        (removed::files(&figures))
        (groups::groups(&figures))
        (course(&figures, stats, recorded))
        (sections::origin(&figures, "/stats"))
    };
    frame(&title, &lead(stats), &sections, figures.document(), out)
}

/// Writes the parts about a run whose statistics are at `/stats`, and its plan at `/plan`: what it `found`, and what it
/// took.
pub(super) fn run(
    figures: &Figures,
    stats: &Stats,
    recorded: &Recorded,
    found: &[Named],
) -> Markup {
    html! {
        (summary(figures, found))
        (course(figures, stats, recorded))
    }
}

/// Writes the parts about what a run did.
fn course(figures: &Figures, stats: &Stats, recorded: &Recorded) -> Markup {
    let peak = format!("Its peak was {}.", numbers::peak_and_limit(&stats.memory));
    html! {
        (plan(figures))
        (sections::timeline(figures, recorded))
        (sections::memory(figures, recorded, &peak))
        (sections::buckets(figures, "/stats", &stats.buckets))
        (filter(figures, stats))
    }
}

/// Writes how the lines were found.
pub(super) fn lead(stats: &Stats) -> Markup {
    html! {
        p.lead {
            "Found by " strong { (stats.strategy) } " (" (if stats.exact { "exact" } else { "approximate" }) ") in "
            (numbers::duration(stats.seconds)) ", with a peak of memory of "
            (numbers::peak_and_limit(&stats.memory)) ", and " (numbers::bytes(stats.temp.peak_bytes))
            " of temporary disk."
        }
        @if let Some(filter) = stats.filter.as_ref().filter(|_| !stats.exact) {
            p.warning {
                strong { "Approximate: " }
                @if stats.command == "intersect" {
                    "no common line is missing, but about "
                    (grouped(filter.expected_false_lines.min(stats.output.lines as f64)))
                    " of these lines are expected to be false."
                } @else {
                    "each of these lines is right, but about " (grouped(filter.expected_missing_lines))
                    " more are expected to be missing."
                }
            }
        }
    }
}

fn summary(figures: &Figures, found: &[Named]) -> Markup {
    let took = [
        ("result is", "/stats/exact", Unit::Exactness),
        ("strategy", "/stats/strategy", Unit::Text),
        ("time", "/stats/seconds", Unit::Seconds),
        ("threads", "/stats/threads", Unit::Count),
        ("peak memory", "/stats/memory/peak_rss_bytes", Unit::Bytes),
        ("memory limit", "/stats/memory/limit_bytes", Unit::Bytes),
        (
            "temporary disk, written",
            "/stats/temp/written_bytes",
            Unit::Bytes,
        ),
        (
            "temporary disk, read",
            "/stats/temp/read_bytes",
            Unit::Bytes,
        ),
        (
            "temporary disk, peak",
            "/stats/temp/peak_bytes",
            Unit::Bytes,
        ),
        ("temporary files", "/stats/temp/files", Unit::Count),
    ];
    let result = list(figures, "Result", &[found, &took].concat());
    let inputs = rows(
        figures,
        "Inputs",
        "/stats/inputs",
        &[
            ("file", "/label", Unit::Text),
            ("path", "/path", Unit::Text),
            ("files", "/files", Unit::Count),
            ("bytes as stored", "/stored_bytes", Unit::Bytes),
            ("bytes", "/bytes", Unit::Bytes),
            ("lines, repeats included", "/lines", Unit::Count),
            ("left out without a key", "/bad_records", Unit::Count),
            ("left out with NULL", "/null_rows", Unit::Count),
        ],
    );
    html! { section { h2 { "Result and inputs" } div.tables { div { (result) } div { (inputs) } } } }
}

fn plan(figures: &Figures) -> Markup {
    if figures.get("/plan").is_none() {
        return html! {};
    }
    let text = format!(
        "The plan chose {} before the run. The table compares its predictions with what was measured. The predictions do not \
         count the writing of the result, and they assume a number of common lines.",
        figures.text("/plan/strategy", Unit::Text)
    );
    let chosen = beside(
        figures,
        "Plan and run",
        ["planned", "measured"],
        &[
            ("result is", "/plan/exact", "/stats/exact", Unit::Exactness),
            ("passes over the inputs", "/plan/passes", "", Unit::Count),
            (
                "buckets",
                "/plan/buckets",
                "/stats/buckets/count",
                Unit::Count,
            ),
            (
                "read, from inputs and temporary files",
                "/plan/bytes_read",
                "/recording/bytes_read",
                Unit::Bytes,
            ),
            (
                "written to temporary files",
                "/plan/bytes_written",
                "/stats/temp/written_bytes",
                Unit::Bytes,
            ),
            (
                "temporary disk, peak",
                "/plan/temp_peak_bytes",
                "/stats/temp/peak_bytes",
                Unit::Bytes,
            ),
            (
                "memory",
                "/plan/memory_bytes",
                "/stats/memory/peak_rss_bytes",
                Unit::Bytes,
            ),
            (
                "filter: size",
                "/plan/filter/bits",
                "/stats/filter/bits",
                Unit::Bits,
            ),
            (
                "filter: bits per key",
                "/plan/filter/bits_per_key",
                "/stats/filter/bits_per_key",
                Unit::Plain,
            ),
            (
                "filter: false-positive rate",
                "/plan/filter/predicted_fpr",
                "/stats/filter/fill_fpr",
                Unit::Rate,
            ),
        ],
    );
    let rejected = rows(
        figures,
        "Not chosen",
        "/plan/rejected",
        &[
            ("strategy", "/strategy", Unit::Text),
            ("why not", "/reason", Unit::Text),
            ("passes", "/costs/passes", Unit::Count),
            ("read", "/costs/bytes_read", Unit::Bytes),
            ("written", "/costs/bytes_written", Unit::Bytes),
            ("false lines", "/costs/expected_false_lines", Unit::Count),
        ],
    );
    let content = html! { div.tables { div { (chosen) } div { (rejected) } } };
    section("Plan", &text, &content)
}

fn filter(figures: &Figures, stats: &Stats) -> Markup {
    if stats.filter.is_none() {
        let none = "No filter was used in this run, so there is no false-positive rate.";
        return section("Filter", none, &html! {});
    }
    let entries = [
        ("kind", "/stats/filter/kind", Unit::Text),
        ("size", "/stats/filter/bits", Unit::Bits),
        (
            "hash functions per key (k)",
            "/stats/filter/hashes",
            Unit::Count,
        ),
        (
            "keys inserted, repeats included",
            "/stats/filter/keys",
            Unit::Count,
        ),
        ("bits per key", "/stats/filter/bits_per_key", Unit::Plain),
        ("bits that are set", "/stats/filter/fill", Unit::Rate),
        (
            "false-positive rate, predicted from size and keys",
            "/stats/filter/predicted_fpr",
            Unit::Rate,
        ),
        (
            "false-positive rate, from its contents",
            "/stats/filter/fill_fpr",
            Unit::Rate,
        ),
        (
            "false lines expected in the result",
            "/stats/filter/expected_false_lines",
            Unit::Count,
        ),
    ];
    let text = "The filter shows which lines certainly occur nowhere else. By mistake, it takes some of these for lines that do: an \
                exact strategy compares them, an approximate one adds them to the result (intersect) or leaves them out (diff, union).";
    section("Filter", text, &list(figures, "Filter", &entries))
}
