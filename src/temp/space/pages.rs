//! Pages of temporary files, written to and read from the directory that they are in.
//!
//! *Owns:* opening the files, around the page cache or for going through it, and whole writes and reads.
//!
//! Each block is written through the page cache or around it (`page_cache`). Reading goes through it up to the end of
//! the last block of the file that was written so, and around it from there on. A block in front of that end that was
//! written around the cache is read correctly, too.
//!
//! A file system may refuse `O_DIRECT` when a file is opened, or only when it is read or written. Both make this
//! process use the directory through the page cache from then on, and repeat the operation. A refusal costs time
//! once, and is never an error. Several threads may find it out at the same time, with the same result.
//!
//! *Invariants:* no file is open between two operations; what a failed write has left of its
//! pages is given back where the file system can.
//!
//! *Cost:* an open and a close each.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use rustix::fs::OFlags;

use super::{SpillPath, TempSpace};
use crate::error::Error;
use crate::memory::buffer::PAGE;
use crate::sys::calls::punch_hole;
use crate::sys::direct_io::{is_refusal, open_direct};
use crate::sys::failpoint::fail_point;

/// The most bytes of a block that one call writes to the page cache. The cache takes memory for a whole call at a time,
/// in one piece where it can. Virtual machines that give free memory back to their host give large pieces back first,
/// and wait for those that they take: at 512M a fifth of the processor time of a partition was the copy of 1 MiB each.
const CACHED_PIECE: usize = 256 << 10;

impl TempSpace {
    /// Writes pages of a file to its part in `directory`. The write at offset 0 makes the file where it begins, and
    /// fails if there is one.
    ///
    /// # Errors
    /// What the system reports. Nothing was counted except a file that was made.
    pub(super) fn write_pages(
        &self,
        file: &SpillPath,
        directory: usize,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<()> {
        fail_point!("spill-write", Err(crate::sys::failpoint::injected()));
        // A disk that says that it has written, and has not.
        fail_point!("spill-write-lost", Ok(()));
        let path = self.path_in(file, directory)?;
        let is_new = offset == 0 && directory == file.directory;
        let mut options = OpenOptions::new();
        options.write(true).mode(0o600).create_new(is_new);
        // Where a file goes on, whichever block comes first makes it; also in its own directory, where its first
        // block may have found no room.
        options.create(!is_new && file.extents.is_some());
        // Asked before opening, because another thread may turn it off at any time. The error of a write is a
        // refusal only if the file can have been opened for direct I/O.
        let is_direct = self.is_direct(directory);
        let is_cached = is_direct
            && self.directories.get(directory).can_cache
            && file
                .cached
                .as_ref()
                .is_some_and(|cached| cached.takes(offset, bytes.len() as u64));
        let was_direct = is_direct && !is_cached;
        let handle = self.open(&path, directory, &options, is_cached)?;
        if is_new {
            self.files.fetch_add(1, Ordering::Relaxed);
        }
        let piece = if was_direct { usize::MAX } else { CACHED_PIECE };
        let written = match write_in_pieces(&handle, offset, bytes, piece) {
            Err(error) if is_refusal(&error) && was_direct => {
                self.stop_direct(directory);
                let handle = self.open(&path, directory, OpenOptions::new().write(true), false)?;
                write_in_pieces(&handle, offset, bytes, CACHED_PIECE)
            }
            other => other,
        };
        if written.is_err() {
            // What was written of it takes room that nobody accounts for.
            punch_hole(&handle, offset, bytes.len() as u64);
        }
        written
    }

    /// Returns the path of a file's part in `directory`: the same name in the private directory there, which is made if
    /// it is the first file there. The part itself need not exist.
    ///
    /// # Errors
    /// What the system reports when the private directory cannot be made.
    pub(super) fn path_in(&self, file: &SpillPath, directory: usize) -> io::Result<PathBuf> {
        if directory == file.directory {
            return Ok(file.path.clone());
        }
        let private = self.directories.private_path(directory);
        let (private, is_new) = private.map_err(|error| match error {
            Error::Temp { source, .. } => source,
            other => io::Error::other(other),
        })?;
        if is_new {
            self.note_if_in_memory(&self.directories.get(directory).parent);
        }
        Ok(private.join(file.path.file_name().unwrap_or_default()))
    }

    /// Reads pages of a file from its part in `directory`. If the file has parts in several directories, zeros stand
    /// for pages that are missing at the end of this one.
    ///
    /// # Errors
    /// What the system reports; `UnexpectedEof` if the file is shorter and has all of its parts in one directory.
    pub(super) fn read_pages(
        &self,
        file: &SpillPath,
        directory: usize,
        offset: u64,
        part: &mut [u8],
    ) -> io::Result<()> {
        fail_point!("spill-read", Err(crate::sys::failpoint::injected()));
        let mut options = OpenOptions::new();
        options.read(true);
        let path = self.path_in(file, directory)?;
        let is_cached = file
            .cached
            .as_ref()
            .is_some_and(|cached| cached.is_before_end(offset));
        let handle = self.open(&path, directory, &options, is_cached)?;
        if !file.has_parts() {
            return handle.read_exact_at(part, offset);
        }
        // Where the next block is in another directory, nothing in this one need follow the last bytes of a
        // block. What is missing of the block itself does not agree with its checksum. Only at the end of
        // a file a read stops within a page.
        let mut filled = 0;
        while filled < part.len() && (filled as u64).is_multiple_of(PAGE) {
            match handle.read_at(&mut part[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        part[filled..].fill(0);
        Ok(())
    }

    /// Opens a file of a directory, for direct I/O unless what is read or written `is_cached`, or the directory has
    /// refused that. A link of its name is not followed: the file would be somebody else's.
    fn open(
        &self,
        path: &Path,
        directory: usize,
        options: &OpenOptions,
        is_cached: bool,
    ) -> io::Result<File> {
        let is_direct = &self.directories.get(directory).is_direct;
        let plain = OFlags::NOFOLLOW.bits() as i32;
        if !is_cached && is_direct.load(Ordering::Relaxed) {
            match open_direct(options, OFlags::NOFOLLOW, path) {
                Err(error) if is_refusal(&error) => {
                    is_direct.store(false, Ordering::Relaxed);
                    // The refused open may have made the file already.
                    let mut again = options.clone();
                    if path.exists() {
                        again.create_new(false);
                    }
                    return again.custom_flags(plain).open(path);
                }
                other => return other,
            }
        }
        options.clone().custom_flags(plain).open(path)
    }

    /// Returns true if files of a directory are opened for direct I/O, as far as is known now.
    pub(super) fn is_direct(&self, directory: usize) -> bool {
        self.directories
            .get(directory)
            .is_direct
            .load(Ordering::Relaxed)
    }

    /// Turns direct I/O off for a directory, for good.
    pub(super) fn stop_direct(&self, directory: usize) {
        let is_direct = &self.directories.get(directory).is_direct;
        is_direct.store(false, Ordering::Relaxed);
    }
}

/// Writes `bytes` at `offset`, in calls of up to `piece` bytes.
fn write_in_pieces(file: &File, mut offset: u64, bytes: &[u8], piece: usize) -> io::Result<()> {
    for piece in bytes.chunks(piece) {
        file.write_all_at(piece, offset)?;
        offset += piece.len() as u64;
    }
    Ok(())
}
