//! What can be typed, and what it means.
//!
//! *Owns:* the commands, their options and help texts, and the one translation from them to
//! [`outset::Options`]. *Invariants:* a flag exists only if it works; every default is named in the
//! help.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use outset::size::{parse_bytes, parse_count, parse_rate};
use outset::{Interrupt, KeyType, Options, Source, Strategy};

use super::compare::CompareArguments;
use super::estimate::EstimateArguments;
use super::filter::FilterCommand;
use super::manual::{CompletionArguments, ManArguments};
use super::options::{LineArguments, MachineArguments, TalkArguments, parse_bits};
use super::size::SizeArguments;

/// Find the lines that two or more huge files have in common, under a hard memory limit.
///
/// Lines are compared byte by byte: no locale, no trimming. Each common line is written once, in no
/// particular order (pipe the result into `LC_ALL=C sort` if you need one). How the work is done is
/// chosen by the memory limit; `outset plan` shows the choice and its cost beforehand.
#[derive(Debug, Parser)]
#[command(
    name = "outset",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_STATUS: &str = "\
Exit status: 0 complete result · 2 wrong usage · 3 an input cannot be read or changed during the run
             4 temporary space · 5 output · 6 memory limit (the message says what would be needed)
             7 damaged file · 101 a bug

Example:     outset intersect yesterday.txt today.txt --memory 4G -o common.txt";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    // Each has its help text where its arguments are: a text here would replace the long one.
    Intersect(IntersectArguments),
    Plan(PlanArguments),
    Compare(CompareArguments),
    Estimate(EstimateArguments),
    #[command(subcommand)]
    Filter(FilterCommand),
    Size(SizeArguments),
    Completions(CompletionArguments),
    Man(ManArguments),
}

/// Write the lines that are in every FILE.
///
/// Each once, in no particular order. A line is the bytes before a newline; a last line without one
/// counts, an empty line is a line. The same file given twice counts as one. `-` is standard input,
/// and a FILE may be a FIFO: what must be read twice is copied to temporary space first.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct IntersectArguments {
    #[command(flatten)]
    pub(crate) choice: ChoiceArguments,

    #[command(flatten)]
    pub(crate) run: RunArguments,

    #[command(flatten)]
    pub(crate) force: ForceArguments,

    #[command(flatten)]
    pub(crate) filters: StoredFilterArguments,

    /// Two files or more (with --filter one); `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Write the result to FILE, complete or not at all
    ///
    /// The result is written beside FILE and put in its place at the end; if the run fails, FILE is
    /// what it was before. A FIFO or a device is written directly. Default: standard output, which
    /// `-` names too. A file that the command reads is refused.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Print the number of common lines instead of the lines
    #[arg(long)]
    pub(crate) count_only: bool,

    /// Write a JSON report of the run to FILE; `-` is standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) stats: Option<PathBuf>,

    /// Write a report of the run as an HTML page with charts to FILE
    ///
    /// The plan, a timeline of the phases, memory against the limit, sizes of buckets, and the table
    /// behind every chart, in one file that needs no network. FILE is written at the end of a run
    /// that succeeds.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) talk: TalkArguments,
}

/// Show what intersect would do, and what it would cost, without doing it.
///
/// Which strategy it would choose and why; for each strategy its passes, bytes read and written,
/// temporary disk, memory, predicted false-positive rate and expected false lines.
///
/// Works without files, too: outset plan --lines 5e9,5e9 --line-bytes 64 --memory 4G
#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) choice: ChoiceArguments,

    #[command(flatten)]
    pub(crate) run: RunArguments,

    #[command(flatten)]
    pub(crate) filters: StoredFilterArguments,

    /// The files that would be intersected
    #[arg(value_name = "FILE", required_unless_present = "lines")]
    files: Vec<PathBuf>,

    /// Instead of files: lines of each input, such as 5e9,5e9
    #[arg(long, value_name = "N,N...", value_delimiter = ',', value_parser = parse_count, conflicts_with = "files")]
    pub(crate) lines: Vec<u64>,

    /// Mean length of a line in bytes, its terminator included (with --lines)
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..), requires = "lines")]
    pub(crate) line_bytes: u64,

    /// Read the files first (as outset estimate), and plan with their different lines and overlap
    ///
    /// Tells the precision of an approximate result, too. intersect itself goes by a sample: where it
    /// would choose otherwise, name the strategy.
    #[arg(long, conflicts_with_all = ["lines", "filter"])]
    pub(crate) estimate: bool,

    /// Print the plan as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) talk: TalkArguments,
}

