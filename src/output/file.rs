//! The file of a result: in place as a whole, or not at all.
//!
//! *Owns:* the file while it has no name, or a temporary one, and the step that gives it its own.
//!
//! | target | written to | what [`OutputFile::finish`] does |
//! |---|---|---|
//! | a regular file, or nothing yet | `Unnamed`, without a name | mode, sync, link, sync directory |
//! | the same, if the file system lacks these | `Replacing`, `.outset-XXXXXX.part` | sync, rename, sync directory |
//! | a stream, a pipe, a device, a file that was removed | [`Unreplaced`], the target itself | close or sync |
//! | a command | `Consumed`, its standard input | wait until all is read, close it, wait for the status |
//!
//! The file is synced before it gets its name: after a crash of the machine, the name leads to the old file
//! or to the complete new one. The directory is synced afterwards, so that the name survives, too.
//!
//! *Invariants:* an [`OutputFile`] is invisible under its name until [`OutputFile::finish`] has synced it.
//! Dropped before that, it leaves what was there before.
//!
//! *Cost:* a sync of the file and one of its directory.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, PathGuard};
use crate::output::consumer::{Consumer, RunningConsumer};
use crate::output::unnamed_file::{UnnamedFile, part_names};
use crate::output::unreplaced::Unreplaced;
use crate::output::{CompressorPlan, OutputWriter, output_error};
use crate::sys::failpoint::fail_point;
use crate::sys::file_id::{directory_of, follow_links};

/// A file that appears complete or not at all.
///
/// A regular file is written without a name, or under a temporary one, in the directory of its target. It is
/// synced and then gets the target's name, and the mode of a file that it replaces. A symbolic link is
/// followed. A FIFO or a device is written directly, and so is a file that standard output or standard error
/// goes to, and one that was removed and is named by a descriptor (`/dev/fd/3`). `-` is standard output.
#[derive(Debug)]
pub struct OutputFile {
    /// The name of the result in messages.
    name: String,
    file: WrittenFile,
    /// The way in which writers compress; `None`: not at all.
    compressing: Option<CompressorPlan>,
}

/// The file that the bytes go to, and the way it gets its name. Paths have their symbolic links followed.
#[derive(Debug)]
enum WrittenFile {
    /// The target itself, which cannot be replaced: written as lines come.
    Unreplaced(Unreplaced),
    /// The standard input of a command.
    Consumed(RunningConsumer),
    /// A file without a name, and the one that it will be.
    Unnamed(UnnamedFile, Target),
    /// A file under a temporary name, and the one that it will be.
    // The guard is declared after the file: the path stays on the list until the file is removed or
    // in place.
    Replacing(NamedTempFile, PathGuard, Target),
}

/// The file that one becomes in the end.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    /// The permission bits of the file that will be replaced; `None` if there is none.
    replaced_mode: Option<u32>,
    /// True if a file that has come there meanwhile must stay.
    is_new: bool,
    /// The owner of the list of what a signal removes: nothing gets its name after one.
    interrupt: Interrupt,
}

impl OutputFile {
    /// Opens `path` for a result. What is there stays until [`OutputFile::finish`].
    ///
    /// # Errors
    /// [`crate::Error::Output`] where the target cannot be written.
    pub fn create(path: &Path, interrupt: &Interrupt) -> Result<Self> {
        Self::create_as(path, interrupt, 0o666)
    }

