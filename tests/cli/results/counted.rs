//! Lines chosen and ordered by the number of their occurrences: `--order count`, `--top`, `--min-count`, `--max-count`,
//! against the oracle and against `sort` and `uniq`.

use std::io::Write;
use std::process::Command;

use differential::{oracle, sweep};
use outset::Order;

use crate::data::{EXACT, lines, split};
use crate::limits::memory::measured;
use crate::sandbox::Sandbox;

/// The words of a command, and whether it writes a line, given how often each file has it.
type Job = (&'static str, fn(&[usize]) -> bool);
/// Options, and whether a line has the occurrences that they ask for.
type Bound = (&'static str, fn(usize) -> bool);

fn having(counts: &[usize]) -> usize {
    counts.iter().filter(|&&count| count > 0).count()
}

const JOBS: [Job; 6] = [
    ("union", |_| true),
    ("intersect", |counts| having(counts) == 3),
    ("intersect --at-least 2", |counts| having(counts) >= 2),
    ("diff", |counts| counts[0] > 0 && having(counts) == 1),
    ("symdiff", |counts| having(counts) == 1),
    ("intersect --only 101", |counts| {
        counts[0] > 0 && counts[1] == 0 && counts[2] > 0
    }),
];
const BOUNDS: [Bound; 5] = [
    ("", |_| true),
    ("--min-count 1", |_| true),
    ("--min-count 3", |count| count >= 3),
    ("--max-count 2", |count| count <= 2),
    ("--min-count 2 --max-count 3", |count| {
        (2..=3).contains(&count)
    }),
];

/// Three texts in which lines come once, twice, and more often in the one or the other, in no order.
fn texts() -> [Vec<u8>; 3] {
    [
        [
            lines(900..1500),
            lines(0..1000),
            lines(100..300),
            lines(250..300),
        ]
        .concat(),
        [lines(500..800), lines(700..1200), lines(120..140)].concat(),
        [
            lines(600..650),
            lines(640..710),
            lines(1400..1600),
            lines(1450..1460),
        ]
        .concat(),
    ]
}

/// Returns what a run prints.
fn printed(sandbox: &Sandbox, arguments: &str) -> Vec<u8> {
    sandbox.run(arguments).succeeds().stdout.clone()
}

fn text_of(lines: &[Vec<u8>]) -> Vec<u8> {
    lines
        .iter()
        .flat_map(|line| [line, &b"\n"[..]].concat())
        .collect()
}

#[test]
fn l15_occurrences_choose_and_order_the_lines_of_every_operation() {
    let texts = texts();
    let sandbox = Sandbox::new();
    for (text, name) in texts.iter().zip(["a", "b", "c"]) {
        sandbox.write(name, text);
    }
    let lines = texts.each_ref().map(|text| split(text, b'\n'));
    let cases = sweep::triples(&JOBS, &BOUNDS, &EXACT).into_iter();
    for (turn, ((words, is_asked), (bound, contains), strategy)) in cases.enumerate() {
        let sum = |counts: &[usize]| counts.iter().sum::<usize>();
        let times = |counts: &[usize]| usize::from(is_asked(counts) && contains(sum(counts)));
        let labelled = |counts: &[usize]| format!("{}\t", sum(counts));
        let plain = oracle::selected(&lines, (Order::Count, false), times, |_| String::new());
        let counted = oracle::selected(&lines, (Order::Count, false), times, labelled);
        let sorted = oracle::selected(&lines, (Order::Sorted, false), times, |_| String::new());
        let input = oracle::selected(&lines, (Order::Input, false), times, labelled);
        let first = |lines: &[Vec<u8>]| text_of(&lines[..lines.len().min(7)]);
        let few = [
            ("--order count --count", text_of(&counted)),
            ("--top 7", first(&plain)),
            ("--order count --top 7 -c", first(&counted)),
            ("--order sorted", text_of(&sorted)),
            ("--order input -c", text_of(&input)),
            ("--count-only", format!("{}\n", plain.len()).into_bytes()),
        ];
        // The ways to write the lines by turns.
        let (options, expected) = &few[turn % few.len()];
        let arguments = format!("{words} {bound} {options} a b c --strategy {strategy}");
        assert!(printed(&sandbox, &arguments) == *expected, "{arguments}");
    }
}

#[test]
fn l15_the_most_frequent_lines_are_those_of_sort_and_uniq() {
    let texts = texts();
    let sandbox = Sandbox::with(&texts[0], &texts[1]);
    let as_here = "sed -E 's/^ *([0-9]+) /\\1\\t/'";
    for (words, script) in [
        (
            "union --count --top 100 a b",
            format!("sort a b | uniq -c | sort -s -k1,1nr | head -100 | {as_here}"),
        ),
        (
            "union --order count a b",
            "sort a b | uniq -c | sort -s -k1,1nr | sed -E 's/^ *[0-9]+ //'".to_owned(),
        ),
        (
            "union --min-count 2 --order sorted a b",
            "sort a b | uniq -d".to_owned(),
        ),
        (
            "union --max-count 1 --order sorted a",
            "sort a | uniq -u".to_owned(),
        ),
    ] {
        let mut command = Command::new("bash");
        command.arg("-c").arg(&script).env("LC_ALL", "C");
        command.current_dir(sandbox.input("a").parent().unwrap());
        let expected = command.output().unwrap().stdout;
        assert!(expected.len() > 500, "{script}");
        assert!(printed(&sandbox, words) == expected, "{words}");
    }
}

#[test]
fn l15_a_top_larger_than_its_memory_goes_through_temporary_files_and_a_small_one_does_not() {
    let sandbox = Sandbox::new();
    // Lines of 40 bytes; one in four comes again, the last ones most often.
    let text: Vec<u8> = (0..120_000_u32)
        .flat_map(|i| format!("{:0>39}\n", (i * 7919 % 90_001) / (1 + i % 2)).into_bytes())
        .collect();
    sandbox.write("a", &text);
    let split = [split(&text, b'\n')];
    let label = |counts: &[usize]| format!("{}\t", counts[0]);
    let expected = oracle::selected(&split, (Order::Count, false), |_| 1, label);
    let mut of_few = 0;
    // The small ones first.
    let tops = [(10, 3), (10, 1), (40_000, 1), (1_000_000, 3)];
    for &(top, threads) in sweep::some(&tops, 2) {
        let arguments = format!(
            "union a -m 16M -j {threads} --strategy partition --count --top {top} --stats ../out/s"
        );
        let (outcome, peak) = measured(&sandbox, &arguments);
        let first = text_of(&expected[..expected.len().min(top)]);
        assert!(outcome.succeeds().stdout == first, "{arguments}");
        assert!(peak <= 16 << 20, "{arguments}: {} KiB resident", peak >> 10);
        let stats = std::fs::read_to_string(sandbox.output("s")).unwrap();
        let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
        assert_eq!(stats["output"]["lines"], expected.len().min(top));
        let written = stats["temp"]["written_bytes"].as_u64().unwrap();
        if top == 10 {
            of_few = written;
        } else {
            // What lines in order have in common is written once, so that some 25 bytes of each are left.
            assert!(
                written > of_few + (1 << 19),
                "{arguments}: {written}, {of_few}"
            );
        }
    }
}

#[test]
fn l15_records_come_with_the_count_of_their_key() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "k,n\na,1\nB,2\na,3\nc,4\na,1\n");
    sandbox.write("b", "k,n\na,9\nb,9\na,8\nc,1\n");
    sandbox.write("j", "{\"k\":1}\n{\"k\":2}\n{\"k\":1,\"n\":0}\n");
    for (options, expected) in [
        (
            "union --csv -k k --top 2 --count a b",
            "count,k,n\n5,a,1\n2,c,4\n",
        ),
        (
            "union --csv -k k --order count a b",
            "k,n\na,1\nc,4\nB,2\nb,9\n",
        ),
        (
            "union --csv -k k -i --top 2 --count --keys-only a b",
            "count,k\n5,a\n2,b\n",
        ),
        (
            "union --csv -k k --max-count 1 --order input a b",
            "k,n\nB,2\nb,9\n",
        ),
        // All records of the first file: the first so many of these, not of the keys.
        (
            "intersect --csv -k k --top 3 --count a b",
            "count,k,n\n5,a,1\n5,a,1\n5,a,3\n",
        ),
        (
            "intersect --csv -k k --max-count 2 --count a b",
            "count,k,n\n2,c,4\n",
        ),
        ("diff --csv -k k --min-count 2 a b", "k,n\n"),
        ("union --jsonl -k k --top 1 --count j", "2\t{\"k\":1}\n"),
        ("union --jsonl -k k --max-count 1 j", "{\"k\":2}\n"),
    ] {
        for how in ["", "--strategy partition", "--strategy sieve -m 24M"] {
            let found = printed(&sandbox, &format!("{options} {how}"));
            assert_eq!(String::from_utf8_lossy(&found), expected, "{options} {how}");
        }
    }
}

