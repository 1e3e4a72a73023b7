//! Kills and signals at random moments of small runs that spill (rows C6, F6, G1, G3 of `tests/matrix.tsv`).
//!
//! The moments depend on a seed, which is printed; `OUTSET_TEST_SEED=N` gives the same ones again, as far as a machine
//! is ever twice as busy. What a SIGKILL may leave: one private directory in temporary space, which the next run there
//! removes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::data::{lines, megabytes};
use crate::sandbox::{PATIENCE, Sandbox};
use crate::tasks::{Answer, Task, by_turns};

/// Numbers that look random (xorshift64*).
struct Dice(u64);

impl Dice {
    /// Different each time, unless a seed is given.
    fn new() -> Self {
        let given = std::env::var("OUTSET_TEST_SEED").ok();
        let seed = given.and_then(|text| text.parse().ok()).unwrap_or_else(|| {
            let now = std::time::UNIX_EPOCH.elapsed().unwrap();
            now.as_nanos() as u64 | 1
        });
        println!("OUTSET_TEST_SEED={seed}");
        Self(seed)
    }

    /// A number from 0 to 1.
    fn roll(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A run that is ended early: its arguments, what it writes to `../out/r`, and how long it takes when it is left alone.
struct Job {
    arguments: String,
    answer: Answer,
    duration: Duration,
}

/// The inputs of all jobs: so few lines that a run is short, and too many to be put in order without runs on disk.
fn texts() -> [Vec<u8>; 2] {
    [lines(0..20_000), lines(4000..26_000)]
}

/// The jobs of these tasks and strategies.
fn jobs<'t>(ways: impl Iterator<Item = (&'t Task, &'t str)>) -> Vec<Job> {
    let [a, b] = texts();
    let sandbox = Sandbox::with(&a, &b);
    ways.map(|(task, strategy)| {
        let arguments = format!(
            "{} a b --memory 16M --strategy {strategy} --buckets 4 -o ../out/r",
            task.words
        );
        Job {
            duration: duration(&sandbox, &arguments),
            arguments,
            answer: task.of(&[&a, &b]),
        }
    })
    .collect()
}

/// The shortest time that a run takes which is left alone.
fn duration(sandbox: &Sandbox, arguments: &str) -> Duration {
    let time = |_| {
        let start = Instant::now();
        sandbox.run(arguments).succeeds_silently();
        start.elapsed()
    };
    let shortest = (0..3).map(time).min().unwrap();
    fs::remove_file(sandbox.output("r")).unwrap();
    shortest
}

/// After a kill: the output is absent or complete, and nothing is beside it.
pub(crate) fn check_output(sandbox: &Sandbox, answer: &Answer) -> bool {
    sandbox.remove_part();
    let output = sandbox.root().join("out");
    let names: Vec<_> = fs::read_dir(output)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    let Ok(result) = fs::read(sandbox.output("r")) else {
        assert!(names.is_empty(), "beside the output: {names:?}");
        return false;
    };
    assert_eq!(names, ["r"], "beside the output");
    answer.assert_is(&result, "a run that was killed");
    fs::remove_file(sandbox.output("r")).unwrap();
    true
}

/// After a kill: at most one private directory, with a file `lock` as soon as there is anything in it.
pub(crate) fn check_temp(sandbox: &Sandbox) -> bool {
    let names = sandbox.temp_names();
    assert!(names.len() <= 1, "{names:?}");
    let Some(name) = names.first() else {
        return false;
    };
    let path = sandbox.temp().join(name);
    assert!(
        name.to_string_lossy().starts_with("outset-spill-"),
        "{}",
        name.display()
    );
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o700);
    let inside: Vec<_> = fs::read_dir(&path).unwrap().flatten().collect();
    let names: Vec<_> = inside.iter().map(fs::DirEntry::file_name).collect();
    // One that was not marked yet holds nothing else.
    let is_new = names.is_empty() || names == ["lock.new"];
    assert!(
        is_new || path.join("lock").exists(),
        "no lock among {names:?}"
    );
    true
}

