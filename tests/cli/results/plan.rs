//! `outset plan`: what it says, and that a run does the same.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

use differential::sweep;
use serde_json::Value;

use crate::data::{lines, megabytes, small};
use crate::json::{assert_has_keys, number, parse};
use crate::sandbox::{Outcome, Sandbox, root};

const FIVE_BILLION: &str = "--lines 5e9,5e9 --line-bytes 64 --memory 4G";

fn plan_json(sandbox: &Sandbox, arguments: &str) -> Value {
    let outcome = sandbox.run(&format!("plan {arguments} --json"));
    parse(&outcome.succeeds_silently().stdout)
}

fn plan_text(sandbox: &Sandbox, arguments: &str) -> String {
    let outcome: Outcome = sandbox.run(&format!("plan {arguments}"));
    String::from_utf8(outcome.succeeds_silently().stdout.clone()).unwrap()
}

#[test]
fn five_billion_lines_in_4_gigabytes_are_a_bloom_filter_where_five_per_cent_are_accepted() {
    let sandbox = Sandbox::new();
    let plan = plan_json(&sandbox, &format!("{FIVE_BILLION} --max-fpr 5%"));
    assert_eq!(plan["strategy"], "bloom");
    assert_eq!(plan["exact"], false);
    assert_eq!(plan["filter"]["hashes"], 5);
    let bits = number(&plan, "/filter/bits_per_key");
    assert!((6.0..=6.9).contains(&bits), "{bits}");
    let rate = number(&plan, "/filter/predicted_fpr");
    assert!((0.037..0.045).contains(&rate), "{rate}");
    let false_lines = number(&plan, "/expected_false_lines");
    assert!(
        (false_lines / (rate * 5e9) - 1.0).abs() < 0.01,
        "{false_lines}"
    );
    let text = plan_text(&sandbox, &format!("{FIVE_BILLION} --max-fpr 5%"));
    for part in [
        "strategy bloom",
        "approximate",
        "4 GiB",
        "k = 5",
        "bits per key",
        "not sieve",
        "not partition",
        "not memory",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn five_billion_lines_in_4_gigabytes_are_exact_where_one_per_cent_is_accepted_or_nothing() {
    let sandbox = Sandbox::new();
    for accepted in ["", "--max-fpr 1%", "--max-fpr 0.01", "--max-fpr 0"] {
        let plan = plan_json(&sandbox, &format!("{FIVE_BILLION} {accepted}"));
        assert_eq!(plan["exact"], true, "{accepted}");
        let strategy = plan["strategy"].as_str().unwrap();
        assert!(["sieve", "partition"].contains(&strategy), "{strategy}");
        assert_eq!(number(&plan, "/expected_false_lines"), 0.0);
    }
}

#[test]
fn the_plan_as_json_has_every_name_and_a_reason_for_each_strategy_that_was_not_chosen() {
    let sandbox = Sandbox::new();
    let names = "strategy exact buckets passes bytes_read bytes_written temp_peak_bytes memory_bytes expected_false_lines";
    for arguments in [
        FIVE_BILLION.to_owned(),
        format!("{FIVE_BILLION} --max-fpr 5%"),
        format!("{FIVE_BILLION} --strategy partition"),
        "--lines 1000,1000 --memory 1G".to_owned(),
        "--lines 1e9,2e9,3e9 --line-bytes 20 --memory 1G".to_owned(),
    ] {
        let plan = plan_json(&sandbox, &arguments);
        assert_has_keys(&plan, "", names);
        assert_has_keys(&plan, "", "rejected phases");
        assert_has_keys(&plan, "/phases/0", "name bytes_read");
        let limit = if arguments.contains("4G") {
            4u64 << 30
        } else {
            1 << 30
        };
        assert!(number(&plan, "/memory_bytes") <= limit as f64, "{plan:#}");
        let mut strategies = vec![plan["strategy"].as_str().unwrap()];
        for (number, rejected) in plan["rejected"].as_array().unwrap().iter().enumerate() {
            assert!(!rejected["reason"].as_str().unwrap().is_empty());
            strategies.push(rejected["strategy"].as_str().unwrap());
            if rejected.get("costs").is_some() {
                assert_has_keys(&plan, &format!("/rejected/{number}/costs"), names);
            }
        }
        strategies.sort_unstable();
        assert_eq!(strategies, ["bloom", "memory", "partition", "sieve"]);
        if ["sieve", "bloom"].contains(&plan["strategy"].as_str().unwrap()) {
            let names = "kind bits hashes keys bits_per_key predicted_fpr";
            assert_has_keys(&plan, "/filter", names);
        }
    }
}

#[test]
fn intersect_does_what_the_plan_says() {
    let (a, b) = (megabytes(4, 0), megabytes(8, 66_000));
    let sandbox = Sandbox::with(&a, &b);
    let mut chosen = BTreeSet::new();
    for options in [
        "--memory 16M",
        "--memory 64M",
        "--memory 16M --max-fpr 5%",
        "--memory 16M --strategy partition",
        "--memory 16M --strategy sieve",
    ] {
        let plan = plan_json(&sandbox, &format!("a b {options}"));
        let outcome = sandbox.run(&format!(
            "intersect a b {options} --count-only --stats ../out/s"
        ));
        outcome.succeeds();
        let stats = parse(&fs::read(sandbox.output("s")).unwrap());
        assert_eq!(plan["strategy"], stats["strategy"], "{options}");
        assert_eq!(plan["exact"], stats["exact"], "{options}");
        // Behind a filter they are planned anew, by what passes it.
        if plan["strategy"] == "partition" {
            let (planned, used) = (&plan["buckets"], &stats["buckets"]["count"]);
            assert_eq!(planned, used, "{options}");
        }
        chosen.insert(plan["strategy"].as_str().unwrap().to_owned());
    }
    assert!(chosen.len() >= 3, "the choice was always {chosen:?}");
}

#[test]
fn a_plan_of_files_touches_nothing_and_names_a_missing_file() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let text = plan_text(&sandbox, "a b --memory 64M");
    assert!(text.starts_with("strategy memory (exact)"), "{text}");
    sandbox.run("plan a missing").fails(3, &["missing: "]);
    sandbox.run("plan a").fails(2, &["two"]);
    sandbox.run("plan a b --memory 1M").fails(6, &["16 MiB"]);
}

#[test]
fn a_plan_and_its_run_are_refused_alike() {
    let sandbox = Sandbox::new();
    for (name, first) in [("a", 0), ("b", 200_000)] {
        let lines: Vec<String> = (first..first + 400_000)
            .map(|it| format!("{it}\n"))
            .collect();
        sandbox.write(name, lines.concat());
    }
    for command in ["plan", "intersect"] {
        sandbox
            .run(&format!(
                "{command} a b -m 16M --strategy partition --max-temp 1K"
            ))
            .fails(4, &["allowed by --max-temp"]);
    }
    // What has no meaning beside numbers of lines, or beside files.
    for arguments in [
        "--lines 5,5 --filter f",
        "--lines 5,5 --save-filter f",
        "--line-bytes 5 a b",
    ] {
        sandbox
            .run(&format!("plan {arguments}"))
            .fails(2, &["cannot be used with"]);
    }
}

#[test]
fn a_plan_that_cannot_be_written_is_an_output_failure() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&format!("plan {FIVE_BILLION}"));
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    command.stdout(Stdio::from(full.unwrap()));
    sandbox
        .start(command)
        .finish()
        .fails(5, &["standard output"]);
}

