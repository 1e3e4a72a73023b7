//! The exact answers of every operation on the files of a run.
//!
//! *Owns:* their form in the manifest. *Invariants.* Every distinct line is in exactly one
//! combination of files. What an operation writes follows from the combinations by adding up their
//! checksums; only multisets that compare numbers of repeats have answers of their own.
//!
//! *Cost:* 500 bytes of JSON for each combination that has lines.

use serde::{Deserialize, Serialize};

use crate::checksum::OrderFree;

/// The answers in one of two senses: byte for byte, or where one carriage return at the end of a line
/// does not count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// The combinations of files that have lines, in the order of their digits.
    pub combinations: Vec<Combination>,
    /// `intersect --all`: each line as often as the file has it that has it least. `None` for one file.
    pub intersect_all: Option<OrderFree>,
    /// `diff --all`: each line as often as the first file has it more than all others together. `None`
    /// for one file.
    pub diff_all: Option<OrderFree>,
    /// `symdiff --all`: each line as often as one file has it more than the other. `None` unless there
    /// are two files.
    pub symdiff_all: Option<OrderFree>,
}

/// The lines that the same files have, and no others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Combination {
    /// A digit for each file: 1 if it has the lines and 0 if not.
    pub which: String,
    /// Each line once.
    pub once: OrderFree,
    /// Each line as often as the first file has it.
    pub in_first: OrderFree,
    /// Each line as often as all files together have it.
    pub in_all: OrderFree,
}

/// In how many files a line is, and whether the first file is among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holders {
    /// The number of files.
    pub files: usize,
    /// True if the first file has the line.
    pub first: bool,
}

impl Holders {
    /// No file.
    pub const NONE: Self = Self {
        files: 0,
        first: false,
    };
}

impl Combination {
    /// The combination with these digits, before its first line.
    pub(crate) fn empty(which: &str) -> Self {
        Self {
            which: which.to_owned(),
            once: OrderFree::default(),
            in_first: OrderFree::default(),
            in_all: OrderFree::default(),
        }
    }

    /// In how many files the lines are.
    pub fn holders(&self) -> Holders {
        Holders {
            files: self.which.bytes().filter(|&digit| digit == b'1').count(),
            first: self.which.starts_with('1'),
        }
    }
}

impl Answers {
    /// The sum of one checksum of each combination whose lines are `selected`.
    pub fn sum(
        &self,
        selected: impl Fn(Holders) -> bool,
        checksum: impl Fn(&Combination) -> OrderFree,
    ) -> OrderFree {
        let mut sum = OrderFree::default();
        for combination in &self.combinations {
            if selected(combination.holders()) {
                sum.merge(&checksum(combination));
            }
        }
        sum
    }
}
