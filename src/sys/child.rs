//! Programs that a run starts, and that never outlive it.
//!
//! *Owns:* [`Child`]: starting a program, hearing what it says and how it ends, and stopping it. This process holds one
//! of its streams ([`Held`]): it reads what the program writes, or writes what that reads.
//!
//! ```text
//!  thread `via`: start ──▶ hear its standard error, up to its end ──▶ collect its status ──▶ note it
//!                                                                                             │
//!  a thread that reads its output, at the end of that:  Child::wait ◀─────────────────────────┘
//! ```
//!
//! 1. The program is the first of a process group of its own, so that whatever it starts can be stopped with it.
//! 2. The thread that starts it stays until it has ended: Linux can kill a program when the *thread* that started it
//!    ends, and is asked to. So the program goes with this process, also where that is killed.
//! 3. Collecting the status and stopping take the same lock. So a signal never goes to a process that got the number of
//!    one that is gone.
//! 4. Dropping a [`Child`] stops what is left: politely first ([`PATIENCE`]), then not.
//!
//! *Invariants:* a run leaves no program behind. Where SIGKILL ends this process, only what a program has started
//! itself can go on, until it reads or writes. Of what a program says only the end is kept. *Cost:* a thread, and
//! [`KEPT_BYTES`], for each program.
//!
//! *Sources:* prctl(2), PR_SET_PDEATHSIG; pidfd_open(2).

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{self, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::Result;
use crate::sys::calls::end_of;
use crate::sys::first_error::LOOK_UP;

/// The bytes of what a program said last that are kept.
const KEPT_BYTES: usize = 2 << 10;
/// The time that a program has to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two looks at a program where the system cannot say that it ended.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
/// The reads of what is in the pipe of a program's standard error when it has ended: a pipe of the largest size.
const MOST_LAST_READS: usize = (1 << 20) / KEPT_BYTES;
/// A poll that returns at once.
const NOW: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// A program that was started. Dropping it stops the program.
#[derive(Debug)]
pub(crate) struct Child {
    shared: Arc<Shared>,
}

/// The stream of a program whose other end this process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// Its standard output. Its standard input is empty.
    Output,
    /// Its standard input. Its standard output goes nowhere, unless the program is heard.
    Input,
}

impl Held {
    /// Makes the standard input and output of a program.
    fn streams(self, is_heard: bool) -> io::Result<(Stdio, Stdio)> {
        Ok(match self {
            Self::Output => (Stdio::null(), Stdio::piped()),
            Self::Input if is_heard => {
                (Stdio::piped(), fcntl_dupfd_cloexec(io::stderr(), 0)?.into())
            }
            Self::Input => (Stdio::piped(), Stdio::null()),
        })
    }

    /// Takes the other end from a program that was started with them.
    fn other_end(self, child: &mut process::Child) -> Option<OwnedFd> {
        match self {
            Self::Output => child.stdout.take().map(OwnedFd::from),
            Self::Input => child.stdin.take().map(OwnedFd::from),
        }
    }
}

/// A handle that stops a program. Dropping it does nothing.
#[derive(Debug)]
pub(crate) struct Stopper(Arc<Shared>);

/// The end of a program.
#[derive(Debug)]
pub(crate) struct Ending {
    /// Its status; an error where the system cannot say.
    pub(crate) status: io::Result<ExitStatus>,
    /// The last bytes of its standard error.
    pub(crate) last_words: Vec<u8>,
}

/// The knowledge that the thread of a program shares with whoever waits for it.
#[derive(Debug, Default)]
struct Shared {
    /// The program; `None` before it is started, and once its status was collected.
    process: Mutex<Option<process::Child>>,
    /// Its end, once that is known.
    ending: Mutex<Option<Ending>>,
    ended: Condvar,
}

