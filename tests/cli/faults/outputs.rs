//! Outputs that cannot be written, and readers that go away.

use super::{EXACT, large, prepared, small, unprivileged};
use crate::data::megabytes;
use crate::sandbox::{Sandbox, can_mount, can_trace, outset};
use crate::tasks::{TASKS, by_turns};
use rustix::process::Signal;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

#[test]
fn f3_a_full_output_disk_fails_the_run_and_keeps_the_earlier_result() {
    if !can_mount() {
        return;
    }
    let sandbox = prepared(&megabytes(6, 0), &megabytes(6, 95_000));
    // Every other task: each operation, by both strategies in turn.
    for (task, strategy) in by_turns(1).step_by(2) {
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
#[ignore = "slow: more than a second"]
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
        Sandbox::with(&megabytes(1, 0), &megabytes(1, 15_000)),
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
        .args(["-c", script, outset()])
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
#[ignore = "slow: close to a second"]
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

#[test]
fn f2_f4_what_the_system_says_only_when_a_result_is_synced_or_closed_fails_the_run() {
    if !can_trace() {
        return;
    }
    let sandbox = Sandbox::with(b"x\n", b"y\n");
    let path = sandbox.root().join("r");
    // A file system that a network is between says so late that there is no room.
    for (call, arguments) in [("close", "union a"), ("fsync", "union a -o /dev/stdout")] {
        // A file system that tells it once tells it when the first descriptor is closed.
        let inject = format!("inject={call}:error=EDQUOT:when=1");
        let traced = path.to_str().unwrap();
        let words = [
            "strace",
            "-f",
            "-o",
            "/dev/null",
            "-e",
            &inject,
            "-P",
            traced,
        ];
        let mut command = sandbox.command_under(&words, arguments);
        command.stdout(fs::File::create(&path).unwrap());
        let outcome = sandbox.start(command).finish();
        outcome.fails(5, &["quota", "free some space"]);
    }
}
