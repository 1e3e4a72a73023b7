//! A small sample of an input's different lines that can be compared with the samples of other inputs.
//!
//! *Owns:* the sketch of an input, gathering it, and what several sketches have in common.
//!
//! A sketch holds the `k` smallest of the different hashes of an input, and the *threshold*, which is
//! the next larger one. The hashes are as good as random, so those below a threshold are a random
//! sample of the different lines, of which they are a known share: the threshold over 2^64. Equal
//! lines have equal hashes: below the smallest threshold of several sketches each has all that it
//! would have alone, and what is in all of them is a sample of the common lines.
//!
//! ```text
//!  0                threshold of A                                   2^64
//!  A  ├·····················┤              all hashes of A below it: k of about n, share t / 2^64
//!  B  ├··············┤                     threshold of B
//!     ├─ both have ──┤                     hashes in A and B here are a sample of the common lines
//! ```
//!
//! *Invariants.*
//! - A hash is in a sketch once, however often its line is repeated.
//! - A sketch depends on the different lines and the key of the hash alone: not on their order, nor on
//!   how they were divided between workers.
//! - The threshold is above all hashes of a sketch that has the hash of every line.
//!
//! *Cost:* a multiplication and a comparison per line; about `k ln(n/k)` of `n` different lines go
//! farther, into a table. 24 bytes for each of `k` while a worker gathers, 8 afterwards.
//!
//! *Sources:* Bar-Yossef, Jayram, Kumar, Sivakumar, Trevisan, "Counting distinct elements in a data
//! stream", RANDOM 2002; Beyer, Haas, Reinwald, Sismanis, Gemulla, "On synopses for distinct-value
//! estimation under multiset operations", SIGMOD 2007; Dasgupta, Lang, Rhodes, Thaler, "A framework
//! for estimating stream expression cardinalities", ICDT 2016 (the smallest threshold of several, and
//! the share as the estimator: `k` over the `k + 1`st hash has no bias).

mod bounds;
mod counter;

use crate::error::Result;
use crate::hash::{Purpose, derive};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;

pub use self::bounds::Bounds;
use self::bounds::population;
pub(crate) use self::bounds::proportion;
pub(crate) use self::counter::DistinctCounter;

/// The threshold where nothing was dropped.
const ALL: u64 = u64::MAX;

/// A sketch that is being gathered. Several can gather parts of one input.
#[derive(Debug)]
pub(crate) struct Gatherer {
    /// A hash table of `2 k` slots, 0 where one is free, and room for `k` hashes after it, which `cut` needs.
    words: Buffer,
    /// The most hashes that a sketch keeps, a power of two.
    k: usize,
    /// Slots in use: at most 3/2 `k` and one more for a moment.
    held: usize,
    /// Only hashes below it are added. Falls with each cut.
    threshold: u64,
}

impl Gatherer {
    /// Returns the bytes of a gatherer of the `k` smallest hashes.
    pub(crate) fn bytes(k: usize) -> u64 {
        3 * Sketch::bytes(k)
    }

    /// Makes an empty gatherer of the `k` smallest hashes, a power of two.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] when the budget has no room for it.
    pub(crate) fn new(budget: &MemoryBudget, k: usize) -> Result<Self> {
        Ok(Self {
            words: Buffer::new(budget, "sketches", Self::bytes(k))?,
            k,
            held: 0,
            threshold: ALL,
        })
    }

    /// Adds the hashes of lines, repeats included.
    #[inline]
    pub(crate) fn add_all(&mut self, hashes: &[u64]) {
        for &hash in hashes {
            // 0 marks a free slot.
            self.add(derive(hash, Purpose::Sketch).max(1));
        }
    }

    /// Adds what another of the same `k` has gathered. The smaller threshold holds for both: what the other
    /// has dropped is above its own. Hashes in this table that are now above it go with the next cut.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.threshold = self.threshold.min(other.threshold);
        let table = &other.words.words()[..2 * other.k];
        for &value in table.iter().filter(|&&value| value != 0) {
            self.add(value);
        }
    }

    /// Ends the gathering. Gives two thirds of the memory back.
    ///
    /// # Errors
    /// Where the buffer cannot be made smaller.
    pub(crate) fn into_sketch(mut self) -> Result<Sketch> {
        let held = self.keep_smallest();
        self.words.words_mut()[..held].sort_unstable();
        self.words.shrink(Sketch::bytes(self.k))?;
        Ok(Sketch {
            words: self.words,
            held,
            threshold: self.threshold,
        })
    }

    /// Adds one value, not 0. Most values of a large input end at the first comparison.
    #[inline]
    fn add(&mut self, value: u64) {
        if value < self.threshold && self.insert(value) {
            self.held += 1;
            // Fuller, the table would be slow; emptier, it would be emptied more often.
            if self.held > self.k + self.k / 2 {
                self.cut();
            }
        }
    }

    /// Puts a value into the table; whether it was not there. The table has a free slot.
    fn insert(&mut self, value: u64) -> bool {
        let mask = 2 * self.k - 1;
        let table = &mut self.words.words_mut()[..=mask];
        // By the low bits: all values below a small threshold begin with zeros.
        let mut slot = value as usize & mask;
        while table[slot] != 0 {
            if table[slot] == value {
                return false;
            }
            slot = (slot + 1) & mask;
        }
        table[slot] = value;
        true
    }

    /// Lowers the threshold so that at most `k` hashes are below it, drops the others, and builds the table
    /// anew. About `k / 2` insertions later the next cut comes.
    fn cut(&mut self) {
        self.held = self.keep_smallest();
        let (table, aside) = self.words.words_mut().split_at_mut(2 * self.k);
        aside[..self.held].copy_from_slice(&table[..self.held]);
        table.fill(0);
        for index in 2 * self.k..2 * self.k + self.held {
            let value = self.words.words()[index];
            self.insert(value);
        }
    }

    /// Moves the hashes below the threshold to the beginning, at most the `k` smallest, and returns how many
    /// there are. If there were more, the next larger hash becomes the threshold. Afterwards the slots are no
    /// hash table any more.
    fn keep_smallest(&mut self) -> usize {
        let (k, threshold) = (self.k, self.threshold);
        let table = &mut self.words.words_mut()[..2 * k];
        let mut held = 0;
        for index in 0..table.len() {
            let value = table[index];
            if value != 0 && value < threshold {
                table[held] = value;
                held += 1;
            }
        }
        if held <= k {
            return held;
        }
        let (_, &mut next, _) = table[..held].select_nth_unstable(k);
        self.threshold = next;
        k
    }
}

