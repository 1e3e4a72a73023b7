//! One exact set that several threads build and ask together.
//!
//! *Owns:* the division of a set into shards by hash, each with a lock. *Invariants:* a line is
//! only ever in the shard of its hash, so it is held once and gets each mark once. *Cost:* as
//! [`LineSet`]; a lock per shard and batch.

use crate::batch::Batch;
use crate::batch::scatter::Scatter;
use crate::error::Result;
use crate::hash::{LineHasher, Purpose, derive, reduce};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::PAGE;
use crate::set::line_set::{LineSet, estimate_set_bytes};
use crate::sys::sync::{Mutex, PoisonError};

/// Enough that threads seldom meet, few enough that a batch has many lines for each.
pub(crate) const SHARDS: usize = 64;

/// A [`LineSet`] in shards.
#[derive(Debug)]
pub(crate) struct ShardedSet {
    budget: MemoryBudget,
    shards: Vec<Mutex<LineSet>>,
}

impl ShardedSet {
    /// An empty set, prepared for about `lines` lines of `line_bytes` on average, where the budget has
    /// room for as many. Where it has not, the set can only fit if most of these are repeats: then it is
    /// prepared for few lines, and grows with those that come.
    pub(crate) fn new(
        budget: &MemoryBudget,
        hasher: LineHasher,
        lines: u64,
        line_bytes: u64,
    ) -> Result<Self> {
        // A little more than the mean, so that few shards have to grow their table.
        let per_shard = lines / SHARDS as u64;
        let expected = per_shard + 4 * per_shard.isqrt();
        let needed = estimate_set_bytes(expected, expected.saturating_mul(line_bytes));
        let fits = needed.saturating_mul(SHARDS as u64) <= budget.available_bytes();
        let expected = if fits { expected } else { 0 };
        let shard = || {
            let mut set = LineSet::new(budget, hasher)?;
            set.reset(expected, line_bytes)?;
            Ok(Mutex::new(set))
        };
        Ok(Self {
            budget: budget.clone(),
            shards: (0..SHARDS).map(|_| shard()).collect::<Result<_>>()?,
        })
    }

    /// Inserts the lines of a batch at `indexes`, each with one mark.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] when the budget has no room for them all.
    pub(crate) fn insert(
        &self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32> + Clone,
        scatter: &mut Scatter,
    ) -> Result<()> {
        self.group(batch, indexes, scatter);
        for (shard, group) in scatter.groups() {
            let mut set = self.shards[shard as usize]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let done = set.insert_all(batch, group.iter().copied(), |_| Ok(()))?;
            if done < group.len() {
                let line = batch.lines[group[done] as usize];
                // Refused, whatever has become free meanwhile: the line is not in the set.
                let bytes = (line.len() as u64).max(PAGE);
                return Err(self.budget.refusal("the set of the smallest input", bytes));
            }
        }
        Ok(())
    }

    /// Gives mark number `mark` to the lines of a batch at `indexes` that have the mark before it,
    /// telling of each.
    pub(crate) fn mark(
        &self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32> + Clone,
        scatter: &mut Scatter,
        mark: u16,
        mut on_mark: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.group(batch, indexes, scatter);
        for (shard, group) in scatter.groups() {
            let mut set = self.shards[shard as usize]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            set.mark_all(batch, group.iter().copied(), mark, &mut on_mark)?;
        }
        Ok(())
    }

    /// All lines.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        for shard in &self.shards {
            let set = shard.lock().unwrap_or_else(PoisonError::into_inner);
            set.iter().try_for_each(&mut visit)?;
        }
        Ok(())
    }

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
