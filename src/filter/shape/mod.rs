//! The shape of a filter before there is one: its kind, its number of cells, and the number of them that a key sets.
//!
//! *Owns:* the kinds, and the way from what a user gives (lines and rate, lines and memory, bits
//! per key) to a shape. *Invariants:* a shape has at least one cell and one hash, no more hashes
//! than its kind can compute, and a size that fits `u64` bits; a blocked one is whole blocks.
//! Whatever comes in, the way out is a shape: refusing a request is left to the caller. *Cost:* for a blocked
//! filter, that of its rate (see [`sizing`]). *Sources:* of every formula, in [`sizing`].

use serde::Serialize;

use crate::filter::sizing;

/// The factor by which the computed rate of flat cells is below the one asked for, so that the last digits of the
/// formula do not put it above.
const MARGIN: f64 = 1.0 - 1e-9;

/// More bits than any filter has (128 TiB): sums of two numbers of cells are safe, and a file of holes
/// that claims more is refused before its table is read.
pub(crate) const MOST_BITS: u64 = 1 << 50;

/// The form in which a filter keeps lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
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

    /// Returns the name that options, files' reports and statistics use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Classic => "classic",
            Self::Counting => "counting",
            Self::Spectral => "spectral",
            Self::Fingerprint => "fingerprint",
        }
    }

    /// Returns the bits of one cell.
    pub fn cell_bits(self) -> u64 {
        match self {
            Self::Blocked | Self::Classic => 1,
            Self::Counting => 4,
            Self::Spectral => 16,
            Self::Fingerprint => 128,
        }
    }

    /// Tells whether a line that was inserted can be removed again.
    pub fn can_forget(self) -> bool {
        matches!(self, Self::Counting | Self::Fingerprint)
    }

    /// Returns the most cells that a key may set.
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
    /// The kind, which says what a cell is.
    pub kind: Kind,
    /// Bits, counters or slots. For `blocked` a multiple of 512.
    pub cells: u64,
    /// Cells that a key sets.
    pub hashes: u32,
}

impl Shape {
    /// Returns the shape for `keys` keys and a false-positive rate of `fpr` (0 to 1), with exactly `hashes` hashes or
    /// with the best number of them.
    ///
    /// The predicted rate ([`Shape::predicted_fpr`]) is at or under the one asked for. As hashes are
    /// whole, a flat filter takes a few more cells for it than the formula's `-n ln p / (ln 2)^2`, which
    /// is for `log2(1/p)` hashes: 0.015 % more at a rate of 0.01 %, 0.08 % at 1 %, 2 % at 35 %. One for few keys and a
    /// low rate takes many more, at least `sqrt(n/p)` ([`sizing::flat_coincidence`]). Not
    /// reached is a rate for which a filter would have more bits than can be counted, or of a blocked
    /// one more than [`sizing::MOST_BLOCKED_BITS_PER_KEY`]. `fingerprint` has room for the keys,
    /// whatever the rate.
    ///
    /// ```
    /// use outset::filter::{Kind, Shape};
    /// let shape = Shape::for_fpr(Kind::Classic, 1_000_000, 0.0001, None);
    /// assert!(shape.predicted_fpr(1_000_000) <= 0.0001);
    /// assert_eq!((shape.cells, shape.hashes), (19_173_013, 13));
    /// ```
    pub fn for_fpr(kind: Kind, keys: u64, fpr: f64, hashes: Option<u32>) -> Self {
        let keys = keys.max(1);
        if kind == Kind::Fingerprint {
            return Self::of(kind, keys, sizing::fingerprint_slots(keys), hashes);
        }
        let cells = (cells_per_key(kind, fpr, hashes) * keys as f64).ceil() as u64;
        if kind == Kind::Blocked {
            return Self::of(kind, keys, cells, hashes);
        }
        // The formula for cells per key leaves out that lines may have all cells in common with a key.
        let fpr = nearest_rate(fpr);
        let fits = |cells| Self::of(kind, keys, cells, hashes).predicted_fpr(keys) <= fpr;
        Self::of(
            kind,
            keys,
            least(cells, u64::MAX / kind.cell_bits(), fits),
            hashes,
        )
    }

