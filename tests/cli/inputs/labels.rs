//! Records behind labels: which of them come, and in which form.

use std::fs;

use differential::sweep;

use crate::sandbox::{Outcome, Sandbox};

/// Two keys that both files have, one of them twice in the first; and repeats of whole records.
const FIRST: &str = "k,n\na,1\nB,2\na,3\nc,4\na,1\n";
const SECOND: &str = "k,n\na,9\nb,9\na,8\n";

fn text(outcome: &Outcome) -> &str {
    std::str::from_utf8(&outcome.succeeds().stdout).unwrap()
}

#[test]
fn a21_labels_and_options_of_the_key_do_not_decide_which_records_come() {
    let sandbox = Sandbox::new();
    sandbox.write("a", FIRST);
    sandbox.write("b", SECOND);
    let records = [
        ("intersect", "k,n\na,1\na,3\na,1\n"),
        (
            "intersect --which",
            "files,k,n\n\"11\",a,1\n\"11\",a,3\n\"11\",a,1\n",
        ),
        (
            "intersect --count-files",
            "file_count,k,n\n2,a,1\n2,a,3\n2,a,1\n",
        ),
        ("intersect --count", "count,k,n\n5,a,1\n5,a,3\n5,a,1\n"),
        ("intersect --count --distinct", "count,k,n\n5,a,1\n"),
        ("intersect --count --keys-only", "count,k\n5,a\n"),
        (
            "intersect --count -i",
            "count,k,n\n5,a,1\n2,B,2\n5,a,3\n5,a,1\n",
        ),
        ("diff --count", "count,k,n\n1,B,2\n1,c,4\n"),
        ("diff --count -i", "count,k,n\n1,c,4\n"),
        ("union --count", "count,k,n\n5,a,1\n1,B,2\n1,c,4\n1,b,9\n"),
        ("symdiff --count", "count,k,n\n1,B,2\n1,c,4\n1,b,9\n"),
        ("intersect --at-least 2 --count", "count,k,n\n5,a,1\n"),
    ];
    let ways = ["", "--strategy partition", "--strategy sieve -m 24M"];
    for (&(options, expected), how) in sweep::pairs(&records, &ways) {
        let arguments = format!("{options} {how} --csv -k k --order input a b");
        let outcome = sandbox.run(&arguments);
        assert_eq!(text(&outcome), expected, "{arguments}");
    }
}

#[test]
fn a21_every_spelling_of_the_first_file_comes_without_a_key_field_too() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "K\nk\n x\nx\nK\n");
    sandbox.write("b", "X\n");
    for (options, expected) in [
        ("diff -i a b", "K\nk\n x\nK\n"),
        ("diff -i --trim a b", "K\nk\nK\n"),
        ("diff -i --trim --distinct a b", "K\n"),
        ("diff -i --count a b", "3\tK\n3\tk\n1\t x\n3\tK\n"),
        ("intersect -i --trim a b", " x\nx\n"),
        ("intersect --trim -i --count-files a b", "2\t x\n2\tx\n"),
        ("union -i a b", "K\n x\nx\n"),
    ] {
        for strategy in ["auto", "partition", "sieve"] {
            let outcome = sandbox.run(&format!("{options} --order input --strategy {strategy}"));
            assert_eq!(text(&outcome), expected, "{options} {strategy}");
        }
    }
    sandbox.run("diff -i --count a b --strategy memory").fails(
        2,
        &["memory cannot write records with a count", "--keys-only"],
    );
    sandbox
        .run("diff -i --all a b")
        .fails(2, &["--all: ", "--keys-only"]);
}

#[test]
fn a21_a_label_is_a_field_of_the_record() {
    let sandbox = Sandbox::new();
    for (options, record, label) in [
        ("--csv -k 1", "a,1", "\"11\","),
        ("--csv", "a,1", "\"11\","),
        ("--csv -d ; -k 1", "a;1", "\"11\";"),
        ("-d ; -k 1", "a;1", "11;"),
        ("--tsv -k 1", "a\t1", "11\t"),
        ("--jsonl -k k", "{\"k\": \"a\"}", "11\t"),
        ("", "a,1", "11\t"),
    ] {
        sandbox.write("a", format!("{record}\n"));
        sandbox.write("b", format!("{record}\n"));
        for order in ["any", "input", "sorted"] {
            let outcome = sandbox.run(&format!("union --which {options} --order {order} a b"));
            assert_eq!(text(&outcome), format!("{label}{record}\n"), "{options}");
        }
    }
}

#[test]
fn l12_what_is_dropped_has_a_header_without_the_label_that_it_does_not_have() {
    let sandbox = Sandbox::new();
    sandbox.write("a", FIRST);
    for label in ["", "--which", "--count-files", "--count"] {
        for order in ["any", "input", "sorted"] {
            let arguments = format!("union --csv -k k {label} --order {order} a -D ../out/d");
            sandbox.run(&arguments).succeeds();
            let dropped = fs::read_to_string(sandbox.output("d")).unwrap();
            assert!(dropped.starts_with("k,n\n"), "{arguments}: {dropped}");
            let mut lines: Vec<&str> = dropped.lines().skip(1).collect();
            lines.sort_unstable();
            assert_eq!(lines, ["a,1", "a,3"], "{arguments}");
        }
    }
}
