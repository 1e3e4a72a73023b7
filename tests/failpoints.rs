//! Every N-th call of something fails, for every N: the run ends with the right kind of error or with the right answer,
//! never with another one; nothing is left behind, and nobody waits for ever.
//!
//! A binary of its own: the places that fail ([`fail`]) are the whole process's. It needs the feature `failpoints`:
//!
//! ```text
//! cargo test --features failpoints --test failpoints
//! ```

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use fail::FailScenario;
use outset::{
    ErrorKind, Interrupt, Options, OutputFile, Result, Source, Stats, Strategy, WriteSink,
    intersect,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// No run of these takes nearly so long; one that does is stuck.
const STUCK: Duration = Duration::from_secs(60);
/// What is in the place of the result before a run.
const BEFORE: &[u8] = b"before\n";

/// Two inputs with known common lines, a place for spill, and one for the result.
struct Place {
    directory: TempDir,
    common: BTreeSet<Vec<u8>>,
    buckets: u32,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("temp")).unwrap();
        fs::create_dir(directory.path().join("out")).unwrap();
        let line = |number: u32| format!("{number:07}-{}", "x".repeat((number % 90) as usize));
        for (name, numbers) in [("a", 0..40_000), ("b", 35_000..80_000)] {
            let mut file = fs::File::create(directory.path().join(name)).unwrap();
            let text: String = numbers.map(|number| line(number) + "\n").collect();
            file.write_all(text.as_bytes()).unwrap();
        }
        Self {
            directory,
            buckets: 1,
            common: (35_000..40_000)
                .map(|number| line(number).into_bytes())
                .collect(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn run(&self, strategy: Strategy) -> Result<Stats> {
        fs::write(self.path("out/result"), BEFORE).unwrap();
        let options = Options {
            memory_bytes: Some(200 << 20),
            strategy: Some(strategy),
            buckets: (strategy != Strategy::Memory).then_some(self.buckets),
            threads: Some(2),
            temp_dirs: vec![self.path("temp")],
            always_spill: true,
            ..Options::default()
        };
        let sources = [Source::from(self.path("a")), Source::from(self.path("b"))];
        let file = OutputFile::create(&self.path("out/result"), &Interrupt::new())?;
        let mut sink = WriteSink::new(file.writer()?, b'\n', "result");
        let stats = intersect(&sources, &options, &mut sink)?;
        let flushed = sink.into_inner().flush();
        if let Err(source) = flushed {
            return Err(outset::Error::Output {
                target: "result".to_owned(),
                what: "cannot write",
                source,
                advice: "none",
            });
        }
        file.finish()?;
        Ok(stats)
    }

    /// The result is whole, or what was there before; nothing else is anywhere.
    fn check(&self, strategy: Strategy, has_succeeded: bool, what: &str) {
        let result = fs::read(self.path("out/result")).unwrap();
        if has_succeeded {
            let lines: Vec<&[u8]> = result.split(|&byte| byte == b'\n').collect();
            let found: BTreeSet<Vec<u8>> = lines.iter().map(|line| line.to_vec()).collect();
            // Behind the last newline there is one more piece.
            assert_eq!(lines.len(), found.len(), "{what}: a line came twice");
            let extra = found.len() - 1 - self.common.len();
            assert!(
                extra == 0 || !strategy.is_exact(),
                "{what}: {extra} more lines"
            );
            assert!(self.common.is_subset(&found), "{what}: a wrong result");
        } else {
            assert_eq!(result, BEFORE, "{what}: the result was touched");
        }
        for (directory, expected) in [("temp", 0), ("out", 1)] {
            let count = entries(&self.path(directory));
            assert_eq!(count, expected, "{what}: left in {directory}");
        }
    }
}

fn entries(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum End {
    Complete,
    Failed(ErrorKind),
    Panicked,
}

/// Runs with `point` doing `action`, and ends the process if that hangs.
fn ended(place: &Place, strategy: Strategy, point: &str, action: &str) -> End {
    let what = format!("{point}={action} in {strategy}");
    let (done, wait) = mpsc::channel::<()>();
    let stuck = what.clone();
    std::thread::spawn(move || {
        if wait.recv_timeout(STUCK) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("stuck: {stuck}");
            std::process::abort();
        }
    });
    fail::cfg(point, action).unwrap();
    let result = catch_unwind(AssertUnwindSafe(|| place.run(strategy)));
    fail::remove(point);
    drop(done);
    let end = match &result {
        Ok(Ok(_)) => End::Complete,
        Ok(Err(error)) => {
            assert_eq!(error.to_string().lines().count(), 1, "{what}: {error}");
            End::Failed(error.kind())
        }
        Err(_) => End::Panicked,
    };
    place.check(strategy, end == End::Complete, &what);
    end
}

/// Lets the N-th call fail, once and from then on, for N from 0 until a run no longer gets so far. Returns how many failed.
fn sweep(strategy: Strategy, point: &str, action: &str, expected: End) -> u32 {
    let scenario = FailScenario::setup();
    let place = Place::new();
    let mut failed = 0;
    for calls in 0.. {
        // Every one of the first, then fewer and fewer.
        let skipped = if calls < 20 { calls } else { 20 * (calls - 18) };
        let ends = [
            format!("{skipped}*off->1*{action}->off"),
            format!("{skipped}*off->{action}"),
        ]
        .map(|action| ended(&place, strategy, point, &action));
        for end in ends {
            assert!(
                end == End::Complete || end == expected,
                "{point}: call {skipped}: {end:?}"
            );
            failed += u32::from(end == expected);
        }
        if ends == [End::Complete; 2] {
            break;
        }
    }
    scenario.teardown();
    failed
}

const SPILLING: [Strategy; 3] = [Strategy::Partition, Strategy::Sieve, Strategy::Bloom];

#[test]
fn e1_e2_b17_a_disk_that_fails_at_any_call_fails_the_run() {
    for strategy in [Strategy::Partition, Strategy::Sieve, Strategy::Memory] {
        let input = sweep(
            strategy,
            "input-read",
            "return",
            End::Failed(ErrorKind::Input),
        );
        assert!(input >= 2, "{strategy}: {input} failures");
    }
    for strategy in [Strategy::Partition, Strategy::Sieve] {
        for point in ["spill-write", "spill-read"] {
            let failed = sweep(strategy, point, "return", End::Failed(ErrorKind::Temp));
            assert!(failed >= 4, "{strategy}, {point}: {failed} failures");
        }
    }
}

#[test]
fn e8_a_write_to_the_spill_that_is_lost_is_always_noticed() {
    let scenario = FailScenario::setup();
    let place = Place {
        buckets: 20,
        ..Place::new()
    };
    let mut trials = 0;
    for strategy in [Strategy::Partition, Strategy::Sieve] {
        for skipped in 0.. {
            let once = format!("{skipped}*off->1*return->off");
            match ended(&place, strategy, "spill-write-lost", &once) {
                // A file that was never made is missed as such.
                End::Failed(ErrorKind::Damaged | ErrorKind::Temp) => trials += 1,
                End::Complete => break,
                other => panic!("{strategy}: write {skipped} was lost: {other:?}"),
            }
        }
    }
    assert!(trials >= 60, "{trials} lost writes");
    scenario.teardown();
}

#[test]
fn f2_f4_f5_a_result_that_cannot_be_written_synced_or_named_leaves_what_was_there() {
    for point in ["output-write", "output-sync", "output-name"] {
        let failed = sweep(
            Strategy::Partition,
            point,
            "return",
            End::Failed(ErrorKind::Output),
        );
        assert!(failed >= 2, "{point}: {failed} failures");
    }
}

#[test]
fn c5_d5_memory_or_a_thread_that_is_refused_at_any_request_fails_the_run() {
    for strategy in [Strategy::Memory, Strategy::Partition, Strategy::Sieve] {
        // Where a set was estimated to fit and does not, another plan may still do.
        let failed = sweep(strategy, "buffer", "return", End::Failed(ErrorKind::Memory));
        assert!(failed >= 4, "{strategy}: {failed} failures");
    }
    for strategy in [Strategy::Partition, Strategy::Sieve] {
        let failed = sweep(
            strategy,
            "thread",
            "return",
            End::Failed(ErrorKind::Machine),
        );
        assert!(failed >= 4, "{strategy}: {failed} failures");
    }
}

#[test]
fn g5_a_panic_in_any_thread_ends_the_run_and_leaves_nothing() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload().downcast_ref::<String>();
        let is_injected = text.is_some_and(|text| text.starts_with("failpoint "));
        // Who joins a thread that panicked panics, too.
        if !is_injected
            && panic.payload().downcast_ref::<&str>() != Some(&"a scoped thread panicked")
        {
            hook(panic);
        }
    }));
    let everywhere = ["work", "join", "sweep-thread", "load-thread"];
    let partition = ["spill-thread"].map(|point| (Strategy::Partition, point));
    let others = SPILLING
        .iter()
        .flat_map(|&strategy| everywhere.map(|point| (strategy, point)));
    for (strategy, point) in others.chain(partition) {
        let failed = sweep(strategy, point, "panic", End::Panicked);
        assert!(failed >= 2, "{strategy}, {point}: {failed} panics");
    }
}

