//! What a comparison found: its first paragraph, and the numbers of lines.

use maud::{Markup, html};
use outset::compare::Comparison;

use crate::cli::numbers;
use crate::cli::report::figures::{Figures, Unit, grouped};
use crate::cli::report::page::section;
use crate::cli::report::tables::{Named, rows, rows_at};

/// The first paragraph.
pub(super) fn lead(points: &[Comparison]) -> Markup {
    let missing: u64 = points.iter().map(|point| point.missing_lines).sum();
    html! {
        @match points {
            [point] => (lead_of_one(point)),
            points => (lead_of_several(points)),
        }
        @if missing > 0 {
            p.warning { strong { (grouped(missing as f64)) " common lines are missing" } " from the approximate result, which should never happen." }
        }
    }
}

fn lead_of_one(point: &Comparison) -> Markup {
    let (exact, approximate) = (&point.exact.stats, &point.approximate.stats);
    html! {
        p.lead {
            strong { (grouped(exact.output.lines as f64)) " common lines" }
            ", found exactly by " (exact.strategy) " in " (numbers::duration(exact.seconds))
            "; approximately in " (numbers::duration(approximate.seconds)) ", with "
            strong { (grouped(point.false_lines as f64)) " false lines" }
            " among " (grouped(approximate.output.lines as f64))
            " (precision " (numbers::share(point.precision)) "). Both had " (numbers::bytes(point.memory.limit_bytes)) " of memory."
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
    html! {
        p.lead {
            strong { (range(|point| point.exact.stats.output.lines as f64, grouped)) " common lines" }
            ". With " (range(|point| point.memory.limit_bytes as f64, bytes)) " of memory the exact way took "
            (range(|point| point.exact.stats.seconds, numbers::duration)) ", the approximate one "
            (range(|point| point.approximate.stats.seconds, numbers::duration)) ", with "
            strong { (range(|point| point.false_lines as f64, grouped)) " false lines" }
            " (precision " (range(|point| point.precision, numbers::share)) ")."
        }
    }
}

/// The numbers of lines of each point and input.
pub(super) fn results(figures: &Figures, bases: &[String]) -> Markup {
    let found: &[Named] = &[
        ("memory limit", "/memory/limit_bytes", Unit::Bytes),
        ("common lines", "/exact/output/lines", Unit::Count),
        (
            "approximate result",
            "/approximate/output/lines",
            Unit::Count,
        ),
        ("false lines", "/false_lines", Unit::Count),
        ("missing lines", "/missing_lines", Unit::Count),
        ("precision", "/precision", Unit::Rate),
        (
            "could pass by mistake, about",
            "/could_pass_lines/estimate",
            Unit::Count,
        ),
        ("at least", "/could_pass_lines/low", Unit::Count),
        ("at most", "/could_pass_lines/high", Unit::Count),
    ];
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
    let different = rows(
        figures,
        "Distinct lines of each input",
        &format!("{first}/different_lines"),
        &[
            ("about", "/estimate", Unit::Count),
            ("at least", "/low", Unit::Count),
            ("at most", "/high", Unit::Count),
        ],
    );
    let content = html! {
        (rows_at(figures, "What was found", bases, found))
        div.pair { div { (inputs) } div { (different) } }
    };
    let text = "A false line is in the approximate result but not in the exact one. The lines that could pass by mistake \
                are the distinct lines of the input that was checked against the filter, minus the common ones.";
    section("Results", text, &content)
}
