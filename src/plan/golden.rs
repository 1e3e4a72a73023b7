//! Plans as they were when somebody last looked at them.
//!
//! *Owns:* the text of many plans, in `plans.txt`. The formulas behind a plan decide about time and
//! about memory, and few of their numbers follow from a promise; what follows from none is held here,
//! so that no change of a plan goes unseen. `OUTSET_RENEW_PLANS=1` writes the file anew: its difference
//! belongs into the review of whatever caused it.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fmt::Write;

use super::*;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// An input of so many lines of so many bytes.
fn input(lines: u64, line_bytes: u64) -> InputShape {
    InputShape {
        bytes: Some(lines * line_bytes),
        lines: Some(lines),
        is_cached: false,
    }
}

fn cached(lines: u64) -> InputShape {
    InputShape {
        is_cached: true,
        ..input(lines, 64)
    }
}

const PIPE: InputShape = InputShape {
    bytes: None,
    lines: None,
    is_cached: false,
};

fn job(inputs: &[InputShape], memory_bytes: u64) -> Job {
    Job {
        inputs: inputs.to_vec(),
        longest_line_bytes: 64,
        memory_bytes,
        base_bytes: 8 * MIB,
        threads: 2,
        strategy: None,
        max_fpr: 0.0,
        buckets: None,
        bits_per_key: None,
        stored_filter: None,
        wants_filter: false,
        is_ipv4: false,
        common_share: None,
        always_spill: false,
        set_estimate: SetEstimate::Trust,
    }
}

/// Inputs from nothing to twenty times the canonical case, beside limits from the least on.
fn sizes() -> Vec<(String, Job)> {
    let mut jobs = Vec::new();
    for (name, memory_bytes) in [
        ("16 MiB", 16 * MIB),
        ("24 MiB", 24 * MIB),
        ("64 MiB", 64 * MIB),
        ("1 GiB", GIB),
        ("4 GiB", 4 * GIB),
    ] {
        for (what, inputs) in [
            ("nothing", vec![input(0, 0); 2]),
            ("100 thousand lines", vec![input(100_000, 64); 2]),
            ("20 million lines", vec![input(20_000_000, 64); 2]),
            ("5 billion lines", vec![input(5_000_000_000, 64); 2]),
            ("100 billion lines", vec![input(100_000_000_000, 64); 2]),
            (
                "3 million in 900 million",
                vec![input(900_000_000, 40), input(3_000_000, 44)],
            ),
            (
                "five different",
                (1..6).rev().map(|i| input(i * 7_000_000, 30)).collect(),
            ),
            ("a pipe and a file", vec![PIPE, input(9_000_000, 50)]),
            ("two pipes", vec![PIPE; 2]),
        ] {
            jobs.push((format!("{what}, {name}"), job(&inputs, memory_bytes)));
        }
    }
    jobs
}

