//! The parts that the reports of all commands have.
//!
//! *Owns:* the timeline, memory over time, the sizes of buckets. *Invariants:* every picture has the
//! table of what it shows; where there is nothing to show, a sentence says so. *Cost:* that of its
//! pictures and tables.

use maud::{Markup, html};
use outset::stats::BucketStats;
use serde_json::Value;

use super::charts;
use super::figures::{Figures, Unit, grouped};
use super::page::{alone, figure, section};
use super::recording::Recorded;
use super::tables::{folded, list, rows, rows_at};
use crate::cli::numbers;

/// Shows what somebody needs to know to make the report once more: what is called `origin` at `base`.
pub(super) fn origin(figures: &Figures, base: &str) -> Markup {
    let pointer = |field: &str| format!("{base}/origin/{field}");
    let text =
        "This is what the run was asked for, and what it had. A key for the hash is left out.";
    let [date, version, cores, memory, directory, temp_dirs] = [
        "date",
        "version",
        "machine/cores",
        "machine/memory_bytes",
        "directory",
        "temp_dirs",
    ]
    .map(pointer);
    let run = list(
        figures,
        "Run",
        &[
            ("began (UTC)", &date, Unit::Text),
            ("version", &version, Unit::Text),
            ("cores", &cores, Unit::Count),
            ("memory of the machine", &memory, Unit::Bytes),
            ("directory", &directory, Unit::Text),
            ("temporary directories", &temp_dirs, Unit::Text),
        ],
    );
    let names = figures.get(&pointer("options")).and_then(Value::as_object);
    let names: Vec<&String> = names
        .into_iter()
        .flat_map(|options| options.keys())
        .collect();
    let options = html! {
        table {
            caption { "Options, and defaults" }
            tbody {
                @for name in &names {
                    tr { th scope="row" { (name) } (figures.cell(&pointer(&format!("options/{name}")), Unit::Text)) }
                }
            }
        }
    };
    let line = pointer("command_line");
    let content = html! {
        pre.command data-figure=(line) { (figures.text(&line, Unit::Text)) }
        div.tables { div { (run) } div { (folded("Options, and defaults", names.len(), &options)) } }
    };
    section("How this was made", text, &content)
}

/// Writes the phases, and the bytes that were read over time.
pub(super) fn timeline(figures: &Figures, recorded: &Recorded) -> Markup {
    let text = format!(
        "The run took {}, including opening the inputs and writing the result. It had {}; each reads an input, or the \
         spilled lines, once. The bytes written by a phase are those of temporary files only.",
        numbers::duration(recorded.seconds),
        numbers::counted(recorded.phases.len() as u64, "phase"),
    );
    let rate = html! {
        span.key { span.first { b { "━" } } " mean over a short time" }
        span.key { span.second { b { "╷" } } " a phase begins" }
    };
    let bars = html! { "Each bar spans a phase from start to end; its label gives the duration and the reading speed." };
    let content = html! {
        div.pair {
            (alone("When each phase ran", &bars, charts::timeline::phases(recorded)))
            (alone("Bytes read per second over time", &rate, charts::timeline::throughput(recorded)))
        }
        (phase_table(figures))
        (rows(figures, "Bytes read per second", "/recording/throughput", &[
            ("from", "/from_seconds", Unit::Seconds),
            ("to", "/to_seconds", Unit::Seconds),
            ("read per second", "/bytes_per_second", Unit::BytesPerSecond),
        ]))
    };
    section("Timeline", &text, &content)
}

