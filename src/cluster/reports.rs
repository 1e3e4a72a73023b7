//! The reports of steps, as [`finish`](crate::cluster::finish()) reads them.
//!
//! *Owns:* which fields count, and what is wrong with a file that has none. *Invariants:* a report that is cut short is
//! an error. *Cost:* one reading of each file.

use std::io::Read;

use serde::Deserialize;
use serde_json::error::Category;

use crate::cluster::stats::{ShardInputStats, SideStats};
use crate::error::{Error, Result};

/// A report, as far as it counts here.
#[derive(Deserialize)]
#[serde(tag = "command", rename_all = "lowercase")]
pub(super) enum ClusterReport {
    Shard(Shard),
    Join(Join),
}

/// The report of a shard.
#[derive(Deserialize)]
pub(super) struct Shard {
    pub(super) job: String,
    /// The number that it drew for itself.
    #[serde(rename = "shard")]
    pub(super) drawn: String,
    pub(super) line_end: String,
    pub(super) side: u32,
    pub(super) buckets: u32,
    pub(super) input: ShardInputStats,
    pub(super) is_filtered: bool,
    pub(super) sent: SideStats,
    pub(super) stream_bytes: u64,
}

/// The report of a join.
#[derive(Deserialize)]
pub(super) struct Join {
    pub(super) operation: String,
    pub(super) line_end: String,
    #[serde(flatten)]
    pub(super) written: Written,
    pub(super) job: Option<String>,
    pub(super) joined: Vec<u32>,
    pub(super) sides: Vec<SideStats>,
    pub(super) output: Output,
}

/// The lines that a join writes, and their form; the same for all joins of a job.
#[derive(PartialEq, Eq, Deserialize)]
pub(super) struct Written {
    /// Only compared.
    selection: serde_json::Value,
    filters_from_side: Option<u32>,
}

impl Written {
    /// Tells whether shards of `side` may be filtered.
    pub(super) fn may_filter(&self, side: u32) -> bool {
        self.filters_from_side.is_some_and(|from| side >= from)
    }
}

/// The size of a join's output.
#[derive(Deserialize)]
pub(super) struct Output {
    pub(super) lines: u64,
    pub(super) bytes: u64,
}

/// Lines of a side, and the sum of their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sums {
    pub(super) lines: u64,
    pub(super) hash_sum: u64,
}

impl Sums {
    /// Adds what the report `name` says.
    ///
    /// # Errors
    /// [`Error::Usage`] where it says no number.
    pub(super) fn add(&mut self, stats: &SideStats, name: &str) -> Result<()> {
        let sum = u64::from_str_radix(&stats.hash_sum, 16).map_err(|_| {
            Error::usage(
                format!("{name}: its sum of hashes is not a number"),
                "name the files that `Stats` wrote",
            )
        })?;
        self.lines = self.lines.saturating_add(stats.lines);
        self.hash_sum = self.hash_sum.wrapping_add(sum);
        Ok(())
    }
}

/// Reads the reports in a file, one after the other.
pub(super) fn reports<R: Read>(name: &str, file: R) -> impl Iterator<Item = Result<ClusterReport>> {
    let read = serde_json::Deserializer::from_reader(file).into_iter::<ClusterReport>();
    read.map(move |report| report.map_err(|error| failure(name, error)))
}

/// Words the fault of the report `name`, and advises another attempt where that may help.
fn failure(name: &str, error: serde_json::Error) -> Error {
    match error.classify() {
        Category::Io => Error::Input {
            path: name.into(),
            source: error.into(),
            advice: "check that it is a file that can be read",
        },
        Category::Eof => Error::Unfinished {
            what: format!("{name}: the report is truncated"),
            advice: "run this step again",
        },
        Category::Syntax | Category::Data => Error::usage(
            format!("{name}: is not a report of a shard or a join ({error})"),
            "name the files that `Stats` wrote",
        ),
    }
}
