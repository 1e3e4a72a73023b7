//! Filters: sets of lines in a few bits each. A filter never misses a line that was inserted, and claims some
//! others by mistake.
//!
//! *Owns:* the formulas ([`sizing`]), filters of five kinds ([`Filter`], [`Shape`]), of which the
//! strategies use `blocked`, and their file ([`mod@file`]).
//!
//! ```text
//!  Shape ──▶ Filter ◀─▶ Updater           in memory: asked, or changed through an updater
//!    ▲         │  ▲
//!  sizing    save  load, map
//!              ▼  │
//!             file: StoredFilter          stored; mapped where it is only asked
//! ```
//!
//! A kind is a view of words that implements two traits (`cells`): what is in them, and putting
//! something in. `block`, `flat` (classic), `counters` (counting, spectral) and `digests`
//! (fingerprint) have one file each; everything else is the same for all.
//!
//! *Invariants:* no false negative, ever: a line that was inserted may always be contained. A
//! filter that is being built is borrowed by its builder, so it cannot be asked before it is
//! complete: the compiler rules out the bug that cost `DuckDB` rows twice in 2026 (issues 22075 and
//! 25702).
//!
//! *Cost:* the cells, on huge pages; one cache line per insertion and per question for blocks and
//! digests, one for each of `k` positions for the others.

mod block;
mod builder;
mod cells;
mod counters;
mod digests;
pub mod file;
#[expect(clippy::module_inception, reason = "the type that the room is about")]
mod filter;
mod flat;
mod growing;
mod mapped;
mod merge;
mod occupancy;
mod probe;
pub mod shape;
pub mod sizing;
mod updater;
mod words;

use crate::batch::{Batch, Prefilter};
use crate::error::Result;

pub(crate) use file::AskedFilter;
pub use file::{CheckedFilter, FilterTarget, StoredFilter};
pub use filter::{Filter, Rules};
pub use mapped::Mapped;
pub use occupancy::Occupancy;
pub use shape::{Kind, Shape};
pub use updater::Updater;
pub(crate) use updater::cannot_forget;
pub use words::{InFile, Words};

impl Prefilter for Filter {
    fn passing(&self, batch: Batch<'_>, passing: &mut Vec<u32>) -> Result<()> {
        Self::passing(self, batch, passing);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