    /// Returns the shape for `keys` keys in at most `bytes` bytes of memory, in whole 64-bit words: as many cells as
    /// fit, and the fewest that the kind can have (one, a block, or two slots) where fewer do.
    ///
    /// ```
    /// use outset::filter::{Kind, Shape};
    /// let shape = Shape::for_bytes(Kind::Classic, 5_000_000_000, 4 << 30, None);
    /// assert_eq!((shape.cells, shape.hashes), (1 << 35, 5));
    /// ```
    pub fn for_bytes(kind: Kind, keys: u64, bytes: u64, hashes: Option<u32>) -> Self {
        let bits = u128::from(bytes / 8) * 64;
        let whole = bits / u128::from(unit_bits(kind)) * u128::from(unit_bits(kind));
        let cells = whole / u128::from(kind.cell_bits());
        let cells = u64::try_from(cells).unwrap_or(u64::MAX);
        Self::of(kind, keys, cells, hashes)
    }

    /// Returns the shape for `keys` keys with this number of bits of storage each: 20 bits a key are 5 counters of 4
    /// bits.
    pub fn for_bits_per_key(kind: Kind, keys: u64, bits: f64, hashes: Option<u32>) -> Self {
        let cells = keys.max(1) as f64 * bits / kind.cell_bits() as f64;
        Self::of(kind, keys, cells.round() as u64, hashes)
    }

    /// Returns the most keys for which a filter of this kind in `bytes` bytes keeps to the rate `fpr`, with exactly
    /// `hashes` hashes or with the best number of them; for `fingerprint`, the keys that it has room for.
    pub fn most_keys(kind: Kind, bytes: u64, fpr: f64, hashes: Option<u32>) -> u64 {
        let room = Self::for_bytes(kind, 1, bytes, hashes);
        if kind == Kind::Fingerprint {
            return room.capacity();
        }
        let keys = (room.cells as f64 / cells_per_key(kind, fpr, hashes)) as u64;
        if kind == Kind::Blocked {
            return keys;
        }
        let fpr = nearest_rate(fpr);
        let is_over = |keys| Self::of(kind, keys, room.cells, hashes).predicted_fpr(keys) > fpr;
        least(1, keys.saturating_add(1), is_over) - 1
    }

    /// Checks that a filter can have this shape; else says what is impossible in it.
    pub(super) fn check(&self) -> Result<(), String> {
        let Self {
            kind,
            cells,
            hashes,
        } = *self;
        let most = MOST_BITS / kind.cell_bits();
        let is_whole = kind != Kind::Blocked || cells.is_multiple_of(sizing::BLOCK_BITS);
        if !(least_cells(kind)..=most).contains(&cells) || !is_whole {
            return Err(format!("has an impossible number of cells, {cells}"));
        }
        if !(1..=kind.most_hashes()).contains(&hashes) {
            return Err(format!("has an impossible number of hashes, {hashes}"));
        }
        Ok(())
    }

    /// Returns the filter's size in bits.
    pub fn bits(&self) -> u64 {
        self.cells.saturating_mul(self.kind.cell_bits())
    }

    /// Returns the filter's size in bytes, in whole 64-bit words.
    pub fn bytes(&self) -> u64 {
        self.bits().div_ceil(64) * 8
    }

    /// Returns the chance, 0 to 1, that a filter of this shape with `keys` distinct keys seems to contain a line that
    /// is not in it.
    pub fn predicted_fpr(&self, keys: u64) -> f64 {
        if keys == 0 {
            return 0.0;
        }
        match self.kind {
            Kind::Blocked => sizing::blocked_fpr(self.cells_per_key(keys), self.hashes),
            Kind::Classic | Kind::Counting | Kind::Spectral => {
                let by_cells = sizing::flat_fpr(self.cells_per_key(keys), self.hashes);
                (by_cells + sizing::flat_coincidence(keys as f64, self.cells)).min(1.0)
            }
            Kind::Fingerprint => sizing::fingerprint_fpr(keys),
        }
    }

