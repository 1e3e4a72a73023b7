//! Ends by signals: at chosen moments, where a FIFO or an unread result holds the run, and at random ones. The process
//! ends as the signal would have ended it, soon, silently, and with nothing left behind but what was there before.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use differential::sweep;
use rustix::process::Signal;

use crate::data::{common, lines, megabytes};
use crate::sandbox::{Feed, Outcome, Running, Sandbox};
use crate::tasks::{TASKS, Task, by_turns};

const BEFORE: &str = "what was there before\n";
const SOON: Duration = Duration::from_secs(2);
const ENDING: [Signal; 8] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::XFSZ,
    Signal::XCPU,
    Signal::USR1,
    Signal::ALARM,
];

fn spilling() -> Sandbox {
    let sandbox = Sandbox::with(&megabytes(7, 0), &megabytes(8, 1000));
    fs::write(sandbox.output("r"), BEFORE).unwrap();
    sandbox
}

/// A run that has spilled `a` and a part of what the FIFO gave, and waits for more.
/// A shell has done `setup` before. Of an intersection.
pub(crate) fn held_in_spill<'s>(
    sandbox: &'s Sandbox,
    setup: &str,
    arguments: &str,
) -> (Running<'s>, Feed) {
    held_in_spill_of(&TASKS[0], sandbox, setup, arguments)
}

/// Works as [`held_in_spill`], with a run of this task.
pub(crate) fn held_in_spill_of<'s>(
    task: &Task,
    sandbox: &'s Sandbox,
    setup: &str,
    arguments: &str,
) -> (Running<'s>, Feed) {
    let words = task.words;
    let path = sandbox.input("pipe");
    if !path.exists() {
        sandbox.fifo("pipe");
    }
    let mut running = sandbox.start(sandbox.command_after(
        setup,
        &format!("{words} a pipe --strategy partition --memory 16M {arguments}"),
    ));
    let mut feed = Feed::open(&path, &mut running);
    assert!(feed.send(&megabytes(2, 0)), "the run ended early");
    running.wait_for_spill();
    (running, feed)
}

#[test]
fn g1_a_signal_ends_a_run_that_waits_for_an_input_to_be_opened() {
    let sandbox = spilling();
    sandbox.fifo("pipe");
    for (signal, task) in ENDING.into_iter().zip(&TASKS) {
        let arguments = format!("{} a pipe -o ../out/r", task.words);
        let running = sandbox.start(sandbox.command(&arguments));
        // Before the program has installed its handlers the signal's default action has the same effect.
        thread::sleep(Duration::from_millis(30));
        running.signal(signal);
        running.finish_within(SOON).ends_by(signal);
    }
}

