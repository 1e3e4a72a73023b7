//! What can be typed, and what it means.
//!
//! *Owns:* the commands, their options and help texts, and the one translation from them to
//! [`outset::Options`]. *Invariants:* a flag exists only if it works; every default is named in the
//! help.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use outset::size::{parse_bytes, parse_count, parse_rate};
use outset::{Error, Interrupt, KeyType, Options, Selection, Strategy};

use super::cluster::{FinishArguments, JoinArguments, ShardArguments};
use super::compare::CompareArguments;
use super::estimate::EstimateArguments;
use super::filter::FilterCommand;
use super::keys::RecordArguments;
use super::manual::{CompletionArguments, ManArguments};
use super::operation::Operation;
use super::options::{LineArguments, MachineArguments, TalkArguments, TempArguments, parse_bits};
use super::overlaps::OverlapsArguments;
use super::select::{
    DiffArguments, IntersectArguments, OrderArguments, RepeatArguments, SideArguments,
    SymdiffArguments, UnionArguments, WrittenArguments,
};
use super::sides::{FILES, InputArguments, SIDES};
use super::size::SizeArguments;

/// Set operations on huge files of lines, under a hard memory limit.
///
/// Lines are compared byte by byte: no locale, no trimming. Each line of a result is written once (see --repeats and
/// --all), in no particular order (see --order). The memory limit decides
/// which strategy runs; `outset plan` shows that choice and its cost beforehand.
#[derive(Debug, Parser)]
#[command(
    name = "outset",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    // In scripts, the last of two wins: what a user adds to a command overrides it.
    args_override_self = true
)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

pub(crate) const EXIT_STATUS: &str = "\
Exit status: 0 complete result · 2 wrong usage · 3 an input is unreadable, or changed during the run
             4 temporary space is full, unusable or over its limit · 5 output failed
             6 memory limit or --max-fpr cannot be met · 7 damaged filter, shard or temporary file
             101 a bug

Example:     outset intersect yesterday.txt today.txt --memory 4G -o common.txt";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    // Each has its help text where its arguments are: a text here would replace the long one.
    Intersect(IntersectArguments),
    Diff(DiffArguments),
    Union(UnionArguments),
    Symdiff(SymdiffArguments),
    Overlaps(OverlapsArguments),
    Plan(PlanArguments),
    Compare(CompareArguments),
    Estimate(EstimateArguments),
    Shard(ShardArguments),
    Join(JoinArguments),
    Finish(FinishArguments),
    #[command(subcommand)]
    Filter(FilterCommand),
    Size(SizeArguments),
    Completions(CompletionArguments),
    Man(ManArguments),
}

/// Show what an operation would do and what it would cost, without doing it.
///
/// The plan names the strategy that the command would choose, lists its steps in their order, and says why the other
/// strategies were rejected. For each strategy, the plan lists the passes over the inputs, the bytes read and written,
/// the temporary disk, the memory, the predicted false-positive rate and the expected false lines.
///
/// outset can also plan without files: `outset plan --lines 5e9,5e9 --line-bytes 64 --memory 4G`; for a cluster, add
/// --machines 16.
#[derive(Debug, Args)]
#[command(
    mut_arg(FILES, |file| {
        file.required_unless_present("lines")
            .help("The files that the command would read, each an input of its own (one side; see --side)")
    })
)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) inputs: InputArguments,

    #[command(flatten)]
    pub(crate) choice: ChoiceArguments,

    #[command(flatten)]
    pub(crate) run: RunArguments,

    #[command(flatten)]
    pub(crate) filters: StoredFilterArguments,

    /// The operation to plan
    ///
    /// Also takes the other names of the commands, such as difference.
    #[arg(long, value_name = "NAME", default_value = "intersect")]
    operation: Operation,

    #[command(flatten)]
    sides: SideArguments,

    #[command(flatten)]
    written: WrittenArguments,

    #[command(flatten)]
    order: OrderArguments,

    #[command(flatten)]
    repeats: RepeatArguments,

    #[command(flatten)]
    pub(crate) records: RecordArguments,

    /// Number of lines of each input, such as 5e9,5e9 (instead of files)
    #[arg(long, value_name = "N,N...", value_delimiter = ',', value_parser = parse_count, conflicts_with_all = SIDES)]
    pub(crate) lines: Vec<u64>,

    /// Mean line length in bytes, including the line end (with --lines)
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..), requires = "lines")]
    pub(crate) line_bytes: u64,

    /// Size the job for N machines that share the splitting and joining (with --lines)
    ///
    /// Prints how many shards and buckets there should be, how large blocks are, the network traffic, the temporary
    /// disk on each machine, and the expected time. --memory is the limit of each task.
    #[arg(long, value_name = "N", requires = "lines", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) machines: Option<u64>,

    /// Number of tasks that each machine runs at a time (with --machines)
    #[arg(long, value_name = "N", default_value_t = 8, requires = "machines", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) tasks: u64,

    /// Bytes per second that the network of each machine moves (with --machines)
    #[arg(long, value_name = "SIZE", default_value = "1250MB", requires = "machines", value_parser = parse_bytes)]
    pub(crate) network: u64,

    /// Bytes per second that the disks of each machine read or write (with --machines)
    #[arg(long, value_name = "SIZE", default_value = "1GB", requires = "machines", value_parser = parse_bytes)]
    pub(crate) disk: u64,

    /// Read the files first, and plan with their estimated distinct lines and overlap
    ///
    /// Reads the files as `outset estimate` does. The plan then also predicts the precision of an
    /// approximate result. A run plans from a sample only; to make it follow this plan, give it
    /// --strategy.
    #[arg(long, conflicts_with_all = ["lines", "filter"])]
    pub(crate) estimate: bool,

    /// Print the plan as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) talk: TalkArguments,
}

