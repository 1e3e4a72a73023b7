//! The lines of a result that came most often, as a part of a page.
//!
//! *Owns:* their form in the document. *Invariants:* the page quotes lines only where their occurrences were counted.
//! *Cost:* up to ten lines of 200 bytes.

use maud::{Markup, html};
use outset::stats::GroupStats;
use serde_json::{Value, json};

use super::figures::{Figures, Unit};
use super::page::section;
use super::tables::rows;

/// Makes the list of these groups; null where nothing was counted.
pub(super) fn document(groups: Option<&[GroupStats]>) -> Value {
    let group = |group: &GroupStats| {
        let is_cut = group.bytes > group.beginning.len() as u64;
        let ending = if is_cut { "…" } else { "" };
        let beginning = String::from_utf8_lossy(&group.beginning);
        json!({
            "occurrences": group.occurrences,
            "bytes": group.bytes,
            "beginning": format!("{beginning}{ending}"),
        })
    };
    groups.map_or(Value::Null, |groups| groups.iter().map(group).collect())
}

/// Writes the part about the groups, which are at `/groups`; nothing for a run that counted nothing and deduplicates
/// no files.
pub(super) fn groups(figures: &Figures) -> Markup {
    let title = "Lines with most copies";
    let is_of = |command| {
        figures
            .get("/stats/command")
            .is_some_and(|it| it == command)
    };
    if figures.get("/groups").is_none() {
        if figures.get("/removed/all").is_none() || !is_of("union") {
            return html! {};
        }
        let is_table = figures.get("/stats/inputs/0/null_rows").is_some();
        let or = if is_table {
            ""
        } else {
            "; with -D FILE they are on this page"
        };
        let text = format!(
            "This run did not count copies. The same command with --top 10 --count in the place of --out-dir prints the \
             lines that came most often{or}."
        );
        return section(title, &text, &html! {});
    }
    if figures.count("/groups") == 0 {
        return section(
            title,
            "No line of the result came more than once.",
            &html! {},
        );
    }
    let table = rows(
        figures,
        "Lines by their occurrences",
        "/groups",
        &[
            ("occurrences", "/occurrences", Unit::Count),
            ("bytes", "/bytes", Unit::Bytes),
            ("beginning", "/beginning", Unit::Text),
        ],
    );
    let text = "These lines of the result came most often, in all inputs together. The page quotes their beginnings.";
    section(title, text, &table)
}
