//! The file of a result: in place as a whole, or not at all.
//!
//! *Owns:* the file under its temporary name, and its way to its own name. *Invariants:* an
//! [`OutputFile`] is invisible under its name until [`OutputFile::finish`] has synced it; dropped
//! before that, it leaves what was there before. *Cost:* a sync of the file and one of its
//! directory.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Result;
use crate::interrupt::{Interrupt, PathGuard};
use crate::output::{OutputWriter, output_error};

/// A file that appears complete or not at all.
///
/// A regular file is written under another name beside its target, synced, and renamed over it,
/// keeping the mode of a file that it replaces; a symbolic link is followed. A FIFO or a device is
/// written directly.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    place: OutputPlace,
}

#[derive(Debug)]
enum OutputPlace {
    Unreplaced(File),
    // The guard is declared behind the file: the path stays on the list until the file is gone or
    // in place.
    Replacing(NamedTempFile, PathGuard),
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
        let fail = |error| {
            output_error(
                &path.display().to_string(),
                "cannot open for writing",
                error,
            )
        };
        if path.is_dir() {
            return Err(fail(io::Error::from_raw_os_error(
                rustix::io::Errno::ISDIR.raw_os_error(),
            )));
        }
        if !is_replaceable(path) {
            let file = OpenOptions::new().write(true).open(path).map_err(fail)?;
            return Ok(Self {
                path: path.to_owned(),
                place: OutputPlace::Unreplaced(file),
            });
        }
        let path = followed(path);
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mode = replaced_mode(&path, new_mode).map_err(fail)?;
        let make = || {
            tempfile::Builder::new()
                .prefix(".outset-")
                .suffix(".part")
                .permissions(Permissions::from_mode(mode))
                .tempfile_in(directory)
        };
        let (file, guard) = interrupt.guarded(make, NamedTempFile::path).map_err(fail)?;
        Ok(Self {
            path,
            place: OutputPlace::Replacing(file, guard),
        })
    }

    /// A writer into the file, from its start.
    ///
    /// # Errors
    /// [`crate::Error::Output`] when the system gives no second handle, or no memory for a buffer.
    pub fn writer(&self) -> Result<OutputWriter> {
        let writer = match &self.place {
            OutputPlace::Unreplaced(file) => file.try_clone().and_then(OutputWriter::buffered),
            // What was written before, by a run that was begun anew, goes.
            OutputPlace::Replacing(file, _) => {
                let emptied = file.as_file().set_len(0);
                emptied
                    .and_then(|()| file.as_file().try_clone())
                    .and_then(OutputWriter::direct)
            }
        };
        writer.map_err(|error| {
            output_error(
                &self.path.display().to_string(),
                "cannot open for writing",
                error,
            )
        })
    }

    /// Syncs the file and puts it in place. Flush the writer first.
    ///
    /// # Errors
    /// [`crate::Error::Output`]; the target is then what it was before.
    pub fn finish(self) -> Result<()> {
        let Self { path, place } = self;
        let target = path.display().to_string();
        match place {
            // A pipe or a device cannot be synced, and has nothing to be put in place.
            OutputPlace::Unreplaced(_) => Ok(()),
            OutputPlace::Replacing(file, _guard) => {
                file.as_file()
                    .sync_all()
                    .map_err(|e| output_error(&target, "cannot sync", e))?;
                file.persist(&path)
                    .map_err(|e| output_error(&target, "cannot put in place", e.error))?;
                sync_directory(&path)
                    .map_err(|e| output_error(&target, "cannot sync its directory", e))
            }
        }
    }
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

/// Where a symbolic link points, even if nothing is there yet.
fn followed(path: &Path) -> PathBuf {
    if let Ok(existing) = path.canonicalize() {
        return existing;
    }
    match (std::fs::read_link(path), path.parent()) {
        (Ok(target), Some(parent)) => parent.join(target),
        _ => path.to_owned(),
    }
}

/// The mode of the file that will be replaced, or `new_mode`, to which the process's umask is
/// applied.
fn replaced_mode(path: &Path, new_mode: u32) -> io::Result<u32> {
    match std::fs::metadata(path) {
        Ok(metadata) => {
            // A file that may not be written must not be replaced either.
            OpenOptions::new().write(true).open(path)?;
            Ok(metadata.permissions().mode() & 0o7777)
        }
        Err(_) => Ok(new_mode),
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::error::Error;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        std::fs::write(&path, "before").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();

        let dropped = OutputFile::create(&path, &Interrupt::new()).unwrap();
        dropped.writer().unwrap().write_all(b"half").unwrap();
        drop(dropped);
        assert_eq!(std::fs::read(&path).unwrap(), b"before");

        let finished = OutputFile::create(&path, &Interrupt::new()).unwrap();
        let mut writer = finished.writer().unwrap();
        writer.write_all(b"after").unwrap();
        writer.flush().unwrap();
        finished.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"after");
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
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
