//! Helpers: temporary files and FIFOs, running the engine and collecting what it finds, generators, options for tests.
//!
//! What belongs here is used by more than one module and knows nothing of what a test is about.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use differential::sandbox::quick_directory;
use outset::{Options, Result, Selection, Source, Stats, Strategy, select};
use tempfile::TempDir;

use crate::oracle::Lines;

pub(crate) const MIB: u64 = 1 << 20;

/// The root of the repository. This package is two folders below it.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The ways to ask for an exact result; `None` is `auto`.
pub(crate) const EXACT: [Option<Strategy>; 4] = [
    Some(Strategy::Memory),
    Some(Strategy::Partition),
    Some(Strategy::Sieve),
    None,
];

/// No run of these tests takes nearly so long; one that does is stuck.
const STUCK: Duration = Duration::from_secs(300);

/// Held by a test that measures or changes what all threads of the process have in common.
static PROCESS: RwLock<()> = RwLock::new(());

/// Keeps other tests from running until it is dropped: they would count into this one's resident memory.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    PROCESS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps tests that must be [`alone`] from running until it is dropped.
pub(crate) fn beside_others() -> RwLockReadGuard<'static, ()> {
    PROCESS.read().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary directory with room for inputs, and an empty one in it for spill.
pub(crate) struct Sandbox {
    directory: TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir_in(quick_directory()).unwrap();
        fs::create_dir(directory.path().join("temp")).unwrap();
        Self { directory }
    }

    /// Returns the directory that spill goes to.
    pub(crate) fn temp(&self) -> PathBuf {
        self.path("temp")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A file with this content.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Files `0`, `1`, ... with these contents.
    pub(crate) fn files(&self, contents: &[Vec<u8>]) -> Vec<PathBuf> {
        (0..)
            .zip(contents)
            .map(|(number, bytes): (usize, _)| self.file(&number.to_string(), bytes))
            .collect()
    }

    /// A FIFO with a thread that writes this content once somebody reads, in pieces that fit no buffer.
    pub(crate) fn fifo(&self, name: &str, bytes: Vec<u8>) -> PathBuf {
        let path = self.path(name);
        let _absent_at_first = fs::remove_file(&path);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        let to = path.clone();
        // Not joined: a run that fails never reads it, and the writer then waits for ever.
        std::thread::spawn(move || {
            let mut pipe = fs::OpenOptions::new().write(true).open(to).unwrap();
            for piece in bytes.chunks(10_007) {
                // A run that ends early closes the pipe.
                if pipe.write_all(piece).is_err() {
                    break;
                }
            }
        });
        path
    }

    /// Options that spill here, with two threads and 16 MiB of memory ([`run`] says what that means).
    pub(crate) fn options(&self) -> Options {
        Options {
            memory_bytes: Some(16 * MIB),
            temp_dirs: vec![self.temp()],
            threads: Some(2),
            ..Options::default()
        }
    }
}

/// Bytes that a run is told the process has resident: the memory of tests at the same time is no part of it.
const RESIDENT: u64 = 10 * MIB;

/// The options for a run now: their memory, and what the process has resident in addition.
pub(crate) fn from_here(options: &Options) -> Options {
    let resident = options.resident_bytes.unwrap_or(RESIDENT);
    Options {
        memory_bytes: options.memory_bytes.map(|bytes| bytes + resident),
        resident_bytes: Some(resident),
        ..options.clone()
    }
}

/// Returns the bytes that the process has resident.
pub(crate) fn resident_bytes() -> u64 {
    status_bytes("VmRSS:")
}

/// Runs the engine and collects its lines; the memory that `options` give comes on top of what the test process has.
/// Checks what holds for every run, whatever its end: no line comes twice, the statistics count what came, an error is
/// one line, temporary directories are empty afterwards.
pub(crate) fn run(paths: &[PathBuf], options: &Options) -> Result<(Lines, Stats)> {
    run_to_select(Selection::intersection(), paths, options)
}

