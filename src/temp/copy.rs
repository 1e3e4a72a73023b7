//! A copy of a stream in temporary space.
//!
//! *Owns:* one file, from its first byte to its removal. *Invariants:* it is written from its start to its end, in
//! whole pages but for the last; what it takes is counted against the cap before it is written. *Cost:* its size on
//! disk.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::temp::space::{SpillPath, TempSpace, padded};

/// A file that grows as a stream is read. It goes when this is dropped, unless it was kept.
#[derive(Debug)]
pub(crate) struct Copy<'a> {
    space: &'a TempSpace,
    file: SpillPath,
    /// The bytes of the stream that it has.
    bytes: u64,
    /// The bytes that the cap counts.
    charged_bytes: u64,
    /// True if the file is the run's.
    is_kept: bool,
}

impl<'a> Copy<'a> {
    /// Starts an empty copy, called `label`.
    ///
    /// # Errors
    /// As [`TempSpace::new_path`].
    pub(crate) fn new(space: &'a TempSpace, label: &str) -> Result<Self> {
        Ok(Self {
            space,
            file: space.new_path(label)?,
            bytes: 0,
            charged_bytes: 0,
            is_kept: false,
        })
    }

    /// Appends the first `filled` bytes of `buffer`, whose length is a multiple of a page. Only the last call, and none
    /// after it, may fill less than whole pages: those are filled up with zeros.
    ///
    /// # Errors
    /// As [`TempSpace::write`].
    pub(crate) fn append(&mut self, buffer: &mut [u8], filled: usize) -> Result<()> {
        // An empty copy is a file, too.
        if filled == 0 && self.bytes > 0 {
            return Ok(());
        }
        // Direct writes are of whole pages.
        let length = padded(filled as u64) as usize;
        buffer[filled..length].fill(0);
        self.space
            .write(&self.file, self.bytes, &buffer[..length])?;
        self.bytes += filled as u64;
        self.charged_bytes += length as u64;
        Ok(())
    }

    /// Leaves the file, which is complete, to the run. Returns its path.
    ///
    /// # Errors
    /// As [`TempSpace::set_len`].
    pub(crate) fn keep(mut self) -> Result<PathBuf> {
        TempSpace::set_len(&self.file, self.bytes)?;
        self.space.retain(self.charged_bytes);
        self.is_kept = true;
        Ok(self.file.path.clone())
    }

    /// Opens the file, which is complete, to read it from `start` on.
    ///
    /// # Errors
    /// As [`TempSpace::set_len`]; [`Error::Temp`] where it cannot be opened.
    pub(crate) fn read_from(self, start: u64) -> Result<CopyReader<'a>> {
        TempSpace::set_len(&self.file, self.bytes)?;
        let open = || {
            let mut file = File::open(&self.file.path)?;
            file.seek(SeekFrom::Start(start))?;
            Ok(file)
        };
        let file = open().map_err(|error| unreadable(&self.file, error))?;
        Ok(CopyReader { file, copy: self })
    }
}

impl Drop for Copy<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.space.remove(&self.file, self.charged_bytes);
        }
    }
}

/// A copy that is read in order.
#[derive(Debug)]
pub(crate) struct CopyReader<'a> {
    file: File,
    /// Removes the file when the reader goes.
    copy: Copy<'a>,
}

impl CopyReader<'_> {
    /// Reads until `buffer` is full or the copy has ended. Returns the bytes that were read.
    ///
    /// # Errors
    /// [`Error::Temp`] where reading fails.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(&self.copy.file, error)),
            }
        }
        Ok(filled)
    }
}

fn unreadable(file: &SpillPath, source: io::Error) -> Error {
    Error::Temp {
        path: file.path.clone(),
        what: "cannot read a temporary file",
        source,
        advice: "run again (the temporary disk is faulty, or the file no longer exists)",
    }
}
