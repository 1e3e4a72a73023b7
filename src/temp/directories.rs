//! The directories that temporary files go to.
//!
//! *Owns:* one private directory in each directory that the user named, shared by all runs of one command,
//! and the choice of the directory of each new file.
//!
//! *Invariants.*
//! - Private directories are 0700 from the moment they exist, with names that nobody can predict. They are removed
//!   when this value is dropped, and are known to the [`Interrupt`] for signals.
//! - What a killed run has left in a directory is removed before a run asks how much room there is.
//! - A new file goes where a file gets the most room: directories fill in proportion to what is free there.
//!
//! *Cost:* a descriptor for each private directory that was made; a listing of each directory, once per command; for
//! a new file two system calls a directory, where there is more than one.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, PathGuard, is_interrupted};
use crate::temp::disk::{may_cache, room_of_each};
use crate::temp::orphans::{Mark, PREFIX, mark_as_alive, remove_files, remove_orphans, remove_own};
use crate::temp::page_cache::PageCache;

/// The times that a directory is made anew because another run took it for an orphan. A run does that only in the
/// moment before the directory is marked; a process that takes this many is not a run of outset.
const TRIES: usize = 100;

/// The temporary directories of one command, shared by its runs and by all their threads.
#[derive(Debug)]
pub(crate) struct TempDirectories {
    /// The directories in the order of the options. One is known by its index. Empty only where no file is ever made.
    list: Vec<TempDirectory>,
    interrupt: Interrupt,
    /// The part of the page cache that blocks of bucket files go through.
    pub(super) page_cache: Arc<PageCache>,
    /// The number in the name of the next file. It is never used twice, so no two files have one name.
    next_file: AtomicU64,
    /// True if the first clean-up has begun.
    has_looked_for_orphans: AtomicBool,
}

/// One of the directories that the user named.
#[derive(Debug)]
pub(super) struct TempDirectory {
    /// The directory that the user named.
    pub(super) parent: PathBuf,
    /// True if blocks can be written and read around the page cache. True until the file system refuses it once.
    pub(super) is_direct: AtomicBool,
    /// True if its file system can keep bucket files in the page cache for a while.
    pub(super) can_cache: bool,
    /// The private directory; `None` before the first file. The lock is held while it is made, so that several
    /// threads make one.
    private: Mutex<Option<PrivateDirectory>>,
    /// Files named less files removed: at least the number of files that are in the directory.
    pub(super) present: AtomicU64,
}

/// The directory of one command in a [`TempDirectory`]. Declared in this order: the path stays on the interrupt's
/// list, and the mark of a live run stays in it, until the directory is removed.
#[derive(Debug)]
struct PrivateDirectory {
    /// Its own clean-up is turned off: [`remove_own`] does that, without following links.
    directory: TempDir,
    _guard: PathGuard,
    /// The locked file; `None` on a file system without locks.
    _mark: Option<File>,
}

impl Drop for TempDirectory {
    /// Removes the private directory with what is in it, while path and mark are still held. Errors are
    /// ignored: the mark then stays, and the next run with this directory tries again.
    fn drop(&mut self) {
        let made = self.private.get_mut();
        if let Some(made) = made {
            remove_own(made.directory.path(), *self.present.get_mut() > 0);
        }
    }
}

/// The name of a new file, and where it goes.
#[derive(Debug)]
pub(super) struct NewFile {
    /// The index of its directory.
    pub(super) directory: usize,
    /// The private directory, the number, a dash and the label.
    pub(super) path: PathBuf,
    /// True if the private directory was made for this file.
    pub(super) is_first: bool,
}

impl TempDirectories {
    /// Makes the temporary directories in `parents`, for a command that `interrupt` stops. Nothing is created before
    /// the first file. Without `parents`, asking for a file is a bug.
    pub(crate) fn new(parents: &[PathBuf], interrupt: &Interrupt) -> Arc<Self> {
        Arc::new(Self {
            list: parents
                .iter()
                .map(|parent| TempDirectory::new(parent))
                .collect(),
            interrupt: interrupt.clone(),
            page_cache: PageCache::of_system(),
            next_file: AtomicU64::new(0),
            has_looked_for_orphans: AtomicBool::new(false),
        })
    }

