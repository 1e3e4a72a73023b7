//! The state of a regular file, by which a change of it is noticed.
//!
//! *Owns:* the comparison ([`FileState`]), and whether the size that a file claims is true. *Invariants:* a file is the
//! same only if device, inode, size and time of writing are. *Cost:* two system calls at most.

use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use crate::error::{Error, Result};
use crate::sys::file_id::FileId;

/// The properties that tell whether a file is still as it was at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    /// Device and inode.
    pub(crate) id: FileId,
    /// Bytes.
    pub(crate) size: u64,
    /// Time of the last write: seconds, nanoseconds.
    modified: (i64, i64),
}

impl FileState {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            id: FileId::of(metadata),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// Fails where the file, which messages call `name`, is not `now` as it was.
    ///
    /// # Errors
    /// [`Error::InputChanged`], with what differs.
    pub(crate) fn check(&self, now: &Self, name: &Path) -> Result<()> {
        match self.difference(now) {
            Some(what) => Err(Error::InputChanged {
                path: name.to_owned(),
                what,
            }),
            None => Ok(()),
        }
    }

    /// Says in words which of the properties differ.
    fn difference(&self, now: &Self) -> Option<String> {
        if self.id != now.id {
            return Some("another file now has this name".into());
        }
        if self.size != now.size {
            return Some(format!(
                "{} bytes at the start, {} now",
                self.size, now.size
            ));
        }
        // The change time is no evidence: it also moves when a file is linked or renamed.
        (self.modified != now.modified).then(|| "it was written to".into())
    }
}

/// Returns true if the size of a regular file is true. Files of /proc claim to be empty and are not, those of /sys
/// claim a page and have less: they are read to their end, like a stream.
pub(crate) fn has_size(file: &File) -> bool {
    let Ok(metadata) = file.metadata() else {
        return true;
    };
    let size = metadata.size();
    // After an empty file there must be nothing, and any other must have its last byte.
    let wanted = usize::from(size > 0);
    match file.read_at(&mut [0], size.saturating_sub(1)) {
        Ok(read) if read == wanted => true,
        // One that is cut short at this moment has changed: the next look at it tells.
        Ok(_) => file.metadata().is_ok_and(|now| now.size() != size),
        // Reading it fails later, and says why.
        Err(_) => true,
    }
}
