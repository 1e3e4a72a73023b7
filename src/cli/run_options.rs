//! The options of commands that run a set operation: the strategy, the limits of a run, stored filters.
//!
//! *Owns:* these options, their help texts, and the translation from them to [`outset::Options`]. *Invariants:* as in
//! [`arguments`](super::arguments).

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use outset::size::parse_rate;
use outset::{Interrupt, KeyType, Options, Strategy};

use super::help::{DISK, RECORDS, STRATEGY};
use super::options::{LineArguments, MachineArguments, TempArguments, parse_bits};
use super::texts::{self, long};

const STRATEGIES: &str = "\
memory: keep one set of lines in memory (intersect: of the smallest input; diff: of the first; union: of all, or \
only where they stand in the output file).\n\
partition: split all inputs into bucket files, then work bucket by bucket.\n\
sieve: use filters to find lines that need not be compared, and put only the others into buckets.\n\
bloom: use one filter and check nothing further (approximate). intersect may add lines but misses none; diff and \
union may miss lines but add none. The other operations have no bloom.";
const CHOSEN: &str = "\
auto chooses bloom if bloom's predicted rate is at most P (never for union: give --strategy bloom). With --strategy \
bloom, a higher predicted rate is an error. 0 means exact only. Default: with auto, exact strategies only; with \
--strategy bloom, any rate.";

/// The choice of the strategy, and of an approximate result.
#[derive(Debug, Args)]
#[command(next_help_heading = STRATEGY)]
pub(crate) struct ChoiceArguments {
    #[arg(long, help = texts::STRATEGY, long_help = long(texts::STRATEGY, STRATEGIES), value_name = "NAME", default_value = "auto")]
    strategy: StrategyName,

    #[arg(long, help = texts::MAX_FPR, long_help = long(texts::MAX_FPR, CHOSEN), value_name = "P", value_parser = parse_rate)]
    max_fpr: Option<f64>,
}

impl ChoiceArguments {
    /// Returns `options` with this choice.
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
#[command(next_help_heading = STRATEGY)]
pub(crate) struct StoredFilterArguments {
    /// Use a stored filter (outset filter build) in place of one FILE (approximate)
    ///
    /// The filter contains its hash key, so --hash-key is not allowed. Give -z, --strip-cr, --ignore-case, --trim and
    /// --squeeze as when the filter was built, and the same number of key fields.
    ///
    /// With --max-fpr, a filter with a higher rate is an error. Its rate is the one that it was built for or the one
    /// computed from its contents, whichever is lower; the rate of an overfull filter is always the computed one.
    #[arg(long, value_name = "FILTER", conflicts_with = "hash_key_file")]
    pub(crate) filter: Option<PathBuf>,

    /// Save the filter of the smallest FILE for later runs
    ///
    /// With this option, auto chooses a strategy that builds such a filter.
    #[arg(long, value_name = "FILTER", conflicts_with = "filter")]
    pub(crate) save_filter: Option<PathBuf>,
}

impl StoredFilterArguments {
    /// Returns `options` with these filters.
    pub(crate) fn add_to(&self, options: Options) -> Options {
        Options {
            stored_filter: self.filter.clone(),
            save_filter: self.save_filter.clone(),
            ..options
        }
    }
}

/// The resources that a run may use, and the rules for a line.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    machine: MachineArguments,

    /// Number of buckets [default: chosen by the plan]
    ///
    /// Each bucket on disk is one temporary file per side. Tens of thousands of files cost seconds to minutes.
    #[arg(long, value_name = "N", help_heading = STRATEGY, value_parser = clap::value_parser!(u32).range(1..))]
    buckets: Option<u32>,

    /// Maximum number of filter bits per key
    ///
    /// With this option, `intersect --strategy memory` may use filters even if outset expects no gain from them.
    /// Default: as many bits as fit in memory, until more bits no longer help.
    #[arg(long, value_name = "B", help_heading = STRATEGY, value_parser = parse_bits)]
    bits_per_key: Option<f64>,

    #[command(flatten)]
    temp: TempArguments,

    #[command(flatten)]
    pub(crate) lines: LineArguments,

    /// Treat lines, or keys, as values of this type
    ///
    /// ipv4: IPv4 addresses. intersect and diff use an exact bitmap of all addresses if it fits in memory (512 MiB; 1
    /// GiB for an intersect of three or more files). A line that is not an address is an error; with --bad-records
    /// skip, it is left out.
    #[arg(long, value_name = "TYPE", group = "keyed", help_heading = RECORDS)]
    key_type: Option<KeyTypeName>,
}

impl RunArguments {
    /// Returns the options that these arguments ask for; `output` decides where temporary files go by default.
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
#[command(next_help_heading = DISK)]
pub(crate) struct ForceArguments {
    /// Start even if the free temporary disk space looks too small
    ///
    /// By default, a run with the strategy partition on regular files stops at the start if it needs more temporary
    /// disk than is free. Use --force if many lines repeat (the run may then need less), or if space will be freed
    /// during the run. If the disk does fill up, the run fails with status 4 and leaves nothing behind. --max-temp
    /// still applies.
    #[arg(long)]
    force: bool,
}

impl ForceArguments {
    /// Returns `options` with this one.
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
