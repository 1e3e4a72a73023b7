//! Operations on the lines of a batch, in groups whose memory is fetched together.
//!
//! *Owns:* [`LineSet`]'s operations on batches. *Invariants:* each line is treated as if it came alone, in the order of
//! the indexes. *Cost:* about one wait for memory for a group of [`AHEAD`] lines, instead of two for each line.
//!
//! *Sources:* group prefetching, of Chen, Ailamaki, Gibbons and Mowry, "Improving Hash Join Performance through
//! Prefetching", ICDE 2004.

use arrayvec::ArrayVec;

use crate::batch::Batch;
use crate::error::Result;
use crate::selection::{LineState, NO_ORDINAL, Place, Tally};
use crate::set::line_set::{Insert, LineSet};
use crate::sys::cpu;

/// Lines whose memory is fetched ahead of its use: while one is compared, the others are on their way from
/// memory.
const AHEAD: usize = 32;
/// Words in a line of cache.
const CACHE_LINE_WORDS: usize = cpu::CACHE_LINE / size_of::<u64>();

impl LineSet {
    /// Inserts the lines of `batch` at `indexes`, as lines of `side` (from 1): one that is there already only
    /// gets that side's mark. Calls `on_new` for each that was not there. Stops at the first that finds no room and
    /// returns how many of the indexes were dealt with: all lines before that one are in the set.
    ///
    /// # Errors
    /// [`crate::Error::Machine`] when the system refuses memory that the budget grants; what `on_new` reports.
    pub(crate) fn insert_all(
        &mut self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32>,
        side: u32,
        mut on_new: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<usize> {
        let mut done = 0;
        for group in groups(indexes) {
            // Inserting moves no record, but may put a new one in front of a candidate, or replace the table. So
            // each line is searched anew, in memory that is in the cache by now.
            let _fetched = self.fetch_candidates(batch, &group);
            for &index in &group {
                let (hash, line) = (batch.hashes[index as usize], batch.keys[index as usize]);
                let place = batch.place(index);
                match self.insert(hash, line, side, place)? {
                    Insert::New => on_new(line)?,
                    Insert::Present => {}
                    Insert::Full => return Ok(done),
                }
                done += 1;
            }
        }
        Ok(done)
    }

    /// Marks those lines of `batch` at `indexes` that are in the set as lines of `side` (from 1). Calls
    /// `on_mark` for each line that the marks take it from, with its new mark. Needs no memory.
    ///
    /// # Errors
    /// What `on_mark` reports.
    pub(crate) fn mark_all(
        &mut self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32>,
        side: u32,
        mut on_mark: impl FnMut(&[u8], u32) -> Result<()>,
    ) -> Result<()> {
        for group in groups(indexes) {
            let candidates = self.fetch_candidates(batch, &group);
            for (&index, candidate) in group.iter().zip(candidates) {
                // Marking changes no slot and moves no record, so the candidates stay right.
                let found = self.found(batch, index, candidate);
                let place = batch.place(index);
                let new = found.and_then(|record| self.records.mark_record(record, side, place));
                if let Some(mark) = new {
                    on_mark(batch.keys[index as usize], mark)?;
                }
            }
        }
        Ok(())
    }

    /// Hands `each` the `indexes` of `batch`, each with what is kept of its line; the mark is 0 for a line that is not
    /// in the set.
    ///
    /// # Errors
    /// What `each` reports.
    pub(crate) fn look_up_all(
        &self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32>,
        mut each: impl FnMut(u32, LineState) -> Result<()>,
    ) -> Result<()> {
        for group in groups(indexes) {
            let candidates = self.fetch_candidates(batch, &group);
            for (&index, candidate) in group.iter().zip(candidates) {
                let found = self.found(batch, index, candidate);
                let state = found.map(|record| self.records.found(record));
                each(index, state.unwrap_or(LineState::with_mark(0)))?;
            }
        }
        Ok(())
    }

    /// Does the work of [`ShardedSet::note`](crate::set::sharded::ShardedSet::note) for one shard.
    ///
    /// # Errors
    /// [`crate::Error::Machine`] when the system refuses memory that the budget grants.
    pub(crate) fn note_all(
        &mut self,
        batch: Batch<'_>,
        indexes: impl Iterator<Item = u32>,
        side: u32,
        mut on_left: impl FnMut(u32),
    ) -> Result<()> {
        let counts = self.records.kept.tally != Tally::None;
        for group in groups(indexes) {
            let _fetched = self.fetch_candidates(batch, &group);
            for &index in &group {
                let (hash, line) = (batch.hashes[index as usize], batch.keys[index as usize]);
                let place = batch.place(index);
                let is_done = match self.find(hash, line) {
                    Some(record) => self.is_again(record, side, place) || counts,
                    None if self.is_closed => false,
                    None => {
                        self.is_closed = self.insert(hash, line, side, place)? == Insert::Full;
                        counts && !self.is_closed
                    }
                };
                if !is_done {
                    on_left(index);
                }
            }
        }
        Ok(())
    }

    /// Marks the line of a record as one of `side`, and tells whether it was that before, and came with a smaller
    /// place, if it has one.
    fn is_again(&mut self, record: usize, side: u32, place: Place) -> bool {
        let is_new = self.records.mark_record(record, side, place).is_some();
        let words = &self.records.arena.words()[record + 1..=record + self.records.kept.words()];
        // The smallest place is kept: where it is that of this line, no other came with one as small.
        let has_ordinal = self.records.kept.has_ordinal && place.ordinal != NO_ORDINAL;
        !is_new && (!has_ordinal || self.records.kept.found(words, 0).ordinal != place.ordinal)
    }

    /// Returns the record of the line at `index`, of which [`LineSet::fetch_candidates`] has returned the
    /// `candidate`: no record with its tag means that the line is absent; another line with its tag, that the search
    /// goes on.
    #[inline]
    fn found(&self, batch: Batch<'_>, index: u32, candidate: Option<usize>) -> Option<usize> {
        let line = batch.keys[index as usize];
        match candidate {
            Some(record) if self.records.record(record) != line => {
                self.find(batch.hashes[index as usize], line)
            }
            candidate => candidate,
        }
    }

    /// Fetches the memory that a group of lines needs. Returns for each line which record it may be: the first
    /// with its tag. If there is none, the line is not in the set.
    ///
    /// 1. Prefetch the home slot of every line.
    /// 2. Search every line's tag, by now in the cache, and prefetch the record that it leads to.
    ///
    /// The caller then compares the lines with their records. A line alone would wait for two reads from
    /// memory, one after the other; a group of [`AHEAD`] waits for about as long as one line.
    #[inline(never)]
    fn fetch_candidates(&self, batch: Batch<'_>, group: &Group) -> ArrayVec<Option<usize>, AHEAD> {
        for &index in group {
            let home = self.home(batch.hashes[index as usize]);
            cpu::prefetch(self.table.words(), home);
        }
        let mut candidates = ArrayVec::new();
        for &index in group {
            let record = self.seek(batch.hashes[index as usize], |_| true).ok();
            if let Some(record) = record {
                // Two lines of cache, which most records are in.
                cpu::prefetch(self.records.arena.words(), record);
                cpu::prefetch(self.records.arena.words(), record + CACHE_LINE_WORDS);
            }
            candidates.push(record);
        }
        candidates
    }
}

/// Lines whose memory is fetched together.
type Group = ArrayVec<u32, AHEAD>;

/// Yields the indexes, group by group.
fn groups(indexes: impl Iterator<Item = u32>) -> impl Iterator<Item = Group> {
    let mut indexes = indexes.fuse();
    std::iter::from_fn(move || {
        let group: Group = indexes.by_ref().take(AHEAD).collect();
        (!group.is_empty()).then_some(group)
    })
}
