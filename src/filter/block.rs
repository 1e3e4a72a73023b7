//! The block: all bits of a key in one cache line.
//!
//! *Owns:* which block is a key's and which bits of it. A key's hash chooses a block of 512 bits by
//! multiply-shift (any number of blocks, no power of two needed) and `k` bits of it by disjoint 9-bit
//! fields taken from the high end of a remixed word.
//!
//! ```text
//!  words   ├─ block 0 ─┼─ block 1 ─┼─ ... ─┼─ block n - 1 ─┤      8 words, 64 bytes, one cache line each
//!                 ▲
//!                 reduce(derive(hash, FilterBlock), n)
//!
//!  block   ├ word 0 ┼ word 1 ┼ ... ┼ word 7 ┤    a field of 9 bits:  word, 3 bits │ bit in it, 6 bits
//! ```
//!
//! *Invariants:* the bits of a key depend on its hash, the number of blocks and `k`, and on nothing
//! else: stored filters rely on it. *Cost:* one cache line per key.
//!
//! *Sources:* Putze, Sanders, Singler, WEA 2007; `RocksDB`'s `FastLocalBloom` for multiply-derived
//! fields.

use crate::filter::cells::Ask;
use crate::filter::sizing::BLOCK_BITS;
use crate::filter::words::{LINE_WORDS, ReadWords};
use crate::hash::{Purpose, derive, reduce};

/// Words of a block.
pub(super) const BLOCK_WORDS: usize = LINE_WORDS;
/// Fields of nine bits in a derived word.
pub(super) const FIELDS_PER_WORD: u32 = 7;

/// The blocks of a filter, wherever their words are. A key sets 1 to 14 bits; two fields may name the same.
#[derive(Debug)]
pub(super) struct Blocks<W> {
    /// The words of all blocks; the first block begins at word 0.
    pub(super) words: W,
    /// Blocks, at least 1.
    count: u64,
    /// Bits of a key, 1 to 14.
    pub(super) hashes: u32,
}

impl<W> Blocks<W> {
    /// Makes the filter of the `count` blocks in `words`, with 1 to
    /// [`MAX_BLOCKED_HASHES`](crate::filter::sizing::MAX_BLOCKED_HASHES) bits a key.
    pub(super) fn new(words: W, count: u64, hashes: u32) -> Self {
        Self {
            words,
            count,
            hashes,
        }
    }

    /// Returns the number of the block of a hash.
    #[inline]
    pub(super) fn block_of(&self, hash: u64) -> usize {
        reduce(derive(hash, Purpose::FilterBlock), self.count) as usize
    }
}

impl<W: ReadWords> Ask for Blocks<W> {
    type Key = u64;

    #[inline]
    fn fetch(&self, key: u64) {
        self.words.fetch(self.block_of(key) * BLOCK_WORDS);
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        let block = self.words.line(self.block_of(key) * BLOCK_WORDS);
        fields(key, self.hashes).all(|field| block[field / 64] & (1 << (field % 64)) != 0)
    }
}

/// Sets the bits of a key in its block; whether one of them was not set before. Then the key was certainly
/// not in. `block` has [`BLOCK_WORDS`] words.
#[expect(
    clippy::inline_always,
    reason = "a call for each key costs half as much as the bits: 15 instead of 10 ns in the cache"
)]
#[inline(always)]
pub(super) fn set_bits(block: &mut [u64], hash: u64, hashes: u32) -> bool {
    let mut missing = 0;
    for field in fields(hash, hashes) {
        let bit = 1 << (field % 64);
        missing |= !block[field / 64] & bit;
        block[field / 64] |= bit;
    }
    missing != 0
}

/// Yields the bits of a key within its block: disjoint 9-bit fields from the high end of one or two words. High,
/// because the low bits of a product depend on few bits of the hash.
#[inline]
fn fields(hash: u64, hashes: u32) -> impl Iterator<Item = usize> {
    let first = derive(hash, Purpose::FilterBits);
    (0..hashes).map(move |number| {
        let (word, field) = if number < FIELDS_PER_WORD {
            (first, number)
        } else {
            (
                derive(hash, Purpose::MoreFilterBits),
                number - FIELDS_PER_WORD,
            )
        };
        (word >> (55 - 9 * field)) as usize & (BLOCK_BITS as usize - 1)
    })
}