impl Child {
    /// Starts a program; returns the other end of what is `held` as well. Its standard error goes to that of this
    /// process, too, if `is_heard`, and so does a standard output that is not held.
    ///
    /// # Errors
    /// Those of the system: there is no such program, or no further process or thread.
    pub(crate) fn start(
        words: Vec<OsString>,
        held: Held,
        is_heard: bool,
    ) -> io::Result<(Self, OwnedFd)> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let (started, outcome) = sync_channel(1);
        let thread = std::thread::Builder::new().name("via".into());
        thread.spawn(move || theirs.run(&words, held, is_heard, &started))?;
        let gone = |_| Err(io::Error::other("its thread panicked"));
        let other_end = outcome.recv().unwrap_or_else(gone)?;
        Ok((Self { shared }, other_end))
    }

    /// Stops the program, and waits for its end. Does nothing if it has ended.
    pub(crate) fn stop(&self) {
        self.shared.stop();
    }

    /// Makes a handle that can stop it, too.
    pub(crate) fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.shared))
    }

    /// Waits for the end of the program, for as long as `stop` gives no error.
    ///
    /// # Errors
    /// What `stop` returns.
    pub(crate) fn wait<T>(
        &self,
        stop: &dyn Fn() -> Result<()>,
        look: impl FnOnce(&Ending) -> T,
    ) -> Result<T> {
        let mut ending = self.shared.ending.lock();
        loop {
            if let Some(ending) = &*ending {
                return Ok(look(ending));
            }
            stop()?;
            self.shared.ended.wait_for(&mut ending, LOOK_UP);
        }
    }

    /// Looks at the end of the program, if it has ended.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Ending) -> T) -> Option<T> {
        self.shared.ending.lock().as_ref().map(look)
    }

    /// Looks at the end of the program, if it comes within `patience`.
    pub(crate) fn look_within<T>(
        &self,
        patience: Duration,
        look: impl FnOnce(&Ending) -> T,
    ) -> Option<T> {
        self.shared.ends_within(Some(patience));
        self.look(look)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Stopper {
    /// Stops programs, as [`Child::stop`] does each: all are asked to end before any is waited for.
    pub(crate) fn stop_all(programs: impl Iterator<Item = Self>) {
        let programs: Vec<Self> = programs.collect();
        for program in &programs {
            program.0.signal(Signal::TERM);
        }
        let until = Instant::now() + PATIENCE;
        for Self(program) in &programs {
            let patience = until.saturating_duration_since(Instant::now());
            if !program.ends_within(Some(patience)) {
                program.signal(Signal::KILL);
                program.ends_within(None);
            }
        }
    }

    /// Tells whether there is nothing to stop any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.ends_within(Some(Duration::ZERO))
    }
}

impl Shared {
    /// Asks the program to end, and makes it end where it does not.
    fn stop(&self) {
        if !self.ends_within(Some(Duration::ZERO)) {
            self.signal(Signal::TERM);
            if !self.ends_within(Some(PATIENCE)) {
                self.signal(Signal::KILL);
                self.ends_within(None);
            }
        }
    }

    /// Waits until the program has ended, up to `patience` if that is given. False if it goes on.
    fn ends_within(&self, patience: Option<Duration>) -> bool {
        let until = patience.map(|patience| Instant::now() + patience);
        let mut ending = self.ending.lock();
        while ending.is_none() && until.is_none_or(|until| Instant::now() < until) {
            self.ended.wait_for(&mut ending, LOOK_UP);
        }
        ending.is_some()
    }

    /// Runs the program from its start to its end; `started` hears how it started.
    fn run(
        &self,
        words: &[OsString],
        held: Held,
        is_heard: bool,
        started: &SyncSender<io::Result<OwnedFd>>,
    ) {
        // Locked until the program is known: whoever stops it meanwhile waits.
        let mut process = self.process.lock();
        let mut child = match start(words, held, is_heard) {
            Ok(child) => child,
            Err(error) => {
                _ = started.send(Err(error));
                return;
            }
        };
        let other_end = held.other_end(&mut child);
        let messages = child.stderr.take();
        let end = end_of(child.id());
        *process = Some(child);
        drop(process);
        _ = started.send(other_end.ok_or_else(|| io::Error::other("it has no such stream")));
        let mut heard = Heard {
            messages,
            last: Vec::new(),
            is_passed_on: is_heard,
        };
        let status = loop {
            heard.listen(end.as_ref());
            if let Some(status) = self.collect() {
                break status;
            }
        };
        // What it said last may still be in the pipe. One that it has left behind may go on and on.
        for _ in 0..MOST_LAST_READS {
            if !heard.hear(Some(&NOW)) {
                break;
            }
        }
        let mut ending = self.ending.lock();
        *ending = Some(Ending {
            status,
            last_words: heard.last,
        });
        self.ended.notify_all();
    }

    /// Collects the status, if the program has ended.
    fn collect(&self) -> Option<io::Result<ExitStatus>> {
        let mut process = self.process.lock();
        let status = process.as_mut()?.try_wait().transpose()?;
        *process = None;
        Some(status)
    }

    /// Sends a signal to the program and to all that it has started.
    fn signal(&self, signal: Signal) {
        let process = self.process.lock();
        let pid = process.as_ref().map(|child| child.id() as i32);
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            // That it is gone is fine: its status has only not been collected yet.
            _ = kill_process_group(pid, signal);
        }
    }
}

/// The standard error of a program.
struct Heard {
    /// Its pipe; `None` after its end.
    messages: Option<ChildStderr>,
    /// The last bytes that came.
    last: Vec<u8>,
    /// True if all of it goes to the standard error of this process.
    is_passed_on: bool,
}

