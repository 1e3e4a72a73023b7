//! The state of a filter's cells: how full it is, and how often it will therefore be wrong.
//!
//! *Owns:* counting cells, in memory or as they are read from a file, and what follows from the
//! counts. *Invariants:* every cell is counted once. *Cost:* one pass over the words.
//!
//! *Formulas.* Keys that come one after the other set k of m cells each, so the share p of cells that are set grows
//! with the number n of different keys as dp/dn = k (1 - p) / m, and p^k of the keys that come then are taken for keys
//! that are in. Of all that have come, that are
//!
//! ```text
//! m/k  I(p) - p^k / 2        I(p) = integral of x^k / (1 - x) from 0 to p = p^(k+1) / (k+1) + p^(k+2) / (k+2) + ...
//! ```
//!
//! in each block, or in a filter without blocks. The second term is there because keys come one by one: it is what a
//! sum is below an integral. Repeats set no cell, so they do not count.
//!
//! *Source:* Swamidass, Baldi, "Mathematical Correction for Fingerprint Similarity Measures to
//! Improve Chemical Retrieval", J. Chem. Inf. Model. 47(3), 2007 (keys from the bits set).

use crate::filter::counters::{Counting, Spectral};
use crate::filter::shape::{Kind, Shape};
use crate::filter::sizing::{BLOCK_BITS, flat_coincidence};
use crate::stats::FilterStats;

/// Words of a block.
const BLOCK_WORDS: usize = (BLOCK_BITS / 64) as usize;

/// The distance that chance may move an estimate of lines, in square roots of their number. The standard deviation is
/// about a third of it.
const SPREADS: f64 = 2.0;

/// A filter that lets more than this share of other lines pass says little about a line.
const USELESS_FPR: f64 = 0.5;

/// The counts of a filter's cells, and the rates that follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Occupancy {
    /// Cells that are not zero.
    pub used: u64,
    /// Their share, 0..1.
    pub fill: f64,
    /// The false-positive rate that follows from the cells, 0..1, whatever was inserted.
    pub fpr: f64,
    /// Different lines, as estimated from the cells; infinite in a filter without a free one.
    /// Exact for digests.
    pub distinct: f64,
    /// The number of different lines that seemed to be in when they came, as estimated from the cells: of the lines of
    /// which each was asked for just before it was inserted. 0 for digests.
    pub taken_for_others: f64,
    /// Counters at the top: they no longer count.
    pub saturated: u64,
}

/// The share, some thousandths, by which an estimate of lines from the cells may be off in addition to chance.
const ESTIMATE_ERROR: f64 = 0.005;

impl Occupancy {
    /// Tells whether there are more different lines in a filter than the `planned_keys` that it was laid out for, by
    /// more than their estimate may be off. `keys` are the lines that were inserted, repeats included: if these are no
    /// more, it is not, unless counters are at their top. Those keep what was removed, and `keys` does not.
    pub fn has_more_than(&self, planned_keys: u64, keys: u64) -> bool {
        let planned = planned_keys.max(1) as f64;
        (keys > planned_keys || self.saturated > 0)
            && self.distinct > planned * (1.0 + ESTIMATE_ERROR) + SPREADS * planned.sqrt()
    }

    /// Returns the false-positive rate, 0..1, that a filter is judged by where a rate is asked for: the one that it was
    /// laid out for, or that of its cells if that is lower or it has more lines than planned.
    ///
    /// The rate of the cells alone would not do: it is a measurement, and so of a filter with just as
    /// many lines as planned it is above the prediction about half of the time, by chance.
    pub fn judged_fpr(&self, shape: Shape, planned_keys: u64, keys: u64) -> f64 {
        if self.has_more_than(planned_keys, keys) {
            self.fpr
        } else {
            self.fpr.min(shape.predicted_fpr(planned_keys.max(1)))
        }
    }

    /// Tells whether a filter deserves a warning: it has more lines than the `planned_keys` that it was laid out for,
    /// and its rate is therefore at least a tenth above the predicted one. The number of lines is estimated, so it
    /// counts as more only if it is above by a twentieth, and by what chance does to a small filter.
    pub fn is_overfull(&self, shape: Shape, planned_keys: u64) -> bool {
        let planned = planned_keys.max(1);
        let more = 1.05 * planned as f64 + SPREADS * (planned as f64).sqrt();
        // Digests make room for themselves.
        shape.kind != Kind::Fingerprint
            && self.distinct > more
            && self.fpr > (1.1 * shape.predicted_fpr(planned)).min(USELESS_FPR)
    }
}

impl FilterStats {
    /// Makes the report of a filter with `keys` insertions. If its cells show that some of them were repeats, the rate
    /// is predicted for the others.
    pub fn of(shape: Shape, keys: u64, occupancy: &Occupancy) -> Self {
        let all = keys as f64;
        let different = if occupancy.distinct < all * (1.0 - ESTIMATE_ERROR) - SPREADS * all.sqrt()
        {
            occupancy.distinct as u64
        } else {
            keys
        };
        Self {
            kind: shape.kind.name(),
            bits: shape.bits(),
            hashes: shape.hashes,
            keys,
            bits_per_key: shape.bits() as f64 / keys.max(1) as f64,
            predicted_fpr: shape.predicted_fpr(different),
            fill: occupancy.fill,
            fill_fpr: occupancy.fpr,
            expected_false_lines: 0.0,
            expected_missing_lines: 0.0,
        }
    }
}

