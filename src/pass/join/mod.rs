//! The join pass: bucket by bucket, the lines that a [`Selection`](crate::Selection) asks for.
//!
//! Per bucket, with the sides in an order that puts the smallest first:
//!
//! 1. Build: the distinct lines of the building sides go into a set, each marked with its sides. What every
//!    side must have needs one building side, the smallest; a union needs all of them.
//! 2. Probe: the further sides mark the lines that are in the set.
//! 3. Write: what every side must have is written when it gets its last mark. What is selected whichever side has it,
//!    as in a union, is written when it is new to the set, if the set is sure to hold the whole bucket. All else is written
//!    at the end, if its mark is selected. Where repeats are kept, the first side is read once more, and each of its
//!    lines is written whose mark is selected.
//!
//! Lines may have been written when a bucket turns out to be damaged: the run fails then.
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
//!   load-N: blocks of a disk      └──joined bucket──▶ sweeper: removes its files
//! ```
//!
//! - The thread that calls [`join`] sorts the buckets, starts `load-0`, the sweeper and the workers, and waits.
//! - A worker takes the largest bucket that is left. It has a budget of its own, which its set and its
//!   reader share, so one bucket cannot take the memory of another.
//! - Each worker copies blocks that are in the page cache itself. Threads `load-N`, which all workers share, read the others
//!   ahead.
//! - While a worker splits a bucket, up to four threads write the blocks of its parts. Where all workers split into memory, or
//!   more join than may write, the worker writes them itself.
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
mod writing;

pub(crate) use writing::{write, write_again};

use crate::answer::Collector;
use crate::error::Result;
use crate::pass::join::division::Division;
use crate::pass::join::joiner::{Joiner, Share};
use crate::run::{Phase, Run};
use crate::selection::Sides;
use crate::spill::bucket::Bucket;
use crate::spill::loads;
use crate::spill::reader::BucketReader;
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
    let longest = groups.iter().flatten().map(|bucket| bucket.longest_line);
    let longest = longest.max().unwrap_or(0);
    let division = Division::of(run, sides, &groups, longest);
    join_groups(run, &phase, groups, (division, longest), sides, out)
}

/// As [`join`], the buckets of all inputs by their number, the largest last; `longest` is the longest line of all of
/// them.
fn join_groups(
    run: &Run<'_>,
    phase: &Phase<'_>,
    groups: Vec<Vec<Bucket>>,
    (division, longest): (Division, u64),
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    let Division { workers, writers } = division;
    // What blocks in memory hold is not available, and is no worker's share. It becomes free bucket by
    // bucket, but a share is fixed: a worker must not wait for memory that another one is about to free.
    let share = Share {
        bytes: run.budget.available_bytes() / workers as u64,
        longest,
        writers,
    };
    let queue = Mutex::new(groups);
    let failure = FirstFailure::default();
    let loaders = BucketReader::loaders(workers);
    loads::with_queue(run.space, loaders, &failure, |loads| {
        thread::scope(|scope| {
            let (joined, sweep) = bounded(SWEEP_AHEAD);
            failure.record(spawn_sweeper(run, scope, sweep));
            run.workers.at_most(workers).run(&failure, |found_work| {
                let worker = Joiner::new(run, phase, loads, share, sides, out, joined.clone());
                worker.and_then(|joiner| joiner.join_all(&queue, found_work, &failure))
            });
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::path::Path;

    use tempfile::TempDir;

    use super::*;
    use crate::Source;
    use crate::hash::LineHasher;
    use crate::input::Input;
    use crate::input::request::Opening;
    use crate::options::Options;
    use crate::pass::spill::{Screening, spill};
    use crate::plan::layout::Layout;
    use crate::selection::{Rule, Selection, Turn};
    use crate::temp::quota::Quota;
    use crate::temp::space::TempSpace;

    const MIB: u64 = 1 << 20;

    /// A directory in memory, where the system has one: there all parts stay.
    fn in_memory() -> TempDir {
        tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
    }

    /// Two buckets for sets of 4 MiB in 3 MiB of memory, which the plan would let a single worker split.
    fn small_layout() -> Layout {
        Layout {
            memory_bytes: 64 * MIB,
            usable_bytes: 3 * MIB,
            threads: 2,
            workers: 2,
            readers: 2,
            writers: 2,
            chunk_bytes: 64 << 10,
            chunk_buffers: 5,
            long_line_bytes: 256 << 10,
            long_line_eighths: 1,
            lanes: 1,
            buckets: 2,
            block_bytes: 16 << 10,
            pool_blocks: 7,
            join_workers: 1,
            parts_bytes: 64 * MIB,
            ..Layout::default()
        }
    }

    /// Joins buckets of `0..LINES` and of every second of these numbers, all of which are split; returns with how many
    /// threads.
    fn split_and_join(layout: Layout, cap: u64) -> Division {
        const LINES: usize = 100_000;
        let line = |number: usize| format!("{number:0>40}");
        let directory = in_memory();
        let path = |name: &str| directory.path().join(name);
        for (name, step) in [("a", 1), ("b", 2)] {
            let lines: Vec<String> = (0..LINES).step_by(step).map(line).collect();
            std::fs::write(path(name), lines.join("\n")).unwrap();
        }
        let options = Options::default();
        let space = TempSpace::new(
            &[directory.path().to_owned()],
            Quota::new(cap),
            &options.interrupt,
        );
        let run = Run::new(&options, layout, LineHasher::with_key([3; 4]), &space);
        let sources = [Source::from(path("a")), Source::from(path("b"))];
        let inputs = Input::open_all(&sources, Opening::plain(&options.interrupt)).unwrap();
        let mut found = Vec::new();
        let mut sink = |line: &[u8]| {
            found.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        };
        let pool = run.block_pool();
        let spilled = |input| spill(&run, &pool, input, Screening::default()).unwrap();
        let stores = inputs.iter().map(|input| spilled(input).buckets).collect();
        let groups = by_bucket(stores);
        drop(pool);
        // A union builds its sets from both sides; the first has all lines.
        let rule = Rule::new(Selection::union(), 2).unwrap();
        let turns = (0..inputs.len()).zip(1..);
        let turns = turns.map(|(input, number)| Turn { input, number });
        let sides = Sides::new(rule, turns.collect());
        let out = Collector::new(&mut sink);
        let division = Division::of(&run, &sides, &groups, 40);
        let phase = run.phase("join", None);
        join_groups(&run, &phase, groups, (division, 40), &sides, &out).unwrap();
        drop(out);
        found.sort_unstable();
        assert!(found.into_iter().eq((0..LINES).map(line)), "a wrong result");
        assert_eq!(run.record().buckets.split, 2);
        division
    }

    #[test]
    fn all_workers_split_at_the_same_time_where_parts_stay_in_memory_and_one_elsewhere() {
        let layout = small_layout();
        let one = Division {
            workers: 1,
            writers: 2,
        };
        let all = Division {
            workers: 2,
            writers: 0,
        };
        if Path::new("/dev/shm").is_dir() {
            assert_eq!(split_and_join(layout, u64::MAX), all);
        } else {
            println!("skipped: there is no /dev/shm");
        }
        // Planned for one level, and without temporary space for two buckets twice.
        let planned = Layout {
            parts_bytes: 0,
            ..layout
        };
        assert_eq!(split_and_join(planned, u64::MAX), one);
        assert_eq!(split_and_join(layout, 11 * MIB), one);
    }
}
