//! Copying rows of a file to a new one.
//!
//! *Owns:* [`RowCopy`]. *Invariants:* the new file gets the rows that were named, all of them in their order, or the
//! copy fails; a row group has rows of one file. *Cost:* that of its row groups
//! ([`group_copy`](crate::decode::parquet::group_copy)), of which one is written while the next is encoded.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::schema::types::TypePtr;

use crate::decode::compressed::{Signature, signature_of};
use crate::decode::file_state::FileState;
use crate::decode::io_error::unreadable;
use crate::decode::parquet::allowance::{Allowance, FOOTER, USERS};
use crate::decode::parquet::column_copy::WRITER_BYTES;
use crate::decode::parquet::column_lanes::{ColumnLanes, Encoded};
use crate::decode::parquet::footer::{chunk_of, read_footer};
use crate::decode::parquet::group_copy::{CopiedColumn, GroupCopy, GroupRows, Unwritable};
use crate::decode::parquet::row_output::{RowOutput, unwritable};
use crate::decode::parquet::same_columns::check_columns;
use crate::decode::parquet::{failure, group_name};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::memory::budget::MemoryBudget;
use crate::sys::machine;

/// The share of the memory that a footer may take, as one by this number: the rest is for pages.
const FOOTER_SHARE: u64 = 2;
/// The most rows of a row group that is written.
const GROUP_ROWS: usize = 1 << 17;
/// The memory for the number of a row, in bytes.
const NUMBER_BYTES: u64 = 8;
/// The memory by which a process may grow until it copies the last of many files, in bytes: a limit that it is told to
/// have at the first must do for all.
const LATER_BYTES: u64 = 2 << 20;
/// The least bytes of a row group whose columns are copied at the same time: threads take longer to start than less.
const LANES_FROM: u64 = 1 << 20;
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
    schema: TypePtr,
    /// The most threads that copy columns at the same time.
    threads: usize,
}

/// Is called with bytes and rows of the file that a copy is done with, which [`RowCopy::bytes_of`] foretells.
pub type Advance<'a> = &'a dyn Fn(u64, u64);