/// Operations, as a plan and a command name them.
const OPERATIONS: [(&str, &str); 5] = [
    ("diff", "diff a b --count-only"),
    ("union", "union a b --count-only"),
    ("overlaps", "overlaps a b --json"),
    ("symdiff", "symdiff a b --count-only"),
    (
        "intersect --at-least 1 --at-most 1",
        "intersect a b --count-only --at-least 1 --at-most 1",
    ),
];

#[test]
#[ignore = "slow: more than a second"]
fn l8_an_operation_does_what_its_plan_says() {
    let (a, b) = (megabytes(6, 0), megabytes(12, 100_000));
    let sandbox = Sandbox::with(&a, &b);
    let mut chosen = BTreeSet::new();
    for &(operation, command) in sweep::some(&OPERATIONS, 2) {
        for options in [
            "--memory 16M",
            "--memory 1G",
            "--memory 16M --strategy partition",
            "--memory 16M --strategy sieve",
        ] {
            let plan = plan_json(&sandbox, &format!("a b --operation {operation} {options}"));
            let stats = if operation == "overlaps" {
                let outcome = sandbox.run(&format!("{command} {options}"));
                parse(&outcome.succeeds().stdout)["stats"].clone()
            } else {
                sandbox
                    .run(&format!("{command} {options} --stats ../out/s"))
                    .succeeds();
                parse(&fs::read(sandbox.output("s")).unwrap())
            };
            let context = format!("{operation} {options}");
            assert_eq!(plan["strategy"], stats["strategy"], "{context}");
            assert_eq!(plan["exact"], true, "{context}");
            assert_eq!(stats["exact"], true, "{context}");
            // The sieve plans its buckets anew, by what comes again.
            if plan["strategy"] == "partition" {
                let (planned, used) = (&plan["buckets"], &stats["buckets"]["count"]);
                assert_eq!(planned, used, "{context}");
            }
            chosen.insert(plan["strategy"].as_str().unwrap().to_owned());
        }
    }
    let all = ["memory", "partition", "sieve"].map(str::to_owned);
    assert_eq!(chosen, BTreeSet::from(all));
}