#[test]
fn l15_a_file_given_twice_counts_twice() {
    let sandbox = Sandbox::with(b"b\na\nb\n", b"c\n");
    for strategy in EXACT {
        for (options, expected) in [
            ("union --top 9 -c a b a", "4\tb\n2\ta\n1\tc\n"),
            ("union --max-count 2 --order sorted a b a", "a\nc\n"),
            ("intersect --min-count 3 a a", "b\n"),
            ("symdiff --min-count 2 a b", "b\n"),
        ] {
            let found = printed(&sandbox, &format!("{options} --strategy {strategy}"));
            assert_eq!(
                String::from_utf8_lossy(&found),
                expected,
                "{options} {strategy}"
            );
        }
    }
}

#[test]
fn l15_lines_that_come_once_are_not_spilled_where_they_must_come_again() {
    let sandbox = Sandbox::new();
    let text = [lines(0..200_000), lines(0..10)].concat();
    sandbox.write("a", &text);
    let arguments = "union a --min-count 2 --strategy sieve -m 16M --order input --stats ../out/s";
    assert!(printed(&sandbox, arguments) == lines(0..10));
    let stats = std::fs::read_to_string(sandbox.output("s")).unwrap();
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    let written = stats["temp"]["written_bytes"].as_u64().unwrap();
    assert!(written < text.len() as u64 / 4, "{written}");
}

