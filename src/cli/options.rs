//! Options that several commands have, and the values that they take.
//!
//! *Owns:* the groups of options about the machine and about lines, and the parsing of values that
//! is not the library's. *Invariants:* an option means the same wherever it is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::help::{DISK, INPUTS, OTHER, STRATEGY};
use super::keys::KeyArguments;
use super::process;
use super::texts::{self, long};
use clap::builder::{PathBufValueParser, TypedValueParser, ValueParser};
use clap::{ArgMatches, Args, ValueEnum};
use outset::cluster::JobKey;
use outset::filter::Kind;
use outset::hash::HashKey;
use outset::size::{ParseSizeError, Size, parse_bytes, parse_count};
use outset::{Interrupt, LineFormat, Options, Result, machine};

/// The resources of the machine that a command may use.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = STRATEGY)]
pub(crate) struct MachineArguments {
    /// Memory limit for the whole process, such as 64M, 4G or 50%
    ///
    /// Peak resident memory stays at or below it. The minimum is 16M. K, M, G and T (also KiB, MiB...) are powers of
    /// 1024; KB, MB and GB are powers of 1000. A percentage refers to available RAM, the cgroup limit or the
    /// address-space limit, whichever is smallest. Default: 50%.
    #[arg(
        short,
        long,
        value_name = "SIZE",
        visible_short_alias = 'S',
        visible_aliases = ["memory-limit", "buffer-size"],
    )]
    memory: Option<Size>,

    /// Number of worker threads [default: number of available cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = parse_threads)]
    threads: Option<usize>,
}

impl MachineArguments {
    /// Options with these limits. Where the limit is small, the process gives back first what counts towards it.
    pub(crate) fn options(&self, interrupt: &Interrupt) -> Options {
        let memory_bytes = self
            .memory
            .map(|size| size.of(machine::memory_base_bytes()));
        process::give_back_code(memory_bytes.unwrap_or_else(machine::default_memory_bytes));
        Options {
            memory_bytes,
            threads: self.threads,
            interrupt: interrupt.clone(),
            ..Options::default()
        }
    }
}

/// The end of a line.
#[derive(Debug, Args)]
#[command(next_help_heading = INPUTS)]
pub(crate) struct TerminatorArguments {
    /// Lines end in NUL instead of newline
    #[arg(short, long)]
    zero_terminated: bool,
}

impl TerminatorArguments {
    /// Returns the rules for a line that ends so.
    pub(crate) fn format(&self) -> LineFormat {
        LineFormat {
            terminator: if self.zero_terminated { 0 } else { b'\n' },
            ..LineFormat::default()
        }
    }
}

/// The rules that make bytes into lines.
#[derive(Debug, Args)]
#[command(next_help_heading = INPUTS)]
pub(crate) struct FormatArguments {
    #[command(flatten)]
    terminator: TerminatorArguments,

    /// Treat a CR before the line end as part of the line end
    #[arg(long)]
    strip_cr: bool,
}

impl FormatArguments {
    /// Returns the rules for a line.
    pub(crate) fn format(&self) -> LineFormat {
        LineFormat {
            strip_cr: self.strip_cr,
            ..self.terminator.format()
        }
    }
}

const PRIVATE: &str = "\
Other users can see the arguments of a running command, such as the key after --hash-key. They cannot see the content \
of a private file.";

/// The rules that make bytes into lines, and the key of their hash.
#[derive(Debug, Args)]
pub(crate) struct LineArguments {
    #[command(flatten)]
    format: FormatArguments,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,

    /// Use this hash key (64 hexadecimal digits) instead of a random one
    ///
    /// A fixed key makes a run reproducible: the same lines land in the same buckets each time. Do not use one on
    /// untrusted data: anyone who knows the key can craft lines that slow the run down.
    #[arg(long, value_name = "HEX", help_heading = STRATEGY)]
    hash_key: Option<HashKey>,

