//! The kinds of input that are not plain lines.
//!
//! *Owns:* the kinds that are told apart, and what messages say of each: what it seems to be, and what to do.
//! *Invariants:* a kind is a guess from the first bytes; the bytes are read as lines all the same.

use std::fmt;

/// A kind of data that is not plain text, by the first bytes of the decoded data and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// Text with a byte order mark of UTF-8, which belongs to the first line.
    ByteOrderMark,
    /// Text in UTF-16 with a byte order mark.
    Utf16,
    /// Text in UTF-16 without a mark, the low byte first.
    Utf16Little,
    /// Text in UTF-16 without a mark, the high byte first.
    Utf16Big,
    /// Text in UTF-32.
    Utf32,
    /// Text whose lines end in CR alone.
    LoneCarriageReturns,
    /// Text of which about half of the lines end in CR LF, and the others in LF.
    MixedLineEnds,
    /// A page in HTML or a document in XML.
    Markup,
    /// Fields after a line that tells Excel what separates them, such as `sep=;`.
    DelimiterNote,
    /// A tar archive.
    Tar,
    /// A zip archive.
    Zip,
    /// A 7z archive.
    SevenZip,
    /// A rar archive.
    Rar,
    /// Compressed data that could be decoded, but is to be read as it is.
    Compressed,
    /// Compressed data in what was decoded.
    CompressedTwice,
    /// Data of `compress`, `.Z`.
    Compress,
    /// Data of LZMA without the container of xz.
    Lzma,
    /// Data of lzip.
    Lzip,
    /// Data of lzop.
    Lzop,
    /// A zlib stream, without the header of gzip.
    Zlib,
    /// Snappy, in frames or in the blocks of Hadoop.
    Snappy,
    /// Brotli, by its name.
    Brotli,
    /// A Parquet file that is read as it is.
    Parquet,
    /// A Parquet file in what was decoded.
    ParquetInside,
    /// An ORC file.
    Orc,
    /// An Arrow or Feather file.
    Arrow,
    /// An Avro file.
    Avro,
    /// An `SQLite` database.
    Sqlite,
    /// Text under a name that says that it is compressed.
    Misnamed,
    /// Binary data of an unknown kind.
    Binary,
}

