//! The words that can be typed after `outset filter`.
//!
//! *Owns:* the sub-commands, their options and help texts. *Invariants:* as in
//! [`super::super::arguments`].

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args, Subcommand};
use outset::Source;
use outset::size::{parse_bytes, parse_count, parse_rate};
use outset::stored::{FilterSize, KeyCount};

use crate::cli::help::RESULT;
use crate::cli::options::{
    FormatArguments, KindName, LineArguments, MachineArguments, ReadingArguments, TalkArguments,
    parse_bits,
};
use crate::cli::outputs::{CompressArguments, OutViaArguments};
use crate::cli::texts::{self, long};

/// The rate of a filter for which no other size is given.
const DEFAULT_FPR: f64 = 0.01;

const FOR_OWNER: &str = "Only the file's owner can read it, since it contains the hash key.";
const LINES_HELP: &str = "\
Default: the number of all lines, repeats included. outset estimates it from a sample of the FILEs, or counts it if \
any FILE is compressed.";
const NEW_LINES: &str = "The result is the new lines of --print-new.";
const EXAMPLE: &str = "\
Example:     outset filter build --lines 10M --max-fpr 0.1% -o seen.osf
             crawler | outset filter insert seen.osf --print-new | fetch";

/// Build, query and modify filters stored in files.
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

/// The options of every sub-command that does work.
#[derive(Debug, Args)]
pub(crate) struct WorkArguments {
    #[command(flatten)]
    pub(crate) machine: MachineArguments,

    #[command(flatten)]
    pub(crate) talk: TalkArguments,
}

/// Build a filter from the lines of all FILEs (without FILEs: an empty filter).
///
/// The size follows from the number of distinct lines (--lines) and from one of --max-fpr, --size and --bits-per-key.
#[derive(Debug, Args)]
pub(crate) struct BuildArguments {
    /// Input files; `-` is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    #[arg(short, long, value_name = "FILE", help = texts::OUTPUT_FILTER, long_help = long(texts::OUTPUT_FILTER, FOR_OWNER), help_heading = RESULT)]
    pub(crate) output: PathBuf,

    /// Kind of filter
    ///
    /// blocked: bits within one cache line; fastest. classic: bits anywhere; smallest (with --hashes 1, a plain
    /// bitmap). counting: 4-bit counters; supports removal. spectral: 16-bit counters; estimates how often a line was
    /// inserted. fingerprint: 128-bit digests; exact unless two lines have equal digests; supports removal.
    #[arg(long, value_name = "KIND", default_value = "blocked")]
    pub(crate) kind: KindName,

    #[arg(long = "lines", help = texts::LINES, long_help = long(texts::LINES, LINES_HELP), value_name = "N", value_parser = parse_count, conflicts_with = "count_lines")]
    for_lines: Option<u64>,

    /// Count the lines of the FILEs in a first pass instead of estimating them
    #[arg(long)]
    count_lines: bool,

    /// Maximum false-positive rate, such as 1% or 0.01 [default: 1%]
    #[arg(long, value_name = "P", value_parser = parse_fpr, group = "sizing")]
    max_fpr: Option<f64>,

    /// Filter size, such as 64M or 4G
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, group = "sizing")]
    size: Option<u64>,

    #[arg(long, help = texts::BITS_PER_KEY, value_name = "B", value_parser = parse_bits, group = "sizing")]
    bits_per_key: Option<f64>,

    #[arg(long, help = texts::HASHES, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) hashes: Option<u32>,

    /// Copy kind, size, hash functions, hash key, line format, --ignore-case, --trim and --squeeze from this filter, so
    /// that the two can be merged
    #[arg(long, value_name = "FILTER", conflicts_with_all = ["kind", "for_lines", "count_lines", "sizing", "hashes", "zero_terminated", "strip_cr", "hash_key", "hash_key_file"])]
    pub(crate) like: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) lines: LineArguments,

    #[command(flatten)]
    pub(crate) work: WorkArguments,
}

impl BuildArguments {
    /// Returns the inputs as paths.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the number of lines that the filter is for.
    pub(crate) fn keys(&self) -> KeyCount {
        match self.for_lines {
            Some(lines) => KeyCount::Lines(lines),
            None if self.count_lines => KeyCount::Counted,
            None => KeyCount::Sampled,
        }
    }

    /// Returns the size that is asked for.
    pub(crate) fn size(&self) -> FilterSize {
        match (self.size, self.bits_per_key) {
            (Some(bytes), _) => FilterSize::Bytes(bytes),
            (None, Some(bits)) => FilterSize::BitsPerKey(bits),
            (None, None) => FilterSize::Fpr(self.max_fpr.unwrap_or(DEFAULT_FPR)),
        }
    }

    /// Returns the inputs as named.
    pub(crate) fn sources(&self) -> Vec<Source> {
        self.files.iter().map(Source::from).collect()
    }
}

// A filter in a file, and the lines that it is asked for, or changed by. (Not a doc comment: it would become the help
// text of its commands.)
#[derive(Debug, Args)]
pub(crate) struct StoredArguments {
    /// Filter file
    #[arg(value_name = "FILTER", help_heading = None)]
    pub(crate) filter: PathBuf,

