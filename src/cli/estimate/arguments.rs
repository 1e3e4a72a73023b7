//! The words that can be typed for `outset estimate`.
//!
//! *Owns:* its options and help texts. *Invariants:* as in [`arguments`](crate::cli::arguments).

use clap::Args;

use crate::cli::help::RESULT;
use crate::cli::options::{LineArguments, MachineArguments, TalkArguments};
use crate::cli::sides::{FILES, InputArguments, LabelArguments};
use crate::cli::texts;

/// Estimate how many lines each FILE has, and how many are in all of them.
///
/// Reads each FILE once, using a few MiB of memory. For each FILE, outset prints the number of lines, of distinct
/// lines, and of distinct lines that no other FILE has (for the first FILE, these are the lines that `outset diff`
/// writes). It also prints the number of lines that all FILEs have, and the share of these among the distinct lines of
/// each FILE (containment) and among all distinct lines (Jaccard index). Estimates have bounds, each of which holds in
/// 99 of 100 runs. An input of up to 65,536 distinct lines is counted exactly (fewer under a low memory limit). `-` is
/// standard input, and a FILE may be a FIFO.
#[derive(Debug, Args)]
#[command(mut_arg(FILES, |file| file.help("Two or more files, each one side of the operation (see --side); `-` is standard input")))]
pub(crate) struct EstimateArguments {
    #[command(flatten)]
    pub(super) inputs: InputArguments,

    #[command(flatten)]
    pub(super) labels: LabelArguments,

    #[command(flatten)]
    pub(super) machine: MachineArguments,

    #[command(flatten)]
    pub(super) lines: LineArguments,

    #[arg(long, help = texts::JSON, help_heading = RESULT)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) talk: TalkArguments,
}
