//! The file of a result: in place as a whole, or not at all.
//!
//! *Owns:* the file, which has no name where the file system knows such files (`unnamed`) and else a
//! temporary one, and its way to its own. *Invariants:* an [`OutputFile`] is invisible under its name
//! until [`OutputFile::finish`] has synced it; dropped before that, it leaves what was there before.
//! *Cost:* a sync of the file and one of its directory.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use tempfile::NamedTempFile;

use crate::error::Result;
use crate::interrupt::{Interrupt, PathGuard};
use crate::output::unnamed::UnnamedFile;
use crate::output::{OutputWriter, output_error};
use crate::sys::failpoint::fail_point;
use crate::sys::file_id::{FileId, directory_of, follow_links};

/// A file that appears complete or not at all.
///
/// A regular file is written without a name, or under another, in the directory of its target, synced,
/// and given the target's name, keeping the mode of a file that it replaces; a symbolic link is followed. A FIFO or a device is
/// written directly, and so is a file that standard output or standard error goes to. `-` is standard
/// output.
#[derive(Debug)]
pub struct OutputFile {
    /// What messages call it.
    name: String,
    place: OutputPlace,
}

#[derive(Debug)]
enum OutputPlace {
    Unreplaced(File),
    /// To be named by the path.
    Unnamed(UnnamedFile, PathBuf),
    // The guard is declared behind the file: the path stays on the list until the file is gone or
    // in place.
    Replacing(NamedTempFile, PathGuard, PathBuf),
}

impl OutputFile {
    /// Opens `path` for a result. What is there stays until [`OutputFile::finish`].
    ///
    /// # Errors
    /// [`crate::Error::Output`] where the target cannot be written.
    pub fn create(path: &Path, interrupt: &Interrupt) -> Result<Self> {
        Self::create_as(path, interrupt, 0o666)
    }

    /// As [`OutputFile::create`]; a new file is readable by its owner alone.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn create_private(path: &Path, interrupt: &Interrupt) -> Result<Self> {
        Self::create_as(path, interrupt, 0o600)
    }

    fn create_as(path: &Path, interrupt: &Interrupt, new_mode: u32) -> Result<Self> {
        let (name, place) = if path == Path::new("-") {
            let place = stdout().map(OutputPlace::Unreplaced);
            ("standard output".to_owned(), place)
        } else {
            let place = OutputPlace::open(path, interrupt, new_mode);
            (path.display().to_string(), place)
        };
        match place {
            Ok(place) => Ok(Self { name, place }),
            Err(error) => Err(output_error(&name, "cannot open for writing", error)),
        }
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A writer into the file, from its start.
    ///
    /// # Errors
    /// [`crate::Error::Output`] when the system gives no second handle, or no memory for a buffer.
    pub fn writer(&self) -> Result<OutputWriter> {
        let writer = match &self.place {
            OutputPlace::Unreplaced(file) => file.try_clone().and_then(OutputWriter::buffered),
            OutputPlace::Unnamed(file, _) => anew(file.as_file()),
            OutputPlace::Replacing(file, ..) => anew(file.as_file()),
        };
        writer.map_err(|error| output_error(&self.name, "cannot open for writing", error))
    }

    /// Syncs the file and puts it in place. Flush the writer first.
    ///
    /// # Errors
    /// [`crate::Error::Output`]; the target is then what it was before.
    pub fn finish(self) -> Result<()> {
        let Self { name, place } = self;
        let name = name.as_str();
        let fail = |what| move |error| output_error(name, what, error);
        let path = match place {
            // A pipe or a device cannot be synced, and has nothing to be put in place.
            OutputPlace::Unreplaced(_) => return Ok(()),
            OutputPlace::Unnamed(file, path) => {
                file.take_mode().map_err(fail("cannot set the mode"))?;
                sync(file.as_file()).map_err(fail("cannot sync"))?;
                file.name(&path).map_err(fail("cannot move into place"))?;
                path
            }
            OutputPlace::Replacing(file, _guard, path) => {
                sync(file.as_file()).map_err(fail("cannot sync"))?;
                let named = file.persist(&path).map_err(|error| error.error);
                named.map_err(fail("cannot move into place"))?;
                path
            }
        };
        sync_directory(&path).map_err(fail("cannot sync its directory"))
    }
}

