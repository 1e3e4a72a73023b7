//! `memory`: a set in memory, the inputs streamed past it.
//!
//! Exact. Writes nothing. The join pass with one bucket whose build side is the first input: a set
//! of its distinct lines, marked by each further input; a line with all marks is common. Addresses
//! need no set ([`addresses`]).
//!
//! Where the plan has filters, the inputs go through them as in the sieve, and the first is read
//! once more: a filter of it decides which lines of the second input become the set, and a filter
//! of those which lines of the others are looked up at all; the first input itself gives the last
//! mark. Filters are small and so near the processor; the set is mostly a small part of what it
//! would be, and never larger but for the lines that pass by mistake.

use crate::batch::scatter::Scatter;
use crate::batch::{BATCH, Batch, Screen};
use crate::error::Result;
use crate::filter::{Filter, Updater};
use crate::input::Input;
use crate::memory::budget::MemoryBudget;
use crate::output::{Collector, Outbox};
use crate::pass::filter::{empty, filter};
use crate::pass::scan::{Worker, scan, scan_with_room};
use crate::plan::{FilterPlan, Plan};
use crate::run::Run;
use crate::set::sharded::ShardedSet;
use crate::strategy::addresses::addresses;
use crate::strategy::{StoredFilters, describe, if_useful, save_if_wanted};

pub(crate) fn memory(
    run: &Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    filters: StoredFilters<'_>,
    out: &Collector<'_>,
) -> Result<()> {
    let Some((first, others)) = inputs.split_first() else {
        return Ok(());
    };
    match (plan.costs.filter, plan.second_filter, others) {
        _ if plan.uses_bitmap => addresses(run, first, others, out),
        (_, _, []) => ResidentSet::of(run, plan, first)?.write(out),
        (Some(shape), Some(second_shape), [second, rest @ ..]) => {
            let mut screen = filter(run, first, None, &shape)?;
            save_if_wanted(filters, &mut screen)?;
            if !keeps_set_small(&screen, first, second) {
                // Nothing is lost but the reading: the plan was made from a sample.
                drop(screen);
                return plainly(run, plan, first, others, out);
            }
            run.record().filter = Some(describe(&screen));
            let line_bytes = plan.build_line_bytes;
            let keys = second_shape.keys.min(plan.build_lines);
            let shape = FilterPlan {
                keys,
                ..second_shape
            };
            let (set, common) = ResidentSet::of_survivors(run, &screen, second, shape, line_bytes)?;
            set.mark(run, rest.iter().chain([first]), if_useful(&common), out)
        }
        (_, _, others) => plainly(run, plan, first, others, out),
    }
}

/// The first input as the set.
fn plainly(
    run: &Run<'_>,
    plan: &Plan,
    first: &Input,
    others: &[Input],
    out: &Collector<'_>,
) -> Result<()> {
    let set = ResidentSet::of(run, plan, first)?;
    set.mark(run, others, None, out)
}

/// Whether what passes `screen` by mistake is little beside the set of the first input, which the
/// memory was planned for. A filter with more keys than expected, or a small one beside a large
/// second input, would fill the set with lines that are not common.
fn keeps_set_small(screen: &Filter, first: &Input, second: &Input) -> bool {
    let known = |input: &Input| input.bytes().map(|bytes| bytes as f64);
    match (known(first), known(second)) {
        (Some(first), Some(second)) => second * screen.occupancy_sampled().fpr <= first / 4.0,
        _ => if_useful(screen).is_some(),
    }
}

/// The set, and the memory that it was given.
pub(super) struct ResidentSet {
    set: ShardedSet,
    budget: MemoryBudget,
}

impl ResidentSet {
    /// The distinct lines of the first input.
    fn of(run: &Run<'_>, plan: &Plan, first: &Input) -> Result<Self> {
        Self::build(run, first, plan.build_lines, plan.build_line_bytes, None)
    }