impl RowCopy {
    /// Returns true if there is a file at `path` that begins as Parquet files do. A FIFO is not opened: it would be
    /// waited for.
    pub fn recognises(path: &Path) -> bool {
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file);
        metadata.is_some_and(|it| File::open(path).is_ok_and(|file| is_parquet(&file, it.len())))
    }

    /// Opens the file whose rows are to be copied. That is done before their numbers are found, so that a change since
    /// then is noticed.
    ///
    /// # Errors
    /// [`Error::Input`] where it cannot be read; [`Error::Usage`] where it is no Parquet file; [`Error::Undecodable`]
    /// where a column is compressed in a way that is not known, or is not in the file; [`Error::MemoryPlan`] where its
    /// footer takes too much of `memory_bytes`, which are for the whole process.
    pub fn open(path: &Path, memory_bytes: u64) -> Result<Self> {
        let fail = |error| unreadable(path, error);
        let metadata = std::fs::metadata(path).map_err(fail)?;
        // Before it is opened: a FIFO would be waited for.
        let file = metadata.is_file().then(|| File::open(path)).transpose();
        let file = file.map_err(fail)?;
        match file {
            Some(file) if is_parquet(&file, metadata.len()) => {
                let state = FileState::of(&file.metadata().map_err(fail)?);
                let metadata = read_footer(&file, state.size, path, memory_bytes / FOOTER_SHARE)?;
                check_chunks(&metadata, state.size, path)?;
                let file_metadata = metadata.file_metadata();
                Ok(Self {
                    rows: file_metadata.num_rows().max(0) as u64,
                    schema: file_metadata.schema_descr().root_schema_ptr(),
                    path: path.to_owned(),
                    state,
                    file: Arc::new(file),
                    threads: 1,
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

    /// Lets as many as `threads` columns be copied at the same time, where memory has room for them.
    #[must_use]
    pub fn on_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Estimates the bytes of the file that `rows` of its rows take.
    pub fn bytes_of(&self, rows: u64) -> u64 {
        (self.state.size as f64 * rows as f64 / self.rows.max(1) as f64) as u64
    }

    /// Counts all rows of the file.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Checks that the file has the columns of `other`, so that one file can get rows of both.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn check_columns(&self, other: &Self) -> Result<()> {
        check_columns((&self.schema, &self.path), (&other.schema, &other.path))
    }

    /// Reads the footer.
    fn metadata(&self, memory_bytes: u64) -> Result<ParquetMetaData> {
        let most = memory_bytes / FOOTER_SHARE;
        read_footer(&self.file, self.state.size, &self.path, most)
    }

    /// Begins a file like this one: with its columns, their compression and dictionaries. Messages call the target
    /// `name`. `rows` are how many rows of each file it will get: what is remembered of them until the end must have
    /// room in the `memory_bytes` that the process has at most.
    ///
    /// # Errors
    /// Those of [`RowCopy::open`] where this one cannot be read, [`Error::MemoryPlan`]; [`Error::Output`].
    pub fn begin<'a>(
        &self,
        (target, name): (&'a mut (dyn Write + Send + 'a), &'a str),
        rows: impl IntoIterator<Item = u64>,
        memory_bytes: u64,
    ) -> Result<RowOutput<'a>> {
        let metadata = self.metadata(memory_bytes)?;
        let groups = rows
            .into_iter()
            .map(|rows| rows.div_ceil(GROUP_ROWS as u64));
        let columns =
            groups.sum::<u64>() * metadata.file_metadata().schema_descr().num_columns() as u64;
        let (allowance, _) = self.allowance(memory_bytes);
        allowance.grow_to(FOOTER, columns * WRITTEN_COLUMN_BYTES)?;
        RowOutput::create((&metadata, &self.path), (target, name))
    }

    /// Computes the memory of the numbers of the rows of a row group, in bytes.
    fn numbers_bytes(&self) -> u64 {
        self.rows.min(GROUP_ROWS as u64) * NUMBER_BYTES
    }

    /// Allows a copy the memory that the process does not have by now.
    fn allowance(&self, memory_bytes: u64) -> (Allowance, MemoryBudget) {
        let beside = machine::resident_bytes() + WRITER_BYTES + self.numbers_bytes();
        let budget = MemoryBudget::new(memory_bytes.saturating_sub(beside), beside);
        let allowance = Allowance::new(self.path.clone(), USERS, &budget);
        (allowance.beside(beside + LATER_BYTES), budget)
    }

    /// Appends rows to a new file. `rows` are their numbers, from 0, ascending. The process has at most `memory_bytes`
    /// meanwhile.
    ///
    /// # Errors
    /// [`Error::Undecodable`] where the file is damaged, [`Error::InputChanged`], [`Error::MemoryPlan`] where a page
    /// takes more memory, [`Error::Usage`] where it has other columns than the new file, [`Error::Output`] where that
    /// cannot be written, what `rows` returns, and [`Error::Interrupted`].
    pub fn append_to(
        &self,
        output: &mut RowOutput<'_>,
        rows: &mut dyn Iterator<Item = Result<u64>>,
        memory_bytes: u64,
        (interrupt, advance): (&Interrupt, Advance<'_>),
    ) -> Result<()> {
        let metadata = self.metadata(memory_bytes)?;
        output.admit(&metadata, &self.path)?;
        // What the process has by now stays: the footer is in it, and what the new one says of earlier row groups.
        let (allowance, budget) = self.allowance(memory_bytes);
        let dictionaries = Arc::clone(&output.dictionaries);
        let file = (&self.file, self.path.as_path());
        let groups = GroupCopy::new(file, self.state.size, &metadata, &dictionaries, interrupt);
        let columns = metadata.file_metadata().schema_descr().num_columns();
        let most = self.threads.min(machine::default_threads()).min(columns);
        let writing = Writing {
            copy: self,
            groups,
            lanes: ColumnLanes::new(&self.path, most, self.numbers_bytes(), &budget),
            allowance: Arc::new(allowance),
            columns: 0,
            advance,
        };
        writing.write(rows, output)?;
        let metadata = self
            .file
            .metadata()
            .map_err(|error| unreadable(&self.path, error))?;
        self.state.check(&FileState::of(&metadata), &self.path)
    }
}

/// Returns true if a file of `size` bytes begins as Parquet files do.
fn is_parquet(file: &File, size: u64) -> bool {
    signature_of(file, size).is_ok_and(|front| front == Signature::Parquet)
}

/// Checks that all columns of a file of `size` bytes can be read: a writer of `parquet` panics if it is to compress as
/// nobody can.
fn check_chunks(metadata: &ParquetMetaData, size: u64, path: &Path) -> Result<()> {
    for (number, group) in metadata.row_groups().iter().enumerate() {
        for column in group.columns() {
            chunk_of(column, size).map_err(|error| failure(path, &group_name(number), error))?;
        }
    }
    Ok(())
}

/// A file whose rows are being copied.
struct Writing<'a> {
    copy: &'a RowCopy,
    groups: GroupCopy<'a>,
    /// The threads that copy columns in memory; `None` if each is copied to the target as it is read.
    lanes: Option<ColumnLanes>,
    allowance: Arc<Allowance>,
    /// The columns of the row groups so far.
    columns: u64,
    advance: Advance<'a>,
}

/// A row group that waits until it is written.
struct EncodedGroup {
    columns: Vec<Encoded>,
    rows: u64,
}

impl Writing<'_> {
    /// Appends these rows.
    ///
    /// ```text
    ///  lanes:        encode group 1   │ encode group 2   │ encode group 3 │
    ///  this thread:  gather numbers 2 │ write group 1,   │ write group 2  │ write group 3
    ///                                 │ gather numbers 3 │                │
    /// ```
    fn write(
        mut self,
        rows: &mut dyn Iterator<Item = Result<u64>>,
        output: &mut RowOutput<'_>,
    ) -> Result<()> {
        let mut rows = rows.fuse();
        let mut gather = |numbers: &mut Vec<u64>| {
            let more = rows.by_ref().take(GROUP_ROWS);
            more.into_iter()
                .try_for_each(|number| number.map(|it| numbers.push(it)))
        };
        let (mut numbers, mut next, mut waiting) = (Vec::new(), Vec::new(), None);
        loop {
            if numbers.is_empty() {
                gather(&mut numbers)?;
            }
            if numbers.is_empty() {
                return self.append(waiting, output);
            }
            let rows = self.groups.rows(&numbers)?;
            waiting = self.encode(&rows, waiting, output, || gather(&mut next))?;
            if waiting.is_none() {
                self.copy_group(&rows, output)?;
            }
            self.columns += self.groups.columns() as u64;
            self.remember()?;
            numbers = std::mem::take(&mut next);
            if self.lanes.is_none() {
                // Their memory was also for what waits.
                self.append(waiting.take(), output)?;
            }
        }
    }

    /// Has lanes encode a row group, where that has memory and is worth it. Meanwhile writes the one `before` it, and
    /// gathers what comes next. If lanes fail, they are given up, and so is their memory.
    fn encode(
        &mut self,
        rows: &GroupRows<'_>,
        before: Option<EncodedGroup>,
        output: &mut RowOutput<'_>,
        gather_next: impl FnOnce() -> Result<()>,
    ) -> Result<Option<EncodedGroup>> {
        let is_large = self.copy.bytes_of(rows.count()) >= LANES_FROM;
        let Some(lanes) = self.lanes.take_if(|_| is_large) else {
            return self.append(before, output).map(|()| None);
        };
        let properties = Arc::clone(&output.properties);
        let beside = || self.append(before, output).and_then(|()| gather_next());
        let (columns, beside) = lanes.encode(&self.groups, rows, &properties, beside);
        beside?;
        Ok(columns.map(|columns| {
            self.lanes = Some(lanes);
            EncodedGroup {
                columns,
                rows: rows.count(),
            }
        }))
    }

    /// Takes memory for what the footer says of the columns of row groups so far: it stays until the footer is written.
    /// The memory of lanes is given up for it.
    ///
    /// # Errors
    /// [`Error::MemoryPlan`].
    fn remember(&mut self) -> Result<()> {
        let bytes = self.columns * WRITTEN_COLUMN_BYTES;
        match self.allowance.grow_to(FOOTER, bytes) {
            Err(_) if self.lanes.take().is_some() => self.allowance.grow_to(FOOTER, bytes),
            granted => granted,
        }
    }

    /// Writes a row group that lanes have encoded, if there is one.
    fn append(&self, group: Option<EncodedGroup>, output: &mut RowOutput<'_>) -> Result<()> {
        let Some(EncodedGroup { columns, rows }) = group else {
            return Ok(());
        };
        let name = output.name();
        let unwritable = |error| unwritable(name, error);
        let mut group = output.writer.next_row_group().map_err(unwritable)?;
        for (chunk, closed) in columns {
            group.append_column(&chunk, closed).map_err(unwritable)?;
            (self.advance)(self.column_bytes(rows), 0);
        }
        group.close().map_err(unwritable)?;
        (self.advance)(0, rows);
        Ok(())
    }

    /// Copies a row group column by column: that needs less memory than lanes, and tells what is wrong.
    fn copy_group(&self, rows: &GroupRows<'_>, output: &mut RowOutput<'_>) -> Result<()> {
        let name = output.name();
        let unwritable: &Unwritable<'_> = &|error| unwritable(name, error);
        let mut group = output.writer.next_row_group().map_err(unwritable)?;
        let mut leaf = 0;
        while let Some(mut column) = group.next_column().map_err(unwritable)? {
            let to = CopiedColumn::Values(column.untyped());
            self.groups
                .copy_column(leaf, rows, to, &self.allowance, unwritable)?;
            column.close().map_err(unwritable)?;
            (self.advance)(self.column_bytes(rows.count()), 0);
            leaf += 1;
        }
        group.close().map_err(unwritable)?;
        (self.advance)(0, rows.count());
        Ok(())
    }

    /// Estimates the bytes of the file that `rows` of its rows take in a column.
    fn column_bytes(&self, rows: u64) -> u64 {
        self.copy.bytes_of(rows) / self.groups.columns().max(1) as u64
    }
}
