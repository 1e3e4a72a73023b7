//! The join pass: bucket by bucket, the lines that every input has, or that only the first has.
//!
//! Per bucket, with the input that has the fewest bytes in it as build side:
//!
//! 1. Build: the distinct lines of the build side go into a set, each with one mark.
//! 2. Probe: the j-th further input gives mark j + 1 to each line that has mark j.
//! 3. A line that gets the last mark is common, and written at that moment; with one input all are.
//!
//! Where the lines of the first input are wanted that no other has ([`JoinKind::OnlyFirst`]), that input
//! is the build side, every other gives mark 2, and what is left with one mark is written at the end.
//!
//! A bucket whose distinct lines do not fit is split by fresh hash bits, it alone, and its parts
//! are joined the same way ([`split`]). Where no split level would divide it,
//! it is worked through in pieces: as many build lines as fit, minus those that an earlier piece
//! had, and all probes again for each piece.
//!
//! Which thread does what:
//!
//! ```text
//!  queue of buckets ──▶ worker: build, probe ──lines──▶ Outbox ──64 KiB──▶ Collector ──▶ sink
//!                        ▲        │
//!      loader: next blocks        └──joined bucket──▶ sweeper: removes its files
//! ```
//!
//! - The thread that calls [`join`] sorts the buckets, starts the sweeper and the workers, and waits.
//! - A worker takes the largest bucket that is left. It has a budget of its own, which its set and its
//!   reader share, so one bucket cannot take the memory of another.
//! - Each worker has a loader thread that reads the next blocks while the worker goes through these.
//! - The sweeper removes the files of joined buckets, because a removal can take a tenth of a second.
//!
//! The marks of a set's line while three inputs are joined (build side A, then B and C):
//!
//! ```text
//!  line in            after build   after B   after C
//!  A only                  1           1         1
//!  A and B                 1           2         2
//!  A and C                 1           1         1      C gives mark 3 only to lines with mark 2
//!  A, B and C              1           2         3      written when it gets mark 3, and only then
//! ```
//!
//! A repeat of a line in B or C finds the mark already given and changes nothing, so each common line is
//! written once however often it comes.
//!
//! *Invariants:* each common line is written once; the memory is the worker's share, whatever the
//! data. *Cost:* one reading of each bucket; with pieces one reading of the probes, and of the
//! build side before the piece, per piece.
//!
//! *Sources:* the hybrid hash join of DeWitt et al., SIGMOD 1984, and its treatment of buckets that do not
//! fit; joining in pieces is their "block nested loop" for one bucket.

use crate::error::{Error, Result};
use crate::memory::budget::MemoryBudget;
use crate::output::{Collector, Outbox};
use crate::pass::split;
use crate::run::{Phase, Run};
use crate::set::line_set::LineSet;
use crate::spill::bucket::Bucket;
use crate::spill::reader::BucketReader;
use crate::stats::{BucketClass, BucketStats};
use crate::sys::failpoint::fail_point;
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::channel::{Receiver, Sender, bounded};
use crate::sys::sync::thread::{self, Scope};
use crate::sys::sync::{Mutex, PoisonError};
use crate::sys::threads;

/// Buckets that may wait for their removal. Each takes a path of memory that no reservation counts, and its
/// disk is not free yet: a bound on both. A worker that finds the queue full waits for a removal.
const SWEEP_AHEAD: usize = 64;

/// Which lines of the buckets are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinKind {
    /// Those that every input has.
    Common,
    /// Those of the first input that no other has.
    OnlyFirst,
}

/// Joins stores of buckets, one store per input in the same order of buckets, and writes the lines that
/// `kind` asks for. The buckets are gone afterwards.
///
/// # Errors
/// The first failure of any worker.
pub(crate) fn join(
    run: &Run<'_>,
    stores: Vec<Vec<Bucket>>,
    kind: JoinKind,
    out: &Collector<'_>,
) -> Result<()> {
    let total = stores
        .iter()
        .flatten()
        .map(|bucket| bucket.record_bytes)
        .sum();
    let phase = run.phase("join", Some(total));
    note_sizes(run, &stores);
    let groups = by_bucket(stores);
    let longest = groups
        .iter()
        .flatten()
        .map(|bucket| bucket.longest_line)
        .max()
        .unwrap_or(0);
    let workers = workers(run, longest).min(groups.len()).max(1);
    // What blocks in memory hold is not available, and is no worker's share. It becomes free bucket by
    // bucket, but a share is fixed: a worker must not wait for memory that another one is about to free.
    let share = run.budget.available_bytes() / workers as u64;
    let queue = Mutex::new(groups);
    let failure = FirstFailure::default();
    thread::scope(|scope| {
        let (joined, sweep) = bounded(SWEEP_AHEAD);
        failure.record(spawn_sweeper(run, scope, sweep));
        run.workers.at_most(workers).run(&failure, |found_work| {
            let memory = (share, longest);
            let worker = Joiner::new(run, &phase, scope, memory, kind, out, joined.clone());
            worker.and_then(|joiner| joiner.join_all(&queue, found_work, &failure))
        });
    });
    failure.into_result()
}