    #[arg(long, value_name = "FILE", help = texts::HASH_KEY_FILE, long_help = long(texts::HASH_KEY_FILE, PRIVATE), help_heading = STRATEGY, conflicts_with = "hash_key", value_parser = KeyFile::parser())]
    hash_key_file: Option<KeyFile>,
}

/// A file with a hash key.
#[derive(Debug, Clone)]
pub(crate) struct KeyFile {
    pub(crate) path: PathBuf,
    pub(crate) key: JobKey,
}

impl KeyFile {
    /// Takes the path, and reads the file.
    pub(crate) fn parser() -> ValueParser {
        PathBufValueParser::new().try_map(Self::read).into()
    }

    fn read(path: PathBuf) -> Result<Self> {
        JobKey::read(&path).map(|key| Self { path, key })
    }
}

impl LineArguments {
    /// Returns the rules for a line.
    pub(crate) fn format(&self) -> LineFormat {
        self.format.format()
    }

    /// Returns the source of the key of the hash.
    pub(crate) fn hash_key(&self) -> HashKey {
        let of_file = self.hash_key_file.as_ref().map(|file| file.key.into());
        self.hash_key.or(of_file).unwrap_or_default()
    }

    /// Returns the file that the key was read from, if there is one.
    pub(crate) fn key_file(&self) -> Option<&PathBuf> {
        self.hash_key_file.as_ref().map(|file| &file.path)
    }
}

/// The options for reading inputs, other than the rules for a line.
#[derive(Debug, Args)]
pub(crate) struct ReadingArguments {
    #[command(flatten)]
    pub(crate) keys: KeyArguments,

    #[command(flatten)]
    decoding: DecodingArguments,
}

/// The option for decoding compressed inputs.
#[derive(Debug, Args)]
#[command(next_help_heading = INPUTS)]
pub(crate) struct DecodingArguments {
    /// When to decode inputs compressed with gzip, bzip2, xz, zstd or lz4
    ///
    /// auto: outset recognises compressed inputs by their first bytes, whatever their names, even on standard input. A
    /// compressed input that ends early, or has other bytes after its compressed data, is an error. none: every input
    /// is read as it is.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    decompress: Decompress,
}

impl ReadingArguments {
    /// Returns `options` with these.
    pub(crate) fn add_to(&self, options: Options) -> Options {
        Options {
            keys: self.keys.keys(),
            ..self.decoding.add_to(options)
        }
    }
}

impl DecodingArguments {
    /// Returns `options` with this one.
    pub(crate) fn add_to(&self, options: Options) -> Options {
        Options {
            decompress: self.decompress == Decompress::Auto,
            ..options
        }
    }
}

/// The options for temporary files.
#[derive(Debug, Args)]
#[command(next_help_heading = DISK)]
pub(crate) struct TempArguments {
    /// Directory for temporary files; repeat the option to use several directories
    ///
    /// Directories with more free space get more files. If the directory of a file fills up, the file continues in
    /// another one. Default: $TMPDIR, else the directory of the output (for standard output, a pipe or a device, the
    /// current directory).
    #[arg(short = 'T', long, value_name = "DIR")]
    temp_dir: Vec<PathBuf>,

    /// Maximum temporary disk space [default: all free space]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_temp: Option<u64>,
}

impl TempArguments {
    /// Returns `options` with these; `output` decides where temporary files go by default.
    pub(crate) fn add_to(&self, options: Options, output: Option<&Path>) -> Options {
        Options {
            temp_dirs: self.temp_dirs(output),
            max_temp_bytes: self.max_temp,
            ..options
        }
    }

    fn temp_dirs(&self, output: Option<&Path>) -> Vec<PathBuf> {
        let has_tmpdir = std::env::var_os("TMPDIR").is_some_and(|directory| !directory.is_empty());
        // What holds nothing lies in no directory that could hold files: `/dev`, which is memory, or `/dev/fd`.
        let is_file = |output: &&Path| output.metadata().map_or(true, |it| it.is_file());
        match output.filter(is_file).and_then(Path::parent) {
            Some(parent)
                if self.temp_dir.is_empty() && !has_tmpdir && !parent.as_os_str().is_empty() =>
            {
                vec![parent.to_owned()]
            }
            _ => self.temp_dir.clone(),
        }
    }
}