fn phase_table(figures: &Figures) -> Markup {
    let has_parts = (0..figures.count("/recording/phases")).any(|number| {
        let part = figures.get(&format!("/recording/phases/{number}/part"));
        part.is_some_and(|part| part != "")
    });
    let columns = [
        ("run", "/part", Unit::Text),
        ("phase", "/name", Unit::Text),
        ("began", "/began_seconds", Unit::Seconds),
        ("took", "/seconds", Unit::Seconds),
        ("read", "/bytes_read", Unit::Bytes),
        ("read per second", "/bytes_per_second", Unit::BytesPerSecond),
        ("written to temporary files", "/bytes_written", Unit::Bytes),
        ("lines", "/lines", Unit::Count),
    ];
    let columns = if has_parts {
        &columns[..]
    } else {
        &columns[1..]
    };
    rows(figures, "Phases", "/recording/phases", columns)
}

/// Writes the resident size over time; `peak` says what the largest was.
pub(super) fn memory(figures: &Figures, recorded: &Recorded, peak: &str) -> Markup {
    let text = format!(
        "The limit covers the whole process. {peak} The chart may miss a peak between two samples."
    );
    let key = html! {
        span.key { span.first { b { "━" } } " resident memory" }
        span.key { span.limit { b { "╌" } } " limit" }
        span.key { span.second { b { "│" } } " a phase begins, with its number in the table of phases" }
    };
    let tables = html! {
        (rows(figures, "Limits", "/recording/limits", &[
            ("from", "/began_seconds", Unit::Seconds),
            ("limit", "/limit_bytes", Unit::Bytes),
        ]))
        (rows(figures, "Samples", "/recording/samples", &[
            ("time", "/seconds", Unit::Seconds),
            ("resident", "/resident_bytes", Unit::Bytes),
            ("read so far", "/bytes_read", Unit::Bytes),
        ]))
    };
    let picture = charts::memory::over_time(recorded);
    let content = figure(
        "Resident memory over time, and the limit",
        &key,
        picture,
        &tables,
    );
    section("Memory", &text, &content)
}

/// Writes the sizes of the buckets of a run, whose statistics are at `base`.
pub(super) fn buckets(figures: &Figures, base: &str, stats: &BucketStats) -> Markup {
    if stats.count == 0 {
        let none = "This run used no buckets: it kept everything it needed in memory at once.";
        return section("Buckets", none, &html! {});
    }
    let pointer = |field: &str| format!("{base}/buckets/{field}");
    let (count, split, largest, levels) = (
        pointer("count"),
        pointer("split"),
        pointer("largest_lines"),
        pointer("levels"),
    );
    let summary = list(
        figures,
        "All buckets",
        &[
            ("buckets", &count, Unit::Count),
            (
                "split because they did not fit in memory",
                &split,
                Unit::Count,
            ),
            ("lines of one input in the largest", &largest, Unit::Count),
            ("levels", &levels, Unit::Count),
        ],
    );
    let text = format!(
        "The hash divided the lines into {} buckets; the largest has {} lines of one input. Buckets of similar size are \
         normal; a much larger bucket contains lines that repeat many times.",
        grouped(f64::from(stats.count)),
        grouped(stats.largest_lines as f64)
    );
    if stats.sizes.is_empty() {
        let absent = html! { p.absent { "This run did not record the sizes of single buckets." } };
        return section("Buckets", &text, &html! { (absent) (summary) });
    }
    // The chart shows the gaps.
    let classes = stats.sizes.iter().enumerate();
    let filled = classes.filter(|(_, class)| class.buckets > 0);
    let filled: Vec<String> = filled
        .map(|(number, _)| format!("{}/{number}", pointer("sizes")))
        .collect();
    let tables = html! {
        (summary)
        (rows_at(figures, "Buckets by number of lines", &filled, &[
            ("lines from", "/from_lines", Unit::Count),
            ("to", "/to_lines", Unit::Count),
            ("buckets", "/buckets", Unit::Count),
        ]))
    };
    let key = html! { "Each bar counts the buckets with that number of lines, over all inputs." };
    let picture = charts::buckets::sizes(&stats.sizes);
    section(
        "Buckets",
        &text,
        &figure("Buckets by number of lines", &key, picture, &tables),
    )
}
