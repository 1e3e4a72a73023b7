//! The combinations of two or three files, as circles that overlap.
//!
//! *Owns:* where the circles are, and the number of each of their parts. *Invariants:* every part has its number, 0
//! too; the circles are always of one size, so that each part has room for a number. *Cost:* 2 KiB.

use maud::{Markup, html};
use outset::Overlaps;
use plotters::style::RGBColor;

use super::shapes::{Anchor, MIDDLE, Picture, Point, fitted, ring, text};
use super::{FIRST, INK, LIMIT, SECOND};
use crate::cli::escaping::visible;
use crate::cli::numbers::grouped;

const RADIUS: f64 = 150.0;
/// The colours of the circles.
const COLOURS: [RGBColor; 3] = [FIRST, SECOND, LIMIT];
/// The room beside the edge of the picture.
const MARGIN: f64 = 6.0;

/// The width of the picture.
const WIDTH: f64 = 640.0;

/// Circles, and the parts that they make.
struct Circles {
    /// Their middles.
    middles: &'static [Point],
    /// The middles of the names, under their lines.
    names: &'static [Point],
    /// The middle of each part, by the digits of its combination.
    parts: &'static [(&'static str, Point)],
    height: f64,
}

const TWO: Circles = Circles {
    middles: &[(235.0, 190.0), (405.0, 190.0)],
    names: &[(WIDTH / 4.0, 22.0), (WIDTH * 0.75, 22.0)],
    parts: &[
        ("10", (165.0, 190.0)),
        ("01", (475.0, 190.0)),
        ("11", (320.0, 190.0)),
    ],
    height: 346.0,
};

const THREE: Circles = Circles {
    middles: &[(235.0, 190.0), (405.0, 190.0), (320.0, 337.0)],
    names: &[
        (WIDTH / 4.0, 22.0),
        (WIDTH * 0.75, 22.0),
        (WIDTH / 2.0, 510.0),
    ],
    parts: &[
        ("100", (165.0, 160.0)),
        ("010", (475.0, 160.0)),
        ("001", (320.0, 410.0)),
        ("110", (320.0, 130.0)),
        ("101", (226.0, 282.0)),
        ("011", (414.0, 282.0)),
        ("111", (320.0, 236.0)),
    ],
    height: 522.0,
};

/// Draws the circles of two or three files; nothing for another number of them, or where there are no lines.
pub(in crate::cli::report) fn circles(found: &Overlaps) -> Option<Markup> {
    let circles = match found.inputs.len() {
        2 => TWO,
        3 => THREE,
        _ => return None,
    };
    if found.combinations.is_empty() {
        return None;
    }
    let shapes = html! {
        @for (middle, colour) in circles.middles.iter().zip(COLOURS) {
            (ring(*middle, RADIUS, colour))
        }
        @for (point, ((label, path), colour)) in circles.names.iter().zip(found.labels.iter().zip(&found.inputs).zip(COLOURS)) {
            @let room = WIDTH / 2.0 - 2.0 * MARGIN;
            (text(*point, Anchor::Middle, colour, &fitted(label, room), Some(&visible(path))))
        }
        @for &(which, (x, y)) in circles.parts {
            (text((x, y + MIDDLE), Anchor::Middle, INK, &grouped(lines(found, which)), None))
        }
    };
    let description = "A circle for each file; each part has the number of distinct lines that the files of its circles have, and \
                no other. The table of combinations has these numbers.";
    let picture = Picture {
        id: "venn",
        name: "Distinct lines of each combination, as circles of files",
        description,
        size: (WIDTH, circles.height),
        is_scrolled: false,
    };
    Some(picture.of(&shapes))
}

/// Returns the number of lines of a combination.
fn lines(found: &Overlaps, which: &str) -> u64 {
    let mut combinations = found.combinations.iter();
    let combination = combinations.find(|combination| combination.which() == which);
    combination.map_or(0, |combination| combination.lines)
}
