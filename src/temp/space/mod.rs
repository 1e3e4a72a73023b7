//! Temporary space: what a run writes to the temporary directories, and how much.
//!
//! *Owns:* every temporary file of the run, and the count of bytes on disk against the cap. The private
//! directories that they are in belong to [`TempDirectories`].
//!
//! *Invariants.*
//! - Files are 0600 from the moment they exist; only what was made here is ever removed.
//! - Bytes are charged before they are written and given back when the write fails or the file
//!   goes: the cap is never exceeded, and an error does not shrink it.
//! - A bucket's file whose directory is full goes on in another: under the same name, at the same offsets
//!   (`extents`). A write fails for lack of room only when all directories are full.
//!
//! What a write does, on the thread that calls it (a worker or a writer thread):
//!
//! 1. Check that the run was not stopped, and take the bytes from the quota.
//! 2. Open the file in the directory where it is by now, write, close.
//! 3. If that directory is full and the file may go on elsewhere, try the others, roomiest first.
//! 4. Note where the bytes are. Or, if no directory took them, give them back to the quota and fail.
//!
//! All numbers are atomic and only added up, so any thread may read, write and remove at any time. No lock of
//! this room is held while a file is read or written.
//!
//! *Cost:* an open and a close for each operation; no descriptor stays open between two of them. As long as the system
//! has little unwritten, blocks of buckets go through the page cache (`page_cache`). All others go around it
//! (`O_DIRECT`) where the file system allows that: so they took a quarter of the time of a full cache.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::memory::buffer::PAGE;
use crate::notice::Notice;
use crate::temp::directories::{TempDirectories, is_full};
use crate::temp::disk::{has_no_inodes, is_in_memory};
use crate::temp::extents::Extents;
use crate::temp::page_cache::CachedPart;
use crate::temp::quota::Quota;

pub(crate) use self::path::SpillPath;

/// The advice for a full disk.
const FREE_SPACE: &str = "free some space, or choose another directory with `temp_dirs`";
/// The advice for a disk that has room, but not for another file.
const NO_INODES: &str = "use fewer `buckets`, or choose another directory with `temp_dirs` (this file system has no free inodes)";

/// The label in the names of bucket files, and in those of no other files: [`TempSpace::remove_buckets`] finds them
/// by it.
pub(crate) const BUCKET_LABEL: &str = "bucket";

/// A function that passes a notice on to the user.
pub(crate) type Notify = Arc<dyn Fn(&Notice) + Send + Sync>;

/// The temporary files of one run.
pub(crate) struct TempSpace {
    directories: Arc<TempDirectories>,
    interrupt: Interrupt,
    /// The listener that hears of a directory in memory, when it is used.
    notify: Option<Notify>,
    /// The cap, which this run may share with others.
    quota: Arc<Quota>,
    /// Bytes of the quota that this run has now.
    used: AtomicU64,
    /// The most that `used` has been.
    peak: AtomicU64,
    /// Bytes written since the start, also those whose files were removed.
    written: AtomicU64,
    /// Bytes read since the start, padding and holes included.
    read: AtomicU64,
    /// Files made since the start; a file counts once for each directory that it has a part in.
    files: AtomicU64,
    /// Bytes of files that outlast an attempt: part of `used`.
    retained: AtomicU64,
}

/// The use of temporary space so far, in bytes and files.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SpaceUse {
    /// Bytes written in all, padding included.
    pub(crate) written_bytes: u64,
    /// Read in all.
    pub(crate) read_bytes: u64,
    /// On disk at one time, at most.
    pub(crate) peak_bytes: u64,
    /// Files made.
    pub(crate) files: u64,
}

impl TempSpace {
    /// Makes temporary space in each of `parents`, as much as `quota` allows. Without `parents`, no file may be made.
    pub(crate) fn new(parents: &[PathBuf], quota: Arc<Quota>, interrupt: &Interrupt) -> Self {
        Self::in_directories(TempDirectories::new(parents, interrupt), quota, interrupt)
    }

    /// Makes temporary space in `directories`, which other runs may use, too.
    pub(crate) fn in_directories(
        directories: Arc<TempDirectories>,
        quota: Arc<Quota>,
        interrupt: &Interrupt,
    ) -> Self {
        Self {
            directories,
            interrupt: interrupt.clone(),
            notify: None,
            quota,
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            written: AtomicU64::new(0),
            read: AtomicU64::new(0),
            files: AtomicU64::new(0),
            retained: AtomicU64::new(0),
        }
    }

    /// Returns true if files may be made.
    pub(crate) fn has_directories(&self) -> bool {
        self.directories.count() > 0
    }

    /// Returns the directories that the files go to.
    pub(crate) fn directories(&self) -> &TempDirectories {
        &self.directories
    }

    /// Adds a function that passes on what the user should know of the directories.
    pub(crate) fn notifying(mut self, notify: Option<Notify>) -> Self {
        self.notify = notify;
        self
    }