/// The smallest hashes of an input's different lines.
#[derive(Debug)]
pub(crate) struct Sketch {
    /// `held` hashes in order; words after them have no meaning.
    words: Buffer,
    /// At most the `k` of its gatherer.
    held: usize,
    /// Every hash of the input below it is here.
    threshold: u64,
}

impl Sketch {
    /// Returns the bytes of a sketch of `k` hashes.
    pub(crate) fn bytes(k: usize) -> u64 {
        k as u64 * 8
    }

    /// Estimates the number of different lines of the input: hashes held over the share of all hashes below the
    /// threshold.
    pub(crate) fn distinct(&self) -> Bounds {
        population(self.held as u64, share(self.threshold))
    }

    /// Its hashes below `threshold`, in order.
    fn below(&self, threshold: u64) -> &[u64] {
        let values = &self.words.words()[..self.held];
        &values[..values.partition_point(|&value| value < threshold)]
    }
}

/// The lines that several inputs have in common, and each for itself, estimated from their sketches.
#[derive(Debug, Clone)]
pub(crate) struct Overlap {
    /// Hashes below all thresholds that are in every sketch.
    pub(crate) common_seen: u64,
    /// Hashes below all thresholds that are in any.
    pub(crate) any_seen: u64,
    /// For each sketch, its hashes below all thresholds, and those of them that no other sketch has.
    pub(crate) own_seen: Vec<(u64, u64)>,
    /// The share, 0..1, of all possible hashes that is below all thresholds; 1 if the sketches have the hash
    /// of every line.
    pub(crate) share: f64,
}

impl Overlap {
    /// Compares `sketches`, whose lines were hashed under one key. A merge of sorted lists, all at once.
    pub(crate) fn of(sketches: &[Sketch]) -> Self {
        let thresholds = sketches.iter().map(|sketch| sketch.threshold);
        let threshold = thresholds.min().unwrap_or(ALL);
        let mut rests: Vec<&[u64]> = sketches.iter().map(|s| s.below(threshold)).collect();
        let (mut common_seen, mut any_seen) = (0, 0);
        let mut own_seen = vec![(0, 0); sketches.len()];
        // All are in order: merged, each value is met in all that have it at once.
        while let Some(&least) = rests.iter().filter_map(|rest| rest.first()).min() {
            let (mut holders, mut last) = (0, 0);
            for (number, rest) in rests.iter_mut().enumerate() {
                if rest.first() == Some(&least) {
                    *rest = &rest[1..];
                    own_seen[number].0 += 1;
                    (holders, last) = (holders + 1, number);
                }
            }
            own_seen[last].1 += u64::from(holders == 1);
            any_seen += 1;
            common_seen += u64::from(holders == rests.len());
        }
        Self {
            common_seen,
            any_seen,
            own_seen,
            share: share(threshold),
        }
    }

    /// Tells whether the sketches have the hash of every line.
    pub(crate) fn is_exact(&self) -> bool {
        self.share >= 1.0
    }

    /// Estimates the number of different lines that all inputs have.
    pub(crate) fn common(&self) -> Bounds {
        population(self.common_seen, self.share)
    }

    /// Estimates the number of different lines that there are in any input.
    pub(crate) fn any(&self) -> Bounds {
        population(self.any_seen, self.share)
    }

    /// Estimates the common lines as a share of these (Jaccard); 0 where there are none.
    pub(crate) fn jaccard(&self) -> Bounds {
        self.common_of(self.any_seen)
    }

    /// Estimates the number of different lines that input number `input` has and no other.
    pub(crate) fn only(&self, input: usize) -> Bounds {
        let (_, only) = self.own_seen[input];
        population(only, self.share)
    }

    /// Estimates the common lines as a share of the different lines of input number `input` (containment); 0 where it
    /// has none.
    pub(crate) fn containment(&self, input: usize) -> Bounds {
        let (own, _) = self.own_seen[input];
        self.common_of(own)
    }

    /// Estimates the common lines as a share of lines of which `seen` were seen.
    fn common_of(&self, seen: u64) -> Bounds {
        if self.is_exact() {
            return Bounds::exactly(self.common_seen as f64 / seen.max(1) as f64);
        }
        proportion(self.common_seen, seen)
    }
}

/// Returns the share of all hashes that is below `threshold`.
fn share(threshold: u64) -> f64 {
    if threshold == ALL {
        1.0
    } else {
        threshold as f64 / 2f64.powi(64)
    }
}

#[cfg(test)]
mod tests;
