//! Warnings about runs that succeed.
//!
//! *Owns:* the conditions worth a warning, and their texts. *Invariants:* a notice changes neither the
//! result nor the exit status; each has the form of an error, `OBJECT: what happened: what to do about
//! it`, on one line.

use std::fmt;
use std::path::PathBuf;

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
        /// What it seems to be.
        kind: Foreign,
    },
    /// Records of an input have no key, and were left out as asked for.
    BadRecords {
        /// The input.
        input: PathBuf,
        /// How many lines, or rows, they are.
        count: u64,
    },
    /// Rows of Parquet files have NULL in a column of the key, and were left out.
    NullRows {
        /// The input.
        input: PathBuf,
        /// How many.
        count: u64,
    },
    /// Zeros, line ends or blanks follow the last member of a gzip file, and were passed over.
    Padding {
        /// The file.
        input: PathBuf,
        /// How many bytes.
        bytes: u64,
    },
    /// The temporary directory is on a file system in memory (tmpfs or ramfs).
    TempInMemory {
        /// The temporary directory.
        place: PathBuf,
    },
}

/// What is not plain text, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// Text with a byte order mark of UTF-8, which belongs to the first line.
    ByteOrderMark,
    /// Text in UTF-16, of either byte order.
    Utf16,
    /// A zip archive.
    Zip,
    /// A Parquet file.
    Parquet,
    /// An `SQLite` database.
    Sqlite,
    /// Fields behind a line that tells Excel what separates them, such as `sep=;`.
    DelimiterNote,
}

impl Foreign {
    /// The first bytes of each.
    const FRONTS: [(&[u8], Self); 6] = [
        (b"\xef\xbb\xbf", Self::ByteOrderMark),
        (b"\xff\xfe", Self::Utf16),
        (b"\xfe\xff", Self::Utf16),
        (b"PK\x03\x04", Self::Zip),
        (b"PAR1", Self::Parquet),
        (b"SQLite format 3\0", Self::Sqlite),
    ];

    /// What `front`, the first bytes of a file, is the beginning of; `None` where nothing speaks against lines.
    pub(crate) fn of(front: &[u8]) -> Option<Self> {
        let found = Self::FRONTS
            .iter()
            .find(|(bytes, _)| front.starts_with(bytes));
        found.map(|&(_, kind)| kind)
    }

    /// What it is, and what to do about it.
    fn words(self) -> &'static str {
        match self {
            Self::ByteOrderMark => {
                "begins with a byte order mark, which counts as a part of the first line: remove it with tail -c +4 (decompress a compressed file first)"
            }
            Self::Utf16 => {
                "seems to be UTF-16, but outset compares bytes: convert it with iconv -f UTF-16 -t UTF-8"
            }
            Self::Zip => "is a zip archive, which is read as it is: unpack it with unzip -p",
            Self::Parquet => {
                "seems to be a Parquet file, but is read as it is: leave out --decompress none, and name its column with --key"
            }
            Self::Sqlite => {
                "is an SQLite database, which is read as it is: export the column as lines first"
            }
            Self::DelimiterNote => {
                "begins with a line sep=C, which Excel takes for a note about the delimiter, and which is read as a record or header: remove it with tail -n +2, and give C with --delimiter"
            }
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CarriageReturns { with, without } => write!(
                f,
                "{}: most lines end in CR LF, but most lines of {} do not, so they cannot match: use --strip-cr to ignore the CR",
                with.display(),
                without.display()
            ),
            Self::KeptCarriageReturns { input } => write!(
                f,
                "{}: most lines end in CR LF, and the filter takes the CR for a part of each, so lines without it do not match: use --strip-cr to ignore the CR",
                input.display()
            ),
            Self::EqualFirstLines { input } => write!(
                f,
                "{}: the first lines of all files are equal: if they are headers, add --header (-H)",
                input.display()
            ),
            Self::Foreign { input, kind } => write!(f, "{}: {}", input.display(), kind.words()),
            Self::BadRecords { input, count } => write!(
                f,
                "{}: left out {}: --bad-records fail shows the first",
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
            Self::TempInMemory { place } => write!(
                f,
                "{}: temporary files here use memory that the limit does not count (tmpfs or ramfs): choose a directory on disk with --temp-dir",
                place.display()
            ),
        }
    }
}
