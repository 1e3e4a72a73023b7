//! The arguments of the commands that work for a cluster: shard, join, finish.
//!
//! *Owns:* their options and help texts. *Invariants:* as in [`arguments`](crate::cli::arguments).

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::{PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Args, ValueEnum};
use outset::cluster::{Compression, JoinRequest, MOST_SIDES, ShardRequest, Shards};
use outset::size::parse_bytes;
use outset::{Error, Interrupt, Options, Result, Selection, Source};

use crate::cli::help::{INPUTS, REPORTS, RESULT};
use crate::cli::operation::Operation;
use crate::cli::options::{
    DecodingArguments, FormatArguments, KeyFile, MachineArguments, TalkArguments, TempArguments,
    TerminatorArguments,
};
use crate::cli::progress::Reporter;
use crate::cli::select::{SideArguments, WrittenArguments};
use crate::cli::sides::{List, Names};
use crate::cli::texts::{self, long};

const LIST_ADVICE: &str = "give --shards-from a file that lists the names of shard files";
const KEY_OF_JOB: &str = "\
All shards of a job have the same key. Draw a new key for each job, and make its file readable by you alone: (umask 077; \
od -An -vtx8 -N32 /dev/urandom | tr -d ' \\n' > job.key). Anyone who knows the key can craft lines that all go to one \
bucket.";
const STATS_HELP: &str = "`outset finish` needs this report of every shard and join of a job.";
const EXIT_STATUS: &str = "\
Exit status: 0 complete · 2 wrong usage · 3 an input is unreadable, or changed
             4 temporary space is full, unusable or over its limit · 5 output failed
             6 memory limit too low · 7 damaged or incomplete shards · 101 a bug
             Retry after 3, 4, 5 or a signal; after 7, first remake what the message names.
             After 2, 6 or 101, a retry would only fail again.";

/// Split an input by hash into blocks of lines, for `outset join` on this or another machine.
///
/// Each line of FILE (with --range, each line that begins there) goes to one of N buckets. Equal lines of all inputs of
/// a job go to the same bucket, because all shards use the same key and the same N. The blocks go to standard output,
/// or with -o to a shard file with an index. They end with a trailer; no join accepts blocks without it.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct ShardArguments {
    /// The input; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,

    /// Number of the side that FILE belongs to, from 1
    #[arg(long, value_name = "I", value_parser = clap::value_parser!(u32).range(1..))]
    side: u32,

    /// Number of buckets, the same for all shards of the job
    ///
    /// outset holds one block in memory for each bucket, so more buckets or less memory make smaller blocks. Blocks
    /// below 16 KiB are slow, and blocks above 64 KiB gain little. The minimum is 4 KiB.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    buckets: u32,

    #[arg(long, value_name = "FILE", help = texts::HASH_KEY_FILE, long_help = long(texts::HASH_KEY_FILE, KEY_OF_JOB), value_parser = KeyFile::parser())]
    hash_key_file: KeyFile,

    /// Take only lines that begin in this range of FILE, in bytes
    ///
    /// If ranges cover FILE without overlap, exactly one of them takes each line, even if a range begins in the middle
    /// of a line. Not for compressed files.
    #[arg(long, value_name = "OFFSET:LENGTH", value_parser = parse_range)]
    range: Option<Range<u64>>,

    /// Leave out lines that this stored filter certainly does not contain
    ///
    /// For an intersection, use a filter of one side for the shards of the others: it drops lines that cannot be
    /// common. Build it with --hash-key-file and the key of the job.
    #[arg(long, value_name = "FILTER")]
    pub(super) filter: Option<PathBuf>,

    /// Compression of blocks
    #[arg(long, value_name = "NAME", default_value = "lz4")]
    compress: CompressionName,

    #[arg(short, long, value_name = "FILE", help = texts::OUTPUT, help_heading = RESULT)]
    pub(super) output: Option<PathBuf>,

    #[command(flatten)]
    format: FormatArguments,

    #[command(flatten)]
    decoding: DecodingArguments,

    #[command(flatten)]
    machine: MachineArguments,

    #[command(flatten)]
    pub(super) work: WorkArguments,
}

