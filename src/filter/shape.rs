//! What a filter looks like before there is one: its kind, how many cells it has, how many of them
//! a key sets.
//!
//! *Owns:* the kinds, and the way from what a user gives (lines and rate, lines and memory, bits
//! per key) to a shape. *Invariants:* a shape has at least one cell and one hash, no more hashes
//! than its kind can compute, and a size that fits `u64` bits. *Cost:* none.

use serde::Serialize;

use crate::filter::sizing;

/// What a filter keeps of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Bits, all of a key in one cache line. The default: fastest to ask and to fill.
    Blocked,
    /// Bits anywhere in the filter: the Bloom filter of the textbooks; with one hash the plain
    /// bitmap. Fewest bits for a rate, a cache miss per bit.
    Classic,
    /// Counters of 4 bits instead of bits: lines can be removed.
    Counting,
    /// Counters of 16 bits: how often a line was inserted can be estimated.
    Spectral,
    /// Digests of 128 bits: exact up to the chance that two lines have the same digest.
    Fingerprint,
}

impl Kind {
    /// All kinds, in the order in which tables list them.
    pub const ALL: [Self; 5] = [
        Self::Blocked,
        Self::Classic,
        Self::Counting,
        Self::Spectral,
        Self::Fingerprint,
    ];

    /// The name that options, files' reports and statistics use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Classic => "classic",
            Self::Counting => "counting",
            Self::Spectral => "spectral",
            Self::Fingerprint => "fingerprint",
        }
    }

    /// Bits of one cell.
    pub fn cell_bits(self) -> u64 {
        match self {
            Self::Blocked | Self::Classic => 1,
            Self::Counting => 4,
            Self::Spectral => 16,
            Self::Fingerprint => 128,
        }
    }

    /// The most cells that a key may set.
    pub fn most_hashes(self) -> u32 {
        match self {
            Self::Blocked => sizing::MAX_BLOCKED_HASHES,
            Self::Classic | Self::Counting | Self::Spectral => 64,
            Self::Fingerprint => 1,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The shape of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// What a cell is.
    pub kind: Kind,
    /// Bits, counters or slots. For `blocked` a multiple of 512.
    pub cells: u64,
    /// Cells that a key sets.
    pub hashes: u32,
}

// TEMP
impl Shape {
    pub fn for_fpr(kind: Kind, keys: u64, fpr: f64, hashes: Option<u32>) -> Shape {
        Self::for_bits_per_key(
            kind,
            keys,
            -fpr.ln() / 0.48 * kind.cell_bits() as f64,
            hashes,
        )
    }
    pub fn for_bytes(kind: Kind, keys: u64, bytes: u64, hashes: Option<u32>) -> Shape {
        Self::for_bits_per_key(kind, keys, bytes as f64 * 8.0 / keys as f64, hashes)
    }
    pub fn for_bits_per_key(kind: Kind, keys: u64, bits: f64, hashes: Option<u32>) -> Shape {
        let cells = (keys as f64 * bits / kind.cell_bits() as f64).ceil() as u64;
        let cells = if kind == Kind::Blocked {
            cells.div_ceil(512) * 512
        } else {
            cells.max(4)
        };
        Shape {
            kind,
            cells,
            hashes: hashes.unwrap_or(
                ((bits / kind.cell_bits() as f64 * 0.69) as u32).clamp(1, kind.most_hashes()),
            ),
        }
    }
    pub fn predicted_fpr(&self, keys: u64) -> f64 {
        sizing::flat_fpr(self.cells as f64 / keys as f64, self.hashes)
    }
}

impl Shape {
    /// Bits of all cells.
    pub fn bits(&self) -> u64 {
        self.cells.saturating_mul(self.kind.cell_bits())
    }

    /// Bytes of all cells, in whole 64-bit words.
    pub fn bytes(&self) -> u64 {
        self.bits().div_ceil(64) * 8
    }
}
