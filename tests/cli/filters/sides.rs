//! A stored filter as one side of an intersection, and the filter of a run that is saved for later ones.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::data::{common, lines, split};
use crate::sandbox::{Sandbox, assert_same_lines};

const BUILD: &str = "filter build a -o ../out/f --max-fpr 1%";

fn sides() -> Sandbox {
    let sandbox = Sandbox::with(&lines(0..20_000), &lines(12_000..60_000).repeat(2));
    sandbox.write("c", lines(15_000..50_000));
    sandbox.run(BUILD).succeeds_silently();
    sandbox
}

/// Returns the lines of an input that the filter lets pass, each once.
fn passing(sandbox: &Sandbox, filter: &str, input: &str) -> BTreeSet<Vec<u8>> {
    let outcome = sandbox.run(&format!("filter query ../out/{filter} {input}"));
    let lines = split(&outcome.succeeds_silently().stdout, b'\n').into_iter();
    lines.map(<[u8]>::to_vec).collect()
}

fn borrowed(lines: &BTreeSet<Vec<u8>>) -> BTreeSet<&[u8]> {
    lines.iter().map(Vec::as_slice).collect()
}

#[test]
fn h7_a_filter_and_a_file_give_what_the_query_gives_each_line_once() {
    let sandbox = sides();
    let expected = passing(&sandbox, "f", "b");
    for options in ["", "--strategy bloom", "--memory 16M", "-q -j 1"] {
        let outcome = sandbox.run(&format!("intersect --filter ../out/f b {options}"));
        outcome.succeeds().has_lines(&borrowed(&expected));
        assert!(
            outcome.stderr.starts_with("outset: approximate"),
            "{outcome}"
        );
        let lines = if options.contains("-q") { 1 } else { 2 };
        assert_eq!(outcome.stderr.lines().count(), lines, "{outcome}");
    }
    let fed = sandbox.run_fed(
        "intersect --filter ../out/f -",
        &fs::read(sandbox.input("b")).unwrap(),
    );
    fed.succeeds().has_lines(&borrowed(&expected));
}

#[test]
fn the_report_says_which_filter_it_was_and_that_the_result_is_not_exact() {
    let sandbox = sides();
    for kind in ["blocked", "classic", "counting", "spectral", "fingerprint"] {
        sandbox
            .run(&format!("{BUILD} --kind {kind}"))
            .succeeds_silently();
        sandbox
            .run("intersect --filter ../out/f b -o ../out/r --stats ../out/s")
            .succeeds();
        let stats: Value = serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
        let info = sandbox.run("filter info ../out/f --json");
        let info: Value = serde_json::from_slice(&info.stdout).unwrap();
        assert_eq!(stats["exact"], false);
        assert_eq!(stats["strategy"], "bloom");
        let filter = &stats["filter"];
        assert_eq!(filter["kind"], kind);
        for name in ["bits", "hashes", "keys", "bits_per_key", "fill", "fill_fpr"] {
            assert_eq!(filter[name], info[name], "{kind}: {name}");
        }
        let written = fs::read(sandbox.output("r")).unwrap();
        assert_same_lines(&written, b'\n', &borrowed(&passing(&sandbox, "f", "b")));
        let false_lines = split(&written, b'\n').len() as f64 - 8000.0;
        // Each line of b comes twice, and counts once.
        let expected = filter["expected_false_lines"].as_f64().unwrap();
        assert!(
            (false_lines - expected).abs() <= 0.1 * expected + 5.0 * expected.sqrt(),
            "{kind}: {false_lines} false lines, {expected} expected"
        );
    }
}

#[test]
fn a_filter_and_two_files_give_what_is_in_both_and_passes() {
    let sandbox = sides();
    let outcome = sandbox.run("intersect --filter ../out/f b c");
    outcome.succeeds();
    let (b, c) = (lines(12_000..60_000), lines(15_000..50_000));
    let found: BTreeSet<&[u8]> = split(&outcome.stdout, b'\n').into_iter().collect();
    let needed = lines(15_000..20_000);
    assert!(found.is_superset(&common(&[&needed])));
    // The second filter may let lines of the last file pass, too: few of either.
    let last = [b, c].concat();
    assert!(found.is_subset(&common(&[&last])));
    assert!(found.len() < 5000 + 1000, "{}", found.len());
    assert!(
        outcome.stderr.starts_with("outset: approximate"),
        "{outcome}"
    );
}

#[test]
fn a_rate_that_is_too_high_is_refused_and_one_that_is_not_is_taken() {
    let sandbox = sides();
    sandbox
        .run("intersect --filter ../out/f b --max-fpr 2% --count-only")
        .succeeds();
    sandbox
        .run("intersect --filter ../out/f b --max-fpr 0.1% -o ../out/r")
        .fails(6, &["max-fpr", "0.1"]);
}

