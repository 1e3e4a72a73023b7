//! Copying rows of a file to a new one.
//!
//! *Owns:* [`RowCopy`]. *Invariants:* the new file has the columns of the old one, with their types, names and compression, and
//! the rows that were named, in their order; it is complete, or the copy fails. *Cost:* each column of the row groups that have
//! such rows is read once for each [`GROUP_ROWS`] rows; one column at a time is in memory, by its pages.
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
use std::sync::atomic::Ordering;

use ::parquet::basic::Type;
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::column::writer::ColumnWriterImpl;
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::ColumnDescPtr;

use crate::error::{Error, Result};
use crate::input::parquet::allowance::Allowance;
use crate::input::parquet::column::{guarded, layout};
use crate::input::parquet::footer::{chunk_of, is_parquet, read_footer};
use crate::input::parquet::pages::{Given, Pages, VALUE_BYTES, damaged};
use crate::input::parquet::{failure, group_name};
use crate::input::parts::FileState;
use crate::input::unreadable;
use crate::interrupt::Interrupt;
use crate::memory::budget::MemoryBudget;
use crate::output::output_error;
use crate::sys::machine;

/// The share of the memory that a footer may take, as one by this number: the rest is for pages.
const FOOTER_SHARE: u64 = 2;
/// The most rows of a row group that is written.
const GROUP_ROWS: usize = 1 << 17;
/// What is remembered of a column of a row group that was written, in bytes.
const WRITTEN_COLUMN_BYTES: u64 = 1 << 10;
/// As many bytes of values are copied at a time without a grant.
const PIECE_BYTES: u64 = 256 << 10;
/// What a column takes that is written, in bytes: a page, a dictionary of 1 MiB with its table, and what waits for it.
const WRITER_BYTES: u64 = 8 << 20;

/// A Parquet file of which some rows are to be copied.
#[derive(Debug)]
pub struct RowCopy {
    path: PathBuf,
    file: Arc<File>,
    state: FileState,
}

/// What became of a copy.
#[derive(Debug)]
pub struct Copied<W> {
    /// Where the file went, to be flushed.
    pub target: W,
    /// The bytes of the file.
    pub bytes: u64,
    /// The largest resident size that the process ever had, in bytes.
    pub peak_rss_bytes: u64,
}

/// Where rows come from and in which memory.
struct Reading<'a> {
    copy: &'a RowCopy,
    metadata: &'a ParquetMetaData,
    /// The number of the first row of each row group, and of all rows.
    starts: Vec<u64>,
    allowance: Arc<Allowance>,
    interrupt: &'a Interrupt,
}

/// Rows of one row group among the numbers of a batch.
struct Span {
    group: usize,
    /// Their numbers, as places in the batch.
    numbers: Range<usize>,
}

impl RowCopy {
    /// Opens the file whose rows are to be copied. That is done before their numbers are found, so that a change since then is
    /// noticed.
    ///
    /// # Errors
    /// [`Error::Input`] where it cannot be read; [`Error::Usage`] where it is no Parquet file; [`Error::MemoryPlan`] where its
    /// footer takes too much of `memory_bytes`, which are for the whole process.
    pub fn open(path: &Path, memory_bytes: u64) -> Result<Self> {
        use std::os::unix::fs::FileExt;
        let fail = |error| unreadable(path, error);
        let metadata = std::fs::metadata(path).map_err(fail)?;
        let mut front = [0; 5];
        // Before it is opened: a FIFO would be waited for.
        let file = metadata.is_file().then(|| File::open(path)).transpose();
        let file = file.map_err(fail)?;
        let mut is_read =
            |file: &File| file.read_exact_at(&mut front, 0).is_ok() && is_parquet(&front);
        match file {
            Some(file) if is_read(&file) => {
                let state = FileState::of(&file.metadata().map_err(fail)?);
                drop(read_footer(
                    &file,
                    state.size,
                    path,
                    memory_bytes / FOOTER_SHARE,
                )?);
                Ok(Self {
                    path: path.to_owned(),
                    state,
                    file: Arc::new(file),
                })
            }
            _ => Err(Error::Usage {
                what: format!(
                    "{}: is no Parquet file, and the output is to be one of its rows",
                    path.display()
                ),
                advice: "put a Parquet file first, or give the output another name".into(),
            }),
        }
    }

