//! Inserting into blocks, from any number of threads.
//!
//! *Owns:* the regions of a filter that is being built, and their locks. *Invariants:* no insertion
//! is ever lost to a race: the blocks are divided into regions, and a thread sets bits of a region
//! only under that region's lock. A batch takes each lock once, so the locks cost little, and there
//! is no atomic operation per bit. *Cost:* a scattered batch, and a cache line per key, which is
//! fetched [`AHEAD`] keys before its bits are set: 12 ns a key in 24 MiB, where waiting for the first key of each
//! region took 16 to 25 (bench `filters`).
//!
//! ```text
//!  blocks    0 1 2 3 │ 4 5 6 7 │ 8 9 10 11 │ 12 13       region = block >> region_shift
//!  regions   0       │ 1       │ 2         │ 3           each with its lock; the last may be shorter
//!
//!  a batch of 2,048 hashes, scattered:  region 0: lock, set bits of about 32 keys, unlock;  region 1: ...
//!                                       blocks are fetched 32 keys ahead, about one region
//! ```
//!
//! A thread holds one lock at a time and waits for nothing while it does, so no order of locks is needed.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::batch::scatter::Scatter;
use crate::filter::block::{BLOCK_WORDS, set_bits};
use crate::hash::{Purpose, derive, reduce};
use crate::sys::cpu;

/// The most regions of a filter: enough that threads seldom want the same one, and few enough that a batch has
/// about 32 keys for each.
const REGIONS: u64 = 64;
/// Keys whose blocks are fetched ahead of their use. With 16 or 128 each takes a sixth longer.
const AHEAD: usize = 32;

/// Inserts into a filter, from any number of threads.
#[derive(Debug)]
pub(super) struct FilterBuilder<'a> {
    /// The words of each region: disjoint parts of the filter.
    regions: Vec<Mutex<&'a mut [u64]>>,
    /// The address of the first word: only for fetching, which needs no lock.
    address: usize,
    /// Blocks of the whole filter.
    blocks: u64,
    /// A region has two to this power blocks.
    region_shift: u32,
    /// Bits of a key.
    hashes: u32,
    /// Counts insertions, repeats included. Read when no thread inserts any more.
    keys: &'a AtomicU64,
}

impl<'a> FilterBuilder<'a> {
    /// Divides the blocks in `words` into regions; insertions are counted in `keys`.
    pub(super) fn new(words: &'a mut [u64], hashes: u32, keys: &'a AtomicU64) -> Self {
        let blocks = (words.len() / BLOCK_WORDS) as u64;
        let address = words.as_ptr().addr();
        let blocks_per_region = blocks.div_ceil(REGIONS).next_power_of_two();
        let regions = words
            .chunks_mut(blocks_per_region as usize * BLOCK_WORDS)
            .map(Mutex::new)
            .collect();
        Self {
            regions,
            address,
            blocks,
            region_shift: blocks_per_region.trailing_zeros(),
            hashes,
            keys,
        }
    }

    /// Inserts `hashes[i]` for every index in `indexes`. Any number of threads may call this at a time, each
    /// with a `scatter` of its own.
    pub(super) fn insert(
        &self,
        hashes: &[u64],
        indexes: impl ExactSizeIterator<Item = u32> + Clone,
        scatter: &mut Scatter,
    ) {
        self.keys.fetch_add(indexes.len() as u64, Ordering::Relaxed);
        self.for_each_block(hashes, indexes, scatter, |block, index| {
            set_bits(block, hashes[index as usize], self.hashes);
        });
    }

    /// Inserts all of `hashes`. `new` becomes the indexes, in order, of those that were certainly not
    /// in before; of several equal hashes, from whatever threads, one is.
    pub(super) fn insert_new(&self, hashes: &[u64], scatter: &mut Scatter, new: &mut Vec<u32>) {
        new.clear();
        let all = 0..hashes.len() as u32;
        self.for_each_block(hashes, all, scatter, |block, index| {
            if set_bits(block, hashes[index as usize], self.hashes) {
                new.push(index);
            }
        });
        self.keys.fetch_add(hashes.len() as u64, Ordering::Relaxed);
        new.sort_unstable();
    }

    /// Hands the block of each index to `each`, under the lock of its region; equal hashes in the
    /// order of their indexes.
    #[inline]
    fn for_each_block(
        &self,
        hashes: &[u64],
        indexes: impl ExactSizeIterator<Item = u32> + Clone,
        scatter: &mut Scatter,
        mut each: impl FnMut(&mut [u64], u32),
    ) {
        let block_of = |index: u32| {
            reduce(
                derive(hashes[index as usize], Purpose::FilterBlock),
                self.blocks,
            )
        };
        scatter.group(self.regions.len(), indexes, |index| {
            (block_of(index) >> self.region_shift) as u32
        });
        let mask = (1u64 << self.region_shift) - 1;
        let fetch = |&index: &u32| {
            cpu::prefetch_address(self.address + block_of(index) as usize * BLOCK_WORDS * 8);
        };
        scatter.order().iter().take(AHEAD).for_each(fetch);
        let mut later = scatter.order().iter().skip(AHEAD);
        for (region, group) in scatter.groups() {
            let mut words = self.regions[region as usize].lock();
            for &index in group {
                later.next().into_iter().for_each(fetch);
                let start = (block_of(index) & mask) as usize * BLOCK_WORDS;
                each(&mut words[start..start + BLOCK_WORDS], index);
            }
        }
    }
}
