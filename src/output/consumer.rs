//! A result that another program takes: the standard input of a command.
//!
//! *Owns:* [`Consumer`], the command that is asked for; [`RunningConsumer`], which has its input and stops it; and
//! [`Program`], which writers share. A shell's `| command` takes what it got for all when the program before it fails;
//! here the command sees the end of its input only after all was written.
//!
//! 1. The command is started when the output is opened, and a signal stops it ([`Interrupt::started`]).
//! 2. Writers write into its input, which does not block: a command that has ended may have left the other end to
//!    a program that reads nothing.
//! 3. At the end, all that was written must have been read. Only then is the input closed.
//! 4. The status of the command is the last word.
//!
//! *Invariants:* the input is closed only when all has been read, or after the command was stopped. Where SIGKILL ends
//! this process, the system closes the input and kills the command in no certain order. *Cost:* a process, a thread and
//! 2 KiB; while the command reads the last of it, a look every few milliseconds.
//!
//! *Sources:* pipe(7), on O_NONBLOCK and FIONREAD.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio, ioctl_fionread};

use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::sys::child::{Child, Held};
use crate::sys::command::{failure, is_there, shown, words_for};

/// The time between two looks at a command that reads too slowly.
const WHILE_FULL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};
/// The time between two looks at a command that reads the last bytes.
const AT_THE_END: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};
/// The time that a command which reads no more has to end, so that its status can be told.
const PATIENCE: Duration = Duration::from_secs(1);

/// A command that takes a result on its standard input: an upload, or a database client.
///
/// The run fails if the command cannot be started, ends with a status other than 0 or by a signal, or does not read
/// all. A run that fails or is stopped stops the command before its input ends: with SIGTERM, and SIGKILL a second
/// later.
///
/// ```
/// use std::io::Write;
/// use outset::{Consumer, Interrupt, OutputFile};
///
/// let directory = std::env::temp_dir();
/// let path = directory.join(format!("outset-consumer-{}", std::process::id()));
/// let consumer = Consumer::new(["dd", "status=none", "of={}"], &path);
/// let output = OutputFile::consumed(&consumer, &Interrupt::new())?;
/// let mut writer = output.writer()?;
/// writer.write_all(b"apple\n").and_then(|()| writer.flush()).map_err(|error| output.error(error))?;
/// drop(writer);
/// output.finish()?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"apple\n");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), outset::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// The program and its arguments.
    words: Vec<OsString>,
    name: PathBuf,
    /// True if what the command says goes to the standard error of this process as well.
    is_heard: bool,
}

impl Consumer {
    /// Names a command: the program that is the first of `words`, with the others as its arguments. `name` takes the
    /// place of `{}` in the words, or is a further word if none of them has `{}`; messages call the result so. No shell
    /// is involved.
    pub fn new(
        words: impl IntoIterator<Item = impl Into<OsString>>,
        name: impl Into<PathBuf>,
    ) -> Self {
        Self {
            words: words.into_iter().map(Into::into).collect(),
            name: name.into(),
            is_heard: false,
        }
    }

    /// Passes on what the command says on its standard error and its standard output, if `is_heard`. An error has the
    /// last lines of its standard error in any case.
    #[must_use]
    pub fn heard(self, is_heard: bool) -> Self {
        Self { is_heard, ..self }
    }

    /// Returns the same command for a result with another name.
    pub(super) fn called(&self, name: PathBuf) -> Self {
        Self {
            name,
            ..self.clone()
        }
    }

    /// Returns the name of the result.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Checks that the program is there, for callers that start the command after much work.
    ///
    /// # Errors
    /// That it is not, as [`Consumer::start`] says it.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.words.first().is_none_or(|program| is_there(program)) {
            return Ok(());
        }
        let command = shown(&words_for(&self.words, &self.name));
        let error = io::Error::from(Errno::NOENT);
        Err(cannot_start(&command, &error))
    }

    /// Starts the command.
    ///
    /// # Errors
    /// Those of the system, as a [`CommandFailure`]; that the run was stopped.
    pub(super) fn start(&self, interrupt: &Interrupt) -> io::Result<RunningConsumer> {
        let words = words_for(&self.words, &self.name);
        let command = shown(&words);
        let start = || Child::start(words, Held::Input, self.is_heard);
        let started = interrupt.started(start);
        let (child, input) = started.map_err(|error| cannot_start(&command, &error))?;
        let program = Stopped(Arc::new(Program {
            child,
            command,
            interrupt: interrupt.clone(),
        }));
        ioctl_fionbio(&input, true)?;
        Ok(RunningConsumer {
            program,
            input: input.into(),
        })
    }
}