/// A thread that removes the files of buckets that were joined: the system can take a tenth of a
/// second for each.
fn spawn_sweeper<'scope>(
    run: &'scope Run<'_>,
    scope: &'scope Scope<'scope, '_>,
    joined: Receiver<Bucket>,
) -> Result<()> {
    threads::spawn(scope, "sweep", move || {
        for bucket in joined {
            fail_point!("sweep-thread");
            bucket.discard(run.space);
        }
    })
}

/// How many workers can each hold the longest line twice, in the set and while it is put together.
fn workers(run: &Run<'_>, longest: u64) -> usize {
    let least = 4 * longest + 8 * run.layout.read_bytes() + (256 << 10);
    let fitting = run.budget.available_bytes() / least;
    (fitting as usize).clamp(1, run.layout.join_workers)
}

/// The buckets of all inputs by bucket number, largest groups last (they are taken from the end).
fn by_bucket(stores: Vec<Vec<Bucket>>) -> Vec<Vec<Bucket>> {
    let mut groups: Vec<Vec<Bucket>> = Vec::new();
    for store in stores {
        for (number, bucket) in store.into_iter().enumerate() {
            if groups.len() <= number {
                groups.push(Vec::new());
            }
            groups[number].push(bucket);
        }
    }
    groups.sort_by_key(|group| group.iter().map(|bucket| bucket.record_bytes).sum::<u64>());
    groups
}

/// Notes how many lines the buckets have, for the statistics.
fn note_sizes(run: &Run<'_>, stores: &[Vec<Bucket>]) {
    let lines = stores.iter().flatten().map(|bucket| bucket.lines);
    run.record().buckets = BucketStats {
        count: run.layout.buckets,
        split: 0,
        largest_lines: lines.clone().max().unwrap_or(0),
        levels: 1,
        sizes: BucketClass::classes(lines),
    };
}

/// One worker of the join: what it needs for one bucket after the other. It lives on one thread; what
/// workers share are the queue, the collector behind `out`, and the sweeper's channel.
pub(crate) struct Joiner<'a, 's> {
    pub(crate) run: &'a Run<'a>,
    phase: &'a Phase<'a>,
    kind: JoinKind,
    /// The worker's share. Set, reader and the parts of a split bucket take from it, and nothing else does.
    pub(crate) budget: MemoryBudget,
    /// The lines of the build side, or of the piece of it that is in work. Emptied for each bucket, and its
    /// memory is kept.
    pub(crate) set: LineSet,
    /// Reads one bucket at a time, with a loader thread that reads ahead.
    pub(crate) reader: BucketReader,
    /// Lines on their way to the collector, 64 KiB at a time, so that its lock is seldom taken.
    out: Outbox<'a, 's>,
    /// Where buckets go that are done with.
    joined: Sender<Bucket>,
}

impl<'a, 's> Joiner<'a, 's> {
    /// A worker with `share` bytes of memory, and a thread of `scope` that loads blocks for it.
    fn new<'scope, 'env>(
        run: &'a Run<'a>,
        phase: &'a Phase<'a>,
        scope: &'scope Scope<'scope, 'env>,
        (share, longest): (u64, u64),
        kind: JoinKind,
        out: &'a Collector<'s>,
        joined: Sender<Bucket>,
    ) -> Result<Self>
    where
        'a: 'scope,
    {
        let budget = run.budget.split_off("join", share)?;
        let reader = BucketReader::spawn(scope, &budget, run.read_rules(longest))?;
        let set = LineSet::new(&budget, run.hasher)?;
        Ok(Self {
            run,
            phase,
            kind,
            budget,
            set,
            reader,
            out: Outbox::new(out),
            joined,
        })
    }

    /// Joins buckets from the queue until there are no more, and hands the last lines on.
    ///
    /// The queue is sorted once and taken from its end, so the largest buckets come first: the last ones that
    /// are still in work when the queue is empty are small, and no worker waits long for another.
    fn join_all(
        mut self,
        queue: &Mutex<Vec<Vec<Bucket>>>,
        found_work: &dyn Fn(),
        failure: &FirstFailure,
    ) -> Result<()> {
        loop {
            failure.check()?;
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match next {
                Some(buckets) => {
                    if buckets.iter().any(|bucket| bucket.lines > 0) {
                        found_work();
                    }
                    self.join(buckets)?;
                }
                None => return self.out.flush(),
            }
        }
    }

