//! The filter of the strategies: blocks in memory, filled once, then asked.
//!
//! *Owns:* the bits; what a block is, is for `block` to say. *Invariants:* a
//! [`FilterBuilder`] borrows its filter mutably: nobody can ask an incomplete filter. *Cost:* the
//! bits, in one mapping on huge pages; per key one cache line, prefetched a batch ahead.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::filter::block::{BLOCK_WORDS, Blocks};
use crate::filter::builder::FilterBuilder;
use crate::filter::cells::Ask;
use crate::filter::sizing::{BLOCK_BITS, MAX_BLOCKED_HASHES, blocked_fpr};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;

/// Blocks that are looked at to measure the fill of a filter.
const MEASURED_BLOCKS: u64 = 1 << 16;

/// A Bloom filter with 512-bit blocks over line hashes.
#[derive(Debug)]
pub struct BlockedFilter {
    bits: Buffer,
    blocks: u64,
    hashes: u32,
    keys: AtomicU64,
}

/// What a filter's bits say about its rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fill {
    /// The share of bits that are set, 0..1.
    pub fill: f64,
    /// The false-positive rate that follows from it: the mean over blocks of (ones / 512)^k.
    pub fpr: f64,
}

impl BlockedFilter {
    /// An empty filter of about `bytes` bytes (a whole number of blocks, at least one) that sets
    /// `hashes` bits a key (1 to [`MAX_BLOCKED_HASHES`]).
    ///
    /// # Errors
    /// [`crate::Error::Memory`] when the budget refuses the bits.
    pub fn new(budget: &MemoryBudget, bytes: u64, hashes: u32) -> Result<Self> {
        let blocks = (bytes / (BLOCK_BITS / 8)).max(1);
        let bits = Buffer::with_huge_pages(budget, "filter", blocks * (BLOCK_BITS / 8))?;
        let hashes = hashes.clamp(1, MAX_BLOCKED_HASHES);
        Ok(Self {
            bits,
            blocks,
            hashes,
            keys: AtomicU64::new(0),
        })
    }

