//! The state of a run between its steps, and the work of each step.
//!
//! *Owns:* filters, bitmaps, blocks, buckets and the set of a run, from the step that makes them to the last that needs
//! them. *Invariants:* those of [`strategy`](super). A step calls one pass, with what it names as arguments. *Cost:*
//! that of the passes.
//!
//! The order in which things are made within a step:
//!
//! 1. The filter that is fed, while the one that is asked still has its memory: a plan with both has room for both.
//! 2. Blocks, and the duplicate cache, at the first spill. All stores share one pool: later ones could not use
//!    the blocks that an early one holds.
//! 3. The set, last of all: it takes all memory that reading leaves.

use std::sync::Arc;

use crate::answer::Collector;
use crate::error::Result;
use crate::input::Input;
use crate::pass::addresses::{collect, tell};
use crate::pass::duplicate_cache::DuplicateCache;
use crate::pass::filter::{empty, filter_again, insert};
use crate::pass::join::join;
use crate::pass::negatives::{Refusing, write_absent, write_new};
use crate::pass::ranges::Ranges;
use crate::pass::resident_set::ResidentSet;
use crate::pass::spill::{Refused, SpillRequest, Spilled, spill};
use crate::pass::written_set::WrittenSet;
use crate::plan::steps::{At, Lets, Lives, Seen, Slot, Step, Through};
use crate::plan::{FilterPlan, Plan};
use crate::run::Run;
use crate::selection::Sides;
use crate::sketch::DistinctCounter;
use crate::spill::pool::BlockPool;
use crate::strategy::accuracy::FilterAccuracy;
use crate::strategy::slots::{Held, HeldKind, Slots, StoredFilters};
use crate::strategy::survivor_filter::filter_if_it_pays;

/// The state between two steps.
pub(super) struct StepState<'a> {
    pub(super) plan: &'a Plan,
    pub(super) inputs: &'a [Input],
    pub(super) filters: StoredFilters<'a>,
    /// Filters and bitmaps.
    pub(super) slots: Slots,
    /// Blocks, from the first spill to the last.
    pool: Option<BlockPool>,
    /// The duplicate cache, from the first spill to the join.
    cache: Option<DuplicateCache<'a>>,
    /// The ranges that buckets are, from the first spill to the join.
    ranges: Option<Ranges>,
    /// The spilled lines, in the order of the spills.
    stores: Vec<Store>,
    /// The set in memory.
    pub(super) set: Option<ResidentSet>,
    /// The set that is in the answer.
    written: Option<WrittenSet>,
    pub(super) accuracy: FilterAccuracy,
}

/// The spilled lines of an input.
struct Store {
    at: At,
    spilled: Spilled,
    /// The rate of the filter that its lines have passed, 0..1; 1 if none was asked.
    fpr: f64,
}

impl<'a> StepState<'a> {
    /// Makes the state before the first step: with the stored filter, if there is one.
    ///
    /// # Errors
    /// As [`Slots::new`].
    pub(super) fn new(
        run: &Run<'_>,
        plan: &'a Plan,
        inputs: &'a [Input],
        filters: StoredFilters<'a>,
    ) -> Result<Self> {
        Ok(Self {
            plan,
            inputs,
            filters,
            slots: Slots::new(run, plan, filters.stored)?,
            pool: None,
            cache: None,
            ranges: None,
            stores: Vec::new(),
            set: None,
            written: None,
            accuracy: FilterAccuracy::new(filters.stored),
        })
    }

