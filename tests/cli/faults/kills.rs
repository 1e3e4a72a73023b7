//! Kills and signals at random moments of small runs that spill (rows C6, F6, G1, G3 of `tests/matrix.tsv`).
//!
//! The moments depend on a seed, which is printed; `OUTSET_TEST_SEED=N` gives the same ones again, as far as a machine is ever
//! twice as busy. What a SIGKILL may leave: one private directory in temporary space, which the next run there removes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::data::{DIFF, Operation, UNION, common, lines, megabytes};
use crate::sandbox::{PATIENCE, Sandbox, assert_same_lines};

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

const JOBS: [&str; 2] = [
    "intersect a b --memory 16M --strategy partition --buckets 4 -o ../out/r",
    "intersect a b --memory 16M --strategy sieve --buckets 4 -o ../out/r",
];

/// An operation, and the strategies and options by which runs of it are killed.
const OPERATIONS: [(Operation, [&str; 2]); 2] = [
    (
        DIFF,
        ["--strategy partition --buckets 4", "--strategy sieve"],
    ),
    (
        UNION,
        ["--strategy partition --buckets 4", "--strategy sieve"],
    ),
];

fn small() -> (Sandbox, Vec<u8>, Vec<u8>) {
    let (a, b) = (lines(0..20_000), lines(4000..26_000));
    (Sandbox::with(&a, &b), a, b)
}

/// The shortest time that a run takes which is left alone.
fn duration(sandbox: &Sandbox, arguments: &str) -> Duration {
    let time = |_| {
        let start = Instant::now();
        sandbox.run(arguments).succeeds_silently();
        start.elapsed()
    };
    (0..4).map(time).min().unwrap()
}

/// After a kill: the output is absent or complete, and nothing is beside it.
pub(crate) fn check_output(sandbox: &Sandbox, a: &[u8], b: &[u8]) -> bool {
    check_lines(sandbox, &common(&[a, b]))
}