#[test]
fn what_a_filter_cannot_be_part_of_is_refused_with_the_reason() {
    let sandbox = sides();
    sandbox
        .run("intersect --filter ../out/f b -z -o ../out/r")
        .fails(2, &["../out/f", "newline", "-z"]);
    sandbox
        .run("filter build a --strip-cr -o ../out/cr")
        .succeeds_silently();
    sandbox
        .run("intersect --filter ../out/cr b -o ../out/r")
        .fails(2, &["../out/cr", "--strip-cr"]);
    for strategy in ["sieve", "partition", "memory"] {
        sandbox
            .run(&format!(
                "intersect --filter ../out/f b --strategy {strategy}"
            ))
            .fails(2, &["filter"]);
    }
    sandbox
        .run("intersect --filter ../out/f")
        .fails(2, &["FILE"]);
    sandbox
        .run("intersect --filter ../out/f b --save-filter ../out/g")
        .fails(2, &["--filter"]);
    sandbox
        .run("intersect --filter ../out/none b")
        .fails(3, &["../out/none"]);
    sandbox
        .run("intersect --filter a b")
        .fails(7, &["a: is not a filter file"]);
}

#[test]
fn a_saved_filter_answers_for_every_line_of_the_smallest_file() {
    let sandbox = Sandbox::with(&lines(0..20_000), &lines(15_000..90_000));
    for options in [
        "--strategy sieve",
        "--strategy sieve --memory 16M",
        "--strategy bloom",
        "--max-fpr 5%",
        "",
    ] {
        let outcome = sandbox.run(&format!("intersect b a {options} --save-filter ../out/s"));
        outcome.succeeds();
        let found: BTreeSet<&[u8]> = split(&outcome.stdout, b'\n').into_iter().collect();
        assert!(
            found.is_superset(&common(&[&lines(15_000..20_000)])),
            "{options}"
        );
        let all = sandbox.run("filter query ../out/s a --count-only");
        assert_eq!(all.succeeds_silently().stdout, b"20000\n", "{options}");
        let others = sandbox.run("filter query ../out/s b --invert --count-only");
        let others: u64 = String::from_utf8_lossy(&others.stdout)
            .trim()
            .parse()
            .unwrap();
        assert!(others > 60_000, "{options}: {others}");
        // As a side of the next run it stands for the file.
        sandbox
            .run("intersect --filter ../out/s b -o ../out/r")
            .succeeds();
        let text = fs::read(sandbox.output("r")).unwrap();
        let again: BTreeSet<&[u8]> = split(&text, b'\n').into_iter().collect();
        assert!(
            again.is_superset(&common(&[&lines(15_000..20_000)])),
            "{options}"
        );
    }
    sandbox
        .run("intersect a b --strategy partition --save-filter ../out/other")
        .fails(2, &["save-filter"]);
}

#[test]
#[ignore = "slow: more than a second"]
fn a_filter_larger_than_memory_is_a_side_like_any_other() {
    let sandbox = Sandbox::with(&lines(0..20_000), &lines(15_000..90_000));
    for kind in ["blocked", "classic"] {
        sandbox
            .run(&format!(
                "filter build a -o ../out/f --kind {kind} --lines 1M --size 48M --memory 128M"
            ))
            .succeeds_silently();
        for memory in [16, 32] {
            let outcome = sandbox.run(&format!("intersect --filter ../out/f b --memory {memory}M"));
            outcome
                .succeeds()
                .has_lines(&common(&[&lines(15_000..20_000)]));
        }
    }
}

#[test]
fn a_filter_is_not_saved_over_an_input_the_result_or_the_report() {
    let (a, b) = (lines(0..3000), lines(2000..6000));
    let sandbox = Sandbox::with(&a, &b);
    for arguments in [
        "intersect --save-filter a a b --strategy sieve",
        "intersect --save-filter ./b a b --strategy sieve",
        "intersect --save-filter ../out/r -o ../out/r a b --strategy sieve",
        "intersect --save-filter ../out/s --stats ../out/s a b --strategy sieve",
    ] {
        sandbox.run(arguments).fails(2, &["name another file"]);
        assert_eq!(fs::read(sandbox.input("a")).unwrap(), a);
        assert_eq!(fs::read(sandbox.input("b")).unwrap(), b);
    }
}

#[test]
fn a_run_that_fails_leaves_the_filter_that_it_would_have_replaced() {
    let sandbox = Sandbox::with(&lines(0..100_000), &lines(0..100_000));
    fs::write(sandbox.output("s"), b"kept").unwrap();
    sandbox
        .run("intersect a b --save-filter ../out/s --strategy sieve -m 16M --max-temp 4K --buckets 7")
        .fails(4, &["--max-temp"]);
    assert_eq!(fs::read(sandbox.output("s")).unwrap(), b"kept");
}

#[test]
fn a_filter_is_saved_or_the_run_refused_however_little_room_there_is() {
    let sandbox = Sandbox::with(&lines(0..80_000), &lines(40_000..120_000));
    let job = "intersect a b --save-filter ../out/s --buckets 150";
    let outcome = sandbox.run(&format!("{job} -m 16M"));
    outcome.fails(6, &["give at least"]);
    assert!(!sandbox.output("s").exists());
    let enough = outcome.advised();
    sandbox
        .run(&format!("{job} -m {enough} --count-only -q"))
        .succeeds();
    sandbox
        .run("intersect a b --filter ../out/s --count-only -q")
        .succeeds();
}
