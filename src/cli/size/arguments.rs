//! The words that can be typed for `outset size`.
//!
//! *Owns:* its options and their help. *Invariants:* an option's value is parsed here, and judged in
//! [`super::request`].

use clap::Args;
use outset::filter::Kind;
use outset::size::{parse_bytes, parse_count, parse_rate};

use crate::cli::help::RESULT;
use crate::cli::options::KindName;
use crate::cli::texts;

const EXAMPLES: &str = "\
Examples:    outset size --lines 5e9 --max-fpr 1%       how much memory?
             outset size --lines 5e9 --memory 4G        what false-positive rate?
             outset size --memory 4G --max-fpr 1%       how many lines?
             outset size --lines 5e9 --memory 4G --hashes 1 --kind classic     the plain bitmap
             outset size                                worked examples from textbooks";

/// Compute the size of a filter, or its false-positive rate.
///
/// Give two of these three, and the third follows: number of lines; memory of the filter; false-positive rate or bits
/// per line. For each kind of filter, the table shows its number of cells m (bits, 4-bit counters, 16-bit counters or
/// 128-bit slots), its number of hash functions k, and its predicted rate with k, k-1 and k+1 of them. Without options,
/// the command prints worked examples from textbooks.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SizeArguments {
    #[arg(long, help = texts::LINES, value_name = "N", value_parser = parse_count)]
    pub(super) lines: Option<u64>,

    /// Maximum false-positive rate, such as 1% or 0.01
    #[arg(long, value_name = "P", value_parser = parse_rate)]
    pub(super) max_fpr: Option<f64>,

    /// Filter size, such as 512M or 4G (powers of 1024)
    #[arg(short, long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(super) memory: Option<u64>,

    #[arg(long, help = texts::BITS_PER_KEY, value_name = "B", allow_negative_numbers = true)]
    pub(super) bits_per_key: Option<f64>,

    #[arg(long, help = texts::HASHES, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) hashes: Option<u32>,

    /// Kind of filter [default: all]
    #[arg(long, value_name = "KIND")]
    kind: Option<KindName>,

    #[arg(long, help = texts::JSON, help_heading = RESULT)]
    pub(super) json: bool,
}

impl SizeArguments {
    /// Tells whether no option says what to size.
    pub(super) fn asks_nothing(&self) -> bool {
        self.lines.is_none()
            && self.max_fpr.is_none()
            && self.memory.is_none()
            && self.bits_per_key.is_none()
            && self.hashes.is_none()
            && self.kind.is_none()
    }

    /// Returns the one kind that is asked for.
    pub(super) fn kind(&self) -> Option<Kind> {
        self.kind.map(Kind::from)
    }
}
