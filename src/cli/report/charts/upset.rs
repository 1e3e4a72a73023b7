//! The combinations of files with the most lines, as an UpSet plot.
//!
//! *Owns:* the bars of combinations, the matrix of dots under them, the bars of the files beside it, and where they
//! are. *Invariants:* no more than [`MOST`] combinations are drawn, those with the most lines; every bar stands beside
//! its number. *Cost:* 3 KiB a combination of 16 files.
//!
//! *Sources:* Lex, Gehlenborg, Strobelt, Vuillemot, Pfister, "UpSet: visualization of intersecting sets", IEEE TVCG
//! 20(12), 2014.

use maud::{Markup, html};
use outset::{Combination, Overlaps};

use super::shapes::{
    Anchor, MIDDLE, Picture, Point, dot, fitted, line, rectangle, text, upright, width,
};
use super::{FIRST, GRID, INK, MUTED, SECOND};
use crate::cli::escaping::{shortened, visible};
use crate::cli::numbers::grouped;

/// More combinations are not drawn: nobody would count columns further.
pub(in crate::cli::report) const MOST: usize = 40;
/// The height of a row of the matrix.
const ROW: f64 = 26.0;
/// The height of the longest bar of a combination.
const TALLEST: f64 = 200.0;
/// The length of the longest bar of a file.
const LONGEST: f64 = 110.0;
/// The width of a column: a number stands upright in the narrowest, and in the widest there is no need for more.
const COLUMN: (f64, f64) = (22.0, 44.0);
/// The most room for the name of a file.
const NAME: f64 = 190.0;
/// A plot of few combinations is no wider than this, and then stands beside another picture.
const NARROW: f64 = 580.0;
/// The room between things.
const GAP: f64 = 10.0;
/// A bar stays visible however few lines it stands for.
const THINNEST: f64 = 1.0;

/// The positions of all parts of the plot.
struct PlotLayout {
    /// The right ends of the names of files, and the left ends of their bars: in a narrow window what matters least
    /// goes first.
    names_end: f64,
    bars_start: f64,
    /// The width of a column.
    column: f64,
    /// The height at which the bars of combinations stand.
    ground: f64,
    /// The whole picture.
    size: Point,
}

impl PlotLayout {
    fn of(found: &Overlaps, names: &[String], lines: &[u64]) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = f64>| texts.fold(0.0, f64::max);
        let of_files = widest(&mut lines.iter().map(|&lines| width(&grouped(lines))));
        let of_names = widest(&mut names.iter().map(|name| width(name)));
        let drawn = drawn(found);
        let of_combinations = widest(&mut drawn.iter().map(|c| width(&grouped(c.lines))));
        let names_end = of_names;
        let left = names_end + GAP;
        let beside = GAP + LONGEST + GAP / 2.0 + of_files;
        let column = (NARROW - left - beside) / drawn.len() as f64;
        let column = column.clamp(COLUMN.0, COLUMN.1).floor();
        let ground = of_combinations + GAP + TALLEST;
        let bars_start = left + column * drawn.len() as f64 + GAP;
        let right = bars_start - GAP + beside;
        let bottom = ground + GAP + ROW * names.len() as f64 + GAP;
        Self {
            names_end,
            bars_start,
            column,
            ground,
            size: (right.ceil(), bottom.ceil()),
        }
    }

    /// Returns the middle of a column.
    fn x(&self, column: usize) -> f64 {
        self.names_end + GAP + self.column * (column as f64 + 0.5)
    }

    /// Returns the middle of a row.
    fn y(&self, row: usize) -> f64 {
        self.ground + GAP + ROW * (row as f64 + 0.5)
    }
}

