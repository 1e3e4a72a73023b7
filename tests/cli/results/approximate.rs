//! `diff` and `union` by `bloom`: no line is wrong, and about as many are missing as the filter says.

use std::collections::BTreeSet;

use differential::sweep;

use crate::data::{lines, split};
use crate::json::{number, parse};
use crate::sandbox::Sandbox;

/// Three bits for each line: a filter of this kind takes about one strange line in five for one of its own.
const FEW_BITS: &str = "--strategy bloom --bits-per-key 3";

/// Texts of which the first has 60,000 lines that the second lacks.
fn inputs() -> (Sandbox, [Vec<u8>; 2]) {
    let texts = [
        [lines(0..100_000), lines(0..500)].concat(),
        lines(60_000..150_000),
    ];
    (Sandbox::with(&texts[0], &texts[1]), texts)
}

fn set(text: &[u8]) -> BTreeSet<&[u8]> {
    split(text, b'\n').into_iter().collect()
}

/// Checks that a run writes lines of `all` alone, each once, and that it lacks about as many as it says: within four
/// standard deviations, and a twentieth, because the rate of a filter is an estimate, too.
fn check(sandbox: &Sandbox, arguments: &str, all: &BTreeSet<&[u8]>) {
    let file = sandbox.output("stats.json");
    let outcome = sandbox.run(&format!("{arguments} --stats {}", file.display()));
    let found = &outcome.succeeds().stdout;
    let distinct = set(found);
    assert_eq!(
        distinct.len(),
        split(found, b'\n').len(),
        "{arguments}: repeats"
    );
    assert!(distinct.is_subset(all), "{arguments}: a line is wrong");
    let missing = (all.len() - distinct.len()) as f64;
    let stats = parse(&std::fs::read(file).unwrap());
    assert_eq!(stats["exact"], false);
    let expected = number(&stats, "/filter/expected_missing_lines");
    let slack = 4.0 * expected.sqrt() + expected / 20.0;
    assert!(
        (missing - expected).abs() <= slack && missing > 0.0,
        "{arguments}: {missing} lines are missing, and about {expected:.0} were said to be"
    );
}

#[test]
fn l11_an_approximate_difference_has_no_wrong_line_and_lacks_as_many_as_it_says() {
    let (sandbox, texts) = inputs();
    let all: BTreeSet<&[u8]> = set(&texts[0])
        .difference(&set(&texts[1]))
        .copied()
        .collect();
    for options in ["", "-m 16M -j 1", "--order sorted", "--order input -j 3"] {
        check(&sandbox, &format!("diff a b {FEW_BITS} {options}"), &all);
    }
    // A line that comes ten times is missing once.
    let often = sandbox.run("union --all a a a a a a a a a a -o ../out/often");
    often.succeeds();
    std::fs::rename(sandbox.output("often"), sandbox.input("often")).unwrap();
    check(&sandbox, &format!("diff often b {FEW_BITS}"), &all);
    // A file that is the first side and another one has no line alone.
    let nothing = sandbox.run(&format!("diff a b a {FEW_BITS}"));
    assert!(nothing.succeeds().stdout.is_empty());
}

