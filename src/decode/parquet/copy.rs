//! Copying rows of a file to a new one.
//!
//! *Owns:* [`RowCopy`]. *Invariants:* the new file has the columns of the old one, with their types, names and
//! compression, and the rows that were named, in their order; it is complete, or the copy fails. *Cost:* each column of
//! the row groups that have such rows is read once for each [`GROUP_ROWS`] rows; one column at a time is in memory, by
//! its pages.
//!
//! ```text
//!  numbers ──▶ as many as a row group gets
//!                for each column:  Pages ──▶ skip, read ──▶ column of the new row group
//! ```

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::basic::Type;
use ::parquet::data_type::{
    BoolType, ByteArrayType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
    Int96Type,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};

use crate::decode::compressed::{Signature, signature_of};
use crate::decode::file_state::FileState;
use crate::decode::io_error::unreadable;
use crate::decode::parquet::allowance::Allowance;
use crate::decode::parquet::column_copy::{ColumnCopy, FOOTER, USERS, WRITER_BYTES};
use crate::decode::parquet::footer::{chunk_of, read_footer};
use crate::decode::parquet::pages::damaged;
use crate::decode::parquet::{failure, group_name};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::memory::budget::MemoryBudget;
use crate::output::output_error;
use crate::sys::machine;

/// The share of the memory that a footer may take, as one by this number: the rest is for pages.
const FOOTER_SHARE: u64 = 2;
/// The most rows of a row group that is written.
const GROUP_ROWS: usize = 1 << 17;
/// The memory for the number of a row, in the file and again in its row group, in bytes.
const NUMBER_BYTES: u64 = 16;
/// The memory by which a process may grow until it copies the last of many files, in bytes: a limit that it is told to
/// have at the first must do for all.
const LATER_BYTES: u64 = 2 << 20;
/// The memory of a column of a row group that was written, in bytes.
const WRITTEN_COLUMN_BYTES: u64 = 1 << 10;

/// A Parquet file of which some rows are to be copied.
#[derive(Debug)]
pub struct RowCopy {
    path: PathBuf,
    file: Arc<File>,
    state: FileState,
    /// All rows of the file.
    rows: u64,
}

/// Is called with bytes and rows of the file that a copy is done with, which [`RowCopy::bytes_of`] foretells.
pub type Advance<'a> = &'a dyn Fn(u64, u64);

/// The result of a copy.
#[derive(Debug)]
pub struct Copied<W> {
    /// The target of the file, to be flushed.
    pub target: W,
    /// The bytes of the file.
    pub bytes: u64,
    /// The largest resident size that the process ever had, in bytes.
    pub peak_rss_bytes: u64,
}

/// The file that rows come from, and the memory for them.
struct RowSource<'a> {
    copy: &'a RowCopy,
    metadata: &'a ParquetMetaData,
    /// The number of the first row of each row group, and of all rows.
    starts: Vec<u64>,
    allowance: Arc<Allowance>,
    interrupt: &'a Interrupt,
    advance: Advance<'a>,
}

/// Rows of one row group among the numbers of a batch.
struct Span {
    group: usize,
    /// Their numbers, as indexes in the batch.
    numbers: Range<usize>,
}

impl RowCopy {
    /// Opens the file whose rows are to be copied. That is done before their numbers are found, so that a change since
    /// then is noticed.
    ///
    /// # Errors
    /// [`Error::Input`] where it cannot be read; [`Error::Usage`] where it is no Parquet file; [`Error::MemoryPlan`]
    /// where its footer takes too much of `memory_bytes`, which are for the whole process.
    pub fn open(path: &Path, memory_bytes: u64) -> Result<Self> {
        let fail = |error| unreadable(path, error);
        let metadata = std::fs::metadata(path).map_err(fail)?;
        // Before it is opened: a FIFO would be waited for.
        let file = metadata.is_file().then(|| File::open(path)).transpose();
        let file = file.map_err(fail)?;
        let is_parquet = |file: &File| {
            signature_of(file, metadata.len()).is_ok_and(|front| front == Signature::Parquet)
        };
        match file {
            Some(file) if is_parquet(&file) => {
                let state = FileState::of(&file.metadata().map_err(fail)?);
                let metadata = read_footer(&file, state.size, path, memory_bytes / FOOTER_SHARE)?;
                let rows = metadata.file_metadata().num_rows().max(0) as u64;
                drop(metadata);
                Ok(Self {
                    rows,
                    path: path.to_owned(),
                    state,
                    file: Arc::new(file),
                })
            }
            _ => Err(Error::usage(
                format!(
                    "{}: is not a Parquet file, so it has no rows for a .parquet output",
                    path.display()
                ),
                "put a Parquet file first, or give the output another name",
            )),
        }
    }