/// Works as [`run`], for the lines that `selection` asks for.
pub(crate) fn run_to_select(
    selection: Selection,
    paths: &[PathBuf],
    options: &Options,
) -> Result<(Lines, Stats)> {
    let mut all = Vec::new();
    let stats = select_into(selection, paths, options, &mut |line: &[u8]| {
        all.push(line.to_vec());
        Ok(())
    })?;
    all.sort_unstable();
    if let Some([line, ..]) = all.windows(2).find(|pair| pair[0] == pair[1]) {
        panic!(
            "a line came twice: {}",
            line[..line.len().min(100)].escape_ascii()
        );
    }
    let lines: Lines = all.into_iter().collect();
    let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
    assert_eq!(
        (stats.output.lines, stats.output.bytes),
        (lines.len() as u64, bytes as u64)
    );
    Ok((lines, stats))
}

/// Works as [`run`], into a sink of the caller's.
pub(crate) fn run_into(
    paths: &[PathBuf],
    options: &Options,
    sink: &mut dyn outset::Sink,
) -> Result<Stats> {
    select_into(Selection::intersection(), paths, options, sink)
}

/// Works as [`run_to_select`], into a sink of the caller's.
pub(crate) fn select_into(
    selection: Selection,
    paths: &[PathBuf],
    options: &Options,
    sink: &mut dyn outset::Sink,
) -> Result<Stats> {
    let sources: Vec<Source> = paths.iter().map(Source::from).collect();
    let watched = Watchdog::new(format!("{paths:?} with {options:?}"));
    let result = select(&sources, selection, &from_here(options), sink);
    drop(watched);
    for directory in &options.temp_dirs {
        let left = entries(directory);
        assert!(left.is_empty(), "left in temporary space: {left:?}");
    }
    if let Err(error) = &result {
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
    result
}

/// Lists a directory; returns nothing if it does not exist.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect()
}

/// Ends the process, telling what it was about, when a run is stuck: a test that hangs says nothing.
struct Watchdog {
    _done: mpsc::Sender<()>,
}

impl Watchdog {
    fn new(what: String) -> Self {
        let (done, wait) = mpsc::channel();
        std::thread::spawn(move || {
            if wait.recv_timeout(STUCK) == Err(RecvTimeoutError::Timeout) {
                eprintln!("stuck: {what}");
                std::process::abort();
            }
        });
        Self { _done: done }
    }
}

/// Fails with the first line in which two sets differ: whole sets are too long to read.
#[track_caller]
pub(crate) fn assert_same(found: &Lines, expected: &Lines, context: &dyn std::fmt::Debug) {
    let show = |line: Option<&Vec<u8>>| {
        line.map(|line| {
            format!(
                "{} bytes: {}",
                line.len(),
                line[..line.len().min(60)].escape_ascii()
            )
        })
    };
    let (missing, extra) = (
        show(expected.difference(found).next()),
        show(found.difference(expected).next()),
    );
    assert!(
        missing.is_none() && extra.is_none(),
        "{} lines found, {} expected; missing: {missing:?}, extra: {extra:?}; in {context:?}",
        found.len(),
        expected.len(),
    );
}

/// The lines `number` to `number + count`, each as its number padded with letters to `length` bytes.
pub(crate) fn numbered(numbers: std::ops::Range<u32>, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(numbers.len() * (length + 1));
    for number in numbers {
        let start = bytes.len();
        write!(bytes, "{number:07}").unwrap();
        bytes.resize(start + length.max(7), b'a' + (number % 26) as u8);
        bytes.push(b'\n');
    }
    bytes
}

/// Tells whether the tests run as root, where a test that needs an unprivileged user cannot pass.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the result of `work`, with the largest resident size that the process had meanwhile, in bytes; `None` where
/// the system does not let it be measured.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> Option<(u64, T)> {
    // Resets VmHWM to the present size (proc(5)).
    fs::write("/proc/self/clear_refs", "5").ok()?;
    let result = work();
    Some((status_bytes("VmHWM:"), result))
}

/// A size of this process, in bytes.
fn status_bytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mut values = status.lines().filter_map(|line| line.strip_prefix(field));
    let kilobytes = values.next().unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() * 1024
}
