//! `memory`: a set in memory, the inputs streamed past it.
//!
//! A join with a single bucket that never leaves memory:
//!
//! 1. The distinct lines of the building sides become a set, each marked with its sides. For what every side
//!    must have, that is one side, the smallest; for a union it is all of them.
//! 2. The further sides mark the lines that are in the set.
//! 3. What every side must have is written when it gets its last mark, by the worker that gives the mark. Else
//!    the lines whose marks are selected are written at the end.
//!
//! If the plan of an intersection has filters, the inputs take the order of the sieve:
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
//! Where repeats are kept, the set is of the sides behind the first (of an intersection, of one of them), the others
//! mark it, and each line of the first side is looked up at the end and written as often as it comes.
//!
//! Addresses need no set ([`addresses`]).
//!
//! *Owns:* [`ResidentSet`], which the sieve uses, too. *Invariants:* exact; a mark is given under the lock of
//! the line's shard, so of all workers one gives it, and each common line is written once.
//!
//! *Cost:* one reading of each input, or two of the first; no disk, but for an answer that is put in order. The set
//! and the filters are in memory.

use crate::answer::{Collector, Outbox};
use crate::batch::gather::Gathered;
use crate::batch::scatter::Scatter;
use crate::batch::{Batch, Screen};
use crate::error::Result;
use crate::filter::{Filter, Updater};
use crate::input::Input;
use crate::memory::budget::MemoryBudget;
use crate::pass::filter::{empty, filter};
use crate::pass::join::{write, write_again};
use crate::pass::scan::{Worker, scan, scan_with_room};
use crate::pass::screened::{Screened, Work};
use crate::plan::{FilterPlan, Plan};
use crate::run::Run;
use crate::selection::{Found, Rule, Sides, Turn};
use crate::set::sharded::ShardedSet;
use crate::strategy::ipv4::addresses;
use crate::strategy::{StoredFilters, describe, if_useful, save_if_wanted};

/// Runs the strategy.
///
/// # Errors
/// [`crate::Error::Memory`] when the set does not fit. No line has reached the sink then, because it gets
/// lines only while the last input is read, or after it. The engine can plan again if all inputs can be read
/// again.
pub(crate) fn memory(
    run: &Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    filters: StoredFilters<'_>,
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    let Some((first, others)) = inputs.split_first() else {
        return Ok(());
    };
    match (plan.costs.filter, plan.second_filter, others) {
        _ if plan.uses_bitmap => addresses(run, inputs, sides, out),
        (Some(shape), Some(second_shape), [second, rest @ ..]) => {
            let mut screen = filter(run, first, None, &shape)?;
            save_if_wanted(filters, &mut screen)?;
            if !keeps_set_small(&screen, first, second) {
                // The sample misled the plan. Only the time of one reading is lost: the planner chooses filters
                // only if the first input is a cached file.
                drop(screen);
                return plainly(run, plan, inputs, sides, out);
            }
            run.record().filter = Some(describe(&screen));
            let line_bytes = plan.build_line_bytes;
            // The set is prepared for the lines that are expected to pass, but never for more than the set
            // of the first input would have had, which is what fits.
            let keys = second_shape.keys.min(plan.build_lines);
            let rule = sides.rule();
            let shape = FilterPlan {
                keys,
                ..second_shape
            };
            // `common` is a filter of the lines in the set: it screens everything that is read later.
            let (set, common) =
                ResidentSet::of_survivors(run, &screen, (second, rule), shape, line_bytes)?;
            set.mark_common(run, rest.iter().chain([first]), &common, out)
        }
        _ => plainly(run, plan, inputs, sides, out),
    }
}

/// The strategy without filters: the building sides are the set, the others mark it in their order.
fn plainly(
    run: &Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    let rule = sides.rule();
    let set = ResidentSet::new(run, rule, plan.build_lines, plan.build_line_bytes)?;
    if rule.repeats() {
        return set.answer(run, inputs, sides, out);
    }
    let turns = sides.turns().iter().zip(1..);
    let mut turns = turns.map(|(turn, rank)| (&inputs[turn.input], rule.side(turn.number, rank)));
    for (input, side) in turns.by_ref().take(rule.building_sides()) {
        set.insert(run, input, side, None)?;
    }
    set.mark(run, turns, None, out)?;
    set.write(out)
}

/// Whether what of `second` passes `screen` by mistake is little beside the set of `first`, for which the
/// memory was planned: at most a quarter of its bytes. A filter with more lines than expected, or a small
/// one beside a large second input, would fill the set with lines that are not common.
///
/// If a size is unknown, as that of a pipe, the rate alone decides.
fn keeps_set_small(screen: &Filter, first: &Input, second: &Input) -> bool {
    let known = |input: &Input| input.likely_bytes().map(|bytes| bytes as f64);
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
    /// What is selected, and when it is known.
    rule: Rule,
    /// The memory that the set was built in. What it has left when the set is complete serves long lines of
    /// the inputs that are streamed past.
    budget: MemoryBudget,
}