/// Run an operation on one bucket, from all shards, and write the resulting lines.
///
/// Reads the blocks of any number of shards from standard input (`-`), or one bucket of shard files. The result is
/// exact, and comes in no particular order. Standard output gets frames of whole lines and a trailer; a file (-o) gets
/// the lines alone. Wherever an option says file, as --which and --at-least do, read side.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct JoinArguments {
    /// Shard files (with --bucket), or `-` for a stream of blocks
    #[arg(value_name = "SHARD", required_unless_present = "shards_from")]
    shards: Vec<PathBuf>,

    /// Read the names of the shard files from LIST, one per line
    ///
    /// Use this for more names than a command line holds. `-` is standard input.
    #[arg(long, value_name = "LIST", help_heading = INPUTS, conflicts_with = "shards")]
    shards_from: Option<PathBuf>,

    #[arg(long, help = texts::OPERATION, value_name = "NAME", default_value = "intersect", value_parser = joined_operations())]
    operation: Operation,

    /// Number of sides of the job
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SIDES)))]
    sides: u32,

    /// The bucket to join, from 0
    ///
    /// With `-`, a block of another bucket is an error. Without --bucket, all blocks are joined.
    #[arg(long, value_name = "K")]
    bucket: Option<u32>,

    #[command(flatten)]
    by_number: SideArguments,

    /// Write the result to FILE, complete or not at all [default: frames to standard output]
    ///
    /// If the name of FILE ends in .gz, .zst, .lz4, .bz2 or .xz, the lines are compressed.
    #[arg(short, long, value_name = "FILE", help_heading = RESULT)]
    pub(super) output: Option<PathBuf>,

    #[command(flatten)]
    written: WrittenArguments,

    #[arg(long, help = texts::REPEATS, help_heading = RESULT, conflicts_with_all = ["all", "count"])]
    repeats: bool,

    #[command(flatten)]
    terminator: TerminatorArguments,

    #[command(flatten)]
    temp: TempArguments,

    #[command(flatten)]
    machine: MachineArguments,

    #[command(flatten)]
    pub(super) work: WorkArguments,
}

/// Check the reports of all shards and joins of a job, and write a summary as JSON if the job is complete.
///
/// Fails with status 7 unless the shards of each side cover its files exactly once, every bucket was joined once, all
/// joins had the same operation and options, and the joins read the lines that the shards sent (judged by their number
/// and the sum of their hashes).
///
/// Example: outset finish stats/*.json --shards 8 -o result/_SUCCESS
#[derive(Debug, Args)]
pub(crate) struct FinishArguments {
    /// Reports: the files that --stats of shard and join wrote; one file may hold several
    #[arg(value_name = "STATS", required = true)]
    pub(super) reports: Vec<PathBuf>,

    /// Number of shards that there must be
    ///
    /// Without this option, finish checks only that the reported ranges of each reported file cover the file. It cannot
    /// notice a file that no shard has read. Required if a shard has read a pipe.
    #[arg(long, value_name = "N")]
    pub(super) shards: Option<u64>,

    #[arg(short, long, value_name = "FILE", help = texts::OUTPUT, help_heading = RESULT)]
    pub(super) output: Option<PathBuf>,
}

/// The options of a step of a job.
#[derive(Debug, Args)]
pub(crate) struct WorkArguments {
    #[arg(long, value_name = "FILE", help = texts::STATS, long_help = long(texts::STATS, STATS_HELP), help_heading = REPORTS)]
    pub(super) stats: Option<PathBuf>,

    #[command(flatten)]
    pub(super) talk: TalkArguments,
}

impl WorkArguments {
    /// Makes the reporter of a step.
    pub(super) fn reporter(&self) -> Arc<Reporter> {
        let reporter = Reporter::new(&self.talk);
        Arc::new(reporter.without_notices_if(self.reports_on_stderr()))
    }

    /// Tells whether the step ends with a line about it.
    pub(super) fn tells_summary(&self) -> bool {
        !self.talk.quiet && !self.reports_on_stderr()
    }