    /// Estimates the bytes of the file that `rows` of its rows take.
    pub fn bytes_of(&self, rows: u64) -> u64 {
        (self.state.size as f64 * rows as f64 / self.rows.max(1) as f64) as u64
    }

    /// Writes a file with these rows to `target`, which messages call `name`. `rows` are their numbers, from 0,
    /// ascending. The process has at most `memory_bytes` meanwhile.
    ///
    /// # Errors
    /// [`Error::Undecodable`] where the file is damaged, [`Error::InputChanged`], [`Error::MemoryPlan`] where a page
    /// takes more memory, [`Error::Output`] where the target cannot be written, what `rows` returns, and
    /// [`Error::Interrupted`].
    pub fn copy<W: Write + Send>(
        &self,
        rows: &mut dyn Iterator<Item = Result<u64>>,
        (mut target, name): (W, &str),
        memory_bytes: u64,
        (interrupt, advance): (&Interrupt, Advance<'_>),
    ) -> Result<Copied<W>> {
        let metadata = read_footer(
            &self.file,
            self.state.size,
            &self.path,
            memory_bytes / FOOTER_SHARE,
        )?;
        // What the process has by now stays: the footer is in it.
        let numbers_bytes = self.rows.min(GROUP_ROWS as u64) * NUMBER_BYTES;
        let beside = machine::resident_bytes() + WRITER_BYTES + numbers_bytes;
        let budget = MemoryBudget::new(memory_bytes.saturating_sub(beside), beside);
        let allowance =
            Allowance::new(self.path.clone(), USERS, &budget).beside(beside + LATER_BYTES);
        let mut starts = vec![0_u64];
        for group in metadata.row_groups() {
            let rows = group.num_rows().max(0) as u64;
            starts.push(starts[starts.len() - 1].saturating_add(rows));
        }
        let reading = RowSource {
            copy: self,
            metadata: &metadata,
            starts,
            allowance: Arc::new(allowance),
            interrupt,
            advance,
        };
        let unwritable = |error| output_error(name, "cannot write", as_io(error));
        let bytes = reading.write(rows, &mut target, &unwritable)?;
        let metadata = self
            .file
            .metadata()
            .map_err(|error| unreadable(&self.path, error))?;
        self.state.check(&FileState::of(&metadata), &self.path)?;
        Ok(Copied {
            target,
            bytes,
            peak_rss_bytes: machine::peak_resident_bytes(),
        })
    }
}

impl RowSource<'_> {
    /// Writes a file with these rows; returns its bytes.
    fn write(
        &self,
        rows: &mut dyn Iterator<Item = Result<u64>>,
        target: &mut (impl Write + Send),
        unwritable: &dyn Fn(ParquetError) -> Error,
    ) -> Result<u64> {
        let schema = self
            .metadata
            .file_metadata()
            .schema_descr()
            .root_schema_ptr();
        let properties = Arc::new(properties(self.metadata));
        let writer = SerializedFileWriter::new(target, schema, properties);
        let mut writer = writer.map_err(unwritable)?;
        let (mut numbers, mut columns) = (Vec::with_capacity(GROUP_ROWS), 0);
        loop {
            numbers.clear();
            for number in std::iter::from_fn(|| rows.next()).take(GROUP_ROWS) {
                numbers.push(number?);
            }
            if numbers.is_empty() {
                break;
            }
            let spans = self.spans(&numbers)?;
            let mut group = writer.next_row_group().map_err(unwritable)?;
            let mut leaf = 0;
            while let Some(column) = group.next_column().map_err(unwritable)? {
                self.copy_column(leaf, &numbers, &spans, column, unwritable)?;
                leaf += 1;
            }
            group.close().map_err(unwritable)?;
            (self.advance)(0, numbers.len() as u64);
            // It stays until the footer is written.
            columns += leaf as u64;
            self.allowance
                .grow_to(FOOTER, columns * WRITTEN_COLUMN_BYTES)?;
        }
        writer.finish().map_err(unwritable)?;
        Ok(writer.bytes_written() as u64)
    }

