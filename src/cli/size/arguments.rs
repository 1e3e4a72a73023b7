//! What `outset size` can be asked.
//!
//! *Owns:* its options and their help. *Invariants:* an option's value is parsed here, and judged in
//! [`super::request`].

use clap::Args;
use outset::filter::Kind;
use outset::size::{parse_bytes, parse_count, parse_rate};

use super::super::options::KindName;

const EXAMPLES: &str = "\
Examples:    outset size --lines 5e9 --max-fpr 1%       how much memory?
             outset size --lines 5e9 --memory 4G        how often wrong?
             outset size --memory 4G --max-fpr 1%       how many lines?
             outset size --lines 5e9 --memory 4G --hashes 1 --kind classic     the plain bitmap
             outset size                                the figures of the textbooks";

/// Show how large a filter must be, and how often it is wrong.
///
/// Two of three determine the third: lines; memory of the filter; and a false-positive rate or bits
/// per line. For each kind of filter: its cells m (bits, 4-bit counters, 16-bit counters, 128-bit
/// slots), hashes k, and predicted rate, also for one hash fewer and one more. Without options, the
/// figures of the textbooks are computed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SizeArguments {
    /// Distinct lines in the filter, such as 1000000, 5e9 or 20M (powers of 1000)
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(super) lines: Option<u64>,

    /// The largest false-positive rate accepted, such as 1% or 0.01
    #[arg(long, value_name = "P", value_parser = parse_rate)]
    pub(super) max_fpr: Option<f64>,

    /// Memory of the filter itself, such as 512M or 4G (powers of 1024)
    #[arg(short, long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(super) memory: Option<u64>,

    /// Bits of storage per line, such as 9.6
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    pub(super) bits_per_key: Option<f64>,

    /// Cells that a line sets [default: the number with the lowest rate]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) hashes: Option<u32>,

    /// Only this kind of filter [default: all]
    #[arg(long, value_name = "KIND")]
    kind: Option<KindName>,

    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl SizeArguments {
    /// Whether no option says what to size.
    pub(super) fn asks_nothing(&self) -> bool {
        self.lines.is_none()
            && self.max_fpr.is_none()
            && self.memory.is_none()
            && self.bits_per_key.is_none()
            && self.hashes.is_none()
            && self.kind.is_none()
    }

    /// The one kind that is asked for.
    pub(super) fn kind(&self) -> Option<Kind> {
        self.kind.map(Kind::from)
    }
}