    /// Writes a file with these rows to `target`, which messages call `name`. `rows` are their numbers, from 0, ascending.
    /// The process has at most `memory_bytes` meanwhile.
    ///
    /// # Errors
    /// [`Error::Undecodable`] where the file is damaged, [`Error::InputChanged`], [`Error::MemoryPlan`] where a page takes more
    /// memory, [`Error::Output`] where the target cannot be written, what `rows` returns, and [`Error::Interrupted`].
    pub fn copy<W: Write + Send>(
        &self,
        rows: &mut dyn Iterator<Item = Result<u64>>,
        (mut target, name): (W, &str),
        memory_bytes: u64,
        interrupt: &Interrupt,
    ) -> Result<Copied<W>> {
        let metadata = read_footer(
            &self.file,
            self.state.size,
            &self.path,
            memory_bytes / FOOTER_SHARE,
        )?;
        // What the process has by now stays: the footer is in it.
        let beside = machine::resident_bytes() + WRITER_BYTES;
        let budget = MemoryBudget::new(memory_bytes.saturating_sub(beside), beside);
        let allowance = Allowance::new(self.path.clone(), 3, &budget)?.beside(beside);
        let mut starts = vec![0_u64];
        for group in metadata.row_groups() {
            let rows = group.num_rows().max(0) as u64;
            starts.push(starts[starts.len() - 1].saturating_add(rows));
        }
        let reading = Reading {
            copy: self,
            metadata: &metadata,
            starts,
            allowance: Arc::new(allowance),
            interrupt,
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

impl Reading<'_> {
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
                self.copy_column(leaf, (&numbers, &spans), column, unwritable)?;
                leaf += 1;
            }
            group.close().map_err(unwritable)?;
            // It stays until the footer is written.
            columns += leaf as u64;
            self.allowance.grow_to(2, columns * WRITTEN_COLUMN_BYTES)?;
        }
        writer.finish().map_err(unwritable)?;
        Ok(writer.bytes_written() as u64)
    }

    /// Which of `numbers` are in which row group.
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
        (numbers, spans): (&[u64], &[Span]),
        mut to: SerializedColumnWriter<'_>,
        unwritable: &dyn Fn(ParquetError) -> Error,
    ) -> Result<()> {
        let column = self.metadata.file_metadata().schema_descr().column(leaf);
        let grant = &|bytes| {
            let granted = self.allowance.grow_to(1, bytes);
            granted.map_err(|error| ParquetError::External(Box::new(error)))
        };
        for span in spans {
            self.interrupt.check()?;
            let of_group = |number: &u64| number - self.starts[span.group];
            let rows: Vec<u64> = numbers[span.numbers.clone()].iter().map(of_group).collect();
            let place = group_name(span.group);
            let chunk = self.metadata.row_group(span.group).columns().get(leaf);
            let chunk = chunk.ok_or_else(|| "a column is missing".to_owned());
            let chunk = chunk
                .and_then(|chunk| chunk_of(chunk, self.copy.state.size))
                .map_err(|what| failure(&self.copy.path, &place, damaged(&what)))?;
            let given = Arc::new(Given::default());
            given.has_deltas.store(chunk.has_deltas, Ordering::Relaxed);
            let pages = Pages::new(
                Arc::clone(&self.copy.file),
                (chunk, layout(&column)),
                (Arc::clone(&self.allowance), 0),
                Arc::clone(&given),
            );
            let from = (&column, pages, &*given);
            let copied = match column.physical_type() {
                Type::BOOLEAN => copy_values::<BoolType>(from, &rows, to.typed(), grant),
                Type::INT32 => copy_values::<Int32Type>(from, &rows, to.typed(), grant),
                Type::INT64 => copy_values::<Int64Type>(from, &rows, to.typed(), grant),
                Type::INT96 => copy_values::<Int96Type>(from, &rows, to.typed(), grant),
                Type::FLOAT => copy_values::<FloatType>(from, &rows, to.typed(), grant),
                Type::DOUBLE => copy_values::<DoubleType>(from, &rows, to.typed(), grant),
                Type::BYTE_ARRAY => copy_values::<ByteArrayType>(from, &rows, to.typed(), grant),
                Type::FIXED_LEN_BYTE_ARRAY => {
                    copy_values::<FixedLenByteArrayType>(from, &rows, to.typed(), grant)
                }
            };
            copied.map_err(|error| match error {
                // What the system says of the target; all else comes from what was read.
                ParquetError::External(source) if source.is::<io::Error>() => {
                    unwritable(ParquetError::External(source))
                }
                error => failure(&self.copy.path, &place, error),
            })?;
        }
        to.close().map_err(unwritable)
    }
}

/// A value without the page that it was read from: a writer keeps some of them for its dictionary.
trait Detached {
    /// Lets go of the page.
    fn detach(&mut self) {}

    /// Its bytes beside those of a number.
    fn bytes(&self) -> u64 {
        0
    }
}

impl Detached for bool {}
impl Detached for i32 {}
impl Detached for i64 {}
impl Detached for Int96 {}
impl Detached for f32 {}
impl Detached for f64 {}

impl Detached for ByteArray {
    fn detach(&mut self) {
        *self = Self::from(self.data().to_vec());
    }

    fn bytes(&self) -> u64 {
        self.len() as u64
    }
}

impl Detached for FixedLenByteArray {
    fn detach(&mut self) {
        *self = ByteArray::from(self.data().to_vec()).into();
    }

    fn bytes(&self) -> u64 {
        self.len() as u64
    }
}

