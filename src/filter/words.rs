//! Where the words of a filter are, and how they may be touched.
//!
//! *Owns:* the trait of what has words, and the window through which a mapping is looked at that is
//! larger than the memory that may be used. *Invariants:* words do not move while they are borrowed.
//! *Cost:* none; with a window, page faults again and again.
//!
//! *Source:* madvise(2) on `MADV_DONTNEED`.

use std::sync::{Arc, Mutex, PoisonError};

use memmap2::{Mmap, UncheckedAdvice};

use crate::buffer::Buffer;
use crate::filter::shape::{Kind, Shape};

/// What one touch may make resident: the kernel maps the pages around it too where it has them.
const AROUND: u64 = 64 << 10;

/// Where the words of a filter are.
pub trait Words: private::Sealed {
    /// All words, and perhaps some behind them.
    #[doc(hidden)]
    fn words(&self) -> &[u64];

    /// How they may be touched, where they must not all be resident.
    #[doc(hidden)]
    fn window(&self) -> Option<&Window> {
        None
    }
}

pub(super) mod private {
    /// Nobody else has filters' words.
    pub trait Sealed {}
}

impl private::Sealed for Buffer {}
impl Words for Buffer {
    fn words(&self) -> &[u64] {
        self.words()
    }
}

/// Lets no more of a mapping be resident than fits: a few keys at a time touch it, one thread after
/// the other, and then their pages are let go.
#[derive(Debug)]
pub struct Window {
    map: Arc<Mmap>,
    bytes: u64,
    turn: Mutex<()>,
}

impl Window {
    /// Lets `bytes` of `map` be resident.
    pub(super) fn new(map: Arc<Mmap>, bytes: u64) -> Self {
        Self {
            map,
            bytes,
            turn: Mutex::new(()),
        }
    }

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
