//! A sandbox for runs: a directory each for inputs, temporary files and outputs, and the checks that every run must
//! pass.
//!
//! Runs start in the directory of the inputs, so an input is named `a` and an output `../out/result`. Whatever the end
//! of a run, the temporary directory must be empty, the inputs untouched and the outputs as they were before, unless
//! the run succeeded; a failure says so in one line. [`Running::finish`] checks all of that.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use differential::oracle;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};
use serde_json::Value;
use tempfile::TempDir;

use crate::data;
use crate::terminal::Terminal;

/// The program under test: Cargo puts it beside the folder of the tests, and `tests/program.rs` has it do so.
static PROGRAM: LazyLock<String> = LazyLock::new(|| {
    let test = std::env::current_exe().unwrap();
    let directory = test.parent().and_then(Path::parent).unwrap();
    directory
        .join("outset")
        .into_os_string()
        .into_string()
        .unwrap()
});
/// The file name of a copy of it, as users install one.
pub(crate) const INSTALLED: &str = "outset-installed";
/// The commands that write selected lines of files, besides `intersect`: each with its aliases.
pub(crate) const SELECTING: [&[&str]; 3] = [
    &[
        "diff",
        "difference",
        "subtract",
        "except",
        "minus",
        "exclude",
    ],
    &["union", "dedup", "distinct", "uniq"],
    &["symdiff", "xor"],
];
/// Whatever takes longer than this hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The path of the program under test.
pub(crate) fn outset() -> &'static str {
    &PROGRAM
}

/// The root of the repository. This package is two folders below it.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Directories for a test, removed at its end.
pub(crate) struct Sandbox {
    root: TempDir,
}

/// Inode, size, modification time and (of small files) content.
type Entry = (u64, u64, i64, i64, Vec<u8>);
/// The content of a directory.
type Snapshot = BTreeMap<OsString, Entry>;

/// The bytes that the code of a debug build may take beyond the limit, as the page cache has it; more where all of it
/// stays in memory. The nightly run tests release builds, which may take none.
pub(crate) const CODE_OF_DEBUG: u64 = match (cfg!(debug_assertions), cfg!(portable)) {
    (false, _) => 0,
    (true, false) => 1 << 20,
    (true, true) => 3 << 20,
};