/// Which strategy runs, and whether the result may be approximate.
#[derive(Debug, Args)]
#[command(next_help_heading = "Strategy")]
pub(crate) struct ChoiceArguments {
    /// Strategy; auto chooses one to fit the memory limit
    ///
    /// memory: keep a set in memory (intersect: of the smallest input; diff: of the first; union: of all).
    /// partition: split all inputs into bucket files, then work bucket by bucket. sieve: use filters to
    /// find lines that need not be compared, and put only the others into buckets. bloom: use one filter
    /// and check nothing further (approximate). With bloom, intersect may add lines and never misses one;
    /// diff and union may miss lines and never add one. The other operations have no bloom.
    #[arg(long, value_name = "NAME", default_value = "auto")]
    strategy: StrategyName,

    /// Accept an approximate result with at most this false-positive rate, such as 1% or 0.01
    ///
    /// auto chooses bloom if bloom's predicted rate is at most P (never for union: give --strategy bloom). With
    /// --strategy bloom or --filter, a higher prediction is an error. For a stored filter, outset takes the rate that
    /// it was built for or the rate computed from its contents, whichever is lower; for an overfull filter, always the
    /// computed rate. 0 means exact only. Default: with auto, exact strategies only; with --strategy bloom or --filter,
    /// any rate.
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

/// Filters stored in files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Strategy")]
pub(crate) struct StoredFilterArguments {
    /// Use a stored filter (outset filter build) in place of one FILE (approximate)
    ///
    /// The filter contains its hash key, so --hash-key is not allowed. Pass -z, --strip-cr, --ignore-case and --trim as
    /// when the filter was built, and as many key fields.
    #[arg(long, value_name = "FILTER")]
    pub(crate) filter: Option<PathBuf>,

    /// Save the filter of the smallest FILE for later runs; this makes auto choose a strategy that builds one
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

    /// Number of buckets [default: chosen by the plan]
    ///
    /// A bucket that is written is a temporary file for each side. Tens of thousands of files take seconds to minutes.
    #[arg(long, value_name = "N", help_heading = "Strategy", value_parser = clap::value_parser!(u32).range(1..))]
    buckets: Option<u32>,

    /// Maximum number of filter bits per key
    ///
    /// With this option, intersect with --strategy memory may use filters even where outset expects no gain from the
    /// filters. Default: as many bits as fit in memory, up to the point where more bits no
    /// longer help.
    #[arg(long, value_name = "B", help_heading = "Strategy", value_parser = parse_bits)]
    bits_per_key: Option<f64>,

    #[command(flatten)]
    temp: TempArguments,

    #[command(flatten)]
    pub(crate) lines: LineArguments,

    /// Treat lines, or keys, as values of this type; for ipv4, intersect and diff use an exact bitmap of all addresses
    /// if it fits in memory (512 MiB; 1 GiB for an intersect of three or more files). A line that is no address is an
    /// error, or left out with --bad-records skip
    #[arg(long, value_name = "TYPE", group = "keyed", help_heading = "Records")]
    key_type: Option<KeyTypeName>,
}

impl PlanArguments {
    /// The lines that the planned command would write.
    ///
    /// # Errors
    /// Where a number of files is given that the operation does not have.
    pub(crate) fn selection(&self) -> Result<Selection, Error> {
        let selection = self.sides.of(self.operation)?;
        let as_asked = |selection| {
            let selection = self.written.add_to(selection);
            let selection = self.order.add_to(self.repeats.add_to(selection));
            let keys = &self.run.lines.reading.keys;
            self.records
                .add_to(selection, keys, self.written.is_multiset())
        };
        if self.operation != Operation::Overlaps {
            return Ok(as_asked(selection));
        }
        // It writes numbers: no line is there to be labelled, repeated or put in order.
        if as_asked(Selection::union()) == Selection::union() {
            return Ok(selection);
        }
        Err(Error::Usage {
            what:
                "--operation: overlaps counts lines, so it takes no option about how they are written"
                    .into(),
            advice: "leave out --which, --count-files, --count, --all, --repeats and --order"
                .into(),
        })
    }
}

impl RunArguments {
    /// The options that these arguments ask for; `output` decides where temporary files go by
    /// default.
    pub(crate) fn options(&self, output: Option<&Path>, interrupt: &Interrupt) -> Options {
        let options = self.lines.reading.add_to(self.machine.options(interrupt));
        Options {
            buckets: self.buckets,
            bits_per_key: self.bits_per_key,
            format: self.lines.format(),
            key_type: if self.key_type.is_some() {
                KeyType::Ipv4
            } else {
                KeyType::Bytes
            },
            hash_key: self.lines.hash_key(),
            ..self.temp.add_to(options, output)
        }
    }
}

/// Checks that the user overrides.
#[derive(Debug, Args)]
#[command(next_help_heading = "Resources")]
pub(crate) struct ForceArguments {
    /// Start even if the free temporary disk space looks too small
    ///
    /// By default, a run with the strategy partition over regular files stops at the start if it needs more temporary
    /// disk than is free. Use --force if many lines repeat (the run may then need less), or if space will be freed
    /// during the run. If the disk does fill up, the run fails with status 4 and leaves nothing behind. --max-temp
    /// still applies.
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
                arguments
                    .set
                    .run
                    .options(None, &Interrupt::new())
                    .memory_bytes,
                Some(64 << 20),
                "{flag}"
            );
        }
    }
}
