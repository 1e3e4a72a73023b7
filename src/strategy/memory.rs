//! `memory`: a set in memory, the inputs streamed past it.
//!
//! A join with a single bucket that never leaves memory:
//!
//! 1. The distinct lines of the first input become a set, each with mark 1.
//! 2. Input j gives mark j to the lines that have mark j - 1.
//! 3. A line that gets the last mark is common. The worker that gives the mark writes it.
//!
//! If the plan has filters, the inputs take the order of the sieve:
//!
//! ```text
//!  read     through            becomes                               mark
//!  first    -                  a filter
//!  second   filter of first    the set, and a filter of its lines    1
//!  further  filter of the set  -                                     2, 3, ...
//!  first    filter of the set  -                                     the last
//! ```
//!
//! The first input is read twice. In return, a filter drops most lines before they are looked up in the set.
//! Filters are small enough to stay near the processor, a set is not; and this one holds only lines that
//! are probably common.
//!
//! Addresses need no set ([`addresses`]).
//!
//! *Owns:* [`ResidentSet`], which the sieve uses, too. *Invariants:* exact; a mark is given under the lock of
//! the line's shard, so of all workers one gives it, and each common line is written once.
//!
//! *Cost:* one reading of each input, or two of the first; no disk. The set and the filters are in memory.

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

/// Runs the strategy.
///
/// # Errors
/// [`crate::Error::Memory`] when the set does not fit. No line has reached the sink then, because it gets
/// lines only while the last input is read. The engine can plan again if all inputs can be read again.
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
        // One input: its distinct lines are the result.
        (_, _, []) => ResidentSet::of(run, plan, first)?.write(out),
        (Some(shape), Some(second_shape), [second, rest @ ..]) => {
            let mut screen = filter(run, first, None, &shape)?;
            save_if_wanted(filters, &mut screen)?;
            if !keeps_set_small(&screen, first, second) {
                // The sample misled the plan. Only the time of one reading is lost: the planner chooses filters
                // only if the first input is a cached file.
                drop(screen);
                return plainly(run, plan, first, others, out);
            }
            run.record().filter = Some(describe(&screen));
            let line_bytes = plan.build_line_bytes;
            // The set is prepared for the lines that are expected to pass, but never for more than the set
            // of the first input would have had, which is what fits.
            let keys = second_shape.keys.min(plan.build_lines);
            let shape = FilterPlan {
                keys,
                ..second_shape
            };
            // `common` is a filter of the lines in the set: it screens everything that is read later.
            let (set, common) = ResidentSet::of_survivors(run, &screen, second, shape, line_bytes)?;
            set.mark(run, rest.iter().chain([first]), if_useful(&common), out)
        }
        (_, _, others) => plainly(run, plan, first, others, out),
    }
}

/// The strategy without filters: the first input is the set, the others mark it in their order.
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

/// Whether what of `second` passes `screen` by mistake is little beside the set of `first`, for which the
/// memory was planned: at most a quarter of its bytes. A filter with more lines than expected, or a small
/// one beside a large second input, would fill the set with lines that are not common.
///
/// If a size is unknown, as that of a pipe, the rate alone decides.
fn keeps_set_small(screen: &Filter, first: &Input, second: &Input) -> bool {
    let known = |input: &Input| input.bytes().map(|bytes| bytes as f64);
    match (known(first), known(second)) {
        (Some(first), Some(second)) => second * screen.occupancy_sampled().fpr <= first / 4.0,
        _ => if_useful(screen).is_some(),
    }
}

/// A set that stays in memory while inputs are streamed past it. All workers share it; each of its shards
/// has a lock.
pub(super) struct ResidentSet {
    /// The set. Its lines are not removed; only their marks change.
    set: ShardedSet,
    /// The memory that the set was built in. What it has left when the set is complete serves long lines of
    /// the inputs that are streamed past.
    budget: MemoryBudget,
}

impl ResidentSet {
    /// The distinct lines of `first`, prepared for as many as the plan expects.
    ///
    /// # Errors
    /// As [`ResidentSet::of_survivors`].
    fn of(run: &Run<'_>, plan: &Plan, first: &Input) -> Result<Self> {
        Self::build(run, first, plan.build_lines, plan.build_line_bytes, None)
    }

