//! The use of memory: the false-positive rate and the time, over the memory.
//!
//! *Owns:* the two curves of a comparison. *Invariants:* memory is on a scale of powers of two, rates
//! on one of powers of ten; a rate of 0, which such a scale does not have, is at its lower edge; one
//! point alone has room to both sides. *Cost:* 200 bytes a point.

use maud::Markup;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::{Circle, Cross, PathElement, TriangleMarker};
use plotters::series::{DashedLineSeries, LineSeries};
use plotters::style::{Color, ShapeStyle};

use super::{Area, Drawn, FIRST, Lines, SECOND, Scale, axes, builder, svg, tick};
use crate::cli::numbers;

/// The rate that was measured with so much memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cli::report) struct MeasuredRate {
    /// The memory that counts.
    pub(in crate::cli::report) memory_bytes: u64,
    /// The rate, the least that it can be, and the most.
    pub(in crate::cli::report) rate: f64,
    pub(in crate::cli::report) low: f64,
    pub(in crate::cli::report) high: f64,
}

/// The times of both ways with so much memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cli::report) struct MeasuredTime {
    /// The memory that counts.
    pub(in crate::cli::report) memory_bytes: u64,
    pub(in crate::cli::report) exact_seconds: f64,
    pub(in crate::cli::report) approximate_seconds: f64,
}

/// Draws the predicted rate as a line, the measured ones as points with their bounds; `what` names the memory.
pub(in crate::cli::report) fn rates(
    what: &str,
    predicted: &[(u64, f64)],
    measured: &[MeasuredRate],
) -> Option<Markup> {
    let memory = predicted.iter().map(|point| point.0);
    let x = Octaves::of(memory.chain(measured.iter().map(|point| point.memory_bytes)))?;
    let rates = predicted.iter().map(|point| point.1);
    let y = Decades::of(rates.chain(measured.iter().flat_map(|point| [point.rate, point.high])));
    let draw = |area: &Area| -> Drawn {
        let mut chart = builder(area).build_cartesian_2d(x.axis(), y.axis())?;
        axes(
            &mut chart,
            Lines::Both,
            (what, &|x| Octaves::label(*x)),
            ("false-positive rate", &|y| rate_tick(10f64.powf(*y))),
        )?;
        let points = predicted.iter();
        let line = points.map(|point| (position(point.0), y.position(point.1)));
        chart.draw_series(LineSeries::new(line.clone(), FIRST.stroke_width(2)))?;
        chart.draw_series(line.map(|point| Cross::new(point, 5, FIRST.stroke_width(2))))?;
        let style = ShapeStyle::from(SECOND).stroke_width(2);
        for point in measured {
            let (x, low, high) = (
                position(point.memory_bytes),
                y.position(point.low),
                y.position(point.high),
            );
            chart.draw_series([PathElement::new([(x, low), (x, high)], style)])?;
            let centre = (x, y.position(point.rate));
            chart.draw_series([Circle::new(centre, 6, SECOND.filled())])?;
        }
        Ok(())
    };
    Some(svg("False-positive rate by memory", 320, draw))
}

/// Draws the seconds of both ways; `what` names the memory.
pub(in crate::cli::report) fn times(what: &str, measured: &[MeasuredTime]) -> Option<Markup> {
    let x = Octaves::of(measured.iter().map(|point| point.memory_bytes))?;
    let all = measured
        .iter()
        .flat_map(|point| [point.exact_seconds, point.approximate_seconds]);
    let most = all.fold(1e-6, f64::max);
    let scale = Scale::seconds(most);
    let draw = |area: &Area| -> Drawn {
        let mut chart = builder(area).build_cartesian_2d(x.axis(), 0.0..scale.of(most) * 1.12)?;
        axes(
            &mut chart,
            Lines::Both,
            (what, &|x| Octaves::label(*x)),
            (&scale.title("time"), &tick),
        )?;
        let at = |seconds: fn(&MeasuredTime) -> f64| {
            let points = measured.iter();
            points.map(move |point| (position(point.memory_bytes), scale.of(seconds(point))))
        };
        let (exact, approximate) = (at(|m| m.exact_seconds), at(|m| m.approximate_seconds));
        chart.draw_series(LineSeries::new(exact.clone(), FIRST.stroke_width(2)))?;
        chart.draw_series(exact.map(|point| Circle::new(point, 6, FIRST.filled())))?;
        let style = ShapeStyle::from(SECOND).stroke_width(2);
        chart.draw_series(DashedLineSeries::new(approximate.clone(), 8, 5, style))?;
        chart
            .draw_series(approximate.map(|point| TriangleMarker::new(point, 8, SECOND.filled())))?;
        Ok(())
    };
    Some(svg("Time by memory", 320, draw))
}

/// Formats a rate on an axis: `50%`, `0.2%`, `1e-6%`.
fn rate_tick(rate: f64) -> String {
    let percent = rate * 100.0;
    if percent > 0.000_9 {
        format!("{}%", (percent * 1e6).round() / 1e6)
    } else {
        format!("{percent:.0e}%")
    }
}

