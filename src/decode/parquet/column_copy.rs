//! Copying some rows of a column of a row group.
//!
//! *Owns:* the way of values from the pages that are read to the column that is written. *Invariants:* the values are
//! those of the rows, with their levels; a page that was read is not kept because of a value in it; values that take
//! much memory are copied in pieces, or have it granted. *Cost:* what is decoded at a time, and a copy of some of it.

use std::fs::File;
use std::io;
use std::sync::Arc;

use ::parquet::column::writer::ColumnWriterImpl;
use ::parquet::data_type::{AsBytes, ByteArray, DataType, FixedLenByteArray, Int96};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::schema::types::ColumnDescPtr;
use bytes::Bytes;

use crate::decode::parquet::allowance::{Allowance, COPIES, PAGES};
use crate::decode::parquet::byte_array_column::{ByteArrayColumn, EntryNumbers};
use crate::decode::parquet::byte_arrays::ByteArrays;
use crate::decode::parquet::page_header::{BATCH, VALUE_BYTES};
use crate::decode::parquet::pages::ColumnChunk;
use crate::decode::parquet::values::{Decoded, Values, guard};

/// The most rows from a wanted one to the next that are decoded at once.
const NEAR_ROWS: u64 = 16;
/// The bytes of values that are copied at a time without a grant.
const PIECE_BYTES: u64 = 256 << 10;
/// The memory of a column that is written, in bytes: a page, a dictionary of 1 MiB with its table, and what waits for
/// it. The table of short values takes several times what they do: with texts of 6 bytes a copy takes 11 MiB.
pub(super) const WRITER_BYTES: u64 = 12 << 20;

/// A copy of some rows of a column of a row group.
pub(super) struct ColumnCopy<'a> {
    pub(super) file: &'a Arc<File>,
    pub(super) column: &'a ColumnDescPtr,
    /// The index of the column in the file.
    pub(super) chunk: ColumnChunk,
    /// True if the column that is written may have a dictionary.
    pub(super) has_dictionary: bool,
    pub(super) memory: &'a Arc<Allowance>,
    /// The rows, as they are numbered in the file; they ascend.
    pub(super) rows: &'a [u64],
    /// The number of the first row of the row group.
    pub(super) first: u64,
}

