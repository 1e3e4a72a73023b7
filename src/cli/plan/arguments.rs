//! The words that can be typed for `outset plan`.
//!
//! *Owns:* its options and help texts. *Invariants:* as in [`arguments`](crate::cli::arguments).

use clap::Args;
use outset::size::{parse_bytes, parse_count};
use outset::{Error, Selection};

use crate::cli::help::RESULT;
use crate::cli::keys::RecordArguments;
use crate::cli::operation::Operation;
use crate::cli::options::TalkArguments;
use crate::cli::outputs::CompressArguments;
use crate::cli::run_options::{ChoiceArguments, RunArguments, StoredFilterArguments};
use crate::cli::select::{OrderArguments, RepeatArguments, SideArguments, WrittenArguments};
use crate::cli::sides::{FILES, InputArguments, SIDES};
use crate::cli::texts::{self, long};

const OTHER_NAMES: &str =
    "The other names of a command, such as difference for diff, are accepted too.";

/// Show what an operation would do and what it would cost, without doing it.
///
/// The plan names the strategy that the command would choose, lists its steps in order, and says why the other
/// strategies were rejected. For each strategy, it lists the passes over the inputs, the bytes read and written, the
/// temporary disk, the memory, the predicted false-positive rate and the expected false lines.
///
/// The result is taken to go to a file (-o FILE), which is compressed if --compress says so.
///
/// outset can also plan without files: `outset plan --lines 5e9,5e9 --line-bytes 64 --memory 4G`. For a cluster, add
/// --machines 16.
#[derive(Debug, Args)]
#[command(
    mut_arg(FILES, |file| {
        file.required_unless_present("lines")
            .help("The files that the command would read, each one side of the operation (see --side)")
    })
)]
pub(crate) struct PlanArguments {
    #[arg(long, help = texts::OPERATION, long_help = long(texts::OPERATION, OTHER_NAMES), value_name = "NAME", default_value = "intersect")]
    operation: Operation,

    #[command(flatten)]
    sides: SideArguments,

    /// Read the files first, and plan with their estimated distinct lines and overlap
    ///
    /// The files are read as by `outset estimate`. The plan then also predicts the precision of an approximate result.
    /// A run itself plans from a sample only: to make it follow this plan, give it the plan's --strategy.
    #[arg(long, conflicts_with_all = ["lines", "filter"])]
    pub(crate) estimate: bool,

    /// Number of lines of each input, such as 5e9,5e9 (instead of files)
    #[arg(long, value_name = "N,N...", value_delimiter = ',', value_parser = parse_count, conflicts_with_all = SIDES, conflicts_with_all = ["filter", "save_filter"])]
    pub(crate) lines: Vec<u64>,

    /// Mean line length in bytes, including the line end (with --lines)
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..), requires = "lines", conflicts_with_all = SIDES)]
    pub(crate) line_bytes: u64,

    /// Size the job for N machines that share the splitting and joining (with --lines)
    ///
    /// Prints the number of shards and buckets, the size of blocks, the network traffic, the temporary disk on each
    /// machine, and the expected time. --memory is the limit of each task.
    #[arg(long, value_name = "N", requires = "lines", conflicts_with_all = SIDES, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) machines: Option<u64>,

    /// Number of tasks that each machine runs at a time (with --machines)
    #[arg(long, value_name = "N", default_value_t = 8, requires = "machines", conflicts_with_all = SIDES, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) tasks: u64,

    /// Bytes per second that the network of each machine moves (with --machines)
    #[arg(long, value_name = "SIZE", default_value = "1250MB", requires = "machines", conflicts_with_all = SIDES, value_parser = parse_bytes)]
    pub(crate) network: u64,

    /// Bytes per second that the disks of each machine read or write (with --machines)
    #[arg(long, value_name = "SIZE", default_value = "1GB", requires = "machines", conflicts_with_all = SIDES, value_parser = parse_bytes)]
    pub(crate) disk: u64,

    #[command(flatten)]
    pub(crate) inputs: InputArguments,

    #[command(flatten)]
    pub(crate) choice: ChoiceArguments,

    #[command(flatten)]
    pub(crate) run: RunArguments,

    #[command(flatten)]
    pub(crate) filters: StoredFilterArguments,

    #[command(flatten)]
    written: WrittenArguments,

    #[command(flatten)]
    pub(crate) order: OrderArguments,

    #[command(flatten)]
    repeats: RepeatArguments,

    #[command(flatten)]
    pub(crate) records: RecordArguments,

    #[command(flatten)]
    pub(crate) compress: CompressArguments,

    #[arg(long, help = texts::JSON, help_heading = RESULT)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) talk: TalkArguments,
}

impl PlanArguments {
    /// Returns the lines that the planned command would write.
    ///
    /// # Errors
    /// Where a number of files is given that the operation does not have.
    pub(crate) fn selection(&self) -> Result<Selection, Error> {
        let selection = self.sides.of(self.operation)?;
        let as_asked = |selection| {
            let selection = self.written.add_to(selection);
            let selection = self.order.keep(self.repeats.add_to(selection));
            self.order.add_to(selection)
        };
        if self.operation != Operation::Overlaps {
            let keys = &self.run.lines.reading.keys;
            let is_multiset = self.written.is_multiset();
            return Ok(self.records.add_to(as_asked(selection), keys, is_multiset));
        }
        // It writes numbers: no line is there to be labelled, repeated or put in order.
        if as_asked(Selection::union()) == Selection::union() && self.records.asks_nothing() {
            return Ok(selection);
        }
        Err(Error::usage(
            "--operation: overlaps counts lines, so it takes no option about how they are written",
            "leave out --which, --count-files, --count, --min-count, --max-count, --all, --repeats, --distinct, \
             --keys-only, --rows, --keep, --order and --top",
        ))
    }
}
