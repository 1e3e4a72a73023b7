//! The join pass: bucket by bucket, the lines that a [`Selection`](crate::Selection) asks for.
//!
//! Per bucket, with the sides in an order that puts the smallest first:
//!
//! 1. Build: the distinct lines of the building sides go into a set, each marked with its sides. What every
//!    side must have needs one building side, the smallest; a union needs all of them.
//! 2. Probe: the further sides mark the lines that are in the set.
//! 3. Write: what every side must have is written when it gets its last mark; else the lines whose marks
//!    are selected are written at the end. Where repeats are kept, the first side is read once more, and each
//!    of its lines is written whose mark is selected.
//!
//! A bucket whose distinct lines do not fit is split by fresh hash bits, it alone, and its parts
//! are joined the same way ([`split`]). Where no split level would divide it,
//! it is worked through in pieces: as many lines of the building sides as fit, minus those that an earlier
//! piece had, and all that comes after them again for each piece.
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
//! - While a worker splits a bucket, up to two threads write the blocks of its parts.
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

mod joiner;
mod split;
mod work;

pub(crate) use joiner::{write, write_again};

use crate::answer::Collector;
use crate::error::Result;
use crate::pass::join::joiner::{Joiner, set_bytes};
use crate::run::Run;
use crate::selection::Sides;
use crate::spill::bucket::Bucket;
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
/// rule of `sides` selects. The buckets are gone afterwards.
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
    let groups = by_bucket(stores);
    let longest = groups
        .iter()
        .flatten()
        .map(|bucket| bucket.longest_line)
        .max()
        .unwrap_or(0);
    let Threads { workers, writers } = Threads::of(run, sides, &groups, longest);
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
            let shared = (sides, out, joined.clone());
            let worker = Joiner::new(run, &phase, scope, memory, writers, shared);
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

/// How many threads do what.
struct Threads {
    /// Workers that join at the same time.
    workers: usize,
    /// Threads that write blocks for each worker that splits a bucket; without any the worker writes them.
    writers: usize,
}

impl Threads {
    /// As many workers as planned, and more where the plan could not know that there can be:
    ///
    /// - Each must be able to hold the longest line twice, in the set and while it is put together.
    /// - More where the largest bucket fits the share that each of them has: mostly because fewer lines survived a filter.
    /// - All where buckets are split and the parts stay in the memory of the system. Each then writes its blocks itself, which is
    ///   a copy. On a disk the blocks would be too small, because they are the smaller the smaller a share is.
    fn of(run: &Run<'_>, sides: &Sides, groups: &[Vec<Bucket>], longest: u64) -> Self {
        let (layout, available) = (&run.layout, run.budget.available_bytes());
        let least = 4 * longest + 8 * layout.read_bytes() + (256 << 10);
        let most = layout.workers.min(groups.len()).max(1);
        let possible = ((available / least) as usize).clamp(1, most);
        let planned = possible.min(layout.join_workers);
        let reading = run.read_rules(longest).memory_bytes();
        let largest = groups.iter().map(|group| set_bytes(sides, group)).max();
        let share = largest.unwrap_or(0) + reading;
        let fits = |workers: &usize| share <= available / *workers as u64;
        if layout.parts_bytes > 0 && !fits(&planned) && run.space.has_memory_for_parts() {
            return Self {
                workers: possible,
                writers: 0,
            };
        }
        let workers = (planned + 1..=possible).rev().find(fits);
        let workers = workers.unwrap_or(planned);
        // All joiners may be splitting at the same time: together they have no more writers than a spill pass, for whose
        // threads memory is set aside. With many joiners each writes its blocks itself.
        let writers = (layout.writers / workers).min(split::MOST_WRITERS);
        Self { workers, writers }
    }
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