    /// Performs `step`, unless it is a decision or the order of the answer.
    ///
    /// # Errors
    /// The first failure of the pass.
    pub(super) fn perform(&mut self, run: &Run<'_>, step: Step, out: &Collector<'_>) -> Result<()> {
        match step {
            Step::Filter {
                at,
                through,
                into,
                seen,
            } => self.fill(run, at, through, into, seen, out),
            Step::Spill {
                at,
                through,
                feed,
                writes_refused,
            } => self.spill(run, at, through, feed, writes_refused, out),
            Step::Refilter { of, before, into } => self.refilter(run, of, before, into),
            Step::Build {
                at,
                side,
                through,
                feed,
            } => self.build(run, at, side, through.zip(feed)),
            Step::Mark { .. } | Step::LookUp { .. } | Step::Write => self.ask_set(run, step, out),
            Step::WriteNew { at } => self.write_new(run, &self.inputs[at as usize], out),
            Step::Ask { at, slot } => {
                self.slots.make_if_missing(run, slot)?;
                let (input, rule) = (&self.inputs[at as usize], self.plan.sized.rule());
                let filter = self.slots.find(slot).and_then(Held::prefilter);
                filter.map_or(Ok(()), |filter| write_absent(run, input, filter, rule, out))
            }
            Step::Collect { at, through, into } => {
                let set = self.slots.take_addresses(run, into)?;
                let common = through.and_then(|slot| match &self.slots.find(slot)?.kind {
                    HeldKind::Addresses(set) => Some(set),
                    HeldKind::Filter(_) | HeldKind::Stored(_) => None,
                });
                collect(run, &self.inputs[at as usize], common, &set)?;
                self.slots.put(into, HeldKind::Addresses(set));
                Ok(())
            }
            Step::Tell { at, slot, has } => {
                let set = self.slots.take_addresses(run, slot)?;
                let repeats = self.plan.sized.rule().repeats();
                tell(run, &self.inputs[at as usize], &set, has, repeats, out)
            }
            Step::Join { is_distinct } => self.join(run, is_distinct, out),
            Step::Order | Step::Rewrite { .. } | Step::Replan(_) => Ok(()),
        }
    }

    /// Puts the lines of an input into a filter.
    fn fill(
        &mut self,
        run: &Run<'_>,
        at: At,
        through: Option<Slot>,
        into: Slot,
        seen: Seen,
        out: &Collector<'_>,
    ) -> Result<()> {
        let input = &self.inputs[at as usize];
        let mut filter = self.slots.take_filter(run, into)?;
        match seen {
            Seen::Nothing => {
                let prefilter = through.and_then(|slot| self.slots.find(slot)?.prefilter());
                insert(run, input, prefilter, &mut filter)?;
            }
            Seen::Again(slot) => {
                let mut again = self.slots.take_filter(run, slot)?;
                filter_again(run, input, &mut filter, &mut again)?;
                self.slots.put(slot, HeldKind::Filter(again));
            }
            Seen::NewIsWritten => write_new(run, input, &mut filter, out)?,
        }
        self.slots.put(into, HeldKind::Filter(filter));
        Ok(())
    }

    /// Spills what passes of an input, and feeds a filter with it.
    fn spill(
        &mut self,
        run: &Run<'_>,
        at: At,
        through: Option<Through>,
        feed: Option<Slot>,
        writes_refused: bool,
        out: &Collector<'_>,
    ) -> Result<()> {
        let (input, sides) = (&self.inputs[at as usize], &self.plan.sized.sides);
        // The lines of an input that is several sides are dropped for themselves, and it is not known yet where they
        // stand.
        let knows_places = !sides.rule().tells_places() || input.sides().len() == 1;
        let through = through.filter(|_| knows_places);
        let mut fed = self.slots.filter_to_feed(run, feed)?;
        self.prepare_spill(run, through)?;
        let Some(pool) = &self.pool else {
            return Ok(());
        };
        let asked = through.and_then(|through| self.slots.find(through.slot));
        let lets = through.map(|through| through.lets);
        let prefilter = match lets {
            Some(Lets::Survivors) => asked.and_then(Held::prefilter_if_useful),
            _ => asked.and_then(Held::prefilter),
        };
        let refusing = prefilter.map(Refusing);
        let absent = refusing.as_ref().filter(|_| lets == Some(Lets::Absent));
        let counter = (lets == Some(Lets::Answer)).then(DistinctCounter::new);
        let request = SpillRequest {
            prefilter: absent.map_or(prefilter, |absent| Some(absent)),
            feed: fed.as_mut(),
            keeps_repeats: sides.rule().needs_repeats_of(input.sides()),
            cache: self.cache.as_ref().map(|cache| (cache, at as usize)),
            refused: Refused::of(sides, at as usize, out).filter(|_| writes_refused),
            refused_counter: counter.as_ref(),
            ranges: self.ranges.as_ref(),
            block_sink: None,
        };
        let spilled = spill(run, pool, input, request)?;
        // A filter that was not asked has refused nothing.
        let fpr = asked
            .filter(|_| prefilter.is_some())
            .map_or(1.0, |held| held.fpr);
        if let Some(counter) = counter {
            self.accuracy.note_refused(counter.estimate());
        }
        self.stores.push(Store { at, spilled, fpr });
        if let Some((slot, fed)) = feed.zip(fed) {
            self.slots.put(slot, HeldKind::Filter(fed));
        }
        Ok(())
    }

