//! What a run that goes wrong says, and what it leaves behind: an exit status for each kind of cause, one line, the inputs and
//! the output as they were. The sandbox checks the latter after every run.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::data::{common, lines, megabytes};
use crate::sandbox::{Feed, OUTSET, Outcome, PATIENCE, Running, Sandbox, can_mount};
use crate::tasks::{TASKS, Task, by_turns};

const EXACT: [&str; 4] = ["auto", "memory", "partition", "sieve"];
const BEFORE: &str = "what was there before\n";

/// Two inputs and a result of an earlier run.
fn prepared(a: &[u8], b: &[u8]) -> Sandbox {
    let sandbox = Sandbox::with(a, b);
    fs::write(sandbox.output("r"), BEFORE).unwrap();
    sandbox
}

fn small() -> Sandbox {
    prepared(&lines(0..3000), &lines(2000..6000))
}

/// Inputs of which neither fits in 16 MiB, with most lines common.
fn large() -> Sandbox {
    prepared(&megabytes(12, 0), &megabytes(13, 1000))
}

/// The size that a message advises: `give at least 78 MiB of memory`, as an option takes it.
fn advised(outcome: &Outcome) -> String {
    let (_, advice) = outcome
        .stderr
        .split_once("give at least ")
        .unwrap_or_else(|| panic!("no limit is named: {outcome}"));
    let mut words = advice.split_whitespace();
    format!("{}{}", words.next().unwrap(), words.next().unwrap())
}

// Inputs that cannot be read.

#[test]
fn b1_a_missing_input_is_found_before_anything_else_is_done() {
    let sandbox = large();
    for (task, strategy) in TASKS.iter().zip(EXACT.into_iter().cycle()) {
        for inputs in ["a missing", "missing a", "a b missing"] {
            let start = Instant::now();
            let words = task.words;
            sandbox
                .run(&format!(
                    "{words} {inputs} --memory 16M --strategy {strategy} -o ../out/new"
                ))
                .fails(3, &["outset: missing: No such file", "check the name"]);
            assert!(start.elapsed() < Duration::from_secs(1));
        }
    }
}

#[test]
fn b2_a_directory_as_input_is_refused() {
    let sandbox = small();
    for task in &TASKS {
        sandbox
            .run(&format!("{} a ../out -o ../out/r", task.words))
            .fails(3, &["outset: ../out: Is a directory"]);
    }
}

#[test]
fn b4_links_that_lead_nowhere_are_refused() {
    let sandbox = small();
    for (name, target) in [("loop", "loop"), ("dangling", "missing")] {
        std::os::unix::fs::symlink(target, sandbox.input(name)).unwrap();
    }
    for task in &TASKS {
        sandbox
            .run(&format!("{} a loop -o ../out/r", task.words))
            .fails(3, &["outset: loop: ", "symbolic link"]);
        sandbox
            .run(&format!("{} dangling a -o ../out/r", task.words))
            .fails(3, &["outset: dangling: No such file"]);
    }
}