    /// Files with the lines [default: standard input]
    #[arg(value_name = "FILE", help_heading = None)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) format: FormatArguments,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,

    #[command(flatten)]
    pub(crate) work: WorkArguments,
}

impl StoredArguments {
    /// Yields the inputs as paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        or_stdin(&self.files)
    }

    /// Returns the inputs as named.
    pub(crate) fn sources(&self) -> Vec<Source> {
        self.files().map(Source::from).collect()
    }
}

// The place of the answers.
#[derive(Debug, Args)]
pub(crate) struct AnswerArguments {
    #[arg(short, long, help = texts::OUTPUT, value_name = "FILE", help_heading = RESULT)]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) out_via: OutViaArguments,

    #[command(flatten)]
    pub(crate) compress: CompressArguments,
}

/// Print the lines that the filter may contain.
///
/// The lines keep their order, and repeated lines are printed each time. A line that is not printed is certainly not in
/// the filter; with --invert, it may be. Lines from a pipe are looked up as they arrive. outset takes line ends,
/// --ignore-case, --trim and --squeeze from the filter, so you need not give them. It maps the filter file into memory.
/// If the file is larger than the memory limit, each lookup reads only the parts that it needs.
#[derive(Debug, Args)]
pub(crate) struct QueryArguments {
    /// Print the other lines: those that are certainly not in the filter
    #[arg(long)]
    pub(crate) invert: bool,

    #[command(flatten)]
    pub(crate) answer: AnswerArguments,

    #[arg(long, help = texts::COUNT_ONLY, help_heading = RESULT)]
    pub(crate) count_only: bool,

    #[command(flatten)]
    pub(crate) stored: StoredArguments,
}

/// Print each line with an upper bound on how often it was inserted (for spectral and counting filters).
///
/// The bound follows the line and a tab (with --csv or -d, the delimiter). It stops at 65535 (spectral) or 15
/// (counting); these values mean that number or more. 0 means that the line is certainly not in the filter.
#[derive(Debug, Args)]
pub(crate) struct CountArguments {
    #[command(flatten)]
    pub(crate) answer: AnswerArguments,

    #[command(flatten)]
    pub(crate) stored: StoredArguments,
}

/// Remove lines that were inserted (for counting and fingerprint filters).
///
/// outset skips lines that are certainly not in the filter, and prints their number to standard error. Remove only
/// lines that were inserted: removing a false positive can also remove other lines. The filter must fit in the memory
/// limit. Its file is replaced atomically at the end.
#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    #[command(flatten)]
    pub(crate) stored: StoredArguments,
}

/// Insert lines into a filter.
///
/// The filter must fit in the memory limit. Its file is replaced atomically, as the last step. If the command fails or
/// is killed before that, the filter is unchanged, and the next run prints the same new lines again. Keep what a run
/// has printed that was killed: the step may have been done. A counting filter counts every insertion: a line inserted
/// twice must be removed twice.
#[derive(Debug, Args)]
#[command(mut_arg("compress", |compress| compress.requires("print_new")))]
pub(crate) struct InsertArguments {
    /// Print each new line once, as soon as it is read
    ///
    /// All lines are inserted, with or without this option. A new line that the filter wrongly takes for a known one is
    /// not printed. With several threads, new lines come in no particular order.
    #[arg(long)]
    pub(crate) print_new: bool,

    #[command(flatten)]
    pub(crate) stored: StoredArguments,

    #[arg(short, long, help = texts::OUTPUT, long_help = long(texts::OUTPUT, NEW_LINES), value_name = "FILE", help_heading = RESULT, requires = "print_new")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) compress: CompressArguments,
}

/// Show a filter's kind, size, number of lines and false-positive rate.
#[derive(Debug, Args)]
pub(crate) struct InfoArguments {
    /// Filter file
    #[arg(value_name = "FILTER")]
    pub(crate) filter: PathBuf,

    #[arg(long, help = texts::JSON, help_heading = RESULT)]
    pub(crate) json: bool,
}

/// Merge filters that were built alike (build --like) into one.
///
/// outset combines bits with OR, adds counters (a counter stops at its maximum), and keeps all digests. The filters
/// must have the same kind, size, number of hash functions, hash key, line format and form of keys (with or without
/// case and blanks, number of key fields). Fingerprint filters may differ in size.
#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// Filter files
    #[arg(value_name = "FILTER", required = true, num_args = 2..)]
    pub(crate) filters: Vec<PathBuf>,

    #[arg(short, long, value_name = "FILE", help = texts::OUTPUT_FILTER, long_help = long(texts::OUTPUT_FILTER, FOR_OWNER), help_heading = RESULT)]
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

/// Yields the inputs; standard input where none is named.
pub(super) fn or_stdin(files: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    static STDIN: LazyLock<PathBuf> = LazyLock::new(|| "-".into());
    let stdin = files.is_empty().then(|| &*STDIN);
    files.iter().chain(stdin)
}
