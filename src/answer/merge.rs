//! Merging what is in order: runs, and what is left in memory.
//!
//! *Owns:* how many runs are merged at a time, and the threads that read them. The order of the entries is the matter
//! of [`source`].
//!
//! Who runs what:
//!
//! ```text
//!           load-N: next blocks of runs ──▶ RunReader ─┐
//!                                            RunReader ─┼─▶ merge ── entry ──▶ each      the calling thread
//!                                           SortBuffer ─┘
//! ```
//!
//! 1. If there are more runs than memory can read at once, some of those of the fewest bytes are merged into one first:
//!    only as many as must be, so that what is left can be read at once; or as many as memory can read.
//! 2. What is left in memory is sorted, a buffer on a thread.
//! 3. Each reader has the next block of its run loaded while its present one is read.
//!
//! *Invariants:* every entry comes out once, up to the number that is wanted; runs are removed when they were merged.
//!
//! *Cost:* two blocks of memory for each run; one thread's time, of which the disk takes nothing unless it is slower.
//!
//! *Sources:* Knuth, The Art of Computer Programming, volume 3, 5.4.1 (multiway merging) and 5.4.9 (which runs first).

use crate::answer::entry::Entry;
use crate::answer::run_reader::RunReader;
use crate::answer::run_writer::RunWriter;
use crate::answer::runs::{Runs, WorkBuffer};
use crate::answer::sorted_run::SortedRun;
use crate::answer::source::{self, MergeSource};
use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::spill::loads::{self, LoadQueue, MOST_LOADERS};
use crate::sys::compute_pool;
use crate::sys::first_error::FirstFailure;
use crate::temp::space::TempSpace;

/// The state of a merge.
pub(super) struct Merging<'m, 's> {
    pub(super) runs: &'m Runs<'s>,
    /// Memory for reading runs.
    pub(super) budget: &'m MemoryBudget,
}

impl Merging<'_, '_> {
    /// Hands the entries of `buffers` and of their runs to `each`, in order. What is in the buffers stays. `advance`
    /// hears of the bytes of lines that merges before the last go through.
    ///
    /// # Errors
    /// What `each` reports; where a run cannot be read or written, or is damaged.
    pub(super) fn merge(
        &self,
        buffers: &mut [WorkBuffer],
        advance: &dyn Fn(u64),
        each: impl FnMut(&Entry<'_>) -> Result<()>,
    ) -> Result<()> {
        let failure = FirstFailure::default();
        let taken = buffers.iter_mut().flat_map(|work| work.runs.drain(..));
        let runs: Vec<SortedRun> = taken.collect();
        // All runs have a request each, from the start.
        let loaders = runs.len().min(MOST_LOADERS);
        loads::with_queue(self.runs.rules.space, loaders, &failure, |queue| {
            failure.record(self.merge_all(runs, buffers, queue, advance, each));
        });
        failure.into_result()
    }

    fn merge_all(
        &self,
        mut runs: Vec<SortedRun>,
        buffers: &mut [WorkBuffer],
        queue: &LoadQueue,
        advance: &dyn Fn(u64),
        each: impl FnMut(&Entry<'_>) -> Result<()>,
    ) -> Result<()> {
        let rules = &self.runs.rules;
        // Those of the fewest bytes last, where they are taken first: what is merged twice should be little.
        runs.sort_by_key(|run| std::cmp::Reverse(run.written_bytes));
        // One block of a buffer serves the merges before the last.
        while let Some(first) = buffers.first_mut() {
            let reading: Vec<u64> = runs.iter().map(SortedRun::reading_bytes).collect();
            let excess = self.merged_first(&reading);
            if excess == 0 {
                break;
            }
            let some = runs.split_off(runs.len().saturating_sub(excess));
            let address = self.runs.next_run();
            let mut writer = RunWriter::new(rules.space, address, &mut first.block)?;
            let merged = source::merge(self.open(some, queue)?, rules.most, |entry| {
                advance(entry.line_bytes());
                writer.push(entry, rules.order)
            })?;
            discard(merged, rules.space);
            runs.insert(0, writer.finish()?);
        }
        let mut sources = self.open(runs, queue)?;
        let unsorted: Vec<&mut WorkBuffer> = buffers.iter_mut().collect();
        compute_pool::each(unsorted.len(), unsorted, |work| work.buffer.sort());
        let of_buffer = |work| MergeSource::of_buffer(work, rules.order);
        sources.extend(buffers.iter().map(|work| &work.buffer).map(of_buffer));
        discard(source::merge(sources, rules.most, each)?, rules.space);
        Ok(())
    }

    /// Estimates the bytes of lines that the merges before the last go through: what a merged run takes is assumed.
    pub(super) fn bytes_before_last(&self, runs: &[&SortedRun]) -> u64 {
        let mut sizes: Vec<[u64; 3]> = runs
            .iter()
            .map(|run| [run.written_bytes, run.reading_bytes(), run.line_bytes])
            .collect();
        sizes.sort_by_key(|&[written, ..]| std::cmp::Reverse(written));
        let mut bytes = 0;
        loop {
            let reading: Vec<u64> = sizes.iter().map(|&[_, reading, _]| reading).collect();
            let excess = self.merged_first(&reading);
            if excess == 0 {
                return bytes;
            }
            let some = sizes.split_off(sizes.len().saturating_sub(excess));
            let merged = some.iter().fold([0; 3], |all, run| {
                [all[0] + run[0], all[1].max(run[1]), all[2] + run[2]]
            });
            bytes += merged[2];
            sizes.insert(0, merged);
        }
    }

    /// Counts the runs, from the back, that must be merged into one before others; 0 if memory can read all at once,
    /// or there is one. `reading` is what a reader of each takes, in bytes; that of the merged run takes as much as the
    /// largest of these.
    fn merged_first(&self, reading: &[u64]) -> usize {
        let available = self.budget.available_bytes();
        let mut rest = reading.iter().sum::<u64>();
        if rest <= available || reading.len() == 1 {
            return 0;
        }
        let (mut count, mut merged, mut largest) = (0, 0, 0);
        for &bytes in reading.iter().rev() {
            let is_enough = rest + largest <= available;
            // Fewer than two are no merge. One that memory cannot read is refused when it is opened.
            if count >= 2 && (is_enough || merged + bytes > available) {
                break;
            }
            (count, merged, rest) = (count + 1, merged + bytes, rest - bytes);
            largest = largest.max(bytes);
        }
        count
    }

    /// Opens a reader for each of the `runs`.
    fn open<'q>(
        &'q self,
        runs: Vec<SortedRun>,
        queue: &'q LoadQueue,
    ) -> Result<Vec<MergeSource<'q>>> {
        let order = self.runs.rules.order;
        let open = |run| {
            RunReader::new(run, order, self.budget, queue)
                .map(|reader| MergeSource::of_run(reader, order))
        };
        runs.into_iter().map(open).collect()
    }
}

/// Gives the disk space of runs back that were read.
fn discard(sources: Vec<MergeSource<'_>>, space: &TempSpace) {
    for run in sources.into_iter().filter_map(MergeSource::into_run) {
        run.discard(space);
    }
}