    /// Makes what a spill needs and is not there yet: ranges, blocks, the duplicate cache, and the filter that is
    /// asked, if no step has filled it.
    fn prepare_spill(&mut self, run: &Run<'_>, through: Option<Through>) -> Result<()> {
        if let Some(Through { slot, .. }) = through.filter(|it| it.lets == Lets::Absent) {
            self.slots.make_if_missing(run, slot)?;
        }
        if self.pool.is_none() {
            if run.layout.pool.by_range {
                self.ranges = Some(Ranges::of(run, self.inputs)?);
            }
            self.pool = Some(run.block_pool());
            self.cache = DuplicateCache::new(run, &self.plan.sized.sides)?;
        }
        Ok(())
    }

    /// Builds a filter of what was spilled of an input, if none was fed and it pays.
    fn refilter(&mut self, run: &Run<'_>, of: At, before: At, into: Slot) -> Result<()> {
        let store = self.stores.iter().rev().find(|store| store.at == of);
        let Some(store) = store.filter(|_| self.slots.find(into).is_none()) else {
            return Ok(());
        };
        let (input, next) = (&self.inputs[of as usize], &self.inputs[before as usize]);
        let built = filter_if_it_pays(run, &store.spilled, store.fpr, input, next)?;
        if let Some(filter) = built {
            self.slots.put(into, HeldKind::Filter(filter));
        }
        Ok(())
    }

    /// Puts an input, or what passes a filter of it, into the set, and into another filter.
    fn build(
        &mut self,
        run: &Run<'_>,
        at: At,
        side: u32,
        filters: Option<(Slot, Slot)>,
    ) -> Result<()> {
        let input = &self.inputs[at as usize];
        let shape = self.slots.later_shape.filter(|_| filters.is_some());
        // Before the set, which takes all memory that is left.
        let mut feed = shape.map(|shape| empty(run, &shape)).transpose()?;
        let set = match self.set.take() {
            Some(set) => set,
            None => self.new_set(run, shape)?,
        };
        let prefilter = filters.and_then(|(through, _)| self.slots.find(through)?.prefilter());
        set.insert(run, input, side, prefilter.zip(feed.as_mut()))?;
        self.set = Some(set);
        if let Some(((_, slot), feed)) = filters.zip(feed) {
            self.slots.put(slot, HeldKind::Filter(feed));
        }
        Ok(())
    }

    /// Makes an empty set; after filters, for as many lines as the second has room for.
    fn new_set(&self, run: &Run<'_>, second: Option<FilterPlan>) -> Result<ResidentSet> {
        let (rule, line_bytes) = (self.plan.sized.rule(), self.plan.build_line_bytes);
        match second {
            Some(shape) => ResidentSet::prefiltered(run, rule, shape.keys, line_bytes),
            None => ResidentSet::new(run, rule, self.plan.build_lines, line_bytes),
        }
    }

    /// Streams an input past the set, which is complete, or writes what it selects. Where no other side is there, the
    /// set is empty.
    fn ask_set(&mut self, run: &Run<'_>, step: Step, out: &Collector<'_>) -> Result<()> {
        let set = match self.set.take() {
            Some(set) => set,
            None => self.new_set(run, None)?,
        };
        let input = |at: At| &self.inputs[at as usize];
        match step {
            Step::Mark { at, side, through } => {
                let prefilter =
                    through.and_then(|slot| self.slots.find(slot)?.prefilter_if_useful());
                set.mark(run, input(at), side, prefilter, out)?;
            }
            Step::LookUp { at, rank } => set.look_up(run, input(at), rank, out)?,
            _ => set.write(run, out)?,
        }
        self.set = Some(set);
        Ok(())
    }

