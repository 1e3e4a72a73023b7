//! The constants that the vector forms of `HighwayHash` have in common.
//!
//! *Owns:* the state before the first packet, and the order of bytes of one step.
//!
//! The state is four vectors of four 64-bit lanes. A packet of 32 bytes is a fifth:
//!
//! ```text
//!  update(packet):                                 per lane, all sums modulo 2^64
//!    v1   += packet + mul0
//!    mul0 ^= low 32 bits of v1 × high 32 bits of v0
//!    v0   += mul1
//!    mul1 ^= low 32 bits of v0 × high 32 bits of v1
//!    v0   += zip(v1)                               zip: bytes of two lanes in another order
//!    v1   += zip(v0)
//!
//!  hash: update for each whole packet, then for the tail if there is one, then four times with
//!        v0 in another order of its halves; the result is lane 0 of v0 + v1 + mul0 + mul1
//! ```
//!
//! *Sources:* Alakuijala, Cox, Wassenberg, "Fast keyed hash/pseudo-random function using SIMD
//! multiply and permute", arXiv:1612.06257.

/// Bytes that one update of the hash takes in.
pub(super) const PACKET: usize = 32;

/// The state before the first packet, lowest lane first in each vector.
pub(super) struct Start {
    pub(super) v0: [u64; 4],
    pub(super) v1: [u64; 4],
    pub(super) mul0: [u64; 4],
    pub(super) mul1: [u64; 4],
}

impl Start {
    /// Makes the state for `key`: constants of the definition, the key in `v0`, and in `v1` with the halves of its
    /// words exchanged.
    pub(super) fn new(key: [u64; 4]) -> Self {
        let mul0 = [
            0xdbe6_d5d5_fe4c_ce2f,
            0xa409_3822_299f_31d0,
            0x1319_8a2e_0370_7344,
            0x243f_6a88_85a3_08d3,
        ];
        let mul1 = [
            0x3bd3_9e10_cb0e_f593,
            0xc0ac_f169_b5f1_8a8c,
            0xbe54_66cf_34e9_0c6c,
            0x4528_21e6_38d0_1377,
        ];
        Self {
            v0: std::array::from_fn(|lane| key[lane] ^ mul0[lane]),
            v1: std::array::from_fn(|lane| key[lane].rotate_left(32) ^ mul1[lane]),
            mul0,
            mul1,
        }
    }
}

/// The order in which the update mixes the bytes of two neighboring 64-bit lanes: for each byte, lowest first, the
/// number (0 to 15) of the byte it comes from. The first word is for the lower lane.
pub(super) const ZIPPER: (i64, i64) = (0x000f_010e_0502_0c03, 0x0708_0609_0d0a_040b);
