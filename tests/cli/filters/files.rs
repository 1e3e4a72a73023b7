//! Filter files that are not what they were, or that more than one process has to do with: an exit status, one line,
//! and every file as it was. The sandbox checks the latter after every run.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::time::Duration;

use differential::sweep;

use crate::data::{common, lines, megabytes};
use crate::sandbox::{Feed, Running, Sandbox, can_mount};

/// Commands that read the filter `bad`, and perhaps the good one `good`.
const COMMANDS: [&str; 11] = [
    "filter query bad a",
    "filter query bad a --invert -o ../out/r",
    "filter query bad a --count-only",
    "filter count bad a",
    "filter insert bad a",
    "filter insert bad a --print-new",
    "filter remove bad a",
    "filter info bad",
    "filter merge good bad -o ../out/r",
    "filter merge bad good -o ../out/r",
    "intersect --filter bad a -o ../out/r",
];
/// One who waits for a FIFO to be written waits for ever.
const SOON: Duration = Duration::from_secs(10);

/// A sandbox with a filter of the lines 0 to 3000 among the outputs, and these lines and others among the inputs. It is
/// laid out for more, so that nobody is warned of it.
fn with_filter(options: &str) -> Sandbox {
    let sandbox = Sandbox::with(&lines(0..3000), &lines(3000..6000));
    sandbox
        .run(&format!(
            "filter build a --lines 10000 -o ../out/f {options}"
        ))
        .succeeds_silently();
    sandbox
}

/// Works as [`with_filter`], with the filter among the inputs, under the name `good`.
fn with_input_filter(options: &str) -> Sandbox {
    let sandbox = with_filter(options);
    fs::rename(sandbox.output("f"), sandbox.input("good")).unwrap();
    sandbox
}

/// Checks that the commands refuse files in the place of `bad`, each with a status and a part of what is said.
fn refused(sandbox: &Sandbox, files: &[(&str, i32, &str)]) {
    for (&(name, code, part), command) in sweep::pairs(files, &COMMANDS) {
        let outcome = sandbox.run(&command.replace("bad", name));
        outcome.fails(code, &[&format!("outset: {name}: "), part]);
    }
    for &(name, code, part) in files {
        // A model is needed in parts: its header and its table.
        let outcome = sandbox.run(&format!("filter build a --like {name} -o ../out/r"));
        if outcome.status.code() != Some(0) {
            outcome.fails(code, &[&format!("outset: {name}: "), part]);
        }
    }
}

#[test]
fn i1_what_is_no_filter_file_is_refused_by_every_command() {
    let sandbox = with_input_filter("--kind counting");
    sandbox.write("empty", "");
    sandbox.write("short", "x");
    sandbox.write("lines", lines(0..3000));
    fs::create_dir(sandbox.input("directory")).unwrap();
    let files = [
        ("missing", 3, "No such file"),
        ("empty", 7, "is not a filter file"),
        ("short", 7, "is not a filter file"),
        ("lines", 7, "is not a filter file"),
        ("directory", 3, "Is a directory"),
    ];
    refused(&sandbox, &files);
}

#[test]
fn i1_a_fifo_in_the_place_of_a_filter_is_not_waited_for() {
    let sandbox = with_input_filter("--kind counting");
    sandbox.fifo("bad");
    for command in COMMANDS {
        sandbox
            .start(sandbox.command(command))
            .finish_within(SOON)
            .fails(7, &["outset: bad: ", "is not a regular file"]);
    }
}

#[test]
fn i2_a_damaged_filter_is_refused_by_every_command() {
    let sandbox = with_input_filter("--kind counting");
    let good = fs::read(sandbox.input("good")).unwrap();
    for (name, at) in [("header", 60), ("table", 4096), ("body", good.len() - 1)] {
        let mut flipped = good.clone();
        flipped[at] ^= 4;
        sandbox.write(name, flipped);
    }
    sandbox.write("cut", &good[..good.len() - 1]);
    sandbox.write("longer", [&good[..], b"\n"].concat());
    let files = [
        ("header", 7, "header is damaged"),
        ("table", 7, "table is damaged"),
        ("body", 7, "section 0 of its body is damaged"),
        ("cut", 7, "bytes instead of"),
        ("longer", 7, "bytes instead of"),
    ];
    refused(&sandbox, &files);
}

/// Sends more than a pipe holds, so that the run must have checked and mapped its filter to take it all.
fn held_in_query<'s>(sandbox: &'s Sandbox, arguments: &str) -> (Running<'s>, Feed) {
    let pipe = sandbox.fifo("pipe");
    let mut running = sandbox.start_unread(sandbox.command(arguments));
    let mut feed = Feed::open(&pipe, &mut running);
    assert!(feed.send(&megabytes(1, 100_000)), "the run ended early");
    (running, feed)
}

