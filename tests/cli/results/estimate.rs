//! `outset estimate` from outside: text and JSON, exact and estimated, every kind of input, refusals.

use std::fs;
use std::thread;

use serde_json::Value;

use crate::data::{lines, megabytes};
use crate::sandbox::{Outcome, Sandbox};

/// Reproduces the samples.
const KEY: &str = "--hash-key 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn text(outcome: &Outcome) -> String {
    String::from_utf8(outcome.succeeds_silently().stdout.clone()).unwrap()
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_slice(&outcome.succeeds_silently().stdout).unwrap()
}

/// The truth is within bounds that tell something, around their estimate.
fn assert_near(bounds: &Value, truth: f64) {
    let number = |name: &str| bounds[name].as_f64().unwrap();
    assert!(
        number("low") <= truth && truth <= number("high"),
        "{truth}: {bounds}"
    );
    assert!(number("low") <= number("estimate") && number("estimate") <= number("high"));
    assert!(number("high") < 1.2 * truth, "{truth}: {bounds}");
}

#[test]
fn small_inputs_are_counted_exactly() {
    let sandbox = Sandbox::with(b"a\nb\nc\nb\n\n", b"c\nd\na\na\ne\nf\n\nc");
    assert_eq!(
        text(&sandbox.run("estimate a b")),
        "a: 5 lines, 4 distinct\n\
         \x20 in no other file: 1\n\
         \x20 in all files: 75.000% of its distinct lines\n\
         b: 8 lines, 6 distinct\n\
         \x20 in no other file: 3\n\
         \x20 in all files: 50.000% of its distinct lines\n\
         common: 3 distinct lines\n\
         \x20 42.857% of all distinct lines (Jaccard index)\n"
    );
    let found = json(&sandbox.run("estimate --json a b"));
    assert_eq!(found["exact"], true);
    assert_eq!(found["inputs"][1]["path"], "b");
    assert_eq!(found["inputs"][1]["bytes"], 14);
    assert_eq!(found["inputs"][1]["lines"], 8);
    for (bounds, truth) in [
        (&found["inputs"][0]["distinct"], 4.0),
        (&found["common"], 3.0),
        (&found["any"], 7.0),
        (&found["jaccard"], 3.0 / 7.0),
        (&found["inputs"][0]["only"], 1.0),
        (&found["inputs"][0]["containment"], 0.75),
        (&found["inputs"][1]["only"], 3.0),
        (&found["inputs"][1]["containment"], 0.5),
    ] {
        for name in ["estimate", "low", "high"] {
            assert_eq!(bounds[name], truth, "{found}");
        }
    }
}

#[test]
fn large_inputs_are_estimated_alike_whatever_the_threads_and_the_way_they_are_read() {
    let mut a = lines(0..75_000);
    a.extend(lines(0..5_000));
    let b = lines(50_000..150_000);
    let sandbox = Sandbox::with(&a, &b);
    let found = json(&sandbox.run(&format!("estimate {KEY} --json -j 1 a b")));
    assert_eq!(found["exact"], false);
    assert_eq!(found["inputs"][0]["lines"], 80_000);
    assert_near(&found["inputs"][0]["distinct"], 75_000.0);
    assert_near(&found["inputs"][1]["distinct"], 100_000.0);
    assert_near(&found["common"], 25_000.0);
    assert_near(&found["any"], 150_000.0);
    assert_near(&found["jaccard"], 1.0 / 6.0);
    assert_near(&found["inputs"][0]["only"], 50_000.0);
    assert_near(&found["inputs"][0]["containment"], 1.0 / 3.0);
    let pipe = sandbox.fifo("pipe");
    for threads in [2, 5] {
        let (pipe, a) = (pipe.clone(), a.clone());
        let writer = thread::spawn(move || fs::write(pipe, a).unwrap());
        let arguments = format!("estimate {KEY} --json -j {threads} pipe -");
        let from_pipes = json(&sandbox.run_fed(&arguments, &b));
        writer.join().unwrap();
        assert_eq!(from_pipes["common"], found["common"], "{threads} threads");
        assert_eq!(from_pipes["jaccard"], found["jaccard"], "{threads} threads");
        let distinct = |found: &Value| found["inputs"][0]["distinct"].clone();
        assert_eq!(distinct(&from_pipes), distinct(&found));
    }
    let said = text(&sandbox.run(&format!("estimate {KEY} a b")));
    assert!(said.contains("a: 80,000 lines, about 7"), "{said}");
    assert!(
        said.contains("common: about ") && said.contains(" at 99%) distinct lines"),
        "{said}"
    );
}

#[test]
fn an_overlap_that_is_too_small_to_see_gets_no_number() {
    let mut b = lines(1_000_000..1_200_000);
    // One common line, which is not in the sample under this key.
    b.extend(lines(8..9));
    let sandbox = Sandbox::with(&lines(0..200_000), &b);
    let said = text(&sandbox.run(&format!("estimate {KEY} a b")));
    assert!(
        said.contains("common: too few to estimate: at most "),
        "{said}"
    );
    assert!(!said.contains("Jaccard"), "{said}");
    let found = json(&sandbox.run(&format!("estimate {KEY} a b --json")));
    assert_eq!(found["common_seen"], 0);
    assert_eq!(found["common"]["low"], 0.0);
    let high = found["common"]["high"].as_f64().unwrap();
    assert!((1.0..20.0).contains(&high), "{found}");
}

