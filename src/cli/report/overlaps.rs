//! The page of `outset overlaps`.
//!
//! *Owns:* its document, its pictures with their tables, and what the page calls a combination. *Invariants:* the
//! document is what `--json` prints, with the distinct lines of each file (`sets`), `plan` and `recording` added;
//! pictures and tables have the combinations with the most lines. *Cost:* that of the parts, and of the run's.

use std::io::{self, Write};

use maud::{Markup, html};
use outset::plan::Plan;
use outset::{Combination, Overlaps, Stats};
use serde::Serialize;

use super::charts::{upset, venn};
use super::figures::{Figures, Unit};
use super::page::{alone, page as frame};
use super::recording::Recorded;
use super::sections;
use super::selected;
use super::tables::{folded, rows, scrolled};
use crate::cli::numbers::{counted, grouped};
use crate::cli::origin::Origin;

/// More combinations are not in the table.
pub(super) const MOST_ROWS: usize = 1000;

#[derive(Serialize)]
struct Document<'a> {
    inputs: &'a [String],
    labels: &'a [String],
    combinations: &'a [Combination],
    stats: &'a Stats,
    sets: &'a [Set<'a>],
    plan: Option<&'a Plan>,
    recording: &'a Recorded,
    origin: &'a Origin,
}

/// The distinct lines of a file.
#[derive(Serialize)]
pub(super) struct Set<'a> {
    pub(super) label: &'a str,
    pub(super) path: &'a str,
    pub(super) distinct_lines: u64,
}

/// Writes the page.
pub(super) fn page(
    found: &Overlaps,
    recorded: &Recorded,
    origin: &Origin,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sets = sets(found);
    let whole = Document {
        inputs: &found.inputs,
        labels: &found.labels,
        combinations: &found.combinations,
        stats: &found.stats,
        sets: &sets,
        plan: recorded.plan.as_ref(),
        recording: recorded,
        origin,
    };
    let shown = Document {
        combinations: in_table(found),
        ..whole
    };
    let figures = Figures::new(serde_json::to_value(&shown)?);
    let sections = html! {
        (overlaps(&figures, found, &sets))
        (selected::run(&figures, &found.stats, recorded, &[("distinct lines", "/stats/output/lines", Unit::Count)]))
        (sections::origin(&figures, ""))
    };
    let title = format!(
        "{} of {}, in {}",
        counted(found.stats.output.lines, "distinct line"),
        counted(found.inputs.len() as u64, "input"),
        counted(found.combinations.len() as u64, "combination")
    );
    let lead = selected::lead(&found.stats);
    frame(&title, &lead, &sections, &whole, out)
}

fn sets(found: &Overlaps) -> Vec<Set<'_>> {
    let set = |(input, (path, label))| {
        let all = found.combinations.iter();
        let its = all.filter(|combination| combination.has(input));
        Set {
            label,
            path,
            distinct_lines: its.map(|combination| combination.lines).sum(),
        }
    };
    let paths = found.inputs.iter().map(String::as_str);
    let labels = found.labels.iter().map(String::as_str);
    paths.zip(labels).enumerate().map(set).collect()
}

/// Returns the combinations that the table has.
fn in_table(found: &Overlaps) -> &[Combination] {
    let all = &found.combinations;
    all.get(..MOST_ROWS).unwrap_or(all)
}

fn overlaps(figures: &Figures, found: &Overlaps, sets: &[Set<'_>]) -> Markup {
    let lines: Vec<u64> = sets.iter().map(|set| set.distinct_lines).collect();
    let key = html! {
        "A bar above a column counts the distinct lines that every file with a strong dot (●) has, and no other file. A bar \
         to the right counts all distinct lines of a file."
    };
    let plot = upset::plot(found, &lines);
    let plot = plot.map(|plot| html! { div.whole { (scrolled("UpSet plot", &plot)) } });
    let circles = venn::circles(found);
    let circles =
        circles.map(|circles| html! { div.whole.circles { (scrolled("Circles", &circles)) } });
    html! {
        section {
            h2 { "Combinations of files" }
            p { (about(found)) }
            div.pair {
                (alone("Distinct lines of each combination", &key, plot))
                @if circles.is_some() {
                    (alone("The same numbers as circles", &html! { "The areas do not stand for numbers." }, circles))
                }
            }
            div.pair {
                div { (combinations(figures, found)) }
                div {
                    (files(figures))
                }
            }
        }
    }
}

/// Makes the table of the files, which the document has at `/sets`.
pub(super) fn files(figures: &Figures) -> Markup {
    let columns = [
        ("file", "/label", Unit::Text),
        ("path", "/path", Unit::Text),
        ("distinct lines", "/distinct_lines", Unit::Count),
    ];
    rows(figures, "Distinct lines of each file", "/sets", &columns)
}

/// Words the content of the section, and what it leaves out.
fn about(found: &Overlaps) -> String {
    let count = found.combinations.len();
    let undrawn = count.saturating_sub(upset::MOST);
    let mut text = vec![
        "A combination is all lines that the same files have, and no other file. Every distinct line is in exactly one \
         combination. Combinations without lines are left out."
            .to_owned(),
    ];
    if undrawn > 0 {
        text.push(format!(
            "The plot has the {} combinations with the most lines and leaves out {}.",
            upset::MOST,
            grouped(undrawn as u64)
        ));
    }
    if count > MOST_ROWS {
        text.push(format!(
            "The table has the first {}; all {} are in the figures as JSON.",
            grouped(MOST_ROWS as u64),
            grouped(count as u64)
        ));
    }
    text.join(" ")
}

fn combinations(figures: &Figures, found: &Overlaps) -> Markup {
    const CAPTION: &str = "Combinations";
    let combinations = in_table(found);
    let table = html! {
        table {
            caption { (CAPTION) }
            thead { tr {
                th.text scope="col" { "which" }
                th.number scope="col" { "distinct lines" }
                th.number scope="col" { "in all of these, and perhaps others" }
                th.text scope="col" { "files" }
            } }
            tbody {
                @for (row, combination) in combinations.iter().enumerate() {
                    tr {
                        (figures.cell(&format!("/combinations/{row}/which"), Unit::Text))
                        (figures.cell(&format!("/combinations/{row}/lines"), Unit::Count))
                        (figures.cell(&format!("/combinations/{row}/common_lines"), Unit::Count))
                        td class="text long" { (upset::names_of(found, combination)) }
                    }
                }
            }
        }
    };
    folded(CAPTION, combinations.len(), &table)
}
