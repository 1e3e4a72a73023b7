//! Plans as they were last reviewed.
//!
//! *Owns:* the text of many plans, in `plans.txt`. The formulas of a plan decide about time and
//! memory, and few of their numbers follow from a promise. The others are recorded here, so that no change
//! of a plan goes unnoticed. `OUTSET_RENEW_PLANS=1` rewrites the file; review its diff together with the
//! change that caused it.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

pub(in crate::plan) mod jobs;
mod revision;

use std::fmt::Write;

use super::layout::{PoolLayout, ScanLayout};
use super::*;
use jobs::{requests, selections, sizes};
use revision::expected_revision;

/// Writes a rate or an expected number to six digits: the last ones are the mathematical library's, and so are all
/// digits of a rate that is next to nothing.
fn number(value: f64) -> String {
    if value > 0.0 && value < 1e-9 {
        return "next to 0".to_owned();
    }
    format!("{value:.5e}")
}

fn tell_filter(text: &mut String, what: &str, filter: &FilterPlan) {
    let (bits_per_key, fpr) = (number(filter.bits_per_key), number(filter.predicted_fpr));
    let FilterPlan {
        kind,
        bits,
        hashes,
        keys,
        ..
    } = filter;
    writeln!(
        text,
        "  {what}: {kind}, {bits} bits, {hashes} hashes, {keys} keys, {bits_per_key} bits a key, rate {fpr}"
    )
    .unwrap();
}

fn tell_plan(text: &mut String, plan: &Plan) {
    let costs = &plan.costs;
    writeln!(
        text,
        "  {}{}: {} buckets, {} passes, reads {}, writes {}, disk {}, memory {}, false lines {}, precision {}",
        costs.strategy,
        if costs.exact { "" } else { ", approximate" },
        costs.buckets,
        costs.passes,
        costs.bytes_read,
        costs.bytes_written,
        costs.temp_peak_bytes,
        costs.memory_bytes,
        number(costs.expected_false_lines),
        costs.expected_precision.map_or("unknown".into(), number),
    )
    .unwrap();
    for (what, filter) in [
        ("filter", &costs.filter),
        ("second filter", &plan.second_filter),
    ] {
        if let Some(filter) = filter {
            tell_filter(text, what, filter);
        }
    }
    let tells = |step: &steps::Step| matches!(step, steps::Step::Tell { .. });
    let phases = plan
        .phases
        .iter()
        .map(|phase| format!("{} {}", phase.name, phase.bytes_read));
    writeln!(text, "  phases: {}", phases.collect::<Vec<_>>().join(", ")).unwrap();
    writeln!(
        text,
        "  order {:?}, set of {} lines of {} bytes{}, buffers {}",
        plan.sized.order,
        plan.build_lines,
        plan.build_line_bytes,
        if plan.steps.list.iter().any(tells) {
            " as a bitmap"
        } else {
            ""
        },
        plan.buffer_bytes(),
    )
    .unwrap();
    tell_layout(text, &plan.layout);
    let (layout, second) = expected_revision(plan);
    if layout != plan.layout || second != plan.second_filter {
        writeln!(text, "  when the first filter is complete:").unwrap();
        if let Some(second) = &second {
            tell_filter(text, "second filter", second);
        }
        tell_layout(text, &layout);
    }
}

fn tell_layout(text: &mut String, layout: &Layout) {
    let Layout {
        memory_bytes,
        base_bytes,
        order_bytes: _,
        compressing_bytes: _,
        line_numbers_bytes,
        bookkeeping_bytes: _,
        usable_bytes,
        threads: _,
        scan,
        decoding,
        pool,
    } = layout;
    let ScanLayout {
        workers,
        readers,
        chunk_bytes,
        chunk_buffers,
        long_line_bytes,
        long_line_eighths,
        lanes,
    } = scan;
    let PoolLayout {
        buckets,
        by_range,
        writers,
        block_bytes,
        blocks,
        duplicate_cache_bytes,
        cached_line_bytes: _,
        join_workers,
    } = pool;
    writeln!(
        text,
        "  {memory_bytes} is {base_bytes} + {usable_bytes}: {workers} workers, {readers} readers, {writers} writers, \
         {join_workers} to join; chunks {chunk_buffers} x {chunk_bytes}, long lines {long_line_bytes}{}, \
         {buckets} {}, blocks {blocks} x {block_bytes}, reads of {}{}{}{}",
        if *long_line_eighths == 1 { " at last" } else { "" },
        if *by_range { "ranges" } else { "buckets" },
        layout.read_bytes(),
        match duplicate_cache_bytes {
            0 => String::new(),
            bytes => format!(", {bytes} for a duplicate cache"),
        },
        match decoding.bytes {
            0 => String::new(),
            bytes => format!(", {bytes} to decode {lanes} at a time"),
        },
        match line_numbers_bytes {
            0 => String::new(),
            bytes => format!(", {bytes} to number lines"),
        },
    )
    .unwrap();
}

/// Writes what each strategy would do for `job`, and which is chosen and why.
fn tell(text: &mut String, name: &str, job: &Job) {
    for strategy in Strategy::ALL {
        writeln!(text, "{name}: {strategy}").unwrap();
        let asked = Job {
            strategy: Some(strategy),
            ..job.clone()
        };
        match plan(&asked) {
            Ok(plan) => tell_plan(text, &plan),
            Err(error) => writeln!(text, "  refused: {error}").unwrap(),
        }
    }
    writeln!(text, "{name}: chosen").unwrap();
    match plan(job) {
        Ok(plan) => {
            writeln!(text, "  {}", plan.strategy()).unwrap();
            for rejected in &plan.rejected {
                writeln!(text, "  not {}: {}", rejected.strategy, rejected.reason).unwrap();
            }
        }
        Err(error) => writeln!(text, "  refused: {error}").unwrap(),
    }
}

#[test]
fn every_plan_is_as_it_was() {
    let mut text = String::new();
    for (name, job) in sizes().iter().chain(&requests()).chain(&selections()) {
        tell(&mut text, name, job);
    }
    if std::env::var_os("OUTSET_RENEW_PLANS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/plan/golden/plans.txt");
        std::fs::write(path, &text).unwrap();
        return;
    }
    let mut location = "";
    for (is, was) in text.lines().zip(include_str!("plans.txt").lines()) {
        if !is.starts_with(' ') {
            location = is;
        }
        assert_eq!(
            is, was,
            "{location} (OUTSET_RENEW_PLANS=1 accepts a change that is wanted)"
        );
    }
    assert_eq!(
        text.lines().count(),
        include_str!("plans.txt").lines().count()
    );
}