    /// Works as [`OutputFile::create`]; a new file is readable by its owner alone.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn create_private(path: &Path, interrupt: &Interrupt) -> Result<Self> {
        Self::create_as(path, interrupt, 0o600)
    }

    /// Opens or makes the file. `new_mode` is the mode of a file that replaces none, before the umask.
    fn create_as(path: &Path, interrupt: &Interrupt, new_mode: u32) -> Result<Self> {
        let (name, file) = if path == Path::new("-") {
            let file = Unreplaced::stdout().map(WrittenFile::Unreplaced);
            ("standard output".to_owned(), file)
        } else {
            let file = WrittenFile::open(path, interrupt, new_mode);
            (path.display().to_string(), file)
        };
        match file {
            Ok(file) => Ok(Self {
                name,
                file,
                compressing: None,
            }),
            Err(error) => Err(output_error(&name, "cannot open for writing", error)),
        }
    }

    /// Starts a command that takes the result. [`OutputFile::finish`] waits for its status. Dropped before that, the
    /// result stops the command, which never sees the end of its input.
    ///
    /// # Errors
    /// [`crate::Error::Output`] where it cannot be started.
    pub fn consumed(consumer: &Consumer, interrupt: &Interrupt) -> Result<Self> {
        let name = consumer.name().display().to_string();
        match consumer.start(interrupt) {
            Ok(running) => Ok(Self {
                name,
                file: WrittenFile::Consumed(running),
                compressing: None,
            }),
            Err(error) => Err(output_error(&name, "cannot write", error)),
        }
    }

    /// Has its writers compress what they are given.
    #[must_use]
    pub fn compressed(self, plan: CompressorPlan) -> Self {
        Self {
            compressing: Some(plan),
            ..self
        }
    }

    /// Lets [`OutputFile::finish`] fail if a file is there that was not when this one was opened.
    pub(crate) fn replacing_nothing_new(mut self) -> Self {
        if let WrittenFile::Unnamed(_, target) | WrittenFile::Replacing(_, _, target) =
            &mut self.file
        {
            target.is_new = target.replaced_mode.is_none();
        }
        self
    }

    /// Returns the name of the result in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes a writer into the file, from its start. A regular file is emptied first, so that a run that starts over
    /// can ask for a writer again; only the latest may be used. Flush it before [`OutputFile::finish`].
    ///
    /// # Errors
    /// [`crate::Error::Output`] when the system gives no second handle, or no memory for a buffer.
    pub fn writer(&self) -> Result<OutputWriter> {
        let writer = match &self.file {
            WrittenFile::Unreplaced(file) => file.writer(),
            WrittenFile::Consumed(running) => running.opened().and_then(OutputWriter::consumed),
            WrittenFile::Unnamed(file, _) => anew(file.as_file()),
            WrittenFile::Replacing(file, ..) => anew(file.as_file()),
        };
        let writer =
            writer.map_err(|error| output_error(&self.name, "cannot open for writing", error))?;
        Ok(match self.compressing {
            Some(plan) => writer.compressing(plan),
            None => writer,
        })
    }

    /// Makes the error of a write into it that failed, with what to do next.
    pub fn error(&self, source: io::Error) -> Error {
        output_error(&self.name, "cannot write", source)
    }

    /// Syncs the file and puts it in place. Flush the writer first, and drop it. Waits for the disk, or for a command.
    ///
    /// # Errors
    /// [`crate::Error::Output`]; the target is then what it was before, unless only the sync of the directory
    /// failed, which comes last.
    pub fn finish(self) -> Result<()> {
        let Self { name, file, .. } = self;
        let name = name.as_str();
        let fail = |what| move |error| output_error(name, what, error);
        let target = match file {
            WrittenFile::Unreplaced(file) => return file.finish().map_err(fail("cannot write")),
            WrittenFile::Consumed(running) => return running.finish(fail("cannot write")),
            WrittenFile::Unnamed(file, target) => {
                target
                    .give_mode(file.as_file())
                    .map_err(fail("cannot set the mode"))?;
                sync(file.as_file()).map_err(fail("cannot sync"))?;
                let named = if target.is_new {
                    file.name_anew(&target.path, &target.interrupt)
                } else {
                    file.name(&target.path, &target.interrupt)
                };
                named.map_err(fail("cannot move into place"))?;
                target
            }
            WrittenFile::Replacing(file, _guard, target) => {
                target
                    .give_mode(file.as_file())
                    .map_err(fail("cannot set the mode"))?;
                sync(file.as_file()).map_err(fail("cannot sync"))?;
                let named = target.interrupt.unless_stopped(|| target.take(file));
                named.map_err(fail("cannot move into place"))?;
                target
            }
        };
        sync_directory(&target.path).map_err(fail("cannot sync its directory"))
    }
}

impl WrittenFile {
    /// Opens the file that a result for `path` is written to, trying in this order: a target that cannot be replaced, a
    /// file without a name, a file under a temporary name.
    fn open(path: &Path, interrupt: &Interrupt, new_mode: u32) -> io::Result<Self> {
        if path.is_dir() {
            return Err(Errno::ISDIR.into());
        }
        if let Some(file) = Unreplaced::at(path) {
            return file.map(Self::Unreplaced);
        }
        // From here on the target of a link is replaced, never the link.
        let path = followed(path)?;
        let target = Target {
            replaced_mode: replaced_mode(&path)?,
            path,
            is_new: false,
            interrupt: interrupt.clone(),
        };
        match UnnamedFile::create(&target.path, target.replaced_mode.unwrap_or(new_mode)) {
            Some(file) => Ok(Self::Unnamed(file, target)),
            None => Self::named(target, new_mode),
        }
    }

