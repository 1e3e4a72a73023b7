//! The values of a column of a row group, decoded a few at a time.
//!
//! *Owns:* [`Values`], one reading of a column in order, and [`Decoded`], what it gives. *Invariants:* what is decoded
//! at a time belongs to one page, so that pages before it are not held; of a column with lists it is one row. A column
//! that ends before its rows do is an error, and so is a panic of the decoder. *Cost:* references into the page, and
//! levels; see [`pages`](super::pages).

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ::parquet::basic::Type;
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::data_type::DataType;
use ::parquet::errors::Result;
use ::parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};

use crate::decode::parquet::allowance::Allowance;
use crate::decode::parquet::pages::{ColumnChunk, LastPage, PageLayout, Pages, damaged};
use crate::sys::panic_guard::guarded;

/// The values of a column of a row group.
pub(super) struct Values<T: DataType> {
    reader: ColumnReaderImpl<T>,
    page: Arc<LastPage>,
    /// True if a row has one value: the column has no lists.
    is_flat: bool,
    /// True if values may be differences, which are decoded to pass over them.
    has_deltas: bool,
    /// The row that comes next.
    next: u64,
}

/// Some rows of a column.
pub(super) struct Decoded<T: DataType> {
    /// Those that are not NULL.
    pub(super) values: Vec<T::T>,
    /// For each value and each NULL how much of its path is there; none where there are no NULLs.
    pub(super) definitions: Vec<i16>,
    /// For each of them where it goes on in lists; none where there are no lists.
    pub(super) repetitions: Vec<i16>,
}

impl<T: DataType> Default for Decoded<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
        }
    }
}

impl<T: DataType> Decoded<T> {
    /// Keeps those of the rows from `first` on that are in `rows`, which ascend. A row has one level, and a value where
    /// that is `level_of_values`; without levels, a value.
    pub(super) fn keep(&mut self, first: u64, rows: &[u64], level_of_values: i16) {
        let has_levels = level_of_values > 0;
        let (mut row, mut value, mut kept) = (0, 0, 0);
        for (index, &wanted) in rows.iter().enumerate() {
            let wanted = (wanted - first) as usize;
            if !has_levels {
                self.values.swap(index, wanted);
                continue;
            }
            let passed = &self.definitions[row..wanted];
            value += passed
                .iter()
                .filter(|&&level| level == level_of_values)
                .count();
            row = wanted + 1;
            self.definitions[index] = self.definitions[wanted];
            if self.definitions[wanted] == level_of_values {
                self.values.swap(kept, value);
                (kept, value) = (kept + 1, value + 1);
            }
        }
        self.values
            .truncate(if has_levels { kept } else { rows.len() });
        self.definitions.truncate(rows.len());
    }
}

impl<T: DataType> Values<T> {
    /// Opens the column of a row group that `chunk` is, in the memory with the number in `memory`.
    pub(super) fn open(
        file: &Arc<File>,
        column: &ColumnDescPtr,
        chunk: ColumnChunk,
        memory: (Arc<Allowance>, usize),
    ) -> Self {
        let page = Arc::new(LastPage::default());
        let layout = layout(column);
        let pages = Pages::new(Arc::clone(file), chunk, layout, memory, Arc::clone(&page));
        Self {
            reader: ColumnReaderImpl::new(Arc::clone(column), Box::new(pages)),
            page,
            is_flat: column.max_rep_level() == 0,
            has_deltas: chunk.has_deltas,
            next: 0,
        }
    }

    /// Decodes up to `most` rows that follow one another, at least one; returns how many.
    ///
    /// # Errors
    /// Where the column is damaged, or has no more rows.
    pub(super) fn read(&mut self, most: usize, decoded: &mut Decoded<T>) -> Result<usize> {
        let wanted = if self.is_flat {
            most.min(self.in_page())
        } else {
            1
        };
        // The page that these came from goes with them.
        decoded.values.clear();
        decoded.definitions.clear();
        decoded.repetitions.clear();
        let levels = (&mut decoded.definitions, &mut decoded.repetitions);
        let (values, reader) = (&mut decoded.values, &mut self.reader);
        let (read, ..) =
            guard(|| reader.read_records(wanted, Some(levels.0), Some(levels.1), values))?;
        if read != wanted {
            return Err(too_few());
        }
        self.next += read as u64;
        // The row is complete: what was before its last page is free.
        let of_page = self.page.values.load(Ordering::Relaxed);
        self.page.open.store(of_page, Ordering::Relaxed);
        Ok(read)
    }

    /// Passes over the rows before `row`, page by page where that is possible. Differences are decoded to do so, and no
    /// more of them at a time than are read.
    ///
    /// # Errors
    /// As [`Values::read`].
    pub(super) fn skip_to(&mut self, row: u64) -> Result<()> {
        while self.next < row {
            let gap = (row - self.next) as usize;
            let step = if self.has_deltas {
                gap.min(self.in_page())
            } else {
                gap
            };
            if guard(|| self.reader.skip_records(step))? != step {
                return Err(too_few());
            }
            self.next += step as u64;
        }
        Ok(())
    }

    /// Returns true if there are no more rows.
    ///
    /// # Errors
    /// Where what follows is damaged.
    pub(super) fn is_at_end(&mut self) -> Result<bool> {
        let mut rest = Decoded::<T>::default();
        let levels = (&mut rest.definitions, &mut rest.repetitions);
        let (values, reader) = (&mut rest.values, &mut self.reader);
        let (read, ..) = guard(|| reader.read_records(1, Some(levels.0), Some(levels.1), values))?;
        Ok(read == 0)
    }

    /// Counts the rows that may be decoded now, of a column without lists: those that the page has left; if it has none
    /// left, one, because only the next page shows how many it has.
    fn in_page(&self) -> usize {
        let passed = self.page.passed.load(Ordering::Relaxed);
        let batch = self.page.batch.load(Ordering::Relaxed);
        passed.saturating_sub(self.next).min(batch).max(1) as usize
    }
}

/// Calls `parquet`. That a damaged page lets it panic is an error like others.
pub(super) fn guard<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    guarded(call).unwrap_or_else(|| Err(damaged("its content makes no sense")))
}

/// Returns the layout of the pages of this column.
pub(super) fn layout(column: &ColumnDescriptor) -> PageLayout {
    let value_bytes = match column.physical_type() {
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => column.type_length().max(1) as u64,
        Type::BOOLEAN => 1,
        // Of text its length.
        Type::BYTE_ARRAY | Type::INT32 | Type::FLOAT => 4,
    };
    let levels = usize::from(column.max_rep_level() > 0) + usize::from(column.max_def_level() > 0);
    PageLayout {
        value_bytes,
        levels,
    }
}

pub(super) fn too_few() -> ::parquet::errors::ParquetError {
    damaged("a column has fewer values than its row group has rows")
}