#[test]
fn l15_lines_that_come_again_and_again_are_counted_where_they_come_first() {
    type Times<'t> = &'t dyn Fn(&[usize]) -> usize;
    type Written<'t> = &'t dyn Fn(&[usize]) -> String;

    /// Makes 120,000 lines, each one of 20,000 from `first` on, in no order. They come six times on average.
    fn text(first: u64) -> Vec<u8> {
        let mixed = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let drawn = |i: u64| mixed(mixed(i) ^ mixed(i) >> 29) >> 32;
        let mut text = Vec::new();
        for i in 1..=120_000 {
            writeln!(text, "{:0>170}", first + drawn(i) % 20_000).unwrap();
        }
        text
    }
    let sandbox = Sandbox::new();
    let texts = [text(0), text(10_000)];
    sandbox.write("a", &texts[0]);
    sandbox.write("b", &texts[1]);
    let lines = texts.each_ref().map(|text| split(text, b'\n'));
    let all = |counts: &[usize]| counts[0] + counts[1];
    let counted = |counts: &[usize]| format!("{}\t", counts[0] + counts[1]);
    let which = |counts: &[usize]| {
        counts
            .iter()
            .map(|&count| u8::from(count > 0).to_string())
            .collect::<String>()
            + "\t"
    };
    let nothing = |_: &[usize]| String::new();
    let often = |counts: &[usize]| usize::from(all(counts) >= 12);
    let alone = |counts: &[usize]| usize::from(counts[0] == 0 || counts[1] == 0);
    let left = |counts: &[usize]| counts[0].saturating_sub(counts[1]);
    let selected =
        |order, times: &dyn Fn(&[usize]) -> usize, label: &dyn Fn(&[usize]) -> String| {
            oracle::selected(&lines, (order, false), times, label)
        };
    let sorted = Order::Sorted;
    let runs: [(&str, Order, Times, Written); 6] = [
        // The one that is run always, in the order in which they come first.
        (
            "union --count -j 3 -m 24M --order input",
            Order::Input,
            &|_| 1,
            &counted,
        ),
        ("union --all -j 3 -m 18M", sorted, &all, &nothing),
        ("union --count -j 1 -m 16M", sorted, &|_| 1, &counted),
        (
            "union --which --min-count 12 -j 2 -m 18M",
            sorted,
            &often,
            &which,
        ),
        ("symdiff --count -j 3 -m 18M", sorted, &alone, &counted),
        ("diff --all -j 1 -m 16M", sorted, &left, &nothing),
    ];
    for &(words, order, times, label) in sweep::some(&runs, 1) {
        let mut expected = selected(order, times, label);
        let printed = printed(
            &sandbox,
            &format!("{words} a b --strategy partition --stats ../out/s"),
        );
        let mut found = split(&printed, b'\n');
        if !words.contains("--order") {
            found.sort_unstable();
            expected.sort_unstable();
        }
        assert!(found == expected, "{words}");
        let stats = std::fs::read_to_string(sandbox.output("s")).unwrap();
        let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
        let written = stats["temp"]["written_bytes"].as_u64().unwrap();
        // Of some, lines found no room; the texts have 39 MiB.
        assert!(written < 16 << 20, "{words}: {written}");
    }
}

