//! Coalescing: the few lines of each batch that a filter lets through, put together to full batches.
//!
//! *Owns:* copies of the keys of such lines. A set in memory fetches what it needs for groups of lines ahead of its
//! use. Of a batch of which 200 lines pass, each of 64 shards gets three: too few to fetch ahead of anything.
//!
//! ```text
//!  batches      ▒·······  ·▒····▒·  ···▒····  ▒····▒··       ▒ passes, · does not
//!                  └─────────┴────┬────┴─────────┘
//!  coalesced                   ▒▒▒▒▒▒                        copies: the chunk is dropped before they are handed over
//! ```
//!
//! *Invariants:* each line comes out once, with its hash and its ordinal; none is left after a flush. *Cost:* a copy
//! of each key, [`Coalescer::MEMORY_BYTES`] of memory. Two files of 20 million lines and a set after filters took
//! 0.84 of the time with it.

use std::mem;

use crate::batch::{BATCH, Batch};
use crate::error::Result;
use crate::memory::budget::{MemoryBudget, Reservation};

/// Bytes of keys that are coalesced, at most: 2,048 of 64 bytes.
const BYTES: usize = 128 << 10;
/// A batch of which more lines than this pass is handed over at once: copies would cost more than they bring.
const MOST_COALESCED: usize = BATCH / 4;

/// Keys with their hashes and ordinals. Flush it at the end: what is in it when it is dropped is lost.
#[derive(Debug)]
pub(crate) struct Coalescer {
    /// The keys, one after the other.
    bytes: Vec<u8>,
    /// The end of each key in `bytes`.
    ends: Vec<usize>,
    hashes: Vec<u64>,
    /// The ordinals of the keys, or none.
    ordinals: Vec<u64>,
    /// The memory of all of these.
    _reservation: Reservation,
}

impl Coalescer {
    /// The bytes that one takes: the keys, and for each of a batch its end, slice, hash, ordinal and index.
    pub(crate) const MEMORY_BYTES: u64 = BYTES as u64 + 48 * BATCH as u64;

    /// Returns the bytes that `workers` take together, with one each.
    pub(crate) fn all_bytes(workers: usize) -> u64 {
        workers as u64 * Self::MEMORY_BYTES
    }

    /// Makes an empty one; `None` if `budget` has no memory for it.
    pub(crate) fn new(budget: &MemoryBudget) -> Option<Self> {
        let reservation = budget.reserve("coalesced lines", Self::MEMORY_BYTES).ok()?;
        Some(Self {
            bytes: Vec::with_capacity(BYTES),
            ends: Vec::with_capacity(BATCH),
            hashes: Vec::with_capacity(BATCH),
            ordinals: Vec::new(),
            _reservation: reservation,
        })
    }

    /// Takes the lines of `batch` at `indexes`. Many lines are handed to `work` at once; so is what was coalesced
    /// before, where there is no room for more. `work` deals with the lines at the indexes that it gets; where they
    /// were coalesced, it sees their keys instead of the lines.
    ///
    /// # Errors
    /// What `work` reports.
    pub(crate) fn take(
        &mut self,
        batch: Batch<'_>,
        indexes: &[u32],
        mut work: impl FnMut(Batch<'_>, &[u32]) -> Result<()>,
    ) -> Result<()> {
        let lengths = indexes
            .iter()
            .map(|&index| batch.keys[index as usize].len());
        let bytes: usize = lengths.sum();
        if indexes.len() > MOST_COALESCED || bytes > BYTES {
            return work(batch, indexes);
        }
        if self.ends.len() + indexes.len() > BATCH || self.bytes.len() + bytes > BYTES {
            self.flush(work)?;
        }
        for index in indexes.iter().map(|&index| index as usize) {
            self.bytes.extend_from_slice(batch.keys[index]);
            self.ends.push(self.bytes.len());
            self.hashes.push(batch.hashes[index]);
            self.ordinals.extend(batch.ordinals.get(index));
        }
        Ok(())
    }

    /// Hands over what was coalesced, and is empty then.
    ///
    /// # Errors
    /// What `work` reports.
    pub(crate) fn flush(
        &mut self,
        mut work: impl FnMut(Batch<'_>, &[u32]) -> Result<()>,
    ) -> Result<()> {
        let mut start = 0;
        let key = |&end: &usize| &self.bytes[mem::replace(&mut start, end)..end];
        let keys: Vec<&[u8]> = self.ends.iter().map(key).collect();
        let batch = Batch {
            ordinals: &self.ordinals,
            // Only keys are coalesced, and only records have ranks.
            ranks: &[],
            ..Batch::new(&keys, &self.hashes)
        };
        let all: Vec<u32> = (0..keys.len() as u32).collect();
        work(batch, &all)?;
        self.bytes.clear();
        self.ends.clear();
        self.hashes.clear();
        self.ordinals.clear();
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// Makes lines of 0 to `longest` bytes, each the digits of its number over and over.
    fn lines(count: usize, longest: usize) -> Vec<Vec<u8>> {
        let line = |number: usize| {
            let (digits, bytes) = (format!("{number},"), number * 7 % (longest + 1));
            let mut line = digits.repeat(bytes / digits.len() + 1).into_bytes();
            line.truncate(bytes);
            line
        };
        (0..count).map(line).collect()
    }

    #[test]
    fn each_line_comes_out_once_with_its_hash_and_ordinal() {
        for (every, longest) in [(1, 60), (2, 60), (5, 60), (9, 0), (9, 5000), (400, 100_000)] {
            let texts = lines(5 * BATCH, longest);
            let slices: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
            let numbers: Vec<u64> = (0..slices.len() as u64).collect();
            let hashes: Vec<u64> = numbers.iter().map(|number| number * 31).collect();
            let mut coalesced = Coalescer::new(&MemoryBudget::new(1 << 20, 0)).unwrap();
            let (mut seen, mut parts) = (Vec::new(), 0);
            let mut work = |batch: Batch<'_>, indexes: &[u32]| {
                parts += 1;
                for &index in indexes {
                    let at = index as usize;
                    let number = batch.ordinal(index);
                    assert_eq!(batch.keys[at], texts[number as usize]);
                    assert_eq!(batch.hashes[at], number * 31);
                    seen.push(number);
                }
                Ok(())
            };
            for from in (0..slices.len()).step_by(BATCH) {
                let batch = Batch {
                    ordinals: &numbers[from..from + BATCH],
                    ..Batch::new(&slices[from..from + BATCH], &hashes[from..from + BATCH])
                };
                let passing: Vec<u32> = (0..BATCH as u32).step_by(every).collect();
                coalesced.take(batch, &passing, &mut work).unwrap();
            }
            coalesced.flush(&mut work).unwrap();
            let mut left = 0;
            let count = |_: Batch<'_>, indexes: &[u32]| {
                left = indexes.len();
                Ok(())
            };
            coalesced.flush(count).unwrap();
            assert_eq!(left, 0);
            seen.sort_unstable();
            let expected = numbers
                .iter()
                .filter(|&&number| (number as usize % BATCH).is_multiple_of(every));
            assert!(seen.iter().eq(expected), "every {every}, {longest} bytes");
            // Few short lines of five batches are one batch.
            assert!(every < 9 || longest > 60 || parts == 1, "{parts}");
        }
    }

    #[test]
    fn without_memory_nothing_is_gathered() {
        assert!(Coalescer::new(&MemoryBudget::new(Coalescer::MEMORY_BYTES - 1, 0)).is_none());
    }
}