/// The words of a command line. A debug build goes over the least limit by [`CODE_OF_DEBUG`]: where that limit is asked
/// for, it gets that.
fn words_of(arguments: &str) -> Vec<String> {
    let mut words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    for index in 1..words.len() {
        let is_limit = ["-m", "--memory"].contains(&words[index - 1].as_str());
        if is_limit && words[index] == "16M" {
            words[index] = format!("{}M", 16 + (CODE_OF_DEBUG >> 20));
        }
    }
    words
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::below(&differential::sandbox::quick_directory())
    }

    /// A sandbox in the system's temporary directory, which is mostly on a disk.
    pub(crate) fn on_disk() -> Self {
        Self::below(&std::env::temp_dir())
    }

    fn below(parent: &Path) -> Self {
        // Some of the signals sent here would leave a core file among the inputs.
        setrlimit(
            Resource::Core,
            Rlimit {
                current: Some(0),
                maximum: rustix::process::getrlimit(Resource::Core).maximum,
            },
        )
        .unwrap();
        let root = TempDir::new_in(parent).unwrap();
        for directory in ["in", "temp", "out"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        Self { root }
    }

    /// A sandbox with inputs `a` and `b`.
    pub(crate) fn with(a: &[u8], b: &[u8]) -> Self {
        let sandbox = Self::new();
        sandbox.write("a", a);
        sandbox.write("b", b);
        sandbox
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn input(&self, name: &str) -> PathBuf {
        self.root().join("in").join(name)
    }

    pub(crate) fn output(&self, name: &str) -> PathBuf {
        self.root().join("out").join(name)
    }

    pub(crate) fn temp(&self) -> PathBuf {
        self.root().join("temp")
    }

    /// The names in the temporary directory.
    pub(crate) fn temp_names(&self) -> Vec<OsString> {
        names(&self.temp())
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.input(name), content).unwrap();
    }

    pub(crate) fn fifo(&self, name: &str) -> PathBuf {
        let path = self.input(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        path
    }

    /// Removes the part of an output that SIGKILL leaves where no file can be made without a name.
    pub(crate) fn remove_part(&self) {
        let is_part = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with(".outset-") && name.ends_with(".part")
        };
        let out = self.root().join("out");
        for name in names(&out)
            .iter()
            .filter(|name| cfg!(portable) && is_part(name))
        {
            fs::remove_file(out.join(name)).unwrap();
        }
    }

    /// The program with these arguments, separated by blanks.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(outset());
        command.args(words_of(arguments));
        self.place(&mut command);
        command
    }

    /// Works as [`Sandbox::command`], after a shell has set something up, such as `ulimit -n 64`.
    pub(crate) fn command_after(&self, setup: &str, arguments: &str) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{setup} && exec \"$0\" \"$@\""), outset()])
            .args(words_of(arguments));
        self.place(&mut command);
        command
    }

    /// Works as [`Sandbox::command`], started by another program, which gets it after its own `words`.
    pub(crate) fn command_under(&self, words: &[&str], arguments: &str) -> Command {
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .arg(outset())
            .args(words_of(arguments));
        self.place(&mut command);
        command
    }

    /// Works as [`Sandbox::command`], with a standard output whose reader has gone away already.
    pub(crate) fn command_unread(&self, arguments: &str) -> Command {
        let mut command = self.command(arguments);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command.stdout(writer);
        command
    }

    /// Works as [`Sandbox::command`], in a mount namespace where `directory` of the sandbox is a file system of its own
    /// with room for `size`, holding what was in it before. The exit status is 99 when the run leaves anything else in
    /// it.
    pub(crate) fn command_on_small_disk(
        &self,
        directory: &str,
        size: &str,
        arguments: &str,
    ) -> Command {
        let script = format!(
            "cp -r {directory} saved && mount -t tmpfs -o size={size} none {directory} \
             && cp -r saved/. {directory} || exit 98\n\
             (cd in && exec \"$0\" \"$@\"); status=$?\n\
             diff -r saved {directory} >&2 || exit 99\nexit $status"
        );
        let mut command = Command::new("unshare");
        command
            .args(["-m", "sh", "-c", &script, outset()])
            .args(words_of(arguments));
        self.place(&mut command);
        command.current_dir(self.root());
        command
    }

    fn place(&self, command: &mut Command) {
        command
            .current_dir(self.root().join("in"))
            .env("TMPDIR", self.temp())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &str) -> Outcome {
        self.start(self.command(arguments)).finish()
    }

    /// Runs the program with `content` on its standard input.
    pub(crate) fn run_fed(&self, arguments: &str, content: &[u8]) -> Outcome {
        self.feed(self.command(arguments), content)
    }

    /// Runs a command that gets `content` through its standard input.
    pub(crate) fn feed(&self, mut command: Command, content: &[u8]) -> Outcome {
        command.stdin(Stdio::piped());
        let mut running = self.start(command);
        let mut stdin = running.child.stdin.take().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                // A run that fails does not read it all: its own checks will say so.
                let _closed_early = stdin.write_all(content);
            });
            running.finish()
        })
    }

    /// Starts a command whose standard output is read as it comes.
    pub(crate) fn start(&self, command: Command) -> Running<'_> {
        let mut running = self.start_unread(command);
        running.read_stdout();
        running
    }

    /// Starts a command whose standard output nobody reads until [`Running::read_stdout`]: a result that is larger than
    /// what pipes and buffers hold makes the run wait.
    pub(crate) fn start_unread(&self, mut command: Command) -> Running<'_> {
        let inputs = snapshot(&self.root().join("in"));
        let outputs = snapshot(&self.root().join("out"));
        let noun = summarised_noun(&command);
        let mut child = command.spawn().unwrap();
        let stderr = child.stderr.take().map(read_all);
        Running {
            sandbox: self,
            child,
            stdout: None,
            stderr,
            inputs,
            outputs,
            complete: None,
            noun,
            is_on_terminal: false,
        }
    }
}

