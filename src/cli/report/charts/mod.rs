//! Pictures: `plotters` draws charts with axes as SVG, [`shapes`] those without; the page gives them their colours.
//!
//! *Owns:* the palette, the frame that every chart has, and scales with human units; the charts
//! themselves are in [`timeline`], [`memory`], [`buckets`], [`curves`], [`upset`], [`venn`] and
//! [`heat_map`].
//!
//! *Invariants:* a chart has no colour outside of the [`PALETTE`], so that the page's style sheet,
//! which is made from the same list, can exchange each for that of dark mode; series differ in form
//! as well as in colour; texts from outside were made harmless before they come here. *Cost:* 10 to
//! 60 KiB a chart.

pub(super) mod buckets;
pub(super) mod curves;
pub(super) mod heat_map;
pub(super) mod memory;
mod shapes;
pub(super) mod timeline;
pub(super) mod upset;
pub(super) mod venn;

use std::error::Error;
use std::fmt::Write as _;

use maud::{Markup, PreEscaped, Render, html};
use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::style::{Color, FontTransform, IntoFont, RGBColor, TextStyle};

use crate::cli::escaping::visible;

/// The width of every chart with axes, in its own units: text of [`TEXT`] is readable when this fills a window of 400
/// pixels as well as when it is half of a wide one.
const WIDTH: u32 = 480;
/// The size of text; the backend makes a font of 4/5 of it.
const TEXT: i32 = 19;

/// The area that a chart is drawn in.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// The outcome of drawing.
type Drawn = Result<(), Box<dyn Error>>;

/// A colour, with its name in the style sheet and its value in dark mode.
struct Paint {
    name: &'static str,
    light: RGBColor,
    dark: RGBColor,
}

const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xff);
const INK: RGBColor = RGBColor(0x1f, 0x23, 0x28);
const MUTED: RGBColor = RGBColor(0x59, 0x63, 0x6e);
const GRID: RGBColor = RGBColor(0xd1, 0xd9, 0xe0);
const FIRST: RGBColor = RGBColor(0x05, 0x50, 0xae);
const SECOND: RGBColor = RGBColor(0xa0, 0x41, 0x00);
const LIMIT: RGBColor = RGBColor(0xb3, 0x1d, 0x28);

/// All colours.
const PALETTE: [Paint; 7] = [
    Paint {
        name: "paper",
        light: PAPER,
        dark: RGBColor(0x0d, 0x11, 0x17),
    },
    Paint {
        name: "ink",
        light: INK,
        dark: RGBColor(0xe6, 0xed, 0xf3),
    },
    Paint {
        name: "muted",
        light: MUTED,
        dark: RGBColor(0xa3, 0xac, 0xb6),
    },
    Paint {
        name: "grid",
        light: GRID,
        dark: RGBColor(0x3d, 0x44, 0x4d),
    },
    Paint {
        name: "first",
        light: FIRST,
        dark: RGBColor(0x79, 0xc0, 0xff),
    },
    Paint {
        name: "second",
        light: SECOND,
        dark: RGBColor(0xff, 0xa6, 0x57),
    },
    Paint {
        name: "limit",
        light: LIMIT,
        dark: RGBColor(0xff, 0x8f, 0x86),
    },
];

/// Writes the style sheet's part about colours: a variable for each, and charts that take theirs from them.
pub(super) fn colours() -> String {
    let mut sheet = ":root{".to_owned();
    let mut dark = "@media screen and (prefers-color-scheme:dark){:root{".to_owned();
    let mut charts = String::new();
    for paint in &PALETTE {
        let (name, light) = (paint.name, hex(paint.light));
        // Writing to a string cannot fail.
        let _cannot_fail = write!(sheet, "--{name}:{light};")
            .and_then(|()| write!(dark, "--{name}:{};", hex(paint.dark)))
            .and_then(|()| {
                write!(
                    charts,
                    "svg [fill=\"{light}\"]{{fill:var(--{name})}}svg [stroke=\"{light}\"]{{stroke:var(--{name})}}"
                )
            });
    }
    format!("{sheet}}}\n{dark}}}}}\n{charts}\n")
}

/// Formats a colour as it stands in an attribute.
fn hex(colour: RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2)
}

