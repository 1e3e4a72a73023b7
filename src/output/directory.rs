//! A directory of results: a file for each file that lines come from, all in place at once or none.
//!
//! *Owns:* [`OutputDirectory`], the names of files in it, and the step that gives it its own name.
//!
//! ```text
//!  given: crawl/               files: crawl/a/1.jsonl.zst   ──▶  clean/a/1.jsonl.zst
//!                                     crawl/b/1.jsonl       ──▶  clean/b/1.jsonl
//!  given: 2024/x 2025/x        files: 2024/x 2025/x         ──▶  clean/2024/x clean/2025/x
//! ```
//!
//! Files are written below `.outset-XXXXXX.part`, beside the directory. In the end one `syncfs` puts all of them on the
//! disk, and a rename gives that directory its name.
//!
//! Instead, a command may take each file ([`OutputDirectory::sent`]), so that files can go where there are no
//! directories. Nothing can take back what a command has sent.
//!
//! *Invariants:* nothing is visible under the name before everything is on the disk. What is dropped earlier is
//! removed, also by a signal. A process that is killed leaves the hidden directory, never a part of the result under
//! its name.
//!
//! *Cost:* one file is open at a time; a sync of the file system at the end.
//!
//! *Sources:* rename(2): a directory takes the place of an empty one; syncfs(2).

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, PathGuard};
use crate::output::consumer::Consumer;
use crate::output::file::{OutputFile, give_mode};
use crate::output::file_names::FileNames;
use crate::output::unnamed_file::part_names;
use crate::output::{CompressorPlan, OutputWriter, Sink, output_error};
use crate::sys::calls::{is_mount_point, sync_file_system};
use crate::sys::failpoint::fail_point;
use crate::sys::file_id::{directory_of, follow_links};

/// Chooses how a file with this name is compressed; `None`: not at all.
pub type Compressing = Box<dyn Fn(&Path) -> Option<CompressorPlan> + Send>;

/// A directory that gets a file for each file of the inputs whose lines are written, or for each output of a
/// [`Producer`](crate::Producer) under the name that the command was run for, with those of its lines that are in the
/// result. It appears complete or not at all.
///
/// ```
/// use outset::{Files, Interrupt, Options, Order, OutputDirectory, Selection, Source, select};
/// # let directory = tempfile::tempdir()?;
/// # let (crawl, clean) = (directory.path().join("crawl"), directory.path().join("clean"));
/// # std::fs::create_dir(&crawl)?;
/// let shards = ["1", "2"].map(|name| crawl.join(name));
/// std::fs::write(&shards[0], "apple\nbanana\napple\n")?;
/// std::fs::write(&shards[1], "banana\ncherry\n")?;
///
/// let mut output = OutputDirectory::create(&clean, [&crawl], Box::new(|_| None), &Interrupt::new())?;
/// let side = Source::from(Files::new("crawl", shards.to_vec()));
/// let distinct = Selection::union().ordered(Order::Input);
/// select(&[side], distinct, &Options::default(), &mut output)?;
/// output.finish()?;
/// assert_eq!(std::fs::read(clean.join("1"))?, b"apple\nbanana\n");
/// assert_eq!(std::fs::read(clean.join("2"))?, b"cherry\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OutputDirectory {
    /// The path that it will have, or what stands before the names of files.
    path: PathBuf,
    names: FileNames,
    compressing: Compressing,
    terminator: u8,
    /// The header that each file begins with.
    header: Option<Vec<u8>>,
    /// The file that lines go to.
    open: Option<OpenFile>,
    /// The name of the file that was opened last, for messages.
    last: Option<PathBuf>,
    interrupt: Interrupt,
    place: Place,
}

/// The place of the files.
enum Place {
    /// Below a hidden directory, which gets its path in the end.
    // The guard is declared after the directory: the path stays on the list until it is removed or in place.
    Hidden(TempDir, PathGuard),
    /// The standard input of a command for each file, which is called as this one but for its name.
    Commands(Consumer),
}

/// A file that is written.
struct OpenFile {
    writer: OutputWriter,
    /// The command that takes it, if one does. Dropped after the writer, it is stopped.
    taken_by: Option<OutputFile>,
}

