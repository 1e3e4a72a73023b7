//! Filters and bitmaps of a run, each under the number of its slot.
//!
//! *Owns:* them, from the step that makes one to the last that asks it. *Invariants:* at most two at a time. *Cost:* a
//! search among two.

use crate::batch::Prefilter;
use crate::error::{Error, Result};
use crate::filter::{AskedFilter, CheckedFilter, Filter, FilterTarget};
use crate::pass::filter::empty;
use crate::plan::steps::{Lives, Slot};
use crate::plan::{FilterPlan, Plan};
use crate::run::Run;
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
    /// The target for the filter of the first input, if it is saved. The engine puts the file in place when the run
    /// has succeeded; a filter of an earlier attempt is overwritten.
    pub(crate) saving: Option<&'a FilterTarget>,
}

/// The contents of a slot.
pub(super) struct Held {
    pub(super) slot: Slot,
    pub(super) kind: HeldKind,
    /// True if all its lines are in it, and that was noted.
    pub(super) is_complete: bool,
    /// The share of other lines that it lets through by mistake, 0..1, by its fill, when it is complete; 1 before. A
    /// stored filter is always asked: 0.
    pub(super) fpr: f64,
}

/// The kinds of what is in a slot.
pub(super) enum HeldKind {
    Filter(Filter),
    Stored(AskedFilter),
    Addresses(AddressSet),
}

impl Held {
    /// Returns the filter, to be asked about any line; `None` for a bitmap.
    pub(super) fn prefilter(&self) -> Option<&dyn Prefilter> {
        match &self.kind {
            HeldKind::Filter(filter) => Some(filter),
            HeldKind::Stored(filter) => Some(filter),
            HeldKind::Addresses(_) => None,
        }
    }

    /// Returns the filter, if it is worth asking. It was sized for an estimate of the lines that survive. If nearly
    /// all survive, it is overfull, and the next input goes to its buckets without it.
    ///
    /// The decision is made at the end of a pass, not earlier from a part of it: a file is often
    /// in some order, and what survives of its first per cent says nothing about the rest. Deciding
    /// early would save the insertions of one pass; deciding wrongly costs writing a whole input.
    pub(super) fn prefilter_if_useful(&self) -> Option<&dyn Prefilter> {
        self.prefilter().filter(|_| self.fpr <= USELESS_FPR)
    }
}

/// Filters and bitmaps, and the shapes of filters that are still to be made.
pub(super) struct Slots {
    pub(super) held: Vec<Held>,
    /// The shape of the first filter.
    first_shape: Option<FilterPlan>,
    /// The shape of all others, where they have their own; a decision may change it.
    pub(super) later_shape: Option<FilterPlan>,
}

impl Slots {
    /// Makes them, with the stored filter in the first slot, if there is one. That is mapped if the memory that buffers
    /// and a further filter leave is enough for it; else its blocks are read from the file when they are needed.
    ///
    /// # Errors
    /// As [`AskedFilter::new`].
    pub(super) fn new(run: &Run<'_>, plan: &Plan, stored: Option<&CheckedFilter>) -> Result<Self> {
        let later = plan.second_filter.map_or(0, |shape| shape.bits / 8);
        let left = run.layout.rest_bytes().saturating_sub(later);
        let asked = stored.map(|stored| AskedFilter::new(stored, run.hasher, &run.budget, left));
        let held = asked.transpose()?.map(|asked| Held {
            slot: Slot::FIRST,
            kind: HeldKind::Stored(asked),
            is_complete: true,
            fpr: 0.0,
        });
        Ok(Self {
            held: held.into_iter().collect(),
            first_shape: plan.costs.filter,
            later_shape: plan.second_filter,
        })
    }

    /// Finds what is in a slot.
    pub(super) fn find(&self, slot: Slot) -> Option<&Held> {
        self.held.iter().find(|held| held.slot == slot)
    }

    /// Returns true if each filter and bitmap is one that a step after the first `done` names.
    pub(super) fn are_named(&self, lives: &Lives, done: usize) -> bool {
        let is_named = |held: &Held| !lives.is_over(held.slot, done);
        self.held.len() <= 2 && self.held.iter().all(is_named)
    }

    /// Takes the filter out of a slot, to change it; an empty one if there is none.
    pub(super) fn take_filter(&mut self, run: &Run<'_>, slot: Slot) -> Result<Filter> {
        if let Some(HeldKind::Filter(filter)) = self.take(slot) {
            return Ok(filter);
        }
        let shape = match slot {
            Slot::FIRST => self.first_shape,
            _ => self.later_shape.or(self.first_shape),
        };
        // A plan with such a step has such a shape; without one, the least filter does.
        empty(run, &shape.unwrap_or_else(|| FilterPlan::new(1, 0, 1.0)))
    }

    /// Makes a filter to feed, if one is planned and there is room for it. A refusal by the budget is not an error:
    /// what is spilled is joined in any case.
    pub(super) fn filter_to_feed(
        &self,
        run: &Run<'_>,
        slot: Option<Slot>,
    ) -> Result<Option<Filter>> {
        match slot.and(self.later_shape).map(|shape| empty(run, &shape)) {
            None | Some(Err(Error::Memory { .. })) => Ok(None),
            Some(filter) => filter.map(Some),
        }
    }

    /// Puts an empty filter into a slot that no step has filled.
    pub(super) fn make_if_missing(&mut self, run: &Run<'_>, slot: Slot) -> Result<()> {
        if self.find(slot).is_none() {
            let filter = self.take_filter(run, slot)?;
            self.put(slot, HeldKind::Filter(filter));
        }
        Ok(())
    }

    /// Takes the bitmap out of a slot, to change it; an empty one if there is none.
    pub(super) fn take_addresses(&mut self, run: &Run<'_>, slot: Slot) -> Result<AddressSet> {
        match self.take(slot) {
            Some(HeldKind::Addresses(set)) => Ok(set),
            _ => AddressSet::new(&run.budget),
        }
    }

    fn take(&mut self, slot: Slot) -> Option<HeldKind> {
        let index = self.held.iter().position(|held| held.slot == slot)?;
        Some(self.held.swap_remove(index).kind)
    }

    /// Puts a filter or bitmap, which more lines may come into, into its slot.
    pub(super) fn put(&mut self, slot: Slot, kind: HeldKind) {
        self.held.push(Held {
            slot,
            kind,
            is_complete: false,
            fpr: 1.0,
        });
    }
}

/// Estimates how many different lines are in a filter, as its set bits show; no more than were inserted.
pub(super) fn distinct(filter: &Filter) -> f64 {
    // The estimate is infinite for a filter without a free bit.
    let occupancy = filter.occupancy_sampled();
    occupancy.distinct.min(filter.keys() as f64)
}
