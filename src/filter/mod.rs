//! Filters: a set of lines in a few bits each, that never forgets one and sometimes claims too
//! many.
//!
//! *Owns:* the formulas ([`sizing`]) and the blocked Bloom filter ([`blocked`]) that the `sieve`
//! and `bloom` strategies use.
//!
//! *Invariants:* no false negative, ever: a line that was inserted may always be contained. A
//! filter that is being built is borrowed by its builder, so it cannot be asked before it is
//! complete: the compiler rules out the bug that cost `DuckDB` rows twice in 2026 (issues 22075 and
//! 25702).
//!
//! *Cost:* the bits, on huge pages; one cache line per insertion and per question.

pub mod blocked;
mod cells;
mod counters;
mod digests;
pub mod file;
mod flat;
mod kept;
mod mapped;
mod occupancy;
mod probe;
pub mod shape;
pub mod sizing;
mod updater;

use crate::batch::Batch;

pub use blocked::BlockedFilter;
pub use file::{CheckedFilter, StoredFilter};
pub use kept::{Filter, Rules, Words};
pub use mapped::Mapped;
pub use occupancy::Occupancy;
pub use shape::{Kind, Shape};
pub use updater::Updater;

/// A filter that lines go through, of whatever kind.
pub(crate) trait Keep: Sync {
    /// The indexes of the lines that may have been inserted, in order. `kept` is overwritten.
    fn keep(&self, batch: Batch<'_>, kept: &mut Vec<u32>);
}

impl Keep for BlockedFilter {
    fn keep(&self, batch: Batch<'_>, kept: &mut Vec<u32>) {
        self.keep(batch.hashes, kept);
    }
}

impl<W: Words + Sync> Keep for Filter<W> {
    fn keep(&self, batch: Batch<'_>, kept: &mut Vec<u32>) {
        self.keep(batch, kept);
    }
}