/// Returns the position of `bytes` on a scale of powers of two.
fn position(bytes: u64) -> f64 {
    (bytes.max(1) as f64).log2()
}

/// An axis with ticks of its own.
struct Ticked {
    from: f64,
    to: f64,
    ticks: Vec<f64>,
}

impl Ranged for Ticked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.from) / (self.to - self.from);
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.from..self.to
    }
}

/// A scale of memory in powers of two.
struct Octaves {
    from: f64,
    to: f64,
}

impl Octaves {
    /// Makes the scale for all these sizes; `None` if there are none.
    fn of(bytes: impl Iterator<Item = u64> + Clone) -> Option<Self> {
        let (from, to) = (position(bytes.clone().min()?), position(bytes.max()?));
        let beside = ((to - from) * 0.04).max(if to - from < 0.5 { 1.0 } else { 0.1 });
        Some(Self {
            from: from - beside,
            to: to + beside,
        })
    }

    fn axis(&self) -> Ticked {
        Ticked {
            from: self.from,
            to: self.to,
            ticks: self.ticks(),
        }
    }

    /// Returns no more than 8 ticks, at powers of two; in a short range at one and a half times these, too.
    fn ticks(&self) -> Vec<f64> {
        let octaves = self.to - self.from;
        let step = (octaves / 6.0).ceil().max(1.0) as usize;
        let powers = (self.from.floor() as i64..=self.to as i64).step_by(step);
        let between = 1.5_f64.log2();
        let ticks = powers.flat_map(|power| [power as f64, power as f64 + between]);
        ticks
            .filter(|tick| (self.from..=self.to).contains(tick))
            .filter(|tick| octaves < 2.5 || tick.fract() == 0.0)
            .collect()
    }

    fn label(position: f64) -> String {
        numbers::bytes(position.exp2().round() as u64)
    }
}

/// A scale of rates in powers of ten.
struct Decades {
    from: f64,
    to: f64,
}

impl Decades {
    /// Makes the scale for all these rates; those that are 0 do not count.
    fn of(rates: impl Iterator<Item = f64>) -> Self {
        let (least, most) = rates
            .filter(|rate| *rate > 0.0)
            .map(f64::log10)
            .fold((f64::MAX, f64::MIN), |(least, most), rate| {
                (least.min(rate), most.max(rate))
            });
        if least > most {
            return Self {
                from: -6.0,
                to: 0.0,
            };
        }
        let beside = ((most - least) * 0.06).max(0.3);
        Self {
            from: least - beside,
            to: (most + beside).min(0.05_f64.max(most)),
        }
    }

    /// Returns the position of `rate`: 0 is at the lower edge.
    fn position(&self, rate: f64) -> f64 {
        if rate > 0.0 {
            rate.log10().max(self.from)
        } else {
            self.from
        }
    }

    fn axis(&self) -> Ticked {
        Ticked {
            from: self.from,
            to: self.to,
            ticks: self.ticks(),
        }
    }

    /// Returns ticks at powers of ten, and at twice and five times these where that is not too many.
    fn ticks(&self) -> Vec<f64> {
        let decades = self.to - self.from;
        let within = [2.0_f64, 5.0].map(f64::log10);
        let step = (decades / 7.0).ceil().max(1.0) as i64;
        let first = self.from.floor() as i64 - 1;
        let powers = (first..=0).filter(|power| power % step == 0);
        let ticks = powers.flat_map(|power| {
            let power = power as f64;
            let between = within.iter().map(move |part| power + part);
            let between = between.filter(|_| decades <= 3.0);
            std::iter::once(power).chain(between).collect::<Vec<_>>()
        });
        ticks
            .filter(|tick| (self.from..=self.to).contains(tick))
            .collect()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn one_point_has_room_to_both_sides_and_ticks() {
        let x = Octaves::of([64 << 20].into_iter()).unwrap();
        assert!(x.from < 26.0 && x.to > 26.0 && x.ticks().len() >= 3);
        assert!(Octaves::of(std::iter::empty()).is_none());
        let y = Decades::of([0.01].into_iter());
        assert!(!y.ticks().is_empty() && y.from < -2.0 && y.to > -2.0);
        let nothing = Decades::of([0.0].into_iter());
        assert!((nothing.position(0.0) - nothing.from).abs() < 1e-9);
    }

    #[test]
    fn ticks_are_few_whatever_the_range() {
        for octaves in 1..30 {
            let x = Octaves::of([16 << 20, (16u64 << 20) << octaves].into_iter()).unwrap();
            let ticks = x.ticks().len();
            assert!((2..=8).contains(&ticks), "{octaves} octaves, {ticks} ticks");
        }
        for decades in 1..30 {
            let y = Decades::of([0.9, 0.5 * 10f64.powi(-decades)].into_iter());
            let ticks = y.ticks().len();
            assert!(
                (2..=12).contains(&ticks),
                "{decades} decades, {ticks} ticks"
            );
        }
    }
}
