//! `--keep min:FIELD` and `--keep max:FIELD`: which record stays of those with the same key.

use crate::sandbox::Sandbox;

#[test]
fn a21_the_record_with_the_largest_or_the_smallest_number_stays() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.csv",
        "url,score,n\nx,7,1\ny,,2\nx,30,3\ny,-1,4\nx,30,5\nz,,6\n",
    );
    sandbox.write("b.csv", "url,score,n\nx,4e1,7\nw,1,8\n");
    sandbox.write("list", "x\nz\n");
    sandbox.write(
        "a.jsonl",
        "{\"k\":\"x\",\"at\":{\"ns\":1700000000000000001}}\n{\"k\":\"x\",\"at\":{\"ns\":1700000000000000002}}\n{\"k\":\"x\"}\n",
    );
    for (arguments, expected) in [
        (
            "union --csv -k url --keep max:score a.csv",
            "url,score,n\nx,30,3\ny,-1,4\nz,,6\n",
        ),
        (
            "union --csv -k url --keep min:score a.csv",
            "url,score,n\nx,7,1\ny,-1,4\nz,,6\n",
        ),
        (
            "dedup --csv -k url --keep max:score a.csv b.csv",
            "url,score,n\ny,-1,4\nz,,6\nx,4e1,7\nw,1,8\n",
        ),
        // A name makes a header; the list has neither a header nor numbers, and needs none.
        (
            "intersect --csv -1 1 -2 1 --header-of 1=yes --distinct --keep max:2 a.csv list",
            "url,score,n\nx,30,3\nz,,6\n",
        ),
        (
            "diff --csv -k url -2 1 --distinct --keep max:score a.csv list",
            "url,score,n\ny,-1,4\n",
        ),
        (
            "union --jsonl -k k --keep max:at.ns a.jsonl",
            "{\"k\":\"x\",\"at\":{\"ns\":1700000000000000002}}\n",
        ),
        (
            "union --csv -k url --keep max:score --count a.csv --order input",
            "count,url,score,n\n3,x,30,3\n2,y,-1,4\n1,z,,6\n",
        ),
    ] {
        for strategy in ["auto", "partition", "sieve"] {
            let arguments = format!("{arguments} --order input --strategy {strategy}")
                .replace("--order input --order input", "--order input");
            let outcome = sandbox.run(&arguments);
            let found = String::from_utf8(outcome.succeeds().stdout.clone()).unwrap();
            assert_eq!(
                found.replace('"', ""),
                expected.replace('"', ""),
                "{arguments}"
            );
        }
    }
    sandbox
        .run("union --csv -k url --keep max:score -D ../out/dropped a.csv -o ../out/r")
        .succeeds();
    let dropped = std::fs::read_to_string(sandbox.output("dropped")).unwrap();
    let mut dropped: Vec<&str> = dropped.lines().skip(1).collect();
    dropped.sort_unstable();
    assert_eq!(dropped, ["x,30,5", "x,7,1", "y,,2"]);
    std::fs::create_dir(sandbox.input("s")).unwrap();
    sandbox.write("s/a.csv", "url,score\nx,1\ny,2\n");
    sandbox.write("s/b.csv", "url,score\nx,3\ny,1\n");
    sandbox
        .run("dedup --csv -k url --keep max:score --side s --out-dir ../out/d")
        .succeeds();
    let read = |name: &str| std::fs::read_to_string(sandbox.output("d").join(name)).unwrap();
    assert_eq!(
        [read("a.csv"), read("b.csv")],
        ["url,score\ny,2\n", "url,score\nx,3\n"]
    );
}

#[test]
fn a21_a_number_that_chooses_nothing_is_wrong_usage() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "k,n\nx,1\nx,2024-01-02\n");
    for (arguments, code, parts) in [
        (
            "union --keep max:n a",
            2,
            &["--keep: ", "there are no keys", "add --key"][..],
        ),
        (
            "union --csv -k k --keep max:n --keys-only a",
            2,
            &["keys are written", "leave out --keys-only"],
        ),
        (
            "intersect --csv -k k --keep max:n a a",
            2,
            &["writes every record", "add --distinct"],
        ),
        (
            "union --csv -k k --keep max:m a",
            2,
            &["a: no field is called m", "k, n"],
        ),
        (
            "union --csv -k k --keep most:n a",
            2,
            &["min:FIELD or max:FIELD"],
        ),
        (
            "union --csv -k k --keep max: a",
            2,
            &["give the number or the name of a field"],
        ),
        (
            "union --csv -k k --keep max:n a",
            3,
            &[
                "a: the record at line 3 has no number in n",
                "--bad-records skip",
            ],
        ),
        (
            "union --csv -k k --keep min:n --max-count 1 a",
            2,
            &["cannot be used with"],
        ),
        (
            "union -i --keep max:1 a",
            2,
            &["--keep: ", "nothing says where"],
        ),
        ("union --jsonl -k k --keep max:1 a", 2, &["name:7"]),
        (
            "plan --operation union --csv -k k --keep max:m a",
            2,
            &["no field is called m"],
        ),
    ] {
        sandbox.run(arguments).fails(code, parts);
    }
    let outcome = sandbox.run("union --csv -k k --keep max:n --bad-records skip a");
    assert_eq!(outcome.succeeds().stdout, b"k,n\nx,1\n");
}

#[test]
fn a21_a_number_that_no_record_has_is_told_of() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"k\":1,\"n\":2}\n{\"k\":1}\n");
    sandbox.write("b.jsonl", "{\"k\":2}\n{\"k\":2,\"n\":null}\n");
    sandbox.write("a.csv", "k,n\n1,\n1, \n");
    sandbox.write("empty.csv", "k,n\n");
    let told = |name: &str, field: &str| {
        let told = format!(
            "outset: {name}: no record has a number in field {field}, so --keep cannot choose among them"
        );
        Some(told + ": name a field that has one")
    };
    for (arguments, expected) in [
        ("union --jsonl -k k --keep max:n a.jsonl", None),
        (
            "union --jsonl -k k --keep max:m a.jsonl",
            told("a.jsonl", "m"),
        ),
        (
            "union --jsonl -k k --keep min:n a.jsonl b.jsonl",
            told("b.jsonl", "n"),
        ),
        (
            "union --csv -k k --keep max:n a.csv empty.csv",
            told("a.csv", "n"),
        ),
        (
            "diff --csv -k k -2 1 --distinct --keep max:n a.csv empty.csv",
            told("a.csv", "n"),
        ),
        ("union --csv -k k --keep max:n empty.csv", None),
    ] {
        for strategy in ["auto", "partition", "sieve"] {
            let outcome = sandbox.run(&format!("{arguments} --strategy {strategy}"));
            let told = outcome.succeeds().stderr.lines();
            let told: Vec<&str> = told.filter(|line| line.contains("number")).collect();
            assert_eq!(
                told,
                Vec::from_iter(expected.as_deref()),
                "{arguments} {strategy}"
            );
        }
    }
}
