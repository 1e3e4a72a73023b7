//! The spill pass: read lines, hash each, drop what the filter refuses, append the rest to its
//! bucket.
//!
//! *Owns:* the way from an input to sealed buckets. Three kinds of threads work at the same time:
//!
//! ```text
//!  reader ──chunk──▶ worker: hash, prefilter, cache, scatter ──full block──▶ writer ──▶ file
//!                       │                                                      │
//!                       └── open block of each bucket ◀─────────── free block ─┘
//! ```
//!
//! 1. The thread that calls [`spill`] has [`fill`] start the writers and make the [`BucketWriter`], and
//!    then runs the scan inside it. It returns from [`fill`] when all threads are done.
//! 2. A reader fills a chunk with whole lines ([`scan`] says when the workers read themselves).
//! 3. A worker hashes a batch of the chunk's lines and asks the prefilter which of them pass.
//! 4. It leaves out lines that it spilled a moment ago ([`HotLines`]) and those that the run spilled before
//!    ([`DuplicateCache`]), and puts the others into the filter that is fed, if there is one.
//! 5. It groups the batch by bucket ([`Scatter`]), takes each bucket's lock once, and appends the lines to
//!    the bucket's open block.
//! 6. A block that is full stays in memory if the pool has room; else the worker sends it to a writer and
//!    takes a free block for the next lines.
//! 7. At the end every open block is flushed or held, the buckets are sealed, and the lines are counted.
//!
//! *Invariants:* every line that `prefilter` lets through is in the bucket of its hash or range, at least once, and
//! that is counted; with `feed`, every such line is in that filter, too.
//!
//! *Cost:* one reading of the input; what the pool cannot hold is written.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::answer::{Collector, Outbox};
use crate::batch::scatter::Scatter;
use crate::batch::{BATCH, Batch, Prefilter, absent};
use crate::error::{Error, Result};
use crate::filter::{Filter, Updater};
use crate::hash::LineHasher;
use crate::input::Input;
use crate::pass::duplicate_cache::DuplicateCache;
use crate::pass::hot_lines::HotLines;
use crate::pass::ranges::Ranges;
use crate::pass::scan::{Worker, scan};
use crate::pass::writing::write;
use crate::run::Run;
use crate::selection::{LineState, Rule, Sides};
use crate::sketch::DistinctCounter;
use crate::spill::block_sink::BlockSink;
use crate::spill::bucket::Bucket;
use crate::spill::fill::fill;
use crate::spill::pool::BlockPool;
use crate::spill::rules::FillRules;
use crate::spill::writer::BucketWriter;

/// The buckets and counts that a spill pass leaves.
#[derive(Debug)]
pub(crate) struct Spilled {
    /// One sealed bucket for each bucket number of the layout.
    pub(crate) buckets: Vec<Bucket>,
    /// Lines that were let through. Hot lines are in their bucket less often than that.
    pub(crate) passed: u64,
}

/// The lines of an input that are spilled, and what else is done with them. The default spills them all.
#[derive(Default)]
pub(crate) struct SpillRequest<'a, 's> {
    /// The filter that decides which lines are spilled; without one all are.
    pub(crate) prefilter: Option<&'a dyn Prefilter>,
    /// A filter that gets the lines that are spilled.
    pub(crate) feed: Option<&'a mut Filter>,
    /// True if a line must be in its bucket as often as the input has it.
    pub(crate) keeps_repeats: bool,
    /// Lines that are in their buckets already, and the number of this input, from 0. None of them is spilled
    /// again.
    pub(crate) cache: Option<(&'a DuplicateCache<'a>, usize)>,
    /// The writing of lines that the prefilter refuses; `None` drops them.
    pub(crate) refused: Option<Refused<'a, 's>>,
    /// The counter of the different lines that the prefilter refuses, where somebody wants to know.
    pub(crate) refused_counter: Option<&'a DistinctCounter>,
    /// The ranges that the buckets are; without any they are by hash.
    pub(crate) ranges: Option<&'a Ranges>,
    /// The receiver of the buckets' blocks, instead of memory and temporary files. The buckets then have counts and
    /// no lines.
    pub(crate) block_sink: Option<&'a dyn BlockSink>,
}

/// The rules for writing refused lines: as lines of one input alone.
#[derive(Clone, Copy)]
pub(crate) struct Refused<'a, 's> {
    pub(crate) rule: &'a Rule,
    /// The facts that are known of a line that occurs once in this input and nowhere else.
    pub(crate) singleton: LineState,
    /// The times that it is written for each time that it comes.
    pub(crate) times: u64,
    pub(crate) out: &'a Collector<'s>,
}