/// A command without root's right to read and write everything; `None` where that cannot be had.
fn unprivileged(sandbox: &Sandbox, arguments: &str) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        return Some(sandbox.command(arguments));
    }
    let dropped = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let can_run = Command::new("setpriv")
        .args(dropped)
        .args([OUTSET, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !can_run {
        eprintln!(
            "skipped: root reads everything, and setpriv cannot start the program as anyone else"
        );
        return None;
    }
    for directory in ["", "in", "out", "temp"] {
        let path = sandbox.root().join(directory);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        // What the test has closed stays closed.
        if mode & 0o200 != 0 {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        }
    }
    let plain = sandbox.command(arguments);
    let mut command = Command::new("setpriv");
    command
        .args(dropped)
        .arg(OUTSET)
        .args(plain.get_args())
        .current_dir(sandbox.root().join("in"))
        .env("TMPDIR", sandbox.temp())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Some(command)
}

#[test]
fn b3_an_input_that_may_not_be_read_is_named() {
    let sandbox = small();
    fs::set_permissions(sandbox.input("b"), fs::Permissions::from_mode(0o000)).unwrap();
    for task in &TASKS {
        if let Some(command) = unprivileged(&sandbox, &format!("{} a b", task.words)) {
            sandbox
                .start(command)
                .finish()
                .fails(3, &["outset: b: Permission denied", "permissions"]);
        }
    }
    let closed = sandbox.input("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("c"), "x\n").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if let Some(command) = unprivileged(&sandbox, "intersect a closed/c") {
        sandbox
            .start(command)
            .finish()
            .fails(3, &["outset: closed/c: Permission denied", "permissions"]);
    }
}

// Inputs that change during the run.

/// What a test does to `a` while a run is held.
fn change(sandbox: &Sandbox, running: &mut Running<'_>, name: &str, how: &str) {
    let path = sandbox.input(name);
    let open = || OpenOptions::new().write(true).open(&path).unwrap();
    match how {
        "shrunk" => open().set_len(1000).unwrap(),
        "emptied" => open().set_len(0).unwrap(),
        "grown" => File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"more\n")
            .unwrap(),
        "rewritten" => open().write_all(b"ffff").unwrap(),
        "replaced" => {
            let other = sandbox.output("other");
            fs::copy(&path, &other).unwrap();
            fs::rename(&other, &path).unwrap();
        }
        "removed" => fs::remove_file(&path).unwrap(),
        _ => panic!("{how}"),
    }
    running.note_inputs();
}

const CHANGES: [&str; 6] = [
    "shrunk",
    "emptied",
    "grown",
    "rewritten",
    "replaced",
    "removed",
];

#[test]
fn b6_an_input_that_changes_before_it_is_read_fails_the_run() {
    let mut tasks = TASKS.iter().cycle();
    for how in CHANGES {
        for strategy in EXACT {
            let sandbox = small();
            let (pipe, gate) = (sandbox.fifo("pipe"), sandbox.fifo("gate"));
            let words = tasks.next().unwrap().words;
            let mut running = sandbox.start(sandbox.command(&format!(
                "{words} a b pipe gate --strategy {strategy} --memory 64M -o ../out/r"
            )));
            // When it has come to the first FIFO, `a` and `b` are checked; until the second is open, nothing is read.
            let feed = Feed::open(&pipe, &mut running);
            change(&sandbox, &mut running, "a", how);
            drop((feed, Feed::open(&gate, &mut running)));
            running.finish().fails(3, &["outset: a: "]);
        }
    }
}

#[test]
fn b7_an_input_that_changes_between_two_readings_fails_the_run() {
    for (how, task) in CHANGES.into_iter().cycle().zip(&TASKS) {
        let sandbox = small();
        let pipe = sandbox.fifo("pipe");
        // The sieve of common lines reads `a`, then the FIFO, then `a` again; others copy the FIFO first.
        let words = task.words;
        let arguments = format!("{words} a pipe --strategy sieve --memory 16M -o ../out/r");
        let mut running = sandbox.start(sandbox.command(&arguments));
        let mut feed = Feed::open(&pipe, &mut running);
        assert!(feed.send(&megabytes(2, 0)));
        change(&sandbox, &mut running, "a", how);
        drop(feed);
        running.finish().fails(3, &["outset: a: "]);
    }
}

