//! Warnings about runs that succeed.
//!
//! *Owns:* the conditions worth a warning, and their texts. *Invariants:* a notice changes neither the
//! result nor the exit status; each has the form of an error, `OBJECT: what happened: what to do about
//! it`, on one line.

mod foreign;

use std::fmt;
use std::path::PathBuf;

pub use crate::notice::foreign::Foreign;

/// Something that is not a failure but probably not what the user meant. The run passes it to the
/// [`Observer`](crate::Observer).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// More than half of the sampled lines of one input end in a CR, and at most half of another's do:
    /// hardly any line of the one can be in the other.
    CarriageReturns {
        /// The input whose lines end in a CR.
        with: PathBuf,
        /// The input whose lines do not.
        without: PathBuf,
    },
    /// Most of the sampled lines of one input that are not ASCII are UTF-8, and most of another's are not: none of the
    /// one can be in the other.
    Encodings {
        /// The input whose lines are UTF-8.
        utf8: PathBuf,
        /// The input whose lines are not.
        other: PathBuf,
    },
    /// More than half of the sampled lines of an input end in a CR, which a filter takes for a part of them.
    KeptCarriageReturns {
        /// The input.
        input: PathBuf,
    },
    /// The first lines of all files are equal, and could name fields, but none of the files is said to have a header.
    EqualFirstLines {
        /// The first input.
        input: PathBuf,
    },
    /// An input begins like something else than plain lines. Its bytes are read as lines all the same.
    Foreign {
        /// The input.
        input: PathBuf,
        /// The kind of data that it seems to be.
        kind: Foreign,
    },
    /// Records of an input have no key, and were left out as asked for.
    BadRecords {
        /// The input.
        input: PathBuf,
        /// The number of these lines, or rows.
        count: u64,
    },
    /// Rows of Parquet files have NULL in a column of the key, and were left out.
    NullRows {
        /// The input.
        input: PathBuf,
        /// The number of these rows.
        count: u64,
    },
    /// The records with a key are ranked by a number that no record of an input has: the first of each key counts.
    NoNumbers {
        /// The input.
        input: PathBuf,
        /// The field, as the caller named it.
        field: String,
    },
    /// Zeros, line ends or blanks follow the last member of a gzip file, and were passed over.
    Padding {
        /// The file.
        input: PathBuf,
        /// The number of bytes.
        bytes: u64,
    },
    /// The caller asked for so many buckets that their files take long to create and remove.
    ManyFiles {
        /// The buckets asked for.
        buckets: u32,
        /// The files, at most.
        files: u64,
        /// About how many seconds they take.
        seconds: u64,
        /// The buckets that would do; 0 if the number should be left to the planner.
        enough_buckets: u32,
    },
    /// The temporary directory is on a file system in memory (tmpfs or ramfs).
    TempInMemory {
        /// The temporary directory.
        directory: PathBuf,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CarriageReturns { with, without } => write!(
                f,
                "{}: most lines end in CR LF, but most lines of {} do not, so they cannot match: use `strip_cr` to ignore the CR",
                with.display(),
                without.display()
            ),
            Self::Encodings { utf8, other } => write!(
                f,
                "{}: most lines with letters beyond ASCII are not UTF-8, but those of {} are, so they cannot match: convert it, for example with iconv -f CP1252 -t UTF-8",
                other.display(),
                utf8.display()
            ),
            Self::KeptCarriageReturns { input } => write!(
                f,
                "{}: most lines end in CR LF, and the filter takes the CR for a part of each, so lines without it do not match: if it was built of lines without CR, use `strip_cr`",
                input.display()
            ),
            Self::EqualFirstLines { input } => write!(
                f,
                "{}: the first lines of all files are equal: if they are headers, add `has_header`",
                input.display()
            ),
            Self::Foreign { input, kind } => write!(f, "{}: {kind}", input.display()),
            Self::BadRecords { input, count } => write!(
                f,
                "{}: left out {}: `BadRecords::Fail` shows the first",
                input.display(),
                if *count == 1 {
                    "1 line without a key".to_owned()
                } else {
                    format!("{count} lines without a key")
                }
            ),
            Self::NullRows { input, count } => write!(
                f,
                "{}: left out {} with NULL in the key: NULL is not equal to anything, not even NULL",
                input.display(),
                if *count == 1 {
                    "1 row".to_owned()
                } else {
                    format!("{count} rows")
                }
            ),
            Self::NoNumbers { input, field } => write!(
                f,
                "{}: no record has a number in field {field}, so `ranking` cannot choose among them: name a field that has one",
                input.display()
            ),
            Self::Padding { input, bytes } => write!(
                f,
                "{}: {} behind the gzip data {} passed over, because zeros, line ends and blanks are no data: make sure that the file is complete",
                input.display(),
                if *bytes == 1 {
                    "1 byte".to_owned()
                } else {
                    format!("{bytes} bytes")
                },
                if *bytes == 1 { "was" } else { "were" }
            ),
            Self::ManyFiles {
                buckets,
                files,
                seconds,
                enough_buckets,
            } => write!(
                f,
                "`buckets` {buckets}: makes up to {files} temporary files, which take about {seconds} s to create and remove (much longer if many were removed in the last minutes): {}",
                match enough_buckets {
                    0 => "leave the option out".to_owned(),
                    enough => format!("{enough} are enough"),
                }
            ),
            Self::TempInMemory { directory } => write!(
                f,
                "{}: temporary files here use memory that the limit does not count (tmpfs or ramfs): choose a directory on disk with `temp_dirs`",
                directory.display()
            ),
        }
    }
}