/// Draws the plot; `lines` are the distinct lines of each file.
pub(in crate::cli::report) fn plot(found: &Overlaps, lines: &[u64]) -> Option<Markup> {
    let largest = found.combinations.first()?;
    let names: Vec<String> = found.labels.iter().map(|name| fitted(name, NAME)).collect();
    let layout = PlotLayout::of(found, &names, lines);
    let shapes = html! {
        (files(&layout, found, &names, lines))
        @for (column, combination) in drawn(found).iter().enumerate() {
            (bar(&layout, column, combination, largest.lines, &names_of(found, combination)))
            (dots(&layout, column, combination, names.len()))
        }
    };
    let description = format!(
        "Bars of the distinct lines of {} combinations of {} files, largest first. The largest has {} lines, which only \
         these files have: {}. The table of combinations has every number.",
        drawn(found).len(),
        names.len(),
        grouped(largest.lines),
        names_of(found, largest)
    );
    let picture = Picture {
        id: "upset",
        name: "Distinct lines of each combination of files",
        description: &description,
        size: layout.size,
        is_scrolled: true,
    };
    Some(picture.of(&shapes))
}

fn drawn(found: &Overlaps) -> &[Combination] {
    let all = &found.combinations;
    all.get(..MOST).unwrap_or(all)
}

/// Draws a row for each file: its number of lines, their bar, its name, and a band behind every other one.
fn files(layout: &PlotLayout, found: &Overlaps, names: &[String], lines: &[u64]) -> Markup {
    let most = lines.iter().copied().max().unwrap_or(0);
    html! {
        @for (row, ((short, name), &lines)) in names.iter().zip(&found.inputs).zip(lines).enumerate() {
            @let (y, name) = (layout.y(row), visible(name));
            @if row % 2 == 0 {
                (rectangle((0.0, y - ROW / 2.0), (layout.size.0, ROW), GRID, 0.3, None))
            }
            @let length = length(lines, most, LONGEST);
            @let end = layout.bars_start + length;
            @let description = format!("{name}: {} distinct lines", grouped(lines));
            (rectangle((layout.bars_start, y - 7.0), (length, 14.0), SECOND, 1.0, Some(&description)))
            (text((end + GAP / 2.0, y + MIDDLE), Anchor::Start, MUTED, &grouped(lines), None))
            (text((layout.names_end, y + MIDDLE), Anchor::End, INK, short, Some(&name)))
        }
    }
}

/// Draws the bar of a combination, with its number upon it.
fn bar(
    layout: &PlotLayout,
    column: usize,
    combination: &Combination,
    most: u64,
    names: &str,
) -> Markup {
    let (x, height) = (layout.x(column), length(combination.lines, most, TALLEST));
    let (top, lines) = (layout.ground - height, grouped(combination.lines));
    let thick = (layout.column * 0.7).round();
    let description = format!("{lines} lines that only these files have: {names}");
    let corner = (x - thick / 2.0, top);
    html! {
        (rectangle(corner, (thick, height), FIRST, 1.0, Some(&description)))
        (upright((x + MIDDLE, top - GAP / 2.0), INK, &lines))
    }
}

/// Draws a dot for each file, strong where it is in the combination, and a line through those.
fn dots(layout: &PlotLayout, column: usize, combination: &Combination, files: usize) -> Markup {
    let point = |row: &usize| (layout.x(column), layout.y(*row));
    let (its, others): (Vec<usize>, Vec<usize>) = (0..files).partition(|&row| combination.has(row));
    html! {
        @for row in &others { (dot(point(row), 5.0, GRID)) }
        @if let [first, .., last] = its.as_slice() { (line(point(first), point(last), INK)) }
        @for row in &its { (dot(point(row), 6.5, INK)) }
    }
}

/// Returns the length of the bar for `lines` lines, where the bar for `most` lines is `longest`.
fn length(lines: u64, most: u64, longest: f64) -> f64 {
    match lines {
        0 => 0.0,
        lines => (lines as f64 / most as f64 * longest).max(THINNEST),
    }
}

/// The most characters of a name, where there are several in one text.
const LONGEST_NAME: usize = 40;

/// Lists the files of a combination; long names are shortened.
pub(in crate::cli::report) fn names_of(found: &Overlaps, combination: &Combination) -> String {
    let labels = found.labels.iter().enumerate();
    let its = labels.filter(|&(input, _)| combination.has(input));
    let names: Vec<String> = its
        .map(|(_, name)| shortened(name, LONGEST_NAME, "…"))
        .collect();
    names.join(", ")
}
