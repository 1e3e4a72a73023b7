//! The distinct lines that any two inputs have in common.
//!
//! *Owns:* [`pairs()`] and its report. *Invariants:* a line that k inputs have counts once for each of them, and once
//! for each of their k (k - 1) / 2 pairs. *Cost:* that of a union that tells sides; 8 bytes for each pair, 32 KiB at
//! most, and 16 KiB.

use std::cmp::Reverse;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::combination_of;
use crate::engine::select;
use crate::error::Result;
use crate::input::{Source, labels};
use crate::options::Options;
use crate::selection::{Label, MOST_TOLD_SIDES, Selection};
use crate::stats::Stats;

/// The number of distinct lines that any two inputs have in common.
///
/// Inputs are named by their index, from 0. As JSON, each table is a list of rows: a row for each input, with a number
/// for each input, also for itself.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// The inputs as they were named, in their order.
    pub inputs: Vec<String>,
    /// Their short names ([`Options::labels`]).
    pub labels: Vec<String>,
    /// The statistics of the run.
    pub stats: Stats,
    /// The common lines of each pair, row after row.
    common_lines: Vec<u64>,
}

impl Pairs {
    /// The most inputs of which pairs are counted.
    pub const MOST_INPUTS: usize = MOST_TOLD_SIDES;

    /// Returns the number of distinct lines of an input; 0 where there is no such input.
    pub fn distinct_lines(&self, input: usize) -> u64 {
        self.common_lines(input, input)
    }

    /// Returns the number of distinct lines that both inputs have; 0 where there are no such inputs.
    pub fn common_lines(&self, one: usize, other: usize) -> u64 {
        let count = self.inputs.len();
        let is_pair = one < count && other < count;
        let found = self.common_lines.get(one * count + other);
        found.filter(|_| is_pair).copied().unwrap_or(0)
    }

    /// Returns the common lines as a share of the distinct lines of both inputs together (the Jaccard index), 0..1;
    /// `None` if neither has lines.
    pub fn jaccard(&self, one: usize, other: usize) -> Option<f64> {
        let common = self.common_lines(one, other);
        let all = self.distinct_lines(one) + self.distinct_lines(other) - common;
        share(common, all)
    }

    /// Returns the common lines as a share of the distinct lines of the first of these inputs (containment), 0..1;
    /// `None` if it has no lines.
    pub fn containment(&self, of: usize, within: usize) -> Option<f64> {
        share(self.common_lines(of, within), self.distinct_lines(of))
    }

    /// Returns the pairs of different inputs that have lines in common, the lower index first: those with the most
    /// common lines first, and equal ones in the order of the inputs.
    pub fn in_order(&self) -> Vec<(usize, usize)> {
        let count = self.inputs.len();
        let all = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        let mut pairs: Vec<(usize, usize)> = all
            .filter(|&(one, other)| self.common_lines(one, other) > 0)
            .collect();
        pairs.sort_by_key(|&(one, other)| Reverse(self.common_lines(one, other)));
        pairs
    }

    /// Makes a table of a number for each two inputs.
    fn table<T>(&self, number: impl Fn(&Self, usize, usize) -> T) -> Vec<Vec<T>> {
        let all = 0..self.inputs.len();
        let row = |one| all.clone().map(|other| number(self, one, other)).collect();
        all.clone().map(row).collect()
    }
}

/// Returns `part` as a share of `all`; `None` of nothing.
fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

impl Serialize for Pairs {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Pairs", 7)?;
        fields.serialize_field("inputs", &self.inputs)?;
        fields.serialize_field("labels", &self.labels)?;
        let inputs = 0..self.inputs.len();
        let distinct_lines: Vec<u64> = inputs.map(|input| self.distinct_lines(input)).collect();
        fields.serialize_field("distinct_lines", &distinct_lines)?;
        fields.serialize_field("common_lines", &self.table(Self::common_lines))?;
        fields.serialize_field("jaccard", &self.table(Self::jaccard))?;
        fields.serialize_field("containment", &self.table(Self::containment))?;
        fields.serialize_field("stats", &self.stats)?;
        fields.end()
    }
}