/// A part of the one line that a command prints that has saved a filter.
const FILTER: &str = " filter of ";

/// Returns the noun of the summary for the lines of a command, which a shell or another program may start; `None` if it
/// is to have no summary.
fn summarised_noun(command: &Command) -> Option<&'static str> {
    let mut words: Vec<&str> = command.get_args().filter_map(OsStr::to_str).collect();
    let is_program = |word: &&str| *word == outset() || Path::new(word).ends_with(INSTALLED);
    if let Some(program) = words.iter().position(is_program) {
        words.drain(..=program);
    }
    let is_silent = words
        .iter()
        .any(|word| ["-q", "--quiet", "--help"].contains(word))
        || words.windows(2).any(|pair| pair == ["--stats", "-"]);
    let counts_files =
        |word: &&str| word.starts_with("--at-") || ["--exactly", "--only"].contains(word);
    match words.first() {
        _ if is_silent => None,
        Some(&"intersect") if !words.iter().any(counts_files) => Some(" common line"),
        Some(&"intersect" | &"overlaps") => Some(" line"),
        Some(&"filter") => {
            let saves = |word: &&str| ["build", "insert", "remove", "merge"].contains(word);
            words.get(1).is_some_and(saves).then_some(FILTER)
        }
        Some(name) if SELECTING.iter().any(|names| names.contains(name)) => Some(" line"),
        _ => None,
    }
}

fn names(directory: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

fn snapshot(directory: &Path) -> Snapshot {
    let describe = |name: OsString| {
        let path = directory.join(&name);
        let metadata = fs::symlink_metadata(&path).unwrap();
        let is_small = metadata.is_file() && metadata.len() < 1 << 20;
        let (seconds, nanoseconds) = if metadata.file_type().is_fifo() {
            // Writing to a FIFO changes its times.
            (0, 0)
        } else {
            (metadata.mtime(), metadata.mtime_nsec())
        };
        let content = if is_small {
            fs::read(&path).unwrap_or_default()
        } else {
            Vec::new()
        };
        (
            name,
            (
                metadata.ino(),
                metadata.len(),
                seconds,
                nanoseconds,
                content,
            ),
        )
    };
    names(directory).into_iter().map(describe).collect()
}

fn names_and_sizes(snapshot: &Snapshot) -> Vec<(&OsString, u64)> {
    let entries = snapshot.iter();
    entries.map(|(name, entry)| (name, entry.1)).collect()
}

fn read_all(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

/// A run that goes on. Dropped, it is killed.
pub(crate) struct Running<'s> {
    sandbox: &'s Sandbox,
    pub(crate) child: Child,
    stdout: Option<JoinHandle<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    inputs: Snapshot,
    outputs: Snapshot,
    complete: Option<usize>,
    /// The noun for the lines in a final summary, if one is due.
    noun: Option<&'static str>,
    is_on_terminal: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let _has_ended = self.child.kill();
        let _is_reaped = self.child.wait();
    }
}