impl OutputDirectory {
    /// Makes a directory of results that will be at `path`, where nothing or an empty directory is. Each file is called
    /// as it is below the deepest directory that has all of `given`: the files and directories that were named.
    ///
    /// # Errors
    /// [`Error::Usage`] where `path` is something else; [`Error::Output`] where nothing can be written beside it.
    pub fn create<P: AsRef<Path>>(
        path: &Path,
        given: impl IntoIterator<Item = P>,
        compressing: Compressing,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let name = path.display().to_string();
        let is_empty = std::fs::read_dir(path).map(|mut entries| entries.next().is_none());
        // Of one that is there and empty, the mode is kept.
        let mode = match is_empty {
            Ok(true) => std::fs::metadata(path).ok().map(|it| it.permissions()),
            Ok(false) => return Err(refused(&name, "is not empty")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(refused(&name, "is not a directory"));
            }
            Err(error) => return Err(output_error(&name, "cannot look at it", error)),
        };
        let followed = path.canonicalize().or_else(|_| follow_links(path));
        let target = followed.map_err(|error| output_error(&name, "cannot look at it", error))?;
        if is_in_use(&target) {
            return Err(refused(&name, "is the current directory, or a mount point"));
        }
        let make = || {
            let mut names = part_names();
            names.permissions(
                mode.clone()
                    .unwrap_or_else(|| Permissions::from_mode(0o777)),
            );
            let made = names.tempdir_in(directory_of(&target))?;
            if let Some(mode) = mode {
                give_mode(&File::open(made.path())?, mode)?;
            }
            Ok(made)
        };
        let made = interrupt.guarded(make, TempDir::path);
        let (temporary, guard) =
            made.map_err(|error| output_error(&name, "cannot make a directory beside it", error))?;
        let place = Place::Hidden(temporary, guard);
        Ok(Self::at(target, given, compressing, place, interrupt))
    }

    /// Makes a directory of results of which a command takes each file, one after the other: `consumer`, with the name
    /// of the file after its own. A command gets the end of its input when the file is complete; the run fails if one
    /// does. What the commands before it were given is sent, and stays so.
    ///
    /// # Errors
    /// [`Error::Output`] where there is no such program.
    pub fn sent<P: AsRef<Path>>(
        consumer: Consumer,
        given: impl IntoIterator<Item = P>,
        compressing: Compressing,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let path = consumer.name().to_owned();
        let name = path.display().to_string();
        let checked = consumer.check();
        checked.map_err(|error| output_error(&name, "cannot write", error))?;
        let place = Place::Commands(consumer);
        Ok(Self::at(path, given, compressing, place, interrupt))
    }

    fn at<P: AsRef<Path>>(
        path: PathBuf,
        given: impl IntoIterator<Item = P>,
        compressing: Compressing,
        place: Place,
        interrupt: &Interrupt,
    ) -> Self {
        Self {
            path,
            names: FileNames::of(given),
            compressing,
            terminator: b'\n',
            header: None,
            open: None,
            last: None,
            interrupt: interrupt.clone(),
            place,
        }
    }

    /// Writes `terminator` after each line.
    #[must_use]
    pub fn terminated_by(self, terminator: u8) -> Self {
        Self { terminator, ..self }
    }

    /// Returns the name that a file has below the directory.
    pub fn name_of(&self, path: &Path) -> PathBuf {
        self.names.of_file(path)
    }