    /// The distinct lines of `input` that `screen` lets through, with a filter of them as `shape` plans it.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where they do not fit.
    pub(super) fn of_survivors(
        run: &Run<'_>,
        screen: &Filter,
        input: &Input,
        shape: FilterPlan,
        line_bytes: u64,
    ) -> Result<(Self, Filter)> {
        let mut feed = empty(run, &shape)?;
        let sieve = Some((screen, &mut feed));
        let set = Self::build(run, input, shape.keys, line_bytes, sieve)?;
        Ok((set, feed))
    }

    /// The distinct lines of `input`, about `lines` of `line_bytes` each. With a sieve, those that its first
    /// filter lets through; its second is fed with them.
    fn build(
        run: &Run<'_>,
        input: &Input,
        lines: u64,
        line_bytes: u64,
        sieve: Option<(&Filter, &mut Filter)>,
    ) -> Result<Self> {
        // What reading needs is kept free of the set, and what the set leaves serves long lines.
        let left = run.budget.available_bytes();
        let budget = run
            .budget
            .split_off("set", left.saturating_sub(run.layout.scan_bytes()))?;
        let set = ShardedSet::new(&budget, run.hasher, lines, line_bytes)?;
        let sieve = sieve.map(|(screen, feed)| (screen, feed.updater()));
        let phase = run.input_phase("build", input);
        scan(run, &phase, input, || Build {
            set: &set,
            sieve: sieve.as_ref(),
            passing: Vec::with_capacity(BATCH),
            to_filter: Scatter::default(),
            to_shards: Scatter::default(),
        })?;
        Ok(Self { set, budget })
    }

    /// Streams further inputs past the set, less what `screen` refuses. The last of them tells what
    /// is common.
    pub(super) fn mark<'i>(
        &self,
        run: &Run<'_>,
        inputs: impl IntoIterator<Item = &'i Input>,
        screen: Option<&dyn Screen>,
        out: &Collector<'_>,
    ) -> Result<()> {
        let mut inputs = inputs.into_iter().zip(2..).peekable();
        while let Some((input, mark)) = inputs.next() {
            let is_last = inputs.peek().is_none();
            let phase = run.input_phase("probe", input);
            scan_with_room(run, &phase, input, &self.budget, || Probe {
                set: &self.set,
                screen,
                passing: Vec::with_capacity(BATCH),
                to_shards: Scatter::default(),
                mark,
                is_last,
                out: Outbox::new(out),
            })?;
        }
        Ok(())
    }

    /// All lines are the result.
    fn write(&self, out: &Collector<'_>) -> Result<()> {
        let mut outbox = Outbox::new(out);
        self.set.for_each(|line| outbox.push(line))?;
        outbox.flush()
    }
}

struct Build<'a, 'f> {
    set: &'a ShardedSet,
    sieve: Option<&'a (&'f Filter, Updater<'f>)>,
    passing: Vec<u32>,
    to_filter: Scatter,
    to_shards: Scatter,
}

impl Worker for Build<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let screen = self.sieve.map(|(screen, _)| *screen as &dyn Screen);
        batch.passing(screen, &mut self.passing)?;
        let passing = self.passing.iter().copied();
        if let Some((_, feed)) = self.sieve {
            feed.insert_at(batch, passing.clone(), &mut self.to_filter)?;
        }
        self.set.insert(batch, passing, &mut self.to_shards)
    }
}

struct Probe<'a, 's> {
    set: &'a ShardedSet,
    screen: Option<&'a dyn Screen>,
    passing: Vec<u32>,
    to_shards: Scatter,
    mark: u16,
    is_last: bool,
    out: Outbox<'a, 's>,
}

impl Worker for Probe<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        batch.passing(self.screen, &mut self.passing)?;
        let (passing, out, is_last) = (self.passing.iter().copied(), &mut self.out, self.is_last);
        let shards = &mut self.to_shards;
        self.set.mark(batch, passing, shards, self.mark, |line| {
            if is_last { out.push(line) } else { Ok(()) }
        })
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush()
    }
}
