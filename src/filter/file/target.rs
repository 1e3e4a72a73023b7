//! The file that a filter is written to: opened before the work, in place after it.
//!
//! *Owns:* the file under its temporary name, and the lock that keeps others from replacing the same
//! filter meanwhile. *Invariants:* if two processes would replace a filter at the same time, one is refused
//! before it has read anything; if both would make a new one, the second is in the end. The filter is what it was until
//! [`FilterTarget::finish`].
//! *Cost:* a descriptor for the lock, one for the file.
//!
//! *Source:* flock(2). The lock is on the file that will be replaced, so it ends with it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::filter::file::save::{header, write};
use crate::filter::filter::Filter;
use crate::interrupt::Interrupt;
use crate::memory::buffer::Buffer;
use crate::output::{OutputFile, is_appended_to};
use crate::sys::file_id::FileId;

/// The most times that a file is opened again because another process replaced it between opening and locking.
const TRIES: u32 = 10;

/// The name under which a filter will be written, and the file that will get the name.
#[derive(Debug)]
pub struct FilterTarget {
    path: PathBuf,
    file: OutputFile,
    /// The locked filter that will be replaced, if there is one. Closing it gives the lock back.
    _lock: Option<File>,
}

impl FilterTarget {
    /// Opens `path` for a filter; `-` is standard output. Open it before the filter that it replaces is
    /// read.
    ///
    /// # Errors
    /// [`Error::Output`] when it cannot be written, or when another process is about to replace it;
    /// [`Error::Usage`] where standard output or standard error is appended to it.
    pub fn open(path: &Path, interrupt: &Interrupt) -> Result<Self> {
        // Written through the stream, the new filter would be appended to the old one.
        if is_appended_to(path) {
            return Err(Error::usage(
                format!(
                    "{}: standard output or standard error appends to this filter",
                    path.display()
                ),
                "redirect it to another file",
            ));
        }
        Ok(Self {
            path: path.to_owned(),
            _lock: if path == Path::new("-") {
                None
            } else {
                lock(path)?
            },
            // Where there is none to be locked, one that another process has made by the end is not replaced.
            file: OutputFile::create_private(path, interrupt)?.replacing_nothing_new(),
        })
    }

    /// Returns the path of the filter.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a filter, in the place of any that was written before.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn write(&self, filter: &Filter<Buffer>) -> Result<()> {
        let header = header(filter.shape(), filter.rules(), filter.keys());
        write(header, filter.cells(), &self.file)
    }

    /// Puts what was written in place.
    ///
    /// # Errors
    /// [`Error::Output`]; what was there before is still there then.
    pub fn finish(self) -> Result<()> {
        self.file.finish()
    }
}

impl Filter<Buffer> {
    /// Writes the filter to `path`, complete or not at all, readable by its owner alone (a file that
    /// is replaced keeps its mode).
    ///
    /// # Errors
    /// [`crate::Error::Output`]; what was there before is still there then.
    pub fn save(&self, path: &Path, interrupt: &Interrupt) -> Result<()> {
        let target = FilterTarget::open(path, interrupt)?;
        target.write(self)?;
        target.finish()
    }
}

/// Locks the regular file that has this name, if there is one. Never waits for the lock.
///
/// # Errors
/// [`Error::Output`] where another process holds the lock, the file cannot be written, or its file system has
/// no locks.
fn lock(path: &Path) -> Result<Option<File>> {
    let refuse = |source, advice| Error::Output {
        target: path.display().to_string(),
        what: "cannot change this filter",
        source,
        advice,
    };
    for _ in 0..TRIES {
        if !path.is_file() {
            return Ok(None);
        }
        // Some file systems lock only what is open for writing.
        let opened = OpenOptions::new()
            .write(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
            .open(path);
        let file = opened.map_err(|error| refuse(error, "choose a file that you may write to"))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let source = io::Error::other("another process is changing it");
                return Err(refuse(source, "wait until that process ends"));
            }
            Err(error) => {
                return Err(refuse(
                    error.into(),
                    "choose a file system that supports file locks",
                ));
            }
        }
        // Between opening and locking another may have put a new file in its place.
        if is_at(&file, path) {
            return Ok(Some(file));
        }
    }
    let source = io::Error::other("other processes keep changing it");
    Err(refuse(source, "wait until they end"))
}

/// Tells whether `path` is the name of this file.
fn is_at(file: &File, path: &Path) -> bool {
    match (FileId::of_open(file), FileId::at(path)) {
        (Ok(held), Ok(named)) => held == named,
        _ => false,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn i12_a_file_that_lost_its_name_to_another_is_known() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("one"), directory.path().join("other"));
        std::fs::write(&one, "1").unwrap();
        std::fs::write(&other, "2").unwrap();
        let held = File::open(&one).unwrap();
        assert!(is_at(&held, &one) && !is_at(&held, &other));
        std::fs::rename(&other, &one).unwrap();
        assert!(!is_at(&held, &one));
        std::fs::remove_file(&one).unwrap();
        assert!(!is_at(&held, &one));
    }
}
