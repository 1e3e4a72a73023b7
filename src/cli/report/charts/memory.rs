//! Memory over time against the limit.
//!
//! *Owns:* the area of resident memory, the line of the limit, and the marks of phases. *Invariants:* the limit is
//! always in the picture. *Cost:* some 15 bytes a sample.

use maud::Markup;
use plotters::element::{PathElement, Text};
use plotters::series::{AreaSeries, DashedLineSeries, LineSeries};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, ShapeStyle};

use super::{FIRST, LIMIT, Lines, SECOND, Scale, axes, builder, ink, svg, tick};
use crate::cli::report::recording::{Recorded, RecordedPhase};

/// Draws the resident size over time, and the limits that were in force.
pub(in crate::cli::report) fn over_time(recorded: &Recorded) -> Option<Markup> {
    if recorded.samples.len() < 2 || recorded.limits.is_empty() {
        return None;
    }
    let resident = recorded.samples.iter().map(|sample| sample.resident_bytes);
    let limits = recorded.limits.iter().map(|limit| limit.limit_bytes);
    let most = resident.chain(limits).max()? as f64;
    let (time, memory) = (Scale::seconds(recorded.seconds), Scale::bytes(most));
    let (end, top) = (time.of(recorded.seconds.max(1e-4)), memory.of(most) * 1.3);
    let samples = recorded.samples.iter().map(|sample| {
        (
            time.of(sample.seconds),
            memory.of(sample.resident_bytes as f64),
        )
    });
    Some(svg(
        "Resident memory over time, and the limit",
        300,
        |area| {
            let mut chart = builder(area).build_cartesian_2d(0.0..end, 0.0..top)?;
            axes(
                &mut chart,
                Lines::Across,
                (&time.title("time since the start"), &tick),
                (&memory.title("memory"), &tick),
            )?;
            for phase in phases(recorded) {
                let at = time.of(phase.began_seconds);
                let mark = [(at, 0.0), (at, top)];
                chart.draw_series([PathElement::new(mark, SECOND.stroke_width(1))])?;
            }
            chart.draw_series(AreaSeries::new(samples.clone(), 0.0, FIRST.mix(0.2)))?;
            chart.draw_series(LineSeries::new(samples.clone(), FIRST.stroke_width(2)))?;
            let style = ShapeStyle::from(LIMIT).stroke_width(2);
            for (from, to, height) in limit_lines(recorded, time, memory) {
                let line = [(from, height), (to, height)];
                chart.draw_series(DashedLineSeries::new(line, 9, 5, style))?;
            }
            let has_room = |phase: &&RecordedPhase| phase.seconds >= recorded.seconds * LEAST_SHARE;
            let numbered = (1..).zip(phases(recorded));
            for (number, phase) in numbered.filter(|(_, phase)| has_room(phase)) {
                let text = ink().color(&SECOND).pos(Pos::new(HPos::Left, VPos::Top));
                let position = (time.of(phase.began_seconds) + end * 0.008, top);
                chart.draw_series([Text::new(number.to_string(), position, text)])?;
            }
            let first = recorded.limits.first().map_or(0, |limit| limit.limit_bytes);
            let text = ink().color(&LIMIT).pos(Pos::new(HPos::Left, VPos::Bottom));
            let position = (end * 0.01, memory.of(first as f64) + top * 0.012);
            chart.draw_series([Text::new("limit", position, text)])?;
            Ok(())
        },
    ))
}

/// With more phases than this, none is marked.
const MOST_PHASES: usize = 20;
/// A phase that takes a smaller share of the time has no room for its number.
const LEAST_SHARE: f64 = 0.05;

/// Returns the phases that the picture marks, in their order; none where that would be too many.
fn phases(recorded: &Recorded) -> &[RecordedPhase] {
    let all = &recorded.phases[..];
    if all.len() > MOST_PHASES { &[] } else { all }
}

/// Returns the beginning and end of each limit, in the units of the axes. The first counts from the beginning, for it
/// was given then.
fn limit_lines(recorded: &Recorded, time: Scale, memory: Scale) -> Vec<(f64, f64, f64)> {
    let limits = &recorded.limits;
    let line = |(number, limit): (usize, &crate::cli::report::recording::Limit)| {
        let from = if number == 0 {
            0.0
        } else {
            limit.began_seconds
        };
        let next = limits.get(number + 1);
        let to = next.map_or(recorded.seconds, |next| next.began_seconds);
        (
            time.of(from),
            time.of(to),
            memory.of(limit.limit_bytes as f64),
        )
    };
    limits.iter().enumerate().map(line).collect()
}
