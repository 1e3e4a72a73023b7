//! Room for temporary files (row E5 of `tests/matrix.tsv`): what is known of it before a run begins, and what a user who knows
//! better can do about it.

use std::fs::{self, File};
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::data::{common, lines, megabytes};
use crate::sandbox::{Sandbox, can_mount};

/// Few lines, so often that they are many times the room they take in buckets.
fn repeated(numbers: Range<u64>) -> Vec<u8> {
    lines(numbers).repeat(6000)
}

#[test]
fn e5_a_refusal_comes_at_once_however_large_the_inputs_are() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::new();
    for name in ["a", "b"] {
        // Whoever reads this is at it for seconds, and then finds a line that does not fit.
        let file = File::create(sandbox.input(name)).unwrap();
        file.set_len(16 << 30).unwrap();
    }
    let arguments = "intersect a b --memory 64M --strategy partition -o ../out/r";
    let command = sandbox.command_on_small_disk("temp", "4m", arguments);
    let start = Instant::now();
    let outcome = sandbox.start(command).finish();
    let took = start.elapsed();
    outcome.fails(4, &["of temporary space needed", "free", "--force"]);
    assert!(took <= Duration::from_secs(8), "{took:?}: {outcome}");
}

#[test]
fn e5_by_force_a_run_goes_on_that_fits_better_than_planned() {
    if !can_mount() {
        return;
    }
    let (a, b) = (repeated(0..100), repeated(60..170));
    let sandbox = Sandbox::with(&a, &b);
    // Which of the lines are noticed to repeat depends on the key.
    let key = "0123456789abcdef".repeat(4);
    for arguments in [
        "intersect a b --memory 16M --strategy partition -o ../out/r",
        "compare a b --memory 16M --strategy partition --list-false ../out/r",
    ] {
        let run = |more: &str| {
            let arguments = format!("{arguments} --hash-key {key} {more}");
            let command = sandbox.command_on_small_disk("temp", "16m", &arguments);
            let outcome = sandbox.start(command).finish();
            fs::remove_dir_all(sandbox.root().join("saved")).unwrap();
            outcome
        };
        run("").fails(4, &["of temporary space needed", "free", "--force"]);
        // The cap is a promise, which force does not break.
        run("--force --max-temp 1M").fails(
            4,
            &["of temporary space needed, 1 MiB allowed by --max-temp"],
        );
        run("--force").succeeds();
        if arguments.starts_with("intersect") {
            let result = fs::read(sandbox.output("r")).unwrap();
            crate::sandbox::assert_same_lines(&result, b'\n', &common(&[&a, &b]));
        }
        fs::remove_file(sandbox.output("r")).unwrap();
    }
}

#[test]
fn e5_by_force_a_run_that_does_not_fit_fails_when_the_disk_is_full_and_leaves_nothing() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(&megabytes(20, 0), &megabytes(22, 1000));
    let command = sandbox.command_on_small_disk(
        "temp",
        "4m",
        "intersect a b --memory 16M --strategy partition --force -o ../out/r",
    );
    // By then it has begun: it is the disk that says so.
    let outcome = sandbox.start(command).finish();
    outcome.fails(4, &["cannot write a spill file", "No space left"]);
}
