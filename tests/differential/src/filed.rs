//! A file that an answer goes to beside being collected, so that a run can read there what it has written.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// The file of an answer.
#[derive(Debug)]
pub struct Filed {
    file: Arc<File>,
    bytes: u64,
}

impl Filed {
    /// Makes the file, empty.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(true);
        Ok(Self {
            file: Arc::new(file.open(path)?),
            bytes: 0,
        })
    }

    /// Returns the file.
    pub fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Appends a line.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn push(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all_at(line, self.bytes)?;
        self.bytes += line.len() as u64 + 1;
        Ok(())
    }

    /// Takes everything out of it.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn empty(&mut self) -> io::Result<()> {
        self.bytes = 0;
        self.file.set_len(0)
    }
}
