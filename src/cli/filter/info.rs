//! `outset filter info`: what a filter is, and how often it is wrong.
//!
//! *Owns:* the report, as text and as JSON (the names of `filter` in the statistics of a run, and
//! some more). *Invariants:* the whole file is checked before anything is said of it. *Cost:* one
//! reading of the file.

use outset::filter::{Kind, Occupancy, StoredFilter};
use outset::memory::budget::MemoryBudget;
use outset::stats::FilterStats;
use outset::{Interrupt, Result};

use crate::cli::escaping::visible;
use crate::cli::outputs::Claims;
use crate::cli::print::{json, print};
use serde::Serialize;

use super::arguments::InfoArguments;
use super::overfull::warn_if_overfull;
use crate::cli::numbers;
use crate::cli::settings::as_typed;

/// Enough for reading a file in pieces.
const MEMORY: u64 = 4 << 20;

/// The report that is printed.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct FilterReport {
    #[serde(flatten)]
    filter: FilterStats,
    /// Lines that the filter was laid out for.
    planned_keys: u64,
    /// The rate that was predicted for them.
    planned_fpr: f64,
    /// Different lines, as the cells tell; null where none is free.
    distinct_keys: Option<f64>,
    /// Counters at the top.
    saturated: u64,
    /// The chance that any two of its lines have the same digest; of digests alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    collision_chance: Option<f64>,
    is_overfull: bool,
    file_bytes: u64,
    zero_terminated: bool,
    strip_cr: bool,
    ignore_case: bool,
    trim: bool,
    squeeze: bool,
    /// Fields of a key; 0 for lines, and where it was not noted.
    key_fields: u32,
    /// The options for what joins several fields; null for one, and for lines.
    key_format: Option<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &InfoArguments, _interrupt: &Interrupt) -> Result<()> {
    Claims::reading([&arguments.filter]).write(None, "the report")?;
    let stored = StoredFilter::open(&arguments.filter)?;
    let occupancy = stored.occupancy(&MemoryBudget::new(MEMORY, 0))?;
    let report = report(&stored, &occupancy);
    let text = if arguments.json {
        json(&report)?
    } else {
        describe(&report, &visible(&arguments.filter.display().to_string()))
    };
    print(&text)?;
    warn_if_overfull(
        &arguments.filter,
        stored.shape(),
        stored.rules(),
        &occupancy,
    );
    Ok(())
}

fn report(stored: &StoredFilter, occupancy: &Occupancy) -> FilterReport {
    let (shape, rules) = (stored.shape(), stored.rules());
    FilterReport {
        filter: FilterStats::of(shape, stored.keys(), occupancy),
        planned_keys: rules.planned_keys,
        planned_fpr: shape.predicted_fpr(rules.planned_keys.max(1)),
        distinct_keys: occupancy.distinct.is_finite().then_some(occupancy.distinct),
        saturated: occupancy.saturated,
        collision_chance: (shape.kind == Kind::Fingerprint)
            .then(|| outset::filter::sizing::collision_chance(stored.keys())),
        is_overfull: occupancy.is_overfull(shape, rules.planned_keys),
        file_bytes: stored.file_bytes(),
        zero_terminated: rules.format.terminator == 0,
        strip_cr: rules.format.strip_cr,
        ignore_case: rules.key_form.ignores_case,
        trim: rules.key_form.trims,
        squeeze: rules.key_form.squeezes,
        key_fields: rules.key_form.fields,
        key_format: (rules.key_form.fields > 1).then(|| as_typed(&rules.key_form.joined_options())),
    }
}

fn describe(report: &FilterReport, name: &str) -> String {
    let filter = &report.filter;
    let mut lines = vec![
        format!(
            "{name}: {} filter of {}, in a file of {}",
            filter.kind,
            numbers::bytes(filter.bits.div_ceil(8)),
            numbers::bytes(report.file_bytes)
        ),
        format!(
            "  {} bits, {}, k = {}",
            filter.bits,
            if filter.keys == 0 {
                "no lines in it".to_owned()
            } else {
                format!("{:.2} per line inserted", filter.bits_per_key)
            },
            filter.hashes
        ),
        describe_lines(report),
        format!(
            "  {:.2}% of the cells are in use: false-positive rate {} ({} with the number of lines it was sized for)",
            filter.fill * 100.0,
            numbers::rate(filter.fill_fpr),
            numbers::rate(report.planned_fpr)
        ),
        format!(
            "  lines end in {}{}",
            if report.zero_terminated {
                "NUL"
            } else {
                "a newline"
            },
            if report.strip_cr {
                "; a CR before it is part of the line end"
            } else {
                ""
            }
        ),
    ];
    lines.extend(describe_keys(report));
    if report.saturated > 0 {
        lines.push(format!(
            "  {} counters have reached their maximum and stay there",
            report.saturated
        ));
    }
    if let Some(chance) = report.collision_chance {
        lines.push(format!(
            "  the chance that any two of its lines have the same digest is {chance:.1e}"
        ));
    }
    lines.join("\n")
}

/// Describes how keys are made, where that is not the whole line as it is.
fn describe_keys(report: &FilterReport) -> Option<String> {
    let of_fields = match (report.key_fields, &report.key_format) {
        (0, _) => None,
        (1, _) => Some("are one field of a record (--key)".to_owned()),
        (fields, format) => {
            let format = format.as_deref().unwrap_or_default();
            Some(format!("are {fields} fields of a record (--key, {format})"))
        }
    };
    let case = report.ignore_case.then(|| "ignore case (-i)".to_owned());
    let blanks = report
        .trim
        .then(|| "leave out blanks around them (--trim)".to_owned());
    let runs = report
        .squeeze
        .then(|| "count runs of blanks as one (--squeeze)".to_owned());
    let said: Vec<String> = [of_fields, case, blanks, runs]
        .into_iter()
        .flatten()
        .collect();
    (!said.is_empty()).then(|| format!("  keys {}", said.join("; ")))
}

fn describe_lines(report: &FilterReport) -> String {
    let (keys, planned) = (report.filter.keys, report.planned_keys);
    if report.collision_chance.is_some() {
        return format!("  {keys} distinct lines; sized for {planned}");
    }
    let different = match report.distinct_keys {
        Some(keys) => format!("about {keys:.0} distinct"),
        None => "number of distinct lines unknown".to_owned(),
    };
    format!("  {keys} lines inserted, repeats included; {different}; sized for {planned}")
}
