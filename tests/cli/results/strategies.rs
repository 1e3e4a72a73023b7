//! The results of strategies: the same lines by every one, and the options that choose one.

use std::collections::BTreeSet;

use differential::sweep;

use crate::data::{EXACT, addresses, common, lines, megabytes, small, split};
use crate::json::{number, parse};
use crate::sandbox::Sandbox;

#[test]
fn every_exact_strategy_writes_the_common_lines_once_and_says_nothing() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    for strategy in EXACT {
        sandbox
            .run(&format!("intersect a b --strategy {strategy}"))
            .succeeds_silently()
            .has_lines(&common(&[&a, &b]));
    }
}

#[test]
#[ignore = "slow: the tests of limits and labels compare results that spill, too"]
fn a_result_that_spills_is_the_same_for_every_exact_strategy() {
    let (a, b) = (megabytes(8, 0), megabytes(8, 100_000));
    let sandbox = Sandbox::with(&a, &b);
    let expected = common(&[&a, &b]);
    for strategy in ["auto", "partition", "sieve"] {
        sandbox
            .run(&format!("intersect a b --strategy {strategy} --memory 16M"))
            .succeeds_silently()
            .has_lines(&expected);
    }
}

#[test]
fn bloom_misses_no_line_adds_only_lines_of_the_larger_input_and_each_once() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let outcome = sandbox.run("intersect a b --strategy bloom --bits-per-key 4");
    outcome.succeeds();
    let written = split(&outcome.stdout, b'\n');
    let distinct: BTreeSet<&[u8]> = written.iter().copied().collect();
    assert_eq!(written.len(), distinct.len());
    assert!(distinct.is_superset(&common(&[&a, &b])));
    assert!(distinct.is_subset(&common(&[&b])));
    // 3000 lines are not common, and 4 bits a key let 15 % of them pass.
    let false_lines = distinct.len() - common(&[&a, &b]).len();
    assert!((200..900).contains(&false_lines), "{false_lines}");
}

#[test]
fn an_approximate_result_is_labelled_even_when_quiet_and_an_exact_one_is_not() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    for (quiet, lines) in [("", 2), ("-q", 1), ("--quiet", 1)] {
        let outcome = sandbox.run(&format!("intersect a b --strategy bloom {quiet}"));
        assert_eq!(
            outcome.succeeds().stderr.lines().count(),
            lines,
            "{outcome}"
        );
        assert!(
            outcome.stderr.starts_with("outset: approximate"),
            "{outcome}"
        );
    }
    sandbox
        .run("intersect a b --max-fpr 5% -q")
        .succeeds_silently();
}

