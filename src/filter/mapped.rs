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
use std::sync::{Mutex, PoisonError};

use memmap2::{Mmap, MmapOptions, UncheckedAdvice};

use crate::budget::Reservation;
use crate::filter::kept::{Words, private::Sealed};
use crate::filter::shape::{Kind, Shape};

/// What one touch may make resident: the kernel maps the pages around it too where it has them.
const AROUND: u64 = 64 << 10;

/// A filter's words in a file.
#[derive(Debug)]
pub struct Mapped {
    window: Option<Window>,
    // The whole mapping's where it may be resident.
    _reservation: Reservation,
    map: std::sync::Arc<Mmap>,
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
        let map = std::sync::Arc::new(map);
        let resident = reservation.bytes();
        let window = (resident < bytes).then(|| Window {
            map: map.clone(),
            bytes: resident,
            turn: Mutex::new(()),
        });
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

/// Lets no more of a mapping be resident than fits: a few keys at a time touch it, one thread after
/// the other, and then their pages are let go.
#[derive(Debug)]
pub struct Window {
    map: std::sync::Arc<Mmap>,
    bytes: u64,
    turn: Mutex<()>,
}

impl Window {
    /// How many keys may be asked at a time.
    pub(super) fn keys(&self, shape: Shape) -> usize {
        let touched = match shape.kind {
            Kind::Blocked => 1,
            // A search seldom crosses into a second page.
            Kind::Fingerprint => 2,
            _ => u64::from(shape.hashes),
        };
        (self.bytes / AROUND / touched).max(1) as usize
    }

    /// Does `work`, which touches the mapping for no more than [`Window::keys`] keys.
    pub(super) fn touch(&self, work: impl FnOnce()) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        work();
        #[expect(
            unsafe_code,
            reason = "letting pages go may lose what was written to them"
        )]
        // SAFETY: nothing is ever written to this mapping; its pages come back from the file.
        // A refusal costs memory, not correctness.
        let _refused_is_fine = unsafe { self.map.unchecked_advise(UncheckedAdvice::DontNeed) };
    }
}
