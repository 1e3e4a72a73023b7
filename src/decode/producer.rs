//! An input that another program writes: the output of a command.
//!
//! *Owns:* [`Producer`]: the command for each name of an input, and the word of its end. A shell's `<(command)` hides
//! that the command failed; here the end of the output counts only after the command said that it was all.
//!
//! *Invariants:* the output of a command is an input only if the command ends with status 0. A command is started when
//! its output is to be read, and is stopped when nobody reads it any more. *Cost:* a process, a thread and 2 KiB for
//! each command that runs; the bytes come straight from its pipe.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::decode::stream::Writer;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::sys::child::{Child, Held};
use crate::sys::command::{failure, shown, words_for};

/// The outputs of a command, run for each of its names: one side of an operation.
///
/// The output is what counts: a name may be an address in an object store, a query, or a file on another machine. The
/// run fails if a command cannot be started, or ends with a status other than 0, or by a signal. Several outputs are
/// read one after the other, as if they were concatenated, but a line never goes on in the next one. Compressed output
/// is decoded.
///
/// ```
/// use outset::{Options, Producer, Source, collect, Selection};
///
/// let fruit = Producer::new("fruit", ["printf", r"apple\n%s\n", "{}"], ["banana", "cherry"]);
/// let mut lines = collect(&[Source::from(fruit)], Selection::union(), &Options::default())?;
/// lines.sort();
/// assert_eq!(lines, [&b"apple"[..], b"banana", b"cherry"]);
///
/// let fails = Producer::new("none", ["false"], [""]);
/// assert!(collect(&[Source::from(fails)], Selection::union(), &Options::default()).is_err());
/// # Ok::<(), outset::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Producer {
    name: PathBuf,
    /// The program and its arguments.
    words: Arc<[OsString]>,
    /// The paths, addresses or queries that take the place of `{}` in them.
    names: Arc<Vec<PathBuf>>,
    /// True if the standard error of the commands goes to that of this process as well.
    is_heard: bool,
}

impl Producer {
    /// Runs the program that is the first of `words`, with the others as its arguments, once for each of `names`: that
    /// takes the place of `{}` in the words, or is a further word if none of them has `{}`. No shell is involved.
    /// Messages and statistics call all outputs together `name`.
    pub fn new(
        name: impl Into<PathBuf>,
        words: impl IntoIterator<Item = impl Into<OsString>>,
        names: impl IntoIterator<Item = impl Into<PathBuf>>,
    ) -> Self {
        Self {
            name: name.into(),
            words: words.into_iter().map(Into::into).collect(),
            names: Arc::new(names.into_iter().map(Into::into).collect()),
            is_heard: false,
        }
    }

    /// Passes on what the commands say on their standard error, if `is_heard`. An error has its last lines in any case.
    #[must_use]
    pub fn heard(self, is_heard: bool) -> Self {
        Self { is_heard, ..self }
    }

    /// Returns the name of all outputs together.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns what the commands are run for, in the order of reading.
    pub fn names(&self) -> &[PathBuf] {
        &self.names
    }

    /// Returns the same names, to be kept.
    pub(crate) fn shared_names(&self) -> Arc<Vec<PathBuf>> {
        Arc::clone(&self.names)
    }

    /// Starts the command for the name with this number, which `interrupt` can stop. Returns its output, and who says
    /// whether that is all.
    ///
    /// # Errors
    /// [`Error::Input`] where it cannot be started; [`Error::Interrupted`].
    pub(crate) fn start(
        &self,
        number: usize,
        interrupt: &Interrupt,
    ) -> Result<(File, Arc<dyn Writer>)> {
        let name = &self.names[number];
        let words = words_for(&self.words, name);
        let command = shown(&words);
        let start = || Child::start(words, Held::Output, self.is_heard);
        let (child, output) = interrupt.started(start).map_err(|error| {
            if interrupt.is_stopped() {
                return Error::Interrupted;
            }
            Error::Input {
                path: name.clone(),
                source: io::Error::new(error.kind(), format!("cannot start {command:?}: {error}")),
                advice: "check that the program is installed, and its name",
            }
        })?;
        Ok((
            File::from(output),
            Arc::new(RunningCommand { child, command }),
        ))
    }
}

/// A command that writes a stream.
#[derive(Debug)]
struct RunningCommand {
    child: Child,
    /// Its words, as messages have them.
    command: String,
}

impl RunningCommand {
    /// Fails with what is known of a command that has ended badly.
    fn refuse(&self, name: &Path, failure: Option<String>) -> Result<()> {
        failure.map_or(Ok(()), |failure| {
            Err(Error::Input {
                path: name.to_owned(),
                source: io::Error::other(format!("{:?} {failure}", self.command)),
                advice: "its output may be incomplete: run it by itself to see what is wrong",
            })
        })
    }
}

impl Writer for RunningCommand {
    /// Waits for the status of the command: it may close its output long before it ends.
    fn check(&self, name: &Path, stop: &dyn Fn() -> Result<()>) -> Result<()> {
        self.refuse(name, self.child.wait(stop, failure)?)
    }

    /// Looks whether it has failed while what it started goes on.
    fn check_silent(&self, name: &Path) -> Result<()> {
        self.refuse(name, self.child.look(failure).flatten())
    }
}
