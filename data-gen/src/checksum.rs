//! A checksum of lines that does not depend on their order.
//!
//! *Owns:* [`OrderFree`]. Each line is hashed with XXH3-64, seed 0, without its terminator; the
//! hashes are added modulo 2^64 and also combined by exclusive or.
//!
//! *Invariant.* Every permutation of the same lines gives the same value. The values of parts add up
//! to the value of the whole, so several threads can take a part each, and an answer can be put
//! together from others. A repeated line changes the count and the sum. *Cost:* 3 ns for a line of 64
//! bytes; 32 bytes of memory.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Number, size and checksum of lines, each as often as it was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderFree {
    /// Number of lines; `distinct_lines` in manifests of format 1.
    #[serde(rename = "lines", alias = "distinct_lines")]
    pub count: u64,
    /// Their bytes, each with a terminator of one byte.
    pub bytes: u64,
    /// The sum of their hashes modulo 2^64; 16 hexadecimal digits in the manifest.
    #[serde(rename = "xxh3_sum", with = "hexadecimal")]
    pub sum: u64,
    /// The exclusive or of their hashes; 16 hexadecimal digits in the manifest.
    #[serde(rename = "xxh3_xor", with = "hexadecimal")]
    pub xor: u64,
}

impl OrderFree {
    /// Adds one line, given without its terminator.
    #[inline]
    pub fn add(&mut self, line: &[u8]) {
        self.add_times(line, 1);
    }

    /// Adds one line, given without its terminator, `times` times.
    #[inline]
    pub fn add_times(&mut self, line: &[u8], times: u64) {
        let hash = xxh3_64(line);
        self.count += times;
        self.bytes += times * (line.len() as u64 + 1);
        self.sum = self.sum.wrapping_add(hash.wrapping_mul(times));
        self.xor ^= hash * (times % 2);
    }

    /// Adds the lines that another value stands for.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.sum = self.sum.wrapping_add(other.sum);
        self.xor ^= other.xor;
    }
}

/// Words as 16 hexadecimal digits: many readers of JSON take numbers for floats.
mod hexadecimal {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    pub(super) fn serialize<S: Serializer>(word: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{word:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_does_not_matter_and_repeats_do() {
        let of = |lines: &[&str]| {
            let mut sum = OrderFree::default();
            for line in lines {
                sum.add(line.as_bytes());
            }
            sum
        };
        assert_eq!(of(&["a", "bc", ""]), of(&["", "a", "bc"]));
        assert_ne!(of(&["a", "b"]), of(&["a", "c"]));
        assert_ne!(of(&["a"]).sum, of(&["a", "a", "a"]).sum);
        let mut merged = of(&["a"]);
        merged.merge(&of(&["bc", ""]));
        assert_eq!(merged, of(&["a", "bc", ""]));
        for times in 0..4 {
            let mut repeated = of(&["x"]);
            repeated.add_times(b"bc", times as u64);
            assert_eq!(repeated, of(&["x", "bc", "bc", "bc"][..=times]));
        }
    }

    #[test]
    fn the_hash_is_xxh3_with_seed_0() {
        let mut sum = OrderFree::default();
        sum.add(b"");
        // The value that the reference implementation gives for no bytes.
        assert_eq!(sum.sum, 0x2d06_8005_38d3_94c2);
    }
}