fn empty(running: &mut Running<'_>, path: &std::path::Path) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(0).unwrap();
    running.note_inputs();
}

#[test]
fn i13_a_filter_that_is_shortened_while_it_is_asked_ends_the_run_as_damaged() {
    for (kind, more, said) in [
        ("blocked", "", "outset: good: "),
        ("blocked", "--progress json", "{\"event\":\"error\","),
        ("fingerprint", "", "outset: good: "),
    ] {
        let sandbox = with_input_filter(&format!("--kind {kind}"));
        fs::write(sandbox.output("r"), "what was there before\n").unwrap();
        let arguments = format!("filter query good pipe -o ../out/r {more}");
        let (mut running, mut feed) = held_in_query(&sandbox, &arguments);
        empty(&mut running, &sandbox.input("good"));
        // The run may be over before all is sent.
        let _is_read = feed.send(&lines(0..3000));
        drop(feed);
        running
            .finish_within(SOON)
            .fails(7, &["restore it from a backup", said]);
    }
}

#[test]
fn i13_answers_that_were_given_before_a_filter_is_shortened_stay() {
    let sandbox = with_input_filter("--kind fingerprint");
    let (mut running, mut feed) = held_in_query(&sandbox, "filter query good pipe");
    assert!(feed.send(&lines(0..1)));
    let mut answers = BufReader::new(running.child.stdout.take().unwrap());
    let mut answer = Vec::new();
    answers.read_until(b'\n', &mut answer).unwrap();
    assert_eq!(answer, lines(0..1));
    empty(&mut running, &sandbox.input("good"));
    let _is_read = feed.send(&lines(1..3000));
    drop(feed);
    running
        .finish_within(SOON)
        .fails(7, &["restore it from a backup"]);
    answer.clear();
    assert_eq!(answers.read_until(b'\n', &mut answer).unwrap(), 0);
}

#[test]
fn i12_of_two_who_would_replace_a_filter_at_the_same_time_the_second_is_refused() {
    for second in [
        "filter insert ../out/f b",
        "filter remove ../out/f a",
        "filter build b --kind fingerprint -o ../out/f",
        "filter merge copy copy -o ../out/f",
    ] {
        let sandbox = with_filter("--kind fingerprint");
        fs::copy(sandbox.output("f"), sandbox.input("copy")).unwrap();
        let pipe = sandbox.fifo("pipe");
        let mut first = sandbox.start(sandbox.command("filter insert ../out/f pipe"));
        let mut feed = Feed::open(&pipe, &mut first);
        sandbox
            .run(second)
            .fails(5, &["outset: ../out/f: ", "another process is changing it"]);
        assert!(feed.send(&lines(6000..7000)));
        drop(feed);
        first.finish().succeeds_silently();
        sandbox.write("all", lines(0..9000));
        let there = [lines(0..3000), lines(6000..7000)].concat();
        sandbox
            .run("filter query ../out/f all")
            .succeeds_silently()
            .has_lines(&common(&[&there]));
        // The first one is done: now it can be changed.
        sandbox.run(second).succeeds_silently();
    }
}

#[test]
fn i12_who_asks_a_filter_that_is_replaced_goes_on_with_the_old_one() {
    let sandbox = with_filter("--kind fingerprint");
    let (mut asking, mut feed) = held_in_query(&sandbox, "filter query ../out/f pipe");
    asking.read_stdout();
    sandbox.run("filter insert ../out/f b").succeeds_silently();
    assert!(feed.send(&lines(0..6000)));
    drop(feed);
    let old = asking.finish();
    old.succeeds_silently()
        .has_lines(&common(&[&lines(0..3000)]));
    sandbox.write("all", lines(0..9000));
    sandbox
        .run("filter query ../out/f all")
        .succeeds_silently()
        .has_lines(&common(&[&lines(0..6000)]));
}

#[test]
fn i12_a_full_disk_fails_the_change_of_a_filter_and_keeps_the_old_one() {
    if !can_mount() {
        return;
    }
    // The old filter fits on the disk, and a second one beside it does not.
    let sandbox = with_filter("--size 2500K");
    assert!(
        File::open(sandbox.output("f"))
            .unwrap()
            .metadata()
            .unwrap()
            .len()
            > 2 << 20
    );
    fs::copy(sandbox.output("f"), sandbox.input("copy")).unwrap();
    for arguments in [
        "filter build b --lines 10000 --size 2500K -o ../out/f",
        "filter insert ../out/f b",
        "filter merge copy copy -o ../out/f",
    ] {
        let command = sandbox.command_on_small_disk("out", "4m", arguments);
        sandbox.start(command).finish().fails(
            5,
            &["outset: ", "out/f: ", "No space left", "free some space"],
        );
        fs::remove_dir_all(sandbox.root().join("saved")).unwrap();
    }
}
