//! Unions into a file, which is the set itself.

use std::fmt::Write as _;
use std::fs;

use differential::sweep;

use crate::json::{number, parse};
use crate::limits::memory::measured;
use crate::sandbox::Sandbox;

/// Writes JSON documents to files `a` and `b`, of which a third have a text that came before; returns those that are
/// the first with their text.
fn documents(sandbox: &Sandbox, count: u64) -> String {
    let mut first = String::new();
    for (name, start) in [("a", 0), ("b", count)] {
        let mut all = String::new();
        for index in start..start + count {
            let is_again = index % 3 == 2;
            let number = if is_again { index / 7 * 3 } else { index };
            let length = 20 + number * 7919 % 1900;
            let words = format!("{number} \\n ").repeat(length as usize / 8);
            let document = format!("{{\"id\":{index},\"text\":\"{words}\"}}\n");
            all.push_str(&document);
            if !is_again {
                first.push_str(&document);
            }
        }
        sandbox.write(name, all);
    }
    first
}

#[test]
fn l1_a_union_into_a_file_needs_no_temporary_disk_and_has_the_first_of_each_key() {
    let sandbox = Sandbox::new();
    let expected = documents(&sandbox, 6000);
    for order in ["", "--order input"] {
        let outcome = sandbox.run(&format!(
            "union --jsonl -k text a b {order} -m 20M -o ../out/out --stats ../out/stats"
        ));
        outcome.succeeds();
        assert!(
            fs::read_to_string(sandbox.output("out")).unwrap() == expected,
            "{order}"
        );
        let stats = parse(&fs::read(sandbox.output("stats")).unwrap());
        assert_eq!(stats["strategy"], "memory");
        assert_eq!(number(&stats, "/temp/written_bytes"), 0.0);
        assert_eq!(number(&stats, "/output/bytes"), expected.len() as f64);
    }
}

#[test]
fn l1_a_key_is_the_same_however_the_record_that_was_written_spells_it() {
    // Keys that are pieces of their records, and the same with escapes that are read.
    let spellings = [
        ["line\\nend", "line\\u000aend", "line\\u000Aend"],
        ["plain", "\\u0070lain", "pl\\u0061in"],
    ];
    for turn in 0..3 {
        let sandbox = Sandbox::new();
        // Longer than what is kept of the result in memory, its key at the end. It comes again at once.
        let long = "-".repeat(600_000);
        let long = format!("{{\"rest\":\"{long}\",\"text\":\"long\"}}\n");
        let mut expected = String::new();
        for (file, name) in ["a", "b", "c"].into_iter().enumerate() {
            let mut all = String::new();
            for number in 0..900 {
                let text = spellings[number % 2][(file + turn) % 3];
                let tail = "-".repeat(number * 31 % 700);
                let record = format!(
                    "{{\"file\":{file},\"text\":\"{text}{tail}{number}\",\"rest\":\"{tail}\"}}\n"
                );
                all.push_str(&record);
                if number == 450 {
                    all.push_str(&long);
                }
            }
            if file == 0 {
                expected.clone_from(&all);
            }
            sandbox.write(name, all.replace(&long, &long.repeat(2)));
        }
        // With two columns the key is never a piece.
        for (keys, memory) in [("text", "20M"), ("text", "64M"), ("text,rest", "20M")] {
            let arguments = format!(
                "union --jsonl -k {keys} a b c --strategy memory -m {memory} -o ../out/out"
            );
            sandbox.run(&arguments).succeeds();
            let written = fs::read_to_string(sandbox.output("out")).unwrap();
            assert!(written == expected, "{turn}: {arguments}");
        }
    }
}

#[test]
fn l1_a_result_that_cannot_be_read_again_is_a_union_by_another_strategy() {
    let sandbox = Sandbox::new();
    let expected = documents(&sandbox, 2000);
    let mut sorted: Vec<&str> = expected.lines().collect();
    sorted.sort_unstable();
    for (arguments, file) in [
        ("", None),
        ("-o ../out/out.zst", Some("out.zst")),
        ("-o /dev/stdout", None),
    ] {
        let outcome = sandbox.run(&format!(
            "union --jsonl -k text a b -m 20M {arguments} --stats ../out/stats"
        ));
        outcome.succeeds();
        let stats = parse(&fs::read(sandbox.output("stats")).unwrap());
        assert_ne!(stats["strategy"], "memory", "{arguments}");
        assert_eq!(
            number(&stats, "/output/lines"),
            sorted.len() as f64,
            "{arguments}"
        );
        if file.is_none() {
            let text = String::from_utf8(outcome.stdout.clone()).unwrap();
            let mut found: Vec<&str> = text.lines().collect();
            found.sort_unstable();
            assert!(found == sorted, "{arguments}");
        }
    }
    sandbox
        .run("union --jsonl -k text a b -m 20M --strategy memory")
        .fails(
            2,
            &[
                "memory cannot write the first record of each key",
                "write to a file",
            ],
        );
}

#[test]
fn l1_a_plan_takes_the_result_for_a_file_unless_it_is_compressed() {
    let sandbox = Sandbox::new();
    documents(&sandbox, 500);
    for (arguments, is_read_again) in [
        ("", true),
        ("--compress zst", false),
        ("--compress none", true),
    ] {
        let outcome = sandbox.run(&format!(
            "plan --operation union --jsonl -k text a b -m 64M {arguments} --json"
        ));
        let plan = parse(&outcome.succeeds().stdout);
        assert_eq!(plan["strategy"] == "memory", is_read_again, "{arguments}");
    }
    let outcome = sandbox.run("plan --operation union --jsonl -k text a b -m 64M");
    let steps = "write the lines of file 1 that are not in the result yet";
    assert!(
        String::from_utf8_lossy(&outcome.succeeds().stdout).contains(steps),
        "{outcome}"
    );
}

#[test]
fn c1_memory_stays_under_the_limit_while_the_result_is_the_set() {
    let sandbox = Sandbox::new();
    let mut expected = documents(&sandbox, 9000);
    // One that is longer than what is kept of the result in memory, and comes again at the end.
    let long = format!("{{\"text\":\"{}\"}}\n", "long ".repeat(240_000));
    let mut last = long.clone();
    let _infallible = write!(
        last,
        "{}{long}",
        fs::read_to_string(sandbox.input("a")).unwrap()
    );
    sandbox.write("c", last);
    expected.push_str(&long);
    let limits = [("24M", 24 << 20), ("40M", 40 << 20)];
    for (&(limit, bytes), threads) in sweep::pairs(&limits, &[4, 1]) {
        let arguments = format!(
            "union --jsonl -k text a b c --strategy memory -j {threads} --memory {limit} -o ../out/out"
        );
        let (outcome, peak) = measured(&sandbox, &arguments);
        outcome.succeeds();
        assert!(
            fs::read_to_string(sandbox.output("out")).unwrap() == expected,
            "{arguments}"
        );
        assert!(peak <= bytes, "{arguments}: {peak} bytes");
    }
}