/// How it is done, and whether the result may be approximate.
#[derive(Debug, Args)]
pub(crate) struct ChoiceArguments {
    /// How to do it: auto chooses by the memory limit
    ///
    /// memory: the smallest input as a set in memory. partition: all inputs into bucket files, then
    /// bucket by bucket. sieve: each input through a filter of the one before, survivors into
    /// buckets. bloom: one filter, no second look (approximate: may add lines, never misses one).
    #[arg(long, value_name = "NAME", default_value = "auto")]
    strategy: StrategyName,

    /// Accept an approximate result with up to this false-positive rate, such as 1% or 0.01
    ///
    /// With auto, bloom is chosen if its predicted rate is no higher; with --strategy bloom or a
    /// stored filter a higher prediction is refused. A stored filter is taken at the rate that it was
    /// built for, or at that of its fill where that is lower or it has more lines than it was built
    /// for. 0: exact only. Default: exact only with auto, any rate with bloom or a stored filter.
    #[arg(long, value_name = "P", value_parser = parse_rate)]
    max_fpr: Option<f64>,
}

impl ChoiceArguments {
    /// `options` with this choice.
    pub(crate) fn add_to(&self, options: Options) -> Options {
        Options {
            strategy: self.strategy.into(),
            max_fpr: self.max_fpr,
            ..options
        }
    }
}

/// Filters that are kept in files.
#[derive(Debug, Args)]
pub(crate) struct StoredFilterArguments {
    /// Use a stored filter (outset filter build) in place of one FILE: approximate, by bloom
    ///
    /// Lines are hashed under the filter's key (so there is no --hash-key), and what a line is must be
    /// what it was when the filter was built (-z, --strip-cr).
    #[arg(long, value_name = "FILTER")]
    pub(crate) filter: Option<PathBuf>,

    /// Save the filter of the smallest FILE, for later runs; auto then chooses a strategy with one
    #[arg(long, value_name = "FILTER", conflicts_with = "filter")]
    pub(crate) save_filter: Option<PathBuf>,
}

impl StoredFilterArguments {
    /// `options` with these filters.
    pub(crate) fn add_to(&self, options: Options) -> Options {
        Options {
            stored_filter: self.filter.clone(),
            save_filter: self.save_filter.clone(),
            ..options
        }
    }
}

/// What a run may use, and what a line is.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    machine: MachineArguments,

    /// Number of buckets [default: planned]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    buckets: Option<u32>,

    /// Give filters at most so many bits per key [default: what memory leaves, up to where more is
    /// of no use]; with `memory`, use filters whatever the size
    #[arg(long, value_name = "B", value_parser = parse_bits)]
    bits_per_key: Option<f64>,

    /// Directory for temporary files; repeat it to spread them over several
    ///
    /// Each gets files by the room that it has, and what finds one full goes on in another. Default:
    /// $TMPDIR, else the output's directory (the current one for standard output).
    #[arg(short = 'T', long, value_name = "DIR")]
    temp_dir: Vec<PathBuf>,

    /// Use at most so much temporary disk [default: what is free]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_temp: Option<u64>,

    #[command(flatten)]
    lines: LineArguments,

    /// Lines are IPv4 addresses: use an exact bitmap of them where memory has room for it (512M)
    #[arg(long, value_name = "TYPE")]
    key_type: Option<KeyTypeName>,
}

