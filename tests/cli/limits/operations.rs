//! The other operations at the edges of a small limit: many inputs, many buckets, many combinations, a long line.

use std::fmt::Write as _;

use differential::sweep;

use crate::data::lines;
use crate::limits::memory::measured;
use crate::sandbox::Sandbox;

const LIMIT: u64 = 16 << 20;

/// Runs within 16 MiB, as the system sees it, and returns what is printed.
fn printed(sandbox: &Sandbox, arguments: &str) -> String {
    let arguments = format!("{arguments} --memory 16M");
    let (outcome, peak) = measured(sandbox, &arguments);
    let text = String::from_utf8(outcome.succeeds().stdout.clone()).unwrap();
    assert!(peak <= LIMIT, "{arguments}: {} KiB resident", peak >> 10);
    text
}

#[test]
#[ignore = "slow: more than a second"]
fn c1_many_inputs_leave_room_for_the_filters_of_a_sieve() {
    const HALF: u64 = 5000;
    let sandbox = Sandbox::new();
    let mut names = String::new();
    for number in 0..40 {
        let name = format!("f{number}");
        sandbox.write(&name, lines(number * HALF..(number + 2) * HALF));
        write!(names, " {name}").unwrap();
    }
    // Each file has the second half of the one before: so many halves are found.
    let runs = [
        ("union --strategy sieve", 41),
        ("union --strategy sieve --buckets 60", 41),
        ("intersect --at-least 2 --strategy sieve --buckets 60", 39),
        ("union", 41),
        ("diff --repeats --strategy sieve --buckets 60", 1),
        ("diff --strategy sieve --buckets 60", 1),
    ];
    for &(words, halves) in sweep::some(&runs, 2) {
        let found = printed(&sandbox, &format!("{words} --count-only{names}"));
        assert_eq!(found, format!("{}\n", halves * HALF), "{words}");
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn c1_a_table_of_all_combinations_of_sixteen_files_is_printed_within_the_limit() {
    let sandbox = Sandbox::new();
    let mut names = String::new();
    for file in 0..16 {
        let numbers = (1..65_536u32).filter(|number| number >> file & 1 == 1);
        let text = numbers.fold(String::new(), |mut text, number| {
            writeln!(text, "{number}").unwrap();
            text
        });
        let name = format!("{}-{file}", "long-name-of-a-file".repeat(3));
        sandbox.write(&name, text);
        write!(names, " {name}").unwrap();
    }
    let table = printed(&sandbox, &format!("overlaps{names}"));
    assert_eq!(table.lines().count(), 65_536);
    let json = printed(&sandbox, &format!("overlaps --json{names}"));
    assert_eq!(json.matches("\"which\"").count(), 65_535);
}

#[test]
#[ignore = "slow: more than a second"]
fn a12_a_difference_that_writes_while_it_reads_has_room_for_a_long_line() {
    let sandbox = Sandbox::new();
    let long = [lines(0..200_000), vec![b'x'; 400_000], b"\n".to_vec()].concat();
    sandbox.write("a", [long, lines(200_000..400_000)].concat());
    sandbox.write("b", lines(350_000..500_000));
    for strategy in ["auto", "sieve", "partition"] {
        let words = format!("diff --repeats a b --count-only --strategy {strategy}");
        assert_eq!(printed(&sandbox, &words), "350001\n", "{strategy}");
    }
}
