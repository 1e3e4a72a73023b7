//! Temporary space that is missing, full or capped.

use super::{large, prepared, unprivileged};
use crate::data::{common, lines, megabytes};
use crate::sandbox::{Feed, Sandbox, can_mount};
use crate::tasks::{TASKS, by_turns};
use differential::sweep;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_temporary_directory_that_is_missing_or_no_directory_is_named() {
    let sandbox = large();
    // Some of the operations for each place.
    for (place, reason, first) in [
        ("../missing", "No such file", 0),
        ("a", "Not a directory", 1),
    ] {
        let ways: Vec<_> = by_turns(0).skip(first).step_by(2).collect();
        for (task, strategy) in sweep::some(&ways, 2) {
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
#[ignore = "slow: close to a second"]
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
    let counting = [("overlaps", "auto"), ("intersect --exactly 1", "sieve")];
    let strategies = ["auto", "partition", "sieve"].into_iter().cycle();
    let all = TASKS.iter().map(|task| task.words).zip(strategies);
    let all: Vec<_> = all.chain(counting).collect();
    // Every other one is each operation, and the overlaps.
    for (words, strategy) in sweep::some(&all, 5) {
        fails(&format!(
            "{words} a b --memory 16M --strategy {strategy} --max-temp 1M"
        ));
    }
    // Nothing is spilled here but the answer, while it is sorted: in the order of the input if lines have labels.
    sandbox.write("few", lines(0..60_000));
    for order in ["input --count", "sorted"] {
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
#[ignore = "slow: more than a second"]
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
    // Every other task: each operation, by the strategies in turn.
    for (task, strategy) in TASKS
        .iter()
        .zip(["auto", "partition", "sieve"].into_iter().cycle())
        .step_by(2)
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
#[ignore = "slow: more than a second"]
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
    sandbox.write("few", lines(0..150_000));
    // Without counts, the order of the input is that of a second reading.
    for order in ["input --count", "sorted"] {
        let words = format!("union few --order {order}");
        fails("1m", &format!("{words} --memory 40M --strategy memory"));
    }
}
