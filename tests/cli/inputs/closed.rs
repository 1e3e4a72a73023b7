//! Standard input and output that are closed, or whose other end goes away (rows B12 and F7 of `tests/matrix.tsv`).

use std::fs;
use std::io::{BufRead, BufReader};
use std::time::Duration;

use differential::sweep;
use rustix::process::Signal;

use crate::data::{EXACT, megabytes, small};
use crate::faults::signals::held_in_spill;
use crate::sandbox::{Sandbox, makes_linux_calls};
use crate::tasks::{TASKS, by_turns};

fn spilling() -> Sandbox {
    Sandbox::with(&megabytes(3, 0), &megabytes(3, 30_000))
}

#[test]
fn b12_a_closed_standard_input_is_an_error_of_the_input_before_anything_is_done() {
    let sandbox = spilling();
    let tasks = TASKS
        .iter()
        .map(|task| task.words)
        .zip(EXACT.into_iter().cycle());
    let tasks: Vec<_> = tasks.chain([("intersect", "bloom")]).collect();
    for ((words, strategy), inputs) in sweep::pairs(&tasks, &["a -", "- a", "a b -"]) {
        let arguments = format!(
            "{words} {inputs} --memory 64M --strategy {strategy} -o ../out/r --stats ../out/s"
        );
        let command = sandbox.command_after("exec <&-", &arguments);
        sandbox
            .start(command)
            .finish()
            .fails(3, &["outset: -: ", "Bad file descriptor"]);
    }
    sandbox
        .run("filter build a -o ../out/filter.osf")
        .succeeds_silently();
    // What stands in the place of the stream elsewhere can be opened once more.
    let names = ["/dev/stdin", "/proc/self/fd/0"];
    for name in names.iter().filter(|_| makes_linux_calls()) {
        let command = sandbox.command_after("exec <&-", &format!("intersect a {name}"));
        sandbox.start(command).finish().fails(3, &[name]);
    }
    for arguments in ["estimate a -", "filter query ../out/filter.osf", "plan a -"] {
        let command = sandbox.command_after("exec <&-", arguments);
        sandbox
            .start(command)
            .finish()
            .fails(3, &["outset: -: ", "Bad file descriptor"]);
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn b12_f7_the_numbers_of_closed_streams_are_never_used_for_a_file_of_the_run() {
    let (a, b) = (megabytes(3, 0), megabytes(4, 1000));
    let sandbox = Sandbox::with(&a, &b);
    let strategies = ["memory", "partition", "sieve"].into_iter().cycle();
    for (task, strategy) in TASKS.iter().zip(strategies) {
        let memory = if strategy == "memory" { 64 } else { 16 };
        let words = task.words;
        let arguments = format!("{words} a b --strategy {strategy} --memory {memory}M -o ../out/r");
        let command = sandbox.command_after("exec <&- >&-", &arguments);
        let outcome = sandbox.start(command).finish();
        outcome.succeeds_silently();
        let result = fs::read(sandbox.output("r")).unwrap();
        task.of(&[&a, &b]).assert_is(&result, &arguments);
        fs::remove_file(sandbox.output("r")).unwrap();
    }
    let (running, feed) = held_in_spill(&sandbox, "exec <&- >&-", "-o ../out/r");
    for number in 0..2 {
        let descriptor = format!("/proc/{}/fd/{number}", running.child.id());
        let named = fs::read_link(descriptor).unwrap();
        assert!(!named.starts_with(sandbox.root()), "{}", named.display());
    }
    drop(feed);
    running.finish().succeeds();
}

#[test]
fn f7_a_closed_standard_output_is_an_error_of_the_output_before_anything_is_done() {
    let sandbox = spilling();
    let tasks = TASKS
        .iter()
        .map(|task| task.words)
        .zip(EXACT.into_iter().cycle());
    let tasks: Vec<_> = tasks.chain([("intersect", "bloom")]).collect();
    let options = ["", "--count-only", "--stats ../out/s"];
    for ((words, strategy), option) in sweep::pairs(&tasks, &options) {
        let arguments = format!("{words} a b --strategy {strategy} --memory 64M {option}");
        let command = sandbox.command_after("exec >&-", &arguments);
        sandbox
            .start(command)
            .finish()
            .fails(5, &["outset: standard output: ", "Bad file descriptor"]);
    }
    let options = ["-o /dev/stdout", "--stats /dev/stdout -o ../out/r"];
    for option in options.iter().filter(|_| makes_linux_calls()) {
        let command = sandbox.command_after("exec >&-", &format!("intersect a b {option}"));
        sandbox.start(command).finish().fails(5, &["/dev/stdout"]);
    }
    for arguments in [
        "plan a b",
        "estimate a b",
        "--help",
        "intersect --help",
        "--version",
    ] {
        let command = sandbox.command_after("exec >&-", arguments);
        sandbox
            .start(command)
            .finish()
            .fails(5, &["outset: standard output: ", "Bad file descriptor"]);
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn f7_a_reader_that_takes_one_line_ends_a_run_that_has_spilled_silently_and_soon() {
    // More lines of `a` are in no other input than a pipe and the buffers hold.
    let sandbox = Sandbox::with(&megabytes(4, 0), &megabytes(4, 60_000));
    let tasks = TASKS.iter().map(|task| (task.words, "partition"));
    // Other sieves write some lines before they spill any.
    let others = [
        ("intersect", "sieve"),
        ("intersect", "bloom --bits-per-key 3"),
    ];
    for (words, strategy) in tasks.chain(others) {
        let arguments = format!("{words} a b --strategy {strategy} --memory 16M");
        let mut running = sandbox.start_unread(sandbox.command(&arguments));
        let mut reader = BufReader::with_capacity(64, running.child.stdout.take().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "{strategy}: {line:?}");
        assert!(
            !sandbox.temp_names().is_empty(),
            "{strategy} has spilled nothing"
        );
        drop(reader);
        running
            .finish_within(Duration::from_secs(5))
            .ends_by(Signal::PIPE);
    }
}

#[test]
fn a_closed_standard_error_fails_only_who_asked_for_something_there() {
    let sandbox = Sandbox::with(b"a\nb\n", b"b\nc\n");
    // Not by the harness, which wants a line of reason.
    let run = |arguments: &str| {
        sandbox
            .command_after("exec 2>&-", arguments)
            .output()
            .unwrap()
    };
    let outcome = run("intersect a b");
    assert_eq!(
        (outcome.status.code(), &outcome.stdout[..]),
        (Some(0), &b"b\n"[..])
    );
    let places = if makes_linux_calls() { 2 } else { 1 };
    for place in &["-", "/dev/stderr"][..places] {
        let outcome = run(&format!("intersect a b -o ../out/r --stats {place}"));
        assert_eq!(outcome.status.code(), Some(5));
        assert!(!sandbox.output("r").exists());
    }
}

/// Commands that print something, over the inputs and filters of the test below.
const PRINTING: [&str; 23] = [
    "--help",
    "-h",
    "--version",
    "help filter",
    "intersect --help",
    "filter build --help",
    "man",
    "man filter build",
    "completions bash",
    "completions zsh",
    "size",
    "size --json --lines 1e6 --max-fpr 1%",
    "plan a b",
    "plan --json a b",
    "plan --lines 5e9,5e9 --memory 4G",
    "estimate a b",
    "compare a b --memory 16M --stats ../out/s",
    "filter info ../out/filter",
    "filter query ../out/filter a",
    "filter count ../out/filter a",
    "filter insert ../out/filter b --print-new",
    "intersect a b --count-only --memory 64M --report ../out/page.html",
    "overlaps a b --report ../out/page.html",
];

/// Runs a command whose output nobody reads.
fn assert_ends_quietly(sandbox: &Sandbox, arguments: &str) {
    let command = sandbox.command_unread(arguments);
    sandbox.start(command).finish().ends_by(Signal::PIPE);
}

#[test]
fn f7_every_command_ends_quietly_by_a_signal_when_nobody_reads_what_it_prints() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let build = "filter build a --kind counting --lines 100K --size 1M -o ../out/filter";
    sandbox.run(build).succeeds();
    for arguments in PRINTING {
        assert_ends_quietly(&sandbox, arguments);
    }
    let sandbox = spilling();
    let mut tasks: Vec<_> = by_turns(1).collect();
    // So that the answers of the few have an order.
    tasks.rotate_left(1);
    let tasks = sweep::some(&tasks, 2).map(|(task, strategy)| (task.words, *strategy));
    for (words, strategy) in tasks.chain([("intersect", "bloom --bits-per-key 3")]) {
        let arguments = format!(
            "{words} a b --strategy {strategy} --memory 16M --stats ../out/s --report ../out/page.html"
        );
        assert_ends_quietly(&sandbox, &arguments);
    }
}
