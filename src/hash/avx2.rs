//! `HighwayHash` with AVX2, a line after the other in one loop.
//!
//! *Owns:* the form of the hash for processors without AVX-512, and for lines that are too long to
//! go in step with others. *Invariants:* bit for bit the hash of the `highway` crate, whatever the
//! length. *Cost:* no memory; everything is inlined into one loop, so that the processor works on
//! several lines at a time, and a tail is loaded from where it is. (The crate copies it to a buffer
//! and calls a function to end the hash.)
//!
//! Every function here is compiled for AVX2 and callable only where the processor has it; `kernel` checks
//! that once. The steps are those drawn in [`state`](crate::hash::state).

use std::arch::x86_64::{
    __m128i, __m256i, _mm_cmpgt_epi32, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_insert_epi32,
    _mm_loadu_si128, _mm_maskload_epi32, _mm_set1_epi32, _mm_setr_epi32, _mm256_add_epi64,
    _mm256_castsi256_si128, _mm256_loadu_si256, _mm256_mul_epu32, _mm256_or_si256,
    _mm256_permutevar8x32_epi32, _mm256_set_m128i, _mm256_set1_epi32, _mm256_setr_epi32,
    _mm256_setr_epi64x, _mm256_shuffle_epi8, _mm256_sllv_epi32, _mm256_srli_epi64,
    _mm256_srlv_epi32, _mm256_sub_epi32, _mm256_xor_si256,
};

use crate::hash::state::{PACKET, Start, ZIPPER};
use crate::sys::cpu;

/// Tells whether this form can run here.
pub(super) fn is_available() -> bool {
    cpu::has_avx2()
}

/// Appends the hash of each line to `hashes`.
#[target_feature(enable = "avx2")]
pub(super) fn hash(key: [u64; 4], lines: &[&[u8]], hashes: &mut Vec<u64>) {
    let start = HashState::new(&Start::new(key));
    hashes.extend(lines.iter().map(|line| start.hash(line)));
}

/// The state of the hash for one line, a vector in each register.
#[derive(Clone, Copy)]
struct HashState {
    v0: __m256i,
    v1: __m256i,
    mul0: __m256i,
    mul1: __m256i,
}

impl HashState {
    #[target_feature(enable = "avx2")]
    fn new(start: &Start) -> Self {
        Self {
            v0: lanes(&start.v0),
            v1: lanes(&start.v1),
            mul0: lanes(&start.mul0),
            mul1: lanes(&start.mul1),
        }
    }

    /// Hashes `line`, from this state before its first packet.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn hash(mut self, line: &[u8]) -> u64 {
        let (packets, tail) = line.as_chunks::<PACKET>();
        for packet in packets {
            self.update(load(packet));
        }
        if !tail.is_empty() {
            self.update_with_tail(tail);
        }
        for _ in 0..4 {
            self.update(swapped(self.v0));
        }
        let sum = _mm256_add_epi64(
            _mm256_add_epi64(self.v0, self.mul0),
            _mm256_add_epi64(self.v1, self.mul1),
        );
        _mm_cvtsi128_si64(_mm256_castsi256_si128(sum)) as u64
    }

    /// Mixes one packet into the state.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn update(&mut self, packet: __m256i) {
        self.v1 = _mm256_add_epi64(self.v1, _mm256_add_epi64(packet, self.mul0));
        let product = _mm256_mul_epu32(self.v1, _mm256_srli_epi64::<32>(self.v0));
        self.mul0 = _mm256_xor_si256(self.mul0, product);
        self.v0 = _mm256_add_epi64(self.v0, self.mul1);
        let product = _mm256_mul_epu32(self.v0, _mm256_srli_epi64::<32>(self.v1));
        self.mul1 = _mm256_xor_si256(self.mul1, product);
        self.v0 = _mm256_add_epi64(self.v0, zipped(self.v1));
        self.v1 = _mm256_add_epi64(self.v1, zipped(self.v0));
    }

    /// Mixes the last 1 to 31 bytes into the state, and their number n: n in both 32-bit halves is added to
    /// each lane of `v0`, and each 32-bit half of `v1` is rotated left by n.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn update_with_tail(&mut self, tail: &[u8]) {
        let length = _mm256_set1_epi32(tail.len() as i32);
        self.v0 = _mm256_add_epi64(self.v0, length);
        self.v1 = _mm256_or_si256(
            _mm256_sllv_epi32(self.v1, length),
            _mm256_srlv_epi32(self.v1, _mm256_sub_epi32(_mm256_set1_epi32(32), length)),
        );
        self.update(tail_packet(tail));
    }
}

