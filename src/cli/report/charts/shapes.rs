//! Pictures that have no axes, drawn shape by shape.
//!
//! *Owns:* the shapes with their attributes, the frame around them, and how wide a text will be at most.
//! *Invariants:* a shape has a colour of the palette; every text is in the size of the other charts. *Cost:* some
//! 100 bytes a shape.

use std::fmt::Write as _;

use maud::{Markup, html};
use plotters::style::RGBColor;

use super::hex;
use crate::cli::escaping::shortened;

/// The size of text, as the other charts have it.
const TEXT: f64 = 15.2;
/// A text that is lower by this than a point stands with its middle on it.
pub(super) const MIDDLE: f64 = 0.36 * TEXT;
/// No shortened text has fewer characters: less would say nothing.
const LEAST: usize = 6;

/// The width of narrow characters, as a share of the size of text.
const NARROWEST: f64 = 0.42;

/// From where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A point of a picture, in its own units: to the right, and down.
pub(super) type Point = (f64, f64);

/// The description of a picture, for the page and for those who cannot see it.
pub(super) struct Picture<'a> {
    /// The page has no other picture with it.
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    /// The picture's content in words.
    pub(super) description: &'a str,
    /// Width and height.
    pub(super) size: Point,
    /// True if it keeps its size in a narrow window.
    pub(super) is_scrolled: bool,
}

impl Picture<'_> {
    /// Makes the picture with these shapes.
    pub(super) fn of(&self, shapes: &Markup) -> Markup {
        let (width, height) = self.size;
        let description = format!("{}-description", self.id);
        let style = self.is_scrolled.then(|| format!("width:{width}px"));
        html! {
            svg role="img" aria-label=(self.name) aria-describedby=(description) width=(width) height=(height)
                viewBox=(format!("0 0 {width} {height}")) style=[style] xmlns="http://www.w3.org/2000/svg" {
                desc id=(description) { (self.description) }
                (shapes)
            }
        }
    }
}

/// Draws a text, which `whole` says in full where it is shortened.
pub(super) fn text(
    (x, y): Point,
    anchor: Anchor,
    colour: RGBColor,
    text: &str,
    whole: Option<&str>,
) -> Markup {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    html! {
        text x=(tenths(x)) y=(tenths(y)) text-anchor=(anchor) font-size=(TEXT) fill=(hex(colour)) {
            @if let Some(whole) = whole { title { (whole) } }
            (text)
        }
    }
}

/// Draws a text that goes up from a point.
pub(super) fn upright((x, y): Point, colour: RGBColor, text: &str) -> Markup {
    let (x, y) = (tenths(x), tenths(y));
    html! {
        text x=(x) y=(y) transform=(format!("rotate(-90 {x} {y})")) font-size=(TEXT) fill=(hex(colour)) { (text) }
    }
}

/// Draws a rectangle from its upper left corner, so opaque, that shows `description` where it is pointed at.
pub(super) fn rectangle(
    (x, y): Point,
    (width, height): Point,
    colour: RGBColor,
    opacity: f64,
    description: Option<&str>,
) -> Markup {
    html! {
        rect x=(tenths(x)) y=(tenths(y)) width=(tenths(width)) height=(tenths(height)) fill=(hex(colour))
            fill-opacity=(opacity) {
            @if let Some(description) = description { title { (description) } }
        }
    }
}

/// Draws squares of one size from their upper left corners, as one shape.
pub(super) fn squares(
    corners: impl Iterator<Item = Point>,
    side: f64,
    colour: RGBColor,
    opacity: f64,
) -> Markup {
    let (side, mut path) = (tenths(side), String::new());
    for (x, y) in corners {
        // Writing to a string cannot fail.
        let _cannot_fail = write!(path, "M{} {}h{side}v{side}h-{side}z", tenths(x), tenths(y));
    }
    if path.is_empty() {
        return html! {};
    }
    html! { path d=(path) fill=(hex(colour)) fill-opacity=(opacity) {} }
}

/// Draws a full circle.
pub(super) fn dot((x, y): Point, radius: f64, colour: RGBColor) -> Markup {
    html! { circle cx=(tenths(x)) cy=(tenths(y)) r=(radius) fill=(hex(colour)) {} }
}

/// Draws a circle with an edge, through which others are seen.
pub(super) fn ring((x, y): Point, radius: f64, colour: RGBColor) -> Markup {
    let colour = hex(colour);
    html! {
        circle cx=(tenths(x)) cy=(tenths(y)) r=(radius) fill=(colour) fill-opacity="0.14" stroke=(colour)
            stroke-width="2" {}
    }
}

/// Draws a line.
pub(super) fn line(from: Point, to: Point, colour: RGBColor) -> Markup {
    html! {
        line x1=(tenths(from.0)) y1=(tenths(from.1)) x2=(tenths(to.0)) y2=(tenths(to.1)) stroke=(hex(colour))
            stroke-width="3" {}
    }
}

/// Estimates the greatest width of a text in a common font.
pub(super) fn width(text: &str) -> f64 {
    let characters = text.chars().map(|character| match character {
        'i' | 'j' | 'l' | '.' | ',' | '/' | ' ' | '-' => NARROWEST,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
        'A'..='Z' | '…' => 0.8,
        ' '..='~' => 0.65,
        _ => 1.05,
    });
    characters.sum::<f64>() * TEXT
}

/// Returns `text`, shortened until it is no wider than `room`.
pub(super) fn fitted(text: &str, room: f64) -> String {
    let most = (room / (NARROWEST * TEXT)) as usize;
    let lengths = (LEAST..=most.max(LEAST)).rev();
    let mut texts = lengths.map(|most| shortened(text, most, "…"));
    let fits = texts.find(|text| width(text) <= room);
    fits.unwrap_or_else(|| shortened(text, LEAST, "…"))
}

/// Rounds to one decimal place, which is enough to position a shape.
fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shortened_until_it_fits() {
        assert_eq!(fitted("a.txt", 300.0), "a.txt");
        for name in ["W".repeat(300), "長".repeat(40), "a-long-name/".repeat(20)] {
            let fitted = fitted(&name, 180.0);
            assert!(fitted.contains('…') && width(&fitted) <= 180.0, "{fitted}");
        }
        assert_eq!(fitted(&"W".repeat(30), 1.0).chars().count(), LEAST);
    }
}
