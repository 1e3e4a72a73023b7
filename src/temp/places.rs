//! The places that temporary files go to.
//!
//! *Owns:* one private directory in each place that the user named, shared by all runs of one command,
//! and the choice of the place of each new file.
//!
//! *Invariants.*
//! - Directories are 0700 from the moment they exist, with names that nobody can predict. They go when
//!   this value is dropped, and are known to the [`Interrupt`] for signals.
//! - What a killed run has left in a place goes before a run asks how much room the place has.
//! - A new file goes where a file gets the most room: places fill in proportion to what is free there.
//!
//! *Cost:* a descriptor for each directory that was made; a listing of each place, once per command; for
//! a new file two system calls a place, where there is more than one.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, PathGuard};
use crate::temp::disk::room_of_each;
use crate::temp::orphans::{Mark, PREFIX, mark_as_alive, remove_files, remove_orphans, remove_own};

/// How often a directory is made anew that was taken for an orphan: a process that takes this many is no run of
/// this program.
const TRIES: usize = 100;

/// The places of one command.
#[derive(Debug)]
pub(crate) struct Places {
    list: Vec<Place>,
    interrupt: Interrupt,
    next_file: AtomicU64,
    has_looked_for_orphans: AtomicBool,
}

/// One of the places that the user named.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) parent: PathBuf,
    /// Whether files are written around the page cache.
    pub(super) is_direct: AtomicBool,
    /// Made when the first file is.
    directory: Mutex<Option<PrivateDirectory>>,
    /// Files named less files removed.
    pub(super) present: AtomicU64,
}

/// Declared in this order: the path stays on the interrupt's list, and the mark of a live run in its
/// place, until the directory is gone.
#[derive(Debug)]
struct PrivateDirectory {
    directory: TempDir,
    _guard: PathGuard,
    _mark: Option<File>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let made = self
            .directory
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = made {
            remove_own(made.directory.path(), *self.present.get_mut() > 0);
        }
    }
}

/// The name of a new file, and where it goes.
#[derive(Debug)]
pub(super) struct NewFile {
    pub(super) place: usize,
    pub(super) path: PathBuf,
    /// Whether the directory was made for it.
    pub(super) is_first: bool,
}

impl Places {
    /// A place in each of `parents`, for a command that `interrupt` stops.
    pub(crate) fn new(parents: &[PathBuf], interrupt: &Interrupt) -> Arc<Self> {
        Arc::new(Self {
            list: parents.iter().map(|parent| Place::new(parent)).collect(),
            interrupt: interrupt.clone(),
            next_file: AtomicU64::new(0),
            has_looked_for_orphans: AtomicBool::new(false),
        })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// One of the places.
    pub(super) fn place(&self, number: usize) -> &Place {
        &self.list[number]
    }

    /// Removes what killed runs have left in the places; a second time it does nothing.
    pub(crate) fn remove_orphans(&self) {
        if !self.has_looked_for_orphans.swap(true, Ordering::Relaxed) {
            for place in &self.list {
                remove_orphans(&place.parent);
            }
        }
    }

    /// A name for a new file where there is the most room for one. The file is made by its first write.
    ///
    /// # Errors
    /// [`Error::Temp`] when its directory cannot be made.
    pub(super) fn new_file(&self, label: &str) -> Result<NewFile> {
        let number = self.next_file.fetch_add(1, Ordering::Relaxed);
        let name = format!("{number:06}-{label}");
        let mut full = Vec::new();
        loop {
            let Some(place) = self.roomiest(&full, 0) else {
                return Err(self.list[0].no_directory(io::ErrorKind::StorageFull.into()));
            };
            match self.directory(place) {
                Ok((directory, is_first)) => {
                    self.list[place].present.fetch_add(1, Ordering::Relaxed);
                    return Ok(NewFile {
                        place,
                        path: directory.join(name),
                        is_first,
                    });
                }
                Err(Error::Temp { source, .. })
                    if is_full(&source) && full.len() + 1 < self.list.len() =>
                {
                    full.push(place);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The place with the most room for one more file beside those that it has, of those that have
    /// `bytes` free and are not `excluded`.
    pub(super) fn roomiest(&self, excluded: &[usize], bytes: u64) -> Option<usize> {
        let rooms = if self.list.len() == 1 {
            vec![u64::MAX]
        } else {
            room_of_each(self.list.iter().map(|place| place.parent.as_path()))
        };
        let present = self.list.iter();
        let present: Vec<u64> = present
            .map(|place| place.present.load(Ordering::Relaxed))
            .collect();
        roomiest(&rooms, &present, |place| {
            !excluded.contains(&place) && rooms[place] >= bytes
        })
    }

    /// The private directory of a place, and whether it was made now because it was not there yet.
    pub(super) fn directory(&self, place: usize) -> Result<(PathBuf, bool)> {
        self.remove_orphans();
        self.list[place].directory(&self.interrupt)
    }

    /// Removes the files whose names `is_meant`. What cannot be removed stays.
    pub(super) fn remove_files(&self, is_meant: impl Fn(&[u8]) -> bool) {
        for place in &self.list {
            let made = place
                .directory
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if let Some(made) = &*made {
                let _some_may_stay = remove_files(made.directory.path(), &is_meant);
            }
        }
    }
}

/// Of the places that `may_be`, the one where a file more leaves each the most room; of equal ones the
/// first that has the fewest files.
fn roomiest(rooms: &[u64], present: &[u64], may_be: impl Fn(usize) -> bool) -> Option<usize> {
    let share = |place: usize| rooms[place] / (present[place] + 1);
    (0..rooms.len())
        .filter(|&place| may_be(place))
        .min_by_key(|&place| (std::cmp::Reverse(share(place)), present[place]))
}

/// Whether an error says that a place has no room, which another may have.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

impl Place {
    fn new(parent: &Path) -> Self {
        Self {
            parent: parent.to_owned(),
            is_direct: AtomicBool::new(true),
            directory: Mutex::default(),
            present: AtomicU64::new(0),
        }
    }

    fn directory(&self, interrupt: &Interrupt) -> Result<(PathBuf, bool)> {
        let mut made = self
            .directory
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
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

    fn no_directory(&self, source: io::Error) -> Error {
        no_directory(&self.parent, source)
    }
}

/// The error of a place in which no directory can be made.
pub(crate) fn no_directory(parent: &Path, source: io::Error) -> Error {
    Error::Temp {
        path: parent.to_owned(),
        what: "cannot create a temporary directory",
        source,
        advice: "choose another directory with --temp-dir",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `files` each place gets whose room never changes.
    fn divided(rooms: &[u64], files: usize) -> Vec<u64> {
        let mut present = vec![0; rooms.len()];
        for _ in 0..files {
            if let Some(place) = roomiest(rooms, &present, |_| true) {
                present[place] += 1;
            }
        }
        present
    }

    #[test]
    fn e14_files_are_divided_between_places_by_their_room() {
        assert_eq!(divided(&[100, 100], 10), [5, 5], "by turns");
        assert_eq!(divided(&[u64::MAX; 3], 9), [3, 3, 3], "none tells");
        assert_eq!(divided(&[1 << 20, 9 << 20], 100), [10, 90]);
        assert_eq!(divided(&[0, 5 << 30], 50), [0, 50], "one is full");
        assert_eq!(divided(&[0, 0], 4), [2, 2], "all are");
        assert_eq!(roomiest(&[5, 9], &[0, 0], |place| place == 0), Some(0));
        assert_eq!(roomiest(&[5, 9], &[0, 0], |_| false), None);
    }
}
