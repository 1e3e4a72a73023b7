//! A set that stays in memory while inputs are streamed past it: a join with a single bucket that is never written.
//!
//! *Owns:* [`ResidentSet`], and what its workers do with lines.
//!
//! ```text
//!  input ─▶ filter, if there is one ─▶ Coalescer ─▶ ShardedSet: insert, and feed a filter      (build)
//!                                                              or mark, and write             (probe)
//!  first side, where repeats are kept ──────────▶ ShardedSet: look up, and write              (answer)
//! ```
//!
//! *Invariants:* a mark is given under the lock of the line's shard, so of all workers one gives it, and each common
//! line is written once. *Cost:* a look-up in memory for each line that passes the filter; where few pass, a copy of
//! each, which makes full batches of them.

use crate::answer::{Collector, Outbox};
use crate::batch::coalescer::Coalescer;
use crate::batch::scatter::Scatter;
use crate::batch::{Batch, Prefilter};
use crate::error::Result;
use crate::filter::{Filter, Updater};
use crate::input::Input;
use crate::memory::budget::MemoryBudget;
use crate::pass::prefiltered_worker::{BatchWork, PrefilteredWorker};
use crate::pass::scan::{Worker, scan, scan_with_room};
use crate::pass::writing::{write, write_again, write_set};
use crate::run::Run;
use crate::selection::{LineState, Rule};
use crate::set::sharded::ShardedSet;

/// A set that stays in memory while inputs are streamed past it. All workers share it; each of its shards
/// has a lock.
pub(crate) struct ResidentSet {
    /// The set. Its lines are not removed; only their marks change.
    set: ShardedSet,
    /// The lines that are selected, and when that is known.
    rule: Rule,
    /// The memory that the set was built in. What it has left when the set is complete serves long lines of
    /// the inputs that are streamed past.
    budget: MemoryBudget,
}

impl ResidentSet {
    /// Makes an empty set, prepared for about `lines` lines of `line_bytes` each. The numbers only prepare it: it
    /// grows beyond them while there is memory.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where not even an empty set fits.
    pub(crate) fn new(run: &Run<'_>, rule: &Rule, lines: u64, line_bytes: u64) -> Result<Self> {
        // The set may take everything but what reading needs. It is a budget of its own, so the readers of
        // this and the later scans find their memory, however large the set becomes.
        let left = run.budget.available_bytes();
        let budget = run
            .budget
            .split_off("set", left.saturating_sub(run.layout.scan.bytes()))?;
        let set = ShardedSet::new(&budget, run.hasher, lines, line_bytes, rule.kept())?;
        Ok(Self {
            set,
            rule: *rule,
            budget,
        })
    }

    /// Works as [`ResidentSet::new`], for a set whose lines go through filters. Beside it memory stays free in which
    /// the workers gather lines, here and while the set is marked. Where that is refused, they do not gather.
    ///
    /// # Errors
    /// As [`ResidentSet::new`].
    pub(crate) fn prefiltered(
        run: &Run<'_>,
        rule: &Rule,
        lines: u64,
        line_bytes: u64,
    ) -> Result<Self> {
        let bytes = Coalescer::all_bytes(run.layout.scan.workers);
        let coalescing = run.budget.reserve("coalesced lines", bytes);
        let set = Self::new(run, rule, lines, line_bytes)?;
        drop(coalescing);
        Ok(set)
    }

