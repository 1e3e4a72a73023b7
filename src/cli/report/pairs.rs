//! The page of `outset overlaps` about pairs of files.
//!
//! *Owns:* its document, its heat map and the tables. *Invariants:* the document is what `--json` prints, with the
//! distinct lines of each file (`sets`), `plan` and `recording` added; the table has the pairs with the most common
//! lines. *Cost:* that of the parts, and of the run's: 3 MiB for 64 files.

use std::io::{self, Write};

use maud::{Markup, html};
use outset::Pairs;
use outset::plan::Plan;
use serde::Serialize;

use super::charts::heat_map;
use super::figures::{Figures, Unit};
use super::overlaps::{MOST_ROWS, Set, files};
use super::page::{alone, page as frame};
use super::recording::Recorded;
use super::sections;
use super::selected;
use super::tables::{folded, scrolled};
use crate::cli::escaping::visible;
use crate::cli::numbers::{counted, grouped};
use crate::cli::origin::Origin;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    found: &'a Pairs,
    sets: Vec<Set<'a>>,
    plan: Option<&'a Plan>,
    recording: &'a Recorded,
    origin: &'a Origin,
}

/// Writes the page.
pub(super) fn page(
    found: &Pairs,
    recorded: &Recorded,
    origin: &Origin,
    out: &mut dyn Write,
) -> io::Result<()> {
    let set = |(input, (path, label))| Set {
        label,
        path,
        distinct_lines: found.distinct_lines(input),
    };
    let named = found.inputs.iter().zip(&found.labels);
    let named = named.map(|(path, label)| (path.as_str(), label.as_str()));
    let whole = Document {
        found,
        sets: named.enumerate().map(set).collect(),
        plan: recorded.plan.as_ref(),
        recording: recorded,
        origin,
    };
    let figures = Figures::new(serde_json::to_value(&whole)?);
    let order = found.in_order();
    let sections = html! {
        (pairs(&figures, found, &order))
        (selected::run(&figures, &found.stats, recorded, &[("distinct lines", "/stats/output/lines", Unit::Count)]))
        (sections::origin(&figures, ""))
    };
    let title = format!(
        "{} of {}, {} with common lines",
        counted(found.stats.output.lines, "distinct line"),
        counted(found.inputs.len() as u64, "input"),
        counted(order.len() as u64, "pair")
    );
    frame(
        &title,
        &selected::lead(&found.stats),
        &sections,
        &whole,
        out,
    )
}

fn pairs(figures: &Figures, found: &Pairs, order: &[(usize, usize)]) -> Markup {
    let key = html! {
        "The darker a cell, the larger the share of the lines of the file of its row that the file of its column has."
    };
    let map = heat_map::map(found);
    let map = map.map(|map| html! { div.whole { (scrolled("Heat map", &map)) } });
    html! {
        section {
            h2 { "Pairs of files" }
            p { (about(order.len())) }
            div.pair { (alone("Lines of each file that each other file has", &key, map)) }
            div.pair {
                div { (table(figures, found, order)) }
                div { (files(figures)) }
            }
        }
    }
}

/// Words the content of the section, and what it leaves out.
fn about(count: usize) -> String {
    let text = "A line that several files have counts for each two of them. Pairs without common lines are left out.";
    if count <= MOST_ROWS {
        return text.to_owned();
    }
    format!(
        "{text} The table has the first {}; all {} are in the figures as JSON.",
        grouped(MOST_ROWS as u64),
        grouped(count as u64)
    )
}

fn table(figures: &Figures, found: &Pairs, order: &[(usize, usize)]) -> Markup {
    const CAPTION: &str = "Pairs";
    let order = order.get(..MOST_ROWS).unwrap_or(order);
    let table = html! {
        table {
            caption { (CAPTION) }
            thead { tr {
                th.number scope="col" { "common lines" }
                th.number scope="col" { "of both (Jaccard)" }
                th.number scope="col" { "of the first" }
                th.number scope="col" { "of the second" }
                th.text scope="col" { "first" }
                th.text scope="col" { "second" }
            } }
            tbody {
                @for &(one, other) in order {
                    tr {
                        (figures.cell(&format!("/common_lines/{one}/{other}"), Unit::Count))
                        (figures.cell(&format!("/jaccard/{one}/{other}"), Unit::Rate))
                        (figures.cell(&format!("/containment/{one}/{other}"), Unit::Rate))
                        (figures.cell(&format!("/containment/{other}/{one}"), Unit::Rate))
                        @for file in [one, other] { td.text.long { (visible(&found.labels[file])) } }
                    }
                }
            }
        }
    };
    folded(CAPTION, order.len(), &table)
}