    /// Returns the best number of hashes for `keys` keys in this number of cells, before rounding: `ln 2` times the
    /// cells per key. That is the flat filter's best; a blocked filter's is lower, has no formula, and is found by
    /// trying. A digest is in one cell, so `fingerprint` has 1.
    pub fn hashes_exact(&self, keys: u64) -> f64 {
        if self.kind == Kind::Fingerprint {
            return 1.0;
        }
        sizing::flat_hashes_exact(self.cells_per_key(keys))
    }

    /// Returns the most keys that may be inserted. Only `fingerprint` has a limit, 4 of 5 slots: the others are never
    /// full, only more and more often wrong.
    pub fn capacity(&self) -> u64 {
        match self.kind {
            Kind::Fingerprint => sizing::fingerprint_capacity(self.cells),
            Kind::Blocked | Kind::Classic | Kind::Counting | Kind::Spectral => u64::MAX,
        }
    }

    /// Tells whether the filter would have more bits than any can have.
    pub(crate) fn is_too_large(&self) -> bool {
        self.bits() > MOST_BITS
    }

    /// Returns a possible shape of about this number of cells: whole blocks, as many as the kind needs at least, no
    /// more than `u64` bits.
    fn of(kind: Kind, keys: u64, cells: u64, hashes: Option<u32>) -> Self {
        let unit = unit_bits(kind) / kind.cell_bits();
        let most = u64::MAX / unit_bits(kind);
        let cells = (cells.div_ceil(unit).min(most) * unit).max(least_cells(kind));
        let mut shape = Self {
            kind,
            cells,
            hashes: 1,
        };
        let best = || best_hashes(kind, shape.cells_per_key(keys));
        shape.hashes = hashes.unwrap_or_else(best).clamp(1, kind.most_hashes());
        shape
    }

    fn cells_per_key(&self, keys: u64) -> f64 {
        self.cells as f64 / keys.max(1) as f64
    }
}

/// Finds the least number from `low` up to `most` from which on all numbers fit; `most` if none before it does.
fn least(low: u64, most: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (low.min(most), low.min(most));
    while high < most && !fits(high) {
        low = high + 1;
        high = high.saturating_mul(2).clamp(1, most);
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// Returns the unit of a filter's size, in bits.
fn unit_bits(kind: Kind) -> u64 {
    match kind {
        Kind::Blocked => sizing::BLOCK_BITS,
        _ => kind.cell_bits(),
    }
}

/// Returns the fewest cells of a filter: a block, or a slot and the empty one that ends every search.
fn least_cells(kind: Kind) -> u64 {
    match kind {
        Kind::Blocked => sizing::BLOCK_BITS,
        Kind::Fingerprint => 2,
        Kind::Classic | Kind::Counting | Kind::Spectral => 1,
    }
}

/// Returns the number of hashes with the lowest rate.
fn best_hashes(kind: Kind, cells_per_key: f64) -> u32 {
    match kind {
        Kind::Blocked => sizing::best_blocked(cells_per_key).0,
        _ => sizing::best_flat_hashes(cells_per_key, kind.most_hashes()),
    }
}

/// Returns the rate that is nearest to a number that may be none, and the lowest for NaN.
fn nearest_rate(fpr: f64) -> f64 {
    let fpr = if fpr.is_nan() { 0.0 } else { fpr };
    fpr.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON)
}

/// Returns the cells per key that a filter of bits or counters needs for a rate.
fn cells_per_key(kind: Kind, fpr: f64, hashes: Option<u32>) -> f64 {
    let fpr = nearest_rate(fpr);
    let most = kind.most_hashes();
    if kind == Kind::Blocked {
        return sizing::blocked_bits_per_key(fpr, hashes.map(|hashes| hashes.clamp(1, most)));
    }
    let cells = |hashes: u32| sizing::flat_bits_per_key(fpr * MARGIN, hashes.clamp(1, most));
    match hashes {
        Some(hashes) => cells(hashes),
        None => {
            // The fewest cells have one of the whole numbers next to this; as a conversion from f64
            // saturates, both are numbers.
            let fewer = -fpr.log2() as u32;
            cells(fewer).min(cells(fewer.saturating_add(1)))
        }
    }
}

#[cfg(test)]
mod tests;