#[test]
fn more_than_two_inputs_have_in_common_what_is_in_all() {
    let sandbox = Sandbox::with(&lines(0..1000), &lines(500..1500));
    sandbox.write("c", lines(900..3000));
    let found = json(&sandbox.run("estimate --json a b c"));
    assert_eq!(found["common"]["estimate"], 100.0);
    assert_eq!(found["any"]["estimate"], 3000.0);
}

#[test]
fn a_file_given_twice_has_everything_in_common_with_itself() {
    let sandbox = Sandbox::with(&lines(0..100_000), b"");
    let found = json(&sandbox.run("estimate --json a a"));
    assert_eq!(found["inputs"].as_array().unwrap().len(), 1);
    assert_eq!(found["common"], found["inputs"][0]["distinct"]);
    assert_eq!(found["jaccard"]["high"], 1.0);
    assert_eq!(found["inputs"][0]["only"]["high"], 0.0);
    assert!(found["jaccard"]["low"].as_f64().unwrap() > 0.999);
    let said = text(&sandbox.run("estimate b b"));
    assert_eq!(
        said,
        "b: 0 lines, 0 distinct\n  in no other file: 0\ncommon: 0 distinct lines\n  0% of all distinct lines (Jaccard index)\n"
    );
}

#[test]
fn lines_are_what_the_options_say() {
    let sandbox = Sandbox::with(b"a\nb\0c\r\0", b"c\0a\nb\0");
    let common = |options: &str| {
        let found = json(&sandbox.run(&format!("estimate --json {options} a b")));
        found["common"]["estimate"].clone()
    };
    assert_eq!(common("-z"), 1.0);
    assert_eq!(common("-z --strip-cr"), 2.0);
    // Without these options, they look like binary data.
    assert_eq!(common("-q"), 0.0);
}

#[test]
fn it_keeps_to_a_small_memory_limit() {
    let sandbox = Sandbox::with(&megabytes(20, 0), &megabytes(20, 300_000));
    let found = json(&sandbox.run("estimate --json --memory 16384K -j 4 a b"));
    let memory = &found["memory"];
    assert_eq!(memory["limit_bytes"], 16 << 20);
    assert!(
        memory["peak_rss_bytes"].as_u64() <= Some(16 << 20),
        "{memory}"
    );
    let truth = 20.0 * 1024.0 * 1024.0 / 33.0 - 300_000.0;
    let estimate = found["common"]["estimate"].as_f64().unwrap();
    assert!((estimate / truth - 1.0).abs() < 0.2, "{found}");
}

#[test]
fn what_cannot_be_done_is_refused() {
    let sandbox = Sandbox::with(b"a\n", b"b\n");
    sandbox
        .run("estimate a")
        .fails(2, &["estimate: one file given: give two or more"]);
    sandbox.run("estimate").fails(2, &["usage"]);
    sandbox.run("estimate a absent").fails(3, &["absent: "]);
    sandbox.run("estimate - -").fails(2, &["-: "]);
    sandbox
        .run("estimate --memory 1M a b")
        .fails(6, &["give at least"]);
}

#[test]
#[ignore = "slow: close to a second"]
fn a_plan_can_go_by_an_estimate() {
    let mut a = lines(0..150_000);
    a.extend(lines(0..10_000));
    let sandbox = Sandbox::with(&a, &lines(100_000..300_000));
    let bloom = format!("plan {KEY} --memory 64M --strategy bloom --bits-per-key 8 a b");
    let without = json(&sandbox.run(&format!("{bloom} --json")));
    assert_eq!(without["expected_precision"], Value::Null);
    let with = json(&sandbox.run(&format!("{bloom} --estimate --json")));
    let keys = with["filter"]["keys"].as_f64().unwrap();
    assert!((keys / 150_000.0 - 1.0).abs() < 0.03, "{with}");
    let false_lines = with["expected_false_lines"].as_f64().unwrap();
    let precision = with["expected_precision"].as_f64().unwrap();
    let expected = 50_000.0 / (50_000.0 + false_lines);
    assert!((precision / expected - 1.0).abs() < 0.03, "{with}");
    let said = text(&sandbox.run(&format!("{bloom} --estimate")));
    assert!(said.contains("expected precision: about "), "{said}");
    // Each pair of three files has a third of their lines in common, and nothing is in all.
    for (name, first, second) in [("x", 0, 2), ("y", 2, 1), ("z", 1, 0)] {
        let third = |number: u64| lines(number * 100_000..(number + 1) * 100_000);
        let own = lines(700_000 + first * 100_000..800_000 + first * 100_000);
        sandbox.write(name, [third(first), third(second), own].concat());
    }
    let union = "--memory 16M --strategy sieve x y z";
    let planned = json(&sandbox.run(&format!(
        "plan {KEY} --operation union --estimate --json {union}"
    )));
    let outcome = sandbox.run(&format!("union {KEY} --stats ../out/s -o ../out/r {union}"));
    outcome.succeeds();
    let stats: Value =
        serde_json::from_slice(&std::fs::read(sandbox.output("s")).unwrap()).unwrap();
    let (planned, used) = (
        planned["temp_peak_bytes"].as_f64().unwrap(),
        stats["temp"]["peak_bytes"].as_f64().unwrap(),
    );
    assert!(
        (used / planned - 1.0).abs() < 0.2,
        "{planned} planned, {used} used"
    );
    sandbox
        .run("plan --estimate --lines 1,1")
        .fails(2, &["usage"]);
}
