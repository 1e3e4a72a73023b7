//! Which form of `HighwayHash` the processor runs, and what the vector forms have in common.
//!
//! *Owns:* the choice between three forms of one function, and its constants. *Invariants:* all
//! forms give the same hash; a form is chosen only where the processor was found to have its
//! instructions. *Cost:* none; chosen once a run.
//!
//! *Sources:* Alakuijala, Cox, Wassenberg, "Fast keyed hash/pseudo-random function using SIMD
//! multiply and permute", arXiv:1612.06257.

use highway::{HighwayHash, HighwayHasher, Key};

#[cfg(target_arch = "x86_64")]
use crate::hash::{avx2, avx512};

/// Bytes that one update of the hash takes in.
pub(super) const PACKET: usize = 32;

/// A form of the hash that can run here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    /// Eight lines in step, two to a register.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// One line after the other, in one loop.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Whatever the crate has for the processor.
    Crate,
}

impl Kernel {
    /// The forms that can run here, the fastest first. Never empty.
    pub(super) fn all() -> Vec<Self> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if avx512::is_available() {
                kernels.push(Self::Avx512);
            }
            if avx2::is_available() {
                kernels.push(Self::Avx2);
            }
        }
        kernels.push(Self::Crate);
        kernels
    }

    /// The fastest that can run here.
    pub(super) fn fastest() -> Self {
        Self::all()[0]
    }

    /// Appends the hash of each line to `hashes`.
    pub(super) fn hash(self, key: [u64; 4], lines: &[&[u8]], hashes: &mut Vec<u64>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "calls a function compiled for AVX-512")]
            // SAFETY: the kernel is only chosen where the processor has the instructions.
            Self::Avx512 => unsafe { avx512::hash(key, lines, hashes) },
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "calls a function compiled for AVX2")]
            // SAFETY: the kernel is only chosen where the processor has the instructions.
            Self::Avx2 => unsafe { avx2::hash(key, lines, hashes) },
            Self::Crate => {
                let hash = |line: &&[u8]| HighwayHasher::new(Key(key)).hash64(line);
                hashes.extend(lines.iter().map(hash));
            }
        }
    }
}

/// The state before the first packet, lowest lane first.
#[cfg(target_arch = "x86_64")]
pub(super) struct Start {
    pub(super) v0: [u64; 4],
    pub(super) v1: [u64; 4],
    pub(super) mul0: [u64; 4],
    pub(super) mul1: [u64; 4],
}

#[cfg(target_arch = "x86_64")]
impl Start {
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

/// How the update mixes the bytes of two 64-bit lanes: the source of each byte.
#[cfg(target_arch = "x86_64")]
pub(super) const ZIPPER: (i64, i64) = (0x000f_010e_0502_0c03, 0x0708_0609_0d0a_040b);