    /// Makes a path for a new file that stays in one directory. The file is made by its first write, which must be at
    /// offset 0. `label` becomes part of its name and must not contain [`BUCKET_LABEL`] unless the file may go when
    /// an attempt fails.
    ///
    /// # Errors
    /// [`Error::Temp`] when its directory cannot be made.
    pub(crate) fn new_path(&self, label: &str) -> Result<SpillPath> {
        let new = self.directories.new_file(label)?;
        if new.is_first {
            self.note_if_in_memory(&self.directories.get(new.directory).parent);
        }
        Ok(SpillPath {
            directory: new.directory,
            path: new.path,
            cached: None,
            extents: None,
        })
    }

    /// Works as [`TempSpace::new_path`], for a file that is removed soon, and goes on in another directory when its own
    /// is full. Only this space can read such a file, because it knows where the parts are, and which are in the page
    /// cache.
    ///
    /// # Errors
    /// As [`TempSpace::new_path`].
    pub(crate) fn new_bucket_path(&self, label: &str) -> Result<SpillPath> {
        let path = self.new_path(label)?;
        // Nothing is remembered of a file that has nowhere to go on.
        let extents =
            (self.directories.count() > 1).then(|| Arc::new(Extents::new(path.directory)));
        let cached = Arc::new(CachedPart::new(&self.directories.page_cache));
        Ok(SpillPath {
            cached: Some(cached),
            extents,
            ..path
        })
    }

    /// Gives notice that what is spilled to `parent` takes memory, if it does. Called when the private directory
    /// is made: once for each directory.
    fn note_if_in_memory(&self, parent: &Path) {
        if let Some(notify) = &self.notify
            && is_in_memory(parent)
        {
            notify(&Notice::TempInMemory {
                directory: parent.to_owned(),
            });
        }
    }

    /// Writes `bytes` (whole pages) at `offset` (a multiple of the page size). The write at offset 0 makes the
    /// file and must be complete before any other begins. Returns when the system has the bytes; they are not
    /// synced, because they need not survive a crash.
    ///
    /// # Errors
    /// [`Error::TempLimit`] where the cap does not allow it, [`Error::Temp`] where the disk does not,
    /// [`Error::Interrupted`] when the run was stopped. The quota is as it was before.
    pub(crate) fn write(&self, file: &SpillPath, offset: u64, bytes: &[u8]) -> Result<()> {
        self.write_block(file, offset, bytes, bytes.len() as u64)
    }

