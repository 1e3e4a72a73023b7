//! What can be typed behind `outset filter`.
//!
//! *Owns:* the sub-commands, their options and help texts. *Invariants:* as in
//! [`super::super::arguments`].

use std::path::PathBuf;

use clap::{Args, Subcommand};
use outset::Source;
use outset::size::{parse_bytes, parse_count, parse_rate};
use outset::stored::{FilterSize, KeyCount};

use super::super::options::{KindName, LineArguments, MachineArguments, TalkArguments, parse_bits};
use super::or_stdin;

/// The rate of a filter for which no other size is given.
const DEFAULT_FPR: f64 = 0.01;

const EXAMPLE: &str = "\
Example:     outset filter build --lines 10M --max-fpr 0.1% -o seen.osf
             crawler | outset filter insert seen.osf --print-new | fetch";

/// Build, ask and change filters that are kept in files.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLE)]
pub(crate) enum FilterCommand {
    Build(BuildArguments),
    Query(QueryArguments),
    Insert(InsertArguments),
    Remove(RemoveArguments),
    Count(CountArguments),
    Info(InfoArguments),
    Merge(MergeArguments),
}

/// What every sub-command that works has.
#[derive(Debug, Args)]
pub(crate) struct WorkArguments {
    #[command(flatten)]
    pub(crate) machine: MachineArguments,

    #[command(flatten)]
    pub(crate) talk: TalkArguments,
}

/// Build a filter of all lines of FILEs (of none: an empty one).
///
/// How large it is follows from how many lines it is for (--lines; for files they are estimated
/// from a sample otherwise) and from one of --max-fpr, --size and --bits-per-key.
#[derive(Debug, Args)]
pub(crate) struct BuildArguments {
    /// The inputs; `-` is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Write the filter to FILTER, complete or not at all, readable by its owner alone; `-` is standard
    /// output
    #[arg(short, long, value_name = "FILTER")]
    pub(crate) output: PathBuf,

    /// What the filter keeps of a line
    ///
    /// blocked: bits in one cache line; the fastest. classic: bits anywhere; the fewest (with
    /// --hashes 1 a plain bitmap). counting: 4-bit counters; lines can be removed. spectral: 16-bit
    /// counters; the number of insertions is estimated. fingerprint: 128-bit digests; exact but for
    /// lines with equal digests, and lines can be removed.
    #[arg(long, value_name = "KIND", default_value = "blocked")]
    pub(crate) kind: KindName,

    /// For how many different lines [default: as many as FILEs have, estimated from a sample]
    #[arg(long = "lines", value_name = "N", value_parser = parse_count, conflicts_with = "count_lines")]
    for_lines: Option<u64>,

    /// Count the lines of FILEs first, in a reading of its own, instead of estimating them
    #[arg(long)]
    count_lines: bool,

    /// As large as this false-positive rate takes, such as 0.1% or 0.001 [default: 1%]
    #[arg(long, value_name = "P", value_parser = parse_fpr, group = "sizing")]
    max_fpr: Option<f64>,

    /// So many bytes, such as 64M or 4G
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, group = "sizing")]
    size: Option<u64>,

    /// So many bits for each line
    #[arg(long, value_name = "B", value_parser = parse_bits, group = "sizing")]
    bits_per_key: Option<f64>,

    /// Set so many cells for each line [default: the number with the lowest rate]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) hashes: Option<u32>,

    /// Build it like this filter (kind, size, hashes, key, what a line is), so that they can be
    /// merged
    #[arg(long, value_name = "FILTER", conflicts_with_all = ["kind", "for_lines", "count_lines", "sizing", "hashes", "zero_terminated", "strip_cr", "hash_key"])]
    pub(crate) like: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) lines: LineArguments,

    #[command(flatten)]
    pub(crate) work: WorkArguments,
}

impl BuildArguments {
    /// The inputs as paths.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// For how many lines.
    pub(crate) fn keys(&self) -> KeyCount {
        match self.for_lines {
            Some(lines) => KeyCount::Lines(lines),
            None if self.count_lines => KeyCount::Counted,
            None => KeyCount::Sampled,
        }
    }

    /// How large.
    pub(crate) fn size(&self) -> FilterSize {
        match (self.size, self.bits_per_key) {
            (Some(bytes), _) => FilterSize::Bytes(bytes),
            (None, Some(bits)) => FilterSize::BitsPerKey(bits),
            (None, None) => FilterSize::Fpr(self.max_fpr.unwrap_or(DEFAULT_FPR)),
        }
    }