/// Counts the distinct lines of each of `inputs`, and those that each pair of them has in common. An input that is
/// given twice is two inputs with the same lines.
///
/// ```
/// use outset::{Options, Reader, Source, pairs};
///
/// let side = |text: &'static str| Source::from(Reader::new("side", text.as_bytes()));
/// let found = pairs(&[side("a\nb\nc\n"), side("b\nd\n"), side("a\nb\n")], &Options::default())?;
/// assert_eq!((found.distinct_lines(0), found.common_lines(0, 2)), (3, 2));
/// assert_eq!((found.containment(2, 0), found.jaccard(0, 1)), (Some(1.0), Some(0.25)));
/// assert_eq!(found.in_order(), [(0, 2), (0, 1), (1, 2)]);
/// # Ok::<(), outset::Error>(())
/// ```
///
/// # Errors
/// As [`select`]; [`crate::Error::Usage`] for more than 64 inputs.
pub fn pairs(inputs: &[Source], options: &Options) -> Result<Pairs> {
    let mut counts = PairCounts::new(inputs.len().min(Pairs::MOST_INPUTS));
    let mut count = |digits: &[u8]| {
        counts.add_line(combination_of(digits));
        Ok(())
    };
    let selection = Selection::union().labelled(Label::SidesOnly);
    let stats = select(inputs, selection, options, &mut count)?;
    Ok(Pairs {
        inputs: inputs.iter().map(Source::to_string).collect(),
        labels: labels(inputs, &options.labels),
        stats,
        common_lines: counts.into_table(),
    })
}

/// The lines of each pair, and the combinations that came last, which are likely to come again: 2,000 counters need not
/// be changed for every line that 64 inputs have.
struct PairCounts {
    inputs: usize,
    /// The lines of each pair, row after row; those of the lower triangle are still 0.
    table: Vec<u64>,
    /// Combinations, and their lines that are not in the table yet. Each has one place where it may be.
    recent: Vec<(u64, u64)>,
}

impl PairCounts {
    /// The bits of a place among the recent combinations.
    const PLACE_BITS: u32 = 10;

    fn new(inputs: usize) -> Self {
        Self {
            inputs,
            table: vec![0; inputs * inputs],
            recent: vec![(0, 0); 1 << Self::PLACE_BITS],
        }
    }

    /// Counts a line that the inputs with these bits have.
    fn add_line(&mut self, combination: u64) {
        // Fibonacci hashing: Knuth, "The Art of Computer Programming", volume 3, section 6.4.
        let place = combination.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::PLACE_BITS);
        let recent = &mut self.recent[place as usize];
        let (other, lines) = *recent;
        if other == combination {
            recent.1 += 1;
        } else {
            *recent = (combination, 1);
            self.add(other, lines);
        }
    }

    /// Adds the lines of a combination to all of its pairs.
    fn add(&mut self, combination: u64, lines: u64) {
        for one in bits(combination) {
            for other in bits(combination).filter(|&other| other >= one) {
                self.table[one * self.inputs + other] += lines;
            }
        }
    }

    /// Returns the whole table.
    fn into_table(mut self) -> Vec<u64> {
        for (combination, lines) in std::mem::take(&mut self.recent) {
            self.add(combination, lines);
        }
        for one in 0..self.inputs {
            for other in 0..one {
                self.table[one * self.inputs + other] = self.table[other * self.inputs + one];
            }
        }
        self.table
    }
}

/// Yields the numbers of the bits that are set, from 0.
fn bits(mut combination: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (combination != 0).then(|| combination.trailing_zeros() as usize)?;
        combination &= combination - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l20_recent_combinations_are_counted_once_however_they_meet() {
        for inputs in [1, 2, 17, 64] {
            let mut counts = PairCounts::new(inputs);
            let mut expected = vec![0; inputs * inputs];
            for number in 0..30_000u64 {
                // Few combinations that come again, and many that come once.
                let mix = (number % 7_001).wrapping_mul(0xd6e8_feb8_6659_fd93);
                let mix = if number % 3 == 0 {
                    number % 5
                } else {
                    mix ^ mix >> 32
                };
                let combination = (mix | 1) & u64::MAX >> (64 - inputs);
                counts.add_line(combination);
                let has = |input: usize| combination >> input & 1;
                for (pair, lines) in expected.iter_mut().enumerate() {
                    *lines += has(pair / inputs) & has(pair % inputs);
                }
            }
            assert!(counts.into_table() == expected, "{inputs} inputs");
        }
    }
}
