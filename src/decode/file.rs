//! Reading a regular file by position: around the page cache when it is cold, through it when it is
//! warm.
//!
//! *Owns:* the choice between direct and buffered reading, and complete reads. *Invariants:* a read
//! returns all bytes asked for or an error: a file that became shorter is noticed here. Direct
//! reads use page-aligned offsets, lengths and memory; a file system that refuses them is read
//! buffered. *Cost:* one descriptor. *Sources:* open(2), `O_DIRECT`; preadv2(2), `RWF_NOWAIT`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::memory::buffer::PAGE;
use crate::sys::calls::would_wait;
use crate::sys::direct_io::{is_refusal, set_direct};
use crate::sys::failpoint::fail_point;

/// The number of offsets in a file that are probed for being cached, spread evenly over it; a file of fewer pages has
/// one in each.
const CACHE_PROBES: u64 = 16;

/// A regular file that several threads read by position.
#[derive(Debug)]
pub(crate) struct PositionedFile {
    file: File,
    /// Its size when it was checked, in bytes. Nothing after it is read.
    size: u64,
    /// True if the descriptor has `O_DIRECT` set. Goes down once, where the file system refuses a read, and never up
    /// again.
    direct: AtomicBool,
}

impl PositionedFile {
    /// Decides how `file` is read: directly, unless most of it is in the page cache already.
    pub(crate) fn new(file: File, size: u64, is_warm: bool) -> Self {
        let direct = !is_warm && set_direct(&file, true);
        Self {
            file,
            size,
            direct: AtomicBool::new(direct),
        }
    }

    /// Returns the file itself, for its metadata.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Returns true if it is read through the page cache, which has most of it.
    pub(crate) fn is_warm(&self) -> bool {
        !self.direct.load(Ordering::Relaxed)
    }

    /// Returns its size when it was opened, in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Fills the front of `buffer` with the file's bytes from `offset` (a multiple of the page
    /// size) to `end`. The buffer must begin at a page and have room for whole pages. Any number of threads
    /// may read at the same time.
    ///
    /// # Errors
    /// `UnexpectedEof` where the file ends before `end`; what the system says otherwise.
    pub(crate) fn read(&self, buffer: &mut [u8], offset: u64, end: u64) -> io::Result<()> {
        fail_point!("input-read", Err(crate::sys::failpoint::injected()));
        let wanted = (end - offset) as usize;
        let mut filled = 0;
        while filled < wanted {
            // A direct read needs a whole number of pages, past the end of the file if need be.
            let was_direct = self.direct.load(Ordering::Acquire);
            let upto = if was_direct {
                buffer.len() & !4095
            } else {
                wanted
            };
            let room = &mut buffer[filled..upto.max(filled)];
            match self.file.read_at(room, offset + filled as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_refusal(&error) && was_direct => {
                    // In this order: a thread that finds the flag down must find the descriptor changed. One
                    // that reads between the two is refused, and comes here, too.
                    set_direct(&self.file, false);
                    self.direct.store(false, Ordering::Release);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Returns true if most probed pages are in the page cache. Each probe asks for a byte that must come without waiting
/// . Where the kernel cannot tell, buffered reading is the safe assumption.
pub(crate) fn is_cached(file: &File, size: u64) -> bool {
    let probes = size.div_ceil(PAGE).clamp(1, CACHE_PROBES);
    let missing = (0..probes)
        .filter(|probe| would_wait(file, size / probes * probe))
        .count() as u64;
    missing * 2 <= probes
}
