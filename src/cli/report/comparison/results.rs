//! The findings of a comparison: its first paragraph, and the numbers of lines.

use maud::{Markup, html};
use outset::compare::{Comparison, Mistake};

use crate::cli::compare::words::{Words, broken_promises};
use crate::cli::numbers;
use crate::cli::report::figures::{Figures, Unit, grouped};
use crate::cli::report::page::section;
use crate::cli::report::tables::{Named, folded, rows, rows_at};

/// Writes the first paragraph.
pub(super) fn lead(points: &[Comparison]) -> Markup {
    let broken: u64 = points.iter().map(broken_promises).sum();
    let words = Words::of_all(points);
    html! {
        @match points {
            [point] => (lead_of_one(point)),
            points => (lead_of_several(points)),
        }
        @if broken > 0 {
            p.warning { strong { (grouped(broken as f64)) " " (words.never) } " in the approximate result, which should never happen." }
        }
    }
}

fn lead_of_one(point: &Comparison) -> Markup {
    let (exact, approximate) = (&point.exact.stats, &point.approximate.stats);
    let words = Words::of(point.mistake);
    html! {
        p.lead {
            strong { (grouped(exact.output.lines as f64)) " " (words.exact_lines) }
            ", found exactly by " (exact.strategy) " in " (numbers::duration(exact.seconds))
            "; approximately in " (numbers::duration(approximate.seconds)) ", with "
            strong { (grouped(point.mistakes() as f64)) " " (point.mistake.name()) }
            @match point.mistake {
                Mistake::FalseLines => { " among " (grouped(approximate.output.lines as f64)) }
                Mistake::MissingLines | Mistake::LostLines => {}
            }
            " (" (words.quality) " " (numbers::share(point.quality())) "). Both had " (numbers::bytes(point.memory.limit_bytes)) " of memory."
        }
    }
}

fn lead_of_several(points: &[Comparison]) -> Markup {
    let range = |figure: fn(&Comparison) -> f64, text: fn(f64) -> String| {
        let least = points.iter().map(figure).fold(f64::MAX, f64::min);
        let most = points.iter().map(figure).fold(0.0, f64::max);
        match (text(least), text(most)) {
            (least, most) if least == most => most,
            (least, most) => format!("{least} to {most}"),
        }
    };
    let bytes = |bytes: f64| numbers::bytes(bytes as u64);
    let words = Words::of_all(points);
    let mistakes = points.first().map_or("", |point| point.mistake.name());
    html! {
        p.lead {
            strong { (range(|point| point.exact.stats.output.lines as f64, grouped)) " " (words.exact_lines) }
            ". With " (range(|point| point.memory.limit_bytes as f64, bytes)) " of memory the exact way took "
            (range(|point| point.exact.stats.seconds, numbers::duration)) ", the approximate one "
            (range(|point| point.approximate.stats.seconds, numbers::duration)) ", with "
            strong { (range(|point| point.mistakes() as f64, grouped)) " " (mistakes) }
            " (" (words.quality) " " (range(Comparison::quality, numbers::share)) ")."
        }
    }
}

/// Writes the numbers of lines of each point and input.
pub(super) fn results(figures: &Figures, bases: &[String], points: &[Comparison]) -> Markup {
    let words = Words::of_all(points);
    let mistake = points
        .first()
        .map_or(Mistake::FalseLines, |point| point.mistake);
    let quality = format!("/{}", words.quality);
    let found: &[Named] = &[
        ("memory limit", "/memory/limit_bytes", Unit::Bytes),
        (words.exact_lines, "/exact/output/lines", Unit::Count),
        (
            "approximate result",
            "/approximate/output/lines",
            Unit::Count,
        ),
        ("false lines", "/false_lines", Unit::Count),
        ("missing lines", "/missing_lines", Unit::Count),
        (words.quality, &quality, Unit::Rate),
    ];
    let content = html! {
        @match mistake {
            Mistake::FalseLines => {
                (rows_at(figures, "What was found", bases, &[found, COULD_PASS].concat()))
            }
            Mistake::MissingLines | Mistake::LostLines => {
                (rows_at(figures, "What was found", bases, &[found, EXPECTED].concat()))
            }
        }
        (inputs(figures, bases, mistake))
    };
    let text = match mistake {
        Mistake::FalseLines => {
            "A false line is in the approximate result but not in the exact one. The lines that could pass by mistake \
             are the distinct lines of the input that was checked against the filter, minus the common ones."
        }
        Mistake::MissingLines => {
            "A missing line is in the exact result but not in the approximate one, because the filter of the other \
             inputs let it pass by mistake. That could be any line of the exact result."
        }
        Mistake::LostLines => {
            "A missing line is in the exact result but not in the approximate one, because the filter took it for one of \
             the lines before it. The filter fills up while it is asked, so this happens more often to the last lines \
             than to the first."
        }
    };
    section("Results", text, &content)
}

/// The figures of the lines that could be false lines.
const COULD_PASS: &[Named] = &[
    (
        "could pass by mistake, about",
        "/could_pass_lines/estimate",
        Unit::Count,
    ),
    ("at least", "/could_pass_lines/low", Unit::Count),
    ("at most", "/could_pass_lines/high", Unit::Count),
];

/// The number of lines that are missing, as the run expected from the fill of its filter.
const EXPECTED: &[Named] = &[(
    "expected to be missing",
    "/approximate/filter/expected_missing_lines",
    Unit::Count,
)];

/// A number of lines and its bounds.
const BOUNDS: &[Named] = &[
    ("about", "/estimate", Unit::Count),
    ("at least", "/low", Unit::Count),
    ("at most", "/high", Unit::Count),
];

/// Writes the inputs of the point at `base`, each with the number of its distinct lines.
fn distinct_lines(figures: &Figures, base: &str) -> Markup {
    const CAPTION: &str = "Distinct lines of each input";
    let count = figures.count(&format!("{base}/different_lines"));
    let table = html! {
        table {
            caption { (CAPTION) }
            thead { tr {
                th.text scope="col" { "path" }
                @for (title, _, unit) in BOUNDS { th class=(unit.class()) scope="col" { (title) } }
            } }
            tbody {
                @for row in 0..count {
                    tr {
                        (figures.cell(&format!("{base}/exact/inputs/{row}/path"), Unit::Text))
                        @for (_, field, unit) in BOUNDS {
                            (figures.cell(&format!("{base}/different_lines/{row}{field}"), *unit))
                        }
                    }
                }
            }
        }
    };
    folded(CAPTION, count, &table)
}

/// Writes the inputs, and the numbers of their distinct lines.
fn inputs(figures: &Figures, bases: &[String], mistake: Mistake) -> Markup {
    let first = bases.first().map_or("", String::as_str);
    let inputs = rows(
        figures,
        "Inputs",
        &format!("{first}/exact/inputs"),
        &[
            ("path", "/path", Unit::Text),
            ("bytes", "/bytes", Unit::Bytes),
            ("lines, repeats included", "/lines", Unit::Count),
        ],
    );
    let distinct = match mistake {
        Mistake::FalseLines => distinct_lines(figures, first),
        Mistake::MissingLines | Mistake::LostLines => {
            let base = format!("{first}/filter_lines");
            let known: Vec<String> = figures
                .get(&base)
                .map(|_| base.clone())
                .into_iter()
                .collect();
            rows_at(figures, "Distinct lines in the filter", &known, BOUNDS)
        }
    };
    html! { div.tables { div { (inputs) } div { (distinct) } } }
}
