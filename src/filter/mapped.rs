//! The words of a filter in a mapped file.
//!
//! *Owns:* the mapping, and how much of it is resident at a time. *Invariants:* the mapping is only
//! read; pages are shared with every process that asks the same file. Where the file is larger than
//! the memory that may be used, no more of it than that is resident (in this process; the page
//! cache keeps what it likes). *Cost:* none to make; a page fault where a page is touched first, and
//! again after it was let go.
//!
//! *Sources:* mmap(2); madvise(2) on `MADV_DONTNEED`.

use std::fs::File;
use std::io;
use std::sync::Arc;

use memmap2::{Mmap, MmapOptions};

use crate::budget::Reservation;
use crate::filter::words::{Window, Words, private::Sealed};

/// A filter's words in a file.
#[derive(Debug)]
pub struct Mapped {
    window: Option<Window>,
    // The whole mapping's where it may be resident.
    _reservation: Reservation,
    map: Arc<Mmap>,
}

impl Mapped {
    /// Maps `bytes` bytes of `file` from `offset` on (a multiple of the page size). `reservation` is
    /// what of it may be resident.
    pub(super) fn new(
        file: &File,
        offset: u64,
        bytes: u64,
        reservation: Reservation,
    ) -> io::Result<Self> {
        #[expect(unsafe_code, reason = "the file of a mapping may be changed by others")]
        // SAFETY: filter files are replaced as a whole, not written to; they are private to their
        // owner. One who shortens the file all the same gets this process ended by SIGBUS, which
        // the command line turns into an error.
        let map = unsafe {
            MmapOptions::new()
                .offset(offset)
                .len(bytes as usize)
                .map(file)?
        };
        let map = Arc::new(map);
        let resident = reservation.bytes();
        let window = (resident < bytes).then(|| Window::new(map.clone(), resident));
        Ok(Self {
            window,
            _reservation: reservation,
            map,
        })
    }
}

impl Sealed for Mapped {}
impl Words for Mapped {
    fn words(&self) -> &[u64] {
        // A mapping begins at a page, and filters are whole words.
        bytemuck::cast_slice(&self.map)
    }

    fn window(&self) -> Option<&Window> {
        self.window.as_ref()
    }
}
