//! Large memory: anonymous mappings that the budget granted.
//!
//! *Owns:* [`Buffer`], the only way to get memory that grows with the input.
//!
//! *Invariants:* a buffer is its own anonymous mapping: page-aligned (direct I/O needs that),
//! zeroed, and no longer part of the process's resident size once it is dropped. The general
//! allocator would keep freed megabytes resident, and a limit on resident memory would be a wish.
//! Its grant is returned after its memory, never before.
//!
//! *Cost:* a system call to make, to grow and to drop one; on Linux, growing moves page tables, not bytes.
//!
//! *Sources:* mmap(2), mremap(2), madvise(2) on `MADV_HUGEPAGE`.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU64;

use memmap2::MmapMut;

use crate::error::{Error, Result};
use crate::memory::budget::{MemoryBudget, Reservation};
use crate::sys::calls::{on_huge_pages, remap};
use crate::sys::failpoint::fail_point;

/// The granularity of a mapping, and of direct I/O, in bytes.
pub(crate) const PAGE: u64 = 4096;
/// From this size on a buffer can be on huge pages: the size of one on x86-64, in bytes.
const HUGE_PAGE: u64 = 2 << 20;

/// A block of zeroed, page-aligned memory that the budget granted.
#[derive(Debug)]
pub struct Buffer {
    // Declared before the reservation: the memory goes before its grant does.
    map: MmapMut,
    /// The length of `map`, granted.
    reservation: Reservation,
}

impl Buffer {
    /// Makes a buffer of `bytes`, rounded up to whole pages.
    ///
    /// # Errors
    /// [`Error::Memory`] when the budget refuses, [`Error::Machine`] when the system does.
    pub fn new(budget: &MemoryBudget, consumer: &'static str, bytes: u64) -> Result<Self> {
        let bytes = round_up(bytes.max(1), PAGE);
        fail_point!("buffer", Err(budget.refusal(consumer, bytes)));
        let reservation = budget.reserve(consumer, bytes)?;
        let map = MmapMut::map_anon(bytes as usize).map_err(|error| refused(bytes, &error))?;
        Ok(Self { map, reservation })
    }

    /// Works as [`Buffer::new`], but on huge pages where the system has them: for filters, every access to which is to
    /// another place.
    ///
    /// # Errors
    /// As [`Buffer::new`].
    pub fn with_huge_pages(
        budget: &MemoryBudget,
        consumer: &'static str,
        bytes: u64,
    ) -> Result<Self> {
        let buffer = Self::new(budget, consumer, bytes)?;
        if bytes >= HUGE_PAGE {
            on_huge_pages(&buffer.map);
        }
        Ok(buffer)
    }

    /// Makes the buffer at least `bytes` long, keeping its content; the new part is zeroed. The
    /// memory is moved by its page tables, not copied, where the system can do that.
    ///
    /// # Errors
    /// As [`Buffer::new`]; the buffer is unchanged then.
    pub fn grow(&mut self, bytes: u64) -> Result<()> {
        let bytes = round_up(bytes, PAGE);
        let held = self.map.len() as u64;
        if bytes <= held {
            return Ok(());
        }
        fail_point!(
            "buffer",
            Err(self.reservation.budget().refusal("injected", bytes))
        );
        self.reservation.grow(bytes - held)?;
        let mapped = self.remap(bytes);
        if mapped.is_err() {
            self.reservation.shrink(bytes - held);
        }
        mapped
    }

    /// Gives everything after the first `bytes` (rounded up to whole pages) back to the system and
    /// the budget.
    ///
    /// # Errors
    /// [`Error::Machine`] when the system refuses.
    pub fn shrink(&mut self, bytes: u64) -> Result<()> {
        let bytes = round_up(bytes.max(1), PAGE);
        let held = self.map.len() as u64;
        if bytes < held {
            self.remap(bytes)?;
            self.reservation.shrink(held - bytes);
        }
        Ok(())
    }

    /// Changes the length of the mapping to `bytes`, a multiple of [`PAGE`]. It may move.
    fn remap(&mut self, bytes: u64) -> Result<()> {
        remap(&mut self.map, bytes as usize).map_err(|error| refused(bytes, &error))
    }

    /// Returns the budget that granted it.
    pub(crate) fn budget(&self) -> &MemoryBudget {
        self.reservation.budget()
    }

    /// Returns the buffer as 64-bit words. Pages are whole words, so no byte is left out.
    pub fn words(&self) -> &[u64] {
        bytemuck::cast_slice(&self.map)
    }

    /// Returns the buffer as 64-bit words, to be written.
    pub fn words_mut(&mut self) -> &mut [u64] {
        bytemuck::cast_slice_mut(&mut self.map)
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}

/// Zeroed words that several threads change at the same time. The budget granted them.
#[derive(Debug)]
pub(crate) struct AtomicWords(Buffer);

impl AtomicWords {
    /// Makes `words` words, or as many more as fit the last page.
    ///
    /// # Errors
    /// As [`Buffer::new`].
    pub(crate) fn new(budget: &MemoryBudget, consumer: &'static str, words: u64) -> Result<Self> {
        Buffer::with_huge_pages(budget, consumer, words.saturating_mul(8)).map(Self)
    }
}

impl Deref for AtomicWords {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        let (start, words) = (self.0.map.as_ptr(), self.0.map.len() / 8);
        #[expect(
            unsafe_code,
            reason = "the standard library has no safe way from memory to atomic words"
        )]
        // SAFETY: The mapping begins at a page, has so many words, and lives as long as `self`, which has it alone and
        // lends it in no other form.
        unsafe {
            std::slice::from_raw_parts(start.cast(), words)
        }
    }
}

/// Rounds up to a multiple of `unit`, a power of two.
pub(crate) fn round_up(bytes: u64, unit: u64) -> u64 {
    bytes.saturating_add(unit - 1) & !(unit - 1)
}

/// Makes the error of a system that refuses memory which the budget has granted.
fn refused(bytes: u64, error: &std::io::Error) -> Error {
    Error::Machine {
        what: format!("memory: the system refused {bytes} bytes: {error}"),
        advice: "give a lower memory limit, or raise the address-space limit (ulimit -v)",
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_refused_growth_changes_nothing() {
        let budget = MemoryBudget::new(3 * PAGE, 0);
        let mut buffer = Buffer::new(&budget, "buffer", PAGE).unwrap();
        buffer[0] = 7;
        assert!(buffer.grow(4 * PAGE).is_err());
        assert_eq!((buffer.len() as u64, buffer[0]), (PAGE, 7));
        buffer.grow(3 * PAGE).unwrap();
        assert_eq!((buffer[0], buffer[PAGE as usize]), (7, 0));
        assert_eq!(budget.available_bytes(), 0);
    }
}