    /// Makes a file under a temporary name beside `target`, where none is there yet with `new_mode` before the umask. A
    /// signal removes it, until it has moved.
    fn named(target: Target, new_mode: u32) -> io::Result<Self> {
        let mode = target.replaced_mode.unwrap_or(new_mode);
        let make = || {
            part_names()
                .permissions(Permissions::from_mode(mode))
                .tempfile_in(directory_of(&target.path))
        };
        let (file, guard) = target.interrupt.guarded(make, NamedTempFile::path)?;
        Ok(Self::Replacing(file, guard, target))
    }
}

impl Target {
    /// Moves `file` to the path.
    fn take(&self, file: NamedTempFile) -> io::Result<File> {
        let moved = if self.is_new {
            file.persist_noclobber(&self.path)
        } else {
            file.persist(&self.path)
        };
        moved.map_err(|error| error.error)
    }

    /// Gives `file` the mode of the one that it replaces, if it has not got it: making it applied the umask.
    fn give_mode(&self, file: &File) -> io::Result<()> {
        let mode = self.replaced_mode.map(Permissions::from_mode);
        mode.map_or(Ok(()), |mode| give_mode(file, mode))
    }
}

/// Gives `file`, a directory as well, a mode. Some file systems that have none allow no change: one that is there
/// already is left.
pub(super) fn give_mode(file: &File, mode: Permissions) -> io::Result<()> {
    let found = file.metadata()?.permissions().mode() & 0o7777;
    if found == mode.mode() & 0o7777 {
        return Ok(());
    }
    file.set_permissions(mode)
}

/// Makes a writer from the start of the file. What an attempt before this one has written is cut off.
fn anew(file: &File) -> io::Result<OutputWriter> {
    file.set_len(0)?;
    file.try_clone().and_then(OutputWriter::direct)
}

/// Follows symbolic links, even if nothing is there yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().or_else(|_| follow_links(path))
}

/// Returns the permission bits of the file that will be replaced; `None` if there is none.
fn replaced_mode(path: &Path) -> io::Result<Option<u32>> {
    match std::fs::metadata(path) {
        Ok(metadata) => {
            // Replacing needs rights to the directory only. A file that the user may not write must not be
            // replaced either, so it is opened for writing.
            OpenOptions::new().write(true).open(path)?;
            // Without the bits that let a program run as its owner, who may be another from now on.
            Ok(Some(metadata.permissions().mode() & 0o777))
        }
        Err(_) => Ok(None),
    }
}

/// Waits until content and size of the file are on the disk.
fn sync(file: &File) -> io::Result<()> {
    fail_point!("output-sync", Err(crate::sys::failpoint::injected()));
    file.sync_all()
}

/// Waits until the name of the file at `path` is on the disk.
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory_of(path))?.sync_all()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::error::Error;

    #[test]
    fn f5_f6_a_file_is_replaced_as_a_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        std::fs::write(&path, "before").unwrap();
        // The umask takes some of it from a new file.
        std::fs::set_permissions(&path, Permissions::from_mode(0o4672)).unwrap();

        let target = || Target {
            path: path.clone(),
            replaced_mode: replaced_mode(&path).unwrap(),
            is_new: false,
            interrupt: Interrupt::new(),
        };
        let named = || OutputFile {
            compressing: None,
            name: String::new(),
            file: WrittenFile::named(target(), 0o666).unwrap(),
        };
        let unnamed = || OutputFile::create(&path, &Interrupt::new()).unwrap();
        let ways: [(&dyn Fn() -> OutputFile, &str); 2] = [(&named, "named"), (&unnamed, "unnamed")];
        let mut before = b"before".to_vec();
        for (open, after) in ways {
            let dropped = open();
            dropped.writer().unwrap().write_all(b"half").unwrap();
            drop(dropped);
            assert_eq!(std::fs::read(&path).unwrap(), before);

            let finished = open();
            let mut writer = finished.writer().unwrap();
            writer.write_all(after.as_bytes()).unwrap();
            writer.flush().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), before);
            finished.finish().unwrap();
            before = std::fs::read(&path).unwrap();
            assert_eq!(before, after.as_bytes());
            let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
            assert_eq!(mode, 0o672, "{after}");
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_link_is_followed_and_a_directory_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (
            directory.path().join("target"),
            directory.path().join("link"),
        );
        std::fs::write(&target, "before").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        OutputFile::create(&link, &Interrupt::new())
            .unwrap()
            .finish()
            .unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&target).unwrap(), b"");
        assert!(matches!(
            OutputFile::create(directory.path(), &Interrupt::new()),
            Err(Error::Output { .. })
        ));
    }
}