impl Running<'_> {
    /// Begins to read standard output.
    pub(crate) fn read_stdout(&mut self) {
        self.stdout = self.child.stdout.take().map(read_all);
    }

    /// Standard error is this terminal: what is said is what is left on it.
    pub(crate) fn show_on(&mut self, terminal: Terminal) {
        self.stderr = Some(terminal.watch());
        self.is_on_terminal = true;
    }

    /// The inputs were changed by the test: what they are now is what they must stay.
    pub(crate) fn note_inputs(&mut self) {
        self.inputs = snapshot(&self.sandbox.root().join("in"));
    }

    /// A signal may find the result in place already: of `bytes` bytes, whether its name was there before or not.
    pub(crate) fn may_be_complete(&mut self, bytes: usize) {
        self.complete = Some(bytes);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn is_going_on(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits until the run has put something into temporary space.
    pub(crate) fn wait_for_spill(&mut self) {
        let start = Instant::now();
        loop {
            for name in self.sandbox.temp_names() {
                if !names(&self.sandbox.temp().join(name)).is_empty() {
                    return;
                }
            }
            assert!(self.is_going_on(), "the run ended without spilling");
            assert!(start.elapsed() < PATIENCE, "nothing was spilled");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until the run has written something to its standard output, which nobody reads.
    pub(crate) fn wait_for_output(&mut self) {
        let start = Instant::now();
        let unread = |child: &Child| ioctl_fionread(child.stdout.as_ref().unwrap()).unwrap();
        while unread(&self.child) == 0 {
            assert!(self.is_going_on(), "the run ended and wrote nothing");
            assert!(start.elapsed() < PATIENCE, "nothing was written");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for the end, and checks what is left.
    pub(crate) fn finish(self) -> Outcome {
        self.finish_within(PATIENCE)
    }

    /// Works as [`Running::finish`], for a run that must have ended `patience` from now.
    pub(crate) fn finish_within(self, patience: Duration) -> Outcome {
        let sandbox = self.sandbox;
        let outcome = self.end_within(patience);
        assert_eq!(
            sandbox.temp_names(),
            Vec::<OsString>::new(),
            "temporary files are left: {outcome}"
        );
        outcome
    }

    /// Works as [`Running::finish_within`], for a run that had no chance to remove its temporary files.
    pub(crate) fn end_within(mut self, patience: Duration) -> Outcome {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                start.elapsed() < patience,
                "the run goes on after {patience:?}"
            );
            thread::sleep(Duration::from_millis(1));
        };
        if status.signal() == Some(Signal::KILL.as_raw()) {
            self.sandbox.remove_part();
        }
        let collect = |reader: Option<JoinHandle<Vec<u8>>>| {
            reader.map_or_else(Vec::new, |reader| reader.join().unwrap())
        };
        let stdout = collect(self.stdout.take());
        let said = String::from_utf8_lossy(&collect(self.stderr.take())).into_owned();
        let (notices, stderr) = said
            .split_inclusive('\n')
            .map(str::to_owned)
            .partition::<Vec<_>, _>(|line| line.contains("temporary files here use memory"));
        let outcome = Outcome {
            status,
            stdout,
            stderr: stderr.concat(),
            notices,
            noun: self.noun,
        };
        self.check(&outcome);
        outcome
    }

    fn check(&self, outcome: &Outcome) {
        let root = self.sandbox.root();
        assert!(
            snapshot(&root.join("in")) == self.inputs,
            "an input was touched: {outcome}"
        );
        assert!(!outcome.stderr.contains("panicked"), "{outcome}");
        let outputs = snapshot(&root.join("out"));
        match outcome.status.code() {
            Some(0) => {
                let parts = outputs
                    .keys()
                    .filter(|name| name.to_string_lossy().ends_with(".part"));
                assert_eq!(parts.count(), 0, "part of an output is left: {outcome}");
            }
            code => {
                let is_complete = |(name, now): (&OsString, &Entry)| {
                    let is_new = self.outputs.get(name) != Some(now);
                    is_new && code.is_none() && self.complete == Some(now.1 as usize)
                };
                let mut kept = outputs.clone();
                for (name, _) in outputs.iter().filter(|&entry| is_complete(entry)) {
                    match self.outputs.get(name) {
                        Some(before) => kept.insert(name.clone(), before.clone()),
                        None => kept.remove(name),
                    };
                }
                assert!(
                    kept == self.outputs,
                    "an output was touched: {outcome}, there is {:?} and was {:?}",
                    names_and_sizes(&outputs),
                    names_and_sizes(&self.outputs)
                );
                // On a terminal, the phases before the failure are above the message.
                if code.is_some() && !self.is_on_terminal {
                    outcome.check_message();
                }
            }
        }
    }
}

/// The end of a run, and its output.
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    /// The notices about temporary files that take memory: they depend on where the tests run.
    pub(crate) notices: Vec<String>,
    /// The noun for the lines in a final summary, if one is due.
    noun: Option<&'static str>,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}, {} bytes of standard output, standard error {:?}",
            self.status,
            self.stdout.len(),
            self.stderr
        )
    }
}