/// Waits until a run has written something of its result, and holds it there. False if it is over already.
fn hold_in_the_middle_of_the_result(sandbox: &Sandbox, running: &mut Running<'_>) -> bool {
    let (start, out) = (Instant::now(), sandbox.root().join("out"));
    let descriptors = format!("/proc/{}/fd", running.child.id());
    let is_result = |entry: &fs::DirEntry| {
        // It may have no name yet, but its descriptor has.
        let target = fs::read_link(entry.path()).unwrap_or_default();
        target.starts_with(&out)
            && fs::metadata(entry.path()).is_ok_and(|file| file.is_file() && file.len() > 0)
    };
    while running.is_going_on() {
        assert!(start.elapsed() < PATIENCE, "nothing of the result came");
        let mut entries = fs::read_dir(&descriptors).into_iter().flatten().flatten();
        if entries.any(|entry| is_result(&entry)) {
            running.signal(Signal::STOP);
            return running.is_going_on();
        }
    }
    false
}

#[test]
fn b7_an_input_that_changes_between_the_readings_of_a_sieve_of_lone_lines_fails_the_run() {
    // Each change, and the operations by turns.
    changes_of_lone_lines(|change, command| change % 3 == command);
}

#[test]
#[ignore = "slow: 18 runs that are held"]
fn b7_every_change_between_the_readings_of_a_sieve_of_lone_lines_fails_every_operation() {
    changes_of_lone_lines(|_, _| true);
}

/// Makes those changes in runs of those operations that are wanted by their numbers.
fn changes_of_lone_lines(is_wanted: fn(usize, usize) -> bool) {
    // Lines that occur once are written in the second reading, which comes to `b` when it is done with `a`.
    for (change_number, how) in CHANGES.into_iter().enumerate() {
        let commands = ["union a b", "symdiff a b", "diff a b"];
        for (command_number, command) in commands.into_iter().enumerate() {
            if !is_wanted(change_number, command_number) {
                continue;
            }
            let is_held = (0..5).any(|_| {
                let sandbox = prepared(&megabytes(6, 0), &megabytes(8, 180_000));
                let arguments = format!("{command} --strategy sieve --memory 16M -o ../out/r");
                let mut running = sandbox.start(sandbox.command(&arguments));
                if !hold_in_the_middle_of_the_result(&sandbox, &mut running) {
                    return false;
                }
                change(&sandbox, &mut running, "b", how);
                running.signal(Signal::CONT);
                running.finish().fails(3, &["outset: b: "]);
                assert_eq!(fs::read(sandbox.output("r")).unwrap(), BEFORE.as_bytes());
                true
            });
            assert!(is_held, "{command}: no run was held in time");
        }
    }
}

#[test]
fn b5_b6_an_input_that_changes_while_it_is_read_fails_the_run() {
    // Both write what they find in `b` while they read it, and there is much of it.
    let commands = ["intersect a b", "diff --repeats b a"];
    let b = [megabytes(4, 0), megabytes(30, 0)].concat();
    let changes = ["shrunk", "emptied", "grown", "rewritten"].into_iter();
    for (how, command) in changes.zip(commands.into_iter().cycle()) {
        let sandbox = Sandbox::with(&megabytes(4, 0), &b);
        // Nobody reads the result: when the pipe and the buffers are full, `b` is read no further.
        let arguments = format!("{command} --strategy memory --memory 32M");
        let mut running = sandbox.start_unread(sandbox.command(&arguments));
        running.wait_for_output();
        assert!(running.is_going_on(), "the run was not held");
        change(&sandbox, &mut running, "b", how);
        running.read_stdout();
        running.finish().fails(3, &["outset: b: ", "changed"]);
    }
}

// Temporary space.

#[test]
fn a_temporary_directory_that_is_missing_or_no_directory_is_named() {
    let sandbox = large();
    for (place, reason) in [("../missing", "No such file"), ("a", "Not a directory")] {
        for (task, strategy) in by_turns(0) {
            let words = task.words;
            sandbox
                .run(&format!(
                    "{words} a b --memory 16M --strategy {strategy} -T {place} -o ../out/r"
                ))
                .fails(4, &[&format!("outset: {place}: "), reason, "--temp-dir"]);
        }
    }
}