impl<'a, 's> Refused<'a, 's> {
    /// Describes the lines that only the input at this index of the plan's order has; `None` if they are not
    /// written.
    pub(crate) fn of(sides: &'a Sides, at: usize, out: &'a Collector<'s>) -> Option<Self> {
        let (rule, singleton) = (sides.rule(), sides.singleton(at));
        let times = rule.times(singleton);
        (times > 0).then_some(Self {
            rule,
            singleton,
            times,
            out,
        })
    }
}

/// Spills the lines of `input` that the prefilter lets through, and does with the others as `request` says. All
/// inputs of a run go to the same number of buckets by the same hash or ranges, so that bucket `b` of
/// one holds what bucket `b` of another can have in common with it.
///
/// # Errors
/// The first failure of reading, asking the prefilter or writing; [`Error::LinesLost`] where a line did not
/// reach its bucket. The buckets are dropped then.
pub(crate) fn spill(
    run: &Run<'_>,
    pool: &BlockPool,
    input: &Input,
    request: SpillRequest<'_, '_>,
) -> Result<Spilled> {
    let SpillRequest {
        prefilter,
        feed,
        keeps_repeats,
        cache,
        refused,
        refused_counter,
        ranges,
        block_sink,
    } = request;
    let phase = run.input_phase("spill", input);
    let counts = SpillCounts::default();
    let updater = feed.map(Filter::updater);
    let rules = FillRules {
        space: run.space,
        pool,
        address: run.new_store(0),
        buckets: run.layout.pool.buckets,
        writers: match block_sink {
            Some(_) => 0,
            None => run.layout.pool.writers,
        },
        has_ordinals: input.first_ordinal().is_some(),
        columns: input.record_columns(),
        block_sink,
    };
    // `fill` lends the writer of buckets to the scan, and `scan` calls the inner closure on each worker
    // thread for the state that this worker has for itself. Nothing outlives `fill`.
    let buckets = fill(rules, |writer| {
        scan(run, &phase, input, || SpillWorker {
            prefilter,
            feed: updater.as_ref(),
            passing: Vec::with_capacity(BATCH),
            refused: refused.map(|refused| (refused, Outbox::new(refused.out))),
            refused_counter,
            refused_indexes: Vec::new(),
            hot: (!keeps_repeats).then(HotLines::new),
            cache,
            scatter: Scatter::default(),
            counts: &counts,
            to_buckets: ToBuckets::new(writer, run.hasher).in_ranges(ranges),
        })
    })?;
    counts.check(input, prefilter.is_none(), &buckets)?;
    Ok(Spilled {
        buckets,
        passed: counts.passed.into_inner(),
    })
}

/// The counts of the lines of an input.
#[derive(Debug, Default)]
struct SpillCounts {
    /// Lines that were let through.
    passed: AtomicU64,
    /// Those of them that are in their bucket already.
    repeats: AtomicU64,
}

impl SpillCounts {
    /// Checks that every line that was let through, all of them without a filter, is in a bucket.
    ///
    /// The readers have compared the bytes with the size of the file, so this closes the last gap: a line that
    /// was read and hashed cannot be missing from the answer without an error.
    ///
    /// # Errors
    /// [`Error::LinesLost`].
    fn check(&self, input: &Input, keeps_all: bool, buckets: &[Bucket]) -> Result<()> {
        let passed = self.passed.load(Ordering::Relaxed);
        let repeats = self.repeats.load(Ordering::Relaxed);
        let appended: u64 = buckets.iter().map(|bucket| bucket.lines).sum();
        let expected = if keeps_all { input.lines() } else { passed };
        if expected == passed && appended + repeats == passed {
            return Ok(());
        }
        Err(Error::LinesLost {
            path: input.name().to_owned(),
            what: format!(
                "{} of {expected} lines reached the buckets",
                appended + repeats
            ),
        })
    }
}

