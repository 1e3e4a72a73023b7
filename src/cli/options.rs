//! Options that several commands have, and the values that they take.
//!
//! *Owns:* the groups of options about the machine and about lines, and the parsing of values that
//! is not the library's. *Invariants:* an option means the same wherever it is.

use clap::{Args, ValueEnum};
use outset::filter::Kind;
use outset::hash::HashKey;
use outset::size::{ParseSizeError, Size, parse_count};
use outset::{Interrupt, LineFormat, Options, machine};

/// What a command may use of the machine.
#[derive(Debug, Args)]
pub(crate) struct MachineArguments {
    /// Ceiling for the memory of the whole process, such as 64M, 4G or 50%
    ///
    /// Peak resident memory stays at or under it; at least 16M. K M G T are powers of 1024 (KiB...
    /// too), KB MB GB powers of 1000; a percentage is of what the default is half of. Default: half
    /// of the smallest of available RAM, cgroup limit and address-space limit.
    #[arg(
        short,
        long,
        value_name = "SIZE",
        visible_short_alias = 'S',
        visible_aliases = ["memory-limit", "buffer-size"],
    )]
    memory: Option<Size>,

    /// Threads for the work on lines [default: the cores available]
    #[arg(short = 'j', long, value_name = "N", value_parser = parse_threads)]
    threads: Option<usize>,
}

impl MachineArguments {
    /// Options with these limits.
    pub(crate) fn options(&self, interrupt: &Interrupt) -> Options {
        Options {
            memory_bytes: self
                .memory
                .map(|size| size.of(machine::memory_base_bytes())),
            threads: self.threads,
            interrupt: interrupt.clone(),
            ..Options::default()
        }
    }
}

/// What a line is, and how lines are hashed.
#[derive(Debug, Args)]
pub(crate) struct LineArguments {
    /// Lines end in NUL, not newline
    #[arg(short, long)]
    zero_terminated: bool,

    /// A CR before the line end is not part of the line
    #[arg(long)]
    strip_cr: bool,

    /// Use this key (64 hexadecimal digits) for the hash instead of a random one
    ///
    /// Equal runs then place lines alike, for reproducing one. Unsafe for data that strangers
    /// wrote: whoever knows the key can prepare lines that slow the run down.
    #[arg(long, value_name = "HEX", value_parser = parse_hash_key)]
    hash_key: Option<[u64; 4]>,
}

impl LineArguments {
    /// What a line is.
    pub(crate) fn format(&self) -> LineFormat {
        LineFormat {
            terminator: if self.zero_terminated { 0 } else { b'\n' },
            strip_cr: self.strip_cr,
        }
    }

    /// Where the key of the hash comes from.
    pub(crate) fn hash_key(&self) -> HashKey {
        self.hash_key.map_or(HashKey::Random, HashKey::Fixed)
    }
}

/// What is said on standard error.
#[derive(Debug, Args)]
pub(crate) struct TalkArguments {
    /// Show progress with rate and time left on standard error
    ///
    /// auto shows it on a terminal; always prints plain lines where there is none, or where TERM is not
    /// set, empty or dumb.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) progress: When,

    /// Say more on standard error: the limit, the plan, each phase
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    /// Say nothing but errors, and that a result is approximate or a filter overfull
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// When progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
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

fn parse_hash_key(text: &str) -> Result<[u64; 4], String> {
    let bad = || "give 64 hexadecimal digits".to_owned();
    if text.len() != 64 || !text.is_ascii() {
        return Err(bad());
    }
    let mut key = [0; 4];
    for (word, part) in key.iter_mut().zip([0, 16, 32, 48]) {
        *word = u64::from_str_radix(&text[part..part + 16], 16).map_err(|_| bad())?;
    }
    Ok(key)
}