#[test]
fn e2_a_temporary_directory_that_may_not_be_written_is_named() {
    let sandbox = large();
    fs::set_permissions(sandbox.temp(), fs::Permissions::from_mode(0o555)).unwrap();
    for (task, strategy) in by_turns(0) {
        let arguments = format!("{} a b --memory 16M --strategy {strategy}", task.words);
        if let Some(command) = unprivileged(&sandbox, &arguments) {
            sandbox
                .start(command)
                .finish()
                .fails(4, &["temp: ", "Permission denied", "--temp-dir"]);
        }
    }
}

#[test]
fn e4_the_cap_on_temporary_space_holds_for_every_operation() {
    let sandbox = large();
    let fails = |arguments: &str| {
        let outcome = sandbox.run(arguments);
        outcome.fails(4, &["--max-temp", "1 MiB allowed"]);
        assert!(outcome.stdout.is_empty(), "{arguments}: {outcome}");
    };
    let counting = ["intersect --exactly 1", "overlaps"];
    let strategies = ["auto", "partition", "sieve"].into_iter().cycle();
    let all = TASKS.iter().map(|task| task.words).chain(counting);
    for (words, strategy) in all.zip(strategies) {
        fails(&format!(
            "{words} a b --memory 16M --strategy {strategy} --max-temp 1M"
        ));
    }
    // Nothing is spilled here but the answer, while it is put in order.
    sandbox.write("few", lines(0..60_000));
    for order in ["input", "sorted"] {
        fails(&format!(
            "union few --order {order} --memory 24M --strategy memory --max-temp 1M"
        ));
    }
}

#[test]
fn the_cap_on_temporary_space_refuses_no_run_that_stays_under_it() {
    let (a, b) = (megabytes(12, 0), lines(0..10));
    let sandbox = Sandbox::with(&a, b"");
    sandbox.write("few", &b);
    // How much comes through a pipe, nobody knows beforehand.
    for inputs in ["a -", "few -"] {
        sandbox
            .run_fed(
                &format!("intersect {inputs} --memory 16M --strategy partition --max-temp 20M"),
                &b,
            )
            .succeeds_silently()
            .has_lines(&common(&[&b]));
    }
}

#[test]
fn the_cap_on_temporary_space_refuses_no_run_of_pipes_that_stays_under_it() {
    for strategy in ["auto", "partition", "sieve"] {
        let sandbox = Sandbox::new();
        let pipe = sandbox.fifo("pipe");
        let mut running = sandbox.start(sandbox.command(&format!(
            "intersect pipe /dev/null --memory 16M --strategy {strategy} --max-temp 20M"
        )));
        let mut feed = Feed::open(&pipe, &mut running);
        let _a_run_that_is_refused_reads_nothing = feed.send(&lines(0..10));
        drop(feed);
        let outcome = running.finish();
        assert!(outcome.succeeds_silently().stdout.is_empty());
    }
}

#[test]
fn e4_what_the_report_says_of_temporary_space_is_enough_as_a_cap() {
    let sandbox = prepared(&megabytes(3, 0), &megabytes(3, 50_000));
    for (task, strategy) in by_turns(0).take(4) {
        let words = task.words;
        let run = |cap: &str| {
            let outcome = sandbox.run(&format!(
                "{words} a b --memory 16M --strategy {strategy} -o ../out/new --stats - \
                 --hash-key {} -j 1 {cap}",
                "12".repeat(32)
            ));
            let _a_failure_leaves_none = fs::remove_file(sandbox.output("new"));
            outcome
        };
        let outcome = run("");
        let stats: serde_json::Value = serde_json::from_str(&outcome.succeeds().stderr).unwrap();
        let peak = stats["temp"]["peak_bytes"].as_u64().unwrap();
        assert!(peak > 1 << 20, "nothing was spilled: {stats:#}");
        run(&format!("--max-temp {}", peak + peak / 10)).succeeds();
        run(&format!("--max-temp {}", peak / 2)).fails(4, &["--max-temp"]);
    }
}

