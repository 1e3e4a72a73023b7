//! A cache of lines that come again and again: each is spilled once, or not at all.
//!
//! *Owns:* a set of the lines that came first, until its memory is full, shared by all workers of all spill passes.
//! It does for all lines what [`hot_lines`](crate::pass::hot_lines) does for hot ones: the plan gives it memory where a
//! sample shows that most lines of an input come again.
//!
//! ```text
//!  line ── in the set? ── yes ──▶ counted there           or dropped, if it was spilled for this input
//!               │ no
//!               ├── room? ── yes ──▶ into the set         and spilled
//!               └──────────────────▶ spilled
//! ```
//!
//! Where the selection counts no occurrences (on the right), lines of the set are spilled, too: the set can be given up
//! at any time, and the join finds every line in its bucket. Where it counts them, a line of the set is in no bucket:
//! the set is written before the join.
//!
//! *Invariants:* a line is dropped only if the very same bytes were spilled before as a line of the same input (or of
//! any, where that is the same). Where it has an ordinal, a smaller one was spilled, too: of this input or of another,
//! because only the smallest of all counts. No line leaves the set, and a shard that was full takes none: so where
//! lines are counted, all occurrences of a line are in the set, or all are in its bucket.
//!
//! *Cost:* one look into a set for each line, a cache miss or two; the memory that the plan gives it.
//!
//! *Sources:* the hybrid hash join of DeWitt et al., SIGMOD 1984, for aggregates.

use crate::answer::Collector;
use crate::batch::Batch;
use crate::batch::scatter::Scatter;
use crate::error::{Error, Result};
use crate::pass::writing::write_set;
use crate::run::Run;
use crate::selection::{Marks, Sides, StateLayout};
use crate::set::sharded::ShardedSet;

/// The lines that came first.
#[derive(Debug)]
pub(crate) struct DuplicateCache<'a> {
    set: ShardedSet,
    /// The rule, and the inputs as its sides.
    sides: &'a Sides,
}

impl<'a> DuplicateCache<'a> {
    /// Makes an empty set with the memory that the plan has for it; `None` if that is no memory, or too little for
    /// a set.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where the budget has less than the plan says.
    pub(crate) fn new(run: &Run<'_>, sides: &'a Sides) -> Result<Option<Self>> {
        let (bytes, line_bytes) = (
            run.layout.pool.duplicate_cache_bytes,
            run.layout.pool.cached_line_bytes,
        );
        if bytes == 0 {
            return Ok(None);
        }
        let rule = sides.rule();
        let marks = if rule.needs_repeats_of(&[1]) {
            rule.kept().marks
        } else {
            Marks::Count
        };
        let kept = StateLayout {
            marks,
            ..rule.kept()
        };
        let budget = run.budget.split_off("duplicate cache", bytes)?;
        let lines = ShardedSet::most_lines(bytes, line_bytes, kept);
        let set = match ShardedSet::new(&budget, run.hasher, lines, line_bytes, kept) {
            Ok(set) => set,
            // The run needs none: it only spills more.
            Err(Error::Memory { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Self { set, sides }))
    }

    /// Takes from `indexes` the lines of `batch` that the cache has dealt with. The batch is of input number `input`,
    /// from 0; all workers must be done with one input before the next. `scatter` is the caller's own.
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
        let all = std::mem::take(indexes);
        self.set.note(
            batch,
            all.iter().copied(),
            scatter,
            self.side(input),
            |index| {
                indexes.push(index);
            },
        )
    }

    /// Writes the lines that were counted, if any were.
    ///
    /// # Errors
    /// The first failure of the sink.
    pub(crate) fn write(&self, run: &Run<'_>, out: &Collector<'_>) -> Result<()> {
        let rule = self.sides.rule();
        if rule.needs_repeats_of(&[1]) {
            return write_set(run, &self.set, rule, out);
        }
        Ok(())
    }

    /// Returns the number of an input in marks.
    fn side(&self, input: usize) -> u32 {
        let rule = self.sides.rule();
        let mut readings = self.sides.readings().iter().zip(1..);
        match readings.find(|(reading, _)| reading.input == input) {
            Some((reading, rank)) if rule.needs_repeats_of(&[1]) => rule.side(reading.number, rank),
            // A line need not be spilled for each input that has it.
            _ if rule.takes_any() => 1,
            _ => input as u32 + 1,
        }
    }
}