/// As [`check_output`], of an output that has these lines when it is complete.
fn check_lines(sandbox: &Sandbox, expected: &BTreeSet<&[u8]>) -> bool {
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
    assert_same_lines(&result, b'\n', expected);
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
        name.to_string_lossy().starts_with("outset-"),
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

/// Kills `count` runs that are not over yet, half of them one strategy and half the other, by two threads.
fn kills(count: usize) {
    let (next, killed, left) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let dice = Mutex::new(Dice::new());
    let work = || {
        let (sandbox, a, b) = small();
        let durations = JOBS.map(|job| duration(&sandbox, job));
        fs::remove_file(sandbox.output("r")).unwrap();
        loop {
            if killed.load(Ordering::Relaxed) >= count {
                break;
            }
            let number = next.fetch_add(1, Ordering::Relaxed);
            assert!(number < 4 * count, "nearly all runs were over too soon");
            let moment = dice.lock().unwrap().roll();
            let job = number % JOBS.len();
            let after = durations[job].mul_f64(moment * 1.05);
            let mut running = sandbox.start(sandbox.command(JOBS[job]));
            running.may_be_complete(common(&[&a, &b]).iter().map(|line| line.len() + 1).sum());
            thread::sleep(after);
            running.signal(Signal::KILL);
            let outcome = running.end_within(PATIENCE);
            let is_complete = check_output(&sandbox, &a, &b);
            if outcome.status.success() {
                assert!(
                    is_complete,
                    "kill {number} of `{}` after {after:?}",
                    JOBS[job]
                );
            } else {
                killed.fetch_add(1, Ordering::Relaxed);
            }
            left.fetch_add(usize::from(check_temp(&sandbox)), Ordering::Relaxed);
        }
        sandbox.run(JOBS[0]).succeeds_silently();
        assert!(check_output(&sandbox, &a, &b));
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
        "{} runs: {} killed, {} left a directory for the next one to remove",
        next.into_inner(),
        killed.into_inner(),
        left.into_inner()
    );
}

/// Sends signals to `count` runs that are not over yet.
fn signals(count: usize, signals: &[Signal]) {
    let (next, interrupted) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let dice = Mutex::new(Dice::new());
    let work = || {
        let (sandbox, a, b) = small();
        let durations = JOBS.map(|job| duration(&sandbox, job));
        fs::remove_file(sandbox.output("r")).unwrap();
        let bytes: usize = common(&[&a, &b]).iter().map(|line| line.len() + 1).sum();
        loop {
            if interrupted.load(Ordering::Relaxed) >= count {
                break;
            }
            let number = next.fetch_add(1, Ordering::Relaxed);
            assert!(number < 4 * count, "nearly all runs were over too soon");
            let moment = dice.lock().unwrap().roll();
            let (job, signal) = (number % JOBS.len(), signals[number % signals.len()]);
            let after = durations[job].mul_f64(moment * 1.05);
            let mut running = sandbox.start(sandbox.command(JOBS[job]));
            running.may_be_complete(bytes);
            thread::sleep(after);
            running.signal(signal);
            // Checks that temporary space is empty.
            let outcome = running.finish_within(Duration::from_secs(10));
            let is_complete = check_output(&sandbox, &a, &b);
            if outcome.status.success() {
                assert!(is_complete, "{signal:?} {number} after {after:?}");
            } else {
                assert_eq!(outcome.status.signal(), Some(signal.as_raw()), "{outcome}");
                interrupted.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    println!(
        "{} runs: {} ended by a signal",
        next.into_inner(),
        interrupted.into_inner()
    );
}

#[test]
fn c6_f6_g3_a_kill_at_a_random_moment_leaves_no_wrong_output_and_one_directory_at_most() {
    kills(12);
}

#[test]
fn c6_f6_g3_a_kill_of_any_operation_leaves_no_wrong_output_and_one_directory_at_most() {
    let (sandbox, a, b) = small();
    let mut dice = Dice::new();
    for (operation, ways) in OPERATIONS {
        let expected = operation.of(&[&a, &b]);
        let expected: BTreeSet<&[u8]> = expected.iter().map(Vec::as_slice).collect();
        for way in ways {
            let job = format!("{} a b --memory 16M {way} -o ../out/r", operation.words);
            let (duration, mut killed) = (duration(&sandbox, &job), 0);
            assert!(check_lines(&sandbox, &expected));
            for _ in 0..20 {
                if killed == 4 {
                    break;
                }
                let after = duration.mul_f64(dice.roll());
                let mut running = sandbox.start(sandbox.command(&job));
                running.may_be_complete(expected.iter().map(|line| line.len() + 1).sum());
                thread::sleep(after);
                running.signal(Signal::KILL);
                let outcome = running.end_within(PATIENCE);
                let is_complete = check_lines(&sandbox, &expected);
                if outcome.status.success() {
                    assert!(is_complete, "`{job}` after {after:?}");
                } else {
                    killed += 1;
                }
                check_temp(&sandbox);
            }
            assert_eq!(killed, 4, "nearly all runs of `{job}` were over too soon");
            sandbox.run(&job).succeeds_silently();
            assert!(check_lines(&sandbox, &expected));
            assert!(
                sandbox.temp_names().is_empty(),
                "{:?}",
                sandbox.temp_names()
            );
        }
    }
}

#[test]
#[ignore = "slow: 1000 runs"]
fn c6_f6_g3_a_thousand_kills_leave_no_wrong_output_and_one_directory_at_most() {
    kills(1000);
}

#[test]
#[ignore = "slow: 1000 runs"]
fn g1_a_thousand_terminations_at_random_moments_leave_nothing() {
    signals(1000, &[Signal::TERM]);
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
fn g1_signals_of_all_kinds_at_random_moments_leave_nothing() {
    signals(12, &KINDS);
}

#[test]
#[ignore = "slow: 240 runs"]
fn g1_many_signals_of_all_kinds_at_random_moments_leave_nothing() {
    signals(240, &KINDS);
}

#[test]
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