impl Heard {
    /// Waits until there is something to hear, or the program has ended, as `end` tells.
    fn listen(&mut self, end: Option<&OwnedFd>) {
        let patience = end.is_none().then_some(&LOOK);
        let messages = self.messages.as_ref().map(AsFd::as_fd);
        let mut ends: Vec<PollFd<'_>> = messages
            .iter()
            .chain(end.map(AsFd::as_fd).iter())
            .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
            .collect();
        _ = poll(&mut ends, patience);
        self.hear(Some(&NOW));
    }

    /// Reads what there is to hear within `patience`. False if there is nothing.
    fn hear(&mut self, patience: Option<&Timespec>) -> bool {
        let Some(messages) = &mut self.messages else {
            return false;
        };
        let mut waiting = [PollFd::new(messages, PollFlags::IN)];
        if !poll(&mut waiting, patience).is_ok_and(|ready| ready > 0) {
            return false;
        }
        let mut bytes = [0; KEPT_BYTES];
        match messages.read(&mut bytes) {
            Ok(0) => self.messages = None,
            Ok(read) => self.keep(&bytes[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.messages = None,
        }
        self.messages.is_some()
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.is_passed_on {
            // Nobody who reads it: the run goes on.
            _ = io::stderr().write_all(bytes);
        }
        self.last.extend_from_slice(bytes);
        let more = self.last.len().saturating_sub(KEPT_BYTES);
        self.last.drain(..more);
    }
}

/// Starts a program in a process group of its own, which ends with the calling thread.
fn start(words: &[OsString], held: Held, is_heard: bool) -> io::Result<process::Child> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let (input, output) = held.streams(is_heard)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .process_group(0)
        .stdin(input)
        .stdout(output)
        .stderr(Stdio::piped());
    #[cfg(target_os = "linux")]
    {
        let end_with_parent = || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(io::Error::from)
        };
        #[expect(
            unsafe_code,
            reason = "what runs between fork and exec has no safe form"
        )]
        // SAFETY: it makes one system call, which is safe after a fork, and neither allocates nor takes a lock.
        unsafe {
            command.pre_exec(end_with_parent);
        }
    }
    command.spawn()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::fs::File;
    use std::io::{BufRead, BufReader};

    use super::*;

    fn shell(script: &str) -> (Child, File) {
        let words = ["sh", "-c", script].map(OsString::from).to_vec();
        let (child, output) = Child::start(words, Held::Output, false).unwrap();
        (child, output.into())
    }

    #[test]
    fn b27_the_end_of_a_program_is_told_with_its_last_words() {
        for (script, status, last) in [
            ("exit 0", "exit status: 0", ""),
            ("echo no >&2; exit 7", "exit status: 7", "no\n"),
            ("kill -9 $$", "signal: 9 (SIGKILL)", ""),
            ("exec 2>&-; sleep 0.05; exit 3", "exit status: 3", ""),
            // Whoever it leaves behind may hold its standard error.
            ("echo on >&2; sleep 5 & exit 4", "exit status: 4", "on\n"),
        ] {
            let (child, _output) = shell(script);
            let found = child.wait(&|| Ok(()), |end| {
                (
                    end.status.as_ref().unwrap().to_string(),
                    end.last_words.clone(),
                )
            });
            assert_eq!(
                found.unwrap(),
                (status.to_owned(), last.as_bytes().to_vec()),
                "{script}"
            );
        }
    }

    #[test]
    fn b27_only_the_end_of_much_is_kept() {
        let (child, _output) = shell("yes | head -c 3000000 >&2; echo last >&2");
        let last = child
            .wait(&|| Ok(()), |end| end.last_words.clone())
            .unwrap();
        assert_eq!(last.len(), KEPT_BYTES);
        assert!(last.ends_with(b"y\nlast\n"));
    }

    #[test]
    fn b27_a_program_and_what_it_started_end_when_they_are_dropped() {
        let (child, mut output) =
            shell("trap '' TERM; sleep 1000 & echo $!; echo $$; wait; sleep 1000");
        let numbers: Vec<String> = BufReader::new(&mut output)
            .lines()
            .take(2)
            .map(Result::unwrap)
            .collect();
        drop(child);
        // One that nobody has collected yet is dead, too.
        let is_gone = |number: &String| {
            let state = std::fs::read_to_string(format!("/proc/{number}/stat"));
            state.is_ok_and(|state| state.contains(") Z"))
                || !std::path::Path::new(&format!("/proc/{number}")).exists()
        };
        while !numbers.iter().all(is_gone) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
