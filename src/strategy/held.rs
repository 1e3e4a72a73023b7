//! What a run holds under the number of a slot: a filter in memory, a stored one, or a bitmap.
//!
//! *Owns:* them, from the step that makes one to the last that asks it. *Invariants:* at most two at a time.

use crate::batch::Screen;
use crate::filter::{AskedFilter, CheckedFilter, Filter, FilterTarget};
use crate::plan::steps::Slot;
use crate::set::ipv4::AddressSet;

/// A filter that lets more than this share of what it does not have pass is not worth asking: it would drop
/// at most a quarter of the lines, for a cache miss each.
pub(super) const USELESS_FPR: f64 = 0.75;

/// Filters in files that a run uses or leaves. At most one of the two is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredFilters<'a> {
    /// A filter that stands for one more input, before all others (`bloom` only). It was checked when the run
    /// began, and is asked in its file or mapped.
    pub(crate) stored: Option<&'a CheckedFilter>,
    /// Where the filter of the first input is saved. The engine puts the file in place when the run has
    /// succeeded; a filter of an earlier attempt is overwritten.
    pub(crate) saving: Option<&'a FilterTarget>,
}

/// What is in a slot.
pub(super) struct Held {
    pub(super) slot: Slot,
    pub(super) kind: Kind,
    /// True if all its lines are in it, and that was noted.
    pub(super) is_complete: bool,
    /// The share of other lines that it lets through by mistake, 0..1, by its fill, when it is complete; 1 before. A
    /// stored filter is always asked: 0.
    pub(super) fpr: f64,
}

/// The kinds of what is in a slot.
pub(super) enum Kind {
    Filter(Filter),
    Stored(AskedFilter),
    Addresses(AddressSet),
}

impl Held {
    /// Returns the filter, to be asked about any line; `None` for a bitmap.
    pub(super) fn screen(&self) -> Option<&dyn Screen> {
        match &self.kind {
            Kind::Filter(filter) => Some(filter),
            Kind::Stored(filter) => Some(filter),
            Kind::Addresses(_) => None,
        }
    }

    /// Returns the filter, if it is worth asking. It was sized for an estimate of the lines that survive. If nearly
    /// all survive, it is overfull, and the next input goes to its buckets without it.
    ///
    /// The decision is made at the end of a pass, not earlier from a part of it: a file is often
    /// in some order, and what survives of its first per cent says nothing about the rest. Deciding
    /// early would save the insertions of one pass; deciding wrongly costs writing a whole input.
    pub(super) fn screen_if_useful(&self) -> Option<&dyn Screen> {
        self.screen().filter(|_| self.fpr <= USELESS_FPR)
    }
}

/// Estimates how many different lines are in a filter, as its set bits show; no more than were inserted.
pub(super) fn distinct(filter: &Filter) -> f64 {
    // The estimate is infinite for a filter without a free bit.
    let occupancy = filter.occupancy_sampled();
    occupancy.distinct.min(filter.keys() as f64)
}
