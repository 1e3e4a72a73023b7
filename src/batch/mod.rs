//! Batches: some lines and their hashes, the unit that the passes work on.
//!
//! *Owns:* grouping lines into batches and hashing them.
//!
//! *Invariants:* `hashes[i]` is the hash of `lines[i]` under the hash of the run; passes hash lines here and
//! hand the hashes on.
//!
//! *Cost:* 48 KiB per thread for a batch of [`BATCH`] lines, 16 bytes for each slice and 8 for each hash: it
//! stays in the second-level cache between hashing, probing and copying.

mod ordinals;
pub(crate) mod scatter;

pub(crate) use ordinals::{ORDINAL_BYTES, Ordinals};

use crate::error::Result;
use crate::hash::LineHasher;
use crate::selection::NO_ORDINAL;

/// Lines in a batch. Enough to hide memory latency behind prefetches and to spread the cost of a
/// lock.
pub(crate) const BATCH: usize = 2048;

/// Up to [`BATCH`] lines with their hashes. It borrows the lines from the chunk or block that they came in:
/// whatever outlives the batch must be copied. Functions that work on some of the lines take their indexes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch<'a> {
    /// The lines, without their terminators.
    pub(crate) lines: &'a [&'a [u8]],
    /// Their hashes; as many.
    pub(crate) hashes: &'a [u64],
    /// Their ordinals; as many, or none.
    pub(crate) ordinals: &'a [u64],
}

/// What [`for_each_batch`] fills for each batch: its caller keeps it, so that the memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    hashes: Vec<u64>,
    ordinals: Vec<u64>,
}

/// What lets some lines of a batch through: a filter, of whatever kind. It must be complete; several threads
/// ask it at the same time.
pub(crate) trait Screen: Sync {
    /// The indexes of the lines that may have been inserted, in order. `passing` is overwritten.
    ///
    /// # Errors
    /// When a filter in a file cannot be read.
    fn passing(&self, batch: Batch<'_>, passing: &mut Vec<u32>) -> Result<()>;
}

impl<'a> Batch<'a> {
    /// Lines with these hashes, whose ordinals do not matter.
    pub(crate) fn new(lines: &'a [&'a [u8]], hashes: &'a [u64]) -> Self {
        Self {
            lines,
            hashes,
            ordinals: &[],
        }
    }

    /// The ordinal of the line at `index`.
    #[inline]
    pub(crate) fn ordinal(&self, index: u32) -> u64 {
        self.ordinals
            .get(index as usize)
            .copied()
            .unwrap_or(NO_ORDINAL)
    }

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

/// Of the indexes below `end`, those that are not among `indexes`, which ascend. `others` is overwritten.
pub(crate) fn absent(indexes: &[u32], end: usize, others: &mut Vec<u32>) {
    others.clear();
    let mut next = 0;
    for &index in indexes {
        others.extend(next..index);
        next = index + 1;
    }
    others.extend(next..end as u32);
}

/// Groups `lines` into batches, hashes them and hands each to `work`, until there are no more or
/// `work` returns false. Returns the number of lines handed over, those of the last batch included. Every
/// batch but the last is full.
///
/// `ordinals` says where the ordinals of the lines come from.
///
/// # Errors
/// The first error of `work`, which gets no more batches then.
pub(crate) fn for_each_batch<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    ordinals: Ordinals,
    hasher: &LineHasher,
    scratch: &mut Scratch,
    mut work: impl FnMut(Batch<'_>) -> Result<bool>,
) -> Result<u64> {
    let mut group: Vec<&'a [u8]> = Vec::with_capacity(BATCH);
    let mut count = 0;
    // An iterator may go on after its first `None`, and is asked once more after a batch that was not full.
    let mut lines = lines.fuse();
    loop {
        group.clear();
        group.extend(lines.by_ref().take(BATCH));
        if group.is_empty() {
            return Ok(count);
        }
        ordinals.take(&mut group, &mut scratch.ordinals);
        hasher.hash_batch(&group, &mut scratch.hashes);
        count += group.len() as u64;
        let batch = Batch {
            lines: &group,
            hashes: &scratch.hashes,
            ordinals: &scratch.ordinals,
        };
        if !work(batch)? {
            return Ok(count);
        }
    }
}