    /// Writes the lines of an input that the answer does not have.
    fn write_new(&mut self, run: &Run<'_>, input: &Input, out: &Collector<'_>) -> Result<()> {
        let mut set = match self.written.take() {
            Some(set) => set,
            None => {
                // Else a line is its key.
                let of_records = self.plan.sized.rule().keeps_records_of(1);
                let keying = input.keying().filter(|_| of_records);
                // Rows may be among texts in it.
                let columns = keying.map(|keying| Arc::new(keying.columns(0).as_texts()));
                WrittenSet::new(run, self.plan, columns, out)?
            }
        };
        set.write_new(run, input, out)?;
        self.written = Some(set);
        Ok(())
    }

    /// Joins all stores, when the lines of the duplicate cache are written. All memory is free by now but for the
    /// blocks that they hold: the join divides what there is, and a filter that is still there would give no error,
    /// only a smaller join.
    fn join(&mut self, run: &Run<'_>, is_distinct: bool, out: &Collector<'_>) -> Result<()> {
        if let Some(cache) = self.cache.take() {
            cache.write(run, out)?;
        }
        self.ranges = None;
        let sides = &self.plan.sized.sides;
        let stores = std::mem::take(&mut self.stores).into_iter();
        let stores: Vec<_> = stores.map(|store| store.spilled.buckets).collect();
        if cfg!(debug_assertions) {
            let blocks = stores.iter().flatten().flat_map(|bucket| &bucket.held);
            let held: u64 = blocks.map(|block| block.buffer.len() as u64).sum();
            assert_eq!(run.held_bytes(), run.bookkeeping_bytes() + held);
        }
        if is_distinct {
            join(run, stores, &Sides::common_as(sides.rule(), 1), out)
        } else {
            join(run, stores, sides, out)
        }
    }

    /// Describes filters that are complete when the first `done` of `steps` are done, and drops what the others do not
    /// need.
    ///
    /// # Errors
    /// [`crate::Error::Output`] where the first filter is to be saved and cannot be written.
    pub(super) fn settle(&mut self, lives: &Lives, steps: &[Step], done: usize) -> Result<()> {
        for index in (0..self.slots.held.len()).rev() {
            let Held {
                slot, is_complete, ..
            } = self.slots.held[index];
            if !is_complete && lives.is_complete(slot, done) {
                self.complete(index)?;
            }
            if lives.is_over(slot, done) {
                self.slots.held.remove(index);
            }
        }
        if self.pool.is_some() && !steps[done..].iter().any(Step::is_of_buckets) {
            // Held blocks stay with their buckets.
            self.pool = None;
        }
        Ok(())
    }

    /// Notes and saves a filter that has all its lines.
    fn complete(&mut self, index: usize) -> Result<()> {
        let held = &mut self.slots.held[index];
        held.is_complete = true;
        let HeldKind::Filter(filter) = &mut held.kind else {
            return Ok(());
        };
        held.fpr = filter.occupancy_sampled().fpr;
        // Of intersections alone: a request to save any other is refused.
        let is_first = held.slot == Slot::FIRST;
        if is_first && let Some(target) = self.filters.saving {
            // The plan's number of lines was an estimate. A later run would take a filter with more lines than its
            // file says for an overfull one.
            filter.plan_for_own_keys();
            target.write(filter)?;
        }
        if is_first || !self.plan.costs.exact {
            self.accuracy.note(filter);
        }
        Ok(())
    }

    /// Notes what the statistics say of the filters.
    pub(super) fn note_statistics(&mut self, run: &Run<'_>, out: &Collector<'_>) {
        self.accuracy.note_mistakes(self.plan, self.inputs, out);
        run.record().filter = self.accuracy.stats.take();
    }
}