    /// Begins to insert. The filter can be asked again when the builder is gone.
    pub fn builder(&mut self) -> FilterBuilder<'_> {
        let words = &mut self.bits.words_mut()[..self.blocks as usize * BLOCK_WORDS];
        FilterBuilder::new(words, self.hashes, &self.keys)
    }

    /// The filter's size in bits.
    pub fn bits(&self) -> u64 {
        self.blocks * BLOCK_BITS
    }

    /// Bits set per key.
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// Keys inserted, repeats included.
    pub fn keys(&self) -> u64 {
        self.keys.load(Ordering::Relaxed)
    }

    /// Whether a line with this hash may have been inserted. False is certain.
    pub fn may_contain(&self, hash: u64) -> bool {
        self.blocks().contains(hash)
    }

    /// The indexes of the hashes that may have been inserted, in order. `passing` is overwritten.
    pub fn passing(&self, hashes: &[u64], passing: &mut Vec<u32>) {
        self.blocks().passing(hashes, passing);
    }

    /// The blocks, to be asked.
    pub(super) fn blocks(&self) -> Blocks<&[u64]> {
        Blocks::new(
            &self.bits.words()[..self.blocks as usize * BLOCK_WORDS],
            self.blocks,
            self.hashes,
        )
    }

    /// Measures the fill, on evenly spread blocks where there are many.
    pub fn fill(&self) -> Fill {
        let step = self.blocks.div_ceil(MEASURED_BLOCKS) as usize;
        let (mut ones, mut rates, mut measured) = (0u64, 0.0, 0u64);
        let blocks = self.blocks();
        for block in blocks.words.chunks_exact(BLOCK_WORDS).step_by(step) {
            let count: u32 = block.iter().map(|word| word.count_ones()).sum();
            ones += u64::from(count);
            rates += (f64::from(count) / BLOCK_BITS as f64).powi(self.hashes as i32);
            measured += 1;
        }
        let measured = measured as f64;
        Fill {
            fill: ones as f64 / (measured * BLOCK_BITS as f64),
            fpr: rates / measured,
        }
    }

    /// The rate that is predicted for `keys` distinct keys.
    pub fn predicted_fpr(&self, keys: u64) -> f64 {
        if keys == 0 {
            0.0
        } else {
            blocked_fpr(self.bits() as f64 / keys as f64, self.hashes)
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::batch::scatter::Scatter;
    use crate::hash::LineHasher;

    fn hashes(range: std::ops::Range<u64>) -> Vec<u64> {
        let hasher = LineHasher::with_key([5; 4]);
        range.map(|i| hasher.hash(&i.to_le_bytes())).collect()
    }

    fn filled(keys: &[u64], bits_per_key: f64, k: u32) -> BlockedFilter {
        let budget = MemoryBudget::new(1 << 30, 0);
        let bytes = (keys.len() as f64 * bits_per_key / 8.0) as u64;
        let mut filter = BlockedFilter::new(&budget, bytes, k).unwrap();
        let builder = filter.builder();
        std::thread::scope(|scope| {
            for part in keys.chunks(keys.len().div_ceil(3)) {
                let builder = &builder;
                scope.spawn(move || {
                    let mut scatter = Scatter::default();
                    for batch in part.chunks(1000) {
                        builder.insert(batch, 0..batch.len() as u32, &mut scatter);
                    }
                });
            }
        });
        drop(builder);
        filter
    }

    #[test]
    fn no_key_is_forgotten_whatever_the_shape() {
        let keys = hashes(0..50_000);
        for (bits, k) in [
            (0.01, 1),
            (1.0, 2),
            (5.0, 3),
            (7.3, 5),
            (16.0, 10),
            (30.0, 14),
        ] {
            let filter = filled(&keys, bits, k);
            let mut passing = Vec::new();
            filter.passing(&keys, &mut passing);
            assert_eq!(passing.len(), keys.len(), "{bits} bits, k = {k}");
            let strangers = hashes(1 << 40..(1 << 40) + 50_000);
            filter.passing(&strangers, &mut passing);
            let one_by_one: Vec<u32> = (0..50_000)
                .filter(|&index| filter.may_contain(strangers[index as usize]))
                .collect();
            assert_eq!(passing, one_by_one, "{bits} bits, k = {k}");
            assert_eq!(filter.keys(), 50_000);
        }
    }

    #[test]
    fn the_fill_is_that_of_every_block_in_small_filters_and_of_every_nth_in_large_ones() {
        let budget = MemoryBudget::new(1 << 30, 0);
        for blocks in [1, 64, MEASURED_BLOCKS, 3 * MEASURED_BLOCKS + 1] {
            let mut filter = BlockedFilter::new(&budget, blocks * 64, 3).unwrap();
            assert_eq!((filter.bits(), filter.hashes()), (blocks * 512, 3));
            filter.builder().insert_batch(&hashes(0..blocks * 5));
            assert_eq!(filter.keys(), blocks * 5);
            let step = blocks.div_ceil(MEASURED_BLOCKS);
            let (mut ones, mut rates, mut measured) = (0.0, 0.0, 0.0);
            for block in (0..blocks).step_by(step as usize) {
                let words = &filter.bits.words()[block as usize * 8..][..8];
                let set = words.iter().map(|word| word.count_ones()).sum::<u32>();
                ones += f64::from(set);
                rates += (f64::from(set) / 512.0).powi(3);
                measured += 1.0;
            }
            let Fill { fill, fpr } = filter.fill();
            assert!((fill - ones / measured / 512.0).abs() < 1e-9, "{fill}");
            assert!((fpr - rates / measured).abs() < 1e-9, "{fpr}");
        }
    }

    #[test]
    fn the_measured_rate_is_the_predicted_one() {
        let keys = hashes(0..400_000);
        let strangers = hashes(1 << 40..(1 << 40) + 1_000_000);
        for (bits, k) in [(5.0, 3), (6.87, 5), (9.6, 6), (14.4, 9), (20.0, 11)] {
            let filter = filled(&keys, bits, k);
            let mut passing = Vec::new();
            filter.passing(&strangers, &mut passing);
            let (measured, predicted) = (passing.len() as f64, filter.predicted_fpr(400_000) * 1e6);
            let three_sigma = 3.0 * predicted.sqrt();
            assert!(
                (measured - predicted).abs() <= 0.03 * predicted + three_sigma,
                "{bits}: {measured} against {predicted}"
            );
            let fill = filter.fill().fpr * 1e6;
            assert!(
                (fill - predicted).abs() <= 0.03 * predicted + 1.0,
                "{bits}: fill says {fill}, not {predicted}"
            );
        }
    }
}