impl IntersectArguments {
    /// Whether the statistics go to standard error.
    pub(crate) fn reports_on_stderr(&self) -> bool {
        self.stats.is_some() && self.stats_file().is_none()
    }

    /// The file that the statistics go to.
    pub(crate) fn stats_file(&self) -> Option<&Path> {
        self.stats.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// The inputs as paths.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The inputs as named.
    pub(crate) fn sources(&self) -> Vec<Source> {
        self.files.iter().map(Source::from).collect()
    }
}

impl PlanArguments {
    /// The inputs as paths.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The inputs as named.
    pub(crate) fn sources(&self) -> Vec<Source> {
        self.files.iter().map(Source::from).collect()
    }
}

impl RunArguments {
    /// The options that these arguments ask for; `output` decides where temporary files go by
    /// default.
    pub(crate) fn options(&self, output: Option<&Path>, interrupt: &Interrupt) -> Options {
        Options {
            buckets: self.buckets,
            bits_per_key: self.bits_per_key,
            temp_dirs: self.temp_dirs(output),
            max_temp_bytes: self.max_temp,
            format: self.lines.format(),
            key_type: if self.key_type.is_some() {
                KeyType::Ipv4
            } else {
                KeyType::Bytes
            },
            hash_key: self.lines.hash_key(),
            ..self.machine.options(interrupt)
        }
    }

    fn temp_dirs(&self, output: Option<&Path>) -> Vec<PathBuf> {
        let has_tmpdir = std::env::var_os("TMPDIR").is_some_and(|directory| !directory.is_empty());
        match output.and_then(Path::parent) {
            Some(parent)
                if self.temp_dir.is_empty() && !has_tmpdir && !parent.as_os_str().is_empty() =>
            {
                vec![parent.to_owned()]
            }
            _ => self.temp_dir.clone(),
        }
    }
}

/// What goes on although it looks bad.
#[derive(Debug, Args)]
pub(crate) struct ForceArguments {
    /// Go on although the free temporary disk looks too small
    ///
    /// A partition run over files that needs more than is free is refused before it reads anything. With this
    /// it goes on: lines that repeat need less than planned, or something else may free space meanwhile. A disk that is
    /// full indeed ends the run with status 4 and nothing left. The cap of --max-temp holds all the same.
    #[arg(long)]
    force: bool,
}

impl ForceArguments {
    /// `options` with this.
    pub(crate) fn add_to(&self, options: Options) -> Options {
        Options {
            ignore_free_space: self.force,
            ..options
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StrategyName {
    Auto,
    Memory,
    Partition,
    Sieve,
    Bloom,
}

impl From<StrategyName> for Option<Strategy> {
    fn from(name: StrategyName) -> Self {
        match name {
            StrategyName::Auto => None,
            StrategyName::Memory => Some(Strategy::Memory),
            StrategyName::Partition => Some(Strategy::Partition),
            StrategyName::Sieve => Some(Strategy::Sieve),
            StrategyName::Bloom => Some(Strategy::Bloom),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KeyTypeName {
    Ipv4,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent_and_every_option_has_a_help_text() {
        Cli::command().debug_assert();
        for command in Cli::command().get_subcommands() {
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    command.get_name(),
                    argument.get_id()
                );
            }
        }
    }

    #[test]
    fn aliases_of_memory_are_one_option() {
        for flag in ["-m", "-S", "--memory", "--memory-limit", "--buffer-size"] {
            let cli = Cli::try_parse_from(["outset", "intersect", flag, "64M", "a", "b"]);
            let Ok(Cli {
                command: Command::Intersect(arguments),
            }) = cli
            else {
                panic!("{flag}: {cli:?}")
            };
            assert_eq!(
                arguments.run.options(None, &Interrupt::new()).memory_bytes,
                Some(64 << 20),
                "{flag}"
            );
        }
    }
}