    /// The distinct lines of `input` that `screen` lets through, about `shape.keys` of `line_bytes` on average,
    /// and a filter of them as `shape` plans it. The filter has every line of the set, so a line that it
    /// refuses need not be looked up.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where they do not fit; else the first failure of reading. Set and filter are
    /// gone then, and their memory is free.
    pub(super) fn of_survivors(
        run: &Run<'_>,
        screen: &Filter,
        input: &Input,
        shape: FilterPlan,
        line_bytes: u64,
    ) -> Result<(Self, Filter)> {
        // Before the set, which takes all memory that is left.
        let mut feed = empty(run, &shape)?;
        let sieve = Some((screen, &mut feed));
        let set = Self::build(run, input, shape.keys, line_bytes, sieve)?;
        Ok((set, feed))
    }

    /// The distinct lines of `input`, about `lines` of `line_bytes` each. With a sieve, those that its first
    /// filter lets through; its second is fed with them.
    ///
    /// The numbers only prepare the set: it grows beyond them while there is memory.
    fn build(
        run: &Run<'_>,
        input: &Input,
        lines: u64,
        line_bytes: u64,
        sieve: Option<(&Filter, &mut Filter)>,
    ) -> Result<Self> {
        // The set may take everything but what reading needs. It is a budget of its own, so the readers of
        // this and the later scans find their memory, however large the set becomes.
        let left = run.budget.available_bytes();
        let budget = run
            .budget
            .split_off("set", left.saturating_sub(run.layout.scan_bytes()))?;
        let set = ShardedSet::new(&budget, run.hasher, lines, line_bytes)?;
        // The updater borrows the filter for the whole scan: nobody can ask it before it is complete.
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

    /// Streams `inputs`, in their order, past the set. Looks up only the lines that `screen` lets through; all
    /// lines of the set must pass it. The lines that the last input marks are passed to `out`.
    ///
    /// Each input is scanned to its end before the next begins, because a line gets its marks in order.
    ///
    /// # Errors
    /// The first failure of reading or of the sink. The set takes no memory here.
    pub(super) fn mark<'i>(
        &self,
        run: &Run<'_>,
        inputs: impl IntoIterator<Item = &'i Input>,
        screen: Option<&dyn Screen>,
        out: &Collector<'_>,
    ) -> Result<()> {
        // Mark 1 is that of insertion.
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

    /// Passes all lines of the set to `out`, on the calling thread.
    fn write(&self, out: &Collector<'_>) -> Result<()> {
        let mut outbox = Outbox::new(out);
        self.set.for_each(|line| outbox.push(line))?;
        outbox.flush()
    }
}

/// One worker that builds the set; the set and the sieve are shared by all of them.
struct Build<'a, 'f> {
    set: &'a ShardedSet,
    /// The filter to ask, and the one to feed.
    sieve: Option<&'a (&'f Filter, Updater<'f>)>,
    /// The indexes of the lines of the present batch that pass; kept for its capacity.
    passing: Vec<u32>,
    /// Groups them by region of the filter, so that each region is locked once per batch.
    to_filter: Scatter,
    /// Groups them by shard of the set, for the same reason.
    to_shards: Scatter,
}

impl Worker for Build<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let screen = self.sieve.map(|(screen, _)| *screen as &dyn Screen);
        batch.passing(screen, &mut self.passing)?;
        let passing = self.passing.iter().copied();
        // A repeated line is inserted again: it sets the same bits, and the set alone knows repetitions.
        if let Some((_, feed)) = self.sieve {
            feed.insert_at(batch, passing.clone(), &mut self.to_filter)?;
        }
        self.set.insert(batch, passing, &mut self.to_shards)
    }
}

/// One worker that streams an input past the set.
struct Probe<'a, 's> {
    set: &'a ShardedSet,
    /// A filter of the lines in the set; `None` looks every line up.
    screen: Option<&'a dyn Screen>,
    /// The indexes of the lines of the present batch that pass; kept for its capacity.
    passing: Vec<u32>,
    to_shards: Scatter,
    /// The mark that this input gives, from 2; the same for all workers.
    mark: u16,
    /// Whether this mark is the last, so that lines that get it are the result.
    is_last: bool,
    /// This worker's part of the result; empty unless the input is the last.
    out: Outbox<'a, 's>,
}

impl Worker for Probe<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        batch.passing(self.screen, &mut self.passing)?;
        let (passing, out, is_last) = (self.passing.iter().copied(), &mut self.out, self.is_last);
        let shards = &mut self.to_shards;
        // Called with the shard locked. `push` copies the line and seldom takes the collector's lock.
        self.set.mark(batch, passing, shards, self.mark, |line| {
            if is_last { out.push(line) } else { Ok(()) }
        })
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush()
    }
}