/// The state of a worker of [`spill`], in the order in which a batch goes through it.
struct SpillWorker<'a, 'f, 's> {
    /// The filter that decides which lines go on; without one all do.
    prefilter: Option<&'a dyn Prefilter>,
    /// Indexes of the lines of the batch that go on.
    passing: Vec<u32>,
    /// The writing of the other lines, and this worker's part of them.
    refused: Option<(Refused<'a, 's>, Outbox<'a, 's>)>,
    /// The counter of the different ones among the others, shared by all workers.
    refused_counter: Option<&'a DistinctCounter>,
    /// Indexes of the others, where they are written.
    refused_indexes: Vec<u32>,
    /// Lines that this worker spilled a moment ago, unless repeats are kept.
    hot: Option<HotLines>,
    /// Lines that were spilled before, shared by all workers, and the number of the input.
    cache: Option<(&'a DuplicateCache<'a>, usize)>,
    /// The filter that gets what is spilled, if one is fed; shared by all workers.
    feed: Option<&'a Updater<'f>>,
    /// The groups of the lines that the cache is asked about and of those that are fed.
    scatter: Scatter,
    to_buckets: ToBuckets<'a>,
    /// The counts, shared by all workers.
    counts: &'a SpillCounts,
}

impl Worker for SpillWorker<'_, '_, '_> {
    const KEEPS_ORDINALS: bool = true;

    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        batch.passing(self.prefilter, &mut self.passing)?;
        if let Some((refused, out)) = &mut self.refused {
            absent(&self.passing, batch.lines.len(), &mut self.refused_indexes);
            for &index in &self.refused_indexes {
                let line = batch.lines[index as usize];
                let found = refused.singleton.at(batch.ordinal(index));
                write(refused.rule, line, found, refused.times, out)?;
            }
        }
        if let Some(counter) = self.refused_counter {
            counter.add_all_but(batch.hashes, &self.passing);
        }
        let passed = self.passing.len();
        self.counts
            .passed
            .fetch_add(passed as u64, Ordering::Relaxed);
        if let Some(hot) = &mut self.hot {
            self.passing.retain(|&index| {
                let place = batch.place(index);
                let index = index as usize;
                !hot.is_repeat(batch.hashes[index], batch.keys[index], place)
            });
        }
        if let Some((cache, input)) = self.cache {
            cache.leave_out(batch, input, &mut self.passing, &mut self.scatter)?;
        }
        let repeats = passed - self.passing.len();
        self.counts
            .repeats
            .fetch_add(repeats as u64, Ordering::Relaxed);
        if let Some(updater) = self.feed {
            updater.insert_at(batch, self.passing.iter().copied(), &mut self.scatter)?;
        }
        self.to_buckets.append(batch, self.passing.iter().copied())
    }

    fn finish(&mut self) -> Result<()> {
        self.refused.as_mut().map_or(Ok(()), |(_, out)| out.flush())
    }
}

/// Sends lines of a batch to their buckets: for the spill pass, and for a bucket that is split. Each thread
/// has its own, over one shared writer.
pub(crate) struct ToBuckets<'a> {
    /// The buckets, each with a lock.
    writer: &'a BucketWriter<'a>,
    /// The hasher, which gives the bucket number of a hash on the writer's split level.
    hasher: LineHasher,
    /// The ranges that the buckets are, if they are not by hash.
    ranges: Option<&'a Ranges>,
    /// The buckets that lines go to: of the writer's all, or those of one side.
    buckets: Range<u32>,
    /// The groups of a batch by bucket, so that each lock is taken once a batch.
    scatter: Scatter,
}

impl<'a> ToBuckets<'a> {
    pub(crate) fn new(writer: &'a BucketWriter<'a>, hasher: LineHasher) -> Self {
        Self {
            writer,
            hasher,
            ranges: None,
            buckets: 0..writer.buckets(),
            scatter: Scatter::default(),
        }
    }

    /// Sends lines to the buckets of their ranges instead, if there are any.
    fn in_ranges(self, ranges: Option<&'a Ranges>) -> Self {
        Self { ranges, ..self }
    }

    /// Goes on with one side, from 0, of `sides` that share the writer: each side has the same number of its
    /// buckets, in the order of the sides.
    pub(crate) fn switch_to(&mut self, side: u32, sides: u32) {
        let each = self.writer.buckets() / sides;
        self.buckets = side * each..(side + 1) * each;
    }

    /// Appends the lines at `indexes` to the buckets of their hashes, or of their ranges.
    pub(crate) fn append(
        &mut self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32> + Clone,
    ) -> Result<()> {
        let (all, level) = (self.writer.buckets(), self.writer.level());
        let Range { start, end } = self.buckets;
        let bucket_of = |index: u32| {
            let index = index as usize;
            match self.ranges {
                Some(ranges) => ranges.bucket(batch.keys[index]),
                None => start + self.hasher.bucket(batch.hashes[index], level, end - start),
            }
        };
        self.scatter.group(all as usize, indexes, bucket_of);
        for (bucket, group) in self.scatter.groups() {
            self.writer.append(bucket, batch, group)?;
        }
        Ok(())
    }
}
