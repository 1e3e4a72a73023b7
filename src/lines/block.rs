//! Blocks of bytes as bit masks.
//!
//! *Owns:* comparing 64 bytes with one. *Cost:* four comparisons of 16 bytes.

/// Bytes that are searched together.
pub(crate) const SEARCHED: usize = 64;

/// Returns `bytes`, at most [`SEARCHED`] of them, with zeros after them up to a whole block.
#[inline]
pub(crate) fn filled(bytes: &[u8]) -> [u8; SEARCHED] {
    let mut block = [0; SEARCHED];
    block[..bytes.len()].copy_from_slice(bytes);
    block
}

/// Returns a bit for each byte of `block` that is `byte`.
#[cfg(all(target_arch = "x86_64", not(portable)))]
#[inline]
pub(crate) fn matches(block: &[u8; SEARCHED], byte: u8) -> u64 {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set1_epi8};

    let parts: &[[u8; 16]; 4] = bytemuck::must_cast_ref(block);
    let equal = |part: usize| {
        let bytes: __m128i = bytemuck::must_cast(parts[part]);
        #[expect(unsafe_code, reason = "vector instructions")]
        // SAFETY: these are instructions of SSE2, which every x86-64 processor has.
        let equal = unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8))) };
        u64::from(equal as u32) << (16 * part)
    };
    equal(0) | equal(1) | equal(2) | equal(3)
}

/// Returns a bit for each byte of `block` that is `byte`.
#[cfg(not(all(target_arch = "x86_64", not(portable))))]
#[inline]
pub(crate) fn matches(block: &[u8; SEARCHED], byte: u8) -> u64 {
    memchr::memchr_iter(byte, block).fold(0, |found, at| found | 1 << at)
}