/// The program, held by a FIFO after it has spilled `a`; the thread that cleans up waits for `pause` first.
fn held_by_fifo(place: &Place, pause: Duration) -> (std::process::Child, fs::File) {
    let pipe = place.path("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    // Open for both, it is open at once, and nobody sees its end.
    let held = fs::File::options().read(true).write(true).open(&pipe);
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_outset"))
        .args("intersect a pipe --strategy partition --memory 16M --buckets 4".split(' '))
        .args(["-o", "out/result"])
        .current_dir(place.directory.path())
        .env("TMPDIR", place.path("temp"))
        .env(
            "FAILPOINTS",
            format!("clean-up=sleep({})", pause.as_millis()),
        )
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while entries(&place.path("temp")) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        assert!(start.elapsed() < STUCK, "nothing was spilled");
        std::thread::sleep(Duration::from_millis(1));
    }
    (child, held.unwrap())
}

#[test]
fn g2_a_second_signal_during_clean_up_changes_nothing() {
    let pause = Duration::from_millis(2500);
    for (first, others) in [
        (Signal::TERM, vec![Signal::TERM]),
        (Signal::INT, vec![Signal::INT, Signal::INT]),
        (Signal::INT, vec![Signal::TERM, Signal::HUP, Signal::QUIT]),
        (Signal::HUP, vec![Signal::USR1, Signal::ALARM, Signal::XCPU]),
    ] {
        let place = Place::new();
        fs::write(place.path("out/result"), BEFORE).unwrap();
        let (child, _held) = held_by_fifo(&place, pause);
        let pid = Pid::from_child(&child);
        kill_process(pid, first).unwrap();
        std::thread::sleep(pause / 20);
        assert_eq!(entries(&place.path("temp")), 1, "it is cleaned up already");
        for &signal in &others {
            kill_process(pid, signal).unwrap();
            std::thread::sleep(pause / 20);
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(first.as_raw()), "{said}");
        assert_eq!(said, "");
        assert_eq!(entries(&place.path("temp")), 0, "{first:?}, {others:?}");
        assert_eq!(entries(&place.path("out")), 1);
        assert_eq!(fs::read(place.path("out/result")).unwrap(), BEFORE);
    }
}
