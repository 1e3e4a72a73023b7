//! Room for temporary files (row E5 of `tests/matrix.tsv`): what is known of it before a run begins, and what a user
//! who knows better can do about it.

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::data::{common, lines, megabytes};
use crate::sandbox::{Feed, Sandbox, can_mount};
use crate::tasks::TASKS;

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
        // Reading this takes seconds, and then comes a line that does not fit.
        let file = File::create(sandbox.input(name)).unwrap();
        file.set_len(16 << 30).unwrap();
    }
    for task in &TASKS[..4] {
        let words = task.words;
        let arguments = format!("{words} a b -q --memory 64M --strategy partition -o ../out/r");
        let command = sandbox.command_on_small_disk("temp", "4m", &arguments);
        let start = Instant::now();
        let outcome = sandbox.start(command).finish();
        let took = start.elapsed();
        outcome.fails(4, &["of temporary space needed", "free", "--force"]);
        assert!(took <= Duration::from_secs(8), "{took:?}: {outcome}");
        fs::remove_dir_all(sandbox.root().join("saved")).unwrap();
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn e5_by_force_a_run_goes_on_that_fits_better_than_planned() {
    if !can_mount() {
        return;
    }
    let (a, b) = (repeated(0..100), repeated(60..170));
    let sandbox = Sandbox::with(&a, &b);
    // Which of the lines are noticed to repeat depends on the key.
    let key = "0123456789abcdef".repeat(4);
    for arguments in [
        // A plan for as many buckets as asked for counts on no repeats.
        "intersect a b --memory 16M --strategy partition --buckets 8 -o ../out/r",
        "compare a b --memory 16M --strategy partition --buckets 8 --list-false ../out/r",
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
    let sandbox = Sandbox::with(&megabytes(8, 0), &megabytes(8, 1000));
    for task in &TASKS[..4] {
        let words = task.words;
        let arguments =
            format!("{words} a b --memory 16M --strategy partition --force -o ../out/r");
        let command = sandbox.command_on_small_disk("temp", "4m", &arguments);
        // By then it has begun: it is the disk that says so.
        let outcome = sandbox.start(command).finish();
        outcome.fails(4, &["cannot write a spill file", "No space left"]);
        fs::remove_dir_all(sandbox.root().join("saved")).unwrap();
    }
}

#[test]
fn e9_temporary_files_go_where_the_option_says_and_to_all_of_the_directories() {
    let (a, b) = (megabytes(8, 0), megabytes(8, 0));
    let sandbox = Sandbox::with(&a, &b);
    let (one, two) = (sandbox.root().join("one"), sandbox.root().join("two"));
    let pipe = sandbox.fifo("pipe");
    for directory in [&one, &two] {
        fs::create_dir(directory).unwrap();
    }
    let mut running = sandbox.start(sandbox.command(
        "intersect a b pipe --strategy partition --memory 16M -T ../one --temp-dir ../two",
    ));
    let mut feed = Feed::open(&pipe, &mut running);
    assert!(feed.send(&b[..200_000]), "the run ended early");
    for directory in [&one, &two] {
        let names: Vec<_> = fs::read_dir(directory).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        let private = names[0].as_ref().unwrap();
        let mode = private.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
        assert!(fs::read_dir(private.path()).unwrap().count() > 0);
    }
    assert_eq!(sandbox.temp_names().len(), 0, "TMPDIR was used");
    drop(feed);
    running.finish().succeeds();
    for directory in [&one, &two] {
        assert_eq!(fs::read_dir(directory).unwrap().count(), 0);
    }
}

#[test]
fn e7_without_tmpdir_temporary_files_go_beside_the_output() {
    let (a, b) = (megabytes(8, 0), megabytes(8, 0));
    let sandbox = Sandbox::with(&a, &b);
    let pipe = sandbox.fifo("pipe");
    let mut command =
        sandbox.command("intersect a b pipe --strategy partition --memory 16M -o ../out/r");
    command.env_remove("TMPDIR");
    let mut running = sandbox.start(command);
    let mut feed = Feed::open(&pipe, &mut running);
    assert!(feed.send(&b[..200_000]), "the run ended early");
    let directories = fs::read_dir(sandbox.root().join("out"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(directories.count(), 1);
    drop(feed);
    running.finish().succeeds();
    assert_eq!(fs::read_dir(sandbox.root().join("out")).unwrap().count(), 1);
}

#[test]
fn e7_temporary_files_never_go_where_a_pipe_or_a_device_has_its_name() {
    let (a, b) = (megabytes(5, 0), megabytes(5, 0));
    let sandbox = Sandbox::with(&a, &b);
    for output in ["/dev/fd/1", "/dev/null"] {
        let arguments = format!("union a b --strategy partition --memory 16M -o {output}");
        let mut command = sandbox.command(&arguments);
        command.env_remove("TMPDIR");
        let outcome = sandbox.start(command).finish();
        outcome.succeeds();
        let has_spilled = !outcome.stderr.contains("no temporary disk");
        assert!(
            has_spilled && !outcome.stderr.contains("/dev: "),
            "{outcome}"
        );
        let lines = outcome
            .stdout
            .split_inclusive(|&byte| byte == b'\n')
            .count();
        let expected = if output == "/dev/null" {
            0
        } else {
            common(&[&a, &b]).len()
        };
        assert_eq!(lines, expected, "{output}");
    }
}
