//! A result that a run reads while it writes it.
//!
//! *Owns:* what a run asks of the file. *Invariants:* the file has the header and the lines as they came, and nothing
//! else. *Cost:* none.

use std::fs::File;
use std::io;
use std::sync::Arc;

/// The file of a result that is read while it is written.
pub trait Rereadable {
    /// Returns the file, open for reading. What is written from here on stays in the page cache, as long as the system
    /// has room there.
    ///
    /// # Errors
    /// When what is in buffers cannot be written.
    fn file(&mut self) -> io::Result<Arc<File>>;

    /// Hands everything to the system: it can be read in the file from here on.
    ///
    /// # Errors
    /// When it cannot be written.
    fn settle(&mut self) -> io::Result<()>;

    /// Empties the file, for a run that begins again, with the header.
    ///
    /// # Errors
    /// When the system refuses.
    fn empty(&mut self) -> io::Result<()>;
}
