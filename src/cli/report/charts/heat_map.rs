//! The pairs of files as a heat map: a row and a column for each file.
//!
//! *Owns:* the cells, and the names beside and above them. *Invariants:* a cell stands for the share of the lines of
//! its row that its column has: the darker, the more, in 20 steps; a pair without common lines has none. The table
//! beside it has the numbers. *Cost:* 25 bytes a cell, 100 KiB for 64 files.

use maud::{Markup, html};
use outset::Pairs;

use super::shapes::{Anchor, MIDDLE, Picture, fitted, rectangle, squares, text, upright, width};
use super::{FIRST, GRID, INK};
use crate::cli::escaping::visible;

/// The width of a cell: a name stands upright in the narrowest, and there is no need for more than the widest.
const CELL: (f64, f64) = (18.0, 40.0);
/// A map of few files is about so wide, without the names.
const NARROW: f64 = 400.0;
/// The most room for the name of a file.
const NAME: f64 = 190.0;
/// The room between things.
const GAP: f64 = 6.0;
/// The room between a cell and the edge of its place.
const MARGIN: f64 = 0.5;
/// The steps of darkness: cells of one step are one shape.
const STEPS: u64 = 20;

/// The positions of all parts of the map.
struct MapLayout {
    /// The left end of the cells, and the room above them.
    corner: f64,
    cell: f64,
    names: Vec<String>,
}

/// Draws the map; nothing where there are no lines.
pub(in crate::cli::report) fn map(found: &Pairs) -> Option<Markup> {
    let count = found.labels.len();
    if found.stats.output.lines == 0 {
        return None;
    }
    let names: Vec<String> = found
        .labels
        .iter()
        .map(|label| fitted(label, NAME))
        .collect();
    let layout = MapLayout {
        corner: names
            .iter()
            .map(|name| width(name))
            .fold(0.0, f64::max)
            .ceil()
            + GAP,
        cell: (NARROW / count as f64).clamp(CELL.0, CELL.1).floor(),
        names,
    };
    let side = layout.corner + layout.cell * count as f64 + GAP;
    let shapes = html! {
        @for row in 0..count { (named(&layout, found, row)) }
        @for step in 1..=STEPS { (cells(&layout, found, step)) }
    };
    let description = format!(
        "A cell for each two of {count} files: the darker it is, the larger the share of the lines of the file of its row \
         that the file of its column has. The table of pairs has the numbers."
    );
    let picture = Picture {
        id: "pairs",
        name: "Shares of the lines of each file that each other file has",
        description: &description,
        size: (side, side),
        is_scrolled: true,
    };
    Some(picture.of(&shapes))
}

/// Draws the name of a file beside its row and above its column, and a band behind every other row.
fn named(layout: &MapLayout, found: &Pairs, file: usize) -> Markup {
    let start = layout.corner + layout.cell * file as f64;
    let middle = start + layout.cell / 2.0;
    let (short, path) = (&layout.names[file], visible(&found.inputs[file]));
    let wide = layout.cell * layout.names.len() as f64;
    html! {
        @if file.is_multiple_of(2) {
            (rectangle((layout.corner, start), (wide, layout.cell), GRID, 0.3, None))
        }
        (text((layout.corner - GAP, middle + MIDDLE), Anchor::End, INK, short, Some(&path)))
        (upright((middle + MIDDLE, layout.corner - GAP), INK, short))
    }
}

/// Draws the cells of all pairs whose share is in this step. That a file has its own lines is no
/// news.
fn cells(layout: &MapLayout, found: &Pairs, step: u64) -> Markup {
    let at = |file: usize| layout.corner + layout.cell * file as f64 + MARGIN;
    let files = 0..layout.names.len();
    let all = files
        .clone()
        .flat_map(|row| files.clone().map(move |column| (row, column)));
    let corners = all
        .filter(|&(row, column)| row != column && step_of(found, row, column) == step)
        .map(|(row, column)| (at(column), at(row)));
    let opacity = step as f64 / STEPS as f64;
    squares(corners, layout.cell - 2.0 * MARGIN, FIRST, opacity)
}

/// Returns the step of the share of a pair, rounded up; 0 without common lines.
fn step_of(found: &Pairs, row: usize, column: usize) -> u64 {
    let part = found.containment(row, column).unwrap_or(0.0);
    (part * STEPS as f64).ceil() as u64
}