#[test]
#[ignore = "slow: close to a second"]
fn l11_an_approximate_union_has_no_wrong_line_and_lacks_as_many_as_it_says() {
    let (sandbox, texts) = inputs();
    let all: BTreeSet<&[u8]> = set(&texts[0]).union(&set(&texts[1])).copied().collect();
    for options in ["", "-m 16M -j 1", "--order sorted", "--max-fpr 0.9"] {
        check(&sandbox, &format!("union a b {FEW_BITS} {options}"), &all);
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn l11_a_union_lacks_as_many_lines_as_it_says_whatever_the_filter_and_the_repeats() {
    let (sandbox, texts) = inputs();
    // Each line of the first comes five times, and the filter has room for all: it is set for fewer hashes and less.
    sandbox.write("often", texts[0].repeat(5));
    for (files, number) in [("a b", 2), ("often b", 2), ("often", 1)] {
        let all: BTreeSet<&[u8]> = texts[..number].iter().flat_map(|text| set(text)).collect();
        for bits in ["0.5", "1", "2", "4", "6"] {
            let options = format!("--strategy bloom --bits-per-key {bits}");
            if number == 2 || bits < "4" {
                check(&sandbox, &format!("union {files} {options}"), &all);
            }
        }
    }
}

/// Texts: lines that differ; 200,000 lines of 8,000; and 300,000 of which three in ten differ and all others are of
/// 20,000. A sample of the last shows two thirds of its different lines.
fn repeating() -> (Sandbox, [Vec<u8>; 3]) {
    let one_of = |count: u64, number: u64| {
        let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33;
        lines(mixed % count..mixed % count + 1)
    };
    let often: Vec<u8> = (0..200_000)
        .flat_map(|number| one_of(8_000, number))
        .collect();
    let partly: Vec<u8> = (0..300_000)
        .flat_map(|number| match number % 10 {
            0..3 => lines(number + 50_000..number + 50_001),
            _ => one_of(20_000, number),
        })
        .collect();
    let texts = [lines(0..100_000), often, partly];
    let sandbox = Sandbox::with(&texts[0], &texts[1]);
    sandbox.write("partly", &texts[2]);
    (sandbox, texts)
}

#[test]
fn l11_a_rate_is_predicted_for_different_lines_and_kept_where_there_are_more() {
    let (sandbox, texts) = repeating();
    let alone = |other: usize| {
        let count = set(&texts[0]).difference(&set(&texts[other])).count();
        format!("{count}\n").into_bytes()
    };
    // 200,000 lines would have a rate of 15 %, and 8,000 have nearly none.
    let bits = "--bits-per-key 4 --count-only";
    let outcome = sandbox.run(&format!("diff a b --strategy bloom --max-fpr 0.3% {bits}"));
    assert_eq!(outcome.succeeds().stdout, alone(1));
    // The filter is complete when it shows that there are more different lines; then all lines count.
    let partly = format!("diff a partly --max-fpr 0.3% {bits}");
    let plan = sandbox.run(&format!(
        "plan --operation {} --strategy bloom",
        partly.replace(" --count-only", "")
    ));
    plan.succeeds();
    let refused = sandbox.run(&format!("{partly} --strategy bloom"));
    refused.fails(
        6,
        &["the predicted false-positive rate 14.", "is above 0.300%"],
    );
    // A union has written its lines by then: it has no result.
    let union = format!("union partly --strategy bloom --max-fpr 0.3% {bits} -o ../out/r");
    let union = union.replace("--count-only", "");
    sandbox.run(&union).fails(
        6,
        &["the predicted false-positive rate ", "is above 0.300%"],
    );
    assert!(!sandbox.output("r").exists());
    let exact = sandbox.run(&format!("{partly} -m 16M"));
    assert_eq!(exact.succeeds().stdout, alone(2));
    assert!(exact.stderr.contains("(exact, "), "{exact}");
}

/// Makes a text of 160,000 lines that differ, in an order of no order: `a` has each twice, `b` of each quarter as many
/// of them more often.
fn dealt(name: &str) -> Vec<u8> {
    let text = |times: &dyn Fn(u64) -> u64| {
        let all = (0..160_000u64).flat_map(|line| (0..times(line)).map(move |time| (line, time)));
        let mixed = |&(line, time): &(u64, u64)| {
            let mixed = (line * 64 + time + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        };
        let mut all: Vec<(u64, u64)> = all.collect();
        all.sort_by_cached_key(mixed);
        let mut text = Vec::new();
        for (line, _) in all {
            text.extend_from_slice(&lines(line..line + 1));
        }
        text
    };
    match name {
        "a" => text(&|_| 2),
        _ => text(&|line| [1, 2, 4, 8][line as usize / 40_000]),
    }
}

/// Returns a plan as JSON.
fn planned(sandbox: &Sandbox, arguments: &str) -> serde_json::Value {
    parse(
        &sandbox
            .run(&format!("plan --json {arguments}"))
            .succeeds()
            .stdout,
    )
}

#[test]
fn l11_what_a_plan_announces_of_repeats_is_not_above_what_comes() {
    let sandbox = Sandbox::with(&dealt("a"), b"");
    sandbox.write("c", lines(150_000..500_000));
    let file = sandbox.output("stats.json");
    // The first and the fifth are always run: each size for one kind of wrong lines.
    let cases = [
        (1, "diff", "c a", "missing"),
        (1, "union", "a", "missing"),
        (1, "union", "b", "missing"),
        (1, "intersect", "a c", "false"),
        (3, "intersect", "a c", "false"),
        (3, "union", "a", "missing"),
        (3, "union", "b", "missing"),
        (3, "diff", "c a", "missing"),
    ];
    for &(bits, operation, files, wrong) in sweep::some(&cases, 2) {
        if files == "b" {
            sandbox.write("b", dealt("b"));
        }
        let options = format!("{files} --strategy bloom --bits-per-key {bits}");
        let stats = format!("--stats {} --count-only", file.display());
        sandbox
            .run(&format!("{operation} {options} {stats}"))
            .succeeds();
        let measured = parse(&std::fs::read(&file).unwrap());
        let measured = number(&measured, &format!("/filter/expected_{wrong}_lines"));
        let plan = planned(&sandbox, &format!("--operation {operation} {options}"));
        let announced = number(&plan, &format!("/expected_{wrong}_lines"));
        let most = number(&plan, "/most_wrong_lines");
        let said = format!("{operation} {options}: {announced} to {most}, then {measured}");
        assert!(
            announced <= measured * 1.05 && most >= measured * 0.95,
            "{said}"
        );
        // Where all come as often, the least number is about right.
        assert!(files == "b" || announced > measured / 2.0, "{said}");
        let estimated = planned(
            &sandbox,
            &format!("--operation {operation} {options} --estimate"),
        );
        let estimated = number(&estimated, &format!("/expected_{wrong}_lines"));
        assert!(
            (estimated / measured - 1.0).abs() < 0.05,
            "{said}, estimated {estimated}"
        );
    }
}

#[test]
fn l11_a_rate_that_repeats_keep_low_is_not_refused() {
    let sandbox = Sandbox::with(&dealt("a"), b"");
    sandbox.write("c", lines(150_000..500_000));
    // 320,000 different lines would have 5.8 % with 6 bits each, and half of them have 0.8 %.
    for (operation, files) in [("union", "a"), ("diff", "c a"), ("intersect", "a c")] {
        let options = "--strategy bloom --bits-per-key 6 --max-fpr 1.2%";
        let outcome = sandbox.run(&format!("{operation} {files} {options} --count-only"));
        outcome.succeeds();
        let plan = sandbox.run(&format!("plan --operation {operation} {files} {options}"));
        let plan = String::from_utf8_lossy(&plan.succeeds().stdout).into_owned();
        assert!(
            plan.contains(" (a sample shows repeats; --estimate counts the distinct lines)"),
            "{plan}"
        );
    }
}

#[test]
fn l11_an_approximate_difference_keeps_repeats_and_their_order() {
    let (sandbox, texts) = inputs();
    let second = set(&texts[1]);
    let all: Vec<&[u8]> = split(&texts[0], b'\n')
        .into_iter()
        .filter(|line| !second.contains(line))
        .collect();
    let outcome = sandbox.run(&format!("diff --repeats a b {FEW_BITS} --order input"));
    let found = split(&outcome.succeeds().stdout, b'\n');
    let mut rest = all.iter();
    assert!(found.iter().all(|line| rest.any(|right| right == line)));
    assert!(found.len() < all.len() && found.len() > all.len() / 2);
    assert!(
        found.len() > set(&outcome.stdout).len(),
        "no line came twice"
    );
}

#[test]
fn l11_an_approximate_answer_is_asked_for_and_labelled() {
    let (sandbox, _) = inputs();
    for (arguments, label) in [
        ("diff a b --strategy bloom", "each of its lines ("),
        ("diff a b --max-fpr 10% -m 16M --bits-per-key 6", ""),
        ("diff - b --strategy bloom", "each of its lines ("),
    ] {
        let outcome = sandbox.run_fed(&format!("{arguments} --count-only"), &lines(0..10));
        let said = &outcome.succeeds().stderr;
        assert!(said.contains(label), "{arguments}: {said}");
    }
    let plan = sandbox.run("plan --operation diff --lines 5e9,5e9 --memory 4G --max-fpr 20%");
    let plan = String::from_utf8_lossy(&plan.succeeds().stdout).into_owned();
    assert!(
        plan.contains("strategy bloom (approximate: may miss lines, never adds one)"),
        "{plan}"
    );
    assert!(
        plan.contains("lines expected to be missing from the result"),
        "{plan}"
    );
}

#[test]
fn l11_what_has_no_honest_approximation_is_refused() {
    let (sandbox, _) = inputs();
    for (arguments, said) in [
        (
            "union a b --max-fpr 1%",
            "accept that with --strategy bloom",
        ),
        (
            "union a b --strategy bloom --order input",
            "choose an exact strategy",
        ),
        ("symdiff a b --strategy bloom", "choose an exact strategy"),
        (
            "symdiff a b --max-fpr 1%",
            "this operation has no approximate result",
        ),
        (
            "diff a b --all --strategy bloom",
            "choose an exact strategy",
        ),
        (
            "diff a b --which --strategy bloom",
            "choose an exact strategy",
        ),
        (
            "intersect a b --at-least 1 --which --strategy bloom",
            "choose an exact strategy",
        ),
        (
            "intersect a b --repeats --strategy bloom",
            "choose an exact strategy",
        ),
    ] {
        sandbox.run(arguments).fails(2, &[said]);
    }
}

#[test]
fn l11_a_rate_is_kept_where_a_pipe_has_more_lines_than_anybody_knew() {
    let sandbox = Sandbox::with(&lines(0..1000), &lines(500..2000));
    let pipe = lines(0..200_000);
    for command in ["diff a -", "union a -"] {
        let arguments = format!("{command} --strategy bloom --max-fpr 1% --memory 64M -o ../out/r");
        sandbox
            .run_fed(&arguments, &pipe)
            .fails(6, &["is above 1.000%", "write the pipe to a file first"]);
        assert!(!sandbox.output("r").exists(), "{command}");
    }
}

#[test]
fn l11_the_filter_of_a_file_that_is_given_twice_is_saved() {
    let sandbox = Sandbox::with(&lines(0..1000), b"");
    let saved = "intersect a a --strategy bloom --save-filter ../out/f --count-only";
    let outcome = sandbox.run(saved);
    assert_eq!(outcome.succeeds().stdout, b"1000\n");
    let query = sandbox.run("filter query ../out/f a --count-only");
    assert_eq!(query.succeeds().stdout, b"1000\n");
}
