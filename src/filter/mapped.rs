//! The words of a filter in a mapped file.
//!
//! *Owns:* the mapping. *Invariants:* the mapping is only read; pages are shared with every process
//! that asks the same file. All of it may become resident, and is reserved. *Cost:* a page fault where a page
//! is touched first.
//!
//! *Source:* mmap(2).

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapOptions};

use crate::filter::words::{Words, private::Sealed};
use crate::memory::budget::Reservation;

/// A filter's words in a mapped file.
#[derive(Debug)]
pub struct Mapped {
    map: Mmap,
    /// Keeps the budget from granting the memory that pages of the mapping may take.
    _reservation: Reservation,
}

impl Mapped {
    /// Maps `bytes` bytes of `file` from `offset` on (a multiple of the page size).
    pub(super) fn new(
        file: &File,
        offset: u64,
        bytes: u64,
        reservation: Reservation,
    ) -> io::Result<Self> {
        #[expect(unsafe_code, reason = "the file of a mapping may be changed by others")]
        // SAFETY: filter files are replaced as a whole, never written to in place; they are private to
        // their owner. If the owner shortens the file all the same, touching a page that no longer exists ends this
        // process by SIGBUS, which the command line turns into an error.
        let map = unsafe {
            MmapOptions::new()
                .offset(offset)
                .len(bytes as usize)
                .map(file)?
        };
        Ok(Self {
            map,
            _reservation: reservation,
        })
    }
}

impl Sealed for Mapped {}
impl Words for Mapped {
    fn words(&self) -> &[u64] {
        // A mapping begins at a page, and filters are whole words.
        bytemuck::cast_slice(&self.map)
    }
}