#[test]
fn l8_an_operation_has_the_other_names_of_its_command() {
    let sandbox = Sandbox::new();
    let names = [
        ("diff", "difference subtract except minus exclude"),
        ("union", "dedup distinct uniq"),
        ("symdiff", "xor"),
    ];
    for (operation, others) in names {
        let plan = |name: &str| {
            // How many buckets are best is a matter of what the process has by now.
            let options = "--order sorted --memory 1G --buckets 600 --lines 1e9,1e6";
            plan_text(&sandbox, &format!("{options} --operation {name}"))
        };
        for other in others.split(' ') {
            assert_eq!(plan(other), plan(operation), "{other}");
            // The command has the name, too.
            sandbox.run(&format!("{other} --help")).succeeds();
        }
    }
}

#[test]
fn l8_every_operation_is_planned_from_numbers_alone() {
    let sandbox = Sandbox::new();
    for operation in ["intersect", "diff", "union", "symdiff", "overlaps"] {
        let plan = plan_json(&sandbox, &format!("{FIVE_BILLION} --operation {operation}"));
        assert_eq!(plan["exact"], true, "{operation}");
        let strategy = plan["strategy"].as_str().unwrap();
        assert!(
            ["sieve", "partition"].contains(&strategy),
            "{operation}: {strategy}"
        );
        let few = "--lines 1000,1000 --memory 1G";
        let plan = plan_json(&sandbox, &format!("{few} --operation {operation}"));
        assert_eq!(plan["strategy"], "memory", "{operation}");
    }
    // A union loses lines only for those who name the strategy; the others have no approximate result.
    for (operation, said) in [
        ("union", "--strategy bloom"),
        ("symdiff", "no approximate result"),
        ("overlaps", "no approximate result"),
    ] {
        let arguments = format!("plan {FIVE_BILLION} --max-fpr 5% --operation {operation}");
        sandbox.run(&arguments).fails(2, &["max-fpr", said]);
    }
    // Options that would do nothing are refused.
    for option in [
        "--order sorted",
        "--which",
        "--count",
        "--all",
        "--rows -k 1",
    ] {
        let arguments = format!("plan {FIVE_BILLION} --operation overlaps {option}");
        sandbox.run(&arguments).fails(2, &["overlaps counts lines"]);
    }
    let keyed = plan_json(&sandbox, "--lines 9,9 --operation overlaps -k 1 --tsv");
    assert_eq!(keyed["strategy"], "memory");
    let plan = plan_json(&sandbox, "--lines 1000 --memory 1G --operation union");
    assert_eq!(plan["strategy"], "memory");
}

#[test]
fn l8_a_plan_says_what_it_assumes_of_pipes_and_commands() {
    let sandbox = Sandbox::with(&lines(0..9), b"");
    for (arguments, bytes, said) in [
        ("a --via cat", 1u64 << 34, "16 GiB are assumed for each"),
        ("- a", 9 * 33, "297 B are assumed for each"),
    ] {
        let arguments = format!("{arguments} --operation union --memory 1G");
        let plan = plan_json(&sandbox, &arguments);
        assert_eq!(plan["assumed_bytes"], bytes, "{arguments}");
        let text = plan_text(&sandbox, &arguments);
        assert!(text.contains(said), "{text}");
    }
    let plan = plan_json(&sandbox, "a --operation union");
    assert!(plan.get("assumed_bytes").is_none(), "{plan}");
}

