//! Temporary space: what a run writes to the temporary places, and how much.
//!
//! *Owns:* every temporary file of the run, and the count of bytes on disk against the cap. The private
//! directories that they are in belong to [`Places`].
//!
//! *Invariants.*
//! - Files are 0600 from the moment they exist; only what was made here is ever removed.
//! - Bytes are charged before they are written and given back when the write fails or the file
//!   goes: the cap is never exceeded, and an error does not shrink it.
//! - A bucket's file whose place is full goes on in another: under the same name, at the same offsets
//!   (`extents`). Only when all places are full a write fails of that.
//!
//! *Cost:* no open descriptor between two operations.
//! Blocks are written around the page cache (`O_DIRECT`) where the file system allows it: written so
//! they took a quarter of the time, and a container's memory limit stays free of page cache.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::memory::buffer::PAGE;
use crate::notice::Notice;
use crate::sys::direct_io::is_refusal;
use crate::temp::disk::{has_no_inodes, is_in_memory};
use crate::temp::extents::Extents;
use crate::temp::places::{Places, is_full};
use crate::temp::quota::Quota;

const FREE_SPACE: &str = "free some space, or choose another directory with --temp-dir";
const NO_INODES: &str = "its file system has no inodes left: use fewer --buckets, or choose another directory with --temp-dir";

/// What the names of bucket files have in them.
pub(crate) const BUCKET_LABEL: &str = "bucket";

/// Passes a notice on to the user.
pub(crate) type Notify = Arc<dyn Fn(&Notice) + Send + Sync>;

