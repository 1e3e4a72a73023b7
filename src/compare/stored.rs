//! A result that is kept in temporary space until it was compared.
//!
//! *Owns:* the file, and its share of the cap on temporary disk. *Invariants:* the file is written
//! as the result of a command is: in large pieces, by threads of its own, around the page cache. It
//! is removed with the space that it is in. *Cost:* 1 MiB of memory while it is written; the result's
//! bytes on disk.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::output::{OutputWriter, Sink};
use crate::temp::space::{SpillPath, TempSpace};

/// Bytes that are charged to the space at a time.
const CHARGE: u64 = 1 << 20;

/// The lines of a result, on their way to a file or there.
#[derive(Debug)]
pub(super) struct StoredResult {
    space: Arc<TempSpace>,
    file: SpillPath,
    writer: OutputWriter,
    terminator: u8,
    /// Bytes of all lines so far, with their terminators.
    bytes: u64,
    /// Bytes that the quota has granted: never less than was written.
    charged: u64,
    /// Why a line could not be stored: a sink can only return an I/O error, which would lose it.
    failure: Option<Error>,
}

impl StoredResult {
    /// Makes an empty result in `space`, whose file name contains `way`: the name of the run that finds it.
    ///
    /// # Errors
    /// [`Error::Temp`] when there can be no file.
    pub(super) fn new(space: &Arc<TempSpace>, way: &str, terminator: u8) -> Result<Self> {
        let file = space.new_path(way)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let writer = options.open(&file.path).and_then(OutputWriter::direct);
        let writer = writer.map_err(|error| {
            space.remove(&file, 0);
            unwritable(&file.path, error)
        })?;
        Ok(Self {
            space: Arc::clone(space),
            file,
            writer,
            terminator,
            bytes: 0,
            charged: 0,
            failure: None,
        })
    }

    /// Hands the rest to the system. The file then belongs to the returned value, which removes it.
    ///
    /// # Errors
    /// [`Error::Temp`] when it cannot be written.
    pub(super) fn finish(mut self) -> Result<Stored> {
        let flushed = self.writer.flush();
        flushed.map_err(|error| unwritable(&self.file.path, error))?;
        Ok(Stored {
            space: self.space,
            file: self.file,
            charged: self.charged,
        })
    }

    /// Returns the reason why a line could not be stored, if that made the run fail; else the run's own `error`.
    pub(super) fn failure_or(&mut self, error: Error) -> Error {
        self.failure.take().unwrap_or(error)
    }

    /// Charges the quota for a line, then writes it.
    ///
    /// # Errors
    /// [`Error::TempLimit`] at the cap, [`Error::Temp`] where the file cannot be written.
    fn write(&mut self, line: &[u8]) -> Result<()> {
        self.bytes += line.len() as u64 + 1;
        if self.bytes > self.charged {
            let more = (self.bytes - self.charged).next_multiple_of(CHARGE);
            self.space.charge(&self.file, more)?;
            self.charged += more;
        }
        let written = self.writer.write_all(line);
        written
            .and_then(|()| self.writer.write_all(&[self.terminator]))
            .map_err(|error| unwritable(&self.file.path, error))
    }
}

impl Sink for StoredResult {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.write(line).map_err(|error| {
            self.failure = Some(error);
            io::Error::other("temporary space")
        })
    }
}

/// A result that is complete. Its file goes when this is dropped.
#[derive(Debug)]
pub(super) struct Stored {
    space: Arc<TempSpace>,
    file: SpillPath,
    /// Bytes to give back to the quota when the file is removed.
    charged: u64,
}

impl Stored {
    /// Returns the path of its file.
    pub(super) fn path(&self) -> &Path {
        &self.file.path
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        self.space.remove(&self.file, self.charged);
    }
}

fn unwritable(path: &Path, source: io::Error) -> Error {
    Error::Temp {
        path: PathBuf::from(path),
        what: "cannot write a temporary result",
        source,
        advice: "free some space, or choose another directory with `temp_dirs`",
    }
}