impl Outcome {
    /// A failure is one line: object, what happened, what to do. Among events, one of them has it.
    fn check_message(&self) {
        // A run that takes a moment may tell of its progress before.
        let is_progress = |line: &&str| line.starts_with("{\"event\":\"progress\"");
        let others: Vec<&str> = self
            .stderr
            .lines()
            .filter(|line| !is_progress(line))
            .collect();
        let [line] = others[..] else {
            panic!("not one line: {self}");
        };
        assert!(self.stderr.ends_with('\n'), "{self}");
        let event = serde_json::from_str::<Value>(line).ok();
        let of_event = event
            .as_ref()
            .and_then(|event| event.get("message")?.as_str());
        let message = of_event.or(line.strip_prefix("outset: "));
        let parts = message.map_or(0, |message| message.split(": ").count());
        assert!(parts >= 3, "no object, happening and advice: {self}");
    }

    /// The run succeeded.
    pub(crate) fn succeeds(&self) -> &Self {
        assert!(self.status.success(), "{self}");
        self
    }

    /// The run succeeded and had nothing to say, but for the summary of an exact result.
    pub(crate) fn succeeds_silently(&self) -> &Self {
        self.succeeds();
        if self.noun == Some(FILTER) {
            assert_eq!(self.stderr.lines().count(), 1, "{self}");
            assert!(self.stderr.contains(FILTER), "{self}");
        } else if let Some(noun) = self.noun {
            assert_eq!(self.stderr.lines().count(), 1, "{self}");
            assert_is_summary_of(&self.stderr, noun, "exact");
        } else {
            assert_eq!(self.stderr, "", "{self}");
        }
        self
    }

    /// The run failed with this status, and its message has all of `parts`.
    pub(crate) fn fails(&self, code: i32, parts: &[&str]) -> &Self {
        assert_eq!(self.status.code(), Some(code), "{self}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?}: {self}");
        }
        self
    }

    /// The size that the message advises: `give at least 78 MiB of memory`, as an option takes it.
    pub(crate) fn advised(&self) -> String {
        let Some((_, advice)) = self.stderr.split_once("give at least ") else {
            panic!("no limit is named: {self}");
        };
        let mut words = advice.split_whitespace();
        let size = [words.next().unwrap(), words.next().unwrap()].concat();
        size.trim_end_matches(',').to_owned()
    }

    /// A signal ended the process, which said nothing.
    pub(crate) fn ends_by(&self, signal: Signal) -> &Self {
        assert_eq!(self.status.signal(), Some(signal.as_raw()), "{self}");
        assert_eq!(self.stderr, "", "{self}");
        self
    }

    /// Standard output has these lines, each once, in any order.
    pub(crate) fn has_lines(&self, expected: &BTreeSet<&[u8]>) -> &Self {
        assert_same_lines(&self.stdout, b'\n', expected);
        self
    }

    /// Works as [`Outcome::has_lines`], for lines that own their bytes.
    pub(crate) fn has_written(&self, expected: &BTreeSet<Vec<u8>>) -> &Self {
        self.has_lines(&expected.iter().map(Vec::as_slice).collect())
    }
}

