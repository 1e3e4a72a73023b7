//! The memory of filters, measured from outside: a filter that is asked may be larger than the limit, one that is built
//! or changed must fit, and what is refused says which limit would do.

use std::io::Write;

use bzip2::Compression;
use bzip2::write::BzEncoder;
use differential::sweep;

use crate::data::{lines, megabytes};
use crate::limits::memory::measured;
use crate::sandbox::{Outcome, Sandbox};

/// Runs under a limit of `mebibytes` MiB, which must be kept.
fn under(sandbox: &Sandbox, mebibytes: u64, arguments: &str) -> Outcome {
    let arguments = format!("{arguments} --memory {mebibytes}M");
    let (outcome, peak) = measured(sandbox, &arguments);
    assert!(outcome.status.success(), "{arguments}: {outcome}");
    assert!(
        peak > 2 << 20 && peak <= mebibytes << 20,
        "{arguments}: {} KiB resident, {} KiB over the limit",
        peak >> 10,
        peak.saturating_sub(mebibytes << 20) >> 10
    );
    outcome
}

/// A sandbox with a filter of 64 MiB that has the 40,000 lines of `a`; `b` has every fourth of them and as many others.
fn with_large_filter(kind: &str) -> Sandbox {
    let asked: Vec<u8> = (0..40_000u64)
        .step_by(4)
        .flat_map(|number| {
            [
                lines(number..number + 1),
                lines(1 << 30 | number..(1 << 30 | number) + 1),
            ]
        })
        .flatten()
        .collect();
    let sandbox = Sandbox::with(&lines(0..40_000), &asked);
    sandbox
        .run(&format!(
            "filter build a -o ../out/f --kind {kind} --lines 1M --size 64M --memory 128M"
        ))
        .succeeds_silently();
    sandbox
}

/// The lines of the sandbox's `b` that its filter has.
fn known() -> Vec<u8> {
    let numbers = (0..40_000u64).step_by(4);
    numbers
        .flat_map(|number| lines(number..number + 1))
        .collect()
}

const KINDS: [&str; 5] = ["fingerprint", "blocked", "classic", "counting", "spectral"];

#[test]
#[ignore = "slow: more than a second"]
fn a_filter_larger_than_memory_answers_as_any_other() {
    // Those that tell whether they have a line, and those that count it.
    for kind in sweep::some(&["blocked", "classic", "fingerprint"], 1) {
        let sandbox = with_large_filter(kind);
        for options in ["--memory 16M -j 4", "--memory 32M -j 1"] {
            let outcome = sandbox.run(&format!("filter query ../out/f b {options}"));
            assert!(
                outcome.succeeds_silently().stdout == known(),
                "{kind}: {outcome}"
            );
        }
        let absent = sandbox.run("filter query ../out/f b --invert --count-only --memory 16M");
        assert_eq!(absent.succeeds_silently().stdout, b"10000\n", "{kind}");
        // Its checksums and cells are looked at in pieces.
        let (outcome, peak) = measured(&sandbox, "filter info ../out/f --json");
        assert!(outcome.status.success() && peak <= 16 << 20, "{peak}");
    }
    for kind in sweep::some(&["counting", "spectral"], 1) {
        let sandbox = with_large_filter(kind);
        let outcome = sandbox.run("filter count ../out/f b -j 4 --memory 16M");
        let table = String::from_utf8(outcome.succeeds_silently().stdout.clone()).unwrap();
        let expected = ["\t1", "\t0"].into_iter().cycle();
        assert_eq!(table.lines().count(), 20_000);
        let mut rows = table.lines().zip(expected);
        assert!(rows.all(|(row, end)| row.ends_with(end)), "{kind}");
    }
}

#[test]
fn a_filter_larger_than_memory_is_asked_under_the_limit() {
    for kind in sweep::some(&KINDS, 1) {
        let sandbox = with_large_filter(kind);
        for (limit, threads) in [(16, 4), (32, 1)] {
            let query = format!("filter query ../out/f b -j {threads}");
            under(&sandbox, limit, &query);
        }
        under(&sandbox, 16, "intersect --filter ../out/f b --count-only");
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn a_filter_is_built_changed_and_merged_under_the_limit() {
    let sandbox = Sandbox::with(&megabytes(6, 0), &megabytes(6, 100_000));
    for kind in sweep::some(&KINDS, 2) {
        let build = format!("filter build -o ../out/f --kind {kind} --lines 900000 --size 20M");
        under(&sandbox, 40, &format!("{build} a -j 4"));
        under(&sandbox, 40, "filter insert ../out/f b -j 1");
        under(&sandbox, 40, "filter insert ../out/f a b --print-new -j 2");
        under(&sandbox, 40, "filter build --like ../out/f b -o ../out/g");
        under(&sandbox, 80, "filter merge ../out/f ../out/g -o ../out/h");
    }
}

#[test]
fn a_table_of_digests_that_must_grow_keeps_to_the_limit_or_says_so() {
    let sandbox = Sandbox::with(&megabytes(12, 0), b"");
    sandbox
        .run("filter build -o ../out/f --kind fingerprint --lines 1000")
        .succeeds_silently();
    under(&sandbox, 64, "filter insert ../out/f a");
    let outcome = sandbox.run("filter insert ../out/f a");
    outcome.succeeds_silently();
    sandbox
        .run("filter build a -o ../out/small --kind fingerprint --lines 1000 --memory 16M")
        .fails(6, &["memory"]);
}

/// The limit that a message tells, in mebibytes.
fn advised(outcome: &Outcome) -> u64 {
    let (_, advice) = outcome.stderr.rsplit_once("at least ").unwrap();
    let (number, _) = advice.split_once(" MiB").unwrap();
    number.parse().unwrap()
}

#[test]
#[ignore = "slow: more than a second"]
fn a_filter_that_does_not_fit_is_refused_with_a_limit_that_does() {
    let sandbox = Sandbox::with(&lines(0..10_000), &lines(5000..15_000));
    let build = "filter build a -o ../out/f --lines 10M --size 64M";
    let refused = sandbox.run(&format!("{build} --memory 32M"));
    refused.fails(6, &["memory limit", "64 MiB"]);
    let enough = advised(&refused);
    sandbox
        .run(&format!("{build} --memory {}M", enough * 9 / 10))
        .fails(6, &["at least"]);
    under(&sandbox, enough, build);
    for command in [
        "filter insert ../out/f b",
        "filter insert ../out/f b --print-new",
        "filter merge ../out/f ../out/f -o ../out/g",
    ] {
        let refused = sandbox.run(&format!("{command} --memory 32M"));
        refused.fails(6, &["memory limit", "does not fit in 32 MiB"]);
        under(&sandbox, advised(&refused), command);
    }
}

#[test]
fn c12_the_first_limit_that_a_filter_of_compressed_lines_is_advised_does() {
    let sandbox = Sandbox::new();
    // They are counted before they are inserted, and decoded both times. The decoder of such blocks fills 3.6 MiB,
    // which stay with the process.
    let mut packed = BzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&megabytes(2, 0)).unwrap();
    sandbox.write("a", packed.finish().unwrap());
    let refused = sandbox.run("filter build a -o ../out/f --memory 8M");
    refused.fails(6, &["decoding takes 3.6 MiB"]);
    under(&sandbox, advised(&refused), "filter build a -o ../out/f");
}
