//! The words that can be typed for `outset overlaps`.
//!
//! *Owns:* its options and help texts. *Invariants:* as in [`arguments`](crate::cli::arguments).

use std::path::PathBuf;

use clap::Args;

use crate::cli::exit::EXIT_STATUS;
use crate::cli::help::{REPORTS, RESULT};
use crate::cli::options::TalkArguments;
use crate::cli::outputs::{CompressArguments, OutViaArguments};
use crate::cli::run_options::{ChoiceArguments, ForceArguments, RunArguments};
use crate::cli::sides::{FILES, InputArguments, LabelArguments};
use crate::cli::texts::{self, long};

const PAGE: &str = "\
The page draws the combinations with the most lines as an UpSet plot, and two or three FILEs as a Venn diagram too; or \
pairs of FILEs as a heat map. It also shows the cost of the run and the data behind each chart. It loads nothing from the network. It is written only \
if the run succeeds.";

/// Count the distinct lines in each combination of FILEs.
///
/// Prints a row for each combination that has lines: a digit for each FILE, the number of lines that these FILEs have
/// and no other (lines), the number that all of them and perhaps others have (common), and their names. In the row 101,
/// `lines` counts what the first and the third FILE have and no other; `outset intersect --only 101` writes these
/// lines. --report draws the numbers as an UpSet plot. With more than 16 FILEs, up to 64, or with --pairs, pairs of
/// FILEs are counted instead. A FILE given twice counts as two.
#[derive(Debug, Args)]
#[command(
    after_help = EXIT_STATUS,
    mut_arg(FILES, |file| file.help("One or more files, each one side of the operation (see --side); `-` is standard input"))
)]
pub(crate) struct OverlapsArguments {
    #[command(flatten)]
    pub(super) inputs: InputArguments,

    #[command(flatten)]
    pub(super) labels: LabelArguments,

    #[arg(short, long, help = texts::OUTPUT, value_name = "FILE", help_heading = RESULT)]
    pub(super) output: Option<PathBuf>,

    #[command(flatten)]
    pub(super) out_via: OutViaArguments,

    #[command(flatten)]
    pub(super) compress: CompressArguments,

    #[arg(long, help = texts::JSON, long_help = long(texts::JSON, "The JSON also has the statistics of the run."), help_heading = RESULT)]
    pub(super) json: bool,

    /// Count the common lines of each two FILEs, not of each combination [default: with more than 16 FILEs]
    ///
    /// Prints the number of distinct lines of each FILE. Then prints a row for each two FILEs, a and b, that have lines
    /// in common, those with the most first: the number of these lines (common), their share of the lines of both
    /// together (jaccard), of the lines of a (a_in_b) and of the lines of b (b_in_a). --json prints each number as a
    /// table with a row and a column for each FILE, and --report draws the shares as a heat map.
    #[arg(long, help_heading = RESULT)]
    pub(super) pairs: bool,

    #[command(flatten)]
    pub(super) choice: ChoiceArguments,

    #[command(flatten)]
    pub(super) run: RunArguments,

    #[command(flatten)]
    pub(super) force: ForceArguments,

    #[arg(long, value_name = "FILE", help = texts::REPORT, long_help = long(texts::REPORT, PAGE), help_heading = REPORTS)]
    pub(super) report: Option<PathBuf>,

    #[command(flatten)]
    pub(super) talk: TalkArguments,
}
