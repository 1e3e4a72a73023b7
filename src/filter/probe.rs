//! Asking a filter for many keys at once.
//!
//! *Owns:* the loop that probes, in a portable form and one for AVX-512. *Invariants:* both give
//! the answer of [`Ask::contains`], key by key. *Cost:* a cache line per key, fetched
//! [`AHEAD`] keys before it is looked at; with AVX-512 3 ns a key in cache and 13 in 512 MiB (bench
//! `filters`), whatever the number of bits: a block is one register, its words are permuted to the
//! bits that are wanted, and no branch depends on the answer.
//!
//! *Source of the idea:* Polychroniou, Ross, "Vectorized Bloom filters for advanced SIMD
//! processors", DaMoN 2014; with a permutation of the one block instead of a gather.

use crate::filter::block::{BLOCK_WORDS, Blocks};
use crate::filter::cells::Ask;
use crate::sys::cpu;

/// Keys whose blocks are fetched ahead of their use.
const AHEAD: usize = 32;

impl Blocks<&[u64]> {
    /// Finds the indexes of the hashes that may have been inserted, in order. `passing` is overwritten.
    pub(super) fn passing(&self, hashes: &[u64], passing: &mut Vec<u32>) {
        passing.clear();
        passing.resize(hashes.len(), 0);
        #[cfg(target_arch = "x86_64")]
        if cpu::has_avx512() {
            #[expect(unsafe_code, reason = "calls a function compiled for AVX-512")]
            // SAFETY: the processor was found to have the instructions.
            let count = unsafe { avx512::passing(self, hashes, passing) };
            passing.truncate(count);
            return;
        }
        let count = self.passing_all(hashes, passing, |index| self.contains(hashes[index]));
        passing.truncate(count);
    }

    /// Goes through the hashes, fetching ahead. Writes the indexes for which `is_kept` is true to the front of
    /// `passing`, which has room for all, and returns how many there are.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "is to be compiled for its caller's processor"
    )]
    fn passing_all(
        &self,
        hashes: &[u64],
        passing: &mut [u32],
        is_kept: impl Fn(usize) -> bool,
    ) -> usize {
        let fetch = |&hash: &u64| self.fetch(hash);
        hashes.iter().take(AHEAD).for_each(fetch);
        let mut count = 0;
        for index in 0..hashes.len() {
            hashes.get(index + AHEAD).into_iter().for_each(fetch);
            // Always written, and kept by moving on: a branch would often be mispredicted.
            passing[count] = index as u32;
            count += usize::from(is_kept(index));
        }
        count
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        _mm512_and_epi64, _mm512_loadu_si512, _mm512_mask_test_epi64_mask,
        _mm512_permutexvar_epi64, _mm512_set1_epi64, _mm512_setr_epi64, _mm512_sllv_epi64,
        _mm512_srli_epi64, _mm512_srlv_epi64,
    };

    use super::{BLOCK_WORDS, Blocks};
    use crate::filter::block::FIELDS_PER_WORD;
    use crate::hash::{Purpose, derive};

    /// Works as [`Blocks::passing`]: puts the indexes of the hashes that pass at the front of `passing`, and returns
    /// their number. Of the seven fields in each of two words, `first` and `more` select those that a key uses.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn passing(filter: &Blocks<&[u64]>, hashes: &[u64], passing: &mut [u32]) -> usize {
        let first = lowest_bits(filter.hashes.min(FIELDS_PER_WORD));
        let more = lowest_bits(filter.hashes.saturating_sub(FIELDS_PER_WORD));
        let (blocks, _) = filter.words.as_chunks::<BLOCK_WORDS>();
        filter.passing_all(hashes, passing, |index| {
            let hash = hashes[index];
            let block = &blocks[filter.block_of(hash)];
            has_bits(block, derive(hash, Purpose::FilterBits), first)
                && (more == 0 || has_bits(block, derive(hash, Purpose::MoreFilterBits), more))
        })
    }

    /// Tells whether the block has the bits that the fields of `word` in `wanted` (lowest bit: the first field) name.
    ///
    /// One lane for each field: the word of the block that it names is brought there by a permutation, and
    /// tested for the bit. The eighth lane has no field and is never wanted.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn has_bits(block: &[u64; BLOCK_WORDS], word: u64, wanted: u8) -> bool {
        #[expect(unsafe_code, reason = "a vector load takes a raw pointer")]
        // SAFETY: the reference is to 64 bytes, and the load may be unaligned.
        let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        let shifts = _mm512_setr_epi64(55, 46, 37, 28, 19, 10, 1, 0);
        let fields = _mm512_srlv_epi64(_mm512_set1_epi64(word as i64), shifts);
        // The word of a field is its bits 6 to 8; the permutation looks at no others.
        let words = _mm512_permutexvar_epi64(_mm512_srli_epi64::<6>(fields), block);
        let in_word = _mm512_and_epi64(fields, _mm512_set1_epi64(63));
        let bits = _mm512_sllv_epi64(_mm512_set1_epi64(1), in_word);
        _mm512_mask_test_epi64_mask(wanted, words, bits) == wanted
    }

    /// Returns the mask of the first `count` (0 to 8) lanes.
    fn lowest_bits(count: u32) -> u8 {
        ((1u32 << count) - 1) as u8
    }
}