#[test]
fn e1_e5_a_full_temporary_disk_fails_the_run_and_is_left_empty() {
    if !can_mount() {
        return;
    }
    let sandbox = large();
    for (task, strategy) in TASKS
        .iter()
        .zip(["auto", "partition", "sieve"].into_iter().cycle())
    {
        let arguments = format!("{} a b --memory 16M --strategy {strategy}", task.words);
        let command = sandbox.command_on_small_disk("temp", "4m", &arguments);
        sandbox
            .start(command)
            .finish()
            .fails(4, &["temp", "--temp-dir"]);
        fs::remove_dir_all(sandbox.root().join("saved")).unwrap();
    }
}

#[test]
fn e1_a_disk_that_is_full_fails_every_operation_and_is_left_empty() {
    if !can_mount() {
        return;
    }
    let sandbox = prepared(&megabytes(6, 0), &megabytes(6, 1000));
    let fails = |size: &str, arguments: &str| {
        let arguments = format!("{arguments} --force -o ../out/r");
        let command = sandbox.command_on_small_disk("temp", size, &arguments);
        sandbox
            .start(command)
            .finish()
            .fails(4, &["temp", "No space left", "--temp-dir"]);
        fs::remove_dir_all(sandbox.root().join("saved")).unwrap();
    };
    for (task, strategy) in by_turns(0) {
        let words = task.words;
        fails(
            "2m",
            &format!("{words} a b --memory 16M --strategy {strategy}"),
        );
    }
    // Nothing is written here but the runs of the order.
    sandbox.write("few", lines(0..60_000));
    for order in ["input", "sorted"] {
        let words = format!("union few --order {order}");
        fails("1m", &format!("{words} --memory 24M --strategy memory"));
    }
}

// Output.

#[test]
fn f3_a_full_output_disk_fails_the_run_and_keeps_the_earlier_result() {
    if !can_mount() {
        return;
    }
    let sandbox = prepared(&megabytes(6, 0), &megabytes(6, 95_000));
    for (task, strategy) in by_turns(1) {
        let words = task.words;
        let arguments = format!("{words} a b --memory 16M --strategy {strategy} -o ../out/r");
        let command = sandbox.command_on_small_disk("out", "2m", &arguments);
        sandbox
            .start(command)
            .finish()
            .fails(5, &["out/r: ", "No space left", "free some space"]);
        fs::remove_dir_all(sandbox.root().join("saved")).unwrap();
    }
}

#[test]
fn f1_an_output_that_takes_nothing_fails_the_run_whatever_the_size_of_the_result() {
    for sandbox in [
        Sandbox::with(b"x\ny\n", b"x\nz\n"),
        Sandbox::with(&megabytes(2, 0), &megabytes(2, 30_000)),
    ] {
        for (task, strategy) in TASKS.iter().zip(EXACT.into_iter().cycle()) {
            for option in ["", "--count-only"] {
                let words = task.words;
                let arguments = format!("{words} a b --strategy {strategy} --memory 64M {option}");
                let mut command = sandbox.command(&arguments);
                command.stdout(OpenOptions::new().write(true).open("/dev/full").unwrap());
                sandbox
                    .start(command)
                    .finish()
                    .fails(5, &["outset: standard output: ", "No space left"]);
                sandbox
                    .run(&format!("{arguments} -o /dev/full"))
                    .fails(5, &["outset: /dev/full: ", "No space left"]);
            }
        }
    }
}

#[test]
fn f7_a_reader_that_goes_away_ends_the_run_silently_by_a_signal() {
    for sandbox in [
        Sandbox::with(b"x\ny\n", b"x\nz\n"),
        Sandbox::with(&megabytes(4, 0), &megabytes(4, 60_000)),
    ] {
        for (task, strategy) in TASKS.iter().zip(EXACT.into_iter().cycle()) {
            let arguments = format!("{} a b --strategy {strategy} --memory 64M", task.words);
            let command = sandbox.command_unread(&arguments);
            sandbox.start(command).finish().ends_by(Signal::PIPE);
        }
    }
}