impl Foreign {
    /// Says what it is or seems to be, and what to do about it.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::ByteOrderMark => (
                "begins with a byte order mark, which counts as a part of the first line",
                "remove it with tail -c +4 (decompress a compressed file first)",
            ),
            Self::Utf16 => (
                "seems to be UTF-16, but outset compares bytes",
                "convert it with iconv -f UTF-16 -t UTF-8",
            ),
            Self::Utf16Little => (
                "seems to be UTF-16 without a byte order mark, but outset compares bytes",
                "convert it with iconv -f UTF-16LE -t UTF-8",
            ),
            Self::Utf16Big => (
                "seems to be UTF-16 without a byte order mark, but outset compares bytes",
                "convert it with iconv -f UTF-16BE -t UTF-8",
            ),
            Self::Utf32 => (
                "seems to be UTF-32, but outset compares bytes",
                "convert it with iconv -f UTF-32 -t UTF-8",
            ),
            Self::LoneCarriageReturns => (
                "has lines that seem to end in CR alone, so it is read as one line",
                "convert it with tr '\\r' '\\n'",
            ),
            Self::MixedLineEnds => (
                "has lines that end in CR LF and lines that end in LF alone, which do not match",
                "use `strip_cr` to ignore the CR",
            ),
            Self::Markup => (
                "seems to be an HTML page or an XML document, such as the error page of a server",
                "look at its first lines, and fetch the file again if it should be another",
            ),
            Self::DelimiterNote => (
                "begins with a line sep=C, which Excel takes for a note about the delimiter, and which is read as a record or header",
                "remove it with tail -n +2, and give C with `delimiter`",
            ),
            Self::Misnamed => (
                "is not compressed as its name says, and seems to be plain text, which is read as it is",
                "check where it comes from, or rename it",
            ),
            _ => self.words_of_data(),
        }
    }

    /// Words the kinds of data that are no text.
    fn words_of_data(self) -> (&'static str, &'static str) {
        match self {
            Self::Tar => (
                "seems to be a tar archive, which is read as it is",
                "unpack it, for example with <(tar -xOf FILE)",
            ),
            Self::Zip => (
                "is a zip archive, which is read as it is",
                "unpack it with unzip -p",
            ),
            Self::SevenZip => (
                "seems to be a 7z archive, which is read as it is",
                "unpack it with 7z e -so",
            ),
            Self::Rar => (
                "seems to be a rar archive, which is read as it is",
                "unpack it with unrar p -inul",
            ),
            Self::Parquet => (
                "seems to be a Parquet file, but is read as it is",
                "leave out `decompress: false`, and name its column with `keys`",
            ),
            Self::ParquetInside => (
                "seems to be a compressed Parquet file, whose content is read as lines",
                "decompress it to a file, and name its column with `keys`",
            ),
            Self::Orc => (
                "seems to be an ORC file, which is read as it is",
                "export the column as lines, or write it as Parquet",
            ),
            Self::Arrow => (
                "seems to be an Arrow or Feather file, which is read as it is",
                "export the column as lines, or write it as Parquet",
            ),
            Self::Avro => (
                "seems to be an Avro file, which is read as it is",
                "export the column as lines, or write it as Parquet",
            ),
            Self::Sqlite => (
                "is an SQLite database, which is read as it is",
                "export the column as lines first",
            ),
            Self::Compressed
            | Self::CompressedTwice
            | Self::Compress
            | Self::Lzma
            | Self::Lzip
            | Self::Lzop
            | Self::Zlib
            | Self::Snappy
            | Self::Brotli => self.words_of_compressed(),
            _ => (
                "seems to be binary data, not plain text, and is read as it is",
                "export it as lines (if its lines end in NUL, add -z)",
            ),
        }
    }

    /// Words the kinds of compressed data.
    fn words_of_compressed(self) -> (&'static str, &'static str) {
        match self {
            Self::Compressed => (
                "seems to be compressed, but is read as it is",
                "leave out `decompress: false`",
            ),
            Self::CompressedTwice => (
                "seems to be compressed twice, and is decompressed once",
                "decompress it once before, for example with gzip -dc, zstd -dc or xz -dc",
            ),
            Self::Compress => (
                "seems to be compressed with compress (.Z), and is read as it is",
                "decompress it with gzip -dc",
            ),
            Self::Lzma => (
                "seems to be compressed with lzma, and is read as it is",
                "decompress it with xz -dc",
            ),
            Self::Lzip => (
                "seems to be compressed with lzip, and is read as it is",
                "decompress it with lzip -dc",
            ),
            Self::Lzop => (
                "seems to be compressed with lzop, and is read as it is",
                "decompress it with lzop -dc",
            ),
            Self::Zlib => (
                "seems to be compressed with zlib (deflate), and is read as it is",
                "decompress it, for example with pigz -dc",
            ),
            Self::Snappy => (
                "seems to be compressed with snappy, and is read as it is",
                "decompress it with snzip -dc (-t hadoop-snappy for files of Hadoop)",
            ),
            _ => (
                "seems to be compressed with brotli, and is read as it is",
                "decompress it with brotli -dc",
            ),
        }
    }

    /// Says what to do about it.
    pub(crate) fn advice(self) -> &'static str {
        self.words().1
    }

    /// Says what it is or seems to be, without what to do.
    pub(crate) fn description(self) -> &'static str {
        self.words().0
    }

    /// Tells whether its lines are no lines of a text, so that it is the likely reason where no field has a name, or no
    /// record a key.
    pub(crate) fn explains_errors(self) -> bool {
        !matches!(
            self,
            Self::ByteOrderMark | Self::MixedLineEnds | Self::DelimiterNote | Self::Misnamed
        )
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, advice) = self.words();
        write!(f, "{what}: {advice}")
    }
}
