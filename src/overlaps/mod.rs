//! The number of distinct lines in each combination of inputs: the numbers of a Venn diagram or an `UpSet` plot.
//!
//! *Owns:* [`overlaps()`] and its report; [`pairs()`] counts the same lines for each two of more inputs. *Invariants:*
//! every distinct line is in exactly one combination, so the numbers add up to those of the union. The common lines of
//! a combination are those of all combinations that have its inputs.
//!
//! *Cost:* that of a union; and 32 bytes for each combination, 2 MiB at most.

mod pairs;

use std::cmp::Reverse;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::engine::select;
use crate::error::{Error, Result};
use crate::input::{Source, labels};
use crate::options::Options;
use crate::selection::{Label, Selection};
use crate::stats::Stats;

pub use self::pairs::{Pairs, pairs};

/// The number of distinct lines in each combination of inputs.
#[derive(Debug, Clone, Serialize)]
pub struct Overlaps {
    /// The inputs as they were named, in their order.
    pub inputs: Vec<String>,
    /// Their short names ([`Options::labels`]).
    pub labels: Vec<String>,
    /// The combinations that have lines, those with the most lines first.
    pub combinations: Vec<Combination>,
    /// The statistics of the run.
    pub stats: Stats,
}

impl Overlaps {
    /// The most inputs whose combinations are counted: there are 2^16 of them. [`pairs()`] takes more.
    pub const MOST_INPUTS: usize = 16;
}

/// The lines that the same inputs have, and no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Combination {
    /// A bit for each input, the lowest for the first.
    bits: u16,
    /// Number of inputs.
    inputs: u8,
    /// The number of distinct lines that these inputs have, and no others.
    pub lines: u64,
    /// The number of distinct lines that all of these inputs have, and perhaps others.
    pub common_lines: u64,
}

impl Combination {
    /// Tells whether the input with this index (from 0) has the lines.
    pub fn has(&self, input: usize) -> bool {
        self.bits >> input & 1 == 1
    }

    /// Writes a digit for each input: 1 if it has the lines and 0 if not.
    pub fn which(&self) -> String {
        let digit = |input| if self.has(input) { '1' } else { '0' };
        (0..usize::from(self.inputs)).map(digit).collect()
    }
}

impl Serialize for Combination {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Combination", 3)?;
        fields.serialize_field("which", &self.which())?;
        fields.serialize_field("lines", &self.lines)?;
        fields.serialize_field("common_lines", &self.common_lines)?;
        fields.end()
    }
}

/// Counts the distinct lines of each combination of `inputs`, 16 at most; [`pairs()`] takes more. An input that is
/// given twice is two inputs with the same lines.
///
/// # Errors
/// As [`select`]; [`crate::Error::Usage`] for more than 16 inputs.
pub fn overlaps(inputs: &[Source], options: &Options) -> Result<Overlaps> {
    if inputs.len() > Overlaps::MOST_INPUTS {
        return Err(Error::usage(
            format!(
                "overlaps: {} files given, but combinations are counted of at most {}",
                inputs.len(),
                Overlaps::MOST_INPUTS
            ),
            "count pairs of files with `pairs`, or give files that belong together as one side with `Files`",
        ));
    }
    let mut counts = vec![0u64; 1 << inputs.len()];
    let mut count = |digits: &[u8]| {
        counts[combination_of(digits) as usize] += 1;
        Ok(())
    };
    let selection = Selection::union().labelled(Label::SidesOnly);
    let stats = select(inputs, selection, options, &mut count)?;
    let found = counts.iter().zip(0u16..=u16::MAX);
    let found = found.filter(|&(&lines, _)| lines > 0);
    let mut combinations: Vec<Combination> = found
        .map(|(&lines, bits)| Combination {
            bits,
            inputs: inputs.len() as u8,
            lines,
            common_lines: 0,
        })
        .collect();
    add_supersets(&mut counts);
    for combination in &mut combinations {
        combination.common_lines = counts[usize::from(combination.bits)];
    }
    // Most lines first; equal numbers by their digits, of which those of the first input count most.
    combinations.sort_unstable_by_key(|found| Reverse((found.lines, found.bits.reverse_bits())));
    Ok(Overlaps {
        inputs: inputs.iter().map(Source::to_string).collect(),
        labels: labels(inputs, &options.labels),
        combinations,
        stats,
    })
}

/// Returns the combination that these digits name: a bit for each input, the lowest for the first.
fn combination_of(digits: &[u8]) -> u64 {
    let bits = digits.iter().rev();
    bits.fold(0, |bits, &digit| bits << 1 | u64::from(digit == b'1'))
}

/// Adds to the number of each combination, whose bits are its index, those of all combinations that have more inputs
/// besides its own.
fn add_supersets(counts: &mut [u64]) {
    let inputs = counts.len().trailing_zeros();
    for input in 0..inputs {
        for bits in 0..counts.len() {
            if bits >> input & 1 == 0 {
                counts[bits] += counts[bits | 1 << input];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l17_what_is_in_all_of_some_inputs_is_the_sum_over_all_that_have_them() {
        for inputs in 0..=6 {
            let counts: Vec<u64> = (0..1 << inputs)
                .map(|bits| bits * bits % 11 + bits)
                .collect();
            let expected: Vec<u64> = (0..counts.len())
                .map(|bits| {
                    let others = counts.iter().enumerate();
                    let has_these = others.filter(|(other, _)| other & bits == bits);
                    has_these.map(|(_, count)| count).sum()
                })
                .collect();
            let mut found = counts.clone();
            add_supersets(&mut found);
            assert_eq!(found, expected, "{inputs} inputs");
        }
    }
}
