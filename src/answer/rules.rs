//! The settings that a sorter and its merge work with.
//!
//! *Owns:* the settings of an order, and the buffer that a worker fills. *Invariants:* a buffer, the block through
//! which it is written and its runs go together. *Cost:* none.

use crate::answer::sort_buffer::SortBuffer;
use crate::answer::sorted_run::SortedRun;
use crate::memory::buffer::Buffer;
use crate::selection::Order;
use crate::spill::block::Address;
use crate::sys::sync::atomic::{AtomicU32, Ordering};
use crate::temp::space::TempSpace;

/// The memory for the lines of an answer that is read once more, as the budget's messages name it.
pub(crate) const KEPT_LINES: &str = "the lines of the result";
/// The memory for the numbers of lines, as the budget's messages name it.
pub(crate) const LINE_NUMBERS: &str = "the numbers of lines";

/// The settings of a sorter.
pub(crate) struct SorterRules<'s> {
    pub(crate) order: Order,
    /// The entries that are wanted, from the first in order; `u64::MAX` if all are.
    pub(crate) most: u64,
    /// Memory for all buffers, in bytes.
    pub(crate) bytes: u64,
    /// The most threads that push at the same time.
    pub(crate) buffers: usize,
    /// The temporary space that runs go to.
    pub(crate) space: &'s TempSpace,
    /// The store of the runs; each is a bucket of it.
    pub(crate) address: Address,
    /// True if every entry is written, also where memory has room for it.
    pub(crate) always_spill: bool,
}

impl SorterRules<'_> {
    /// Returns the address of the blocks of the run whose number is `next`, which goes on.
    pub(super) fn next_run(&self, next: &AtomicU32) -> Address {
        Address {
            bucket: next.fetch_add(1, Ordering::Relaxed),
            ..self.address
        }
    }
}

/// A buffer, the block through which it is written, and what was written.
pub(crate) struct WorkBuffer {
    pub(super) buffer: SortBuffer,
    pub(super) block: Buffer,
    pub(super) runs: Vec<SortedRun>,
}