/// A line is the final summary of an intersection that is `kind`: exact or approximate.
pub(crate) fn assert_is_summary(line: &str, kind: &str) {
    let what = match kind {
        "exact" => " common line",
        _ => " passed the filter (",
    };
    assert_is_summary_of(line, what, kind);
}

/// A line is the final summary of a result that is `kind`, and calls its lines `what`.
fn assert_is_summary_of(line: &str, what: &str, kind: &str) {
    let parts = [
        what,
        kind,
        ") in ",
        " s; peak memory ",
        " of ",
        "temporary disk",
    ];
    let mut rest = line.strip_prefix("outset: ").unwrap_or_default();
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else {
            panic!("no {part:?} in {line:?}");
        };
        rest = behind;
    }
}

/// `text` has these lines, each once, in any order.
pub(crate) fn assert_same_lines(text: &[u8], terminator: u8, expected: &BTreeSet<&[u8]>) {
    assert!(
        text.is_empty() || text.last() == Some(&terminator),
        "the last line has no end"
    );
    let mut lines = data::split(text, terminator);
    oracle::sort(&mut lines);
    if lines.iter().eq(expected.iter()) {
        return;
    }
    let distinct: BTreeSet<&[u8]> = lines.iter().copied().collect();
    assert_eq!(lines.len(), distinct.len(), "a line was written twice");
    let example = |difference: Option<&&[u8]>| {
        difference.map(|line| String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned())
    };
    assert_eq!(
        example(expected.difference(&distinct).next()),
        None,
        "a line is missing"
    );
    assert_eq!(
        example(distinct.difference(expected).next()),
        None,
        "a line is there that should not be"
    );
    unreachable!("equal sets were taken for different ones");
}

/// The writing end of a FIFO that a run reads: by what it sends and holds back, a test decides how far the run gets.
pub(crate) struct Feed {
    file: File,
}

impl Feed {
    /// Waits until `running` has opened the FIFO.
    pub(crate) fn open(path: &Path, running: &mut Running<'_>) -> Self {
        let start = Instant::now();
        loop {
            let opened = OpenOptions::new()
                .write(true)
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open(path);
            match opened {
                Ok(file) => return Self { file },
                Err(error) => {
                    assert!(running.is_going_on(), "the run ended early");
                    assert!(start.elapsed() < PATIENCE, "{error}");
                }
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sends `bytes`. More than a pipe holds (64 KiB) can only be sent to a run that reads it; false when
    /// nobody does any more.
    pub(crate) fn send(&mut self, mut bytes: &[u8]) -> bool {
        let start = Instant::now();
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    assert!(start.elapsed() < PATIENCE, "nobody reads");
                    thread::sleep(Duration::from_millis(1));
                }
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return false,
                Err(error) => panic!("{error}"),
            }
        }
        true
    }
}

/// Tells whether this process may mount file systems; says why a test is skipped where it may not.
pub(crate) fn can_mount() -> bool {
    let can = rustix::process::geteuid().is_root()
        && Command::new("unshare")
            .args(["-m", "sh", "-c", "mount -t tmpfs none /tmp"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
    if !can {
        eprintln!("skipped: a small file system cannot be mounted (only root can, with unshare)");
    }
    can
}

/// Tells whether the program makes the calls that only Linux has; says that a check is skipped where it does not.
pub(crate) fn makes_linux_calls() -> bool {
    let makes = cfg!(not(portable));
    if !makes {
        eprintln!("skipped: this program makes no call that only Linux has");
    }
    makes
}

/// Tells whether programs can be run under strace; says why a test is skipped where they cannot.
pub(crate) fn can_trace() -> bool {
    let can = Command::new("strace")
        .args([
            "-f",
            "-o",
            "/dev/null",
            "-e",
            "inject=close:error=EIO:when=60000",
            "true",
        ])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !can {
        eprintln!("skipped: strace is not there, or may not trace");
    }
    can
}
