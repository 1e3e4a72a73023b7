//! The number of buckets of each number of lines.
//!
//! *Owns:* the bars of the classes. *Invariants:* each class is as wide as the lines that it stands
//! for. *Cost:* 200 bytes a class.

use maud::Markup;
use outset::stats::BucketClass;
use plotters::element::Rectangle;
use plotters::style::Color;

use super::{FIRST, Lines, Scale, axes, builder, svg, tick};

/// Draws bars of buckets over their lines.
pub(in crate::cli::report) fn sizes(classes: &[BucketClass]) -> Option<Markup> {
    let (first, last) = (classes.first()?, classes.last()?);
    let lines = Scale::counts(last.to_lines as f64);
    let (from, to) = (first.from_lines as f64 - 0.5, last.to_lines as f64 + 0.5);
    let most = classes.iter().map(|class| class.buckets).max()? as f64;
    Some(svg("Buckets by number of lines", 300, |area| {
        // With few classes a bar must not fill the whole picture.
        let beside = (to - from) * if classes.len() < 4 { 1.0 } else { 0.03 };
        let range = lines.of((from - beside).max(0.0))..lines.of(to + beside);
        let mut chart = builder(area).build_cartesian_2d(range, 0.0..most * 1.08)?;
        axes(
            &mut chart,
            Lines::Across,
            (&lines.title("lines in a bucket"), &tick),
            ("buckets", &tick),
        )?;
        for class in classes.iter().filter(|class| class.buckets > 0) {
            let (left, right) = (class.from_lines as f64 - 0.5, class.to_lines as f64 + 0.5);
            let body = [
                (lines.of(left), 0.0),
                (lines.of(right), class.buckets as f64),
            ];
            chart.draw_series([
                Rectangle::new(body, FIRST.mix(0.55).filled()),
                Rectangle::new(body, FIRST.stroke_width(1)),
            ])?;
        }
        Ok(())
    }))
}