#[test]
fn f7_a_shell_sees_a_closed_pipe_as_it_does_with_other_filters() {
    let sandbox = Sandbox::with(&megabytes(6, 0), &megabytes(6, 0));
    let script = "{ \"$0\" intersect a b --memory 64M; echo $? >&2; } | head -1";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, OUTSET])
        .current_dir(sandbox.root().join("in"))
        .env("TMPDIR", sandbox.temp())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let outcome = sandbox.start(command).finish();
    let seen: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!(seen.last(), Some(&"141"), "{outcome}");
    assert!(!outcome.stderr.contains("outset: "), "{outcome}");
}

#[test]
fn an_output_directory_that_is_missing_is_named() {
    let sandbox = small();
    sandbox
        .run("intersect a b -o ../out/missing/r")
        .fails(5, &["outset: ../out/missing/r: ", "No such file"]);
    sandbox
        .run("intersect a b -o a/r")
        .fails(5, &["outset: a/r: ", "Not a directory"]);
}

#[test]
fn f5_a_directory_as_output_is_refused() {
    let sandbox = small();
    fs::create_dir(sandbox.root().join("directory")).unwrap();
    let paths = ["../directory", "../directory/", "."].into_iter().cycle();
    for (task, path) in TASKS.iter().zip(paths) {
        sandbox
            .run(&format!("{} a b -o {path}", task.words))
            .fails(5, &[&format!("outset: {path}: "), "directory"]);
    }
    assert_eq!(
        fs::read_dir(sandbox.root().join("directory"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn f5_an_output_that_may_not_be_written_is_named_before_anything_is_read() {
    let sandbox = large();
    let out = sandbox.root().join("out");
    let is_refused = || {
        for task in &TASKS {
            let arguments = format!("{} a b --memory 16M -o ../out/r", task.words);
            if let Some(command) = unprivileged(&sandbox, &arguments) {
                sandbox
                    .start(command)
                    .finish()
                    .fails(5, &["out/r: ", "Permission denied"]);
            }
        }
    };
    fs::set_permissions(&out, fs::Permissions::from_mode(0o555)).unwrap();
    is_refused();
    fs::set_permissions(&out, fs::Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(sandbox.output("r"), fs::Permissions::from_mode(0o444)).unwrap();
    is_refused();
}

#[test]
fn a_report_that_cannot_be_written_is_an_output_failure() {
    let sandbox = small();
    sandbox
        .run("intersect a b -o ../out/new --stats ../out/missing/s")
        .fails(5, &["outset: ../out/missing/s: "]);
    sandbox
        .run("intersect a b --stats /dev/full")
        .fails(5, &["outset: /dev/full: ", "No space left"]);
}

// Memory.

#[test]
fn c1_less_memory_than_any_run_needs_is_refused_with_the_least_that_does() {
    let sandbox = small();
    for (task, strategy) in TASKS.iter().zip(EXACT.into_iter().cycle()) {
        let words = task.words;
        for memory in ["1M", "0", "15M"] {
            sandbox
                .run(&format!(
                    "{words} a b --memory {memory} --strategy {strategy} -o ../out/r"
                ))
                .fails(6, &["memory", "16 MiB"]);
        }
        sandbox
            .run(&format!("{words} a b --memory 16M"))
            .succeeds_silently();
    }
}

#[test]
fn a_set_that_does_not_fit_is_refused_with_a_limit_that_does() {
    let sandbox = large();
    for task in &TASKS[..2] {
        let arguments = format!("{} a b --strategy memory -o ../out/new", task.words);
        let outcome = sandbox.run(&format!("{arguments} --memory 16M"));
        outcome.fails(6, &["memory"]);
        let limit = advised(&outcome);
        sandbox
            .run(&format!("{arguments} --memory {limit}"))
            .succeeds_silently();
        fs::remove_file(sandbox.output("new")).unwrap();
    }
}

#[test]
fn a_number_of_buckets_that_does_not_fit_is_refused_with_a_limit_that_does() {
    refused_with_a_limit_that_does(1000, &["partition"]);
}

#[test]
#[ignore = "slow: thousands of files"]
fn a_large_number_of_buckets_that_does_not_fit_is_refused_with_a_limit_that_does() {
    refused_with_a_limit_that_does(4000, &["partition", "sieve", "bloom"]);
}

fn refused_with_a_limit_that_does(buckets: u32, strategies: &[&str]) {
    let sandbox = small();
    for strategy in strategies {
        let arguments = format!("intersect a b --strategy {strategy} --buckets {buckets}");
        let outcome = sandbox.run(&format!("{arguments} --memory 16M"));
        outcome.fails(6, &["buckets"]);
        let limit = advised(&outcome);
        sandbox
            .run(&format!("{arguments} --memory {limit}"))
            .succeeds();
    }
}

#[test]
fn a_limit_that_is_advised_does_whatever_its_size() {
    let sandbox = Sandbox::new();
    for lines in [
        "1e6,1e6",
        "7e6,9e6",
        "33e6,33e6",
        "123e6,200e6",
        "4567e6,5e9",
    ] {
        for bytes in [9, 64, 777] {
            let arguments = format!("plan --lines {lines} --line-bytes {bytes} --strategy memory");
            let outcome = sandbox.run(&format!("{arguments} --memory 16M"));
            outcome.fails(6, &["memory"]);
            let limit = advised(&outcome);
            sandbox
                .run(&format!("{arguments} --memory {limit}"))
                .succeeds_silently();
        }
    }
}

#[test]
fn a_set_that_outgrows_its_estimate_is_refused_when_it_was_asked_for_and_replaced_when_not() {
    // All lines are common, and nothing is known of either input beforehand.
    let text = megabytes(20, 0);
    let sandbox = Sandbox::with(&text, b"");
    let pipe = sandbox.fifo("pipe");
    for (strategy, status) in [("memory", 6), ("auto", 0)] {
        std::thread::scope(|scope| {
            // A run that fails closes the pipe early.
            scope.spawn(|| fs::write(&pipe, &text));
            let outcome = sandbox.run_fed(
                &format!(
                    "intersect - pipe --memory 16M --strategy {strategy} -o ../out/{strategy}"
                ),
                &text,
            );
            assert_eq!(outcome.status.code(), Some(status), "{outcome}");
            if status == 6 {
                assert_ne!(advised(&outcome), "16MiB", "{outcome}");
            }
        });
    }
}

#[test]
fn a12_a_line_longer_than_the_memory_limit_is_refused_with_its_file_and_place() {
    let front = lines(0..1000);
    let sandbox = prepared(&front, &front);
    let file = OpenOptions::new()
        .write(true)
        .open(sandbox.input("b"))
        .unwrap();
    file.set_len(front.len() as u64 + (64 << 20)).unwrap();
    let place = format!("b: the line at byte {} ", front.len());
    let exact = TASKS
        .iter()
        .map(|task| task.words)
        .zip(EXACT.into_iter().cycle());
    for (words, strategy) in exact.chain([("intersect", "bloom")]) {
        let outcome = sandbox.run(&format!(
            "{words} a b --memory 16M --strategy {strategy} -o ../out/r"
        ));
        outcome.fails(6, &[&place, "give at least"]);
        assert_ne!(advised(&outcome), "16MiB", "{outcome}");
    }
}

/// Runs with a line of `bytes` in both inputs, or in the first only, are refused once: what they advise does.
fn the_limit_that_is_advised_does<'t>(
    bytes: usize,
    threads: &[u32],
    ways: impl Iterator<Item = (&'t Task, &'t str)>,
) {
    let mut long = vec![b'l'; bytes];
    long.push(b'\n');
    let a = [lines(0..1000), long.clone(), lines(1000..2000)].concat();
    let (b, short) = ([lines(1500..4000), long].concat(), lines(1500..4000));
    let sandbox = Sandbox::with(&a, &b);
    sandbox.write("short", &short);
    for (task, strategy) in ways {
        for (inputs, other) in [("a b", &b), ("a short", &short)] {
            let answer = task.of(&[&a, other]);
            for threads in threads {
                let words = task.words;
                let arguments = format!("{words} {inputs} --strategy {strategy} -j {threads}");
                let run = |memory: &str| sandbox.run(&format!("{arguments} --memory {memory}"));
                let refused = run("16M");
                refused.fails(6, &[": the line at byte ", "long and does not fit"]);
                let outcome = run(&advised(&refused));
                answer.assert_is(&outcome.succeeds().stdout, &arguments);
            }
        }
    }
}

#[test]
fn a17_the_limit_that_is_advised_for_a_long_line_does_at_the_first_try() {
    let ways = TASKS.iter().zip(["auto", "sieve", "partition"]);
    the_limit_that_is_advised_does(17 << 20, &[2], ways);
}

#[test]
#[ignore = "slow: reads lines of 40 MiB"]
fn a17_the_limit_that_is_advised_for_a_line_of_40_mib_does_at_the_first_try() {
    let strategies = ["auto", "partition", "sieve"].into_iter().cycle();
    let ways = TASKS.iter().zip(strategies);
    the_limit_that_is_advised_does(40 << 20, &[2, 64], ways);
}

#[test]
#[ignore = "slow: reads lines of 250 MB"]
fn a17_the_limit_that_is_advised_for_a_line_of_250_mb_does_at_the_first_try() {
    let ways = TASKS.iter().zip(["auto", "partition", "sieve", "auto"]);
    the_limit_that_is_advised_does(250 << 20, &[2, 64], ways);
}

#[test]
fn a12_a_line_longer_than_the_memory_limit_that_comes_through_a_pipe_is_refused_with_its_place() {
    let front = lines(0..1000);
    let sandbox = prepared(&front, b"");
    let mut text = front.clone();
    text.resize(front.len() + (64 << 20), b'x');
    let said = ["-: the line at byte ", "give at least"];
    for (task, strategy) in TASKS.iter().zip(EXACT.into_iter().cycle()) {
        let words = task.words;
        let arguments = format!("{words} a - --memory 16M --strategy {strategy} -o ../out/r");
        let outcome = sandbox.run_fed(&arguments, &text);
        outcome.fails(6, &said);
        // A run that copies the pipe first knows how long the line is.
        let is_unknown = outcome.stderr.contains("more if the line is longer");
        assert!(
            is_unknown || outcome.stderr.contains(" 64 MiB long "),
            "{outcome}"
        );
    }
}

#[test]
fn a11_a_line_of_ten_megabytes_is_a_line_like_any_other() {
    let mut long = vec![b'l'; 10 << 20];
    long.push(b'\n');
    let a = [lines(0..1000), long.clone(), lines(1000..2000)].concat();
    let b = [lines(1500..4000), long].concat();
    let sandbox = Sandbox::with(&a, &b);
    let strategies = ["auto", "partition", "sieve", "auto"];
    for (task, strategy) in TASKS.iter().zip(strategies) {
        let arguments = format!("{} a b --memory 64M --strategy {strategy}", task.words);
        let outcome = sandbox.run(&arguments);
        let answer = task.of(&[&a, &b]);
        answer.assert_is(&outcome.succeeds_silently().stdout, &arguments);
    }
    sandbox
        .run("intersect b a --memory 256M --strategy memory")
        .succeeds_silently()
        .has_lines(&common(&[&a, &b]));
}
