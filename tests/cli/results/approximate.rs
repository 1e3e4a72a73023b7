//! `diff` and `union` by `bloom`: no line is wrong, and about as many are missing as the filter says.

use std::collections::BTreeSet;

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

/// Checks that a run writes lines of `all` alone, each once, and that it lacks about as many as it says: within five
/// standard deviations, and half as many again, because the rate of a filter is an estimate, too.
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
    let slack = 5.0 * expected.sqrt() + expected / 2.0;
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
        ("diff a b --strategy bloom", "each of its "),
        ("diff a b --max-fpr 10% -m 16M --bits-per-key 6", ""),
        ("diff - b --strategy bloom", "each of its "),
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