/// Loads a tail (1 to 31 bytes) as a packet, in the order of bytes that the hash defines:
///
/// ```text
///  16 bytes or more   bytes 0 to 15: the first 16   bytes 16 to 27: whole words    28 to 31: the last 4
///  fewer              bytes 0 to 15: whole words    bytes 16 to 18: first, middle and last of the 1 to 3
///                                                   bytes left over; the others are 0
/// ```
#[inline]
#[target_feature(enable = "avx2")]
fn tail_packet(tail: &[u8]) -> __m256i {
    if let Some((low, high)) = tail.split_first_chunk::<16>() {
        let last = tail
            .last_chunk()
            .map_or(0, |last| i32::from_le_bytes(*last));
        let high = _mm_insert_epi32::<3>(whole_words(high), last);
        return _mm256_set_m128i(high, load_half(low));
    }
    // The one to three bytes after the last whole word of 32 bits.
    let rest = &tail[tail.len() & !3..];
    let last = match rest {
        [] => 0,
        [first, ..] => {
            let (middle, last) = (rest[rest.len() / 2], rest[rest.len() - 1]);
            i64::from(*first) | i64::from(middle) << 8 | i64::from(last) << 16
        }
    };
    _mm256_set_m128i(_mm_cvtsi64_si128(last), whole_words(tail))
}

/// Loads the whole 32-bit words of `bytes` (at most 15); the others are 0.
#[inline]
#[target_feature(enable = "avx2")]
fn whole_words(bytes: &[u8]) -> __m128i {
    let words = _mm_set1_epi32(bytes.len() as i32 / 4);
    let mask = _mm_cmpgt_epi32(words, _mm_setr_epi32(0, 1, 2, 3));
    #[expect(unsafe_code, reason = "a masked load takes a raw pointer")]
    // SAFETY: the mask selects only words that lie within `bytes`; a masked load reads no others and may be
    // unaligned.
    unsafe {
        _mm_maskload_epi32(bytes.as_ptr().cast(), mask)
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(packet: &[u8; PACKET]) -> __m256i {
    #[expect(unsafe_code, reason = "a vector load takes a raw pointer")]
    // SAFETY: the reference is to 32 bytes, and the load may be unaligned.
    unsafe {
        _mm256_loadu_si256(packet.as_ptr().cast())
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_half(bytes: &[u8; 16]) -> __m128i {
    #[expect(unsafe_code, reason = "a vector load takes a raw pointer")]
    // SAFETY: the reference is to 16 bytes, and the load may be unaligned.
    unsafe {
        _mm_loadu_si128(bytes.as_ptr().cast())
    }
}

/// Loads four words into a register, the first in the lowest lane.
#[target_feature(enable = "avx2")]
fn lanes(words: &[u64; 4]) -> __m256i {
    let [a, b, c, d] = words.map(|word| word as i64);
    _mm256_setr_epi64x(a, b, c, d)
}

/// Puts the bytes of each pair of lanes in the order of [`ZIPPER`].
#[inline]
#[target_feature(enable = "avx2")]
fn zipped(words: __m256i) -> __m256i {
    let (low, high) = ZIPPER;
    _mm256_shuffle_epi8(words, _mm256_setr_epi64x(low, high, low, high))
}

/// Exchanges the 128-bit halves, and in each 64-bit lane its 32-bit halves.
#[inline]
#[target_feature(enable = "avx2")]
fn swapped(words: __m256i) -> __m256i {
    _mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(5, 4, 7, 6, 1, 0, 3, 2))
}
