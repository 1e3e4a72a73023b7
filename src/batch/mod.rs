//! Batches: some lines and their hashes, the unit that the passes work on.
//!
//! *Owns:* grouping lines into batches and hashing them. *Invariants:* `hashes[i]` is the hash of
//! `lines[i]`; a line is hashed here and nowhere else. *Cost:* 48 KiB per thread for a batch of
//! [`BATCH`] lines: it stays in the second-level cache between hashing, probing and copying.

pub(crate) mod scatter;

use crate::error::Result;
use crate::hash::LineHasher;

/// Lines in a batch. Enough to hide memory latency behind prefetches and to spread the cost of a
/// lock.
pub(crate) const BATCH: usize = 2048;

/// Lines with their hashes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch<'a> {
    pub(crate) lines: &'a [&'a [u8]],
    pub(crate) hashes: &'a [u64],
}

/// What lets some lines of a batch through: a filter, of whatever kind.
pub(crate) trait Screen: Sync {
    /// The indexes of the lines that may have been inserted, in order. `passing` is overwritten.
    ///
    /// # Errors
    /// When a filter in a file cannot be read.
    fn passing(&self, batch: Batch<'_>, passing: &mut Vec<u32>) -> Result<()>;
}

impl Batch<'_> {
    /// The indexes of the lines that `filter` lets through (all without it), in order. `passing` is
    /// overwritten.
    pub(crate) fn passing(
        &self,
        filter: Option<&dyn Screen>,
        passing: &mut Vec<u32>,
    ) -> Result<()> {
        match filter {
            Some(filter) => filter.passing(*self, passing),
            None => {
                passing.clear();
                passing.extend(0..self.lines.len() as u32);
                Ok(())
            }
        }
    }
}

/// Groups `lines` into batches, hashes them and hands each to `work`, until there are no more or
/// `work` says false. Returns the number of lines handed over.
pub(crate) fn for_each_batch<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    hasher: &LineHasher,
    hashes: &mut Vec<u64>,
    mut work: impl FnMut(Batch<'_>) -> Result<bool>,
) -> Result<u64> {
    let mut group: Vec<&'a [u8]> = Vec::with_capacity(BATCH);
    let mut count = 0;
    let mut lines = lines.fuse();
    loop {
        group.clear();
        group.extend(lines.by_ref().take(BATCH));
        if group.is_empty() {
            return Ok(count);
        }
        hasher.hash_batch(&group, hashes);
        count += group.len() as u64;
        let batch = Batch {
            lines: &group,
            hashes,
        };
        if !work(batch)? {
            return Ok(count);
        }
    }
}
