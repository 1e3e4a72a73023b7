//! Lines by the files that have them: `diff`, `union`, `symdiff`, `overlaps`, and `intersect` by a number of files.

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use differential::sweep;
use serde_json::Value;

use crate::data::{
    DIFF, EXACT, OPERATIONS, Operation, SYMDIFF, UNION, lines, megabytes, sides, split,
};
use crate::json::{number, parse};
use crate::sandbox::{SELECTING, Sandbox, assert_same_lines};

/// A digit for each file, as `--which` writes them.
fn digits(which: &[bool]) -> String {
    let digits = which.iter().map(|&has| if has { '1' } else { '0' });
    digits.collect()
}

/// The text before a line, given which files have it.
type LabelOf = fn(&[bool]) -> String;

/// Options that write something before each line, and what.
const LABELS: [(&str, LabelOf); 2] = [
    ("--which", |which| format!("{}\t", digits(which))),
    ("--count-files", |which| format!("{}\t", sides(which))),
];

/// Three texts with lines in every combination of them, and with repeats in each.
fn three() -> [Vec<u8>; 3] {
    [
        [lines(0..3000), lines(500..700)].concat(),
        [lines(1000..4000), lines(1000..1100)].concat(),
        [lines(2000..2500), lines(3500..5000), lines(0..300)].concat(),
    ]
}

/// A sandbox with the inputs `a`, `b` and `c`.
fn with_three(texts: &[Vec<u8>; 3]) -> Sandbox {
    let sandbox = Sandbox::with(&texts[0], &texts[1]);
    sandbox.write("c", &texts[2]);
    sandbox
}

/// Two texts whose lines spill in 16 MiB, with few lines in common, and a short one that has some of both.
fn large() -> [Vec<u8>; 3] {
    [
        [megabytes(4, 0), lines(0..4000)].concat(),
        megabytes(4, 112_000),
        lines(108_000..130_000),
    ]
}

fn slices(texts: &[Vec<u8>; 3]) -> [&[u8]; 3] {
    texts.each_ref().map(Vec::as_slice)
}

/// The bytes that a run wrote to temporary disk, by its statistics in `../out/s`.
fn written_bytes(sandbox: &Sandbox) -> f64 {
    let stats = parse(&fs::read(sandbox.output("s")).unwrap());
    number(&stats, "/temp/written_bytes")
}

// Every operation.

