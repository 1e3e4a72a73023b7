//! The lines of an answer that is read once more from the inputs, in their order.
//!
//! *Owns:* [`KeptLines`]. What is kept of a line of the answer is that it is one: a last reading of the inputs writes
//! it where it stands. Nothing is sorted; of records, where the first or the last of each key is written, only keys are
//! spilled.
//!
//! | the inputs | a line is known by | memory for a line |
//! |---|---|---|
//! | plain files | its number in a cell of the file ([`cell_bits`](super::cell_bits)) | a bit for each |
//! | others, or lines go on between quotes | its ordinal ([`ordinal_set`](super::ordinal_set)) | 16 bytes for each |
//!
//! Numbers need chunks that begin with a cell, which files have that are read by position. What is read in order is cut
//! anywhere; but it mostly has long records, which are few.
//!
//! *Invariants:* a line is found again by what it was kept by, whichever chunks it comes in. *Cost:* that of the two.

use super::cell_bits::CellBits;
use super::ordinal_set::OrdinalSet;
use crate::error::Result;
use crate::input::Input;
use crate::memory::budget::MemoryBudget;

/// The lines that a last reading writes, shared by threads.
#[derive(Debug)]
pub(crate) enum KeptLines {
    /// By their numbers in cells.
    Cells(CellBits),
    /// By their ordinals.
    Ordinals(OrdinalSet),
}

impl KeptLines {
    /// Makes room in `bytes` for the lines of those `inputs` that have ordinals. `goes_on` says that lines go on
    /// between quotes.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where they have too many cells.
    pub(crate) fn new(inputs: &[Input], goes_on: bool, bytes: u64) -> Result<Self> {
        let is_decoded =
            |input: &Input| input.first_ordinal().is_some() && input.decoding().is_some();
        if goes_on || inputs.iter().any(is_decoded) {
            OrdinalSet::new(MemoryBudget::new(bytes, 0)).map(Self::Ordinals)
        } else {
            CellBits::new(inputs, bytes).map(Self::Cells)
        }
    }

    /// Returns true if lines are known by their numbers in cells.
    pub(crate) fn numbers_lines(&self) -> bool {
        matches!(self, Self::Cells(_))
    }

    /// Makes room for `lines` lines in the cell at `ordinal`, its first, unless it has them. One thread at a time has a
    /// cell.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where there is no room.
    pub(crate) fn make_room(&self, ordinal: u64, lines: u64) -> Result<()> {
        match self {
            Self::Cells(cells) => cells.make_room(ordinal, lines),
            Self::Ordinals(_) => Ok(()),
        }
    }

    /// Keeps the line at `ordinal`.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where there is no room.
    pub(crate) fn insert(&self, ordinal: u64) -> Result<()> {
        match self {
            Self::Cells(cells) => {
                cells.insert(ordinal);
                Ok(())
            }
            Self::Ordinals(set) => set.insert(ordinal),
        }
    }

    /// Returns true if the line at `ordinal` is kept.
    pub(crate) fn contains(&self, ordinal: u64) -> bool {
        match self {
            Self::Cells(cells) => cells.contains(ordinal),
            Self::Ordinals(set) => set.contains(ordinal),
        }
    }
}