/// Copies the values of `rows`, which are numbered from the start of their row group and ascend. What is copied at a time has
/// memory of its own from `grant`.
fn copy_values<T: DataType>(
    (column, pages, given): (&ColumnDescPtr, Pages, &Given),
    rows: &[u64],
    to: &mut ColumnWriterImpl<'_, T>,
    grant: &dyn Fn(u64) -> Result<(), ParquetError>,
) -> Result<(), ParquetError>
where
    T::T: Detached,
{
    let is_flat = column.max_rep_level() == 0;
    let reader = ColumnReaderImpl::<T>::new(Arc::clone(column), Box::new(pages));
    let mut from = Rows {
        reader,
        given,
        next: 0,
    };
    let mut batch = Batch::default();
    let mut copied = 0;
    while let Some(&row) = rows.get(copied) {
        from.skip_to(row)?;
        let following = rows[copied..].iter().zip(row..);
        let run = following
            .take_while(|(row, expected)| *row == expected)
            .count();
        let wanted = if is_flat { run.min(from.in_page()) } else { 1 };
        from.read(wanted, &mut batch)?;
        batch.write(column, to, grant)?;
        copied += wanted;
    }
    Ok(())
}

/// The rows of a column of a row group.
struct Rows<'a, T: DataType> {
    reader: ColumnReaderImpl<T>,
    given: &'a Given,
    /// The row that comes next.
    next: u64,
}

impl<T: DataType> Rows<'_, T> {
    /// How many rows of a column without lists may be decoded now: no more than the page has, so that pages before it are not
    /// held. One, where the next page is not known.
    fn in_page(&self) -> usize {
        let left = self
            .given
            .passed
            .load(Ordering::Relaxed)
            .saturating_sub(self.next);
        left.min(self.given.batch.load(Ordering::Relaxed)).max(1) as usize
    }

    /// Passes over the rows before `row`. Differences are decoded to do so, and no more of them at a time than are read.
    fn skip_to(&mut self, row: u64) -> Result<(), ParquetError> {
        while self.next < row {
            let gap = (row - self.next) as usize;
            let mut step = gap;
            if self.given.has_deltas.load(Ordering::Relaxed) {
                step = gap.min(self.in_page());
            }
            let skipped = guarded(|| self.reader.skip_records(step))?;
            if skipped != step {
                return Err(too_few());
            }
            self.next += skipped as u64;
        }
        Ok(())
    }

    fn read(&mut self, wanted: usize, batch: &mut Batch<T>) -> Result<(), ParquetError> {
        batch.values.clear();
        batch.definitions.clear();
        batch.repetitions.clear();
        let levels = (Some(&mut batch.definitions), Some(&mut batch.repetitions));
        let (values, reader) = (&mut batch.values, &mut self.reader);
        let (read, ..) = guarded(|| reader.read_records(wanted, levels.0, levels.1, values))?;
        if read != wanted {
            return Err(too_few());
        }
        self.next += read as u64;
        // The row is complete: what was before its last page is free.
        let of_page = self.given.values.load(Ordering::Relaxed);
        self.given.open.store(of_page, Ordering::Relaxed);
        Ok(())
    }
}

/// Some rows of a column.
struct Batch<T: DataType> {
    values: Vec<T::T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl<T: DataType> Default for Batch<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
        }
    }
}

impl<T: DataType> Batch<T>
where
    T::T: Detached,
{
    /// Writes the rows: those without lists in pieces of little memory, a row with lists as one.
    fn write(
        &mut self,
        column: &ColumnDescPtr,
        to: &mut ColumnWriterImpl<'_, T>,
        grant: &dyn Fn(u64) -> Result<(), ParquetError>,
    ) -> Result<(), ParquetError> {
        let (has_levels, has_lists) = (column.max_def_level() > 0, column.max_rep_level() > 0);
        let rows = if has_levels {
            self.definitions.len()
        } else {
            self.values.len()
        };
        let is_value = |level: &i16| *level == column.max_def_level();
        let (mut row, mut value) = (0, 0);
        while row < rows {
            let (first_row, first_value) = (row, value);
            let mut bytes = 0;
            while row < rows && (has_lists || bytes < PIECE_BYTES) {
                if !has_levels || is_value(&self.definitions[row]) {
                    bytes += self.values[value].bytes() + VALUE_BYTES;
                    value += 1;
                }
                row += 1;
            }
            // As a copy, in the page that is written, and when that is compressed.
            if bytes > PIECE_BYTES {
                grant(3 * bytes)?;
            }
            let values = &mut self.values[first_value..value];
            values.iter_mut().for_each(Detached::detach);
            let definitions = has_levels.then(|| &self.definitions[first_row..row]);
            let repetitions = has_lists.then(|| &self.repetitions[first_row..row]);
            guarded(|| to.write_batch(values, definitions, repetitions))?;
            // The copies are done with, while the rest of the batch still waits.
            values.fill_with(T::T::default);
        }
        Ok(())
    }
}

fn too_few() -> ParquetError {
    damaged("a column has fewer values than its row group has rows")
}

/// How the new file is written: as the old one was compressed, with what its writer noted in it.
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

/// A failure of the writer, as the system told it.
fn as_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(own) => *own,
            Err(other) => io::Error::other(other.to_string()),
        },
        other => io::Error::other(other),
    }
}