/// Names the directories for temporary files that are not there, for a run that needed none of them.
pub(crate) fn missing_temp_dirs(options: &Options) -> Vec<String> {
    let missing = options
        .temp_dirs
        .iter()
        .filter(|directory| !directory.is_dir());
    let line = |directory: &PathBuf| {
        let directory = directory.display();
        format!(
            "{directory}: is not a directory: check --temp-dir (this run has needed no temporary files)"
        )
    };
    missing.map(line).collect()
}

/// The inputs that are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Decompress {
    Auto,
    None,
}

/// The options for messages on standard error.
#[derive(Debug, Args)]
#[command(next_help_heading = OTHER)]
pub(crate) struct TalkArguments {
    /// When to show progress, speed and remaining time on standard error
    ///
    /// auto: only on a terminal. always: also elsewhere, as plain lines. A terminal whose TERM is unset,
    /// empty or dumb is not treated as a terminal. json: for a program that reads it. Every line on standard error is
    /// then a JSON object: progress several times a second, messages, and the error if the run fails.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) progress: When,

    /// Print the memory limit, the plan (if any) and each phase to standard error
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    /// Print only errors, and warnings about filters and approximate results, to standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// End when the process that started this one has ended
    ///
    /// Use this if that process may be killed: this one then ends too, and removes what it has written.
    // Read from the matches: see `CallerWishes`.
    #[arg(long)]
    end_with_parent: bool,
}

/// The occasions on which progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
    Json,
}

/// The wishes of the program that has started this one, which hold from the first moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallerWishes {
    /// True if every line on standard error is an event.
    pub(crate) reads_events: bool,
    /// True if this process ends with its parent.
    pub(crate) ends_with_parent: bool,
}

impl CallerWishes {
    /// Tells whether arguments ask for events that were not understood for another reason.
    pub(crate) fn reads_events_of(words: &[OsString]) -> bool {
        let is_value = |pair: &[OsString]| pair[0] == "--progress" && pair[1] == "json";
        words.windows(2).any(is_value) || words.iter().any(|word| word == "--progress=json")
    }

    /// Finds them among the arguments of the command that is run, which may have no such options.
    pub(crate) fn of(mut matches: &ArgMatches) -> Self {
        while let Some((_, below)) = matches.subcommand() {
            matches = below;
        }
        let progress = matches.try_get_one::<When>("progress");
        let ends = matches.try_get_one::<bool>("end_with_parent");
        Self {
            reads_events: matches!(progress, Ok(Some(When::Json))),
            ends_with_parent: matches!(ends, Ok(Some(true))),
        }
    }
}

/// The kinds as options name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindName {
    Blocked,
    Classic,
    Counting,
    Spectral,
    Fingerprint,
}

impl From<KindName> for Kind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::Blocked => Self::Blocked,
            KindName::Classic => Self::Classic,
            KindName::Counting => Self::Counting,
            KindName::Spectral => Self::Spectral,
            KindName::Fingerprint => Self::Fingerprint,
        }
    }
}

pub(crate) fn parse_bits(text: &str) -> Result<f64, String> {
    let bits: f64 = text
        .parse()
        .map_err(|_| "give a number such as 6.87".to_owned())?;
    if bits > 0.0 && bits.is_finite() {
        Ok(bits)
    } else {
        Err("give a positive number".to_owned())
    }
}

fn parse_threads(text: &str) -> Result<usize, String> {
    let threads = parse_count(text).map_err(|error: ParseSizeError| error.to_string())?;
    if (1..=4096).contains(&threads) {
        Ok(threads as usize)
    } else {
        Err("give a number from 1 to 4096".to_owned())
    }
}
