//! Copying some rows of a file to a new row group.
//!
//! *Owns:* which rows of which row groups a new one gets ([`GroupRows`]), and the way of a column through these.
//! *Invariants:* a column has the values of the rows that were named, in their order. *Cost:* each column of the row
//! groups that have such rows is read once for each new row group; a column is in memory by its pages.
//!
//! ```text
//!  numbers ──▶ as many as a row group gets
//!                for each column:  Pages ──▶ skip, read ──▶ column of the new row group
//! ```

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{Encoding, EncodingMask, SortOrder, Type};
use ::parquet::column::writer::{ColumnWriter, get_typed_column_writer_mut};
use ::parquet::data_type::{
    BoolType, ByteArrayType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
    Int96Type,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use ::parquet::file::properties::WriterProperties;
use ::parquet::schema::types::ColumnDescPtr;

use crate::decode::parquet::allowance::Allowance;
use crate::decode::parquet::byte_array_column::ByteArrayColumn;
use crate::decode::parquet::codec::can_compress;
use crate::decode::parquet::column_copy::ColumnCopy;
use crate::decode::parquet::footer::{chunk_of, has_byte_arrays};
use crate::decode::parquet::pages::damaged;
use crate::decode::parquet::{failure, group_name};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;

/// Makes the error of a target that cannot be written.
pub(super) type Unwritable<'a> = dyn Fn(ParquetError) -> Error + Sync + 'a;

/// The file that rows come from. Several threads use it at the same time, each for another column.
pub(super) struct GroupCopy<'a> {
    file: &'a Arc<File>,
    path: &'a Path,
    file_bytes: u64,
    metadata: &'a ParquetMetaData,
    /// The number of the first row of each row group, and of all rows.
    starts: Vec<u64>,
    /// For each column, true if it gets a dictionary in the new file.
    dictionaries: &'a [bool],
    interrupt: &'a Interrupt,
}

/// A column that rows are copied to.
pub(super) enum CopiedColumn<'a, 'w> {
    Values(&'a mut ColumnWriter<'w>),
    ByteArrays(&'a mut ByteArrayColumn),
}

/// The rows of a new row group.
pub(super) struct GroupRows<'a> {
    numbers: &'a [u64],
    spans: Vec<Span>,
}

/// Rows of one row group among the numbers of a new one.
struct Span {
    group: usize,
    /// Their numbers, as indexes in those of the new row group.
    numbers: Range<usize>,
}

impl GroupRows<'_> {
    /// Counts the rows.
    pub(super) fn count(&self) -> u64 {
        self.numbers.len() as u64
    }
}

impl<'a> GroupCopy<'a> {
    /// Makes the source of rows of a file that has `file_bytes` bytes, for a new file with these dictionaries.
    pub(super) fn new(
        (file, path): (&'a Arc<File>, &'a Path),
        file_bytes: u64,
        metadata: &'a ParquetMetaData,
        dictionaries: &'a [bool],
        interrupt: &'a Interrupt,
    ) -> Self {
        let mut starts = vec![0_u64];
        for group in metadata.row_groups() {
            let rows = group.num_rows().max(0) as u64;
            starts.push(starts[starts.len() - 1].saturating_add(rows));
        }
        Self {
            file,
            path,
            file_bytes,
            metadata,
            starts,
            dictionaries,
            interrupt,
        }
    }

