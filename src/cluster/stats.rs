//! The reports of the steps of a job, for [`finish`](crate::cluster::finish()) and for people. The field names are
//! stable.
//!
//! *Owns:* the statistics of `shard` and `join`. *Invariants:* everything was counted by the command itself. Numbers
//! that use all 64 bits are written as 16 hexadecimal digits, because JSON readers round large numbers.

use serde::{Deserialize, Serialize};

use crate::selection::Selection;
use crate::stats::{BucketStats, MemoryStats, OutputStats, PhaseStats, TempStats};

/// The report of a `shard`.
#[derive(Debug, Clone, Serialize)]
pub struct ShardStats {
    /// The crate's version.
    pub version: &'static str,
    /// `shard`.
    pub command: &'static str,
    /// The name of the job: a function of the key and the number of buckets, the same for all its shards.
    pub job: String,
    /// The number that this attempt drew for itself.
    pub shard: String,
    /// Of which side the lines are, from 1.
    pub side: u32,
    /// The number of buckets.
    pub buckets: u32,
    /// The input that was read.
    pub input: ShardInputStats,
    /// The byte after each line: `newline` or `nul`.
    pub line_end: &'static str,
    /// True if a filter was asked for.
    pub is_filtered: bool,
    /// The lines that were sent: those of the input, less those that a filter refused.
    pub sent: SideStats,
    /// Frames of lines.
    pub frames: u64,
    /// Bytes of the stream, the trailer included.
    pub stream_bytes: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Memory of the process.
    pub memory: MemoryStats,
    /// The phases.
    pub phases: Vec<PhaseStats>,
}

/// The input of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardInputStats {
    /// Its path, `-` for standard input.
    pub path: String,
    /// The size of the file in bytes, as it is stored; `None` for a pipe.
    pub file_bytes: Option<u64>,
    /// The range that was asked for; `None` for all of it.
    pub range: Option<RangeStats>,
    /// Bytes of the lines that were read, as they are when they are decoded.
    pub bytes: u64,
    /// The lines.
    pub lines: u64,
    /// True if the file is read as it is stored, so that the bytes of all ranges are those of the file.
    pub is_plain: bool,
}

/// A range of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RangeStats {
    /// Its first byte.
    pub offset: u64,
    /// Its bytes.
    pub length: u64,
}

/// Lines of one side.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SideStats {
    /// Lines, repeats included.
    pub lines: u64,
    /// The sum of their hashes under the key of the job, modulo 2^64: 16 hexadecimal digits.
    pub hash_sum: String,
}

/// The report of a `join`.
#[derive(Debug, Clone, Serialize)]
pub struct JoinStats {
    /// The crate's version.
    pub version: &'static str,
    /// `join`.
    pub command: &'static str,
    /// The operation.
    pub operation: &'static str,
    /// The rule for the lines that were written, how often, and with which label.
    pub selection: Selection,
    /// The byte after each line: `newline` or `nul`.
    pub line_end: &'static str,
    /// Shards of this side and those after it may be filtered: 1 where a line must be in every side, 2 for a
    /// difference, `None` if no side may be.
    pub filters_from_side: Option<u32>,
    /// The job of all frames; `None` if none came.
    pub job: Option<String>,
    /// The buckets that were joined: those that were asked for, or of which frames came.
    pub joined: Vec<u32>,
    /// The lines that came from each side.
    pub sides: Vec<SideStats>,
    /// The result.
    pub output: OutputStats,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Memory of the process.
    pub memory: MemoryStats,
    /// Temporary disk.
    pub temp: TempStats,
    /// Buckets within the join.
    pub buckets: BucketStats,
    /// The phases.
    pub phases: Vec<PhaseStats>,
}

/// Formats a number of 64 bits for a report.
pub(super) fn hex(number: u64) -> String {
    format!("{number:016x}")
}

/// Names the byte after each line in a report.
pub(super) fn line_end(terminator: u8) -> &'static str {
    match terminator {
        0 => "nul",
        _ => "newline",
    }
}
