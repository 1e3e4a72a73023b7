//! The directories that the parts of a file are in.
//!
//! *Owns:* the list of those parts of one file that are not in the directory where it begins.
//!
//! A file of three directories, whose first two became full:
//!
//! ```text
//!  offset       0            40 MiB      100 MiB       130 MiB
//!  directory 0  │ blocks     │ (hole)
//!  directory 1  │ (hole)     │ blocks    │ (hole)
//!  directory 2  │ (hole)                 │ blocks      │
//!  elsewhere    { 40..100 MiB: 1 }, { 100..130 MiB: 2 }
//! ```
//!
//! All parts have the same name and keep their offsets, so each is a sparse file. Two writer threads may move
//! the file on at the same time, to different directories; then parts of both alternate for a few blocks.
//!
//! *Invariants:* parts do not overlap, and are sorted. After a file has moved on, later writes begin in the
//! new directory. So the list is no longer than the number of directories and of writes that were under way at the
//! same time.
//!
//! *Cost:* a lock per read or write; no memory for a file whose directory has room.

use parking_lot::Mutex;

/// The parts of a file. The threads that write it share it; a directory is its index in [`TempDirectories`].
///
/// [`TempDirectories`]: crate::temp::directories::TempDirectories
#[derive(Debug)]
pub(super) struct Extents {
    /// The directory where the file begins, and which has everything that is not in the list.
    first_directory: usize,
    parts: Mutex<ExtentList>,
}

/// The list that the lock guards. It is never locked during I/O.
#[derive(Debug)]
struct ExtentList {
    /// The directory where the next write is tried first.
    latest: usize,
    /// Parts that are not in the first directory, sorted by offset. They do not overlap.
    elsewhere: Vec<Extent>,
}

/// A range of offsets in one directory.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// The first byte.
    start: u64,
    /// The end after the last byte; that of a block includes the hole up to the next.
    end: u64,
    directory: usize,
}

impl Extents {
    /// Describes a file that is in one directory, as far as it is written.
    pub(super) fn new(first_directory: usize) -> Self {
        Self {
            first_directory,
            parts: Mutex::new(ExtentList {
                latest: first_directory,
                elsewhere: Vec::new(),
            }),
        }
    }

    /// Returns the directory that the next write goes to.
    pub(super) fn latest(&self) -> usize {
        self.parts.lock().latest
    }

    /// Returns true if anything is in another directory than the first.
    pub(super) fn has_parts(&self) -> bool {
        !self.parts.lock().elsewhere.is_empty()
    }

    /// Notes that `bytes` from `start` on are in `directory`, after they were written there. True if they are the
    /// first of this file in a directory where it does not begin: of several threads, one gets true for a directory.
    pub(super) fn note(&self, directory: usize, start: u64, bytes: u64) -> bool {
        // Nothing to note. `latest` stays as well: another thread may have moved the file on meanwhile.
        if directory == self.first_directory {
            return false;
        }
        let mut parts = self.parts.lock();
        parts.latest = directory;
        let is_first = parts
            .elsewhere
            .iter()
            .all(|part| part.directory != directory);
        let end = start + bytes;
        let at = parts.elsewhere.partition_point(|part| part.start < start);
        // Joined with the part in front of it, as nearly all are. A gap to the next part is filled later by the
        // thread that writes it, as a part of its own.
        let before = at.checked_sub(1).map(|before| parts.elsewhere[before]);
        if before.is_some_and(|before| before.end == start && before.directory == directory) {
            parts.elsewhere[at - 1].end = end;
        } else {
            parts.elsewhere.insert(
                at,
                Extent {
                    start,
                    end,
                    directory,
                },
            );
        }
        is_first
    }

    /// Returns the directory of the byte at `offset`, and the offset up to which everything is in that directory, at
    /// most `end`. A reader calls it again from there until it is at `end`.
    pub(super) fn part_at(&self, offset: u64, end: u64) -> (usize, u64) {
        let parts = self.parts.lock();
        let next = parts.elsewhere.iter().find(|part| part.end > offset);
        match next {
            Some(part) if part.start <= offset => (part.directory, part.end.min(end)),
            Some(part) => (self.first_directory, part.start.min(end)),
            None => (self.first_directory, end),
        }
    }

    /// Lists all directories that have a part of the file, the first one included, each once.
    pub(super) fn directories(&self) -> Vec<usize> {
        let mut directories = vec![self.first_directory];
        for part in &self.parts.lock().elsewhere {
            if !directories.contains(&part.directory) {
                directories.push(part.directory);
            }
        }
        directories
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e14_what_went_elsewhere_is_found_where_it_went() {
        let extents = Extents::new(0);
        assert!(!extents.note(0, 0, 10) && !extents.has_parts());
        // The block at 20 was under way when the one at 10 found no room.
        assert!(extents.note(1, 10, 10));
        assert!(!extents.note(0, 20, 10));
        assert_eq!(extents.latest(), 1);
        for start in [30, 40] {
            assert!(!extents.note(1, start, 10));
        }
        assert!(extents.note(2, 50, 10), "the second directory is full, too");
        assert_eq!(
            extents.parts.lock().elsewhere.len(),
            3,
            "neighbours are one part"
        );
        let (mut at, mut found) = (0, Vec::new());
        while at < 60 {
            let (directory, end) = extents.part_at(at, 60);
            found.push((directory, at, end));
            at = end;
        }
        let parts = [
            (0, 0, 10),
            (1, 10, 20),
            (0, 20, 30),
            (1, 30, 50),
            (2, 50, 60),
        ];
        assert_eq!(found, parts);
        assert_eq!(extents.part_at(12, 15), (1, 15));
        assert_eq!(extents.directories(), [0, 1, 2]);
    }
}