    /// The inputs as named.
    pub(crate) fn sources(&self) -> Vec<Source> {
        self.files.iter().map(Source::from).collect()
    }
}

// What is asked, and of what. (Not a doc comment: it would become the help text of its commands.)
#[derive(Debug, Args)]
pub(crate) struct AskArguments {
    /// The filter
    #[arg(value_name = "FILTER")]
    pub(crate) filter: PathBuf,

    /// The lines to ask about [default: standard input]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Write the answers to FILE, complete or not at all [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) work: WorkArguments,
}

impl AskArguments {
    /// The inputs as named.
    pub(crate) fn sources(&self) -> Vec<Source> {
        self.files().map(Source::from).collect()
    }

    /// The inputs as paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        or_stdin(&self.files)
    }
}

/// Write the lines that the filter may have.
///
/// In their order, repeats included. Of the others it is certain that they were not inserted. Lines
/// from a pipe are answered as they come. The filter is mapped from its file; one that is larger
/// than the memory limit is read as it is asked.
#[derive(Debug, Args)]
pub(crate) struct QueryArguments {
    #[command(flatten)]
    pub(crate) ask: AskArguments,

    /// Write the lines instead that the filter certainly does not have
    #[arg(long)]
    pub(crate) invert: bool,

    /// Print the number of such lines instead of the lines
    #[arg(long)]
    pub(crate) count_only: bool,
}

/// Write each line, a tab, and how often it may have been inserted, at most (spectral, counting).
///
/// Counts go up to 65535 (spectral) or 15 (counting), which means so many or more; 0 is certain.
#[derive(Debug, Args)]
pub(crate) struct CountArguments {
    #[command(flatten)]
    pub(crate) ask: AskArguments,
}

/// Remove lines that were inserted (counting, fingerprint).
///
/// A line that is certainly not in is left alone; how many there were is said on standard error. To
/// remove a line that was never inserted but seems to be in takes others with it. The filter is
/// replaced as a whole at the end; it must fit the memory limit.
#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    #[command(flatten)]
    pub(crate) change: ChangeArguments,
}

// What is changed, and by what.
#[derive(Debug, Args)]
pub(crate) struct ChangeArguments {
    /// The filter
    #[arg(value_name = "FILTER")]
    pub(crate) filter: PathBuf,

    /// The lines [default: standard input]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) work: WorkArguments,
}

impl ChangeArguments {
    /// The inputs as paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        or_stdin(&self.files)
    }

    /// The inputs as named.
    pub(crate) fn sources(&self) -> Vec<Source> {
        self.files().map(Source::from).collect()
    }
}

/// Insert lines.
///
/// The filter is replaced as a whole when all lines are in; it must fit the memory limit. If the
/// command fails or is killed, the filter is what it was, and lines that were printed are new again.
/// A counting filter counts a line as often as it is inserted: it is in until it was removed as often.
#[derive(Debug, Args)]
pub(crate) struct InsertArguments {
    #[command(flatten)]
    pub(crate) change: ChangeArguments,

    /// Write each line that was certainly not yet in, once, before more lines are waited for
    ///
    /// All lines are inserted, with this option as without it. A line that the filter claimed by mistake
    /// before it was inserted is not written.
    #[arg(long)]
    pub(crate) print_new: bool,

    /// Write the new lines to FILE, complete or not at all [default: standard output]
    #[arg(short, long, value_name = "FILE", requires = "print_new")]
    pub(crate) output: Option<PathBuf>,
}

/// Show what a filter is, what is in it, and how often it is wrong.
#[derive(Debug, Args)]
pub(crate) struct InfoArguments {
    /// The filter
    #[arg(value_name = "FILTER")]
    pub(crate) filter: PathBuf,

    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make one filter of several that were built alike (build --like).
///
/// Bits are united, counters added up to their top, digests collected. Kind, size, key and what a
/// line is must be the same.
#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// The filters
    #[arg(value_name = "FILTER", required = true, num_args = 2..)]
    pub(crate) filters: Vec<PathBuf>,

    /// Write the filter to OUTPUT, complete or not at all, readable by its owner alone; `-` is standard
    /// output
    #[arg(short, long, value_name = "OUTPUT")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) work: WorkArguments,
}

fn parse_fpr(text: &str) -> Result<f64, String> {
    let rate = parse_rate(text).map_err(|error| error.to_string())?;
    if rate > 0.0 && rate < 1.0 {
        Ok(rate)
    } else {
        Err("give a rate between 0 and 1, such as 0.1%".to_owned())
    }
}