/// The temporary files of one run.
pub(crate) struct TempSpace {
    places: Arc<Places>,
    interrupt: Interrupt,
    /// Passes on that a directory is in memory, when it is used.
    notify: Option<Notify>,
    quota: Arc<Quota>,
    used: AtomicU64,
    peak: AtomicU64,
    written: AtomicU64,
    read: AtomicU64,
    files: AtomicU64,
    /// Bytes of files that outlast an attempt.
    retained: AtomicU64,
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
        Self::in_places(Places::new(parents, interrupt), quota, interrupt)
    }

    /// Temporary space in `places`, which other runs may use, too.
    pub(crate) fn in_places(places: Arc<Places>, quota: Arc<Quota>, interrupt: &Interrupt) -> Self {
        Self {
            places,
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

    /// The places that the files go to.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// The same, with a function that passes on what the user should know of the places.
    pub(crate) fn notifying(mut self, notify: Option<Notify>) -> Self {
        self.notify = notify;
        self
    }

    /// A path for a new file that stays in one place. The file is made by its first write.
    ///
    /// # Errors
    /// [`Error::Temp`] when its directory cannot be made.
    pub(crate) fn new_path(&self, label: &str) -> Result<SpillPath> {
        let new = self.places.new_file(label)?;
        if new.is_first {
            self.note_if_in_memory(&self.places.place(new.place).parent);
        }
        Ok(SpillPath {
            place: new.place,
            path: new.path,
            extents: None,
        })
    }

    /// As [`TempSpace::new_path`], for a file that goes on in another place where its own is full: it is
    /// written and read by this space alone.
    ///
    /// # Errors
    /// As [`TempSpace::new_path`].
    pub(crate) fn new_bucket_path(&self, label: &str) -> Result<SpillPath> {
        let path = self.new_path(label)?;
        // Nothing is remembered of a file that has nowhere to go on.
        let extents = (self.places.count() > 1).then(|| Arc::new(Extents::new(path.place)));
        Ok(SpillPath { extents, ..path })
    }

    /// Gives notice that what is spilled to `parent` takes memory, if it does.
    fn note_if_in_memory(&self, parent: &Path) {
        if let Some(notify) = &self.notify
            && is_in_memory(parent)
        {
            notify(&Notice::TempInMemory {
                place: parent.to_owned(),
            });
        }
    }

    /// Writes `bytes` (whole pages) at `offset` (a multiple of the page size).
    ///
    /// # Errors
    /// [`Error::TempLimit`] where the cap does not allow it, [`Error::Temp`] where the disk does not.
    pub(crate) fn write(&self, file: &SpillPath, offset: u64, bytes: &[u8]) -> Result<()> {
        self.write_block(file, offset, bytes, bytes.len() as u64)
    }

    /// As [`TempSpace::write`], where the next write to the file may be `block_bytes` behind this one.
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
        self.charge(file, bytes.len() as u64)?;
        let written = self.write_where_there_is_room(file, offset, bytes, block_bytes);
        written.inspect_err(|_| self.release(bytes.len() as u64))?;
        self.written
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Writes to the place where the file is by now; where that is full, to another, where it stays.
    fn write_where_there_is_room(
        &self,
        file: &SpillPath,
        offset: u64,
        bytes: &[u8],
        block_bytes: u64,
    ) -> Result<()> {
        let mut place = file.extents.as_ref().map_or(file.place, |e| e.latest());
        let mut full = Vec::new();
        loop {
            // Counted before it is there, and also where the write fails: a failed write may leave a file
            // of no bytes, and the directory is only emptied where there may be some.
            if place != file.place {
                let present = &self.places.place(place).present;
                present.fetch_add(1, Ordering::Relaxed);
            }
            let error = match self.write_pages(file, place, offset, bytes) {
                Ok(()) => {
                    let is_first = file
                        .extents
                        .as_ref()
                        .is_some_and(|extents| extents.note(place, offset, block_bytes));
                    if is_first {
                        self.files.fetch_add(1, Ordering::Relaxed);
                    } else if place != file.place {
                        // It was counted by the write that made it.
                        let present = &self.places.place(place).present;
                        present.fetch_sub(1, Ordering::Relaxed);
                    }
                    return Ok(());
                }
                Err(error) => error,
            };
            full.push(place);
            let next = file
                .extents
                .as_ref()
                .filter(|_| is_full(&error))
                .and_then(|_| self.places.roomiest(&full, bytes.len() as u64));
            match next {
                Some(roomier) => place = roomier,
                None => return Err(self.unwritable(file, place, error)),
            }
        }
    }

    fn unwritable(&self, file: &SpillPath, place: usize, source: io::Error) -> Error {
        let path = self.path_in(file, place).unwrap_or(file.path.clone());
        let advice = match source.kind() {
            io::ErrorKind::StorageFull if has_no_inodes(&path) => NO_INODES,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FREE_SPACE,
            io::ErrorKind::NotFound => "the temporary directory was removed; run again",
            _ => "choose another directory with --temp-dir",
        };
        Error::Temp {
            path,
            what: "cannot write a spill file",
            source,
            advice,
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
        let end = offset + buffer.len() as u64;
        let mut at = offset;
        while at < end {
            let (place, part_end) = match &file.extents {
                Some(extents) => extents.part_at(at, end),
                None => (file.place, end),
            };
            let part = &mut buffer[(at - offset) as usize..(part_end - offset) as usize];
            self.read_part(file, place, at, part, block_bytes)?;
            at = part_end;
        }
        self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn read_part(
        &self,
        file: &SpillPath,
        place: usize,
        offset: u64,
        part: &mut [u8],
        block_bytes: u64,
    ) -> Result<()> {
        let was_direct = self.is_direct(place);
        match self.read_pages(file, place, offset, part) {
            Ok(()) => Ok(()),
            Err(error) if is_refusal(&error) && was_direct => {
                self.stop_direct(place);
                self.read_part(file, place, offset, part, block_bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let path = self.path_in(file, place).unwrap_or(file.path.clone());
                let end = std::fs::metadata(&path).map_or(offset, |found| found.len());
                Err(Error::Damaged {
                    path,
                    block: end / block_bytes,
                    what: "the file is shorter than what was written to it".into(),
                })
            }
            Err(source) => Err(Error::Temp {
                path: self.path_in(file, place).unwrap_or(file.path.clone()),
                what: "cannot read a spill file",
                source,
                advice: "the temporary disk is faulty, or its files were removed; run again",
            }),
        }
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
                advice: "choose another directory with --temp-dir",
            })
    }

    /// Removes a file of `bytes` bytes and gives its space back. A file that is already gone is no
    /// error here: the reader of its content has noticed.
    pub(crate) fn remove(&self, file: &SpillPath, bytes: u64) {
        let places = match &file.extents {
            Some(extents) => extents.places(),
            None => vec![file.place],
        };
        for place in places {
            let removed = self.path_in(file, place).and_then(std::fs::remove_file);
            let is_gone = removed.map_or_else(|e| e.kind() == io::ErrorKind::NotFound, |()| true);
            // One that may still be there counts as present.
            if is_gone {
                let present = &self.places.place(place).present;
                present.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.release(bytes);
    }

    /// Notes that `bytes` of what was written are needed beyond this attempt: a copy of a pipe.
    pub(crate) fn retain(&self, bytes: u64) {
        self.retained.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Removes the bucket files of an attempt that failed, and gives their space back. Nobody may
    /// use them any more.
    pub(crate) fn remove_buckets(&self) {
        let label = BUCKET_LABEL.as_bytes();
        self.places
            .remove_files(|name| memchr::memmem::find(name, label).is_some());
        let retained = self.retained.load(Ordering::Relaxed);
        let before = self.used.swap(retained, Ordering::Relaxed);
        self.quota.give_back(before.saturating_sub(retained));
    }

    /// What the cap still allows, in bytes.
    pub(crate) fn left_bytes(&self) -> u64 {
        self.quota
            .cap_bytes()
            .saturating_sub(self.quota.used_bytes())
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

    /// Counts `bytes` that are about to be written to `file` by other means.
    ///
    /// # Errors
    /// [`Error::TempLimit`] where that is more than the cap allows.
    pub(crate) fn charge(&self, file: &SpillPath, bytes: u64) -> Result<()> {
        self.quota
            .take(bytes)
            .map_err(|needed_bytes| Error::TempLimit {
                path: self.places.place(file.place).parent.clone(),
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
    /// What is still in the directories goes with them.
    fn drop(&mut self) {
        self.quota.give_back(self.used.load(Ordering::Relaxed));
    }
}

/// A file in temporary space.
#[derive(Debug, Clone)]
pub(crate) struct SpillPath {
    /// Where it begins.
    place: usize,
    pub(crate) path: PathBuf,
    /// Which parts of it are in other places, if some may be.
    extents: Option<Arc<Extents>>,
}

impl SpillPath {
    fn has_parts(&self) -> bool {
        self.extents.as_ref().is_some_and(|e| e.has_parts())
    }
}

/// Rounds a block's length to what direct I/O writes.
pub(crate) fn padded(bytes: u64) -> u64 {
    crate::memory::buffer::round_up(bytes, PAGE)
}

mod pages;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
