//! Filters as they are asked for: for how many lines, like which other one; and requests that make no sense or name
//! what is missing, damaged or no filter.

use std::fs;

use crate::data::{lines, megabytes, split};
use crate::filters::answers::{info, with_filter};
use crate::sandbox::Sandbox;

#[test]
fn how_many_lines_there_are_is_estimated_counted_or_given() {
    let sandbox = Sandbox::with(&megabytes(2, 0), &lines(0..5000));
    let truth = split(&megabytes(2, 0), b'\n').len() as f64 + 5000.0;
    for (options, tolerance) in [("", 0.03), ("--count-lines", 0.0), ("--memory 24M", 0.03)] {
        sandbox
            .run(&format!("filter build a b -o ../out/f {options}"))
            .succeeds_silently();
        let told = info(&sandbox, "f");
        let planned = told["planned_keys"].as_f64().unwrap();
        assert!(
            (planned / truth - 1.0).abs() <= tolerance,
            "{options}: {planned}"
        );
        assert_eq!(told["keys"].as_f64(), Some(truth));
    }
    let text = lines(0..5000);
    for options in ["", "--count-lines"] {
        let outcome = sandbox.run_fed(&format!("filter build - -o ../out/f {options}"), &text);
        outcome.fails(2, &["-", "--lines"]);
    }
    sandbox
        .run_fed(
            "filter build - -o ../out/f --lines 5k --max-fpr 0.1%",
            &text,
        )
        .succeeds_silently();
    let all = sandbox.run("filter query ../out/f b --count-only");
    assert_eq!(all.succeeds_silently().stdout, b"5000\n");
}

#[test]
fn an_empty_filter_has_nothing_and_must_be_told_for_how_many() {
    let sandbox = Sandbox::with(&lines(0..5000), b"");
    sandbox
        .run("filter build -o ../out/f")
        .fails(2, &["--lines"]);
    for kind in ["blocked", "classic", "counting", "spectral", "fingerprint"] {
        sandbox
            .run(&format!(
                "filter build -o ../out/f --kind {kind} --lines 1000"
            ))
            .succeeds_silently();
        let outcome = sandbox.run("filter query ../out/f a");
        assert_eq!(outcome.succeeds_silently().stdout, b"", "{kind}");
        assert_eq!(info(&sandbox, "f")["keys"], 0, "{kind}");
        let told = sandbox.run("filter info ../out/f");
        let told = String::from_utf8(told.succeeds().stdout.clone()).unwrap();
        assert!(!told.contains("-0"), "{kind}: {told}");
    }
}

#[test]
fn filters_that_are_built_alike_merge_and_others_do_not() {
    for kind in ["blocked", "classic", "counting", "spectral", "fingerprint"] {
        let options = format!("--kind {kind} --lines 5000 --max-fpr 0.01%");
        let sandbox = with_filter(&lines(0..3000), &lines(2000..5000), &options);
        sandbox.write("all", lines(0..6000));
        sandbox
            .run("filter build b -o ../out/g --like ../out/f")
            .succeeds_silently();
        sandbox
            .run("filter merge ../out/f ../out/g -o ../out/h")
            .succeeds_silently();
        let merged = sandbox.run("filter query ../out/h all --count-only");
        let merged: u64 = String::from_utf8_lossy(&merged.succeeds_silently().stdout)
            .trim()
            .parse()
            .unwrap();
        assert!((5000..5005).contains(&merged), "{kind}: {merged}");
        // Another key is drawn for each filter that is not built like another.
        sandbox
            .run(&format!("filter build b -o ../out/other {options}"))
            .succeeds_silently();
        sandbox
            .run("filter merge ../out/f ../out/other -o ../out/m")
            .fails(2, &["key", "--like"]);
        sandbox
            .run("filter build b -o ../out/other --kind classic --lines 77")
            .succeeds();
        let difference = if kind == "classic" { "size" } else { "kind" };
        sandbox
            .run("filter merge ../out/f ../out/other -o ../out/m")
            .fails(2, &[difference]);
    }
}

#[test]
fn requests_that_make_no_sense_are_wrong_usage() {
    let sandbox = with_filter(&lines(0..100), &lines(0..100), "");
    for (arguments, part) in [
        ("filter build a", "--output"),
        ("filter build a -o ../out/g --max-fpr 0", "rate"),
        ("filter build a -o ../out/g --max-fpr 100%", "rate"),
        (
            "filter build a -o ../out/g --size 1M --max-fpr 1%",
            "--size",
        ),
        (
            "filter build a -o ../out/g --size 1M --bits-per-key 8",
            "--size",
        ),
        (
            "filter build a -o ../out/g --lines 5 --count-lines",
            "--lines",
        ),
        ("filter build a -o ../out/g --kind quotient", "quotient"),
        ("filter build a -o ../out/g --hashes 0", "--hashes"),
        ("filter build a -o ../out/g --hashes 15", "hashes"),
        (
            "filter build a -o ../out/g --kind fingerprint --hashes 2",
            "hashes",
        ),
        (
            "filter build a -o ../out/g --like ../out/f --kind classic",
            "--like",
        ),
        (
            "filter build a -o ../out/g --like ../out/f --lines 5",
            "--like",
        ),
        ("filter build a -o ../out/g --like ../out/f -z", "--like"),
        ("filter query", "FILTER"),
        ("filter query ../out/f b -z", "-z"),
        ("filter query ../out/f - -", "-"),
        ("filter insert ../out/f b -o ../out/new", "--print-new"),
        ("filter remove ../out/f b", "no line can be removed"),
        ("filter count ../out/f b", "does not count its lines"),
        ("filter merge ../out/f -o ../out/g", "FILTER"),
        ("filter merge ../out/f ../out/f", "--output"),
    ] {
        let outcome = sandbox.run(arguments);
        assert_eq!(outcome.status.code(), Some(2), "{arguments}: {outcome}");
        assert!(outcome.stderr.contains(part), "{arguments}: {outcome}");
    }
}

#[test]
fn what_is_missing_or_no_filter_is_said_and_nothing_is_written() {
    let sandbox = with_filter(&lines(0..100), &lines(0..100), "");
    let whole = fs::read(sandbox.output("f")).unwrap();
    sandbox.write("short", &whole[..whole.len() - 1]);
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    sandbox.write("damaged", damaged);
    for command in [
        "query",
        "insert",
        "insert --print-new",
        "count",
        "remove",
        "info",
    ] {
        let rest = if command == "info" { "" } else { "b" };
        let run = |filter: &str| sandbox.run(&format!("filter {command} {filter} {rest}"));
        run("missing").fails(3, &["missing"]);
        run("a").fails(7, &["a: is not a filter file"]);
        run("short").fails(7, &["short: "]);
    }
    for command in ["query damaged b", "insert damaged b", "info damaged"] {
        sandbox
            .run(&format!("filter {command}"))
            .fails(7, &["damaged: "]);
    }
    sandbox
        .run("filter merge ../out/f missing -o ../out/g")
        .fails(3, &["missing"]);
    sandbox
        .run("filter merge ../out/f a -o ../out/g")
        .fails(7, &["a: is not a filter file"]);
    sandbox
        .run("filter query ../out/f missing")
        .fails(3, &["missing"]);
    sandbox
        .run("filter insert ../out/f b missing")
        .fails(3, &["missing"]);
    assert!(fs::read(sandbox.output("f")).unwrap() == whole);
}
