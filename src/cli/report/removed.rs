//! The lines that a result has removed from each of its files (`--out-dir`), as a part of a page.
//!
//! *Owns:* the files that the page shows, and their order. *Invariants:* the file with the largest share removed comes
//! first; no more than [`MOST_ROWS`] are shown, and what all others have together is. *Cost:* eight bytes a file.

use std::borrow::Cow;

use maud::{Markup, html};
use outset::stats::FileStats;
use serde::Serialize;

use super::figures::{Figures, Unit};
use super::page::section;
use super::tables::rows_at;
use crate::cli::numbers;

/// More files are not in the table.
const MOST_ROWS: usize = 50;

/// The figures of all files.
#[derive(Serialize)]
pub(super) struct Removed<'a> {
    /// All files together; `None` where there are none.
    all: Option<Row<'a>>,
    /// Files of which all lines were removed.
    emptied: u64,
    /// The files with the largest share removed, the largest first.
    most: Vec<Row<'a>>,
    /// All other files together, if there are more.
    others: Option<Row<'a>>,
}

/// One file, or several together.
#[derive(Serialize)]
struct Row<'a> {
    /// The path, or a name for several files.
    file: Cow<'a, str>,
    lines: u64,
    written: u64,
    removed: u64,
    /// The share of lines that were removed, 0..1; `None` without lines.
    removed_share: Option<f64>,
}

impl<'a> Removed<'a> {
    /// Chooses the files that are shown.
    pub(super) fn of(files: &'a [FileStats]) -> Self {
        let mut order: Vec<&FileStats> = files.iter().collect();
        // Of equal shares the file with more lines; else the order of the result.
        order.sort_by(|one, other| {
            let by_share =
                share(other.lines, other.written).total_cmp(&share(one.lines, one.written));
            by_share.then(other.lines.cmp(&one.lines))
        });
        let (most, others) = order.split_at(order.len().min(MOST_ROWS));
        let is_emptied = |file: &&FileStats| file.lines > 0 && file.written == 0;
        Self {
            all: Row::together(&order, "all"),
            emptied: files.iter().filter(is_emptied).count() as u64,
            most: most
                .iter()
                .map(|file| Row::of(&file.path, file.lines, file.written))
                .collect(),
            others: Row::together(others, "the other"),
        }
    }
}

impl<'a> Row<'a> {
    fn of(file: impl Into<Cow<'a, str>>, lines: u64, written: u64) -> Self {
        Self {
            file: file.into(),
            lines,
            written,
            removed: lines.saturating_sub(written),
            removed_share: (lines > 0).then(|| share(lines, written)),
        }
    }

    /// Adds up `files`, which are called by this word.
    fn together(files: &[&FileStats], word: &str) -> Option<Self> {
        let sum = |count: fn(&FileStats) -> u64| files.iter().map(|file| count(file)).sum();
        let name = format!("{word} {}", numbers::counted(files.len() as u64, "file"));
        let row = Self::of(name, sum(|file| file.lines), sum(|file| file.written));
        (!files.is_empty()).then_some(row)
    }
}

/// Returns the share of lines that were removed; less than any for a file without lines.
fn share(lines: u64, written: u64) -> f64 {
    if lines == 0 {
        return -1.0;
    }
    lines.saturating_sub(written) as f64 / lines as f64
}

/// Writes the part about the files, whose figures are at `/removed`; nothing where there are none.
pub(super) fn files(figures: &Figures) -> Markup {
    let Some(text) = sentence(figures) else {
        return html! {};
    };
    let shown = figures.count("/removed/most");
    let mut bases: Vec<String> = (0..shown)
        .map(|row| format!("/removed/most/{row}"))
        .collect();
    let sums = ["/removed/others", "/removed/all"].into_iter();
    bases.extend(
        sums.filter(|sum| shown > 1 && figures.get(sum).is_some())
            .map(str::to_owned),
    );
    let table = rows_at(
        figures,
        "Files by the share removed",
        &bases,
        &[
            ("file", "/file", Unit::Text),
            ("lines", "/lines", Unit::Count),
            ("written", "/written", Unit::Count),
            ("removed", "/removed", Unit::Count),
            ("share removed", "/removed_share", Unit::Rate),
        ],
    );
    section("What was removed from each file", &text, &table)
}

/// Words what was removed from all files together; `None` if there are none.
fn sentence(figures: &Figures) -> Option<String> {
    let count = |pointer: &str| figures.get(pointer)?.as_u64();
    let removed = count("/removed/all/removed")?;
    let mut sentences = vec![format!(
        "Of {}, {} {} removed ({}).",
        numbers::counted(count("/removed/all/lines")?, "line"),
        numbers::grouped(removed),
        if removed == 1 { "was" } else { "were" },
        figures.text("/removed/all/removed_share", Unit::Rate),
    )];
    let emptied = count("/removed/emptied").filter(|&files| files > 0);
    sentences.extend(
        emptied.map(|files| format!("Nothing is left of {}.", numbers::counted(files, "file"))),
    );
    if figures.get("/removed/others").is_some() {
        let shown = figures.count("/removed/most");
        sentences.push(format!(
            "The table has the {shown} files with the largest share removed; --stats lists all."
        ));
    }
    // Where whole lines are compared, a blank one is a line.
    let has_records = |input| {
        figures
            .get(&format!("/stats/inputs/{input}/passed_over"))
            .is_some()
    };
    if (0..figures.count("/stats/inputs")).any(has_records) {
        let others =
            "Headers, blank lines, comments, and records without a key are not counted as lines.";
        sentences.push(others.to_owned());
    }
    Some(sentences.join(" "))
}
