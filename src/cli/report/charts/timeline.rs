//! The time of each phase, and the bytes that were read meanwhile.
//!
//! *Owns:* the bars and the throughput. *Invariants:* a bar's text stands above it, so it fits
//! whatever the bar's length. *Cost:* 300 bytes a phase.

use maud::Markup;
use plotters::element::{PathElement, Rectangle, Text};
use plotters::series::LineSeries;
use plotters::style::{Color, ShapeStyle};

use super::{Drawn, FIRST, Lines, SECOND, Scale, axes, builder, ink, svg, tick};
use crate::cli::escaping::shortened;
use crate::cli::numbers;
use crate::cli::report::recording::{Recorded, RecordedPhase};
use crate::cli::report::samples::Throughput;

/// A stretch of time with a text.
struct Bar {
    text: String,
    from: f64,
    to: f64,
}

/// With more phases than this, a picture has a bar for each run and not for each phase.
const MOST_BARS: usize = 20;
/// The height of a bar with its text.
const ROW: u32 = 48;

/// Bars from the beginning to the end of each phase.
pub(in crate::cli::report) fn phases(recorded: &Recorded) -> Option<Markup> {
    if recorded.phases.is_empty() {
        return None;
    }
    let bars = if recorded.phases.len() <= MOST_BARS {
        let phases = recorded.phases.iter();
        phases.map(|phase| bar(phase, recorded.seconds)).collect()
    } else {
        runs(recorded)
    };
    let scale = Scale::seconds(recorded.seconds);
    let height = 76 + ROW * bars.len() as u32;
    Some(svg("When each phase ran", height, |area| {
        let end = scale.of(recorded.seconds.max(1e-4));
        let mut chart = builder(area)
            .y_label_area_size(12)
            .build_cartesian_2d(0.0..end, bars.len() as f64..0.0)?;
        axes(
            &mut chart,
            Lines::None,
            (&scale.title("time since the start"), &tick),
            ("", &tick),
        )?;
        for (number, bar) in bars.iter().enumerate() {
            let (row, width) = (number as f64, end * 0.004);
            let (from, to) = (scale.of(bar.from), scale.of(bar.to));
            let body = [(from, row + 0.68), (to.max(from + width), row + 0.94)];
            chart.draw_series([Rectangle::new(body, FIRST.filled())])?;
            let position = (end * 0.004, row + 0.26);
            chart.draw_series([Text::new(bar.text.clone(), position, ink())])?;
        }
        Ok(())
    }))
}

fn bar(phase: &RecordedPhase, end: f64) -> Bar {
    let part = if phase.part.is_empty() {
        String::new()
    } else {
        format!("{}: ", shortened(&phase.part, 12, "…"))
    };
    let name = shortened(&phase.name, 20, "…");
    let figures = match phase.ended_seconds {
        Some(_) => format!(
            "{}, {}/s",
            numbers::duration(phase.seconds),
            numbers::bytes(phase.bytes_per_second as u64)
        ),
        None => "restarted".to_owned(),
    };
    Bar {
        text: format!("{part}{name} – {figures}"),
        from: phase.began_seconds,
        to: phase.ended_seconds.unwrap_or(end).max(phase.began_seconds),
    }
}

/// Makes a bar for each run of phases with the same part, or one for all that are too many.
fn runs(recorded: &Recorded) -> Vec<Bar> {
    let phases = &recorded.phases;
    let mut bars: Vec<Bar> = phases
        .chunk_by(|one, next| one.part == next.part)
        .map(|run| {
            let from = run.first().map_or(0.0, |phase| phase.began_seconds);
            let ends = run.iter().filter_map(|phase| phase.ended_seconds);
            let to = ends.fold(from, f64::max);
            let bytes: u64 = run.iter().map(|phase| phase.bytes_read).sum();
            let rate = numbers::bytes((bytes as f64 / (to - from).max(1e-6)) as u64);
            let part = run.first().map_or("", |phase| phase.part.as_str());
            let name = if part.is_empty() { "all" } else { part };
            let (name, count) = (shortened(name, 16, "…"), run.len());
            Bar {
                text: format!(
                    "{name}, {count} phases – {}, {rate}/s",
                    numbers::duration(to - from)
                ),
                from,
                to,
            }
        })
        .collect();
    bars.truncate(MOST_BARS * 3);
    bars
}

/// Bytes read per second over time, with a line where each phase begins.
pub(in crate::cli::report) fn throughput(recorded: &Recorded) -> Option<Markup> {
    let parts = &recorded.throughput;
    let most = parts.iter().map(|part| part.bytes_per_second);
    let most = most.fold(0.0, f64::max);
    if most == 0.0 {
        return None;
    }
    let (time, rate) = (Scale::seconds(recorded.seconds), Scale::bytes(most));
    let draw = |area: &super::Area| -> Drawn {
        let (end, top) = (time.of(recorded.seconds), rate.of(most) * 1.08);
        let mut chart = builder(area).build_cartesian_2d(0.0..end, 0.0..top)?;
        axes(
            &mut chart,
            Lines::Across,
            (&time.title("time since the start"), &tick),
            (&rate.title("read per second"), &tick),
        )?;
        for part in parts {
            let corner = (time.of(part.from_seconds), rate.of(part.bytes_per_second));
            let body = [(corner.0, 0.0), (time.of(part.to_seconds), corner.1)];
            chart.draw_series([Rectangle::new(body, FIRST.mix(0.2).filled())])?;
        }
        let outline = parts.iter().flat_map(|part: &Throughput| {
            let height = rate.of(part.bytes_per_second);
            [part.from_seconds, part.to_seconds].map(|at| (time.of(at), height))
        });
        chart.draw_series(LineSeries::new(outline, FIRST.stroke_width(2)))?;
        let mark = ShapeStyle::from(SECOND).stroke_width(1);
        let begins = recorded
            .phases
            .iter()
            .filter(|_| recorded.phases.len() <= MOST_BARS);
        for phase in begins {
            let at = time.of(phase.began_seconds);
            chart.draw_series([PathElement::new([(at, top), (at, top * 0.95)], mark)])?;
        }
        Ok(())
    };
    Some(svg("Bytes read per second over time", 300, draw))
}