    /// Returns what the file says of itself.
    pub(super) fn metadata(&self) -> &'a ParquetMetaData {
        self.metadata
    }

    /// Counts the columns.
    pub(super) fn columns(&self) -> usize {
        self.metadata.file_metadata().schema_descr().num_columns()
    }

    /// Returns the bytes of a column in the row groups that have some of `rows`.
    pub(super) fn column_bytes(&self, leaf: usize, rows: &GroupRows<'_>) -> u64 {
        let groups = rows.spans.iter().map(|span| span.group);
        let chunks = groups.filter_map(|group| self.metadata.row_group(group).columns().get(leaf));
        chunks
            .map(|chunk| chunk.compressed_size().max(0) as u64)
            .sum()
    }

    /// Finds the row group of each of `numbers`.
    ///
    /// # Errors
    /// [`Error::Undecodable`] where the file has fewer rows.
    pub(super) fn rows<'n>(&self, numbers: &'n [u64]) -> Result<GroupRows<'n>> {
        let mut spans = Vec::new();
        let mut first = 0;
        while let Some(&number) = numbers.get(first) {
            let group = self.starts.partition_point(|&start| start <= number);
            let Some(&end) = self.starts.get(group) else {
                let name = "the Parquet file";
                let fewer = damaged("it has fewer rows than before");
                return Err(failure(self.path, name, fewer));
            };
            let behind = first + numbers[first..].partition_point(|&number| number < end);
            spans.push(Span {
                group: group - 1,
                numbers: first..behind,
            });
            first = behind;
        }
        Ok(GroupRows { numbers, spans })
    }

    /// Returns true if a column of `rows` can be copied as the bytes of its pages: to a [`ByteArrayColumn`] of a file
    /// with these properties. Values of other encodings, and of lists, are decoded by `parquet`.
    pub(super) fn is_of_byte_arrays(
        &self,
        leaf: usize,
        rows: &GroupRows<'_>,
        properties: &WriterProperties,
    ) -> bool {
        let column = self.metadata.file_metadata().schema_descr().column(leaf);
        let groups = rows
            .spans
            .iter()
            .map(|span| self.metadata.row_group(span.group));
        let mut chunks = groups.map(|group| group.columns().get(leaf));
        column.sort_order() == SortOrder::UNSIGNED
            && can_compress(properties.compression(column.path()))
            && chunks.all(|chunk| chunk.is_some_and(has_byte_arrays))
    }

    /// Copies a column of `rows`.
    ///
    /// # Errors
    /// Where the file is damaged, the column takes more than `memory` has, or it cannot be written; that one is made by
    /// `unwritable`. [`Error::Interrupted`].
    pub(super) fn copy_column(
        &self,
        leaf: usize,
        rows: &GroupRows<'_>,
        mut to: CopiedColumn<'_, '_>,
        memory: &Arc<Allowance>,
        unwritable: &Unwritable<'_>,
    ) -> Result<()> {
        let column = self.metadata.file_metadata().schema_descr().column(leaf);
        for span in &rows.spans {
            self.interrupt.check()?;
            let group = group_name(span.group);
            let chunk = self.metadata.row_group(span.group).columns().get(leaf);
            let chunk = chunk.ok_or_else(|| damaged("a column is missing"));
            let chunk = chunk
                .and_then(|chunk| chunk_of(chunk, self.file_bytes))
                .map_err(|error| failure(self.path, &group, error))?;
            let copy = ColumnCopy {
                file: self.file,
                column: &column,
                chunk,
                has_dictionary: self.dictionaries[leaf],
                memory,
                rows: &rows.numbers[span.numbers.clone()],
                first: self.starts[span.group],
            };
            let appended = match &mut to {
                CopiedColumn::Values(to) => append(&copy, column.physical_type(), to),
                CopiedColumn::ByteArrays(to) => copy.append_byte_arrays(to),
            };
            appended.map_err(|error| match error {
                // What the system says of the target; all else comes from what was read.
                ParquetError::External(source) if source.is::<io::Error>() => {
                    unwritable(ParquetError::External(source))
                }
                error => failure(self.path, &group, error),
            })?;
        }
        Ok(())
    }
}

/// Chooses for each column of a file whether a copy of it, if its values are decoded, gets a dictionary: where some row
/// group has nothing but values of one.
pub(super) fn dictionaries_of(metadata: &ParquetMetaData) -> Vec<bool> {
    let columns = metadata.file_metadata().schema_descr().columns();
    let has_dictionary = |(leaf, column): (usize, &ColumnDescPtr)| {
        let groups = metadata.row_groups().iter();
        let mut chunks = groups.filter_map(|group| group.columns().get(leaf));
        // The pages of a dictionary wait for the end of their row group, and lists have any number of values.
        column.max_rep_level() == 0 && chunks.any(is_of_dictionary)
    };
    columns.iter().enumerate().map(has_dictionary).collect()
}

/// Returns true if all pages of a column of a row group have values of a dictionary, as far as the footer says. Writers
/// begin with one, and go on without if it grows too large: to try that again costs a look at each value.
fn is_of_dictionary(column: &ColumnChunkMetaData) -> bool {
    let encodings = column.encodings_mask();
    let is_named =
        encodings.is_set(Encoding::RLE_DICTIONARY) || encodings.is_set(Encoding::PLAIN_DICTIONARY);
    let pages = column.page_encoding_stats_mask();
    let is_of_it = |pages: &EncodingMask| {
        pages.is_only(Encoding::RLE_DICTIONARY) || pages.is_only(Encoding::PLAIN_DICTIONARY)
    };
    is_named && pages.is_none_or(is_of_it)
}

/// Appends the values of a copy to a column of this type.
fn append(
    copy: &ColumnCopy<'_>,
    physical_type: Type,
    to: &mut ColumnWriter<'_>,
) -> ::parquet::errors::Result<()> {
    match physical_type {
        Type::BOOLEAN => copy.append_to::<BoolType>(get_typed_column_writer_mut(to)),
        Type::INT32 => copy.append_to::<Int32Type>(get_typed_column_writer_mut(to)),
        Type::INT64 => copy.append_to::<Int64Type>(get_typed_column_writer_mut(to)),
        Type::INT96 => copy.append_to::<Int96Type>(get_typed_column_writer_mut(to)),
        Type::FLOAT => copy.append_to::<FloatType>(get_typed_column_writer_mut(to)),
        Type::DOUBLE => copy.append_to::<DoubleType>(get_typed_column_writer_mut(to)),
        Type::BYTE_ARRAY => copy.append_to::<ByteArrayType>(get_typed_column_writer_mut(to)),
        Type::FIXED_LEN_BYTE_ARRAY => {
            copy.append_to::<FixedLenByteArrayType>(get_typed_column_writer_mut(to))
        }
    }
}