/// Sends signals to `count` runs of these jobs that are not over yet, by two threads; jobs and signals take turns.
fn interrupt(count: usize, jobs: &[Job], signals: &[Signal]) {
    let zeros = || AtomicUsize::new(0);
    let (next, interrupted, left) = (zeros(), zeros(), zeros());
    let dice = Mutex::new(Dice::new());
    let work = || {
        let [a, b] = texts();
        let sandbox = Sandbox::with(&a, &b);
        loop {
            if interrupted.load(Ordering::Relaxed) >= count {
                break;
            }
            let number = next.fetch_add(1, Ordering::Relaxed);
            assert!(number < 4 * count, "nearly all runs were over too soon");
            let moment = dice.lock().unwrap().roll();
            let (job, signal) = (&jobs[number % jobs.len()], signals[number % signals.len()]);
            let after = job.duration.mul_f64(moment * 1.05);
            let what = format!("{signal:?} {number} to `{}` after {after:?}", job.arguments);
            let mut running = sandbox.start(sandbox.command(&job.arguments));
            running.may_be_complete(job.answer.bytes());
            thread::sleep(after);
            running.signal(signal);
            let outcome = if signal == Signal::KILL {
                running.end_within(PATIENCE)
            } else {
                // Checks that temporary space is empty.
                running.finish_within(Duration::from_secs(10))
            };
            let is_complete = check_output(&sandbox, &job.answer);
            if outcome.status.success() {
                assert!(is_complete, "{what}");
            } else {
                assert_eq!(outcome.status.signal(), Some(signal.as_raw()), "{what}");
                interrupted.fetch_add(1, Ordering::Relaxed);
            }
            left.fetch_add(usize::from(check_temp(&sandbox)), Ordering::Relaxed);
        }
        sandbox.run(&jobs[0].arguments).succeeds_silently();
        assert!(check_output(&sandbox, &jobs[0].answer));
        assert!(
            sandbox.temp_names().is_empty(),
            "{:?}",
            sandbox.temp_names()
        );
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    println!(
        "{} runs: {} ended by a signal, {} left a directory for the next one to remove",
        next.into_inner(),
        interrupted.into_inner(),
        left.into_inner()
    );
}

/// Every task by every strategy that spills.
fn all_jobs() -> Vec<Job> {
    jobs(by_turns(0).chain(by_turns(1)))
}

#[test]
#[ignore = "slow: more than a second"]
fn c6_f6_g3_a_kill_of_any_operation_leaves_no_wrong_output_and_one_directory_at_most() {
    interrupt(16, &jobs(by_turns(0)), &[Signal::KILL]);
}

#[test]
#[ignore = "slow: 1000 runs"]
fn c6_f6_g3_a_thousand_kills_leave_no_wrong_output_and_one_directory_at_most() {
    interrupt(1000, &all_jobs(), &[Signal::KILL]);
}

#[test]
#[ignore = "slow: 1000 runs"]
fn g1_a_thousand_terminations_at_random_moments_leave_nothing() {
    interrupt(1000, &all_jobs(), &[Signal::TERM]);
}

const KINDS: [Signal; 6] = [
    Signal::INT,
    Signal::HUP,
    Signal::QUIT,
    Signal::XCPU,
    Signal::XFSZ,
    Signal::USR1,
];

#[test]
#[ignore = "slow: close to a second"]
fn g1_signals_of_all_kinds_at_random_moments_leave_nothing() {
    interrupt(12, &jobs(by_turns(1)), &KINDS);
}

#[test]
#[ignore = "slow: 240 runs"]
fn g1_many_signals_of_all_kinds_at_random_moments_leave_nothing() {
    interrupt(240, &all_jobs(), &KINDS);
}

#[test]
#[ignore = "slow: close to a second"]
fn g6_a_comparison_that_is_killed_leaves_one_directory_and_any_next_run_removes_it() {
    let sandbox = Sandbox::with(&megabytes(24, 0), &megabytes(24, 50_000));
    sandbox.write("few", "x\n");
    let arguments = "compare a b --memory 16M --strategy partition";
    let mut held = 0;
    for _ in 0..3 {
        let mut running = sandbox.start(sandbox.command(arguments));
        running.wait_for_spill();
        // The exact result has its file by then, and its run is at its own.
        thread::sleep(Duration::from_millis(30));
        running.signal(Signal::KILL);
        running.end_within(PATIENCE);
        held += usize::from(check_temp(&sandbox));
        // It needs no temporary space itself.
        sandbox
            .run("intersect few few --strategy memory -q")
            .succeeds();
        assert!(
            sandbox.temp_names().is_empty(),
            "{:?}",
            sandbox.temp_names()
        );
    }
    assert!(held > 0, "no run was killed while it had a directory");
}