#[test]
fn d6_a_plan_says_what_very_many_buckets_cost_and_how_many_are_enough() {
    let sandbox = Sandbox::new();
    let shapes = "plan --lines 1e7,1e7 --memory 1G --strategy partition";
    let buckets = |plan: &str| {
        let line = plan.lines().find(|line| line.ends_with(" buckets"));
        line.map(|line| line.trim().trim_end_matches(" buckets").to_owned())
    };
    let told = |options: &str| {
        let plan = sandbox.run(&format!("{shapes} {options}"));
        String::from_utf8_lossy(&plan.succeeds().stdout).into_owned()
    };
    let enough = buckets(&told("")).unwrap();
    let plan = told("--buckets 100000");
    let said = "--buckets 100000: makes up to 200000 temporary files, which take about 40 s";
    assert!(plan.contains(said), "{plan}");
    assert!(plan.contains(&format!(": {enough} are enough\n")), "{plan}");
    assert!(!told("--buckets 1000").contains("temporary files"));
}

#[test]
fn l8_a_plan_tells_its_steps_with_the_files_as_they_were_given() {
    let sandbox = Sandbox::new();
    let lines = |range: std::ops::Range<u64>| {
        let lines = range.flat_map(|number| format!("line {number:030}\n").into_bytes());
        lines.collect::<Vec<u8>>()
    };
    sandbox.write("a", lines(0..60_000));
    sandbox.write("b", lines(30_000..200_000));
    for (arguments, wanted) in [
        (
            "a b --strategy sieve",
            &[
                "1. put the lines of file 1 into a filter",
                "lines of file 2 that pass the filter of file 1",
            ][..],
        ),
        // The smaller file comes first, and has the number under which it was given.
        (
            "b a --strategy sieve",
            &["1. put the lines of file 2 into a filter"],
        ),
        (
            "--operation diff a a b --strategy partition",
            &[
                "1. spill the lines of file 1",
                "2. spill the lines of file 3",
                "3. join",
            ],
        ),
        (
            "--operation union a b --order sorted --strategy partition",
            &[
                "3. join the buckets, and note the answer",
                "4. put the lines that were noted in order, and write them",
            ],
        ),
    ] {
        let plan = sandbox.run(&format!("plan {arguments}"));
        let text = String::from_utf8_lossy(&plan.succeeds().stdout).into_owned();
        for sentence in wanted {
            assert!(text.contains(sentence), "{arguments}: {sentence}: {text}");
        }
        let json = sandbox.run(&format!("plan --json {arguments}"));
        let json: serde_json::Value = serde_json::from_slice(&json.succeeds().stdout).unwrap();
        let steps = json["steps"].as_array().unwrap();
        let first =
            wanted[0].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
        assert!(
            steps
                .iter()
                .any(|step| step.as_str().unwrap().contains(first)),
            "{json}"
        );
    }
    // Many steps are told by the first and the last of them.
    let names: Vec<String> = (0..40).map(|number| format!("n{number}")).collect();
    for name in &names {
        sandbox.write(name, lines(0..10));
    }
    let many = sandbox.run(&format!("plan --strategy partition {}", names.join(" ")));
    let text = String::from_utf8_lossy(&many.succeeds().stdout).into_owned();
    assert!(
        text.contains("12. spill") && text.contains("... 17 more steps ..."),
        "{text}"
    );
    assert!(
        text.contains("41. join") && !text.contains("20. spill"),
        "{text}"
    );
}

#[test]
fn b23_a_plan_of_row_numbers_says_that_each_row_has_a_bit() {
    let sandbox = Sandbox::new();
    let file = root().join("tests/fuzz/corpus/parquet/arrow-none");
    let plan = |options: &str| {
        let words = format!(
            "plan --operation union -k url --order input {options} {}",
            file.display()
        );
        let told = sandbox.run(&words);
        String::from_utf8_lossy(&told.succeeds_silently().stdout).into_owned()
    };
    assert!(plan("--rows").contains("order input: each row has a bit, in "));
    assert!(plan("--keys-only").contains("order input: a result of "));
}
