//! The arguments of `outset compare`.
//!
//! *Owns:* what can be typed, and the translation to options and points. *Invariants:* an option that other commands
//! have, too, is one definition.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use outset::compare::{Mistake, Point};
use outset::size::parse_rate;
use outset::{Error, Interrupt, Options, Result, Strategy};

use super::sweep::Sweep;
use crate::cli::help::{REPORTS, STRATEGY};
use crate::cli::operation::Operation;
use crate::cli::options::TalkArguments;
use crate::cli::outputs::CompressArguments;
use crate::cli::run_options::{ForceArguments, RunArguments};
use crate::cli::sides::{FILES, InputArguments};
use crate::cli::texts::{self, long};

const COMPARED: &str = "\
Takes intersect, diff and union, also by other names such as difference or dedup. diff and union also take more than \
two files, and union takes one. symdiff cannot be approximated.";
const EXACT: &str = "This is the strategy of the exact run. The approximate run always uses bloom.";
const HIGHER: &str = "If the predicted rate is higher, the command fails.";
const PAGE: &str = "\
The page shows the predicted and measured rates over memory, the times of both runs, their phases, memory and buckets, \
and the data behind each chart. It loads nothing from the network.";

/// Run intersect, diff or union exactly and approximately, and show how the results differ.
///
/// The exact run comes first, then the approximate one (--strategy bloom), both under the same memory limit. An
/// approximate intersect has false lines; an approximate diff or union misses lines. Both mistakes are lines that pass
/// the filter although they should not. The output shows their number, and the false-positive rate as measured, as
/// predicted, and as computed from the contents of the filter. For intersect, it shows the share of the approximate
/// result that is right (precision); for diff and union, the share of the exact result that was found (recall). It also
/// shows the seconds, bytes, temporary disk and peak memory of each run.
///
/// The measured rate of intersect is the number of false lines divided by the number of distinct lines that only the
/// larger file has. If the larger file has more than 65,536 distinct lines (fewer under a low memory limit), outset
/// estimates that number. The measured rate of diff and union is the number of missing lines divided by the number of
/// lines of the exact result.
///
/// With --operation union, outset shows how many lines, or keys (--key), a Bloom filter of the same memory would lose
/// from a data set that it deduplicates. The filter fills up while it is asked: the predicted rate is the mean from the
/// first line to the last, and the rate computed from its contents is that of the last line.
///
/// The bounds of a number, and those of the predicted rate, hold with 99% confidence. The bounds of the measured rate,
/// one number divided by another, hold with 98%.
///
/// The two runs share no work. Where it can, outset uses direct I/O for files that are not cached, so the first run
/// does not warm the cache for the second.
///
/// Both results stay on temporary disk until they are compared.
#[derive(Debug, Args)]
#[command(mut_arg(FILES, |file| file.help("Two files (for --operation diff, two or more; for union, one or more); no pipes, because each file is read several times")))]
pub(crate) struct CompareArguments {
    #[arg(
        long,
        help = texts::OPERATION,
        long_help = long(texts::OPERATION, COMPARED),
        value_name = "NAME",
        default_value = "intersect",
        hide_possible_values = true
    )]
    pub(super) operation: Operation,

    /// Compare at several points, such as memory=16M,32M,64M or max-fpr=5%,1%,0.1%
    ///
    /// memory: make both runs under each memory limit. max-fpr: make the exact run once, then an approximate run for
    /// each rate, with a filter sized for it.
    #[arg(long, value_name = "WHAT=VALUE,VALUE...")]
    pub(super) sweep: Option<Sweep>,

    /// Write the false lines to FILE, complete or not at all (intersect)
    #[arg(long, value_name = "FILE", conflicts_with = "sweep")]
    list_false: Option<PathBuf>,

    /// Write the missing lines to FILE, complete or not at all (diff, union)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sweep", "list_false"])]
    list_missing: Option<PathBuf>,

    #[command(flatten)]
    pub(super) compress: CompressArguments,

    #[command(flatten)]
    pub(super) inputs: InputArguments,

    #[arg(long, help = texts::STRATEGY, long_help = long(texts::STRATEGY, EXACT), value_name = "NAME", default_value = "auto", help_heading = STRATEGY)]
    strategy: ExactName,

    #[arg(long, help = texts::MAX_FPR, long_help = long(texts::MAX_FPR, HIGHER), value_name = "P", value_parser = parse_rate, help_heading = STRATEGY)]
    max_fpr: Option<f64>,

    #[command(flatten)]
    pub(super) run: RunArguments,

    #[command(flatten)]
    force: ForceArguments,

    #[arg(long, help = texts::STATS, value_name = "FILE", help_heading = REPORTS)]
    pub(super) stats: Option<PathBuf>,

    #[arg(long, value_name = "FILE", help = texts::REPORT, long_help = long(texts::REPORT, PAGE), help_heading = REPORTS)]
    pub(super) report: Option<PathBuf>,

    #[command(flatten)]
    pub(super) talk: TalkArguments,
}

impl CompareArguments {
    /// Returns the options that these arguments ask for.
    pub(super) fn options(&self, interrupt: &Interrupt) -> Options {
        Options {
            strategy: self.strategy.into(),
            max_fpr: self.max_fpr,
            ..self.force.add_to(self.run.options(None, interrupt))
        }
    }

    /// Returns the points at which comparisons are made.
    pub(super) fn points(&self) -> Vec<Point> {
        match &self.sweep {
            Some(sweep) => sweep.points(),
            None => vec![Point::default()],
        }
    }

    /// Tells whether the comparison goes to standard error.
    pub(super) fn reports_on_stderr(&self) -> bool {
        self.stats.as_deref() == Some(Path::new("-"))
    }

    /// Returns the file for the lines that the approximate result gets wrong, and the option that names it.
    ///
    /// # Errors
    /// [`Error::Usage`] for an operation that is not compared, and for the list of mistakes that it does not make.
    pub(super) fn list(&self) -> Result<Option<(&Path, &'static str)>> {
        let false_lines = (self.list_false.as_deref(), "--list-false");
        let missing_lines = (self.list_missing.as_deref(), "--list-missing");
        let (own, other, never) = match Mistake::of(self.operation.selection())? {
            Mistake::FalseLines => (
                false_lines,
                missing_lines,
                "an approximate intersect misses no line",
            ),
            Mistake::MissingLines => (
                missing_lines,
                false_lines,
                "an approximate diff has no false line",
            ),
            Mistake::LostLines => (
                missing_lines,
                false_lines,
                "an approximate union has no false line",
            ),
        };
        if other.0.is_some() {
            return Err(Error::usage(
                format!("{}: {never}", other.1),
                format!("use {}", own.1),
            ));
        }
        Ok(own.0.map(|list| (list, own.1)))
    }
}

/// The strategies of the exact run.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ExactName {
    Auto,
    Memory,
    Partition,
    Sieve,
}

impl From<ExactName> for Option<Strategy> {
    fn from(name: ExactName) -> Self {
        match name {
            ExactName::Auto => None,
            ExactName::Memory => Some(Strategy::Memory),
            ExactName::Partition => Some(Strategy::Partition),
            ExactName::Sieve => Some(Strategy::Sieve),
        }
    }
}