/// Draws a chart of this height; `title` is what it shows, for those who cannot see it.
fn svg(title: &str, height: u32, draw: impl FnOnce(&Area) -> Drawn) -> Markup {
    let mut text = String::new();
    let drawn = {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        draw(&area).and_then(|()| area.present().map_err(Into::into))
    };
    if let Err(error) = drawn {
        return html! { p.absent { "This chart could not be drawn (" (visible(&error.to_string())) ")." } };
    }
    // The backend offers no way to add to the element itself.
    let named = format!("<svg role=\"img\" aria-label=\"{}\" ", title.render().0);
    PreEscaped(text.replacen("<svg ", &named, 1))
}

/// Sets a chart's margins and the room for its axes.
fn builder<'a, 'b>(area: &'a Area<'b>) -> ChartBuilder<'a, 'b, SVGBackend<'b>> {
    let mut builder = ChartBuilder::on(area);
    builder
        .margin_top(12)
        .margin_right(28)
        .margin_left(4)
        .margin_bottom(4)
        .x_label_area_size(56)
        .y_label_area_size(84);
    builder
}

/// The lines that go through a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines {
    /// None, and no numbers at the vertical axis.
    None,
    /// From left to right.
    Across,
    /// Both ways.
    Both,
}

/// The title of an axis and the form of its numbers.
type Axis<'a> = (&'a str, &'a dyn Fn(&f64) -> String);

/// Draws the axes with their titles and units.
fn axes<X, Y>(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<X, Y>>,
    lines: Lines,
    x: Axis,
    y: Axis,
) -> Drawn
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut mesh = chart.configure_mesh();
    match lines {
        Lines::None => mesh.disable_mesh().y_labels(0),
        Lines::Across => mesh.disable_x_mesh().y_labels(6).y_desc(y.0),
        Lines::Both => mesh.y_labels(6).y_desc(y.0),
    };
    mesh.x_labels(6)
        .light_line_style(GRID.mix(0.0))
        .bold_line_style(GRID)
        .axis_style(MUTED)
        .label_style(muted())
        .axis_desc_style(ink())
        .x_label_formatter(x.1)
        .y_label_formatter(y.1)
        .x_desc(x.0)
        .draw()
        .map_err(Into::into)
}

/// Returns the style of text in the colour of text.
fn ink() -> TextStyle<'static> {
    ("sans-serif", TEXT).into_font().color(&INK)
}

/// Returns the style of text that stands back.
fn muted() -> TextStyle<'static> {
    ("sans-serif", TEXT - 1)
        .into_font()
        .transform(FontTransform::None)
        .color(&MUTED)
}

/// A unit in which the numbers of an axis are small.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scale {
    /// The unit in bytes, seconds, ....
    factor: f64,
    unit: &'static str,
}

impl Scale {
    /// Makes the scale for sizes up to `most` bytes.
    fn bytes(most: f64) -> Self {
        const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
        Self::powers(most, 1024.0, &UNITS)
    }

    /// Makes the scale for counts up to `most`.
    fn counts(most: f64) -> Self {
        if most < 10_000.0 {
            return Self {
                factor: 1.0,
                unit: "",
            };
        }
        Self::powers(most, 1000.0, &["", "thousand", "million", "billion"])
    }

    fn powers(most: f64, step: f64, units: &[&'static str]) -> Self {
        let mut scale = Self {
            factor: 1.0,
            unit: "",
        };
        for unit in units {
            let factor = if *unit == units[0] {
                1.0
            } else {
                scale.factor * step
            };
            if factor > 1.0 && most < factor * 2.0 {
                break;
            }
            scale = Self { factor, unit };
        }
        scale
    }

    /// Makes the scale for times up to `most` seconds.
    fn seconds(most: f64) -> Self {
        let (factor, unit) = match most {
            s if s < 1.0 => (1e-3, "ms"),
            s if s < 200.0 => (1.0, "s"),
            s if s < 12_000.0 => (60.0, "min"),
            _ => (3600.0, "h"),
        };
        Self { factor, unit }
    }

    fn of(self, value: f64) -> f64 {
        value / self.factor
    }

    /// Returns the title of an axis with this scale.
    fn title(self, what: &str) -> String {
        if self.unit.is_empty() {
            what.to_owned()
        } else {
            format!("{what} ({})", self.unit)
        }
    }
}

/// A number on an axis: no more digits than it needs.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "what formats the numbers of an axis takes them so"
)]
fn tick(value: &f64) -> String {
    let text = format!("{value:.3}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" {
        "0".to_owned()
    } else {
        short.to_owned()
    }
}
