//! `outset estimate`: how many lines there are, and how many are common, within bounds.
//!
//! *Owns:* the report as text and as JSON. *Invariants:* nothing is called
//! exact that was estimated, and an overlap that is too small for the sample is not given a number.
//! *Cost:* that of [`outset::estimate`](outset::estimate()).

mod arguments;

use std::sync::Arc;

use outset::estimate::{Bounds, Estimate, InputEstimate};
use outset::{Interrupt, Options, Result, estimate};

pub(crate) use self::arguments::EstimateArguments;
use super::escaping::visible;
use super::outputs::Claims;
use super::print::{json, print};
use super::progress::Reporter;
use super::sides::SidesPurpose;
use crate::cli::numbers::{self, counted, grouped};

/// Fewer common lines in the sample than this are a faint sign.
const FEW: u64 = 10;

/// Runs the command.
pub(crate) fn run(arguments: &EstimateArguments, interrupt: &Interrupt) -> Result<()> {
    let purpose = SidesPurpose {
        least: 2,
        lacks_output: false,
    };
    let sources = arguments.inputs.sources_for(purpose)?;
    let mut claims = Claims::reading(arguments.inputs.lists().chain(arguments.lines.key_file()))
        .and_sources(&sources);
    claims.write(None, "the estimate")?;
    let reporter = Arc::new(Reporter::new(&arguments.talk));
    reporter.announce(arguments.inputs.names_of_sides(&sources));
    let options = Options {
        format: arguments.lines.format(),
        hash_key: arguments.lines.hash_key(),
        labels: arguments.labels.labels(&arguments.inputs)?,
        observer: Some(reporter.clone()),
        ..arguments
            .lines
            .reading
            .add_to(arguments.machine.options(interrupt))
    };
    let found = estimate(&sources, &options)?;
    reporter.finish();
    let text = if arguments.json {
        json(&found)?
    } else {
        describe(&found)
    };
    print(&text)
}

fn describe(found: &Estimate) -> String {
    let sees_common = !found.is_too_small_to_see();
    let described = found.inputs.iter();
    let mut lines: Vec<String> = described
        .flat_map(|input| describe_input(input, sees_common))
        .collect();
    lines.extend(describe_common(found));
    lines.join("\n")
}

fn describe_input(input: &InputEstimate, sees_common: bool) -> Vec<String> {
    let label = visible(&input.label);
    let distinct = describe_count(input.distinct);
    let mut lines = vec![
        format!(
            "{label}: {}, {distinct} distinct",
            counted(input.lines, "line")
        ),
        format!("  in no other file: {}", describe_count(input.only)),
    ];
    if sees_common && input.lines > 0 {
        let share = describe_share(input.containment);
        lines.push(format!("  in all files: {share} of its distinct lines"));
    }
    lines
}

fn describe_common(found: &Estimate) -> Vec<String> {
    let common = found.common;
    if found.is_too_small_to_see() {
        return vec![
            format!(
                "common: too few to estimate: at most {} lines (at 99%); none of {} sampled lines is common",
                whole(common.high),
                grouped(found.sample_lines)
            ),
            "  to count them: outset intersect --count-only".to_owned(),
        ];
    }
    let mut lines = vec![
        format!("common: {} distinct lines", describe_count(common)),
        format!(
            "  {} of all distinct lines (Jaccard index)",
            describe_share(found.jaccard)
        ),
    ];
    if found.common_seen < FEW && !common.is_exact() {
        lines.push(format!(
            "  uncertain: only {} of {} sampled lines are common",
            found.common_seen,
            grouped(found.sample_lines)
        ));
    }
    lines
}

fn describe_count(bounds: Bounds) -> String {
    let Bounds {
        estimate,
        low,
        high,
    } = bounds;
    if bounds.is_exact() {
        whole(estimate)
    } else {
        let (low, high) = (whole(low), whole(high));
        format!("about {} ({low} to {high} at 99%)", whole(estimate))
    }
}

/// Formats a number of lines that need not be whole.
fn whole(lines: f64) -> String {
    grouped(lines.round() as u64)
}

fn describe_share(bounds: Bounds) -> String {
    let share = numbers::rate(bounds.estimate);
    if bounds.is_exact() {
        return share;
    }
    let (low, high) = (numbers::rate(bounds.low), numbers::rate(bounds.high));
    format!("about {share} ({low} to {high} at 99%)")
}
