//! Lines as a column of records.
//!
//! *Owns:* the formats with columns that outset reads, and writing them. *Invariants:* the field or column `line` of
//! the records has the lines of the plain file, in their order; the manifest is that of these lines. *Cost:* one
//! thread; of Parquet the lines of a row group in memory, a few MiB.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// The names of the columns; the second has the lines.
const NAMES: [&str; 3] = ["number", "line", "note"];
/// Rows of a row group.
const GROUP_ROWS: usize = 100_000;

/// A format of files with columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Records {
    /// Comma-separated values with a header, as in RFC 4180.
    Csv,
    /// Values between tabs, with a header.
    Tsv,
    /// A JSON object in each line.
    Jsonl,
    /// Parquet, its pages compressed with snappy.
    Parquet,
}

impl Records {
    /// Returns the ending of names of such files.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
        }
    }
}

/// Writes the lines that are written to it as records.
pub(crate) struct RecordWriter<W: Write + Send> {
    output: Output<W>,
    /// The byte that ends a line.
    terminator: u8,
    /// The beginning of a line whose end has not come.
    unfinished: Vec<u8>,
    /// Lines so far.
    number: i64,
}

enum Output<W: Write + Send> {
    Text(Records, W),
    /// With the lines of a row group.
    Table(Box<SerializedFileWriter<W>>, Vec<ByteArray>),
}

impl<W: Write + Send> RecordWriter<W> {
    /// Writes to `output`; lines end in `terminator`.
    pub(crate) fn new(records: Records, terminator: u8, mut output: W) -> io::Result<Self> {
        let output = match records {
            Records::Csv => {
                writeln!(output, "{}", NAMES.join(","))?;
                Output::Text(records, output)
            }
            Records::Tsv => {
                writeln!(output, "{}", NAMES.join("\t"))?;
                Output::Text(records, output)
            }
            Records::Jsonl => Output::Text(records, output),
            Records::Parquet => {
                let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
                let properties = Arc::new(properties.build());
                let writer = SerializedFileWriter::new(output, schema()?, properties);
                Output::Table(Box::new(writer.map_err(io_error)?), Vec::new())
            }
        };
        Ok(Self {
            output,
            terminator,
            unfinished: Vec::new(),
            number: 0,
        })
    }

    /// Writes what is left; returns the output.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        if !self.unfinished.is_empty() {
            let line = std::mem::take(&mut self.unfinished);
            self.line(&line)?;
        }
        match self.output {
            Output::Text(_, output) => Ok(output),
            Output::Table(mut writer, mut lines) => {
                write_group(&mut writer, &mut lines, self.number)?;
                writer.into_inner().map_err(io_error)
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let number = self.number;
        self.number += 1;
        match &mut self.output {
            Output::Text(Records::Csv, output) => {
                let text = String::from_utf8_lossy(line);
                if text.as_bytes() == line && !text.contains([',', '"', '\n', '\r']) {
                    return writeln!(output, "{number},{text},\"note, {}\"", number % 7);
                }
                write!(output, "{number},\"")?;
                for piece in line.split_inclusive(|&byte| byte == b'"') {
                    output.write_all(piece)?;
                    output.write_all(if piece.ends_with(b"\"") { b"\"" } else { b"" })?;
                }
                writeln!(output, "\",\"note, {}\"", number % 7)
            }
            Output::Text(Records::Tsv, output) => {
                if line.contains(&b'\t') || line.contains(&b'\n') {
                    return Err(unfit("a line has a tab or a newline"));
                }
                write!(output, "{number}\t")?;
                output.write_all(line)?;
                writeln!(output, "\tnote {}", number % 7)
            }
            Output::Text(_, output) => {
                let text = std::str::from_utf8(line).map_err(|_| unfit("a line is not UTF-8"))?;
                let text = serde_json::to_string(text)?;
                writeln!(output, "{{\"number\":{number},\"line\":{text}}}")
            }
            Output::Table(writer, lines) => {
                lines.push(ByteArray::from(line.to_vec()));
                if lines.len() < GROUP_ROWS {
                    return Ok(());
                }
                write_group(writer, lines, self.number)
            }
        }
    }
}

impl<W: Write + Send> Write for RecordWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|&byte| byte == self.terminator) {
            if self.unfinished.is_empty() {
                self.line(&rest[..end])?;
            } else {
                let mut line = std::mem::take(&mut self.unfinished);
                line.extend_from_slice(&rest[..end]);
                self.line(&line)?;
            }
            rest = &rest[end + 1..];
        }
        self.unfinished.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.output {
            Output::Text(_, output) => output.flush(),
            Output::Table(..) => Ok(()),
        }
    }
}

fn schema() -> io::Result<Arc<Type>> {
    let column = |name, physical, converted| {
        let column = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_converted_type(converted);
        column.build().map(Arc::new).map_err(io_error)
    };
    let columns = vec![
        column(NAMES[0], Physical::INT64, ConvertedType::NONE)?,
        column(NAMES[1], Physical::BYTE_ARRAY, ConvertedType::NONE)?,
        column(NAMES[2], Physical::BYTE_ARRAY, ConvertedType::UTF8)?,
    ];
    let schema = Type::group_type_builder("schema")
        .with_fields(columns)
        .build();
    schema.map(Arc::new).map_err(io_error)
}

/// Writes these lines, the last of `number` in all, as a row group.
fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    lines: &mut Vec<ByteArray>,
    number: i64,
) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let numbers: Vec<i64> = (number - lines.len() as i64..number).collect();
    let note = |number: &i64| ByteArray::from(format!("note {}", number % 7).into_bytes());
    let notes: Vec<ByteArray> = numbers.iter().map(note).collect();
    let mut group = writer.next_row_group().map_err(io_error)?;
    let mut leaf = 0;
    while let Some(mut column) = group.next_column().map_err(io_error)? {
        let written = match leaf {
            0 => column
                .typed::<Int64Type>()
                .write_batch(&numbers, None, None),
            1 => column
                .typed::<ByteArrayType>()
                .write_batch(lines, None, None),
            _ => column
                .typed::<ByteArrayType>()
                .write_batch(&notes, None, None),
        };
        written.map_err(io_error)?;
        column.close().map_err(io_error)?;
        leaf += 1;
    }
    group.close().map_err(io_error)?;
    lines.clear();
    Ok(())
}

fn unfit(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn io_error(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