    /// Begins the file that lines or bytes go to from now on, for the one at `path`: [`Sink::file`] for a caller that
    /// writes by itself.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn begin_file(&mut self, path: &Path) -> Result<()> {
        let begun = self.file(path);
        begun.map_err(|error| output_error(&self.target(), "cannot write", error))
    }

    /// Puts the directory in place. Waits for the disk, or for the last command.
    ///
    /// # Errors
    /// [`Error::Output`]; nothing is at the path then, unless only the sync of the directory that it is in failed.
    pub fn finish(mut self) -> Result<()> {
        let name = self.path.display().to_string();
        let fail = |what| {
            let name = name.clone();
            move |error: io::Error| output_error(&name, what, error)
        };
        let target = self.target();
        self.close()
            .map_err(|error| output_error(&target, "cannot write", error))?;
        // Where it stays when this fails, it is removed before its guard lets go of it.
        let Place::Hidden(temporary, _) = &self.place else {
            return Ok(());
        };
        sync(temporary.path()).map_err(fail("cannot sync"))?;
        let rename = || std::fs::rename(temporary.path(), &self.path);
        let moved = self.interrupt.unless_stopped(rename);
        moved.map_err(fail("cannot move into place"))?;
        // Nothing is left to be removed.
        if let Place::Hidden(temporary, _guard) = self.place {
            let _moved = temporary.keep();
        }
        let beside = File::open(directory_of(&self.path));
        let synced = beside.and_then(|directory| directory.sync_all());
        synced.map_err(fail("cannot sync the directory that it is in"))
    }

    /// Ends the file that is open.
    fn close(&mut self) -> io::Result<()> {
        let Some(OpenFile {
            mut writer,
            taken_by,
        }) = self.open.take()
        else {
            return Ok(());
        };
        writer.flush()?;
        drop(writer);
        taken_by.map_or(Ok(()), |command| command.finish().map_err(as_io))
    }

    /// Opens the file with this name.
    fn open(&self, name: &Path) -> io::Result<OpenFile> {
        let (writer, taken_by) = match &self.place {
            Place::Hidden(temporary, _) => {
                let inside = temporary.path().join(name);
                let file = self.interrupt.unless_stopped(|| {
                    std::fs::create_dir_all(directory_of(&inside))?;
                    File::create_new(&inside)
                })?;
                (OutputWriter::direct(file)?, None)
            }
            Place::Commands(consumer) => {
                let consumer = consumer.called(self.path.join(name));
                let command = OutputFile::consumed(&consumer, &self.interrupt).map_err(as_io)?;
                (command.writer().map_err(as_io)?, Some(command))
            }
        };
        let writer = match (self.compressing)(name) {
            Some(plan) => writer.compressing(plan),
            None => writer,
        };
        Ok(OpenFile { writer, taken_by })
    }

    /// Returns the writer of the file that is open.
    fn writer(&mut self) -> io::Result<&mut OutputWriter> {
        let open = self.open.as_mut().map(|file| &mut file.writer);
        open.ok_or_else(|| io::Error::other("a line comes from no file"))
    }
}

impl Sink for OutputDirectory {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let terminator = self.terminator;
        let writer = self.writer()?;
        writer.write_all(line)?;
        writer.write_all(&[terminator])
    }

    fn block(&mut self, block: &[u8], _ends: &[usize]) -> io::Result<()> {
        self.writer()?.write_all(block)
    }

    fn header(&mut self, header: &[u8]) -> io::Result<()> {
        self.header = Some(header.to_vec());
        Ok(())
    }

    fn file(&mut self, path: &Path) -> io::Result<()> {
        self.close()?;
        let name = self.name_of(path);
        self.last = Some(name.clone());
        self.open = Some(self.open(&name)?);
        match self.header.take() {
            Some(header) => {
                self.line(&header)?;
                self.header = Some(header);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn divides_by_file(&self) -> bool {
        true
    }

    fn terminator(&self) -> u8 {
        self.terminator
    }

    fn target(&self) -> String {
        let path = match &self.last {
            Some(name) => self.path.join(name),
            None => self.path.clone(),
        };
        path.display().to_string()
    }
}

impl std::fmt::Debug for OutputDirectory {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields = formatter.debug_struct("OutputDirectory");
        fields.field("path", &self.path).field("names", &self.names);
        fields.finish_non_exhaustive()
    }
}

/// Returns an error of a command that takes a file as the system told it.
fn as_io(error: Error) -> io::Error {
    match error {
        Error::Output { source, .. } => source,
        other => io::Error::other(other),
    }
}

/// Makes the error for a path that can get no directory of results.
fn refused(name: &str, what: &str) -> Error {
    Error::usage(
        format!("{name}: {what}"),
        "name a directory that is not there yet, or an empty one",
    )
}

/// Returns true if a directory cannot be replaced by another: a file system is mounted there, or the process is in it.
fn is_in_use(path: &Path) -> bool {
    let is_here = std::env::current_dir().is_ok_and(|here| here == path);
    is_here || is_mount_point(path)
}

/// Waits until everything below `directory` is on the disk.
fn sync(directory: &Path) -> io::Result<()> {
    fail_point!("output-sync", Err(crate::sys::failpoint::injected()));
    sync_file_system(&File::open(directory)?)
}
