//! `--order`: the lines of every operation in the order of the input, and of their bytes, against the oracle.

use differential::{oracle, sweep};
use outset::Order;

use crate::data::{lines, megabytes, split};
use crate::limits::memory::measured;
use crate::sandbox::{Outcome, Sandbox};

/// The words of a command, and how often it writes a line, given how often each file has it.
type Job = (&'static str, fn(&[usize]) -> usize);

fn having(counts: &[usize]) -> usize {
    counts.iter().filter(|&&count| count > 0).count()
}

const JOBS: [Job; 9] = [
    ("intersect", |counts| usize::from(having(counts) == 3)),
    ("intersect --at-least 2", |counts| {
        usize::from(having(counts) >= 2)
    }),
    ("diff", |counts| {
        usize::from(counts[0] > 0 && having(counts) == 1)
    }),
    ("union", |_| 1),
    ("symdiff", |counts| usize::from(having(counts) == 1)),
    ("union --all", |counts| counts.iter().sum()),
    ("intersect --all", |counts| {
        counts.iter().copied().min().unwrap_or(0)
    }),
    ("diff --repeats", |counts| {
        if having(counts) == 1 { counts[0] } else { 0 }
    }),
    ("intersect --repeats", |counts| {
        if having(counts) == 3 { counts[0] } else { 0 }
    }),
];
const ORDERS: [Order; 2] = [Order::Input, Order::Sorted];

/// Lines of these numbers in an order that is neither that of their bytes nor that of any other text here.
fn shuffled(count: u64, step: u64, offset: u64) -> Vec<u8> {
    let number = |i: u64| (i * step) % count + offset;
    (0..count)
        .flat_map(|i| lines(number(i)..number(i) + 1))
        .collect()
}

/// The lines of a text that a job writes, in this order.
fn expected(texts: &[&[u8]], (words, times): Job, order: Order) -> Vec<u8> {
    let lines: Vec<Vec<&[u8]>> = texts.iter().map(|text| split(text, b'\n')).collect();
    let is_each = words.ends_with("--repeats");
    let answer = oracle::selected(&lines, (order, is_each), times, |_| String::new());
    let mut text = answer.join(&b'\n');
    if !answer.is_empty() {
        text.push(b'\n');
    }
    text
}

/// Runs the jobs over three files in both orders with these options.
fn check(sandbox: &Sandbox, texts: &[&[u8]], jobs: &[Job], options: &[&str]) {
    for (text, name) in texts.iter().zip(["a", "b", "c"]) {
        sandbox.write(name, text);
    }
    for (&job, options, &order) in sweep::triples(jobs, options, &ORDERS) {
        let arguments = format!("{} a b c --order {} {options}", job.0, order.name());
        let (outcome, peak) = measured(sandbox, &arguments);
        let found = &outcome.succeeds().stdout;
        assert!(*found == expected(texts, job, order), "{arguments}");
        let is_within = !options.starts_with("-m 16M") || peak <= 16 << 20;
        assert!(is_within, "{arguments}: {} KiB resident", peak >> 10);
    }
}

fn prints(outcome: &Outcome, expected: &str) {
    let printed = String::from_utf8_lossy(&outcome.succeeds().stdout);
    assert_eq!(printed, expected);
}

fn printed(sandbox: &Sandbox, arguments: &str) -> String {
    String::from_utf8(sandbox.run(arguments).succeeds().stdout.clone()).unwrap()
}

#[test]
fn l10_every_operation_gives_its_lines_in_order_by_every_strategy() {
    // Each has repeats, and what several have stands at different positions.
    let texts = [
        [shuffled(1000, 7, 0), shuffled(300, 11, 500)].concat(),
        [shuffled(700, 3, 400), lines(0..10), lines(0..10)].concat(),
        [lines(1200..1300), shuffled(900, 13, 300)].concat(),
    ];
    let texts = texts.each_ref().map(Vec::as_slice);
    let options = [
        "",
        "--strategy memory",
        "--strategy partition -j 1",
        "--strategy sieve -j 5",
    ];
    check(&Sandbox::new(), &texts, &JOBS, &options);
}

#[test]
#[ignore = "slow: close to a second"]
fn l10_answers_larger_than_their_part_of_the_memory_come_in_order() {
    let texts = [
        [shuffled(50_000, 7, 0), megabytes(1, 300_000)].concat(),
        shuffled(50_000, 11, 17_000),
        shuffled(33_000, 13, 20_000),
    ];
    let texts = texts.each_ref().map(Vec::as_slice);
    let options = ["-m 16M -j 2", "-m 16M --strategy partition -j 3"];
    check(&Sandbox::new(), &texts, &JOBS[..4], &options);
}

#[test]
#[ignore = "slow: close to a second"]
fn l10_lines_longer_than_the_memory_of_the_order_come_in_order() {
    let long = |byte: u8, length: usize| [vec![byte; length], b"\n".to_vec()].concat();
    let texts = [
        [
            long(b'z', 900_000),
            lines(0..3000),
            long(b'a', 1_000_000),
            long(b'm', 70_000),
        ]
        .concat(),
        [
            long(b'a', 1_000_000),
            long(b'a', 1_000_001),
            lines(2000..3000),
        ]
        .concat(),
        [long(b'z', 899_999), long(b'm', 70_000)].concat(),
    ];
    let texts = texts.each_ref().map(Vec::as_slice);
    let options = ["-m 24M -j 1", "-m 24M --strategy partition"];
    check(&Sandbox::new(), &texts, &JOBS[1..4], &options);
}

#[test]
fn l10_labels_stand_before_lines_that_are_sorted_without_them() {
    let sandbox = Sandbox::with(b"b\na\nc\n", b"d\nb\n");
    for (arguments, expected) in [
        (
            "union --which --order sorted",
            "10\ta\n11\tb\n10\tc\n01\td\n",
        ),
        (
            "union --which --order input",
            "11\tb\n10\ta\n10\tc\n01\td\n",
        ),
        ("union --count --keep-order", "2\tb\n1\ta\n1\tc\n1\td\n"),
        (
            "symdiff --count-files --maintain-order",
            "1\ta\n1\tc\n1\td\n",
        ),
    ] {
        prints(&sandbox.run(&format!("{arguments} a b")), expected);
    }
}

#[test]
fn l10_the_order_of_a_pipe_of_addresses_and_of_an_approximate_answer_is_kept() {
    let sandbox = Sandbox::with(
        b"9.9.9.9\n1.1.1.1\n10.0.0.1\n1.1.1.1\n",
        b"10.0.0.1\n9.9.9.9\n",
    );
    for (order, expected) in [
        ("input", "9.9.9.9\n10.0.0.1\n"),
        ("sorted", "10.0.0.1\n9.9.9.9\n"),
    ] {
        let arguments = format!("intersect a b --key-type ipv4 --order {order} -m 1G");
        prints(&sandbox.run(&arguments), expected);
        let arguments = format!("intersect a b --strategy bloom --order {order}");
        prints(&sandbox.run(&arguments), expected);
        let arguments = format!("intersect - b --order {order}");
        let text = b"9.9.9.9\n1.1.1.1\n10.0.0.1\n1.1.1.1\n";
        prints(&sandbox.run_fed(&arguments, text), expected);
    }
    // The larger one is read last, and its order alone is known then.
    let refused = sandbox.run("intersect b a --strategy bloom --order input");
    refused.fails(2, &["name the largest input first"]);
}

#[test]
fn l10_the_plan_says_what_an_order_costs() {
    let sandbox = Sandbox::new();
    for (order, ordinals) in [("input", true), ("sorted", false)] {
        let words = format!("plan --lines 20M,20M --memory 64M --order {order}");
        let text = printed(&sandbox, &words);
        assert!(
            text.contains(&format!("order {order}: a result of ")),
            "{text}"
        );
        assert_eq!(
            text.contains("of line positions go to temporary disk"),
            ordinals,
            "{text}"
        );
        let json = printed(&sandbox, &format!("{words} --json"));
        assert!(json.contains("\"ordering\""), "{json}");
    }
    let text = printed(&sandbox, "plan --lines 20M,20M --memory 64M");
    assert!(!text.contains("order"), "{text}");
}

#[test]
fn l10_the_files_of_a_side_come_one_after_the_other() {
    let sandbox = Sandbox::new();
    for (name, text) in [
        ("p1", "d\na"),
        ("p2", "c\nd\n"),
        ("p3", ""),
        ("p4", "b"),
        ("q", "a\ne\n"),
    ] {
        sandbox.write(name, text);
    }
    for (arguments, expected) in [
        ("union --side p1 p2 p3 p4 --side q", "d\na\nc\nb\ne\n"),
        ("union --side q --side p4 p3 p2 p1", "a\ne\nb\nc\nd\n"),
        ("diff --side p1 p2 p3 p4 --side q", "d\nc\nb\n"),
        ("diff --repeats --side p1 p2 p3 p4 --side q", "d\nc\nd\nb\n"),
    ] {
        for strategy in ["memory", "partition", "sieve"] {
            let words = format!("{arguments} --order input --strategy {strategy}");
            prints(&sandbox.run(&words), expected);
        }
    }
}

#[test]
fn l10_bloom_keeps_the_order_of_the_input_when_it_plans_again() {
    // A line that is longer than the first plan has room for.
    let mut big = lines(0..60_000);
    big.extend("x".repeat(300_000).bytes());
    big.push(b'\n');
    let sandbox = Sandbox::with(&big, &lines(100..400));
    let outcome = sandbox
        .run("intersect a b --strategy bloom --order input --memory 17M --max-fpr 0.00001% -q");
    let found = outcome.succeeds().stdout.clone();
    assert!(found == lines(100..400), "{}", split(&found, b'\n').len());
}