    fn reports_on_stderr(&self) -> bool {
        self.stats.as_deref() == Some(Path::new("-"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompressionName {
    Lz4,
    None,
}

impl ShardArguments {
    /// Yields the files that are read.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let key = &self.hash_key_file.path;
        [&self.file, key].into_iter().chain(&self.filter)
    }

    /// Returns the input.
    pub(super) fn source(&self) -> Source {
        Source::from(&self.file)
    }

    pub(super) fn options(&self, interrupt: &Interrupt) -> Options {
        let options = Options {
            format: self.format.format(),
            ..self.machine.options(interrupt)
        };
        self.decoding.add_to(options)
    }

    pub(super) fn request(&self) -> ShardRequest {
        ShardRequest {
            side: self.side,
            buckets: self.buckets,
            key: self.hash_key_file.key,
            range: self.range.clone(),
            filter: self.filter.clone(),
            compression: match self.compress {
                CompressionName::Lz4 => Compression::Lz4,
                CompressionName::None => Compression::None,
            },
        }
    }
}

impl JoinArguments {
    /// Returns the shard files, as named or listed; none for a stream. Call it once: the list may be standard input.
    ///
    /// # Errors
    /// Where the list cannot be read, or has more names than the memory limit has room for.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>> {
        match &self.shards_from {
            Some(list) => {
                let mut names = Names::new(&self.machine.options(&Interrupt::new()));
                names.read(List::open(list, b'\n', LIST_ADVICE)?, |_| Ok(()))?;
                let files = names.take();
                names.finish().map(|()| files)
            }
            None if self.is_stream() => Ok(Vec::new()),
            None => Ok(self.shards.clone()),
        }
    }

    /// Returns the list of shard files, which is read as well.
    pub(super) fn list(&self) -> Option<&PathBuf> {
        self.shards_from.as_ref()
    }

    fn is_stream(&self) -> bool {
        matches!(&self.shards[..], [only] if only.as_os_str() == "-")
    }

    pub(super) fn options(&self, interrupt: &Interrupt) -> Options {
        let options = Options {
            format: self.terminator.format(),
            ..self.machine.options(interrupt)
        };
        self.temp.add_to(options, self.output.as_deref())
    }

    /// # Errors
    /// Where options do not go together.
    pub(super) fn request(&self) -> Result<JoinRequest> {
        Ok(JoinRequest {
            selection: self.selection()?,
            sides: self.sides,
            bucket: self.bucket,
        })
    }

    /// Opens the source of the frames: these shard files, or standard input.
    ///
    /// # Errors
    /// Where standard input is closed.
    pub(super) fn shards(&self, files: Vec<PathBuf>) -> Result<Shards> {
        if !self.is_stream() {
            return Ok(Shards::Files(files));
        }
        let file =
            rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 0).map_err(|error| Error::Input {
                path: "-".into(),
                source: error.into(),
                advice: "check that standard input is open and readable",
            })?;
        Ok(Shards::Stream(file.into(), "-".into()))
    }

    fn selection(&self) -> Result<Selection> {
        let selection = self.written.add_to(self.by_number.of(self.operation)?);
        Ok(if self.repeats {
            selection.with_repeats()
        } else {
            selection
        })
    }
}

/// Parses the operations that write lines: a table of overlaps counts those of all buckets together.
fn joined_operations() -> ValueParser {
    let operations = Operation::value_variants().iter();
    let names = operations
        .filter(|&&operation| operation != Operation::Overlaps)
        .filter_map(Operation::to_possible_value);
    PossibleValuesParser::new(names)
        .try_map(|name| Operation::from_str(&name, false))
        .into()
}

fn parse_range(text: &str) -> Result<Range<u64>, String> {
    let advice = || "give the first byte and the number of bytes, such as 1G:256M".to_owned();
    let (offset, length) = text.split_once(':').ok_or_else(advice)?;
    let number = |text: &str| match text.parse::<u64>() {
        Ok(number) => Ok(number),
        Err(_) => parse_bytes(text).map_err(|_| advice()),
    };
    let offset = number(offset)?;
    Ok(offset..offset.saturating_add(number(length)?))
}
