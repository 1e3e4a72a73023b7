//! The form of `HighwayHash` that the processor runs.
//!
//! *Owns:* the choice between three forms of one function. *Invariants:* all forms give the same
//! hash; a form is chosen only where the processor was found to have its instructions. *Cost:* one choice per
//! run, and one jump per batch.

#[cfg(not(portable))]
pub(super) use highway::HighwayHasher;
/// Without vector instructions.
#[cfg(portable)]
pub(super) use highway::PortableHash as HighwayHasher;
use highway::{HighwayHash, Key};

#[cfg(target_arch = "x86_64")]
use crate::hash::{avx2, avx512};

/// A form of the hash that can run here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    /// Eight lines in step, two to a register.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// One line after the other, in one loop.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The form that the crate `highway` has for the processor; also the form for a single line.
    Crate,
}

impl Kernel {
    /// Returns the forms that can run here, the fastest first. Never empty.
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

    /// Returns the fastest form that can run here.
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
