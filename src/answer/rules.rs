//! The settings of an answer that is put in order.
//!
//! *Owns:* these, and the names by which the budget's messages call the memory of an answer. *Invariants:* none.
//! *Cost:* none.

use crate::selection::Order;
use crate::spill::block::Address;
use crate::temp::space::TempSpace;

/// The memory for the lines of an answer that is read once more, as the budget's messages name it.
pub(crate) const KEPT_LINES: &str = "the lines of the result";
/// The memory for the numbers of lines, as the budget's messages name it.
pub(crate) const LINE_NUMBERS: &str = "the numbers of lines";

/// The settings of what puts an answer in order.
pub(crate) struct SortRules<'s> {
    pub(crate) order: Order,
    /// The entries that are wanted, from the first in order; `u64::MAX` if all are.
    pub(crate) most: u64,
    /// The temporary space that runs go to.
    pub(crate) space: &'s TempSpace,
    /// The store of the runs; each is a bucket of it.
    pub(crate) address: Address,
    /// True if every entry is written, also where memory has room for it.
    pub(crate) always_spill: bool,
}
