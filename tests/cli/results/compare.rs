//! `outset compare` from outside: the table, the JSON report, the false lines, sweeps, refusals, memory.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::data::{lines, megabytes};
use crate::limits::memory::measured;
use crate::sandbox::{Outcome, Sandbox};

/// Reproduces a run.
pub(super) const KEY: &str =
    "--hash-key 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

pub(super) fn text(outcome: &Outcome) -> String {
    String::from_utf8(outcome.succeeds().stdout.clone()).unwrap()
}

pub(super) fn report(sandbox: &Sandbox, name: &str) -> Value {
    serde_json::from_slice(&fs::read(sandbox.output(name)).unwrap()).unwrap()
}

pub(super) fn set(bytes: &[u8]) -> BTreeSet<&[u8]> {
    bytes.split(|&byte| byte == b'\n').collect()
}

#[test]
fn the_false_lines_are_the_difference_of_two_runs_of_intersect() {
    let sandbox = Sandbox::with(&lines(0..50_000), &lines(40_000..100_000));
    let options = format!("--memory 32M --bits-per-key 6.87 {KEY} a b");
    let compare = format!("compare --list-false ../out/false --stats ../out/stats {options}");
    let said = text(&sandbox.run(&compare));
    let exact = sandbox.run(&format!("intersect -q {options}")).stdout;
    let bloom = sandbox
        .run(&format!("intersect -q --strategy bloom {options}"))
        .stdout;
    let false_lines = fs::read(sandbox.output("false")).unwrap();
    let difference: BTreeSet<&[u8]> = set(&bloom).difference(&set(&exact)).copied().collect();
    let mut found = set(&false_lines);
    found.remove(&b""[..]);
    assert!(
        found == difference && difference.len() > 1000,
        "{}",
        difference.len()
    );

    let stats = report(&sandbox, "stats");
    assert_eq!(stats["command"], "compare");
    assert_eq!(stats["false_lines"], difference.len());
    assert_eq!(stats["missing_lines"], 0);
    assert_eq!(stats["exact"]["output"]["lines"], 10_000);
    assert_eq!(
        stats["approximate"]["output"]["lines"],
        10_000 + difference.len()
    );
    let rate = difference.len() as f64 / 50_000.0;
    assert_eq!(stats["measured_fpr"], rate);
    let predicted = stats["predicted_fpr"].as_f64().unwrap();
    assert!((rate / predicted - 1.0).abs() < 0.05, "{rate}, {predicted}");
    assert_eq!(
        stats["precision"],
        10_000.0 / (10_000 + difference.len()) as f64
    );
    for way in ["exact", "approximate"] {
        let run = &stats[way];
        let phases = run["phases"].as_array().unwrap();
        let sum: u64 = phases
            .iter()
            .map(|p| p["bytes_read"].as_u64().unwrap())
            .sum();
        assert_eq!(run["bytes_read"], sum);
        assert!(run["seconds"].as_f64() > Some(0.0));
        assert!(run["memory"]["peak_rss_bytes"].as_u64() <= Some(32 << 20));
    }
    for part in [
        "memory limit 32 MiB",
        "10,000",
        "measured ",
        "predicted ",
        "no common lines are missing",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn a_sweep_has_a_row_for_each_point() {
    let sandbox = Sandbox::with(&lines(0..300_000), &lines(200_000..500_000));
    let said = text(&sandbox.run("compare -q --sweep memory=16M,32M,64M --stats ../out/stats a b"));
    assert_eq!(said.lines().count(), 4, "{said}");
    let points = report(&sandbox, "stats");
    let points = points["points"].as_array().unwrap();
    let limits: Vec<u64> = points
        .iter()
        .map(|point| point["memory"]["limit_bytes"].as_u64().unwrap())
        .collect();
    assert_eq!(limits, [16 << 20, 32 << 20, 64 << 20]);
    for point in points {
        assert!(
            point["memory"]["peak_rss_bytes"].as_u64() <= point["memory"]["limit_bytes"].as_u64()
        );
        assert_eq!(point["exact"]["output"]["lines"], 100_000);
    }
    let said = text(
        &sandbox.run("compare -q --memory 64M --sweep max-fpr=10%,1% --stats ../out/stats a b"),
    );
    assert_eq!(said.lines().count(), 3, "{said}");
    let points = report(&sandbox, "stats");
    for (point, fpr) in [(0, 0.1), (1, 0.01)] {
        let measured = points["points"][point]["measured_fpr"].as_f64().unwrap();
        assert!((measured / fpr - 1.0).abs() < 0.15, "{measured}, {fpr}");
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn each_run_has_a_peak_of_its_own_under_a_small_limit() {
    let sandbox = Sandbox::with(&megabytes(20, 0), &megabytes(20, 300_000));
    let (outcome, peak) = measured(
        &sandbox,
        "compare -q --memory 16M --bits-per-key 3 --report ../out/page --stats ../out/stats a b",
    );
    outcome.succeeds();
    assert!(peak <= 16 << 20, "{peak}");
    let stats = report(&sandbox, "stats");
    for run in [&stats, &stats["exact"], &stats["approximate"]] {
        let peak = run["memory"]["peak_rss_bytes"].as_u64().unwrap();
        assert!((4 << 20..=16 << 20).contains(&peak), "{peak}");
    }
    // After much memory, little.
    sandbox
        .run("compare -q --sweep memory=256M,16M --stats ../out/stats a b")
        .succeeds();
    let points = report(&sandbox, "stats");
    let peak = |point: usize| {
        points["points"][point]["memory"]["peak_rss_bytes"]
            .as_u64()
            .unwrap()
    };
    assert!(
        peak(0) > 24 << 20 && peak(1) <= 16 << 20,
        "{} {}",
        peak(0),
        peak(1)
    );
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_runs() {
    let sandbox = Sandbox::with(&lines(0..100_000), &lines(0..100_000));
    for (arguments, code, parts) in [
        ("compare a", 2, &["one file given", "give two"][..]),
        ("compare a b a", 2, &["3 files given", "give two"]),
        ("compare a -", 2, &["-: ", "several times"]),
        ("compare a absent", 3, &["absent: "]),
        ("compare --strategy bloom a b", 2, &["bloom", "--strategy"]),
        ("compare --filter f a b", 2, &["--filter"]),
        ("compare --memory 1M a b", 6, &["give at least"]),
        (
            "compare --memory 32M --bits-per-key 2 --max-fpr 1% a b",
            6,
            &["false-positive rate"],
        ),
        ("compare --sweep memory=32M,1M a b", 6, &["give at least"]),
        (
            "compare --sweep memory=32M --memory 64M a b",
            2,
            &["--memory"],
        ),
        (
            "compare --sweep max-fpr=1% --max-fpr 2% a b",
            2,
            &["--max-fpr"],
        ),
        (
            "compare --sweep max-fpr=1e-12 --memory 16M a b",
            6,
            &["false-positive rate"],
        ),
        ("compare --sweep speed=1 a b", 2, &["max-fpr=P"]),
        (
            "compare --sweep memory=32M --list-false ../out/f a b",
            2,
            &["--list-false"],
        ),
        ("compare --list-false a a b", 2, &["--list-false"]),
        (
            "compare --list-false ../out/f --stats ../out/f a b",
            2,
            &["--stats"],
        ),
        ("compare --stats absent/f a b", 5, &["absent/f"]),
        ("compare --list-false - a b", 2, &["--list-false"]),
        (
            "compare --list-false ../out/f --stats ../in/../out/f a b",
            2,
            &["--stats"],
        ),
        (
            "compare --report ../out/../out/f --stats ../out/f a b",
            2,
            &["--report"],
        ),
        (
            "intersect -o ../out/f --stats ../out/./f a b",
            2,
            &["--stats"],
        ),
        (
            "intersect -o ../out/f --report ../in/../out/f a b",
            2,
            &["--report"],
        ),
    ] {
        let outcome = sandbox.run(arguments);
        outcome.fails(code, parts);
        assert!(outcome.stdout.is_empty(), "{arguments}");
    }
    assert!(!sandbox.output("f").exists());
}

#[test]
fn a_failure_at_the_end_leaves_what_was_there_before() {
    let sandbox = Sandbox::with(&lines(0..3000), &lines(2000..5000));
    for (arguments, kept) in [
        ("intersect -q a b --stats /dev/full -o ../out/kept", true),
        ("intersect -q a b --report /dev/full -o ../out/kept", true),
        (
            "compare -q a b --report /dev/full --list-false ../out/kept",
            true,
        ),
        (
            "compare -q a b --stats /dev/full --list-false ../out/kept",
            true,
        ),
        ("compare -q a b --stats ../out/kept", false),
        ("overlaps -q a b --report /dev/full", true),
        ("overlaps -q a b --report ../out/kept", false),
    ] {
        fs::write(sandbox.output("kept"), "before").unwrap();
        let outcome = sandbox.run(arguments);
        assert_eq!(
            outcome.status.code(),
            Some(if kept { 5 } else { 0 }),
            "{arguments}: {outcome}"
        );
        let is_before = fs::read(sandbox.output("kept")).unwrap() == b"before";
        assert_eq!(is_before, kept, "{arguments}");
        // The table is shown all the same.
        assert_eq!(
            outcome.stdout.is_empty(),
            arguments.starts_with("intersect"),
            "{arguments}"
        );
    }
}

#[test]
fn a_file_that_standard_output_goes_to_is_written_through_it() {
    let sandbox = Sandbox::with(b"a\nb\n", b"b\nc\n");
    for (arguments, first, second) in [
        (
            "intersect -q a b --stats /dev/stdout > ../out/all",
            "b\n",
            "\"command\"",
        ),
        (
            "compare -q a b --stats /dev/stdout > ../out/all",
            "\"command\"",
            "memory limit",
        ),
    ] {
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", &format!("{} {arguments}", crate::sandbox::outset())])
            .current_dir(sandbox.root().join("in"))
            .env("TMPDIR", sandbox.temp());
        assert!(shell.status().unwrap().success());
        let text = fs::read_to_string(sandbox.output("all")).unwrap();
        let positions = (text.find(first), text.find(second));
        assert!(
            matches!(positions, (Some(first), Some(second)) if first < second),
            "{text}"
        );
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn the_cap_on_temporary_disk_is_one_for_all_runs_and_results() {
    let sandbox = Sandbox::with(&megabytes(8, 0), &megabytes(8, 0));
    let compare = "compare -q a b --memory 16M --strategy partition --stats ../out/stats";
    sandbox.run(compare).succeeds();
    let peak = report(&sandbox, "stats")["temp_peak_bytes"]
        .as_u64()
        .unwrap();
    let run = &report(&sandbox, "stats")["exact"]["temp"]["peak_bytes"];
    // One run holds its spill, and the results of both are 8 MiB each.
    assert!(peak > run.as_u64().unwrap() + (7 << 20), "{peak} {run}");
    sandbox
        .run(&format!("{compare} --max-temp {}", peak + (2 << 20)))
        .succeeds();
    let less = peak - (6 << 20);
    sandbox
        .run(&format!("{compare} --max-temp {less}"))
        .fails(4, &["--max-temp"]);
}

#[test]
fn without_a_limit_both_ways_have_the_same() {
    let sandbox = Sandbox::with(&lines(0..1000), &lines(500..2000));
    sandbox
        .run("compare -q a b --sweep max-fpr=5%,1% --stats ../out/stats")
        .succeeds();
    let stats = report(&sandbox, "stats");
    let limit =
        |point: usize, way: &str| stats["points"][point][way]["memory"]["limit_bytes"].clone();
    for (point, way) in [(0, "approximate"), (1, "exact"), (1, "approximate")] {
        assert_eq!(limit(point, way), limit(0, "exact"));
    }
}

#[test]
fn few_false_lines_have_wide_bounds_and_are_never_rounded_away() {
    let sandbox = Sandbox::with(&lines(0..60_000), &lines(30_000..90_000));
    let arguments =
        format!("compare -q a b --memory 64M --bits-per-key 20 {KEY} --stats ../out/stats");
    let said = text(&sandbox.run(&arguments));
    let stats = report(&sandbox, "stats");
    let false_lines = stats["false_lines"].as_u64().unwrap();
    assert!((1..60).contains(&false_lines), "{false_lines}");
    let bounds = &stats["measured_fpr_bounds"];
    let predicted = stats["predicted_fpr"].as_f64().unwrap();
    assert!(bounds["low"].as_f64().unwrap() < predicted, "{bounds}");
    assert!(bounds["high"].as_f64().unwrap() > predicted, "{bounds}");
    assert!(said.contains("precision: 99.9"), "{said}");
}
