//! The join pass: bucket by bucket, the lines that a [`Selection`](crate::Selection) asks for.
//!
//! Per bucket, with the sides in an order that puts the smallest first:
//!
//! 1. Build: the distinct lines of the building sides go into a set, each marked with its sides. What every
//!    side must have needs one building side, the smallest; a union needs all of them.
//! 2. Probe: the further sides mark the lines that are in the set.
//! 3. Write: a line that every side must have is written when it gets its last mark. A line that is selected
//!    whichever side has it, as in a union, is written when it is new to the set, if the set is sure to hold the
//!    whole bucket. All others are written at the end, if their marks are selected. Where repeats are kept, the first
//!    side is read once more, and each of its lines is written whose mark is selected.
//!
//! Lines may have been written when a bucket turns out to be damaged: the run fails then.
//!
//! A bucket whose distinct lines do not fit is split by fresh hash bits, it alone, and its parts
//! are joined the same way ([`split`]). Where no split level would divide it,
//! it is joined in pieces. Each piece takes the next lines of the building sides, until memory is full, and reads
//! everything that comes after them again.
//!
//! Which thread does what:
//!
//! ```text
//!  queue of buckets ──▶ worker: build, probe ──lines──▶ Outbox ──64 KiB──▶ Collector ──▶ sink
//!                        ▲        │
//!   load-N: blocks of a disk      └──joined bucket──▶ sweeper: removes its files
//! ```
//!
//! - The thread that calls [`join`] sorts the buckets, starts `load-0`, the sweeper and the workers, and waits.
//! - A worker takes the largest bucket that is left; or the next one, where buckets are ranges of lines and the answer
//!   comes in their order ([`RangeSorter`]). It has a budget of its own, which its set and its
//!   reader share, so one bucket cannot take the memory of another.
//! - Each worker copies blocks that are in the page cache itself. Threads `load-N`, which all workers share, read the
//!   others ahead.
//! - While a worker splits a bucket, up to four threads write the blocks of its parts. Where more join than may
//!   write, the worker writes them itself.
//! - The sweeper removes the files of joined buckets, because a removal can take a tenth of a second.
//!
//! The marks of lines while three inputs are joined, of an intersection (build side A, then B and C) and of a
//! selection by the number of sides (build sides A, B and C):
//!
//! ```text
//!                     intersection              number of sides
//!  line in            A   B   C                 A   B   C
//!  A only             1   1   1                 1   1   1
//!  A and C            1   1   1                 1   1   2
//!  C only             -   -   -                 -   -   1
//!  A, B and C         1   2   3, written        1   2   3
//! ```
//!
//! In an intersection, C gives mark 3 only to lines with mark 2. A repeat of a line in the same side finds the
//! mark already given and changes nothing, so each line is written once however often it comes.
//!
//! *Invariants:* each selected line is written once; the memory is the worker's share, whatever the
//! data. *Cost:* one reading of each bucket; with pieces one reading of all of them per piece.
//!
//! *Sources:* the hybrid hash join of DeWitt et al., SIGMOD 1984, and its treatment of buckets that do not
//! fit; joining in pieces is their "block nested loop" for one bucket.

mod division;
mod joiner;
mod split;
mod work;

use crate::answer::{Collector, RangeSorter};
use crate::error::Result;
use crate::pass::join::division::Division;
use crate::pass::join::joiner::{Joiner, Share, Shared};
use crate::run::{Phase, Run};
use crate::selection::Sides;
use crate::spill::bucket::Bucket;
use crate::spill::loads;
use crate::spill::reader::{BucketReader, ReadRules};
use crate::stats::{BucketClass, BucketStats};
use crate::sys::failpoint::fail_point;
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::Mutex;
use crate::sys::sync::channel::{Receiver, bounded};
use crate::sys::sync::thread::{self, Scope};
use crate::sys::threads;

/// Buckets that may wait for their removal. Each takes a path of memory that no reservation counts, and its
/// disk is not free yet: a bound on both. A worker that finds the queue full waits for a removal.
const SWEEP_AHEAD: usize = 64;

/// Joins stores of buckets, one store per input in the same order of buckets, and writes the lines that the
/// rule of `sides` selects. The buckets are removed afterwards.
///
/// # Errors
/// The first failure of any worker.
pub(crate) fn join(
    run: &Run<'_>,
    stores: Vec<Vec<Bucket>>,
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    let total = stores
        .iter()
        .flatten()
        .map(|bucket| bucket.record_bytes)
        .sum();
    let phase = run.phase("join", Some(total));
    note_sizes(run, &stores);
    let mut groups = by_bucket(stores);
    // They are taken from the end.
    if run.layout.pool.by_range {
        groups.reverse();
    } else {
        groups.sort_by_key(|group| group.iter().map(|bucket| bucket.record_bytes).sum::<u64>());
    }
    let rules = run.read_rules(groups.iter().flatten());
    let division = Division::of(run, sides, &groups, &rules);
    join_groups(run, &phase, groups, division, rules, sides, out)
}

/// Works as [`join`], with the buckets of all inputs by their number, that which is joined first last.
fn join_groups(
    run: &Run<'_>,
    phase: &Phase<'_>,
    groups: Vec<Vec<Bucket>>,
    division: Division,
    reading: ReadRules<'_>,
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    let Division { workers, writers } = division;
    // What blocks in memory hold is not available, and is no worker's share. It becomes free bucket by
    // bucket, but a share is fixed: a worker must not wait for memory that another one is about to free.
    let share = Share {
        bytes: run.budget.available_bytes() / workers as u64,
        reading,
        writers,
    };
    let by_range = run.layout.pool.by_range;
    let ranges = by_range
        .then(|| RangeSorter::new(run.sort_rules(sides.rule().order(), sides.rule().top())));
    let queue = Mutex::new(groups);
    let failure = FirstFailure::default();
    let loaders = BucketReader::loaders(workers);
    loads::with_queue(run.space, loaders, &failure, |loads| {
        thread::scope(|scope| {
            let (joined, sweep) = bounded(SWEEP_AHEAD);
            failure.record(spawn_sweeper(run, scope, sweep));
            run.workers.at_most(workers).run(&failure, |found_work| {
                let shared = Shared {
                    run,
                    phase,
                    loads,
                    share,
                    sides,
                    ranges: ranges.as_ref(),
                };
                let worker = Joiner::new(shared, out, joined.clone());
                worker.and_then(|joiner| joiner.join_all(&queue, found_work, &failure))
            });
        });
    });
    failure.into_result()
}

/// Starts the thread that removes the files of buckets that were joined: the system can take a tenth of a second for
/// each.
fn spawn_sweeper<'scope>(
    run: &'scope Run<'_>,
    scope: &'scope Scope<'scope, '_>,
    joined: Receiver<Bucket>,
) -> Result<()> {
    threads::spawn(scope, "sweep", move || {
        for bucket in &joined {
            fail_point!("sweep-thread");
            bucket.discard(run.space);
        }
    })
}

/// Groups the buckets of all inputs by bucket number.
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
    groups
}

/// Notes how many lines the buckets have, for the statistics.
fn note_sizes(run: &Run<'_>, stores: &[Vec<Bucket>]) {
    let lines = stores.iter().flatten().map(|bucket| bucket.lines);
    run.record().buckets = BucketStats {
        count: run.layout.pool.buckets,
        split: 0,
        largest_lines: lines.clone().max().unwrap_or(0),
        levels: 1,
        sizes: BucketClass::classes(lines),
    };
}
