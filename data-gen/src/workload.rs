//! The named workloads.
//!
//! *Owns:* the names, and a sentence each on what they attack. *Invariant:* a workload is nothing but options
//! ([`Options::of`](crate::Options::of)); every one of them can be changed.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A named set of options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Distinct URLs, a tenth in common.
    Urls,
    /// Nothing in common.
    Disjoint,
    /// The same lines in another order.
    Identical,
    /// Three lines of ten are repeats.
    Duplicates,
    /// One line is 99 % of each file.
    Hot,
    /// Repeats by Zipf's law.
    Zipf,
    /// One line in a hundred is long, up to 1 MiB.
    Long,
    /// All lines share their first 2,000 bytes.
    Prefix,
    /// Lines of a few bytes.
    Short,
    /// Lines of any bytes but the terminator.
    Bytes,
    /// Carriage returns in the first file only.
    Crlf,
    /// Carriage returns in every file.
    CrlfAll,
    /// The last line of each file lacks its terminator.
    NoFinalNewline,
    /// A part of the lines is empty.
    Empty,
    /// Lines end with a zero byte.
    Nul,
    /// Five files, with lines in all but one.
    Many,
    /// A small file against a large one.
    Lopsided,
    /// All lines fall into one bucket under a known key.
    Bucket,
    /// Nearly all of the above in three files.
    Mixed,
}

impl Workload {
    /// Every workload, in the order of `--list`.
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// The name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Words its content, and the weakness that it attacks.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Urls => {
                "distinct URLs, 10 % in common: the plain case, for throughput and the size of the filter"
            }
            Self::Disjoint => {
                "nothing in common: the filter should drop nearly everything, an empty result is right"
            }
            Self::Identical => {
                "the same lines in another order: no filter helps, the result is as large as a file"
            }
            Self::Duplicates => {
                "30 % of the lines are repeats: results must be distinct, estimates must not count twice"
            }
            Self::Hot => {
                "one line is 99 % of each file: one bucket gets nearly all lines, splitting it does not help"
            }
            Self::Zipf => {
                "80 % of the lines repeat others by Zipf's law: buckets of uneven size, sets smaller than files"
            }
            Self::Long => {
                "1 % of the lines have 4 KiB to 1 MiB: lines across blocks, memory counted in bytes not lines"
            }
            Self::Prefix => {
                "all lines share 2,000 bytes and differ behind: comparisons and hashes must see the end"
            }
            Self::Short => "lines of a few bytes: the costs per line outweigh the costs per byte",
            Self::Bytes => {
                "any bytes but the terminator: zeros, lone carriage returns, invalid UTF-8"
            }
            Self::Crlf => {
                "CR LF in the first file only: nothing in common byte for byte, 10 % without the CR"
            }
            Self::CrlfAll => {
                "CR LF in every file: in common with the CR and without, but not the same bytes"
            }
            Self::NoFinalNewline => {
                "the last line of each file is common and has no terminator: it must be found"
            }
            Self::Empty => {
                "5 % of the lines are empty: an empty line is a line, and one that files have in common"
            }
            Self::Nul => "lines end with a zero byte: for tools that read with --terminator nul",
            Self::Many => {
                "five files, 10 % of each in all but one of them: in four of five is not in common"
            }
            Self::Lopsided => {
                "a file against one a hundred times as large: the small side decides what is kept"
            }
            Self::Bucket => {
                "all lines fall into bucket 0 under a known hash key: the first split does nothing"
            }
            Self::Mixed => {
                "three files with repeats, a hot line, long and empty lines, no final newline: all at once"
            }
        }
    }
}
