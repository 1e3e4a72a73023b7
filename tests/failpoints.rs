//! The N-th call of something fails, for every N or for some: the run ends with the right kind of error or with the
//! right answer, never with another one; nothing is left behind, and no thread waits forever.
//!
//! A binary of its own: the points that fail ([`fail`]) are the whole process's. It needs the feature `failpoints`:
//!
//! ```text
//! cargo test --features failpoints --test failpoints                  # some N, farther and farther apart
//! OUTSET_SWEEP=full cargo test --features failpoints --test failpoints   # every N up to 20, then every 20th
//! ```

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use differential::sweep;
use fail::FailScenario;
use outset::{
    ErrorKind, Interrupt, Options, Order, OutputFile, Result, Selection, Source, Stats, Strategy,
    WriteSink, select,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// No run of these takes nearly so long; one that does is stuck.
const STUCK: Duration = Duration::from_secs(60);
/// The content of the result's file before a run.
const BEFORE: &[u8] = b"before\n";

/// The request, and the strategy.
type Way = (Selection, Strategy);

/// Intersections, and what others do besides: write what they find while they read, put their answer in order.
const BY_MEMORY: Way = (Selection::intersection(), Strategy::Memory);
const BY_PARTITION: Way = (Selection::intersection(), Strategy::Partition);
const BY_SIEVE: Way = (Selection::intersection(), Strategy::Sieve);
const BY_BLOOM: Way = (Selection::intersection(), Strategy::Bloom);
const UNION: Way = (Selection::union(), Strategy::Partition);
const LONE: Way = (Selection::difference(), Strategy::Sieve);
const ORDERED: Way = (
    Selection::union().ordered(Order::Input),
    Strategy::Partition,
);
const SORTED: Way = (Selection::union().ordered(Order::Sorted), Strategy::Memory);
/// A union that reads its lines in its own file.
const FILED: Way = (Selection::union().ordered(Order::Input), Strategy::Memory);

/// Two inputs with known lines, a directory for spill, and one for the result.
struct Sandbox {
    directory: TempDir,
    buckets: u32,
}

/// The numbers of the lines of both inputs.
const NUMBERS: [Range<u32>; 2] = [0..40_000, 35_000..80_000];

fn line(number: u32) -> String {
    format!("{number:07}-{}\n", "x".repeat((number % 90) as usize))
}

/// Returns the lines that a selection writes. They are sorted in the inputs, so every order is the same.
fn answer(selection: Selection) -> String {
    let [a, b] = NUMBERS;
    let numbers = match selection.name() {
        "intersect" => b.start..a.end,
        "diff" => a.start..b.start,
        "union" => a.start..b.end,
        name => panic!("{name}"),
    };
    numbers.map(line).collect()
}

impl Sandbox {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("temp")).unwrap();
        fs::create_dir(directory.path().join("out")).unwrap();
        for (name, numbers) in ["a", "b"].into_iter().zip(NUMBERS) {
            let text: String = numbers.map(line).collect();
            fs::write(directory.path().join(name), text).unwrap();
        }
        Self {
            directory,
            buckets: 1,
        }
    }

    /// Makes the sandbox with a large `a`: it has all lines up to the 300,000th, so that they fill many blocks.
    fn with_a_large_file() -> Self {
        let sandbox = Self::new();
        let text: String = (0..300_000).map(line).collect();
        fs::write(sandbox.path("a"), text).unwrap();
        sandbox
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn run(&self, (selection, strategy): Way) -> Result<Stats> {
        fs::write(self.path("out/result"), BEFORE).unwrap();
        // Of the end of a file, memory keeps a sixteenth of what there is.
        let memory = if (selection, strategy) == FILED {
            24
        } else {
            200
        };
        let options = Options {
            memory_bytes: Some(memory << 20),
            resident_bytes: (memory < 200).then_some(5 << 20),
            strategy: Some(strategy),
            buckets: (strategy != Strategy::Memory).then_some(self.buckets),
            threads: Some(2),
            temp_dirs: vec![self.path("temp")],
            always_spill: true,
            ..Options::default()
        };
        let mut sources = vec![Source::from(self.path("a")), Source::from(self.path("b"))];
        if (selection, strategy) == FILED {
            // Lines that were written long before.
            let first: String = (0..100).map(line).collect();
            fs::write(self.path("first"), first).unwrap();
            sources.push(Source::from(self.path("first")));
        }
        let file = OutputFile::create(&self.path("out/result"), &Interrupt::new())?;
        let mut sink = WriteSink::new(file.writer()?, b'\n', "result").reread();
        let stats = select(&sources, selection, &options, &mut sink)?;
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
    fn check(&self, (selection, strategy): Way, has_succeeded: bool, what: &str) {
        let result = fs::read(self.path("out/result")).unwrap();
        if has_succeeded {
            let mut lines: Vec<&[u8]> = result.split_inclusive(|&byte| byte == b'\n').collect();
            if selection.ordered(Order::Any) == selection {
                lines.sort_unstable();
            }
            let expected = answer(selection);
            if strategy.is_exact() {
                let is_right = lines.concat() == expected.as_bytes();
                assert!(is_right, "{what}: a wrong result");
            } else {
                let found: BTreeSet<&[u8]> = lines.iter().copied().collect();
                assert_eq!(lines.len(), found.len(), "{what}: a line came twice");
                let has = |line: &str| found.contains(line.as_bytes());
                let is_whole = expected.split_inclusive('\n').all(has);
                assert!(is_whole, "{what}: a line is missing");
            }
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

/// The end of a run.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum End {
    Complete,
    Failed(ErrorKind),
    Panicked,
}

/// Runs with `point` doing `action`, and ends the process if that hangs.
fn ended(sandbox: &Sandbox, way: Way, point: &str, action: &str) -> End {
    let what = format!("{point}={action} in {way:?}");
    let (done, wait) = mpsc::channel::<()>();
    let stuck = what.clone();
    std::thread::spawn(move || {
        if wait.recv_timeout(STUCK) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("stuck: {stuck}");
            std::process::abort();
        }
    });
    fail::cfg(point, action).unwrap();
    let result = catch_unwind(AssertUnwindSafe(|| sandbox.run(way)));
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
    sandbox.check(way, end == End::Complete, &what);
    end
}

/// The calls that fail in a sweep: with `OUTSET_SWEEP=full` each of the first 20, then every 20th; else 0, 1, 2, 4, 8
/// and so on.
fn calls() -> impl Iterator<Item = u32> {
    let is_full = sweep::is_full();
    std::iter::successors(Some(0), move |&call| {
        let step = if !is_full {
            call.max(1)
        } else if call < 20 {
            1
        } else {
            20
        };
        Some(call + step)
    })
}

/// Lets the N-th call fail, once and from then on, for N from 0 until a run no longer gets so far. Returns how many
/// failed.
fn sweep(way: Way, point: &str, action: &str, expected: End) -> u32 {
    let scenario = FailScenario::setup();
    // What is in the page cache is not loaded by a thread.
    if point == "load-thread" {
        fail::cfg("page-cache", "return").unwrap();
    }
    let sandbox = Sandbox::new();
    let mut failed = 0;
    for skipped in calls() {
        let ends = [
            format!("{skipped}*off->1*{action}->off"),
            format!("{skipped}*off->{action}"),
        ]
        .map(|action| ended(&sandbox, way, point, &action));
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

const SPILLING: [Way; 6] = [BY_PARTITION, BY_SIEVE, BY_BLOOM, UNION, LONE, ORDERED];

#[test]
fn e1_e2_b17_a_disk_that_fails_at_any_call_fails_the_run() {
    for way in [BY_PARTITION, BY_SIEVE, BY_MEMORY, LONE, ORDERED] {
        let failed = End::Failed(ErrorKind::Input);
        let input = sweep(way, "input-read", "return", failed);
        assert!(input >= 2, "{way:?}: {input} failures");
    }
    for way in [BY_PARTITION, BY_SIEVE, UNION, LONE, ORDERED, SORTED] {
        for point in ["spill-write", "spill-read"] {
            let failed = sweep(way, point, "return", End::Failed(ErrorKind::Temp));
            assert!(failed >= 4, "{way:?}, {point}: {failed} failures");
        }
    }
}

/// The page cache has no more room, from the N-th block on or for that one: the result is the same.
#[test]
fn j1_blocks_that_go_around_the_page_cache_are_read_back_as_those_that_go_through_it() {
    let scenario = FailScenario::setup();
    for buckets in [1, 20] {
        let sandbox = Sandbox {
            buckets,
            ..Sandbox::new()
        };
        for way in SPILLING {
            for &skipped in sweep::some(&[0, 1, 2, 3, 5, 8, 13, 21, 34], 5) {
                for action in ["return", "1*return->off"] {
                    let action = format!("{skipped}*off->{action}");
                    let end = ended(&sandbox, way, "page-cache", &action);
                    assert_eq!(end, End::Complete, "{way:?}, {action}");
                }
            }
        }
    }
    scenario.teardown();
}

/// The most threads with different names beginning with `name` that exist at the same time until `done` says
/// something. Threads are numbered in their team: one of an earlier team may end late, and is not counted beside its
/// namesake.
fn most_threads(name: &str, done: &mpsc::Receiver<()>) -> usize {
    let mut most = 0;
    while done.recv_timeout(Duration::from_millis(2)) == Err(mpsc::RecvTimeoutError::Timeout) {
        let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
        // A thread may end before its name is read.
        let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        let found: HashSet<String> = names.filter(|found| found.starts_with(name)).collect();
        most = most.max(found.len());
    }
    most
}

/// The most threads at a time whose names begin with `prefix`, while two workers intersect two files by `buckets`.
fn most_threads_of_a_partition(prefix: &'static str, buckets: u32, memory_bytes: u64) -> usize {
    let sandbox = Sandbox::with_a_large_file();
    let options = Options {
        memory_bytes: Some(memory_bytes),
        strategy: Some(Strategy::Partition),
        buckets: Some(buckets),
        threads: Some(2),
        temp_dirs: vec![sandbox.path("temp")],
        // Whatever the other tests have left in this process.
        resident_bytes: Some(5 << 20),
        ..Options::default()
    };
    let sources = [
        Source::from(sandbox.path("a")),
        Source::from(sandbox.path("b")),
    ];
    let (done, wait) = mpsc::channel();
    let counter = std::thread::spawn(move || most_threads(prefix, &wait));
    let mut sink = outset::CountSink;
    let stats = select(&sources, Selection::intersection(), &options, &mut sink).unwrap();
    drop(done);
    assert_eq!(stats.output.lines, 45_000);
    counter.join().unwrap()
}

#[test]
fn as_many_blocks_are_written_at_a_time_as_a_slow_disk_needs() {
    let scenario = FailScenario::setup();
    fail::cfg("spill-write", "sleep(5)").unwrap();
    let most = most_threads_of_a_partition("spill-", 100, 24 << 20);
    assert!((9..=16).contains(&most), "{most} threads wrote");
    let most = most_threads_of_a_partition("spill-", 100, 448 << 20);
    assert_eq!(most, 1, "nothing was written");
    scenario.teardown();
}

#[test]
fn as_many_blocks_are_loaded_at_a_time_as_a_slow_disk_needs() {
    let scenario = FailScenario::setup();
    fail::cfg("spill-read", "sleep(20)").unwrap();
    fail::cfg("page-cache", "return").unwrap();
    let most = most_threads_of_a_partition("load-", 8, 24 << 20);
    assert!(
        (3..=4).contains(&most),
        "two workers have two buffers each: {most} threads"
    );
    // Each bucket is read in about one request.
    let most = most_threads_of_a_partition("load-", 100, 24 << 20);
    assert!(
        (2..=4).contains(&most),
        "{most} threads loaded for two workers"
    );
    let most = most_threads_of_a_partition("load-", 8, 448 << 20);
    assert_eq!(most, 1, "nothing was written");
    scenario.teardown();
}

#[test]
fn d2_many_threads_on_a_slow_disk_need_no_more_than_sixteen_descriptors() {
    let sandbox = Sandbox::with_a_large_file();
    let slow = "spill-write=sleep(5);spill-read=sleep(5);page-cache=return";
    // Many blocks at a time, and two buckets that each worker splits.
    for words in ["--memory 24M --buckets 100", "--memory 17M --buckets 2"] {
        let outset = env!("CARGO_BIN_EXE_outset");
        let command = format!(
            "ulimit -n 16; exec {outset} intersect a b --strategy partition --threads 2 {words} -o out/result"
        );
        let ended = std::process::Command::new("sh")
            .args(["-c", &command])
            .current_dir(sandbox.directory.path())
            .env("TMPDIR", sandbox.path("temp"))
            .env("FAILPOINTS", slow)
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{words}: {message}");
    }
}

#[test]
fn as_many_pieces_of_a_result_are_written_at_a_time_as_a_slow_disk_needs() {
    let scenario = FailScenario::setup();
    let sandbox = Sandbox::new();
    fail::cfg("output-write", "sleep(20)").unwrap();
    let (done, wait) = mpsc::channel();
    let counter = std::thread::spawn(move || most_threads("result-", &wait));
    // 4.6 MB, in pieces of 256 KiB.
    sandbox.run(SORTED).unwrap();
    drop(done);
    sandbox.check(SORTED, true, "a slow disk");
    assert_eq!(counter.join().unwrap(), 3);
    scenario.teardown();
}

#[test]
fn e8_a_write_to_the_spill_that_is_lost_is_always_noticed() {
    let scenario = FailScenario::setup();
    let sandbox = Sandbox {
        buckets: 20,
        ..Sandbox::new()
    };
    let mut trials = 0;
    for way in [BY_PARTITION, BY_SIEVE, UNION, LONE, ORDERED, SORTED] {
        // Each one in a full sweep.
        let is_wanted = |call: &u32| sweep::is_full() || call.count_ones() < 2;
        for skipped in (0..).filter(is_wanted) {
            let once = format!("{skipped}*off->1*return->off");
            match ended(&sandbox, way, "spill-write-lost", &once) {
                // A file that was never made is missed as such.
                End::Failed(ErrorKind::Damaged | ErrorKind::Temp) => trials += 1,
                End::Complete => break,
                other => panic!("{way:?}: write {skipped} was lost: {other:?}"),
            }
        }
    }
    let least = if sweep::is_full() { 60 } else { 24 };
    assert!(trials >= least, "{trials} lost writes");
    scenario.teardown();
}

#[test]
fn f2_f4_f5_a_result_that_cannot_be_written_synced_or_named_leaves_what_was_there() {
    for way in [BY_PARTITION, UNION, LONE, SORTED, FILED] {
        for point in ["output-write", "output-sync", "output-name"] {
            let failed = sweep(way, point, "return", End::Failed(ErrorKind::Output));
            assert!(failed >= 2, "{way:?}, {point}: {failed} failures");
        }
    }
}

#[test]
fn f5_a_result_that_cannot_be_read_while_it_is_written_leaves_what_was_there() {
    let failed = sweep(
        FILED,
        "answer-read",
        "return",
        End::Failed(ErrorKind::Output),
    );
    assert!(failed >= 4, "{failed} failures");
}

#[test]
fn c5_d5_memory_or_a_thread_that_is_refused_at_any_request_fails_the_run() {
    for way in [
        BY_MEMORY,
        BY_PARTITION,
        BY_SIEVE,
        UNION,
        LONE,
        ORDERED,
        FILED,
    ] {
        // Where a set was estimated to fit and does not, another plan may still do.
        let failed = sweep(way, "buffer", "return", End::Failed(ErrorKind::Memory));
        assert!(failed >= 4, "{way:?}: {failed} failures");
    }
    for way in [BY_PARTITION, BY_SIEVE, LONE, ORDERED] {
        let failed = sweep(way, "thread", "return", End::Failed(ErrorKind::Machine));
        assert!(failed >= 4, "{way:?}: {failed} failures");
    }
}

#[test]
fn d5_what_only_computes_does_without_threads_that_are_refused() {
    let scenario = FailScenario::setup();
    let sandbox = Sandbox::new();
    for way in [ORDERED, SORTED] {
        assert_eq!(
            ended(&sandbox, way, "compute-thread", "return"),
            End::Complete,
            "{way:?}"
        );
    }
    scenario.teardown();
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
    let partition = [BY_PARTITION, ORDERED].map(|way| (way, "spill-thread"));
    let others = SPILLING
        .iter()
        .flat_map(|&way| everywhere.map(|point| (way, point)));
    for (way, point) in others.chain(partition) {
        let failed = sweep(way, point, "panic", End::Panicked);
        assert!(failed >= 2, "{way:?}, {point}: {failed} panics");
    }
    // These are no threads of the run: to it, their panic is an output that cannot be written.
    let failed = sweep(
        SORTED,
        "result-thread",
        "panic",
        End::Failed(ErrorKind::Output),
    );
    assert!(failed >= 4, "{failed} panics");
}

/// The program, held by a FIFO after it has spilled `a`; the thread that cleans up waits for `pause` first.
fn held_by_fifo(sandbox: &Sandbox, pause: Duration) -> (std::process::Child, fs::File) {
    let pipe = sandbox.path("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    // Open for both, it is open at once, and nobody sees its end.
    let held = fs::File::options().read(true).write(true).open(&pipe);
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_outset"))
        .args("intersect a pipe --strategy partition --memory 17M --buckets 4".split(' '))
        .args(["-o", "out/result"])
        .current_dir(sandbox.directory.path())
        .env("TMPDIR", sandbox.path("temp"))
        .env(
            "FAILPOINTS",
            format!("clean-up=sleep({})", pause.as_millis()),
        )
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while entries(&sandbox.path("temp")) == 0 {
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
        let sandbox = Sandbox::new();
        fs::write(sandbox.path("out/result"), BEFORE).unwrap();
        let (child, _held) = held_by_fifo(&sandbox, pause);
        let pid = Pid::from_child(&child);
        kill_process(pid, first).unwrap();
        std::thread::sleep(pause / 20);
        assert_eq!(
            entries(&sandbox.path("temp")),
            1,
            "it is cleaned up already"
        );
        for &signal in &others {
            kill_process(pid, signal).unwrap();
            std::thread::sleep(pause / 20);
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(first.as_raw()), "{said}");
        assert_eq!(said, "");
        assert_eq!(entries(&sandbox.path("temp")), 0, "{first:?}, {others:?}");
        assert_eq!(entries(&sandbox.path("out")), 1);
        assert_eq!(fs::read(sandbox.path("out/result")).unwrap(), BEFORE);
    }
}
