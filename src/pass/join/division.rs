//! The division of a join among workers, and among threads that write for each of them.
//!
//! *Owns:* the choice, which is made when the buckets are there: their sizes are known by then. *Invariants:* the
//! shares of all workers together are the memory that is left; no more workers than the layout has room for. *Cost:*
//! one look at each bucket.

use crate::memory::buffer::PAGE;
use crate::pass::join::split;
use crate::pass::join::work::{JoinWork, Position};
use crate::plan::layout::Layout;
use crate::run::Run;
use crate::selection::Sides;
use crate::set::line_set::estimate_set_bytes;
use crate::spill::bucket::Bucket;
use crate::spill::reader::ReadRules;
use crate::sys::threads;

/// The threads that a join is divided among. Each worker has the same share of the memory that is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Division {
    /// Workers that join at the same time.
    pub(super) workers: usize,
    /// Threads that write blocks for each worker that splits a bucket; without any the worker writes them.
    pub(super) writers: usize,
}

/// The bytes that a worker needs.
#[derive(Debug, Clone, Copy)]
struct Needs {
    /// Memory for the longest line, in the set and while it is put together.
    least: u64,
    /// Memory for the set of the largest bucket, for reading, and for sorting.
    largest: u64,
}

impl Division {
    /// Divides the join among the threads that the buckets, which are read by `rules`, and the memory that is left
    /// allow.
    pub(super) fn of(
        run: &Run<'_>,
        sides: &Sides,
        groups: &[Vec<Bucket>],
        rules: &ReadRules<'_>,
    ) -> Self {
        let (layout, available) = (&run.layout, run.budget.available_bytes());
        let reading = rules.memory_bytes();
        let sets = groups.iter().map(|group| set_bytes(sides, group));
        let set = sets.max().unwrap_or(0);
        let needs = Needs {
            least: layout.least_share(rules.longest_line),
            // A range is sorted in as much.
            largest: if layout.pool.by_range { 2 * set } else { set } + reading,
        };
        let writers = threads::with_open_files(layout.pool.writers);
        Self::choose(layout, groups.len(), writers, available, needs)
    }

    /// Chooses the threads for `groups` buckets and at most `most_writers` threads that write: as many workers as
    /// planned, fewer where not each could hold the longest line, and more where the largest bucket fits the smaller
    /// share of more workers. The plan does not know that: mostly few lines survived a filter.
    fn choose(
        layout: &Layout,
        groups: usize,
        most_writers: usize,
        available: u64,
        needs: Needs,
    ) -> Self {
        let most = layout.scan.workers.min(groups).max(1);
        let possible = ((available / needs.least) as usize).clamp(1, most);
        let planned = possible.min(layout.pool.join_workers);
        let fits = |workers: &usize| needs.largest <= available / *workers as u64;
        let more = (planned + 1..=possible).rev().find(fits);
        let workers = more.unwrap_or(planned);
        // All joiners may be splitting at the same time: together they have no more writers than a spill pass, for
        // whose threads memory is set aside. With many joiners each writes its blocks itself.
        let writers = (most_writers / workers).min(split::MOST_WRITERS);
        Self { workers, writers }
    }
}

/// Returns the most bytes that the set of one bucket of each input takes in a worker; less where lines repeat.
fn set_bytes(sides: &Sides, buckets: &[Bucket]) -> u64 {
    let (lines, mean_bytes) = JoinWork::new(sides, buckets).building_from(Position::default());
    most_set_bytes(lines, mean_bytes, 8 * sides.rule().kept().words() as u64)
}

/// Works as [`set_bytes`], for this many lines with a mean that was rounded down, of each of which `kept_bytes` are
/// kept.
fn most_set_bytes(lines: u64, mean_bytes: u64, kept_bytes: u64) -> u64 {
    // The pages that a set rounds up to, and what starting it takes.
    let spare = 16 * PAGE;
    // The estimate counts 4 bytes a line for padding, which may be up to 7.
    estimate_set_bytes(lines, lines * (mean_bytes + 1 + 3 + kept_bytes)) + spare
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::hash::LineHasher;
    use crate::memory::budget::MemoryBudget;
    use crate::selection::Order;
    use crate::set::line_set::{Insert, LineSet};

    const MIB: u64 = 1 << 20;

    /// Makes a layout that has so many workers, and lets so many join.
    fn layout(workers: usize, join_workers: usize) -> Layout {
        let mut layout = Layout::default();
        layout.scan.workers = workers;
        layout.pool.join_workers = join_workers;
        layout
    }

    /// Chooses the threads for 100 buckets in 64 MiB of which the largest needs `largest` bytes, where the plan has
    /// `planned` of 4 workers.
    fn threads(planned: usize, largest: u64) -> (usize, usize) {
        let layout = layout(4, planned);
        let needs = Needs {
            least: MIB,
            largest,
        };
        let chosen = Division::choose(&layout, 100, 4, 64 * MIB, needs);
        (chosen.workers, chosen.writers)
    }

    #[test]
    fn as_many_workers_join_as_the_largest_bucket_allows() {
        assert_eq!(threads(1, 16 * MIB), (4, 1));
        assert_eq!(threads(1, 16 * MIB + 1), (3, 1));
        assert_eq!(threads(1, 32 * MIB), (2, 2));
        assert_eq!(threads(1, 64 * MIB), (1, 4));
        assert_eq!(threads(1, 65 * MIB), (1, 4), "it is split");
        assert_eq!(threads(2, 64 * MIB), (2, 2), "never fewer than planned");
    }

    #[test]
    fn each_worker_can_hold_the_longest_line() {
        let layout = layout(8, 8);
        let needs = Needs {
            least: 20 * MIB,
            largest: 30 * MIB,
        };
        let workers = |available: u64, groups: usize| {
            let chosen = Division::choose(&layout, groups, 4, available * MIB, needs);
            chosen.workers
        };
        assert_eq!([workers(10, 9), workers(65, 9), workers(600, 9)], [1, 3, 8]);
        assert_eq!([workers(600, 0), workers(600, 5)], [1, 5]);
    }

    #[test]
    fn the_largest_set_that_is_expected_has_room_for_all_lines() {
        let hasher = LineHasher::with_key([4; 4]);
        let sides = Sides::common(2, Order::Any);
        let kept = sides.rule().kept();
        for length in 8..=33 {
            for lines in [1, 100, 70_000] {
                let bytes = most_set_bytes(lines, length, 8 * kept.words() as u64);
                let budget = MemoryBudget::new(bytes, 0);
                let mut set = LineSet::new(&budget, hasher, kept).unwrap();
                set.reset(lines, length).unwrap();
                assert!(
                    set.has_room_for(lines, lines * (length + 1)),
                    "{lines}, {length}"
                );
                for number in 0..lines {
                    let line = format!("{number:0>width$}", width = length as usize);
                    let inserted = set.insert(hasher.hash(line.as_bytes()), line.as_bytes(), 1, 0);
                    assert_eq!(
                        inserted.unwrap(),
                        Insert::New,
                        "{number} of {lines}, {length}"
                    );
                }
            }
        }
    }
}
