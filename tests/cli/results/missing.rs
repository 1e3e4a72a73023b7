//! `outset compare --operation diff` from outside: the missing lines against a naive oracle, their rate against the
//! prediction, refusals.

use std::collections::BTreeSet;
use std::fs;

use differential::sweep;
use serde_json::Value;

use super::compare::{KEY, report, set, text};
use crate::data::{lines, megabytes};
use crate::json::number;
use crate::limits::memory::measured;
use crate::sandbox::Sandbox;

/// Three files. Of the 60,000 lines of the first, some twice, the second has 20,000, and the third further 10,000.
fn three() -> (Sandbox, [Vec<u8>; 3]) {
    let texts = [
        [lines(0..60_000), lines(5_000..6_000)].concat(),
        [lines(40_000..100_000), lines(90_000..95_000)].concat(),
        lines(30_000..50_000),
    ];
    let sandbox = Sandbox::with(&texts[0], &texts[1]);
    sandbox.write("c", texts[2].clone());
    (sandbox, texts)
}

/// The lines of the first text that no other has.
fn alone(texts: &[Vec<u8>]) -> BTreeSet<&[u8]> {
    let mut lines = set(&texts[0]);
    for text in &texts[1..] {
        lines = &lines - &set(text);
    }
    lines.remove(&b""[..]);
    lines
}

/// Checks the counts and rates of a comparison in which `missing` of the lines `all` are missing.
fn check_figures(stats: &Value, all: usize, missing: usize) {
    assert_eq!(stats["command"], "compare");
    assert_eq!(stats["operation"], "diff");
    assert_eq!(stats["mistake"], "missing_lines");
    assert_eq!(stats["missing_lines"], missing);
    assert_eq!(stats["false_lines"], 0);
    assert_eq!(stats["exact"]["output"]["lines"], all);
    assert_eq!(stats["approximate"]["output"]["lines"], all - missing);
    let rate = missing as f64 / all as f64;
    assert!((number(stats, "/measured_fpr") - rate).abs() < 1e-9);
    assert!((number(stats, "/recall") - (1.0 - rate)).abs() < 1e-9);
    assert_eq!(stats["precision"], 1.0);
    let predicted = number(stats, "/predicted_fpr");
    assert!((rate / predicted - 1.0).abs() < 0.08, "{rate}, {predicted}");
    let expected = number(stats, "/approximate/filter/expected_missing_lines");
    let off = missing as f64 / expected - 1.0;
    assert!(off.abs() < 0.08, "{missing}, {expected}");
}

