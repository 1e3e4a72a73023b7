//! A cache of lines that are in their buckets already: where lines come again and again, each is spilled once.
//!
//! *Owns:* a set of the lines that were spilled first, until its memory is full, shared by all workers of a spill
//! pass. What [`hot_lines`](crate::pass::hot_lines) is for hot lines, this is for all: the plan gives it memory where a
//! sample shows that most lines of an input come again.
//!
//! ```text
//!  line ── in the set? ── yes, for this input ──▶ dropped
//!               │ no
//!               ├── room? ── yes ──▶ into the set
//!               └──────────────────▶ spilled
//! ```
//!
//! *Invariants:* a line is dropped only if the very same bytes were spilled before as a line of the same input (or of
//! any, where that is the same). Where it has an ordinal, a smaller one was spilled, too: of this input or of another,
//! because only the smallest of all counts. No line leaves the set.
//!
//! *Cost:* one look into a set for each line, a cache miss or two; the memory that the plan gives it.
//!
//! *Sources:* the same idea as the hybrid hash join of DeWitt et al., SIGMOD 1984, but lines of the set are spilled,
//! too: so the set can be given up at any time, and the join has one kind of bucket.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::batch::Batch;
use crate::batch::scatter::Scatter;
use crate::error::{Error, Result};
use crate::run::Run;
use crate::selection::{Marks, Rule, StateLayout, Tally};
use crate::set::sharded::ShardedSet;

/// The lines that were spilled first.
#[derive(Debug)]
pub(crate) struct DuplicateCache {
    set: ShardedSet,
    /// True after the first line that found no room: from then on lines are only looked up.
    is_full: AtomicBool,
    /// True if a line must be spilled once for each input that has it.
    tells_inputs: bool,
}

impl DuplicateCache {
    /// Makes an empty set with the memory that the plan has for it; `None` if that is no memory, or too little for
    /// a set.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where the budget has less than the plan says.
    pub(crate) fn new(run: &Run<'_>, rule: &Rule) -> Result<Option<Self>> {
        let (bytes, line_bytes) = (
            run.layout.pool.duplicate_cache_bytes,
            run.layout.pool.cached_line_bytes,
        );
        if bytes == 0 {
            return Ok(None);
        }
        let budget = run.budget.split_off("duplicate cache", bytes)?;
        let kept = StateLayout {
            marks: Marks::Count,
            tally: Tally::None,
            has_ordinal: rule.kept().has_ordinal,
        };
        let lines = ShardedSet::most_lines(bytes, line_bytes, kept);
        let set = match ShardedSet::new(&budget, run.hasher, lines, line_bytes, kept) {
            Ok(set) => set,
            // The run needs none: it only spills more.
            Err(Error::Memory { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Self {
            set,
            is_full: AtomicBool::new(false),
            tells_inputs: !rule.takes_any(),
        }))
    }

    /// Takes from `indexes` the lines of `batch` that are in the cache. The batch is of input number `input`, from 0;
    /// all workers must be done with one input before the next. `scatter` is the caller's own.
    ///
    /// # Errors
    /// [`crate::Error::Machine`] when the system refuses memory that the budget grants.
    pub(super) fn leave_out(
        &self,
        batch: Batch<'_>,
        input: usize,
        indexes: &mut Vec<u32>,
        scatter: &mut Scatter,
    ) -> Result<()> {
        let side = if self.tells_inputs {
            input as u32 + 1
        } else {
            1
        };
        let all = std::mem::take(indexes);
        let has_room = !self.is_full.load(Ordering::Relaxed);
        let on_new = |index| indexes.push(index);
        let found_room =
            self.set
                .note(batch, all.iter().copied(), scatter, side, has_room, on_new)?;
        if !found_room {
            self.is_full.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}
