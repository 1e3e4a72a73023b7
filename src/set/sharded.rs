//! One exact set that several threads build and ask together.
//!
//! *Owns:* the division of a set into shards by hash, each with a lock.
//!
//! A worker groups the lines of a batch by shard ([`Scatter`]) and then takes the shards' locks one after the
//! other, each once. It never holds two, so threads cannot wait for each other in a circle.
//!
//! *Invariants:* a line is only ever in the shard of its hash, so it is held once and gets each mark once.
//! All shards share one budget: a shard may grow as long as any memory is left.
//!
//! *Cost:* as [`LineSet`]; a lock per shard and batch.

use crate::batch::Batch;
use crate::batch::scatter::Scatter;
use crate::error::Result;
use crate::hash::{LineHasher, Purpose, derive, reduce};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::PAGE;
use crate::selection::{LineState, StateLayout};
use crate::set::line_set::{LineSet, estimate_set_bytes, most_lines};
use crate::sys::sync::Mutex;

/// The most shards: enough that threads seldom meet, few enough that a full batch has 32 lines for each, as many as a
/// [`LineSet`] fetches ahead.
pub(crate) const SHARDS: usize = 64;
/// A set that is expected to have fewer lines than these in each shard has fewer shards: mapping their memory would
/// take longer than the lines do.
const LINES_OF_A_SHARD: u64 = 1 << 10;

/// A [`LineSet`] in shards.
#[derive(Debug)]
pub(crate) struct ShardedSet {
    /// Only for the error of a set that does not fit.
    budget: MemoryBudget,
    /// Up to [`SHARDS`] of them, by the value that [`Purpose::Shard`] derives from the hash.
    shards: Vec<Mutex<LineSet>>,
}

impl ShardedSet {
    /// Makes an empty set, prepared for about `lines` lines of `line_bytes` on average, if the budget has room for that
    /// many. If it has not, the set can only fit if most of these are repeats: then it is prepared for few lines, and
    /// grows with those that come.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] when the budget has no room for the smallest shards.
    pub(crate) fn new(
        budget: &MemoryBudget,
        hasher: LineHasher,
        lines: u64,
        line_bytes: u64,
        kept: StateLayout,
    ) -> Result<Self> {
        // Four standard deviations more than the mean: lines fall into shards at random, and hardly any
        // shard has to grow its table.
        let shards = match lines {
            0 => SHARDS as u64,
            lines => (lines / LINES_OF_A_SHARD).clamp(1, SHARDS as u64),
        };
        let per_shard = lines / shards;
        let expected = per_shard + 4 * per_shard.isqrt();
        let kept_bytes = 8 * kept.words() as u64;
        let needed = estimate_set_bytes(expected, expected.saturating_mul(line_bytes + kept_bytes));
        let fits = needed.saturating_mul(shards) <= budget.available_bytes();
        let expected = if fits { expected } else { 0 };
        let shard = || {
            let mut set = LineSet::new(budget, hasher, kept)?;
            set.reset(expected, line_bytes)?;
            Ok(Mutex::new(set))
        };
        Ok(Self {
            budget: budget.clone(),
            shards: (0..shards).map(|_| shard()).collect::<Result<_>>()?,
        })
    }

    /// Inserts the lines of a batch at `indexes` as lines of `side`; one that is there already only gets that
    /// side's mark. Any thread may call it, with a `scatter` of its own.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] when the budget has no room for them all. Some were inserted; the set is
    /// intact, but no longer has every line that it was given.
    pub(crate) fn insert(
        &self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32> + Clone,
        scatter: &mut Scatter,
        side: u32,
    ) -> Result<()> {
        self.group(batch, indexes, scatter);
        for (shard, group) in scatter.groups() {
            let mut set = self.shards[shard as usize].lock();
            let done = set.insert_all(batch, group.iter().copied(), side, |_| Ok(()))?;
            if done < group.len() {
                let line = batch.keys[group[done] as usize];
                // The shard has no room and the budget refused more. Another thread may have freed memory since
                // then, so the budget is not asked again: the line is not in the set, and that is an error.
                let bytes = (line.len() as u64).max(PAGE);
                return Err(self.budget.refusal("the set in memory", bytes));
            }
        }
        Ok(())
    }

    /// Estimates the number of lines of `line_bytes` on average that a set of `bytes` bytes holds.
    pub(crate) fn most_lines(bytes: u64, line_bytes: u64, kept: StateLayout) -> u64 {
        // Each shard takes whole pages, and has room to be larger than the mean; see `new`.
        let shards = SHARDS as u64;
        let most = shards * most_lines(bytes / shards, line_bytes, kept);
        most.saturating_sub(5 * (most * shards).isqrt())
    }