#[test]
fn addresses_are_intersected_with_and_without_room_for_the_bitmap() {
    let (a, b, c) = (
        addresses(0..3000),
        addresses(1000..9000),
        addresses(500..1500),
    );
    let sandbox = Sandbox::with(&a, &b);
    sandbox.write("c", &c);
    for memory in ["16M", "600M", "1G", "1200M"] {
        for (inputs, expected) in [("a b", common(&[&a, &b])), ("b c a", common(&[&a, &b, &c]))] {
            sandbox
                .run(&format!(
                    "intersect {inputs} --key-type ipv4 --memory {memory}"
                ))
                .succeeds_silently()
                .has_lines(&expected);
        }
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn addresses_alone_and_records_of_addresses_come_through_a_bitmap() {
    let (shared, alone) = (addresses(1000..3000), addresses(0..1000));
    let twice = [&alone[..], &shared, &alone, &shared].concat();
    let sandbox = Sandbox::with(&twice, &addresses(1000..9000));
    sandbox.write("rows", rows_of(&twice));
    for memory in ["16M", "600M", "1200M"] {
        let written = |words: &str| {
            let outcome = sandbox.run(&format!("{words} --key-type ipv4 -m {memory}"));
            outcome.succeeds_silently();
            outcome.stdout
        };
        let any_order = |words: &str, expected: &[u8]| {
            assert!(
                sorted(&written(words)) == sorted(expected),
                "{words} -m {memory}"
            );
        };
        any_order("diff a b", &alone);
        any_order("diff a a", b"");
        any_order("diff a b --repeats", &[&alone[..], &alone].concat());
        any_order("intersect a a b", &shared);
        any_order(
            "intersect a a b --repeats",
            &[&shared[..], &shared].concat(),
        );
        for (operation, text) in [("intersect", &shared), ("diff", &alone)] {
            let keyed = format!("{operation} --tsv -k 2 rows b --key-of 2=1");
            let records = rows_of(&[&text[..], text].concat());
            any_order(&keyed, &records);
            any_order(&format!("{keyed} --distinct"), &rows_of(text));
            any_order(&format!("{keyed} --keys-only"), text);
            let ordered = written(&format!("{keyed} --order input"));
            assert!(ordered == records, "{keyed} -m {memory}");
        }
    }
}

/// Each line as the second of three columns.
fn rows_of(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    let row = |line: &[u8]| [b"row\t", line.trim_ascii_end(), b"\tend\n"].concat();
    lines.flat_map(row).collect()
}

fn sorted(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_line_that_is_no_address_fails_the_run_with_its_file_and_location() {
    let mut bad = addresses(0..100);
    let offset = bad.len();
    bad.extend(b"10.0.0.256\n");
    bad.extend(addresses(100..200));
    let sandbox = Sandbox::with(&addresses(0..300), &bad);
    for memory in ["16M", "1G"] {
        for strategy in ["auto", "memory", "partition", "sieve", "bloom"] {
            sandbox
                .run(&format!(
                    "intersect a b --key-type ipv4 --memory {memory} --strategy {strategy} -o ../out/r"
                ))
                .fails(3, &["b: ", &format!("byte {offset} "), "10.0.0.256"]);
        }
    }
}

#[test]
fn any_number_of_buckets_and_threads_gives_the_same_lines() {
    buckets_and_threads(1, &[1, 7]);
}

#[test]
#[ignore = "slow: thousands of files"]
fn a_thousand_buckets_give_the_same_lines() {
    buckets_and_threads(3, &[1, 7, 1000]);
}

/// Runs over inputs of so many megabytes with each number of buckets, and each strategy with numbers of threads.
fn buckets_and_threads(size: u64, numbers: &[u32]) {
    let (a, b) = (megabytes(size, 0), megabytes(size, size * 16_000));
    let sandbox = Sandbox::with(&a, &b);
    let expected = common(&[&a, &b]);
    for (strategy, memory) in [("partition", "32M"), ("sieve", "128M")] {
        for &buckets in numbers {
            let outcome = sandbox.run(&format!(
                "intersect a b --strategy {strategy} --buckets {buckets} --memory {memory} --stats -"
            ));
            outcome.succeeds().has_lines(&expected);
            let stats = parse(outcome.stderr.as_bytes());
            assert_eq!(number(&stats, "/buckets/count"), f64::from(buckets));
        }
    }
    for (strategy, threads) in sweep::pairs(&EXACT, &["-j 1", "--threads 2", "-j 16"]) {
        sandbox
            .run(&format!(
                "intersect a b --strategy {strategy} {threads} --memory 64M"
            ))
            .succeeds_silently()
            .has_lines(&expected);
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn h3_a_bucket_that_does_not_fit_memory_is_split() {
    let (a, b) = (megabytes(14, 0), megabytes(14, 200_000));
    let sandbox = Sandbox::with(&a, &b);
    let outcome =
        sandbox.run("intersect a b --strategy partition --buckets 1 --memory 16M --stats -");
    outcome.succeeds().has_lines(&common(&[&a, &b]));
    let stats = parse(outcome.stderr.as_bytes());
    assert!(number(&stats, "/buckets/split") >= 1.0, "{stats:#}");
    assert!(number(&stats, "/buckets/levels") >= 2.0, "{stats:#}");
}

#[test]
fn h6_a_fixed_hash_key_reproduces_a_run() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let run = || {
        let key = "0123456789abcdef".repeat(4);
        let outcome = sandbox.run(&format!(
            "intersect a b --strategy bloom --bits-per-key 3 --hash-key {key} -j 1"
        ));
        outcome.succeeds();
        let mut lines: Vec<Vec<u8>> = split(&outcome.stdout, b'\n')
            .into_iter()
            .map(<[u8]>::to_vec)
            .collect();
        lines.sort();
        lines
    };
    let first = run();
    assert!(first.len() > 1000, "no false lines: nothing is shown");
    assert_eq!(first, run());
}

#[test]
fn a_bloom_filter_with_too_high_a_rate_is_refused_before_anything_is_done() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    sandbox
        .run("intersect a b --strategy bloom --bits-per-key 8 --max-fpr 0.000001 -o ../out/r")
        .fails(6, &["max-fpr", "rate"]);
    sandbox
        .run("intersect a b --strategy bloom --bits-per-key 8 --max-fpr 3%")
        .succeeds();
}

#[test]
#[ignore = "slow: four thousand files"]
fn h3_a_bucket_of_more_inputs_than_its_parts_have_room_for_is_joined_in_pieces() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..4000).map(|number| format!("n{number}")).collect();
    for (number, name) in (0..).zip(&names) {
        sandbox.write(name, lines(number * 37..number * 37 + 80));
    }
    let names = names.join(" ");
    let outcome = sandbox.run(&format!(
        "union {names} --strategy partition --memory 20M --count-only -q"
    ));
    assert_eq!(outcome.succeeds().stdout, b"148043\n", "{outcome}");
}
