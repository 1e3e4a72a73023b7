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
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::ColumnDescPtr;

use crate::error::{Error, Result};
use crate::input::parquet::allowance::Allowance;
use crate::input::parquet::column::{guarded, layout};
use crate::input::parquet::footer::{chunk_of, is_parquet, read_footer};
use crate::input::parquet::pages::{Given, Pages, damaged};
use crate::input::parquet::{failure, group_name};
use crate::input::parts::FileState;
use crate::input::unreadable;
use crate::interrupt::Interrupt;
use crate::memory::budget::MemoryBudget;
use crate::output::output_error;
use crate::sys::machine;

/// The most rows of a row group that is written.
const GROUP_ROWS: usize = 1 << 17;
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
    /// [`Error::Input`] where it cannot be read; [`Error::Usage`] where it is no Parquet file.
    pub fn open(path: &Path) -> Result<Self> {
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
            Some(file) if is_read(&file) => Ok(Self {
                path: path.to_owned(),
                state: FileState::of(&file.metadata().map_err(fail)?),
                file: Arc::new(file),
            }),
            _ => Err(Error::Usage {
                what: format!(
                    "{}: is no Parquet file, so none can be written of it",
                    path.display()
                ),
                advice: "give the output another name than one with .parquet".into(),
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
        let metadata = read_footer(&self.file, self.state.size, &self.path, memory_bytes / 8)?;
        // What the process has by now stays: the footer is in it.
        let beside = machine::resident_bytes() + WRITER_BYTES;
        let budget = MemoryBudget::new(memory_bytes.saturating_sub(beside), beside);
        let allowance = Allowance::new(self.path.clone(), 1, &budget)?.beside(beside);
        let mut starts = vec![0];
        for group in metadata.row_groups() {
            starts.push(starts[starts.len() - 1] + group.num_rows().max(0) as u64);
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
        let mut numbers = Vec::with_capacity(GROUP_ROWS);
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
        for span in spans {
            self.interrupt.check()?;
            let of_group = |number: &u64| number - self.starts[span.group];
            let rows: Vec<u64> = numbers[span.numbers.clone()].iter().map(of_group).collect();
            let chunk = self.metadata.row_group(span.group).column(leaf);
            let place = group_name(span.group);
            let chunk = chunk_of(chunk, self.copy.state.size)
                .map_err(|what| failure(&self.copy.path, &place, damaged(&what)))?;
            let given = Arc::new(Given::default());
            let pages = Pages::new(
                Arc::clone(&self.copy.file),
                (chunk, layout(&column)),
                (Arc::clone(&self.allowance), 0),
                Arc::clone(&given),
            );
            let from = (&column, pages, &*given);
            let copied = match column.physical_type() {
                Type::BOOLEAN => copy_values::<BoolType>(from, &rows, to.typed()),
                Type::INT32 => copy_values::<Int32Type>(from, &rows, to.typed()),
                Type::INT64 => copy_values::<Int64Type>(from, &rows, to.typed()),
                Type::INT96 => copy_values::<Int96Type>(from, &rows, to.typed()),
                Type::FLOAT => copy_values::<FloatType>(from, &rows, to.typed()),
                Type::DOUBLE => copy_values::<DoubleType>(from, &rows, to.typed()),
                Type::BYTE_ARRAY => copy_values::<ByteArrayType>(from, &rows, to.typed()),
                Type::FIXED_LEN_BYTE_ARRAY => {
                    copy_values::<FixedLenByteArrayType>(from, &rows, to.typed())
                }
            };
            copied.map_err(|error| match error {
                Stopped::Reading(error) => failure(&self.copy.path, &place, error),
                Stopped::Writing(error) => unwritable(error),
            })?;
        }
        to.close().map_err(unwritable)
    }
}

/// Which end of a copy failed.
enum Stopped {
    Reading(ParquetError),
    Writing(ParquetError),
}

/// A value without the page that it was read from: a writer keeps some of them for its dictionary.
trait Detached {
    /// Lets go of the page.
    fn detach(&mut self) {}
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
}

impl Detached for FixedLenByteArray {
    fn detach(&mut self) {
        *self = ByteArray::from(self.data().to_vec()).into();
    }
}

/// Copies the values of `rows`, which are numbered from the start of their row group and ascend.
fn copy_values<T: DataType>(
    (column, pages, given): (&ColumnDescPtr, Pages, &Given),
    rows: &[u64],
    to: &mut ColumnWriterImpl<'_, T>,
) -> Result<(), Stopped>
where
    T::T: Detached,
{
    let is_flat = column.max_rep_level() == 0;
    let has_levels = column.max_def_level() > 0;
    let mut from = ColumnReaderImpl::<T>::new(Arc::clone(column), Box::new(pages));
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    // The row that comes next, and how many of those that are wanted were copied.
    let (mut next, mut copied) = (0, 0);
    while let Some(&row) = rows.get(copied) {
        let gap = (row - next) as usize;
        let skipped = guarded(|| from.skip_records(gap)).map_err(Stopped::Reading)?;
        let following = rows[copied..].iter().zip(row..);
        let run = following
            .take_while(|(row, expected)| *row == expected)
            .count();
        // No more than the page has: pages before it are not held. How many rows with lists a page has is not known.
        let in_page = given.passed.load(Ordering::Relaxed).saturating_sub(row);
        let most = in_page.min(given.batch.load(Ordering::Relaxed)).max(1);
        let wanted = if is_flat { run.min(most as usize) } else { 1 };
        values.clear();
        definitions.clear();
        repetitions.clear();
        let read = guarded(|| {
            let levels = (Some(&mut definitions), Some(&mut repetitions));
            from.read_records(wanted, levels.0, levels.1, &mut values)
        });
        let (read, ..) = read.map_err(Stopped::Reading)?;
        if skipped != gap || read != wanted {
            let what = damaged("a column has fewer values than its row group has rows");
            return Err(Stopped::Reading(what));
        }
        values.iter_mut().for_each(Detached::detach);
        let definitions = has_levels.then_some(&definitions[..]);
        let repetitions = (!is_flat).then_some(&repetitions[..]);
        to.write_batch(&values, definitions, repetitions)
            .map_err(Stopped::Writing)?;
        copied += read;
        next = row + read as u64;
    }
    Ok(())
}

/// How the new file is written: as the old one was compressed, with what its writer noted in it.
fn properties(metadata: &ParquetMetaData) -> WriterProperties {
    let notes = metadata.file_metadata().key_value_metadata().cloned();
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("outset ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(notes);
    for column in metadata
        .row_groups()
        .first()
        .map_or(&[][..], |group| group.columns())
    {
        let path = column.column_path().clone();
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