#[test]
fn g1_a_signal_ends_a_run_that_spills() {
    let sandbox = spilling();
    for (signal, task) in ENDING.into_iter().zip(&TASKS) {
        let outputs = "-o ../out/r --stats ../out/s";
        let (running, _feed) = held_in_spill_of(task, &sandbox, "true", outputs);
        running.signal(signal);
        running.finish_within(SOON).ends_by(signal);
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn g1_a_signal_ends_a_run_that_is_in_the_middle_of_writing_the_result() {
    // Every answer is larger than what a pipe and the buffers hold.
    let sandbox = Sandbox::with(&megabytes(7, 0), &megabytes(7, 60_000));
    let ways = sweep::pairs(&["partition", "sieve"], &TASKS);
    for (signal, (strategy, task)) in ENDING.into_iter().cycle().zip(ways) {
        let words = task.words;
        let arguments = format!("{words} a b --strategy {strategy} --memory 16M");
        let mut running = sandbox.start_unread(sandbox.command(&arguments));
        running.wait_for_output();
        assert!(running.is_going_on(), "the run was not held: {arguments}");
        running.signal(signal);
        running.finish_within(SOON).ends_by(signal);
    }
}

#[test]
fn g1_a_signal_ends_a_run_that_copies_a_pipe() {
    let sandbox = spilling();
    let path = sandbox.fifo("pipe");
    let other = sandbox.fifo("other");
    for (signal, task) in ENDING.into_iter().zip(&TASKS) {
        let words = task.words;
        let arguments = format!("{words} pipe other --strategy sieve --memory 16M -o ../out/r");
        let mut running = sandbox.start(sandbox.command(&arguments));
        let mut feed = Feed::open(&path, &mut running);
        let _other = Feed::open(&other, &mut running);
        assert!(feed.send(&megabytes(2, 0)), "the run ended early");
        running.wait_for_spill();
        running.signal(signal);
        running.finish_within(SOON).ends_by(signal);
    }
}

#[test]
fn g2_a_second_signal_changes_nothing() {
    let sandbox = spilling();
    for task in TASKS.iter().step_by(2) {
        let (running, _feed) = held_in_spill_of(task, &sandbox, "true", "-o ../out/r");
        running.signal(Signal::TERM);
        running.signal(Signal::TERM);
        running.finish_within(SOON).ends_by(Signal::TERM);
    }
}

/// Sends `signal` at moments spread over runs of these tasks that are not held, the same number to each. The inputs
/// have about so many megabytes.
fn at_random_moments<'t>(
    size: u64,
    ways: impl Iterator<Item = (&'t Task, &'t str)>,
    signal: Signal,
    count: u32,
) {
    let (a, b) = (megabytes(size, 0), megabytes(size + 1, 1000));
    let sandbox = Sandbox::with(&a, &b);
    let (mut runs, mut interrupted) = (0, 0);
    for (task, strategy) in ways {
        let result = task.of(&[&a, &b]).bytes();
        let words = task.words;
        // Quiet: a signal may come between the summary of a complete run and its end.
        let arguments = format!("{words} a b --strategy {strategy} --memory 16M -q -o ../out/r");
        let start = Instant::now();
        sandbox.run(&arguments).succeeds();
        // A little longer than a run: the last signals may come too late.
        let longest = 1.2 * start.elapsed().as_secs_f64();
        for _ in 0..count {
            fs::write(sandbox.output("r"), BEFORE).unwrap();
            let mut running = sandbox.start(sandbox.command(&arguments));
            running.may_be_complete(result);
            // The golden ratio spreads any number of moments evenly.
            let share = (f64::from(runs) * 0.618_034).fract();
            runs += 1;
            thread::sleep(Duration::from_secs_f64(longest * share));
            running.signal(signal);
            let outcome = running.finish_within(SOON);
            if !outcome.status.success() {
                outcome.ends_by(signal);
                interrupted += 1;
            }
        }
    }
    assert!(
        interrupted >= runs / 5,
        "nearly all runs were over too soon"
    );
}

#[test]
fn g1_a_signal_at_any_moment_leaves_nothing() {
    // Those of which the answer is put in order, which takes the longest.
    let ordered = by_turns(0).filter(|(task, _)| task.words.contains("--order"));
    at_random_moments(4, ordered.step_by(2), Signal::INT, 1);
}

#[test]
#[ignore = "slow: 300 runs"]
fn g1_a_signal_at_any_of_many_moments_leaves_nothing() {
    for signal in [Signal::INT, Signal::TERM, Signal::USR1] {
        at_random_moments(7, by_turns(0).chain(by_turns(1)), signal, 6);
    }
}

#[test]
#[ignore = "slow: 200 runs"]
fn g2_a_signal_in_the_first_moments_leaves_nothing() {
    let sandbox = spilling();
    let arguments = "intersect a b --strategy partition --memory 16M -q -o ../out/r";
    let start = Instant::now();
    sandbox.run(arguments).succeeds();
    let complete = fs::metadata(sandbox.output("r")).unwrap().len() as usize;
    // The first quarter of a run, but no more than 20 ms.
    let longest = (start.elapsed() / 4).min(Duration::from_millis(20));
    let mut interrupted = 0;
    for moment in 0..200 {
        fs::write(sandbox.output("r"), BEFORE).unwrap();
        let mut running = sandbox.start(sandbox.command(arguments));
        // A busy machine may let this thread sleep until the run is over.
        running.may_be_complete(complete);
        thread::sleep(longest * moment / 200);
        running.signal(Signal::TERM);
        let outcome = running.finish_within(SOON);
        if !outcome.status.success() {
            outcome.ends_by(Signal::TERM);
            interrupted += 1;
        }
    }
    assert!(interrupted >= 150, "only {interrupted} of 200 in time");
}

#[test]
#[ignore = "slow: close to a second"]
fn g1_a_file_size_limit_ends_the_run_by_its_signal() {
    file_size_limit(1);
}

#[test]
#[ignore = "slow: 40 runs"]
fn g1_a_file_size_limit_ends_any_run_by_its_signal() {
    file_size_limit(5);
}

fn file_size_limit(times: usize) {
    let sandbox = spilling();
    // Which thread learns of it first is a matter of luck.
    for _ in 0..times {
        for (task, strategy) in by_turns(0) {
            let words = task.words;
            // The spill files are larger than that, and so are most results.
            let command = sandbox.command_after(
                "ulimit -f 1000",
                &format!("{words} a b --strategy {strategy} --buckets 2 --memory 16M -o ../out/r"),
            );
            let outcome: Outcome = sandbox
                .start(command)
                .finish_within(Duration::from_secs(10));
            outcome.ends_by(Signal::XFSZ);
        }
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn e2_a_file_size_limit_that_is_ignored_is_an_error_like_a_full_disk() {
    let sandbox = spilling();
    for (task, strategy) in by_turns(1) {
        let words = task.words;
        let command = sandbox.command_after(
            "ulimit -f 1000 && trap '' XFSZ",
            &format!("{words} a b --strategy {strategy} --buckets 2 --memory 16M -o ../out/r"),
        );
        sandbox
            .start(command)
            .finish()
            .fails(4, &["File too large"]);
    }
}

#[test]
fn signals_that_the_parent_ignores_stay_ignored() {
    let a = lines(0..5000);
    let sandbox = Sandbox::with(&a, b"");
    let path = sandbox.fifo("pipe");
    let mut running = sandbox.start(sandbox.command_after(
        "trap '' INT HUP",
        "intersect a pipe --strategy partition --memory 16M",
    ));
    let text = megabytes(1, 0);
    let mut feed = Feed::open(&path, &mut running);
    assert!(feed.send(&text));
    running.signal(Signal::INT);
    running.signal(Signal::HUP);
    thread::sleep(Duration::from_millis(300));
    assert!(running.is_going_on(), "the signal was not ignored");
    drop(feed);
    running
        .finish()
        .succeeds_silently()
        .has_lines(&common(&[&a, &text]));
}

#[test]
fn a_stopped_run_goes_on_where_it_was() {
    let sandbox = spilling();
    let (mut running, mut feed) = held_in_spill(&sandbox, "true", "--count-only");
    running.signal(Signal::STOP);
    let status = format!("/proc/{}/status", running.child.id());
    while !fs::read_to_string(&status).unwrap().contains("(stopped)") {
        thread::sleep(Duration::from_millis(1));
    }
    running.signal(Signal::CONT);
    assert!(feed.send(&megabytes(1, 0)));
    assert!(running.is_going_on());
    drop(feed);
    let count = common(&[&megabytes(2, 0)]).len();
    assert_eq!(
        running.finish().succeeds_silently().stdout,
        format!("{count}\n").into_bytes()
    );
}

#[test]
fn c6_f6_g3_a_kill_leaves_the_output_as_it_was() {
    let sandbox = spilling();
    let (running, feed) = held_in_spill(&sandbox, "true", "");
    drop(feed);
    running.signal(Signal::KILL);
    running.end_within(SOON).ends_by(Signal::KILL);
    let [a, b] = ["a", "b"].map(|name| fs::read(sandbox.input(name)).unwrap());
    // Each at a later moment. Every other one is each operation, by both strategies in turn.
    let ways: Vec<_> = (0..).zip(by_turns(1)).collect();
    for &(moment, (task, strategy)) in sweep::some(&ways, 4) {
        let words = task.words;
        let arguments = format!("{words} a b --strategy {strategy} --memory 16M -o ../out/kept");
        let running = sandbox.start(sandbox.command(&arguments));
        thread::sleep(Duration::from_millis(moment * 23));
        running.signal(Signal::KILL);
        drop(running);
        sandbox.remove_part();
        // There is nothing, unless the run was done.
        if let Ok(result) = fs::read(sandbox.output("kept")) {
            task.of(&[&a, &b]).assert_is(&result, &arguments);
            fs::remove_file(sandbox.output("kept")).unwrap();
        }
        assert_eq!(fs::read_to_string(sandbox.output("r")).unwrap(), BEFORE);
        assert_eq!(fs::read_dir(sandbox.root().join("out")).unwrap().count(), 1);
        // The directory of the run before is gone, unless this one was killed before it made its own.
        assert!(
            sandbox.temp_names().len() <= 1,
            "{:?}",
            sandbox.temp_names()
        );
    }
    let partition = "intersect a b --strategy partition --memory 16M -o ../out/kept";
    sandbox.run(partition).succeeds_silently();
    assert!(
        sandbox.temp_names().is_empty(),
        "{:?}",
        sandbox.temp_names()
    );
}