/// Counts the cells of a filter.
#[derive(Debug)]
pub(super) struct Census {
    shape: Shape,
    /// Cells that are not zero, so far.
    used: u64,
    /// Counters at their top, so far.
    saturated: u64,
    /// The number of blocks for each number of bits that are set, from 0. A value that follows from the fill of a
    /// block is computed once for each of these numbers, not for each of millions of blocks.
    blocks: Vec<u64>,
}

impl Census {
    /// Counts for a filter of this shape, from nothing.
    pub(super) fn new(shape: Shape) -> Self {
        Self {
            shape,
            used: 0,
            saturated: 0,
            blocks: vec![0; BLOCK_BITS as usize + 1],
        }
    }

    /// Counts the cells in `words`: a part of the filter, of whole blocks and slots.
    pub(super) fn add(&mut self, words: &[u64]) {
        match self.shape.kind {
            Kind::Blocked => words
                .chunks(BLOCK_WORDS)
                .for_each(|block| self.add_block(block)),
            Kind::Classic => self.used += ones(words),
            Kind::Counting => self.add_counters(words, 4, Counting::<&[u64]>::TOP),
            Kind::Spectral => self.add_counters(words, 16, Spectral::<&[u64]>::TOP),
            Kind::Fingerprint => {
                self.used += words.chunks(2).filter(|slot| **slot != [0, 0]).count() as u64;
            }
        }
    }

    fn add_block(&mut self, block: &[u64]) {
        let ones = ones(block);
        self.used += ones;
        self.blocks[ones as usize] += 1;
    }

    /// Sums `of_fill` over all blocks: a value that follows from the fill of each.
    fn over_blocks(&self, of_fill: impl Fn(f64) -> f64) -> f64 {
        let counted = (0u32..)
            .zip(&self.blocks)
            .filter(|(_, blocks)| **blocks > 0);
        let each = counted
            .map(|(ones, &blocks)| of_fill(f64::from(ones) / BLOCK_BITS as f64) * blocks as f64);
        each.sum()
    }

    fn add_counters(&mut self, words: &[u64], bits: usize, top: u64) {
        for &word in words.iter().filter(|&&word| word != 0) {
            for shift in (0..64).step_by(bits) {
                let value = (word >> shift) & top;
                self.used += u64::from(value != 0);
                self.saturated += u64::from(value == top);
            }
        }
    }

    /// Adds what was counted in another part of the filter.
    pub(super) fn merge(&mut self, other: &Self) {
        self.used += other.used;
        self.saturated += other.saturated;
        for (blocks, more) in self.blocks.iter_mut().zip(&other.blocks) {
            *blocks += more;
        }
    }

    /// Returns the occupancy of the whole filter.
    pub(super) fn finish(self) -> Occupancy {
        let Shape {
            kind,
            cells,
            hashes,
        } = self.shape;
        let fill = self.used as f64 / cells as f64;
        let (fpr, distinct, taken_for_others) = match kind {
            Kind::Blocked => {
                // The mean of all blocks: a question meets each equally often, and they differ in their fill.
                let rates = self.over_blocks(|fill| fill.powi(hashes as i32));
                (
                    rates * BLOCK_BITS as f64 / cells as f64,
                    self.over_blocks(|fill| keys_of(fill, BLOCK_BITS, hashes)),
                    self.over_blocks(|fill| taken_for_others(fill, BLOCK_BITS, hashes)),
                )
            }
            Kind::Classic | Kind::Counting | Kind::Spectral => {
                let distinct = keys_of(fill, cells, hashes);
                (
                    (fill.powi(hashes as i32) + flat_coincidence(distinct, cells)).min(1.0),
                    distinct,
                    taken_for_others(fill, cells, hashes),
                )
            }
            Kind::Fingerprint => (self.used as f64 / 2f64.powi(128), self.used as f64, 0.0),
        };
        Occupancy {
            used: self.used,
            fill,
            fpr,
            distinct,
            taken_for_others,
            saturated: self.saturated,
        }
    }
}

fn ones(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Estimates the number of different keys that have set the share `fill` (0..1) of m `cells` with k `hashes` each:
/// `-(m/k) ln(1 - fill)`. Infinite where all are set.
fn keys_of(fill: f64, cells: u64, hashes: u32) -> f64 {
    // Nothing is 0, not -0.
    0.0 - (1.0 - fill).ln() * cells as f64 / f64::from(hashes)
}

/// Estimates how many distinct keys were taken for keys already in the filter when they came. These keys have set the
/// share `fill` (0..1) of m `cells`, with k `hashes` each.
///
/// A filter whose cells are all set does not show how many keys have come. It is treated as if half of one cell in 512
/// were not set, so the estimate is then too low.
fn taken_for_others(fill: f64, cells: u64, hashes: u32) -> f64 {
    let fill = fill.min(1.0 - 0.5 / BLOCK_BITS as f64);
    let k = hashes as i32;
    let last = fill.powi(k);
    // The sum of the first terms is nearly as much as the logarithm where the fill is small; the others converge fast
    // there.
    let integral = if fill > 0.5 {
        let first: f64 = (1..=k).map(|j| fill.powi(j) / f64::from(j)).sum();
        -(-fill).ln_1p() - first
    } else {
        (1..=64)
            .map(|j| last * fill.powi(j) / f64::from(k + j))
            .sum()
    };
    (integral * cells as f64 / f64::from(hashes) - last / 2.0).max(0.0)
}
