//! The command line.
//!
//! *Owns:* the arguments. *Invariant:* a seed and a number give the same case again.

use std::path::PathBuf;

use clap::Parser;

/// Runs random cases through every strategy of outset and compares the answers with a naive oracle.
///
/// Every fourth case is of records with keys, in CSV, TSV, JSON and Parquet files; the others are of lines. A case of
/// lines that fails is made as small as possible and printed as a script. Exit status: 0 no difference, 1 a difference,
/// 2 the files of a case cannot be made.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Cli {
    /// How many cases.
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    pub(crate) cases: u64,
    /// The seed of all cases; random (and printed) if not given.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Run this case alone.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) case: Option<u64>,
    /// Stop after this many seconds, even with cases left.
    #[arg(long)]
    pub(crate) seconds: Option<u64>,
    /// Spend at most this many seconds on making a failing case smaller.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub(crate) shrink_seconds: u64,
    /// Print the runs that were refused for lack of memory even with the limit that the refusal advised.
    #[arg(long)]
    pub(crate) tell_refusals: bool,
    /// Where the files of the cases go; the system's temporary directory if not given.
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// The command `outset`: every 50th case is run by it, too.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) outset: Option<PathBuf>,
}
