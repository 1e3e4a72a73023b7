//! Everything a run is determined by.
//!
//! *Owns:* the options and their form in the manifest. *Invariant:* equal options give equal bytes,
//! whatever the number of threads and wherever the files are; a manifest's options are enough to
//! make its lines again.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::amount::{Amount, Share};
use crate::bucket::OneBucket;
use crate::workload::Workload;

/// The options of a run. Start from [`Options::of`] and change what should differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The workload that these options started from.
    pub workload: Workload,
    /// Another seed gives other lines in another order, and the same counts.
    pub seed: u64,
    /// The number of lines of each file; as many files as numbers, 1 to 1000.
    pub lines: Vec<u64>,
    /// Distinct lines that every file has; a share is of the distinct lines of the smallest file. A
    /// single file has all its lines in common with itself, whatever this says.
    pub common: Amount,
    /// With three files or more: distinct lines that all files but one have, as a share of the
    /// distinct lines of the smallest file. The files left out take turns.
    pub partial: Share,
    /// Lines of each file that repeat another of its lines.
    pub duplicates: Share,
    /// The exponent of the law by which repeats are chosen; without it all are equally likely.
    pub zipf: Option<f64>,
    /// Lines of each file that are one and the same line.
    pub hot: Share,
    /// The hot line is another one in each file, and not in common.
    pub hot_private: bool,
    /// Lines of each file that are empty; if not 0, at least one in each file of two lines or more.
    pub empty_lines: Share,
    /// The form of lines.
    pub form: Form,
    /// Their length.
    pub length: Length,
    /// Distinct lines that are long, from 4 KiB.
    pub long: Share,
    /// The longest of them, in bytes. Line 1 of each class always has it.
    pub longest: u64,
    /// Bytes that all lines start with alike; 0 for none.
    pub prefix: u64,
    /// The files with CR LF.
    pub crlf: Crlf,
    /// True if the last line of each file is terminated.
    pub final_newline: bool,
    /// The byte that ends a line.
    pub terminator: Terminator,
    /// In which order the lines of a file come.
    pub order: Order,
    /// Makes all lines fall into one bucket.
    pub bucket: Option<OneBucket>,
}

/// The form of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A URL: a scheme, a host by a skewed law, a path or query with a token.
    Url,
    /// The token alone, as short as the number of lines allows.
    Token,
    /// Any bytes but the terminator, and a token at the end.
    Bytes,
}

/// The length of lines, without their terminator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Length {
    /// The length that the form has: 37 to 146 bytes and 63 on average for URLs.
    Drawn,
    /// This number of bytes.
    Exact(u64),
}

/// The byte that ends a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Terminator {
    /// A line feed.
    Lf,
    /// A zero byte.
    Nul,
}

impl Terminator {
    /// The byte itself.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Lf => b'\n',
            Self::Nul => 0,
        }
    }
}

/// In which order the lines of a file come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// At random, differently in each file.
    Shuffled,
    /// Common lines first and alike in each file, then those in all but one, private ones, repeats.
    Grouped,
}

/// The files whose lines end with CR LF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Crlf {
    /// None.
    None,
    /// All.
    All,
    /// One file: 0 is the first.
    Only(u32),
}

impl Crlf {
    /// Tells whether this file has CR LF.
    pub fn is_in(self, file: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(only) => only as usize == file,
        }
    }
}

impl FromStr for Crlf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.as_bytes()) {
            ("none", _) => Ok(Self::None),
            ("all", _) => Ok(Self::All),
            (_, [letter @ b'a'..=b'z']) => Ok(Self::Only(u32::from(letter - b'a'))),
            _ => Err(format!(
                "`{text}` is not a choice of files; write none, all, or the letter of one file"
            )),
        }
    }
}

impl fmt::Display for Crlf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str("none"),
            Self::All => f.write_str("all"),
            Self::Only(file) => write!(f, "{}", char::from(b'a' + (file % 26) as u8)),
        }
    }
}

impl From<Crlf> for String {
    fn from(crlf: Crlf) -> Self {
        crlf.to_string()
    }
}

impl TryFrom<String> for Crlf {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