#[test]
fn l15_what_cannot_be_combined_with_counts_is_refused_with_advice() {
    let sandbox = Sandbox::with(b"a\n", b"b\n");
    for (arguments, parts) in [
        (
            "union --top 2 --order sorted a",
            &["--top", "--order sorted", "--order count"][..],
        ),
        ("union --top 2 --order input a", &["--top", "--order input"]),
        ("union --top 2 --keep-order a", &["--top", "--order input"]),
        ("union --top 0 a", &["0", "--top"]),
        ("union --min-count 0 a", &["0", "--min-count"]),
        (
            "union --min-count 3 --max-count 2 a",
            &["--min-count 3, --max-count 2", "not below"],
        ),
        ("union --top 2 --count-only a", &["--top", "--count-only"]),
        ("union --all --min-count 2 a", &["--all", "--min-count"]),
        ("union --all --order count a", &["--all", "--order count"]),
        ("intersect --all --top 2 a b", &["--all", "--top"]),
        (
            "diff --repeats --max-count 2 a b",
            &["--repeats", "--max-count"],
        ),
        (
            "diff --repeats --order count a b",
            &["--repeats", "--order count"],
        ),
        ("union --top 2 -D ../out/d a", &["--duplicates", "--top"]),
        (
            "union --min-count 2 -D ../out/d a",
            &["--duplicates", "--min-count"],
        ),
        (
            "intersect --min-count 2 --strategy bloom a b",
            &["bloom", "--min-count"],
        ),
        ("intersect --min-count 2 --max-fpr 1% a b", &["--max-fpr"]),
        ("diff --top 2 --max-fpr 1% a b", &["--max-fpr"]),
        (
            "plan --operation overlaps --top 2 a b",
            &["overlaps", "--top"],
        ),
    ] {
        sandbox.run(arguments).fails(2, parts);
    }
}

#[test]
fn l15_what_is_dropped_comes_in_the_order_of_counts() {
    let sandbox = Sandbox::with(b"c\na\nc\nb\nc\n", b"b\nd\n");
    let found = printed(
        &sandbox,
        "union a b --order count --count -D ../out/dropped",
    );
    assert_eq!(String::from_utf8_lossy(&found), "3\tc\n2\tb\n1\ta\n1\td\n");
    let dropped = std::fs::read_to_string(sandbox.output("dropped")).unwrap();
    assert_eq!(dropped, "c\nc\nb\n");
}

#[test]
fn l15_the_plan_says_what_the_order_of_counts_costs() {
    let sandbox = Sandbox::new();
    for (options, expected) in [
        ("--order count", "order count: a result of "),
        ("--top 100", "order count: a result of 7.4 KiB, sorted in "),
    ] {
        let words = format!("plan --operation union --lines 20M,20M --memory 64M {options}");
        let text = String::from_utf8(printed(&sandbox, &words)).unwrap();
        assert!(text.contains(expected), "{text}");
    }
}