impl ColumnCopy<'_> {
    /// Appends the values of the rows to a column.
    ///
    /// # Errors
    /// Where the column is damaged, takes more memory than there is, or cannot be written.
    pub(super) fn append_to<T: DataType>(&self, to: &mut ColumnWriterImpl<'_, T>) -> Result<()>
    where
        T::T: Detached,
    {
        let memory = (Arc::clone(self.memory), PAGES);
        let mut from = Values::<T>::open(self.file, self.column, self.chunk, memory);
        let mut decoded = Decoded::default();
        let mut copied = 0;
        while let Some(&row) = self.rows.get(copied) {
            from.skip_to(row - self.first).map_err(of_source)?;
            let read = from.read(self.span(copied), &mut decoded);
            let read = read.map_err(of_source)? as u64;
            let wanted = &self.rows[copied..];
            let wanted = &wanted[..wanted.partition_point(|&wanted| wanted < row + read)];
            if (wanted.len() as u64) < read {
                decoded.keep(row, wanted, self.column.max_def_level());
            }
            copied += wanted.len();
            self.write(&mut decoded, to)?;
        }
        Ok(())
    }

    /// Appends the values of the rows to a column of byte arrays.
    ///
    /// # Errors
    /// As [`ColumnCopy::append_to`].
    pub(super) fn append_byte_arrays(&self, to: &mut ByteArrayColumn) -> Result<()> {
        let memory = (Arc::clone(self.memory), PAGES);
        let mut from = ByteArrays::open(self.file, self.column, self.chunk, memory);
        let mut numbers = EntryNumbers::default();
        let mut wanted = self.rows.iter().map(|&row| row - self.first).peekable();
        while let Some(&next) = wanted.peek() {
            from.skip_pages_before(next).map_err(of_source)?;
            let first = from.next_row();
            let rows = from.read(BATCH as usize).map_err(of_source)?;
            for row in first..first + rows as u64 {
                let cell = from.next_cell();
                if wanted.next_if_eq(&row).is_some() {
                    to.push(cell, &mut numbers)?;
                }
            }
        }
        Ok(())
    }

    /// Counts the rows to decode at once from the wanted one with this index: as long as the next wanted one is near,
    /// to decode what lies between costs less than to pass over it.
    fn span(&self, first: usize) -> usize {
        let rows = &self.rows[first..];
        let rows = &rows[..rows.len().min(BATCH as usize)];
        let is_near = |pair: &&[u64]| pair[1] - pair[0] <= NEAR_ROWS;
        let near = rows.windows(2).take_while(is_near).count();
        (rows[near] - rows[0] + 1) as usize
    }

    /// Writes rows: those without lists in pieces of little memory, a row with lists as one.
    fn write<T: DataType>(
        &self,
        decoded: &mut Decoded<T>,
        to: &mut ColumnWriterImpl<'_, T>,
    ) -> Result<()>
    where
        T::T: Detached,
    {
        let level_of_values = self.column.max_def_level();
        let (has_levels, has_lists) = (level_of_values > 0, self.column.max_rep_level() > 0);
        let rows = if has_levels {
            decoded.definitions.len()
        } else {
            decoded.values.len()
        };
        let (mut row, mut value) = (0, 0);
        while row < rows {
            let (first_row, first_value) = (row, value);
            let mut bytes = 0;
            while row < rows && (has_lists || bytes < PIECE_BYTES) {
                if !has_levels || decoded.definitions[row] == level_of_values {
                    bytes += decoded.values[value].bytes() + VALUE_BYTES;
                    value += 1;
                }
                row += 1;
            }
            // As a copy, in the page that is written, and when that is compressed.
            if bytes > PIECE_BYTES {
                self.grant(3 * bytes)?;
            }
            let values = &mut decoded.values[first_value..value];
            // Statistics keep the smallest and the largest: of a large piece, these alone.
            T::T::detach(values, self.has_dictionary || bytes > PIECE_BYTES);
            let definitions = has_levels.then(|| &decoded.definitions[first_row..row]);
            let repetitions = has_lists.then(|| &decoded.repetitions[first_row..row]);
            guard(|| to.write_batch(values, definitions, repetitions))?;
            // The copies are done with, while the other rows still wait.
            values.fill_with(T::T::default);
        }
        Ok(())
    }

    fn grant(&self, bytes: u64) -> Result<()> {
        let granted = self.memory.grow_to(COPIES, bytes);
        granted.map_err(|error| ParquetError::External(Box::new(error)))
    }
}

/// Tells an error of the file that is read from one of the target: a decoder speaks of both as the system does.
fn of_source(error: ParquetError) -> ParquetError {
    match error {
        ParquetError::External(source) if source.is::<io::Error>() => {
            ParquetError::General(source.to_string())
        }
        error => error,
    }
}

/// Values without the page that they were read from: a writer keeps some of them.
pub(super) trait Detached: Sized {
    /// Lets go of the page: of each value by itself if it may be kept, else of all together.
    fn detach(_values: &mut [Self], _one_by_one: bool) {}

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
    fn detach(values: &mut [Self], one_by_one: bool) {
        detach(values, one_by_one);
    }

    fn bytes(&self) -> u64 {
        self.len() as u64
    }
}

impl Detached for FixedLenByteArray {
    fn detach(values: &mut [Self], one_by_one: bool) {
        detach(values, one_by_one);
    }

    fn bytes(&self) -> u64 {
        self.len() as u64
    }
}

/// Lets go of the pages of texts.
fn detach<T: AsBytes + From<ByteArray>>(texts: &mut [T], one_by_one: bool) {
    if one_by_one {
        for text in texts {
            *text = ByteArray::from(text.as_bytes().to_vec()).into();
        }
        return;
    }
    let lengths = texts.iter().map(|text| text.as_bytes().len());
    let mut copies = Vec::with_capacity(lengths.sum());
    for text in &*texts {
        copies.extend_from_slice(text.as_bytes());
    }
    let mut copies = Bytes::from(copies);
    for text in texts {
        let copy = copies.split_to(text.as_bytes().len());
        *text = ByteArray::from(copy).into();
    }
}