impl OutputPlace {
    fn open(path: &Path, interrupt: &Interrupt, new_mode: u32) -> io::Result<Self> {
        if path.is_dir() {
            return Err(rustix::io::Errno::ISDIR.into());
        }
        if let Some(file) = standard_stream_at(path) {
            return Ok(Self::Unreplaced(file));
        }
        if !is_replaceable(path) {
            return OpenOptions::new()
                .write(true)
                .open(path)
                .map(Self::Unreplaced);
        }
        let path = followed(path)?;
        let replaced = replaced_mode(&path)?;
        match UnnamedFile::create(&path, replaced, new_mode, interrupt) {
            Some(file) => Ok(Self::Unnamed(file, path)),
            None => Self::named(path, replaced.unwrap_or(new_mode), interrupt),
        }
    }

    /// The file under a temporary name.
    fn named(path: PathBuf, mode: u32, interrupt: &Interrupt) -> io::Result<Self> {
        let make = || {
            part_names()
                .permissions(Permissions::from_mode(mode))
                .tempfile_in(directory_of(&path))
        };
        let (file, guard) = interrupt.guarded(make, NamedTempFile::path)?;
        Ok(Self::Replacing(file, guard, path))
    }
}

/// A writer from the start of the file: what was written before, by a run that was begun anew, goes.
fn anew(file: &File) -> io::Result<OutputWriter> {
    file.set_len(0)?;
    file.try_clone().and_then(OutputWriter::direct)
}

/// Standard output or standard error, if that is redirected to the file at `path` (`/dev/stdout` is such
/// a path): replaced, the file would no longer be where the stream goes.
fn standard_stream_at(path: &Path) -> Option<File> {
    let wanted = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
    let wanted = FileId::of(&wanted);
    let is_it = |id: FileId| id == wanted;
    let fd = if FileId::of_open(io::stdout()).is_ok_and(is_it) {
        rustix::io::dup(io::stdout())
    } else if FileId::of_open(io::stderr()).is_ok_and(is_it) {
        rustix::io::dup(io::stderr())
    } else {
        return None;
    };
    fd.ok().map(File::from)
}

/// Whether standard output or standard error goes to the file at `path`, behind something that is in it.
pub(crate) fn is_appended_to(path: &Path) -> bool {
    standard_stream_at(path).is_some() && std::fs::metadata(path).is_ok_and(|found| found.len() > 0)
}

/// Standard output as a file of its own. One that is closed, or only for reading, is refused before
/// any work is done.
fn stdout() -> io::Result<File> {
    let stdout = rustix::io::dup(io::stdout())?;
    let flags = rustix::fs::fcntl_getfl(&stdout)?;
    if flags.intersection(OFlags::RWMODE) == OFlags::RDONLY {
        return Err(rustix::io::Errno::BADF.into());
    }
    Ok(File::from(stdout))
}

/// Whether `path` is a regular file, or nothing yet: something that can be replaced as a whole.
fn is_replaceable(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(metadata) => {
            let kind = metadata.file_type();
            !(kind.is_fifo() || kind.is_char_device() || kind.is_block_device() || kind.is_socket())
        }
        Err(_) => true,
    }
}

/// Where symbolic links lead, even if nothing is there yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().or_else(|_| follow_links(path))
}

/// The mode of the file that will be replaced, if there is one.
fn replaced_mode(path: &Path) -> io::Result<Option<u32>> {
    match std::fs::metadata(path) {
        Ok(metadata) => {
            // A file that may not be written must not be replaced either.
            OpenOptions::new().write(true).open(path)?;
            Ok(Some(metadata.permissions().mode() & 0o7777))
        }
        Err(_) => Ok(None),
    }
}

fn sync(file: &File) -> io::Result<()> {
    fail_point!("output-sync", Err(crate::sys::failpoint::injected()));
    file.sync_all()
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory_of(path))?.sync_all()
}

/// The names that files have before their own.
pub(super) fn part_names() -> tempfile::Builder<'static, 'static> {
    let mut names = tempfile::Builder::new();
    names.prefix(".outset-").suffix(".part");
    names
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::error::Error;

    #[test]
    fn f5_f6_a_file_is_replaced_as_a_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        std::fs::write(&path, "before").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();

        let named = || OutputFile {
            name: String::new(),
            place: OutputPlace::named(path.clone(), 0o640, &Interrupt::new()).unwrap(),
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
            let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o640);
            assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_link_is_followed_and_a_directory_refused() {
        let place = tempfile::tempdir().unwrap();
        let (target, link) = (place.path().join("target"), place.path().join("link"));
        std::fs::write(&target, "before").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        OutputFile::create(&link, &Interrupt::new())
            .unwrap()
            .finish()
            .unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&target).unwrap(), b"");
        assert!(matches!(
            OutputFile::create(place.path(), &Interrupt::new()),
            Err(Error::Output { .. })
        ));
    }
}