impl ResidentSet {
    /// An empty set, prepared for about `lines` lines of `line_bytes` each. The numbers only prepare it: it
    /// grows beyond them while there is memory.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where not even an empty set fits.
    pub(super) fn new(run: &Run<'_>, rule: &Rule, lines: u64, line_bytes: u64) -> Result<Self> {
        // The set may take everything but what reading needs. It is a budget of its own, so the readers of
        // this and the later scans find their memory, however large the set becomes.
        let left = run.budget.available_bytes();
        let budget = run
            .budget
            .split_off("set", left.saturating_sub(run.layout.scan_bytes()))?;
        let set = ShardedSet::new(&budget, run.hasher, lines, line_bytes, rule.kept())?;
        Ok(Self {
            set,
            rule: *rule,
            budget,
        })
    }

    /// As [`ResidentSet::new`], for a set whose lines go through filters. Beside it memory stays free in which the workers
    /// gather lines, here and while the set is marked. Where that is refused, they do not gather.
    ///
    /// # Errors
    /// As [`ResidentSet::new`].
    pub(super) fn screened(
        run: &Run<'_>,
        rule: &Rule,
        lines: u64,
        line_bytes: u64,
    ) -> Result<Self> {
        let bytes = Gathered::all_bytes(run.layout.workers);
        let gathering = run.budget.reserve("gathered lines", bytes);
        let set = Self::new(run, rule, lines, line_bytes)?;
        drop(gathering);
        Ok(set)
    }

    /// The distinct lines of `input` that `screen` lets through, about `shape.keys` of `line_bytes` on average,
    /// and a filter of them as `shape` plans it, for an intersection by `rule`. The filter has
    /// every line of the set, so a line that it refuses need not be looked up.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where they do not fit; else the first failure of reading. Set and filter are
    /// gone then, and their memory is free.
    pub(super) fn of_survivors(
        run: &Run<'_>,
        screen: &Filter,
        (input, rule): (&Input, &Rule),
        shape: FilterPlan,
        line_bytes: u64,
    ) -> Result<(Self, Filter)> {
        // Before the set, which takes all memory that is left.
        let mut feed = empty(run, &shape)?;
        let set = Self::screened(run, rule, shape.keys, line_bytes)?;
        set.insert(run, input, 1, Some((screen, &mut feed)))?;
        Ok((set, feed))
    }

    /// Inserts the distinct lines of `input`, as lines of `side`. With a sieve, those that its first filter lets
    /// through; its second is fed with them.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where they do not fit; else the first failure of reading.
    pub(super) fn insert(
        &self,
        run: &Run<'_>,
        input: &Input,
        side: u32,
        sieve: Option<(&Filter, &mut Filter)>,
    ) -> Result<()> {
        // The updater borrows the filter for the whole scan: nobody can ask it before it is complete.
        let sieve = sieve.map(|(screen, feed)| (screen, feed.updater()));
        let phase = run.input_phase("build", input);
        let (screen, feed) = match &sieve {
            Some((screen, feed)) => (Some(*screen as &dyn Screen), Some(feed)),
            None => (None, None),
        };
        scan(run, &phase, input, || {
            let build = Build {
                set: &self.set,
                side,
                feed,
                to_filter: Scatter::default(),
                to_shards: Scatter::default(),
            };
            Screened::new(screen, &run.budget, build)
        })
    }