/// One thing after the other that a caller can ask for.
fn requests() -> Vec<(String, Job)> {
    let base = || job(&[input(20_000_000, 64), input(30_000_000, 64)], 64 * MIB);
    let stored = FilterPlan::existing(
        crate::filter::Shape::for_fpr(crate::filter::Kind::Classic, 5_000_000, 0.01, None),
        5_000_000,
        0.0098,
    );
    let jobs = [
        (
            "a rate of 5%",
            Job {
                max_fpr: 0.05,
                ..base()
            },
        ),
        (
            "a rate of 40%",
            Job {
                max_fpr: 0.4,
                ..base()
            },
        ),
        (
            "300 buckets",
            Job {
                buckets: Some(300),
                ..base()
            },
        ),
        (
            "60,000 buckets",
            Job {
                buckets: Some(60_000),
                ..base()
            },
        ),
        (
            "one bucket",
            Job {
                buckets: Some(1),
                ..base()
            },
        ),
        (
            "4 bits a key",
            Job {
                bits_per_key: Some(4.0),
                ..base()
            },
        ),
        (
            "100 bits a key",
            Job {
                bits_per_key: Some(100.0),
                ..base()
            },
        ),
        (
            "a filter to be saved",
            Job {
                wants_filter: true,
                ..base()
            },
        ),
        (
            "half in common",
            Job {
                common_share: Some(0.5),
                ..base()
            },
        ),
        (
            "nothing in common",
            Job {
                common_share: Some(0.0),
                ..base()
            },
        ),
        (
            "everything spilled",
            Job {
                always_spill: true,
                ..base()
            },
        ),
        (
            "16 threads",
            Job {
                threads: 16,
                ..base()
            },
        ),
        (
            "a line of 9 MiB",
            Job {
                longest_line_bytes: 9 * MIB,
                ..base()
            },
        ),
        (
            "a line longer than memory",
            Job {
                longest_line_bytes: GIB,
                ..base()
            },
        ),
        (
            "a set that overflowed",
            Job {
                set_estimate: SetEstimate::Overflowed,
                ..base()
            },
        ),
        (
            "a set that is tried",
            Job {
                set_estimate: SetEstimate::Try,
                ..base()
            },
        ),
        (
            "addresses, 2 GiB",
            Job {
                is_ipv4: true,
                memory_bytes: 2 * GIB,
                ..base()
            },
        ),
        (
            "addresses in three files, 1100 MiB",
            Job {
                is_ipv4: true,
                ..job(&[input(100_000_000, 13); 3], 1100 * MIB)
            },
        ),
        ("cached, 8 GiB", job(&[cached(20_000_000); 2], 8 * GIB)),
        (
            "cached, one much larger, 8 GiB",
            job(&[cached(2_000_000), cached(900_000_000)], 8 * GIB),
        ),
        (
            "cached, little memory",
            job(&[cached(20_000_000); 2], 900 * MIB),
        ),
        (
            "a stored filter",
            Job {
                stored_filter: Some(stored),
                ..job(&[input(20_000_000, 64)], 64 * MIB)
            },
        ),
        (
            "a stored filter larger than memory, two inputs",
            Job {
                stored_filter: Some(FilterPlan {
                    bits: 8 << 30,
                    ..stored
                }),
                ..job(&[input(20_000_000, 64); 2], 64 * MIB)
            },
        ),
    ];
    let named = |(name, job): (&str, Job)| (name.to_owned(), job);
    jobs.into_iter().map(named).collect()
}

/// A rate or an expected number, to six digits: the last ones are the mathematical library's, and so
/// are all of those of a rate that is next to nothing.
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
    let phases = plan
        .phases
        .iter()
        .map(|phase| format!("{} {}", phase.name, phase.bytes_read));
    writeln!(text, "  phases: {}", phases.collect::<Vec<_>>().join(", ")).unwrap();
    writeln!(
        text,
        "  order {:?}, set of {} lines of {} bytes{}, buffers {}",
        plan.order,
        plan.build_lines,
        plan.build_line_bytes,
        if plan.uses_bitmap { " as a bitmap" } else { "" },
        plan.buffer_bytes(),
    )
    .unwrap();
    tell_layout(text, &plan.layout);
}

fn tell_layout(text: &mut String, layout: &Layout) {
    let Layout {
        memory_bytes,
        base_bytes,
        usable_bytes,
        workers,
        readers,
        writers,
        chunk_bytes,
        chunk_buffers,
        long_line_bytes,
        is_last_try,
        buckets,
        block_bytes,
        pool_blocks,
        join_workers,
    } = layout;
    writeln!(
        text,
        "  {memory_bytes} is {base_bytes} + {usable_bytes}: {workers} workers, {readers} readers, {writers} writers, \
         {join_workers} to join; chunks {chunk_buffers} x {chunk_bytes}, long lines {long_line_bytes}{}, \
         {buckets} buckets, blocks {pool_blocks} x {block_bytes}",
        if *is_last_try { " at last" } else { "" },
    )
    .unwrap();
}

/// What each strategy would do for `job`, and which is chosen and why.
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
    for (name, job) in sizes().iter().chain(&requests()) {
        tell(&mut text, name, job);
    }
    if std::env::var_os("OUTSET_RENEW_PLANS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/plan/plans.txt");
        std::fs::write(path, &text).unwrap();
        return;
    }
    let mut place = "";
    for (is, was) in text.lines().zip(include_str!("plans.txt").lines()) {
        if !is.starts_with(' ') {
            place = is;
        }
        assert_eq!(
            is, was,
            "{place} (OUTSET_RENEW_PLANS=1 accepts a change that is wanted)"
        );
    }
    assert_eq!(
        text.lines().count(),
        include_str!("plans.txt").lines().count()
    );
}
