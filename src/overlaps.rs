//! The number of distinct lines in each combination of inputs: the numbers of a Venn diagram or an `UpSet` plot.
//!
//! *Owns:* [`overlaps()`] and its report. *Invariants:* every distinct line is in exactly one combination, so
//! the numbers add up to those of the union.
//!
//! *Cost:* that of a union; and 24 bytes for each combination, 1.5 MiB at most.

use std::cmp::Reverse;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::engine::select;
use crate::error::Result;
use crate::input::Source;
use crate::options::Options;
use crate::selection::{Label, Selection};
use crate::stats::Stats;

/// The number of distinct lines in each combination of inputs.
#[derive(Debug, Clone, Serialize)]
pub struct Overlaps {
    /// The inputs as they were named, in their order.
    pub inputs: Vec<String>,
    /// The combinations that have lines, those with the most lines first.
    pub combinations: Vec<Combination>,
    /// The statistics of the run.
    pub stats: Stats,
}

/// The lines that the same inputs have, and no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Combination {
    /// A bit for each input, the lowest for the first.
    bits: u16,
    /// Number of inputs.
    inputs: u8,
    /// The number of distinct lines.
    pub lines: u64,
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
        let mut fields = serializer.serialize_struct("Combination", 2)?;
        fields.serialize_field("which", &self.which())?;
        fields.serialize_field("lines", &self.lines)?;
        fields.end()
    }
}

/// Counts the distinct lines of each combination of `inputs`, 16 at most. An input that is given twice is two
/// inputs with the same lines.
///
/// # Errors
/// As [`select`]; [`crate::Error::Usage`] for more than 16 inputs.
pub fn overlaps(inputs: &[Source], options: &Options) -> Result<Overlaps> {
    let mut counts = vec![0u64; 1 << inputs.len().min(16)];
    let mut count = |digits: &[u8]| {
        let bits = digits.iter().rev();
        let combination = bits.fold(0, |bits, &digit| bits << 1 | usize::from(digit == b'1'));
        counts[combination] += 1;
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
        })
        .collect();
    // Most lines first; equal numbers by their digits, of which those of the first input count most.
    combinations.sort_unstable_by_key(|found| Reverse((found.lines, found.bits.reverse_bits())));
    Ok(Overlaps {
        inputs: inputs.iter().map(Source::to_string).collect(),
        combinations,
        stats,
    })
}