    /// Joins one bucket: `buckets[i]` has the lines of input i, at least one input. Splitting calls it again
    /// for each part, so it may be entered anew before it returns, at most once per split level.
    ///
    /// 1. Choose the build side; skip the bucket if an input has nothing in it that could be common.
    /// 2. Build the set until the build side ends or the share is full.
    /// 3. All of it fits: probe. It does not: split the bucket, or join it in pieces.
    /// 4. Send the buckets to the sweeper, which removes their files.
    pub(crate) fn join(&mut self, mut buckets: Vec<Bucket>) -> Result<()> {
        fail_point!("join");
        self.run.interrupt().check()?;
        // The order of inputs does not matter for what they have in common: the smallest set is built. The
        // difference is of the first input, whatever its size.
        let can_skip = match self.kind {
            JoinKind::Common => {
                buckets.sort_by_key(|bucket| bucket.record_bytes);
                buckets.iter().any(|bucket| bucket.lines == 0)
            }
            JoinKind::OnlyFirst => buckets[0].lines == 0,
        };
        if !can_skip {
            let build = &buckets[0];
            let end = self.build(build, 0)?;
            if end == build.lines {
                self.probe(&buckets)?;
            } else if let Some(plan) = split::plan(self, build, buckets.len(), end) {
                return split::split(self, buckets, plan);
            } else {
                self.join_in_pieces(&buckets, end)?;
            }
        }
        for mut bucket in buckets {
            self.phase.advance(bucket.record_bytes, bucket.lines);
            // Their memory is needed for the next bucket.
            bucket.held.clear();
            // Without a sweeper the run has failed, and everything is removed at its end.
            let _no_sweeper = self.joined.send(bucket);
        }
        Ok(())
    }

    /// Fills the set with the lines of `bucket` from line number `start` on; returns the number of
    /// the first line that found no room, or the number of lines.
    ///
    /// Lines are counted in the order in which they were appended, which a bucket keeps: so `start` means the
    /// same lines in every reading.
    fn build(&mut self, bucket: &Bucket, start: u64) -> Result<u64> {
        self.set.reset(
            bucket.lines - start,
            bucket.record_bytes / bucket.lines.max(1),
        )?;
        let set = &mut self.set;
        let mut end = 0;
        self.reader.read_while(bucket, |batch| {
            let lines = batch.lines.len();
            let skipped = start.saturating_sub(end).min(lines as u64) as usize;
            let done = set.insert_all(batch, skipped as u32..lines as u32, |_| Ok(()))?;
            end += (skipped + done) as u64;
            Ok(skipped + done == lines)
        })?;
        Ok(end)
    }

    /// Reads the further inputs' buckets past the set, and writes the lines that `kind` asks for: common
    /// lines when they get the last mark, those of the first input alone when all others were read. With one
    /// input every line of the set is written.
    fn probe(&mut self, buckets: &[Bucket]) -> Result<()> {
        let out = &mut self.out;
        let set = &mut self.set;
        let last = buckets.len() as u16;
        let wants_common = self.kind == JoinKind::Common && last > 1;
        for (bucket, number) in buckets[1..].iter().zip(2..) {
            let mark = if wants_common { number } else { 2 };
            self.reader.read(bucket, |batch| {
                let indexes = 0..batch.lines.len() as u32;
                set.mark_all(batch, indexes, mark, |line| {
                    if wants_common && mark == last {
                        out.push(line)
                    } else {
                        Ok(())
                    }
                })
            })?;
        }
        if wants_common {
            return Ok(());
        }
        set.iter_unmarked().try_for_each(|line| out.push(line))
    }

    /// Works through a bucket that no split divides: piece after piece of the build side. The first
    /// piece is in the set already and ends before line number `end`.
    ///
    /// A bucket comes here when its lines have equal hashes, as somebody who knows the key can make them. The
    /// time grows with the square of such a bucket; the memory does not.
    ///
    /// ```text
    ///  build side   |-- piece 1 --|-- piece 2 --|-- piece 3 --|
    ///  in the set     piece 1       piece 2       piece 3        less what stands before it
    ///  probed with    all of B      all of B      all of B
    /// ```
    fn join_in_pieces(&mut self, buckets: &[Bucket], mut end: u64) -> Result<()> {
        let build = &buckets[0];
        let mut start = 0;
        loop {
            if end == start {
                return Err(self.no_room_for_one_line(build));
            }
            self.exclude_before(build, start)?;
            self.probe(buckets)?;
            if end == build.lines {
                return Ok(());
            }
            start = end;
            end = self.build(build, start)?;
        }
    }

    /// Takes out of the set what a piece before line number `start` had: a line that comes in two pieces would
    /// be written twice.
    fn exclude_before(&mut self, build: &Bucket, start: u64) -> Result<()> {
        if start == 0 {
            return Ok(());
        }
        let set = &mut self.set;
        let mut at = 0;
        self.reader.read_while(build, |batch| {
            let lines = (start - at).min(batch.lines.len() as u64);
            for (line, &hash) in batch.lines.iter().zip(batch.hashes).take(lines as usize) {
                set.exclude(hash, line);
            }
            at += lines;
            Ok(at < start)
        })
    }

    fn no_room_for_one_line(&self, build: &Bucket) -> Error {
        let longest = build.longest_line;
        Error::Memory {
            consumer: "the longest line of a bucket",
            asked_bytes: longest,
            used_bytes: 0,
            limit_bytes: self.budget.limit_bytes(),
            least_bytes: self.run.layout.base_bytes + 8 * longest,
        }
    }
}
