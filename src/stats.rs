//! The numbers of a run. The field names are stable: scripts read them.
//!
//! *Owns:* [`Stats`] and its parts. *Invariants:* everything here was counted or measured in this
//! run, except what is called predicted or expected. Sizes are bytes, rates are in 0..1.

use serde::Serialize;

/// The report of a run (`--stats`).
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// The crate's version.
    pub version: &'static str,
    /// The command that ran.
    pub command: &'static str,
    /// The strategy that ran.
    pub strategy: String,
    /// True if every line of the result was compared byte by byte.
    pub exact: bool,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// The most threads that might work on lines at a time; fewer start where there is less to do.
    pub threads: usize,
    /// The inputs, in the order given, each file once.
    pub inputs: Vec<InputStats>,
    /// The result.
    pub output: OutputStats,
    /// The files that the result is divided by ([`Sink::divides_by_file`](crate::Sink::divides_by_file)), in the order
    /// of their lines; empty for any other result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileStats>,
    /// The lines of the result that came most often, the largest group first, where occurrences were counted: up to
    /// ten that came more than once. They are text of the inputs, so no report of the command has them but its page.
    #[serde(skip)]
    pub groups: Option<Vec<GroupStats>>,
    /// Memory of the process.
    pub memory: MemoryStats,
    /// Temporary disk.
    pub temp: TempStats,
    /// Buckets.
    pub buckets: BucketStats,
    /// The filter that was asked first, when one was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterStats>,
    /// The phases, in the order they began.
    pub phases: Vec<PhaseStats>,
}

/// An input.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct InputStats {
    /// Its path, `-` for standard input; of a side of many files, what they are called together.
    pub path: String,
    /// Its short name ([`Options::labels`](crate::Options::labels)).
    pub label: String,
    /// The number of the first side that it is, from 1.
    #[serde(skip)]
    pub(crate) side: u32,
    /// Number of its files, if it is a list of files ([`Source::Files`](crate::Source::Files)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Its bytes, as they are when they are decoded. Of Parquet files what was read as keys or records, with all that
    /// tells these apart: for the same file it depends on the question.
    pub bytes: u64,
    /// The bytes of its files, where some of them are compressed or are Parquet files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_bytes: Option<u64>,
    /// Its lines, repeats included.
    pub lines: u64,
    /// Lines that were left out because their records have no key; only where lines are records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bad_records: Option<u64>,
    /// Blank lines and comments, which are no records; only where lines are records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed_over: Option<u64>,
    /// Rows that were left out because they have NULL in the key; only of Parquet files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null_rows: Option<u64>,
}

/// The result.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[non_exhaustive]
pub struct OutputStats {
    /// Lines written, each once.
    pub lines: u64,
    /// Their bytes, terminators included.
    pub bytes: u64,
    /// The bytes of the header before them, its terminator included; 0 if there is none.
    pub header_bytes: u64,
}

/// A file whose lines are written to a file of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileStats {
    /// Its path.
    pub path: String,
    /// Its lines or rows that were compared, repeats included: its part of [`InputStats::lines`], without headers,
    /// blank lines, comments, and records without a key.
    pub lines: u64,
    /// Those of them that were written.
    pub written: u64,
}

/// A line or key that came more than once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GroupStats {
    /// The times that it came, in all inputs together.
    pub occurrences: u64,
    /// The bytes of the line; of a record, of the one that was written.
    pub bytes: u64,
    /// The first 200 of them.
    pub beginning: Vec<u8>,
}

/// Memory of the process.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[non_exhaustive]
pub struct MemoryStats {
    /// The limit.
    pub limit_bytes: u64,
    /// The peak resident size, as the system counts it.
    pub peak_rss_bytes: u64,
}

/// Temporary disk.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[non_exhaustive]
pub struct TempStats {
    /// Bytes written to it.
    pub written_bytes: u64,
    /// Bytes read from it.
    pub read_bytes: u64,
    /// The most it held at one time.
    pub peak_bytes: u64,
    /// Files made.
    pub files: u64,
}

/// Buckets.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct BucketStats {
    /// Buckets on the first level.
    pub count: u32,
    /// Buckets that did not fit memory and were split.
    pub split: u64,
    /// Lines of the largest bucket of one input.
    pub largest_lines: u64,
    /// Split levels in use; 1 if nothing was split, 0 without buckets.
    pub levels: u32,
    /// The buckets of all inputs on the first level by their lines, in classes of equal width.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<BucketClass>,
}

/// The buckets of about one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BucketClass {
    /// The fewest lines of a bucket in the class.
    pub from_lines: u64,
    /// The most lines of a bucket in the class.
    pub to_lines: u64,
    /// Number of its buckets.
    pub buckets: u64,
}

impl BucketClass {
    /// The most classes.
    const MOST: u64 = 24;

    /// Counts buckets by their numbers of `lines`.
    pub(crate) fn classes(lines: impl Iterator<Item = u64> + Clone) -> Vec<Self> {
        let (Some(least), Some(most)) = (lines.clone().min(), lines.clone().max()) else {
            return Vec::new();
        };
        let width = (most - least + 1).div_ceil(Self::MOST);
        let mut classes: Vec<Self> = (least..=most)
            .step_by(width as usize)
            .map(|from_lines| Self {
                from_lines,
                to_lines: from_lines + width - 1,
                buckets: 0,
            })
            .collect();
        for lines in lines {
            classes[((lines - least) / width) as usize].buckets += 1;
        }
        classes
    }
}

/// A filter.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FilterStats {
    /// Its kind.
    pub kind: &'static str,
    /// Its size in bits.
    pub bits: u64,
    /// Bits set per key.
    pub hashes: u32,
    /// Keys inserted, repeats included.
    pub keys: u64,
    /// Bits over keys.
    pub bits_per_key: f64,
    /// The rate predicted from size and keys.
    pub predicted_fpr: f64,
    /// The share of bits set.
    pub fill: f64,
    /// The rate that follows from the fill.
    pub fill_fpr: f64,
    /// The expected number of different lines of the last input that passed by mistake, from the fill and from about
    /// how many different ones were refused. 0 for exact strategies, which remove such lines.
    pub expected_false_lines: f64,
    /// The expected number of lines that are missing from an approximate difference or union, because the filter took
    /// them for lines that it has; it follows from the fill. 0 for all other results, and then absent.
    #[serde(skip_serializing_if = "is_zero")]
    pub expected_missing_lines: f64,
}

/// Tells whether nothing is expected, so that a field is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) fn is_zero(lines: &f64) -> bool {
    *lines == 0.0
}

/// A phase of a run.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct PhaseStats {
    /// Its name.
    pub name: String,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Bytes read, from inputs and temporary files.
    pub bytes_read: u64,
    /// Bytes written to temporary files.
    pub bytes_written: u64,
    /// Lines seen.
    pub lines: u64,
}