#[test]
fn l1_every_operation_gives_the_oracles_lines_by_every_strategy() {
    let texts = three();
    let sandbox = with_three(&texts);
    for (operation, strategy) in sweep::pairs(&OPERATIONS, &EXACT) {
        let expected = operation.of(&slices(&texts));
        let arguments = format!("{} a b c --strategy {strategy}", operation.words);
        assert!(!expected.is_empty(), "{arguments}");
        sandbox
            .run(&arguments)
            .succeeds_silently()
            .has_written(&expected);
        let outcome = sandbox.run(&format!("{arguments} --count-only"));
        let count = format!("{}\n", expected.len());
        assert_eq!(outcome.succeeds_silently().stdout, count.into_bytes());
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn l1_every_alias_does_what_its_command_does() {
    let texts = three();
    let sandbox = with_three(&texts);
    for (operation, names) in [DIFF, UNION, SYMDIFF].iter().zip(SELECTING) {
        assert_eq!(operation.words, names[0]);
        let expected = operation.of(&slices(&texts));
        for name in names {
            for strategy in ["memory", "partition", "sieve", "auto"] {
                sandbox
                    .run(&format!("{name} a b c --strategy {strategy}"))
                    .succeeds_silently()
                    .has_written(&expected);
            }
        }
    }
}

#[test]
fn l1_the_first_file_of_a_difference_is_the_one_that_is_named_first() {
    let texts = three();
    let sandbox = with_three(&texts);
    let [a, b, c] = slices(&texts);
    // Whichever is the smallest.
    for (files, texts) in [("b c", [b, c]), ("c b", [c, b]), ("a c", [a, c])] {
        for strategy in EXACT {
            sandbox
                .run(&format!("diff {files} --strategy {strategy}"))
                .succeeds_silently()
                .has_written(&DIFF.of(&texts));
        }
    }
}

#[test]
fn l1_an_empty_file_is_a_file_that_has_no_line() {
    let text = lines(0..100);
    let sandbox = Sandbox::with(&text, b"");
    let all = UNION.of(&[&text]);
    for strategy in EXACT {
        for (arguments, expected) in [
            ("diff a b", &all),
            ("diff b a", &BTreeSet::new()),
            ("union a b", &all),
            ("union b b", &BTreeSet::new()),
            ("symdiff a b", &all),
            ("intersect --at-least 2 a b b", &BTreeSet::new()),
        ] {
            sandbox
                .run(&format!("{arguments} --strategy {strategy}"))
                .succeeds_silently()
                .has_written(expected);
        }
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn l1_what_spills_gives_the_oracles_lines_and_a_sieve_spills_much_less() {
    let texts = large();
    let sandbox = with_three(&texts);
    for operation in sweep::some(&OPERATIONS, 1) {
        // A sieve of lines that all files have is another one.
        if operation.words == "intersect --exactly 3" {
            continue;
        }
        let expected = operation.of(&slices(&texts));
        let spilled = ["partition", "sieve"].map(|strategy| {
            let words = operation.words;
            sandbox
                .run(&format!(
                    "{words} a b c --strategy {strategy} --memory 16M --stats ../out/s"
                ))
                .succeeds_silently()
                .has_written(&expected);
            written_bytes(&sandbox)
        });
        let [by_partition, by_sieve] = spilled;
        // Blocks of 8 MB of lines, less what stays in memory.
        assert!(by_partition > 3e6, "{}: {spilled:?}", operation.words);
        assert!(
            by_sieve < by_partition / 2.0,
            "{}: {spilled:?}",
            operation.words
        );
    }
}

// What stands before a line.

#[test]
fn l2_which_files_and_how_many_have_a_line_stands_before_it() {
    let texts = three();
    let sandbox = with_three(&texts);
    for (operation, strategy, &(option, label)) in sweep::triples(&OPERATIONS, &EXACT, &LABELS) {
        let words = operation.words;
        sandbox
            .run(&format!("{words} a b c --strategy {strategy} {option}"))
            .succeeds_silently()
            .has_written(&operation.labelled(&slices(&texts), label));
    }
}

#[test]
fn l2_labels_are_right_where_lines_spill() {
    let texts = large();
    let sandbox = with_three(&texts);
    for (strategy, &(option, label)) in sweep::pairs(&["partition", "sieve"], &LABELS) {
        sandbox
            .run(&format!(
                "union a b c --strategy {strategy} --memory 16M {option} --stats ../out/s"
            ))
            .succeeds_silently()
            .has_written(&UNION.labelled(&slices(&texts), label));
        assert!(written_bytes(&sandbox) > 3e5, "{strategy} spilled nothing");
    }
}

#[test]
fn l2_sixteen_files_have_sixteen_digits() {
    let sandbox = Sandbox::new();
    let texts: Vec<Vec<u8>> = (0..16u64).map(|i| lines(i * 50..1000)).collect();
    let mut names = String::new();
    for (number, text) in texts.iter().enumerate() {
        sandbox.write(&format!("f{number}"), text);
        names = format!("{names} f{number}");
    }
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let expected = UNION.labelled(&texts, |which| format!("{}\t", digits(which)));
    for strategy in EXACT {
        sandbox
            .run(&format!("union {names} --which --strategy {strategy}"))
            .succeeds_silently()
            .has_written(&expected);
    }
}

// One file, and a file that is given twice.

#[test]
fn l3_the_union_of_one_file_is_its_distinct_lines() {
    let text = [lines(0..3000), lines(1000..2000)].concat();
    let sandbox = Sandbox::with(&text, b"");
    for strategy in EXACT {
        for arguments in ["union a", "dedup a", "intersect --at-least 1 a"] {
            sandbox
                .run(&format!("{arguments} --strategy {strategy}"))
                .succeeds_silently()
                .has_written(&UNION.of(&[&text]));
        }
    }
}

#[test]
fn l3_the_union_of_one_file_that_spills_is_its_distinct_lines() {
    let text = [megabytes(3, 0), lines(0..60_000)].concat();
    let sandbox = Sandbox::with(&text, b"");
    for strategy in ["partition", "sieve"] {
        sandbox
            .run(&format!(
                "union a --strategy {strategy} --memory 16M --stats ../out/s"
            ))
            .succeeds_silently()
            .has_written(&UNION.of(&[&text]));
        assert!(written_bytes(&sandbox) > 3e5, "{strategy} spilled nothing");
    }
}

#[test]
fn l3_a_file_that_is_given_twice_is_two_files() {
    let texts = three();
    let sandbox = with_three(&texts);
    std::os::unix::fs::symlink("a", sandbox.input("link")).unwrap();
    let [a, b, _] = slices(&texts);
    let given = [
        ("a a b", [a, a, b]),
        ("a b a", [a, b, a]),
        ("b a link", [b, a, a]),
        ("a ./a link", [a, a, a]),
    ];
    for (operation, (files, texts), strategy) in sweep::triples(&OPERATIONS, &given, &EXACT) {
        let arguments = format!("{} {files} --strategy {strategy}", operation.words);
        sandbox
            .run(&arguments)
            .succeeds_silently()
            .has_written(&operation.of(texts));
        let which = operation.labelled(texts, |which| format!("{}\t", digits(which)));
        sandbox
            .run(&format!("{arguments} --which"))
            .succeeds_silently()
            .has_written(&which);
    }
}

#[test]
fn l3_of_a_file_and_itself_everything_is_common_and_nothing_differs() {
    let text = [megabytes(4, 0), lines(0..4000)].concat();
    let sandbox = Sandbox::with(&text, b"");
    let (all, nothing) = (UNION.of(&[&text]), BTreeSet::new());
    let operations = [
        ("diff a a", &nothing),
        ("symdiff a a", &nothing),
        ("intersect --at-least 2 a a", &all),
        ("intersect --at-most 1 a a", &nothing),
        ("union a a", &all),
    ];
    let strategies = ["auto", "partition", "sieve"];
    for ((arguments, expected), strategy) in sweep::pairs(&operations, &strategies) {
        sandbox
            .run(&format!("{arguments} --strategy {strategy} --memory 16M"))
            .succeeds_silently()
            .has_written(expected);
    }
}

// Overlaps.

/// The combinations of files that have lines, each with their number.
fn combinations(texts: &[&[u8]]) -> BTreeSet<(String, usize)> {
    let labelled = UNION.labelled(texts, |which| format!("{}\t", digits(which)));
    let labels = labelled.iter().map(|line| &line[..texts.len()]);
    let different: BTreeSet<&[u8]> = labels.clone().collect();
    let count = |label| labels.clone().filter(|&other| other == label).count();
    let named = |label: &[u8]| String::from_utf8(label.to_vec()).unwrap();
    different
        .into_iter()
        .map(|label| (named(label), count(label)))
        .collect()
}

/// The combinations in a table as JSON.
fn found(table: &Value) -> BTreeSet<(String, usize)> {
    let rows = table["combinations"].as_array().unwrap();
    let row = |row: &Value| {
        let which = row["which"].as_str().unwrap().to_owned();
        (which, number(row, "/lines") as usize)
    };
    let found: BTreeSet<_> = rows.iter().map(row).collect();
    assert_eq!(found.len(), rows.len(), "a combination is there twice");
    found
}

/// Each row of a table must count the lines that all of its files have, and perhaps others.
fn assert_common(table: &Value, texts: &[&[u8]], about: &str) {
    let sets: Vec<BTreeSet<&[u8]>> = texts
        .iter()
        .map(|text| split(text, b'\n').into_iter().collect())
        .collect();
    for row in table["combinations"].as_array().unwrap() {
        let which = row["which"].as_str().unwrap().bytes();
        let mut its = sets.iter().zip(which).filter(|&(_, digit)| digit == b'1');
        let (first, _) = its.next().unwrap();
        let common = its.fold(first.clone(), |common, (set, _)| &common & set);
        assert_eq!(row["common_lines"], common.len(), "{about}: {row}");
    }
}

#[test]
fn l4_the_numbers_of_overlaps_are_those_of_the_oracle_and_add_up_to_the_union() {
    let texts = three();
    let sandbox = with_three(&texts);
    let [a, b, c] = slices(&texts);
    let groups = [
        ("a", &[a][..]),
        ("a b", &[a, b]),
        ("a b c", &[a, b, c]),
        ("c a", &[c, a]),
        ("a a", &[a, a]),
        ("a b a", &[a, b, a]),
    ];
    for (&(files, texts), strategy) in sweep::pairs(&groups, &EXACT) {
        let all = UNION.of(texts).len();
        let outcome = sandbox.run(&format!("overlaps {files} --json --strategy {strategy}"));
        let table = parse(&outcome.succeeds_silently().stdout);
        let about = format!("{files} by {strategy}");
        assert_eq!(found(&table), combinations(texts), "{about}");
        assert_common(&table, texts, &about);
        let sum: usize = found(&table).iter().map(|&(_, lines)| lines).sum();
        assert_eq!(sum, all, "{about}");
        assert_eq!(number(&table, "/stats/output/lines"), all as f64);
        let names: Vec<&str> = files.split(' ').collect();
        assert_eq!(table["inputs"], serde_json::json!(names));
    }
}

#[test]
fn l4_combinations_without_lines_are_absent() {
    let sandbox = Sandbox::with(&lines(0..100), &lines(200..300));
    sandbox.write("c", lines(0..100));
    let outcome = sandbox.run("overlaps a b c --json");
    let expected = BTreeSet::from([("101".to_owned(), 100), ("010".to_owned(), 100)]);
    assert_eq!(found(&parse(&outcome.succeeds_silently().stdout)), expected);
}

#[test]
fn l4_overlaps_of_nothing_are_no_combination() {
    let sandbox = Sandbox::with(b"", b"");
    let outcome = sandbox.run("overlaps a b --json");
    assert!(found(&parse(&outcome.succeeds_silently().stdout)).is_empty());
    let outcome = sandbox.run("overlaps a b");
    assert_eq!(
        outcome.succeeds_silently().stdout,
        b"which  lines  common  files\n"
    );
}

#[test]
fn l4_the_table_has_the_combinations_with_most_lines_first_and_names_their_files() {
    let sandbox = Sandbox::with(&lines(0..30), &lines(20..2000));
    sandbox.write("c", lines(1990..2000));
    let expected = "which  lines  common  files\n\
                    010     1960    1980  b\n\
                    100       20      30  a\n\
                    110       10      10  a b\n\
                    011       10      10  b c\n";
    let outcome = sandbox.run("overlaps a b c");
    let text = String::from_utf8(outcome.succeeds_silently().stdout.clone()).unwrap();
    assert_eq!(text, expected);
    let outcome = sandbox.run("overlaps a b c -q");
    assert_eq!(outcome.succeeds_silently().stdout, expected.as_bytes());
}

#[test]
fn l4_overlaps_of_files_that_spill_are_those_of_the_oracle() {
    let texts = large();
    let sandbox = with_three(&texts);
    let expected = combinations(&slices(&texts));
    for strategy in sweep::some(&["partition", "sieve"], 1) {
        let outcome = sandbox.run(&format!(
            "overlaps a b c --json --memory 16M --strategy {strategy}"
        ));
        let table = parse(&outcome.succeeds_silently().stdout);
        assert_eq!(found(&table), expected, "{strategy}");
        assert_common(&table, &slices(&texts), strategy);
        let written = number(&table, "/stats/temp/written_bytes");
        assert!(written > 3e5, "{strategy} spilled nothing");
    }
}

// Pipes.

/// Runs with inputs from FIFOs of these names.
fn run_with_fifos(
    sandbox: &Sandbox,
    fifos: &[(&str, &[u8])],
    arguments: &str,
) -> crate::sandbox::Outcome {
    thread::scope(|scope| {
        for &(name, text) in fifos {
            let path = sandbox.fifo(name);
            scope.spawn(move || fs::write(path, text).unwrap());
        }
        let outcome = sandbox.run(arguments);
        for (name, _) in fifos {
            fs::remove_file(sandbox.input(name)).unwrap();
        }
        outcome
    })
}

#[test]
fn l5_any_of_the_inputs_may_be_a_pipe() {
    let texts = three();
    let [a, b, c] = slices(&texts);
    let operations = OPERATIONS.into_iter();
    let operations = operations.filter(|operation| !operation.words.ends_with(" 1"));
    let operations: Vec<Operation> = operations.collect();
    let choices = [
        &[("a", a)][..],
        &[("b", b)],
        &[("a", a), ("b", b), ("c", c)],
    ];
    for (operation, strategy, pipes) in sweep::triples(&operations, &EXACT, &choices) {
        let sandbox = Sandbox::new();
        for (name, text) in [("a", a), ("b", b), ("c", c)] {
            if !pipes.contains(&(name, text)) {
                sandbox.write(name, text);
            }
        }
        let words = operation.words;
        let arguments = format!("{words} a b c --strategy {strategy} --memory 16M");
        run_with_fifos(&sandbox, pipes, &arguments)
            .succeeds_silently()
            .has_written(&operation.of(&[a, b, c]));
    }
}

#[test]
fn l5_standard_input_is_an_input_of_every_operation() {
    let texts = three();
    let [a, b, _] = slices(&texts);
    let sandbox = Sandbox::with(a, b"");
    let operations = [DIFF, UNION, SYMDIFF];
    let places = [("a -", [a, b]), ("- a", [b, a])];
    for (operation, strategy, (files, texts)) in sweep::triples(&operations, &EXACT, &places) {
        let words = operation.words;
        sandbox
            .run_fed(&format!("{words} {files} --strategy {strategy}"), b)
            .succeeds_silently()
            .has_written(&operation.of(texts));
    }
    for strategy in EXACT {
        let arguments = format!("overlaps a - --json --strategy {strategy}");
        let outcome = sandbox.run_fed(&arguments, b);
        let table = parse(&outcome.succeeds_silently().stdout);
        assert_eq!(found(&table), combinations(&[a, b]), "{strategy}");
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn l5_a_sieve_copies_pipes_and_only_if_it_is_asked_for() {
    let texts = large();
    let [a, b, _] = slices(&texts);
    let strategies = [("sieve", 2), ("auto", 0), ("partition", 0)];
    for (operation, &(strategy, copies)) in sweep::pairs(&[DIFF, UNION, SYMDIFF], &strategies) {
        // Where all inputs are pipes, auto copies one to learn its size.
        let pipes = match strategy {
            "auto" => &[("b", b)][..],
            _ => &[("a", a), ("b", b)],
        };
        let sandbox = Sandbox::new();
        if strategy == "auto" {
            sandbox.write("a", a);
        }
        let words = operation.words;
        let arguments = format!("{words} a b --memory 16M --strategy {strategy} --stats ../out/s");
        run_with_fifos(&sandbox, pipes, &arguments)
            .succeeds_silently()
            .has_written(&operation.of(&[a, b]));
        let stats = parse(&fs::read(sandbox.output("s")).unwrap());
        let phases = stats["phases"].as_array().unwrap().iter();
        let is_copy = |phase: &&Value| phase["name"] == "spool";
        assert_eq!(
            phases.filter(is_copy).count(),
            copies,
            "{words} by {strategy}: {stats:#}"
        );
    }
}

// Other line ends.

#[test]
fn l6_zero_terminated_lines_are_selected_and_labelled() {
    let sandbox = Sandbox::with(b"one\nline\0two\0two\0", b"two\0three\n\0four");
    for strategy in EXACT {
        for (arguments, expected) in [
            ("diff a b", &[&b"one\nline"[..]][..]),
            ("union a b", &[b"one\nline", b"two", b"three\n", b"four"]),
            ("symdiff a b", &[b"one\nline", b"three\n", b"four"]),
            ("intersect --at-least 2 a b", &[b"two"]),
            (
                "intersect --exactly 1 --which a b",
                &[b"10\tone\nline", b"01\tthree\n", b"01\tfour"],
            ),
            (
                "union --count-files a b",
                &[b"1\tone\nline", b"2\ttwo", b"1\tthree\n", b"1\tfour"],
            ),
        ] {
            let outcome = sandbox.run(&format!("{arguments} -z --strategy {strategy}"));
            let expected = expected.iter().copied().collect();
            assert_same_lines(&outcome.succeeds_silently().stdout, 0, &expected);
        }
        let outcome = sandbox.run(&format!("overlaps a b -z --json --strategy {strategy}"));
        let expected = [("10", 1), ("01", 2), ("11", 1)];
        let expected = expected.map(|(which, lines)| (which.to_owned(), lines));
        let table = parse(&outcome.succeeds_silently().stdout);
        assert_eq!(found(&table), BTreeSet::from(expected), "{strategy}");
    }
}

#[test]
fn l6_a_carriage_return_before_the_line_end_counts_unless_it_is_stripped() {
    let sandbox = Sandbox::with(b"one\r\ntwo\r\nthree\r\n", b"two\nthree\nfour\n");
    for strategy in EXACT {
        for (arguments, expected) in [
            ("diff a b", &["one"][..]),
            ("union a b", &["one", "two", "three", "four"]),
            ("symdiff a b", &["one", "four"]),
            ("intersect --at-least 2 a b", &["two", "three"]),
            ("symdiff --which a b", &["10\tone", "01\tfour"]),
        ] {
            let expected = expected.iter().map(|line| line.as_bytes()).collect();
            sandbox
                .run(&format!("{arguments} --strip-cr --strategy {strategy}"))
                .succeeds_silently()
                .has_lines(&expected);
        }
        // The hint about line ends is one more line on standard error.
        let outcome = sandbox.run(&format!("union a b -q --strategy {strategy}"));
        let lines = ["one\r", "two\r", "three\r", "two", "three", "four"];
        outcome
            .succeeds()
            .has_lines(&lines.iter().map(|line| line.as_bytes()).collect());
    }
}

// Wrong usage.

#[test]
fn l7_requests_that_make_no_sense_are_wrong_usage() {
    let texts = three();
    let sandbox = with_three(&texts);
    sandbox.run("filter build a -o ../out/f -q").succeeds();
    let many = "a ".repeat(65);
    for (arguments, parts) in [
        (
            "symdiff a b --strategy bloom".to_owned(),
            &["bloom", "exact strategy"][..],
        ),
        (
            "overlaps a b --strategy bloom".to_owned(),
            &["bloom", "exact strategy"],
        ),
        (
            "intersect a b --which --strategy bloom".to_owned(),
            &["bloom", "exact strategy"],
        ),
        (
            "intersect a b c --at-least 2 --strategy bloom".to_owned(),
            &["bloom", "exact strategy"],
        ),
        (format!("union --which {many}"), &["65 files given", "64"]),
        (
            format!("intersect --which {many}"),
            &["65 files given", "64"],
        ),
        (
            format!("overlaps {many}"),
            &["65 files given", "at most 64"],
        ),
        ("diff a".to_owned(), &["one file given", "two or more"]),
        ("symdiff a".to_owned(), &["one file given", "two or more"]),
        (
            "intersect --at-least 2 a".to_owned(),
            &["one file given", "two or more"],
        ),
        (
            "intersect --at-least 1 a b --filter ../out/f".to_owned(),
            &["--filter"],
        ),
        (
            "intersect --at-least 1 a b --save-filter ../out/g".to_owned(),
            &["--save-filter"],
        ),
        (
            "intersect --which a b --save-filter ../out/g".to_owned(),
            &["--save-filter"],
        ),
        (
            "plan --operation union --at-least 2 a b".to_owned(),
            &["--at-least", "intersect"],
        ),
        (
            "plan --operation diff --exactly 1 a b".to_owned(),
            &["--exactly", "intersect"],
        ),
        (
            "plan --operation diff a".to_owned(),
            &["one file given", "two or more"],
        ),
        (
            "plan --operation nonsense a b".to_owned(),
            &["nonsense", "plan --help"],
        ),
        (
            "union a b --which --count-only".to_owned(),
            &["--which", "--count-only"],
        ),
        (
            "union a b --which --count-files".to_owned(),
            &["--which", "--count-files"],
        ),
        (
            "intersect a b --exactly 1 --at-most 1".to_owned(),
            &["--exactly", "--at-most"],
        ),
        ("intersect a b --at-least 0".to_owned(), &["--at-least"]),
    ] {
        let outcome = sandbox.run(&arguments);
        outcome.fails(2, parts);
        assert!(outcome.stdout.is_empty(), "{arguments}: {outcome}");
    }
    assert!(!sandbox.output("g").exists());
}

#[test]
fn l7_bounds_that_no_line_can_meet_are_wrong_usage_and_named() {
    let texts = three();
    let sandbox = with_three(&texts);
    for (options, parts) in [
        (
            "--at-least 4",
            &["--at-least 4", "3 files", "from 1 to 3"][..],
        ),
        ("--at-most 4", &["--at-most 4", "3 files"]),
        ("--exactly 4", &["4", "3 files"]),
        ("--at-least 3 --at-most 2", &["--at-least 3", "--at-most 2"]),
        (
            "--only 10",
            &["--only 10: 2 digits for 3 sides", "such as 101"],
        ),
        ("--only 0000", &["--only 0000", "each of the 3 sides"]),
        (
            "--only 000",
            &["--only 000", "at least one side", "such as 101"],
        ),
    ] {
        for command in ["intersect", "plan"] {
            sandbox
                .run(&format!("{command} a b c {options}"))
                .fails(2, parts);
        }
    }
}

#[test]
fn l16_a_combination_that_makes_no_sense_is_wrong_usage() {
    let sandbox = Sandbox::with(b"x\n", b"x\n");
    sandbox.run("filter build a -o ../out/f").succeeds();
    let many = "a ".repeat(65);
    for (arguments, parts) in [
        (
            "intersect a b --only 10 --exactly 1".to_owned(),
            &["--only", "--exactly"][..],
        ),
        (
            "intersect a b --only 10 --at-least 1".to_owned(),
            &["--only", "--at-least"],
        ),
        (
            "intersect a b --only 10 --at-most 1".to_owned(),
            &["--only", "--at-most"],
        ),
        (
            "intersect a b --only 12".to_owned(),
            &["give the digit 1", "such as 101"],
        ),
        (
            format!("intersect a b --only {}", "1".repeat(65)),
            &["--only", "65 digits given", "at most 64"],
        ),
        (
            format!("intersect --only 10 {many}"),
            &["65 files given", "64"],
        ),
        (
            "intersect a b --only 10 --strategy bloom".to_owned(),
            &["bloom works only", "--only"],
        ),
        (
            "intersect a b --only 10 --max-fpr 1%".to_owned(),
            &["--max-fpr", "no approximate result"],
        ),
        (
            "intersect a b --only 10 --filter ../out/f".to_owned(),
            &["--filter", "--only"],
        ),
        (
            "intersect a b --only 10 --save-filter ../out/g".to_owned(),
            &["--save-filter", "--only"],
        ),
        (
            "intersect a b --only 10 --repeats".to_owned(),
            &["--repeats", "--only"],
        ),
        (
            "intersect a b --only 10 --all".to_owned(),
            &["--all", "--only"],
        ),
        (
            "plan --operation diff --only 10 a b".to_owned(),
            &["--only", "intersect"],
        ),
        ("diff a b --only 10".to_owned(), &["--only", "diff --help"]),
        (
            "diff a b --at-least 1".to_owned(),
            &["--at-least", "diff --help"],
        ),
    ] {
        let outcome = sandbox.run(&arguments);
        outcome.fails(2, parts);
        assert!(outcome.stdout.is_empty(), "{arguments}: {outcome}");
    }
    assert!(!sandbox.output("g").exists());
}

#[test]
fn l16_the_digits_of_every_row_of_overlaps_write_its_lines() {
    let sandbox = with_three(&three());
    let printed = |arguments: &str| sandbox.run(arguments).succeeds().stdout.clone();
    let rows = found(&parse(&printed("overlaps a b c --json")));
    assert!(rows.len() > 3, "{rows:?}");
    for (turn, (which, lines)) in rows.into_iter().enumerate() {
        let strategy = EXACT[turn % EXACT.len()];
        let given = format!("intersect a b c --only {which} --strategy {strategy}");
        let written = printed(&format!("{given} --which"));
        let label = format!("{which}\t");
        let mut labelled = written.split_inclusive(|&byte| byte == b'\n');
        assert_eq!(labelled.clone().count(), lines, "{given}");
        assert!(
            labelled.all(|line| line.starts_with(label.as_bytes())),
            "{given}"
        );
        let count = printed(&format!("{given} --count-only"));
        assert_eq!(count, format!("{lines}\n").into_bytes(), "{given}");
    }
    sandbox
        .run("intersect a b c --only 101 --count-only --stats ../out/s")
        .succeeds();
    let stats = parse(&fs::read(sandbox.output("s")).unwrap());
    assert_eq!(stats["origin"]["options"]["--only"][0], "101", "{stats}");
}

#[test]
fn l1_a_sieve_of_one_file_spills_only_what_comes_again() {
    let text = [megabytes(5, 0), lines(0..5000)].concat();
    let sandbox = Sandbox::with(&text, b"");
    let written = ["partition", "sieve"].map(|strategy| {
        sandbox
            .run(&format!(
                "union a --strategy {strategy} --memory 16M --stats ../out/s --count-only"
            ))
            .succeeds_silently();
        written_bytes(&sandbox)
    });
    assert!(written[1] < written[0] / 2.0, "{written:?}");
}
