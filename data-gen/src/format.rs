//! The format of the files: lines, compressed lines, or records.
//!
//! *Owns:* the choice, and the way from lines to a file. *Invariants:* none of it changes a line. *Cost:* that of the
//! encoder.

use std::io::{self, BufWriter, Write};

use crate::compress::{Compression, Encoder};
use crate::records::{RecordWriter, Records};

/// A format of files other than plain lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// gzip, `.gz`.
    Gzip,
    /// bzip2, `.bz2`.
    Bzip2,
    /// xz, `.xz`.
    Xz,
    /// zstd with checksums, `.zst`.
    Zstd,
    /// The frame format of lz4 with checksums, `.lz4`.
    Lz4,
    /// gzip in blocks, as bgzip writes it, `.gz`.
    Bgzf,
    /// zstd in frames, as pzstd writes it, `.zst`.
    Pzstd,
    /// Comma-separated values with a header: number, line, note.
    Csv,
    /// The same between tabs.
    Tsv,
    /// A JSON object in each line, with number and line.
    Jsonl,
    /// Parquet, with the columns number, line and note.
    Parquet,
}

impl Format {
    /// Returns the compression of lines, if that is the format.
    fn compression(self) -> Option<Compression> {
        Some(match self {
            Self::Gzip => Compression::Gzip,
            Self::Bzip2 => Compression::Bzip2,
            Self::Xz => Compression::Xz,
            Self::Zstd => Compression::Zstd,
            Self::Lz4 => Compression::Lz4,
            Self::Bgzf => Compression::Bgzf,
            Self::Pzstd => Compression::Pzstd,
            Self::Csv | Self::Tsv | Self::Jsonl | Self::Parquet => return None,
        })
    }

    /// Returns the kind of records, if that is the format.
    fn records(self) -> Option<Records> {
        match self {
            Self::Csv => Some(Records::Csv),
            Self::Tsv => Some(Records::Tsv),
            Self::Jsonl => Some(Records::Jsonl),
            Self::Parquet => Some(Records::Parquet),
            _ => None,
        }
    }

    /// Returns the ending of names of such files: `txt.gz`, `csv`.
    pub(crate) fn suffix(self) -> String {
        match (self.compression(), self.records()) {
            (_, Some(records)) => records.suffix().to_owned(),
            (Some(compression), _) => format!("txt.{}", compression.suffix_and_program().0),
            (None, None) => "txt".to_owned(),
        }
    }
}

/// Writes lines in a format.
pub(crate) enum LineWriter<W: Write + Send> {
    Lines(Box<Encoder<W>>),
    Records(Box<RecordWriter<BufWriter<W>>>),
}

impl<W: Write + Send> LineWriter<W> {
    /// Writes to `output` in this format, `None` as plain lines; they end in `terminator`.
    pub(crate) fn new(format: Option<Format>, terminator: u8, output: W) -> io::Result<Self> {
        Ok(match format.and_then(Format::records) {
            Some(records) => {
                let output = BufWriter::with_capacity(1 << 16, output);
                Self::Records(Box::new(RecordWriter::new(records, terminator, output)?))
            }
            None => {
                let compression = format.and_then(Format::compression);
                Self::Lines(Box::new(Encoder::new(compression, output)?))
            }
        })
    }

    /// Writes what the format has behind the last line.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Lines(encoder) => encoder.finish().map(drop),
            Self::Records(records) => records.finish()?.flush(),
        }
    }
}

impl<W: Write + Send> Write for LineWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Lines(encoder) => encoder.write(bytes),
            Self::Records(records) => records.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Lines(encoder) => encoder.flush(),
            Self::Records(records) => records.flush(),
        }
    }
}
