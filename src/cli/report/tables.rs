//! Tables of figures.
//!
//! *Owns:* the two forms that all tables have: a list of named figures, and rows of equal objects.
//! *Invariants:* each cell names where in the document its figure is; each table can be scrolled by
//! itself, by keyboard too. *Cost:* some 150 bytes a cell.

use maud::{Markup, html};

use super::figures::{Figures, Unit};
use crate::cli::numbers::grouped;

/// A named figure: title, pointer, unit.
pub(super) type Named<'a> = (&'a str, &'a str, Unit);

/// More rows than this are shown when asked for, and not on paper.
const MOST_OPEN_ROWS: usize = 24;

/// Makes a table of figures that have a name each; those that the document does not have are left out.
pub(super) fn list(figures: &Figures, caption: &str, entries: &[Named]) -> Markup {
    let there = || {
        let entries = entries.iter();
        entries.filter(|(_, pointer, _)| figures.get(pointer).is_some())
    };
    scrolled(
        caption,
        &html! {
            table.list {
                caption { (caption) }
                tbody {
                    @for &(title, pointer, unit) in there() {
                        tr { th scope="row" { (title) } (figures.cell(pointer, unit)) }
                    }
                }
            }
        },
    )
}

/// Makes a table of the objects in the list at `base`; a column is a title, a pointer inside of an object, and a unit.
/// Where no object has a column it is left out.
pub(super) fn rows(figures: &Figures, caption: &str, base: &str, columns: &[Named]) -> Markup {
    let count = figures.count(base);
    let bases: Vec<String> = (0..count).map(|row| format!("{base}/{row}")).collect();
    rows_at(figures, caption, &bases, columns)
}

/// Works as [`rows`], for objects wherever they are.
pub(super) fn rows_at(
    figures: &Figures,
    caption: &str,
    bases: &[String],
    columns: &[Named],
) -> Markup {
    let is_there = |(_, field, _): &&Named| {
        let mut bases = bases.iter();
        bases.any(|base| figures.get(&format!("{base}{field}")).is_some())
    };
    let columns: Vec<&Named> = columns.iter().filter(is_there).collect();
    let table = html! {
        table {
            caption { (caption) }
            thead { tr { @for (title, _, unit) in &columns { th class=(unit.class()) scope="col" { (title) } } } }
            tbody {
                @for base in bases {
                    tr {
                        @for (_, field, unit) in &columns {
                            (figures.cell(&format!("{base}{field}"), *unit))
                        }
                    }
                }
            }
        }
    };
    folded(caption, bases.len(), &table)
}

/// Makes a table with `rows` rows under a caption; a long one is folded until the reader opens it.
pub(super) fn folded(caption: &str, rows: usize, table: &Markup) -> Markup {
    let table = scrolled(caption, table);
    if rows <= MOST_OPEN_ROWS {
        return table;
    }
    html! {
        details {
            summary { "Table: " (caption) " (" (grouped(rows as u64)) " rows)" }
            (table)
        }
    }
}

/// Makes a box in which a table that is too wide or too long is scrolled.
pub(super) fn scrolled(caption: &str, table: &Markup) -> Markup {
    html! { div.scrolled tabindex="0" role="region" aria-label=(caption) { (table) } }
}

/// Makes a table of two figures side by side: title, pointer of each (empty for none), unit.
pub(super) fn beside(
    figures: &Figures,
    caption: &str,
    heads: [&str; 2],
    entries: &[(&str, &str, &str, Unit)],
) -> Markup {
    let is_there = |pointer: &str| !pointer.is_empty() && figures.get(pointer).is_some();
    let there = || {
        entries
            .iter()
            .filter(|entry| is_there(entry.1) || is_there(entry.2))
    };
    let cell = |pointer: &str, unit| match pointer {
        "" => html! { td.number { "–" } },
        pointer => figures.cell(pointer, unit),
    };
    let table = html! {
        table.list {
            caption { (caption) }
            thead { tr { th scope="col" { "figure" } @for head in heads { th.number scope="col" { (head) } } } }
            tbody {
                @for &(title, first, second, unit) in there() {
                    tr { th scope="row" { (title) } (cell(first, unit)) (cell(second, unit)) }
                }
            }
        }
    };
    scrolled(caption, &table)
}