    /// Counts the directories.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns the directory with index `number`.
    pub(super) fn get(&self, number: usize) -> &TempDirectory {
        &self.list[number]
    }

    /// Removes what killed runs have left in the directories; a second time it does nothing. A thread that calls it
    /// while another is cleaning up does not wait: it may find less room than there will be.
    pub(crate) fn remove_orphans(&self) {
        if !self.has_looked_for_orphans.swap(true, Ordering::Relaxed) {
            for directory in &self.list {
                remove_orphans(&directory.parent);
            }
        }
    }

    /// Makes a name for a new file where there is the most room for one. The file is made by its first write, but
    /// counts as present from now on. `label` says what it is, for a person who finds it.
    ///
    /// # Errors
    /// [`Error::Temp`] when no private directory can be made: all file systems are full, or one fails for another
    /// reason; [`Error::Interrupted`] when the run was stopped.
    pub(super) fn new_file(&self, label: &str) -> Result<NewFile> {
        let number = self.next_file.fetch_add(1, Ordering::Relaxed);
        let name = format!("{number:06}-{label}");
        // Those where even a private directory finds no room. The others are tried, roomiest first.
        let mut full = Vec::new();
        loop {
            let Some(directory) = self.roomiest(&full, 0) else {
                return Err(self.list[0].no_directory(io::ErrorKind::StorageFull.into()));
            };
            match self.private_path(directory) {
                Ok((private, is_first)) => {
                    self.list[directory].present.fetch_add(1, Ordering::Relaxed);
                    return Ok(NewFile {
                        directory,
                        path: private.join(name),
                        is_first,
                    });
                }
                Err(Error::Temp { source, .. })
                    if is_full(&source) && full.len() + 1 < self.list.len() =>
                {
                    full.push(directory);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Finds the directory with the most room for one more file besides those that it has, among those that have
    /// `bytes` free and are not `excluded`. `None` if there is none.
    ///
    /// A single directory is never asked how much is free: there is no choice to make.
    pub(super) fn roomiest(&self, excluded: &[usize], bytes: u64) -> Option<usize> {
        let rooms = if self.list.len() == 1 {
            vec![u64::MAX]
        } else {
            room_of_each(self.list.iter().map(|directory| directory.parent.as_path()))
        };
        let present = self.list.iter();
        let present: Vec<u64> = present
            .map(|directory| directory.present.load(Ordering::Relaxed))
            .collect();
        roomiest(&rooms, &present, |directory| {
            !excluded.contains(&directory) && rooms[directory] >= bytes
        })
    }

    /// Returns the private directory in a directory, and true if this call has made it.
    ///
    /// # Errors
    /// As [`TempDirectories::new_file`].
    pub(super) fn private_path(&self, directory: usize) -> Result<(PathBuf, bool)> {
        // For users of temporary space that have not called it themselves.
        self.remove_orphans();
        self.list[directory].private_path(&self.interrupt)
    }

    /// Removes the files whose names `is_meant` from all private directories, but never the mark. What cannot
    /// be removed stays. The counts of present files stay as well: they may be too high, never too low.
    pub(super) fn remove_files(&self, is_meant: impl Fn(&[u8]) -> bool) {
        for directory in &self.list {
            let made = directory.private.lock();
            if let Some(made) = &*made {
                let _some_may_stay = remove_files(made.directory.path(), &is_meant);
            }
        }
    }
}

/// Finds the directory where each file has the most room if one more is added, among those that `may_be`: its room,
/// divided by one more than its files. Of equal ones, the first with the fewest files. So directories fill in
/// proportion to their room, although the sizes of files are not known beforehand.
fn roomiest(rooms: &[u64], present: &[u64], may_be: impl Fn(usize) -> bool) -> Option<usize> {
    let share = |directory: usize| rooms[directory] / (present[directory] + 1);
    (0..rooms.len())
        .filter(|&directory| may_be(directory))
        .min_by_key(|&directory| (std::cmp::Reverse(share(directory)), present[directory]))
}

/// Returns true if an error says that a directory has no room, which another may have.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

impl TempDirectory {
    /// Makes a temporary directory of `parent`, without a private directory.
    fn new(parent: &Path) -> Self {
        Self {
            parent: parent.to_owned(),
            is_direct: AtomicBool::new(true),
            can_cache: may_cache(parent),
            private: Mutex::default(),
            present: AtomicU64::new(0),
        }
    }

    /// Returns the private directory, and true if this call has made it. Other threads that want it wait meanwhile.
    ///
    /// 1. Make `outset-spill-XXXXXX`, and put it on the interrupt's list under the same lock.
    /// 2. Mark it as one of a live run.
    /// 3. If another run took it for an orphan between 1 and 2, make a new one.
    fn private_path(&self, interrupt: &Interrupt) -> Result<(PathBuf, bool)> {
        let mut made = self.private.lock();
        if let Some(made) = &*made {
            return Ok((made.directory.path().to_owned(), false));
        }
        interrupt.check()?;
        for _ in 0..TRIES {
            let (directory, guard) = self.new_directory(interrupt)?;
            let path = directory.path().to_owned();
            let mark = match mark_as_alive(&path) {
                Mark::Alive(file) => Some(file),
                Mark::None => None,
                Mark::Gone => continue,
            };
            *made = Some(PrivateDirectory {
                directory,
                _guard: guard,
                _mark: mark,
            });
            return Ok((path, true));
        }
        Err(self.no_directory(io::ErrorKind::NotFound.into()))
    }

    /// Makes a new directory, 0700 from the start, that a signal removes as long as the guard lives.
    fn new_directory(&self, interrupt: &Interrupt) -> Result<(TempDir, PathGuard)> {
        let make = || {
            tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(std::fs::Permissions::from_mode(0o700))
                .disable_cleanup(true)
                .tempdir_in(&self.parent)
        };
        interrupt
            .guarded(make, TempDir::path)
            .map_err(|source| self.no_directory(source))
    }

    /// Makes the error of this directory.
    fn no_directory(&self, source: io::Error) -> Error {
        no_directory(&self.parent, source)
    }
}

/// Makes the error of a directory in which no private directory can be made.
pub(crate) fn no_directory(parent: &Path, source: io::Error) -> Error {
    if is_interrupted(&source) {
        return Error::Interrupted;
    }
    Error::Temp {
        path: parent.to_owned(),
        what: "cannot create a temporary directory",
        source,
        advice: "choose another directory with `temp_dirs`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the files that each directory gets, of `files`, if their room never changes.
    fn divided(rooms: &[u64], files: usize) -> Vec<u64> {
        let mut present = vec![0; rooms.len()];
        for _ in 0..files {
            if let Some(directory) = roomiest(rooms, &present, |_| true) {
                present[directory] += 1;
            }
        }
        present
    }

    #[test]
    fn e14_files_are_divided_between_directories_by_their_room() {
        assert_eq!(divided(&[100, 100], 10), [5, 5], "alternately");
        assert_eq!(divided(&[u64::MAX; 3], 9), [3, 3, 3], "none tells");
        assert_eq!(divided(&[1 << 20, 9 << 20], 100), [10, 90]);
        assert_eq!(divided(&[0, 5 << 30], 50), [0, 50], "one is full");
        assert_eq!(divided(&[0, 0], 4), [2, 2], "all are");
        assert_eq!(
            roomiest(&[5, 9], &[0, 0], |directory| directory == 0),
            Some(0)
        );
        assert_eq!(roomiest(&[5, 9], &[0, 0], |_| false), None);
    }
}
