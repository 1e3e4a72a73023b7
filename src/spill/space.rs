//! Temporary space: private directories, what is written to them, and how much.
//!
//! *Owns:* one private directory in each place the user named, every temporary file in it, and the
//! count of bytes on disk against the cap.
//!
//! *Invariants.*
//! - Directories are 0700 and files 0600 from the moment they exist, with names nobody can predict;
//!   only what was made here is ever removed.
//! - Bytes are charged before they are written and given back when the write fails or the file
//!   goes: the cap is never exceeded, and an error does not shrink it.
//! - Nothing remains: the directories go when this value is dropped, and are known to the
//!   [`Interrupt`] for signals. What a killed run has left goes when the next one makes its own
//!   (`orphans`).
//!
//! *Cost:* no open descriptor between two operations but that of the mark of a live run, one a place.
//! Blocks are written around the page cache (`O_DIRECT`) where the file system allows it: written so
//! they took a quarter of the time, and a container's memory limit stays free of page cache.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::OFlags;
use tempfile::TempDir;

use crate::buffer::PAGE;
use crate::direct::is_refusal;
use crate::error::{Error, Result};
use crate::failpoint::fail_point;
use crate::interrupt::{Interrupt, PathGuard};
use crate::notice::Notice;
use crate::observer::Observer;
use crate::spill::disk::{has_no_inodes, is_in_memory};
use crate::spill::orphans::{
    Mark, PREFIX, mark_as_alive, remove_files, remove_orphans, remove_own,
};
use crate::spill::quota::Quota;

const FREE_SPACE: &str = "free some space, or name another place with --temp-dir";
const NO_INODES: &str = "its file system has no inodes left: ask for fewer --buckets, or name another place with --temp-dir";

/// What the names of bucket files have in them.
pub(crate) const BUCKET_LABEL: &str = "bucket";

/// The temporary directories of one run.
pub(crate) struct TempSpace {
    places: Vec<Place>,
    interrupt: Interrupt,
    /// Is told of a place that is in memory, when it is used.
    observer: Option<Arc<dyn Observer>>,
    quota: Arc<Quota>,
    used: AtomicU64,
    peak: AtomicU64,
    written: AtomicU64,
    read: AtomicU64,
    files: AtomicU64,
    next_file: AtomicU64,
    /// Bytes of files that outlast an attempt.
    kept: AtomicU64,
}

/// One of the places that the user named.
#[derive(Debug)]
struct Place {
    parent: PathBuf,
    is_direct: AtomicBool,
    /// Made when the first file is.
    directory: Mutex<Option<PrivateDirectory>>,
    /// Files named less files removed.
    present: AtomicU64,
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

/// What was done in temporary space so far, in bytes and files.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SpaceUse {
    pub(crate) written_bytes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) peak_bytes: u64,
    pub(crate) files: u64,
}

impl TempSpace {
    /// Temporary space in each of `parents` (at least one), as much as `quota` allows.
    pub(crate) fn new(parents: &[PathBuf], quota: Arc<Quota>, interrupt: &Interrupt) -> Self {
        Self {
            places: parents.iter().map(|parent| Place::new(parent)).collect(),
            interrupt: interrupt.clone(),
            observer: None,
            quota,
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            written: AtomicU64::new(0),
            read: AtomicU64::new(0),
            files: AtomicU64::new(0),
            next_file: AtomicU64::new(0),
            kept: AtomicU64::new(0),
        }
    }

    /// The same, with somebody who is told what the user should know of the places.
    pub(crate) fn watched_by(mut self, observer: Option<Arc<dyn Observer>>) -> Self {
        self.observer = observer;
        self
    }

    /// A path for a new file, in the places by turns. The file is made by its first write.
    ///
    /// # Errors
    /// [`Error::Temp`] when its directory cannot be made.
    pub(crate) fn new_path(&self, label: &str) -> Result<SpillPath> {
        let number = self.next_file.fetch_add(1, Ordering::Relaxed);
        let place = (number % self.places.len() as u64) as usize;
        let (directory, is_new) = self.places[place].directory(&self.interrupt)?;
        if is_new {
            self.note_if_in_memory(&self.places[place].parent);
        }
        self.places[place].present.fetch_add(1, Ordering::Relaxed);
        Ok(SpillPath {
            place,
            path: directory.join(format!("{number:06}-{label}")),
        })
    }