    /// Finds the row group of each of `numbers`.
    fn spans(&self, numbers: &[u64]) -> Result<Vec<Span>> {
        let mut spans = Vec::new();
        let mut first = 0;
        while let Some(&number) = numbers.get(first) {
            let group = self.starts.partition_point(|&start| start <= number);
            let Some(&end) = self.starts.get(group) else {
                let name = "the Parquet file";
                return Err(failure(
                    &self.copy.path,
                    name,
                    damaged("it has fewer rows than before"),
                ));
            };
            let behind = first + numbers[first..].partition_point(|&number| number < end);
            spans.push(Span {
                group: group - 1,
                numbers: first..behind,
            });
            first = behind;
        }
        Ok(spans)
    }

    /// Copies a column of the rows with these numbers.
    fn copy_column(
        &self,
        leaf: usize,
        numbers: &[u64],
        spans: &[Span],
        mut to: SerializedColumnWriter<'_>,
        unwritable: &dyn Fn(ParquetError) -> Error,
    ) -> Result<()> {
        let column = self.metadata.file_metadata().schema_descr().column(leaf);
        for span in spans {
            self.interrupt.check()?;
            let of_group = |number: &u64| number - self.starts[span.group];
            let rows: Vec<u64> = numbers[span.numbers.clone()].iter().map(of_group).collect();
            let group = group_name(span.group);
            let chunk = self.metadata.row_group(span.group).columns().get(leaf);
            let chunk = chunk.ok_or_else(|| damaged("a column is missing"));
            let chunk = chunk
                .and_then(|chunk| chunk_of(chunk, self.copy.state.size))
                .map_err(|error| failure(&self.copy.path, &group, error))?;
            let copy = ColumnCopy {
                file: &self.copy.file,
                column: &column,
                chunk,
                memory: &self.allowance,
                rows: &rows,
            };
            let copied = match column.physical_type() {
                Type::BOOLEAN => copy.append_to::<BoolType>(to.typed()),
                Type::INT32 => copy.append_to::<Int32Type>(to.typed()),
                Type::INT64 => copy.append_to::<Int64Type>(to.typed()),
                Type::INT96 => copy.append_to::<Int96Type>(to.typed()),
                Type::FLOAT => copy.append_to::<FloatType>(to.typed()),
                Type::DOUBLE => copy.append_to::<DoubleType>(to.typed()),
                Type::BYTE_ARRAY => copy.append_to::<ByteArrayType>(to.typed()),
                Type::FIXED_LEN_BYTE_ARRAY => copy.append_to::<FixedLenByteArrayType>(to.typed()),
            };
            copied.map_err(|error| match error {
                // What the system says of the target; all else comes from what was read.
                ParquetError::External(source) if source.is::<io::Error>() => {
                    unwritable(ParquetError::External(source))
                }
                error => failure(&self.copy.path, &group, error),
            })?;
            let columns = self.metadata.file_metadata().schema_descr().num_columns();
            let bytes = self.copy.bytes_of(span.numbers.len() as u64);
            (self.advance)(bytes / columns.max(1) as u64, 0);
        }
        to.close().map_err(unwritable)
    }
}

/// Returns the properties of the new file: the compression of the old one, with what its writer noted in it.
fn properties(metadata: &ParquetMetaData) -> WriterProperties {
    let notes = metadata.file_metadata().key_value_metadata().cloned();
    // An index of the pages would be held in memory until the end.
    let mut builder = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by(concat!("outset ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(notes);
    for column in metadata
        .row_groups()
        .first()
        .map_or(&[][..], |group| group.columns())
    {
        let path = column.column_path().clone();
        if column.column_descr().max_rep_level() > 0 {
            // The pages of a dictionary wait for the end of their row group, and lists have any number of values.
            builder = builder.set_column_dictionary_enabled(path.clone(), false);
        }
        builder = builder.set_column_compression(path, column.compression());
    }
    builder.build()
}

/// Returns a failure of the writer as the system told it.
fn as_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(own) => *own,
            Err(other) => io::Error::other(other.to_string()),
        },
        other => io::Error::other(other),
    }
}