    /// Inserts the lines of a batch at `indexes` that are missing, and marks the others as lines of `side`. A shard
    /// that had no room for a line takes no further one. Calls `on_left`, in any order, for each line that the caller
    /// still has to deal with. Any thread may call it, with a `scatter` of its own.
    ///
    /// - Where the set counts occurrences, these are the lines that it does not hold. As no shard takes lines again,
    ///   all occurrences of a line are in the set, or all are left.
    /// - Where it does not, they are those that the set did not have before as a line of that side, or has from later
    ///   ordinals alone.
    ///
    /// # Errors
    /// [`crate::Error::Machine`] when the system refuses memory that the budget grants.
    pub(crate) fn note(
        &self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32> + Clone,
        scatter: &mut Scatter,
        side: u32,
        mut on_left: impl FnMut(u32),
    ) -> Result<()> {
        self.group(batch, indexes, scatter);
        for (shard, group) in scatter.groups() {
            let mut set = self.shards[shard as usize].lock();
            set.note_all(batch, group.iter().copied(), side, &mut on_left)?;
        }
        Ok(())
    }

    /// Marks those lines of a batch at `indexes` that are in the set as lines of `side`, and calls `on_mark` for
    /// each that has a new mark. Repetitions of a line in the same side find the mark already given.
    ///
    /// Any thread may call it, with a `scatter` of its own; all threads must be done with one side before the
    /// next. `on_mark` runs with a shard locked and must not use this set.
    ///
    /// # Errors
    /// What `on_mark` reports.
    pub(crate) fn mark(
        &self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32> + Clone,
        scatter: &mut Scatter,
        side: u32,
        mut on_mark: impl FnMut(&[u8], u32) -> Result<()>,
    ) -> Result<()> {
        self.group(batch, indexes, scatter);
        for (shard, group) in scatter.groups() {
            let mut set = self.shards[shard as usize].lock();
            set.mark_all(batch, group.iter().copied(), side, &mut on_mark)?;
        }
        Ok(())
    }

    /// Hands `each` the `indexes` of a batch, in any order, each with what is kept of its line; the mark is 0 for a
    /// line that is not in the set. Any thread may call it, with a `scatter` of its own. `each` runs with a shard
    /// locked and must not use this set.
    ///
    /// # Errors
    /// What `each` reports.
    pub(crate) fn look_up(
        &self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32> + Clone,
        scatter: &mut Scatter,
        mut each: impl FnMut(u32, LineState) -> Result<()>,
    ) -> Result<()> {
        self.group(batch, indexes, scatter);
        for (shard, group) in scatter.groups() {
            let set = self.shards[shard as usize].lock();
            set.look_up_all(batch, group.iter().copied(), &mut each)?;
        }
        Ok(())
    }

    /// Calls `visit` with every line of the shards that `next` names, and what was kept of it, until
    /// it fails. A shard stays locked while it is visited.
    ///
    /// # Errors
    /// What `visit` reports.
    pub(crate) fn for_each(
        &self,
        next: impl Fn() -> usize,
        mut visit: impl FnMut(&[u8], LineState) -> Result<()>,
    ) -> Result<()> {
        while let Some(shard) = self.shards.get(next()) {
            let set = shard.lock();
            set.iter_marked()
                .try_for_each(|(line, found)| visit(line, found))?;
        }
        Ok(())
    }

    /// Groups the lines at `indexes` by the shard of their hash.
    fn group(
        &self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32> + Clone,
        scatter: &mut Scatter,
    ) {
        let shard_of = |index: u32| {
            reduce(
                derive(batch.hashes[index as usize], Purpose::Shard),
                self.shards.len() as u64,
            ) as u32
        };
        scatter.group(self.shards.len(), indexes, shard_of);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::hash::HashKey;
    use crate::selection::{Marks, Tally};

    #[test]
    #[ignore = "slow: more than a second"]
    fn a_set_for_the_most_lines_of_any_length_fits_its_memory() {
        for has_ordinal in [false, true] {
            let kept = StateLayout {
                has_ordinal,
                has_rank: has_ordinal,
                tally: Tally::None,
                marks: Marks::Count,
            };
            for bytes in [1 << 20, 3 << 20, 37 << 20] {
                for line_bytes in 0..140 {
                    let budget = MemoryBudget::new(bytes, 0);
                    let lines = ShardedSet::most_lines(bytes, line_bytes, kept);
                    let hasher = LineHasher::new(HashKey::Fixed([1; 4])).unwrap();
                    ShardedSet::new(&budget, hasher, lines, line_bytes, kept).unwrap();
                }
            }
        }
    }
}