    /// Tells the observer that what is spilled to `parent` takes memory, if it does.
    fn note_if_in_memory(&self, parent: &Path) {
        if let Some(observer) = &self.observer
            && is_in_memory(parent)
        {
            observer.noticed(&Notice::TempInMemory {
                place: parent.to_owned(),
            });
        }
    }

    /// Writes `bytes` (whole pages) at `offset` (a multiple of the page size).
    pub(crate) fn write(&self, file: &SpillPath, offset: u64, bytes: &[u8]) -> Result<()> {
        self.interrupt.check()?;
        self.charge(file, bytes.len() as u64)?;
        self.write_pages(file, offset, bytes).map_err(|source| {
            self.release(bytes.len() as u64);
            let advice = match source.kind() {
                io::ErrorKind::StorageFull if has_no_inodes(&file.path) => NO_INODES,
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FREE_SPACE,
                io::ErrorKind::NotFound => "the temporary directory is gone; run again",
                _ => "name another place with --temp-dir",
            };
            Error::Temp {
                path: file.path.clone(),
                what: "cannot write a spill file",
                source,
                advice,
            }
        })?;
        self.written
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn write_pages(&self, file: &SpillPath, offset: u64, bytes: &[u8]) -> io::Result<()> {
        fail_point!("spill-write", Err(crate::failpoint::injected()));
        // A disk that says that it has written, and has not.
        fail_point!("spill-write-lost", Ok(()));
        let is_new = offset == 0;
        let mut options = OpenOptions::new();
        options.write(true).create_new(is_new).mode(0o600);
        let was_direct = self.is_direct(file);
        let handle = self.open(file, &options)?;
        if is_new {
            self.files.fetch_add(1, Ordering::Relaxed);
        }
        match handle.write_all_at(bytes, offset) {
            Err(error) if is_refusal(&error) && was_direct => {
                self.stop_direct(file);
                self.open(file, OpenOptions::new().write(true))?
                    .write_all_at(bytes, offset)
            }
            other => other,
        }
    }

    /// Fills `buffer` (whole pages) from `offset` (a multiple of the page size) of a file whose blocks lie
    /// `block_bytes` apart.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the file is shorter, with the first block that is not whole.
    pub(crate) fn read(
        &self,
        file: &SpillPath,
        offset: u64,
        buffer: &mut [u8],
        block_bytes: u64,
    ) -> Result<()> {
        self.interrupt.check()?;
        let was_direct = self.is_direct(file);
        match self.read_pages(file, offset, buffer) {
            Ok(()) => {}
            Err(error) if is_refusal(&error) && was_direct => {
                self.stop_direct(file);
                return self.read(file, offset, buffer, block_bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let end = std::fs::metadata(&file.path).map_or(offset, |found| found.len());
                return Err(Error::Damaged {
                    path: file.path.clone(),
                    block: end / block_bytes,
                    what: "the file is shorter than what was written to it".into(),
                });
            }
            Err(source) => {
                let advice = "the temporary disk is faulty, or its files were removed; run again";
                return Err(Error::Temp {
                    path: file.path.clone(),
                    what: "cannot read a spill file",
                    source,
                    advice,
                });
            }
        }
        self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn read_pages(&self, file: &SpillPath, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        fail_point!("spill-read", Err(crate::failpoint::injected()));
        let mut options = OpenOptions::new();
        options.read(true);
        self.open(file, &options)?.read_exact_at(buffer, offset)
    }

    /// Cuts the padding off a file whose content is to be read as it is.
    pub(crate) fn set_len(file: &SpillPath, bytes: u64) -> Result<()> {
        let opened = OpenOptions::new().write(true).open(&file.path);
        opened
            .and_then(|handle| handle.set_len(bytes))
            .map_err(|source| Error::Temp {
                path: file.path.clone(),
                what: "cannot set the length of a temporary file",
                source,
                advice: "name another place with --temp-dir",
            })
    }

    /// Removes a file of `bytes` bytes and gives its space back. A file that is already gone is no
    /// error here: whoever needed its content has noticed.
    pub(crate) fn remove(&self, file: &SpillPath, bytes: u64) {
        // One that may still be there counts as present.
        if std::fs::remove_file(&file.path).is_ok() {
            self.places[file.place]
                .present
                .fetch_sub(1, Ordering::Relaxed);
        }
        self.release(bytes);
    }

    /// Notes that `bytes` of what was written are needed beyond this attempt: a copy of a pipe.
    pub(crate) fn keep(&self, bytes: u64) {
        self.kept.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Removes the bucket files of an attempt that failed, and gives their space back. Nobody may
    /// use them any more.
    pub(crate) fn remove_buckets(&self) {
        for place in &self.places {
            let made = place
                .directory
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let Some(made) = &*made else {
                continue;
            };
            let is_bucket =
                |name: &[u8]| memchr::memmem::find(name, BUCKET_LABEL.as_bytes()).is_some();
            let _some_may_stay = remove_files(made.directory.path(), is_bucket);
        }
        let kept = self.kept.load(Ordering::Relaxed);
        let before = self.used.swap(kept, Ordering::Relaxed);
        self.quota.give_back(before.saturating_sub(kept));
    }

    /// What was done so far.
    pub(crate) fn space_use(&self) -> SpaceUse {
        SpaceUse {
            written_bytes: self.written.load(Ordering::Relaxed),
            read_bytes: self.read.load(Ordering::Relaxed),
            peak_bytes: self.peak.load(Ordering::Relaxed),
            files: self.files.load(Ordering::Relaxed),
        }
    }

    fn open(&self, file: &SpillPath, options: &OpenOptions) -> io::Result<File> {
        let place = &self.places[file.place];
        let plain = OFlags::NOFOLLOW.bits() as i32;
        if place.is_direct.load(Ordering::Relaxed) {
            let direct = plain | OFlags::DIRECT.bits() as i32;
            match options.clone().custom_flags(direct).open(&file.path) {
                Err(error) if is_refusal(&error) => {
                    place.is_direct.store(false, Ordering::Relaxed);
                    // The refused open may have made the file already.
                    let mut again = options.clone();
                    if file.path.exists() {
                        again.create_new(false);
                    }
                    return again.custom_flags(plain).open(&file.path);
                }
                other => return other,
            }
        }
        options.clone().custom_flags(plain).open(&file.path)
    }

    /// Whether the place of `file` is used directly.
    fn is_direct(&self, file: &SpillPath) -> bool {
        self.places[file.place].is_direct.load(Ordering::Relaxed)
    }

    /// Turns direct I/O off for the place of `file`.
    fn stop_direct(&self, file: &SpillPath) {
        self.places[file.place]
            .is_direct
            .store(false, Ordering::Relaxed);
    }

    /// Counts `bytes` that are about to be written to `file` by other means.
    ///
    /// # Errors
    /// [`Error::TempLimit`] where that is more than the cap allows.
    pub(crate) fn charge(&self, file: &SpillPath, bytes: u64) -> Result<()> {
        self.quota
            .take(bytes)
            .map_err(|needed_bytes| Error::TempLimit {
                path: self.places[file.place].parent.clone(),
                needed_bytes,
                limit_bytes: self.quota.cap_bytes(),
                reason: "allowed by --max-temp",
                advice: "raise --max-temp, or give more memory so that less is spilled",
            })?;
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        Ok(())
    }

    fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.quota.give_back(bytes);
    }
}

impl std::fmt::Debug for TempSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TempSpace")
            .field("places", &self.places)
            .field("used", &self.used)
            .finish_non_exhaustive()
    }
}

impl Drop for TempSpace {
    /// The directories go with everything that is still in them.
    fn drop(&mut self) {
        self.quota.give_back(self.used.load(Ordering::Relaxed));
    }
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

    /// The private directory, and whether it was made now because it was not there yet.
    fn directory(&self, interrupt: &Interrupt) -> Result<(PathBuf, bool)> {
        let mut made = self
            .directory
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*made {
            return Ok((made.directory.path().to_owned(), false));
        }
        interrupt.check()?;
        remove_orphans(&self.parent);
        // Whoever takes directory after directory for orphans is no run of this program.
        for _ in 0..100 {
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
        Error::Temp {
            path: self.parent.clone(),
            what: "cannot make a temporary directory",
            source,
            advice: "name another place with --temp-dir",
        }
    }
}

/// A file in temporary space.
#[derive(Debug, Clone)]
pub(crate) struct SpillPath {
    place: usize,
    pub(crate) path: PathBuf,
}

/// Rounds a block's length to what direct I/O writes.
pub(crate) fn padded(bytes: u64) -> u64 {
    crate::buffer::round_up(bytes, PAGE)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
