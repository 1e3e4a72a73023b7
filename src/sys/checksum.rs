//! The checksum of spill blocks and filter files.
//!
//! *Owns:* the choice of it: XXH3-64, whose definition is fixed for all versions and machines.
//!
//! *Invariants:* the seed is part of what is checked, so that data at the wrong offset does not pass.
//! *Cost:* about 20 GB/s on a core with AVX2, which is looked for at run time.
//! *Sources:* the specification of XXH3 (<https://github.com/Cyan4973/xxHash>).

use std::hash::Hasher;

use twox_hash::XxHash3_64;

/// Computes the checksum of `bytes`.
pub(crate) fn of(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// Computes the checksum of `bytes` at the offset that `seed` identifies: the same bytes elsewhere have another one.
pub(crate) fn in_place(seed: u64, bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(seed, bytes)
}

/// The checksum of bytes that come in pieces: that of [`of`] for all of them in a row.
#[derive(Default)]
pub(crate) struct Running(XxHash3_64);

impl Running {
    /// Begins the checksum of [`in_place`], of bytes that come in pieces.
    pub(crate) fn in_place(seed: u64) -> Self {
        Self(XxHash3_64::with_seed(seed))
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

    #[test]
    fn another_implementation_agrees_at_every_length() {
        let bytes: Vec<u8> = (0..9000_u32).map(|i| ((i * i) >> 3) as u8).collect();
        for length in (0..600).chain([1023, 1024, 4095, 4096, 4097, 9000]) {
            let bytes = &bytes[..length];
            assert_eq!(of(bytes), xxh3_64(bytes), "{length} bytes");
            let seed = u64::from_le_bytes(*b"a seed 8");
            assert_eq!(in_place(seed, bytes), xxh3_64_with_seed(bytes, seed));
            let mut running = Running::default();
            bytes.chunks(100).for_each(|piece| running.update(piece));
            assert_eq!(running.finish(), xxh3_64(bytes), "{length} bytes in pieces");
            let mut running = Running::in_place(seed);
            bytes.chunks(100).for_each(|piece| running.update(piece));
            assert_eq!(running.finish(), in_place(seed, bytes));
        }
    }
}