    /// Works as [`TempSpace::write`], for a block that ends before the next one may begin, `block_bytes` after it.
    /// The hole between them belongs to the block: it is read from the same file.
    ///
    /// # Errors
    /// As [`TempSpace::write`].
    pub(crate) fn write_block(
        &self,
        file: &SpillPath,
        offset: u64,
        bytes: &[u8],
        block_bytes: u64,
    ) -> Result<()> {
        self.interrupt.check()?;
        // Before the write: the disk never has more than the quota counts.
        self.charge(file, bytes.len() as u64)?;
        let written = self.write_where_there_is_room(file, offset, bytes, block_bytes);
        written.inspect_err(|_| self.release(bytes.len() as u64))?;
        self.written
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Writes to the directory where the file is by now. If that is full, to another one, where later writes then
    /// go, too. Several threads may do this for one file at the same time, even to different directories.
    ///
    /// # Errors
    /// [`Error::Temp`] with the error of the last directory tried.
    fn write_where_there_is_room(
        &self,
        file: &SpillPath,
        offset: u64,
        bytes: &[u8],
        block_bytes: u64,
    ) -> Result<()> {
        let mut directory = file.extents.as_ref().map_or(file.directory, |e| e.latest());
        // The directories that have refused this write.
        let mut full = Vec::new();
        loop {
            // Counted before it is there, and also where the write fails: a failed write may leave a file
            // of no bytes, and the directory is only emptied where there may be some.
            if directory != file.directory {
                let present = &self.directories.get(directory).present;
                present.fetch_add(1, Ordering::Relaxed);
            }
            let error = match self.write_pages(file, directory, offset, bytes) {
                Ok(()) => {
                    let is_first = file
                        .extents
                        .as_ref()
                        .is_some_and(|extents| extents.note(directory, offset, block_bytes));
                    if is_first {
                        self.files.fetch_add(1, Ordering::Relaxed);
                    } else if directory != file.directory {
                        // It was counted by the write that made it.
                        let present = &self.directories.get(directory).present;
                        present.fetch_sub(1, Ordering::Relaxed);
                    }
                    return Ok(());
                }
                Err(error) => error,
            };
            full.push(directory);
            // Only a lack of room sends a file on; any other error ends the write.
            let next = file
                .extents
                .as_ref()
                .filter(|_| is_full(&error))
                .and_then(|_| self.directories.roomiest(&full, bytes.len() as u64));
            match next {
                Some(roomier) => directory = roomier,
                None => return Err(self.unwritable(file, directory, error)),
            }
        }
    }

    /// Makes the error of a write to `directory`, with the advice that fits.
    fn unwritable(&self, file: &SpillPath, directory: usize, source: io::Error) -> Error {
        let path = self.path_in(file, directory).unwrap_or(file.path.clone());
        let advice = match source.kind() {
            io::ErrorKind::StorageFull if has_no_inodes(&path) => NO_INODES,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FREE_SPACE,
            io::ErrorKind::NotFound => "run again (the temporary directory no longer exists)",
            _ => "choose another directory with `temp_dirs`",
        };
        Error::Temp {
            path,
            what: "cannot write a spill file",
            source,
            advice,
        }
    }

    /// Writes all blocks around the page cache from now on, as if that had no more room.
    #[cfg(test)]
    pub(crate) fn fill_page_cache(&self) {
        self.directories.page_cache.fill();
    }

    /// Cuts the padding off a file whose content is to be read as it is: the copy of a pipe, which has no
    /// header with its length. The quota still counts the padding.
    pub(crate) fn set_len(file: &SpillPath, bytes: u64) -> Result<()> {
        let opened = OpenOptions::new().write(true).open(&file.path);
        opened
            .and_then(|handle| handle.set_len(bytes))
            .map_err(|source| Error::Temp {
                path: file.path.clone(),
                what: "cannot set the length of a temporary file",
                source,
                advice: "choose another directory with `temp_dirs`",
            })
    }

    /// Removes a file, all of its parts, and gives the `bytes` back that were charged for it. An error is not
    /// reported: what stays goes with the private directory. No thread may use the file any more.
    pub(crate) fn remove(&self, file: &SpillPath, bytes: u64) {
        let directories = match &file.extents {
            Some(extents) => extents.directories(),
            None => vec![file.directory],
        };
        for directory in directories {
            let removed = self.path_in(file, directory).and_then(std::fs::remove_file);
            let is_gone = removed.map_or_else(|e| e.kind() == io::ErrorKind::NotFound, |()| true);
            // One that may still be there counts as present.
            if is_gone {
                let present = &self.directories.get(directory).present;
                present.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.release(bytes);
    }

    /// Notes that `bytes` of what was written are needed beyond this attempt: a copy of a pipe.
    pub(crate) fn retain(&self, bytes: u64) {
        self.retained.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Removes the bucket files of an attempt that failed, and gives their space back: everything but what
    /// [`TempSpace::retain`] has counted. The engine calls it between two attempts, when all threads of the
    /// first have ended.
    pub(crate) fn remove_buckets(&self) {
        let label = BUCKET_LABEL.as_bytes();
        self.directories
            .remove_files(|name| memchr::memmem::find(name, label).is_some());
        let retained = self.retained.load(Ordering::Relaxed);
        let before = self.used.swap(retained, Ordering::Relaxed);
        self.quota.give_back(before.saturating_sub(retained));
    }

    /// Returns the bytes that the cap still allows. Other runs of the command may take them first.
    pub(crate) fn left_bytes(&self) -> u64 {
        self.quota
            .cap_bytes()
            .saturating_sub(self.quota.used_bytes())
    }

    /// Returns what was used so far. While threads write, the numbers may be of slightly different moments.
    pub(crate) fn space_use(&self) -> SpaceUse {
        SpaceUse {
            written_bytes: self.written.load(Ordering::Relaxed),
            read_bytes: self.read.load(Ordering::Relaxed),
            peak_bytes: self.peak.load(Ordering::Relaxed),
            files: self.files.load(Ordering::Relaxed),
        }
    }

    /// Counts `bytes` that are about to be written to `file`. The writes of this space do it themselves; a
    /// caller that writes the file by other means must, before it writes.
    ///
    /// # Errors
    /// [`Error::TempLimit`] where that is more than the cap allows.
    pub(crate) fn charge(&self, file: &SpillPath, bytes: u64) -> Result<()> {
        self.quota
            .take(bytes)
            .map_err(|needed_bytes| Error::TempLimit {
                path: self.directories.get(file.directory).parent.clone(),
                needed_bytes,
                limit_bytes: self.quota.cap_bytes(),
                reason: "allowed by `max_temp_bytes`",
                advice: "raise `max_temp_bytes`, or give more memory so that less is spilled",
            })?;
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Counts `bytes`, which were charged, as free.
    fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.quota.give_back(bytes);
    }
}

impl std::fmt::Debug for TempSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TempSpace")
            .field("directories", &self.directories)
            .field("used", &self.used)
            .finish_non_exhaustive()
    }
}

impl Drop for TempSpace {
    /// Gives the quota back what this run still has. The files stay until [`TempDirectories`] is dropped, which other
    /// runs may share.
    fn drop(&mut self) {
        self.quota.give_back(self.used.load(Ordering::Relaxed));
    }
}

/// Rounds a length up to whole pages, which is what direct I/O writes.
pub(crate) fn padded(bytes: u64) -> u64 {
    crate::memory::buffer::round_up(bytes, PAGE)
}

mod pages;
mod path;
mod reading;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
