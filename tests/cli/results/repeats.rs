//! The number of times that a line is written: `--repeats`, `--all`, `--count`, against the oracle and against `comm`,
//! `uniq` and `grep`.

use std::process::Command;

use differential::{oracle, sweep};
use outset::Order;

use crate::data::{lines, megabytes, split};
use crate::sandbox::Sandbox;

/// The words of a command, and how often it writes a line, given how often each file has it.
type Job = (&'static str, fn(&[usize]) -> usize);

const JOBS: [Job; 6] = [
    (
        "diff --repeats",
        |counts| {
            if counts[1] == 0 { counts[0] } else { 0 }
        },
    ),
    ("intersect --repeats", |counts| {
        if counts[1] > 0 { counts[0] } else { 0 }
    }),
    ("diff --all", |counts| counts[0].saturating_sub(counts[1])),
    ("intersect --all", |counts| counts[0].min(counts[1])),
    ("union --all", |counts| counts[0] + counts[1]),
    ("symdiff --all", |counts| counts[0].abs_diff(counts[1])),
];
const EXACT: [&str; 4] = ["auto", "memory", "partition", "sieve"];

/// Two texts in which lines come once, twice, and more often in the one or the other, in no order.
fn repeating() -> [Vec<u8>; 2] {
    [
        [
            lines(0..3000),
            lines(1000..2000),
            lines(1500..2500),
            lines(1500..1600),
        ],
        [
            lines(2000..5000),
            lines(1400..2200),
            lines(1500..1550),
            lines(4000..4500),
        ],
    ]
    .map(|parts| parts.concat())
}

fn expected(texts: &[Vec<u8>; 2], times: fn(&[usize]) -> usize) -> Vec<Vec<u8>> {
    let lines = texts.each_ref().map(|text| split(text, b'\n'));
    oracle::selected(&lines, (Order::Any, false), times, |_| String::new())
}

/// Returns the lines that a run writes, sorted.
fn written(sandbox: &Sandbox, arguments: &str) -> Vec<Vec<u8>> {
    let outcome = sandbox.run(arguments);
    let stdout = &outcome.succeeds().stdout;
    let mut lines = split(stdout, b'\n');
    oracle::sort(&mut lines);
    lines.into_iter().map(<[u8]>::to_vec).collect()
}

fn same(found: &[Vec<u8>], expected: &[Vec<u8>], what: &str) {
    assert!(
        found == expected,
        "{what}: {} lines instead of {}",
        found.len(),
        expected.len()
    );
}

#[test]
fn l9_repeats_are_those_of_the_oracle_by_every_strategy() {
    let texts = repeating();
    let sandbox = Sandbox::with(&texts[0], &texts[1]);
    for (&(words, times), strategy) in sweep::pairs(&JOBS, &EXACT) {
        let arguments = format!("{words} a b --strategy {strategy}");
        let found = written(&sandbox, &arguments);
        same(&found, &expected(&texts, times), &arguments);
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn l9_repeats_that_spill_are_those_of_the_oracle() {
    repeats_that_spill(5);
}

#[test]
#[ignore = "slow: a dozen runs over 38 MB"]
fn l9_repeats_that_spill_are_those_of_the_oracle_by_every_strategy() {
    repeats_that_spill(1);
}

/// Runs the jobs by the strategies that spill, over this part of 38 MB.
fn repeats_that_spill(part: u64) {
    let again = lines(0..100_000 / part);
    let texts = [
        [&megabytes(14 / part, 0)[..], &again, &again].concat(),
        [
            megabytes(14 / part, 350_000 / part),
            lines(50_000 / part..120_000 / part),
        ]
        .concat(),
    ];
    let sandbox = Sandbox::with(&texts[0], &texts[1]);
    for (&(words, times), strategy) in sweep::pairs(&JOBS, &["partition", "sieve"]) {
        let arguments = format!("{words} a b --strategy {strategy} --memory 16M -j 3");
        let found = written(&sandbox, &arguments);
        same(&found, &expected(&texts, times), &arguments);
    }
}

#[test]
fn l9_the_number_of_occurrences_is_counted_over_all_files() {
    let texts = repeating();
    let sandbox = Sandbox::with(&texts[0], &texts[1]);
    let third = lines(0..10);
    sandbox.write("c", &third);
    let lines = [&texts[0][..], &texts[1], &third].map(|text| split(text, b'\n'));
    let sum = |counts: &[usize]| format!("{}\t", counts.iter().sum::<usize>());
    let jobs: [Job; 3] = [
        ("union --count", |_| 1),
        ("diff -c", |counts| {
            usize::from(counts[0] > 0 && counts[1] + counts[2] == 0)
        }),
        ("intersect -c --at-least 2", |counts| {
            usize::from(counts.iter().filter(|&&count| count > 0).count() >= 2)
        }),
    ];
    for (words, times) in jobs {
        let mut expected = oracle::selected(&lines, (Order::Any, false), times, sum);
        expected.sort_unstable();
        for strategy in EXACT {
            let arguments = format!("{words} a b c --strategy {strategy}");
            same(&written(&sandbox, &arguments), &expected, &arguments);
        }
    }
}

/// Returns the lines that a shell prints in the directory of the inputs, sorted; nothing of the locale counts.
fn shell(sandbox: &Sandbox, script: &str) -> Vec<Vec<u8>> {
    let mut command = Command::new("bash");
    command.arg("-c").arg(script).env("LC_ALL", "C");
    command.current_dir(sandbox.input("a").parent().unwrap());
    let output = command.output().unwrap();
    let mut lines: Vec<Vec<u8>> = split(&output.stdout, b'\n')
        .iter()
        .map(|l| l.to_vec())
        .collect();
    lines.sort_unstable();
    lines
}

#[test]
fn l9_multisets_are_what_comm_and_grep_and_uniq_make_of_them() {
    let texts = repeating();
    let sandbox = Sandbox::with(&texts[0], &texts[1]);
    for (words, script) in [
        ("intersect --all", "comm -12 <(sort a) <(sort b)"),
        ("diff --all", "comm -23 <(sort a) <(sort b)"),
        ("symdiff --all", "comm -3 <(sort a) <(sort b) | tr -d '\\t'"),
        ("union --all", "cat a b"),
        ("diff --repeats", "grep -vxFf b a"),
        ("intersect --repeats", "grep -xFf b a"),
        ("diff", "comm -23 <(sort -u a) <(sort -u b)"),
        ("symdiff", "comm -3 <(sort -u a) <(sort -u b) | tr -d '\\t'"),
        ("union", "sort -u a b"),
        (
            "union -c",
            "sort a b | uniq -c | sed -E 's/^ *([0-9]+) /\\1\\t/'",
        ),
    ] {
        let expected = shell(&sandbox, script);
        assert!(expected.len() > 500, "{script}: {}", expected.len());
        let arguments = format!("{words} a b");
        same(&written(&sandbox, &arguments), &expected, &arguments);
    }
}

#[test]
fn l9_what_cannot_be_counted_together_is_wrong_usage() {
    let sandbox = Sandbox::with(b"a\n", b"b\n");
    for (arguments, parts) in [
        ("symdiff --all a b a", &["3 multisets", "two files"][..]),
        (
            "intersect --all --at-least 2 a b a",
            &["--all", "--at-least"],
        ),
        ("intersect --repeats --at-least 2 a b a", &["--repeats"]),
        ("diff --all --repeats a b", &["--repeats", "--all"]),
        ("union --all --count a b", &["--all", "--count"]),
        ("diff --all --which a b", &["--all", "--which"]),
    ] {
        sandbox.run(arguments).fails(2, parts);
    }
}
