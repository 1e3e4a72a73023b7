//! How many distinct lines each combination of inputs has: the numbers of a Venn diagram or an `UpSet` plot.
//!
//! *Owns:* [`overlaps()`] and its report. *Invariants:* every distinct line is in exactly one combination, so
//! the numbers add up to those of the union.
//!
//! *Cost:* that of a union; and 8 bytes for each combination, half a MiB at most.

use serde::Serialize;

use crate::engine::select;
use crate::error::Result;
use crate::input::Source;
use crate::options::Options;
use crate::selection::{Label, Selection};
use crate::stats::Stats;

/// How many distinct lines there are in each combination of inputs.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Combination {
    /// A digit for each input: 1 if it has the lines and 0 if not.
    pub which: String,
    /// The number of distinct lines.
    pub lines: u64,
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
    let digit =
        |combination: usize, input: usize| char::from(b'0' + (combination >> input & 1) as u8);
    let found = counts.iter().enumerate().filter(|&(_, &lines)| lines > 0);
    let mut combinations: Vec<Combination> = found
        .map(|(combination, &lines)| Combination {
            which: (0..inputs.len())
                .map(|input| digit(combination, input))
                .collect(),
            lines,
        })
        .collect();
    combinations.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| b.which.cmp(&a.which)));
    Ok(Overlaps {
        inputs: inputs.iter().map(Source::to_string).collect(),
        combinations,
        stats,
    })
}
