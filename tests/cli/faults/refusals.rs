//! Limits that are too low, and lines that are too long: the advice is enough.

use super::{EXACT, large, prepared, small};
use crate::data::{common, lines, megabytes};
use crate::sandbox::Sandbox;
use crate::tasks::{TASKS, Task};
use differential::sweep;
use std::fs::{self, OpenOptions};

#[test]
fn c1_less_memory_than_any_run_needs_is_refused_with_the_least_that_does() {
    let sandbox = small();
    // The code of a debug build may need a MiB more.
    let least = if cfg!(debug_assertions) {
        "MiB"
    } else {
        "16 MiB"
    };
    let tasks: Vec<_> = TASKS.iter().zip(EXACT.into_iter().cycle()).collect();
    for ((task, strategy), memory) in sweep::pairs(&tasks, &["1M", "0", "15M", "16M"]) {
        let arguments = format!("{} a b --memory {memory}", task.words);
        if *memory == "16M" {
            sandbox.run(&arguments).succeeds_silently();
        } else {
            sandbox
                .run(&format!("{arguments} --strategy {strategy} -o ../out/r"))
                .fails(6, &["memory", least]);
        }
    }
    // It is named what takes so much; unless even less would be too much, where all of the code stays in memory.
    let reason = if cfg!(portable) {
        "MiB is too low"
    } else {
        "MiB is too low, because compressing the result takes"
    };
    sandbox
        .run("union a b --memory 16384K -o ../out/r.xz")
        .fails(6, &[reason]);
}

#[test]
#[ignore = "slow: close to a second"]
fn a_set_that_does_not_fit_is_refused_with_a_limit_that_does() {
    let sandbox = large();
    for task in &TASKS[..2] {
        let arguments = format!("{} a b --strategy memory -o ../out/new", task.words);
        let outcome = sandbox.run(&format!("{arguments} --memory 16M"));
        outcome.fails(6, &["memory"]);
        let limit = outcome.advised();
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
        let outcome = sandbox.run(&format!("{arguments} --memory 16384K"));
        outcome.fails(6, &["buckets"]);
        let limit = outcome.advised();
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
            let limit = outcome.advised();
            sandbox
                .run(&format!("{arguments} --memory {limit}"))
                .succeeds_silently();
        }
    }
}

#[test]
#[ignore = "slow: close to a second"]
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
                assert_ne!(outcome.advised(), "16MiB", "{outcome}");
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
    let location = format!("b: the line at byte {} ", front.len());
    let exact = TASKS
        .iter()
        .map(|task| task.words)
        .zip(EXACT.into_iter().cycle());
    for (words, strategy) in exact.chain([("intersect", "bloom")]) {
        let outcome = sandbox.run(&format!(
            "{words} a b --memory 16M --strategy {strategy} -o ../out/r"
        ));
        outcome.fails(6, &[&location, "give at least"]);
        assert_ne!(outcome.advised(), "16MiB", "{outcome}");
    }
}

/// Runs with a line of `bytes` in both inputs, or in the first only, are refused once: what they advise does.
fn the_limit_that_is_advised_does<'t>(
    bytes: usize,
    threads: &[u32],
    ways: impl IntoIterator<Item = (&'t Task, &'t &'t str)>,
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
                let outcome = run(&refused.advised());
                answer.assert_is(&outcome.succeeds().stdout, &arguments);
            }
        }
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn a17_the_limit_that_is_advised_for_a_long_line_does_at_the_first_try() {
    let ways = TASKS.iter().zip(&["auto", "sieve", "partition"]);
    the_limit_that_is_advised_does(17 << 20, &[2], ways);
}

#[test]
#[ignore = "slow: reads lines of 40 MiB"]
fn a17_the_limit_that_is_advised_for_a_line_of_40_mib_does_at_the_first_try() {
    let ways = sweep::pairs(&TASKS, &["auto", "partition", "sieve"]);
    the_limit_that_is_advised_does(40 << 20, &[2, 64], ways);
}

#[test]
#[ignore = "slow: reads lines of 250 MB"]
fn a17_the_limit_that_is_advised_for_a_line_of_250_mb_does_at_the_first_try() {
    let ways = TASKS.iter().zip(&["auto", "partition", "sieve", "auto"]);
    the_limit_that_is_advised_does(250 << 20, &[2, 64], ways);
}

#[test]
fn a12_a_line_longer_than_the_memory_limit_that_comes_through_a_pipe_is_refused_with_its_location()
{
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
        let is_unknown = outcome
            .stderr
            .contains("the length of the line is not known");
        assert!(
            is_unknown || outcome.stderr.contains(" 64 MiB long "),
            "{outcome}"
        );
    }
}

#[test]
fn a11_a_line_of_ten_megabytes_is_a_line_like_any_other() {
    // One task by each strategy that may spill it.
    line_of_ten_megabytes(1, 2);
}

#[test]
#[ignore = "slow: more runs over 20 MB"]
fn a11_a_line_of_ten_megabytes_is_a_line_like_any_other_for_more_tasks() {
    line_of_ten_megabytes(0, 4);
}

/// Runs so many tasks from the number `first` on with a long line, and an intersection in memory.
fn line_of_ten_megabytes(first: usize, count: usize) {
    let mut long = vec![b'l'; 10 << 20];
    long.push(b'\n');
    let a = [lines(0..1000), long.clone(), lines(1000..2000)].concat();
    let b = [lines(1500..4000), long].concat();
    let sandbox = Sandbox::with(&a, &b);
    let strategies = ["auto", "partition", "sieve", "auto"];
    for (task, strategy) in TASKS.iter().zip(strategies).skip(first).take(count) {
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