    /// Streams the further `inputs` of an intersection past a set of survivors and their filter `common`, as
    /// [`ResidentSet::mark`] does, and passes all common lines to `out`.
    ///
    /// # Errors
    /// As [`ResidentSet::mark`], and those of the sink.
    pub(super) fn mark_common<'i>(
        &self,
        run: &Run<'_>,
        inputs: impl Iterator<Item = &'i Input>,
        common: &Filter,
        out: &Collector<'_>,
    ) -> Result<()> {
        self.mark(run, inputs.zip(2..), if_useful(common), out)?;
        self.write(out)
    }

    /// Streams inputs, each with its side and in their order, past the set. Looks up only the lines that
    /// `screen` lets through; all lines of the set must pass it. Passes lines that get their last mark to `out`.
    ///
    /// Each input is scanned to its end before the next begins, because a line gets its marks in order.
    ///
    /// # Errors
    /// The first failure of reading or of the sink. The set takes no memory here.
    pub(super) fn mark<'i>(
        &self,
        run: &Run<'_>,
        turns: impl Iterator<Item = (&'i Input, u32)>,
        screen: Option<&dyn Screen>,
        out: &Collector<'_>,
    ) -> Result<()> {
        for (input, side) in turns {
            let phase = run.input_phase("probe", input);
            scan_with_room(run, &phase, input, &self.budget, || {
                let probe = Probe {
                    set: &self.set,
                    rule: &self.rule,
                    to_shards: Scatter::default(),
                    side,
                    out: Outbox::new(out),
                };
                Screened::new(screen, &run.budget, probe)
            })?;
        }
        Ok(())
    }

    /// The strategy where repeats are kept: the set is of the sides behind the first, and the lines of the first
    /// side are looked up and written as they come. The set of an intersection is of one of the others.
    ///
    /// # Errors
    /// As [`memory`].
    fn answer(
        &self,
        run: &Run<'_>,
        inputs: &[Input],
        sides: &Sides,
        out: &Collector<'_>,
    ) -> Result<()> {
        let rule = &self.rule;
        let (first, others): (Vec<&Turn>, Vec<&Turn>) =
            sides.turns().iter().partition(|turn| turn.number == 1);
        let building = if rule.in_first() { others.len() } else { 1 };
        for (rank, turn) in (1..).zip(&others) {
            let (input, side) = (&inputs[turn.input], rule.side(turn.number, rank));
            if (rank as usize) <= building {
                self.insert(run, input, side, None)?;
            } else {
                self.mark(run, [(input, side)].into_iter(), None, out)?;
            }
        }
        let rank = others.len() as u32 + 1;
        for turn in first {
            let input = &inputs[turn.input];
            let phase = run.input_phase("probe", input);
            scan_with_room(run, &phase, input, &self.budget, || Answer {
                set: &self.set,
                rule,
                rank,
                to_shards: Scatter::default(),
                out: Outbox::new(out),
            })?;
        }
        Ok(())
    }

    /// Passes the selected lines to `out`, on the calling thread, unless they were passed when they got their last
    /// mark.
    ///
    /// # Errors
    /// The first failure of the sink.
    fn write(&self, out: &Collector<'_>) -> Result<()> {
        if self.rule.last_mark().is_some() {
            return Ok(());
        }
        let mut outbox = Outbox::new(out);
        self.set.for_each(|line, found| {
            let times = self.rule.times(found);
            write(&self.rule, line, found, times, &mut outbox)
        })?;
        outbox.flush()
    }
}

/// One worker that builds the set; the set and the filter are shared by all of them.
struct Build<'a, 'f> {
    set: &'a ShardedSet,
    /// What marks call the side that this input is.
    side: u32,
    /// The filter that is fed with what enters the set, if one is.
    feed: Option<&'a Updater<'f>>,
    /// Groups lines by region of the filter, so that each region is locked once per batch.
    to_filter: Scatter,
    /// Groups them by shard of the set, for the same reason.
    to_shards: Scatter,
}

impl Work for Build<'_, '_> {
    fn work_on(&mut self, batch: Batch<'_>, indexes: &[u32]) -> Result<()> {
        let indexes = indexes.iter().copied();
        // A repeated line is inserted again: it sets the same bits, and the set alone knows repetitions.
        if let Some(feed) = self.feed {
            feed.insert_at(batch, indexes.clone(), &mut self.to_filter)?;
        }
        self.set
            .insert(batch, indexes, &mut self.to_shards, self.side)
    }
}

/// One worker that writes the lines of the first side, as often as they come.
struct Answer<'a, 's> {
    set: &'a ShardedSet,
    rule: &'a Rule,
    /// The rank of the first side: behind all others.
    rank: u32,
    to_shards: Scatter,
    out: Outbox<'a, 's>,
}

impl Worker for Answer<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let (rule, rank, out) = (self.rule, self.rank, &mut self.out);
        let all = 0..batch.lines.len() as u32;
        self.set
            .look_up(batch, all, &mut self.to_shards, |index, found| {
                let mark = rule.with_first(found.mark, rank);
                write_again(rule, (batch, 1), index, Found { mark, ..found }, out)
            })
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush()
    }
}

/// One worker that streams an input past the set.
struct Probe<'a, 's> {
    set: &'a ShardedSet,
    rule: &'a Rule,
    to_shards: Scatter,
    /// What marks call the side that this input is.
    side: u32,
    /// This worker's part of the result; empty unless a line can get its last mark.
    out: Outbox<'a, 's>,
}

impl Work for Probe<'_, '_> {
    fn work_on(&mut self, batch: Batch<'_>, indexes: &[u32]) -> Result<()> {
        let (indexes, shards) = (indexes.iter().copied(), &mut self.to_shards);
        let (out, rule) = (&mut self.out, self.rule);
        // Called with the shard locked. `push` copies the line and seldom takes the collector's lock.
        self.set
            .mark(batch, indexes, shards, self.side, |line, mark| {
                let times = u64::from(rule.last_mark() == Some(mark));
                write(rule, line, Found::with_mark(mark), times, out)
            })
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush()
    }
}