/// A command that takes a result. Dropping it stops the command, and then closes its input.
#[derive(Debug)]
pub(super) struct RunningConsumer {
    // Declared before the input, and so dropped before it.
    program: Stopped,
    input: File,
}

impl RunningConsumer {
    /// Returns a further handle to its input, and the program behind that.
    ///
    /// # Errors
    /// When the system gives no second handle.
    pub(super) fn opened(&self) -> io::Result<(File, Arc<Program>)> {
        Ok((self.input.try_clone()?, Arc::clone(&self.program.0)))
    }

    /// Ends the input, when all was read, and waits for the status of the command.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; what `fail` makes of a command that fails, or does not read all.
    pub(super) fn finish(self, fail: impl Fn(io::Error) -> Error) -> Result<()> {
        let Self { program, input } = self;
        // Each writer has one. It would keep the input open, and may have more to write.
        if Arc::strong_count(&program.0) > 1 {
            return Err(fail(io::Error::other("a writer of it was not dropped")));
        }
        program.0.wait_until_read(&input, &fail)?;
        drop(input);
        program.0.check_end(fail)
    }
}

/// Stops a program when it is dropped, whoever else holds it.
#[derive(Debug)]
struct Stopped(Arc<Program>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.child.stop();
    }
}

/// The program behind an input.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    /// Its words, as messages have them.
    command: String,
    interrupt: Interrupt,
}

impl Program {
    /// Writes all of `bytes` to its `input`.
    ///
    /// # Errors
    /// That it has ended, or reads no more, as a [`CommandFailure`]; that the run was stopped; those of the system.
    pub(super) fn write_all(&self, mut input: &File, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match input.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock => self.wait_for_room(input)?,
                    io::ErrorKind::BrokenPipe => return Err(self.refusal()),
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// Waits until `input` takes more, or for some time.
    fn wait_for_room(&self, input: &File) -> io::Result<()> {
        if self.interrupt.is_stopped() {
            return Err(io::Error::other(Error::Interrupted));
        }
        if self.has_ended() {
            return Err(self.refusal());
        }
        // Whatever it says, the next write says more.
        _ = poll(&mut [PollFd::new(input, PollFlags::OUT)], Some(&WHILE_FULL));
        Ok(())
    }

    /// Waits until it has read all that was written.
    fn wait_until_read(&self, input: &File, fail: impl Fn(io::Error) -> Error) -> Result<()> {
        loop {
            self.interrupt.check()?;
            // Looked at first: it may have read the rest and ended meanwhile.
            let has_ended = self.has_ended();
            let unread = ioctl_fionread(input).map_err(|error| fail(error.into()))?;
            if unread == 0 {
                return Ok(());
            }
            // An error of the pipe means that nobody can read it any more.
            let mut waiting = [PollFd::new(input, PollFlags::empty())];
            let is_closed = poll(&mut waiting, Some(&AT_THE_END)).is_ok_and(|errors| errors > 0);
            // It may have read the last of it between the two looks, and closed its input.
            if has_ended || is_closed && ioctl_fionread(input).is_ok_and(|unread| unread > 0) {
                return Err(fail(self.refusal()));
            }
        }
    }

    /// Waits for its status, and checks that.
    fn check_end(&self, fail: impl Fn(io::Error) -> Error) -> Result<()> {
        let stop = || self.interrupt.check();
        let failed = self.child.wait(&stop, failure)?;
        failed.map_or(Ok(()), |how| Err(fail(self.failed(&how))))
    }

    fn has_ended(&self) -> bool {
        self.child.look(|_| ()).is_some()
    }

    /// Makes the error of a program that reads no more.
    fn refusal(&self) -> io::Error {
        match self.child.look_within(PATIENCE, failure) {
            Some(Some(how)) => self.failed(&how),
            Some(None) => self.failed("ended with status 0, but has not read all"),
            None => self.failed("has closed its standard input, but has not read all"),
        }
    }

    fn failed(&self, how: &str) -> io::Error {
        io::Error::other(CommandFailure(format!("{:?} {how}", self.command)))
    }
}

/// Makes the error of a command that cannot be started.
fn cannot_start(command: &str, error: &io::Error) -> io::Error {
    let what = format!("cannot start {command:?}: {error}");
    io::Error::new(error.kind(), CommandFailure(what))
}

/// The way in which a command failed.
#[derive(Debug)]
pub(super) struct CommandFailure(String);

impl fmt::Display for CommandFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for CommandFailure {}