#[test]
fn l14_the_missing_lines_are_what_an_approximate_diff_lacks_of_the_oracles_lines() {
    let (sandbox, texts) = three();
    let inputs = [("a b c", &texts[..]), ("a b", &texts[..2])];
    for &(files, texts) in sweep::some(&inputs, 1) {
        let options = format!("--memory 32M --bits-per-key 4 {KEY} {files}");
        let compare = format!(
            "compare --operation diff --list-missing ../out/missing --stats ../out/stats {options}"
        );
        let said = text(&sandbox.run(&compare));
        let bloom = format!("diff -q --strategy bloom {options}");
        let bloom = sandbox.run(&bloom).stdout;
        let listed = fs::read(sandbox.output("missing")).unwrap();
        let mut found = set(&listed);
        found.remove(&b""[..]);
        let all = alone(texts);
        let missing = &all - &set(&bloom);
        assert!(found == missing, "{files}: {} listed", found.len());
        assert!(missing.len() > 2000, "{files}: {}", missing.len());
        let stats = report(&sandbox, "stats");
        check_figures(&stats, all.len(), missing.len());
        // The filter has each distinct line of the others once, however many files have it.
        let others: BTreeSet<&[u8]> = texts[1..].iter().flat_map(|text| set(text)).collect();
        let known = &stats["filter_lines"];
        let others = others.len() as f64 - 1.0;
        assert!(number(known, "/low") <= others && number(known, "/high") >= others);
        for part in [
            "missing lines",
            "lines that only the first file has, ",
            "recall: ",
            "no lines are false",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn l14_a_sweep_of_rates_measures_each_and_a_sweep_of_limits_keeps_each() {
    let sandbox = Sandbox::with(&lines(0..300_000), &lines(200_000..500_000));
    let compare = "compare -q --operation difference a b --stats ../out/stats";
    let said = text(&sandbox.run(&format!("{compare} -m 64M --sweep max-fpr=10%,1%")));
    assert_eq!(said.lines().count(), 3, "{said}");
    assert!(said.contains("first only") && said.contains("recall"));
    let stats = report(&sandbox, "stats");
    for (point, fpr) in [(0, 0.1), (1, 0.01)] {
        let point = &stats["points"][point];
        let measured = number(point, "/measured_fpr");
        assert!((measured / fpr - 1.0).abs() < 0.15, "{measured}, {fpr}");
        let (low, high) = (
            number(point, "/measured_fpr_bounds/low"),
            number(point, "/measured_fpr_bounds/high"),
        );
        assert!(low < measured && measured < high);
        assert_eq!(point["exact"]["output"]["lines"], 200_000);
    }
    let limits = "--bits-per-key 3 --sweep memory=16M,48M";
    let (outcome, peak) = measured(&sandbox, &format!("{compare} {limits}"));
    outcome.succeeds();
    assert!(peak <= 48 << 20, "{peak}");
    let stats = report(&sandbox, "stats");
    for (point, limit) in [(0, 16 << 20), (1, 48 << 20)] {
        let point = &stats["points"][point];
        assert_eq!(point["memory"]["limit_bytes"], limit);
        assert!(point["memory"]["peak_rss_bytes"].as_u64() <= Some(limit));
        assert!(point["missing_lines"].as_u64() > Some(10_000), "{point}");
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn l14_a_difference_that_spills_is_compared_under_the_smallest_limit() {
    let texts = [megabytes(20, 0), megabytes(20, 300_000)];
    let sandbox = Sandbox::with(&texts[0], &texts[1]);
    let (outcome, peak) = measured(
        &sandbox,
        "compare -q --operation diff --memory 16M --bits-per-key 2 --strategy partition --stats ../out/stats a b",
    );
    outcome.succeeds();
    assert!(peak <= 16 << 20, "{peak}");
    let stats = report(&sandbox, "stats");
    assert!(number(&stats, "/exact/temp/peak_bytes") > 1e6, "{stats}");
    let missing = stats["missing_lines"].as_u64().unwrap();
    check_figures(&stats, 300_000, missing as usize);
}

#[test]
fn l14_sides_of_many_files_and_files_given_twice_are_compared() {
    let (sandbox, texts) = three();
    let compare =
        format!("compare -q --operation minus --bits-per-key 4 --stats ../out/stats {KEY}");
    sandbox
        .run(&format!("{compare} --side a --side b c"))
        .succeeds();
    let stats = report(&sandbox, "stats");
    let missing = stats["missing_lines"].as_u64().unwrap();
    check_figures(&stats, alone(&texts).len(), missing as usize);
    // What a file lacks of itself is nothing, and no line of it could be missing.
    for files in ["a a", "a b a"] {
        let said = text(&sandbox.run(&format!("{compare} {files}")));
        assert!(said.contains("no line could pass by mistake"), "{said}");
        let stats = report(&sandbox, "stats");
        assert_eq!(stats["missing_lines"], 0);
        assert_eq!(
            (&stats["measured_fpr"], &stats["recall"]),
            (&Value::Null, &Value::from(1.0))
        );
    }
}

#[test]
fn l14_what_a_bloom_filter_loses_of_a_data_set_is_said_in_words() {
    let sandbox = Sandbox::new();
    let document = |number: u32| {
        format!(
            "{{\"id\": {number}, \"text\": \"no {}\\nend\"}}\n",
            number % 30_000
        )
    };
    let shard = |numbers: std::ops::Range<u32>| numbers.map(document).collect::<String>();
    sandbox.write("a", shard(0..25_000));
    sandbox.write("b", shard(20_000..50_000));
    let said = text(&sandbox.run(&format!(
        "compare -q --operation dedup --jsonl -k text --bits-per-key 4 --list-missing ../out/missing \
         --stats ../out/stats --report ../out/page {KEY} --side a b"
    )));
    let stats = report(&sandbox, "stats");
    let missing = stats["missing_lines"].as_u64().unwrap();
    assert!(missing > 100, "{missing}");
    let lost = said
        .lines()
        .find(|line| line.starts_with("lost: "))
        .unwrap();
    let begin = format!("lost: {missing} of 30,000 distinct lines, with a Bloom filter of ");
    assert!(lost.starts_with(&begin), "{lost}");
    let predicted = lost.split("(predicted: ").nth(1).unwrap();
    let predicted: f64 = predicted.trim_end_matches(')').parse().unwrap();
    assert!((missing as f64 / predicted - 1.0).abs() < 0.3, "{lost}");
    for part in [
        "of the 30,000 lines that came for the first time, ",
        " at the end, computed from the contents of the filter",
        "recall: ",
        "no lines are false",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(
        (
            &stats["operation"],
            &stats["mistake"],
            &stats["false_lines"]
        ),
        (&"union".into(), &"missing_lines".into(), &0.into())
    );
    let (low, high) = (
        number(&stats, "/measured_fpr_bounds/low"),
        number(&stats, "/measured_fpr_bounds/high"),
    );
    let predicted = number(&stats, "/predicted_fpr");
    assert!(
        low < predicted * 1.3 && predicted < high * 1.3,
        "{low} {high}"
    );
    let page = fs::read_to_string(sandbox.output("page")).unwrap();
    assert!(page.contains("Exact and approximate union") && page.contains("took it for one of"));
    // Each key once, all of them of the data set.
    let listed = fs::read_to_string(sandbox.output("missing")).unwrap();
    let found: BTreeSet<&str> = listed.lines().collect();
    assert_eq!(
        (found.len(), listed.lines().count() as u64),
        (missing as usize, missing)
    );
    let is_key = |key: &&str| {
        let number = key
            .strip_prefix("\"no ")
            .and_then(|key| key.strip_suffix("\\nend\""));
        number.is_some_and(|number| number.parse::<u32>().is_ok_and(|number| number < 30_000))
    };
    assert!(found.iter().all(is_key), "{listed}");
}

#[test]
fn l14_operations_and_lists_that_have_no_meaning_are_wrong_usage() {
    let (sandbox, _) = three();
    for (arguments, code, parts) in [
        (
            "--operation symdiff a b",
            2,
            &[
                "--operation: ",
                "symdiff has no approximate result",
                "compare intersect, diff or union",
            ][..],
        ),
        ("--operation union", 2, &["FILE"]),
        ("--operation union a -", 2, &["-: ", "several times"]),
        (
            "--operation union --list-false ../out/f a b",
            2,
            &["--list-false", "union", "use --list-missing"],
        ),
        (
            "--operation overlaps a b",
            2,
            &["overlaps has no approximate result"],
        ),
        ("--operation sum a b", 2, &["sum"]),
        ("--operation diff a", 2, &["one file given", "two or more"]),
        ("a b c", 2, &["3 files given", "give two"]),
        ("--operation diff a b -", 2, &["-: ", "several times"]),
        ("--operation diff a absent", 3, &["absent: "]),
        (
            "--operation diff --list-false ../out/f a b",
            2,
            &["--list-false", "use --list-missing"],
        ),
        (
            "--list-missing ../out/f a b",
            2,
            &["--list-missing", "use --list-false"],
        ),
        (
            "--operation diff --list-missing ../out/f --sweep memory=32M a b",
            2,
            &["--list-missing"],
        ),
        (
            "--operation diff --list-missing b a b",
            2,
            &["this command reads it"],
        ),
        (
            "--operation diff --bits-per-key 2 --max-fpr 1% a b",
            6,
            &["false-positive rate"],
        ),
    ] {
        let outcome = sandbox.run(&format!("compare {arguments}"));
        outcome.fails(code, parts);
        assert!(outcome.stdout.is_empty(), "{arguments}");
    }
    assert!(!sandbox.output("f").exists());
}