    /// Inserts the distinct lines of `input`, as lines of `side`. With a sieve, those that its first filter lets
    /// through; its second is fed with them.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where they do not fit; else the first failure of reading.
    pub(crate) fn insert(
        &self,
        run: &Run<'_>,
        input: &Input,
        side: u32,
        sieve: Option<(&dyn Prefilter, &mut Filter)>,
    ) -> Result<()> {
        // The updater borrows the filter for the whole scan: nobody can ask it before it is complete.
        let sieve = sieve.map(|(prefilter, feed)| (prefilter, feed.updater()));
        let phase = run.input_phase("build", input);
        let (prefilter, feed) = match &sieve {
            Some((prefilter, feed)) => (Some(*prefilter), Some(feed)),
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
            PrefilteredWorker::new(prefilter, build).coalescing(&run.budget)
        })
    }

    /// Streams an input, which is this side, past the set. Looks up only the lines that `prefilter` lets through; all
    /// lines of the set must pass it. Passes lines that get their last mark to `out`. One input is read to its end
    /// before the next begins, because a line gets its marks in order.
    ///
    /// # Errors
    /// The first failure of reading or of the sink. The set takes no memory here.
    pub(crate) fn mark(
        &self,
        run: &Run<'_>,
        input: &Input,
        side: u32,
        prefilter: Option<&dyn Prefilter>,
        out: &Collector<'_>,
    ) -> Result<()> {
        let phase = run.input_phase("probe", input);
        scan_with_room(run, &phase, input, &self.budget, || {
            let probe = Probe {
                set: &self.set,
                rule: &self.rule,
                to_shards: Scatter::default(),
                side,
                out: Outbox::new(out),
            };
            PrefilteredWorker::new(prefilter, probe).coalescing(&run.budget)
        })
    }

    /// Looks the lines of the first side up, which has this rank among the sides, and writes those that are selected as
    /// often as they come. All other sides are in the set, or have marked it.
    ///
    /// # Errors
    /// As [`ResidentSet::mark`].
    pub(crate) fn look_up(
        &self,
        run: &Run<'_>,
        input: &Input,
        rank: u32,
        out: &Collector<'_>,
    ) -> Result<()> {
        let phase = run.input_phase("probe", input);
        scan_with_room(run, &phase, input, &self.budget, || SetAnswer {
            set: &self.set,
            rule: &self.rule,
            rank,
            to_shards: Scatter::default(),
            out: Outbox::new(out),
        })
    }

    /// Passes the selected lines to `out`, unless they were passed when they got their last mark.
    ///
    /// # Errors
    /// The first failure of the sink.
    pub(crate) fn write(&self, run: &Run<'_>, out: &Collector<'_>) -> Result<()> {
        match self.rule.last_mark() {
            Some(_) => Ok(()),
            None => write_set(run, &self.set, &self.rule, out),
        }
    }
}

/// One worker that builds the set; the set and the filter are shared by all of them.
struct Build<'a, 'f> {
    set: &'a ShardedSet,
    /// The number in marks of the side that this input is.
    side: u32,
    /// The filter that is fed with what enters the set, if one is.
    feed: Option<&'a Updater<'f>>,
    /// The groups of lines by region of the filter, so that each region is locked once per batch.
    to_filter: Scatter,
    /// The groups of lines by shard of the set, for the same reason.
    to_shards: Scatter,
}

impl BatchWork for Build<'_, '_> {
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
struct SetAnswer<'a, 's> {
    set: &'a ShardedSet,
    rule: &'a Rule,
    /// The rank of the first side: after all others.
    rank: u32,
    to_shards: Scatter,
    out: Outbox<'a, 's>,
}

impl Worker for SetAnswer<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let (rule, rank, out) = (self.rule, self.rank, &mut self.out);
        let all = 0..batch.lines.len() as u32;
        self.set
            .look_up(batch, all, &mut self.to_shards, |index, found| {
                let found = rule.with_first(found, rank);
                write_again(rule, batch, 1, index, found, out)
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
    /// The number in marks of the side that this input is.
    side: u32,
    /// This worker's part of the result; empty unless a line can get its last mark.
    out: Outbox<'a, 's>,
}

impl BatchWork for Probe<'_, '_> {
    fn work_on(&mut self, batch: Batch<'_>, indexes: &[u32]) -> Result<()> {
        let (indexes, shards) = (indexes.iter().copied(), &mut self.to_shards);
        let (out, rule) = (&mut self.out, self.rule);
        // Called with the shard locked. `push` copies the line and seldom takes the collector's lock.
        self.set
            .mark(batch, indexes, shards, self.side, |line, mark| {
                let times = u64::from(rule.last_mark() == Some(mark));
                write(rule, line, LineState::with_mark(mark), times, out)
            })
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush()
    }
}
