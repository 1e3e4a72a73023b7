//! A Parquet file, before it is read.
//!
//! *Owns:* [`Table`]: the columns of the key, where each row group has them, and what reading them takes. *Invariants:*
//! a column of the key can be written as text; what the footer says of offsets is checked. *Cost:* 40 bytes for each
//! row group and column of the key; the footer itself is not kept.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use ::parquet::schema::types::ColumnDescPtr;

use crate::decode::compressed::Decoding;
use crate::decode::parquet::footer::{chunk_of, read_footer};
use crate::decode::parquet::names::find;
use crate::decode::parquet::pages::{ColumnChunk, damaged, read_header};
use crate::decode::parquet::text::{TextForm, type_name};
use crate::decode::parquet::{failure, group_name};
use crate::decode::request::Opening;
use crate::error::{Error, Result};
use crate::record::{BadRecords, Keys, Syntax, Writing};

/// A byte of a record costs as much time as this many that are written or read: a core decodes 500 MB/s.
const COST: u64 = 2;

/// The least rows of a piece that is decoded beside others, except the last.
const PIECE_ROWS: u64 = 1 << 16;
/// The pages of the largest row group that show what memory a reading takes.
const PAGES_LOOKED_AT: usize = 64;
/// One by the share that the largest pages may be larger than those.
const SLACK: u64 = 8;

/// A Parquet file, before it is read.
#[derive(Debug)]
pub(crate) struct Table {
    /// The columns of the key, in its order.
    pub(super) columns: Vec<KeyColumn>,
    pub(super) groups: Vec<Group>,
    /// Of all groups.
    pub(super) rows: u64,
    /// The bytes of the file.
    pub(super) bytes: u64,
    /// The memory of a reading in bytes, as far as some pages show it.
    pub(super) memory_bytes: u64,
    pub(super) writing: Writing,
    /// The names of the columns as a record, with a terminator; of records that have a header.
    pub(super) header: Option<Vec<u8>>,
    /// The byte after the number of its row, which stands before each record that is text; `None` if rows have none.
    pub(super) row_number_end: Option<u8>,
    /// True if rows whose key cannot be written are left out.
    pub(super) skips_bad: bool,
    /// The rows that the last reading left out.
    pub(super) left_out: LeftOut,
}

/// Rows that are no records.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    pub(super) nulls: AtomicU64,
    pub(super) bad: AtomicU64,
}

#[derive(Debug)]
pub(super) struct KeyColumn {
    pub(super) column: ColumnDescPtr,
    pub(super) form: TextForm,
}

/// A row group.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) rows: u64,
    /// The location of each column of the key.
    pub(super) chunks: Vec<ColumnChunk>,
}

impl Table {
    /// Opens the table that `file` is: a Parquet file of `size` bytes, which belongs to the input with `number`, from
    /// 1.
    ///
    /// # Errors
    /// [`Error::Usage`] where no column is named, or one that there is not; [`Error::Undecodable`] for a damaged file;
    /// [`Error::MemoryPlan`] for a footer that is too large.
    pub(crate) fn open(
        file: &File,
        size: u64,
        name: &Path,
        number: u32,
        opening: Opening<'_>,
    ) -> Result<Self> {
        let keys = opening.keys_of(number);
        let Some(keys) = keys.filter(|keys| !keys.fields_of(number).is_empty()) else {
            return Err(Error::usage(
                format!(
                    "{}: is a Parquet file, but no column is named",
                    name.display()
                ),
                "add `keys` COLUMN, or `decompress: false` to read its bytes as lines",
            ));
        };
        let metadata = read_footer(file, size, name, opening.memory_bytes)?;
        Self::new(file, size, name, &metadata, &keys, number, opening)
    }

    fn new(
        file: &File,
        size: u64,
        name: &Path,
        metadata: &ParquetMetaData,
        keys: &Keys,
        number: u32,
        opening: Opening<'_>,
    ) -> Result<Self> {
        let schema = metadata.file_metadata().schema_descr();
        let fields = keys.fields_of(number);
        if keys.syntax == Syntax::Whole && fields.len() > 1 {
            return Err(Error::usage(
                format!(
                    "{}: several key columns need `Syntax::Csv` or `Syntax::Delimited(b'\\t')` to separate them",
                    name.display()
                ),
                "add one of these, or name a single column",
            ));
        }
        let found: Vec<usize> = fields
            .iter()
            .map(|field| find(keys, field, schema, name))
            .collect::<Result<_>>()?;
        let columns = found
            .iter()
            .map(|&leaf| key_column(schema.column(leaf), name));
        let columns: Vec<KeyColumn> = columns.collect::<Result<_>>()?;
        let mut groups = Vec::with_capacity(metadata.num_row_groups());
        for (number, group) in metadata.row_groups().iter().enumerate() {
            let group = group_of(group, &found, size)
                .map_err(|error| failure(name, &group_name(number), error))?;
            groups.push(group);
        }
        let rows = groups
            .iter()
            .map(|group| u128::from(group.rows))
            .sum::<u128>();
        if metadata.file_metadata().num_rows() as u128 != rows {
            let what = damaged("its row groups have a different number of rows");
            return Err(failure(name, "the footer of the Parquet file", what));
        }
        let writing = Writing::new(keys.syntax, opening.format.terminator, fields);
        Ok(Self {
            header: header(keys.has_header_of(number), &writing, &columns, name)?,
            memory_bytes: memory_of(file, &groups),
            columns,
            groups,
            rows: rows as u64,
            bytes: size,
            writing,
            row_number_end: keys.row_number_end(),
            skips_bad: keys.bad_records == BadRecords::Skip,
            left_out: LeftOut {
                nulls: AtomicU64::new(0),
                bad: AtomicU64::new(0),
            },
        })
    }

    /// Returns what decoding it takes.
    pub(crate) fn decoding(&self) -> Decoding {
        Decoding {
            memory_bytes: self.memory_bytes,
            cost: COST,
            pieces: self.piece_starts().count() as u64,
        }
    }

    /// Returns the number of the row group after the piece that begins with the row group `start`; `None` if that
    /// is the end of the file.
    pub(crate) fn piece_end(&self, start: u64) -> Option<u64> {
        let mut rows = 0;
        let following = self.groups.get(start as usize..)?.iter().zip(start + 1..);
        let end = following.into_iter().find_map(|(group, end)| {
            rows += group.rows;
            (rows >= PIECE_ROWS).then_some(end)
        })?;
        (end < self.groups.len() as u64).then_some(end)
    }

    /// Counts its row groups.
    pub(crate) fn row_groups(&self) -> u64 {
        self.groups.len() as u64
    }

    /// Lists the row groups that its pieces begin with.
    pub(crate) fn piece_starts(&self) -> impl Iterator<Item = u64> {
        std::iter::successors(Some(0), |&start| self.piece_end(start))
    }

    /// Returns the numbers of the rows of some row groups.
    pub(super) fn rows_of(&self, groups: Range<usize>) -> Range<u64> {
        let rows = |groups: &[Group]| groups.iter().map(|group| group.rows).sum::<u64>();
        let start = rows(&self.groups[..groups.start]);
        start..start + rows(&self.groups[groups])
    }

    /// Counts its rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows_of(0..self.groups.len()).end
    }

    /// Notes that a reading of all rows begins.
    pub(crate) fn begin_reading(&self) {
        self.left_out.nulls.store(0, Ordering::Relaxed);
        self.left_out.bad.store(0, Ordering::Relaxed);
    }

    /// Notes how many rows a reading of some left out: because of NULL, and because they cannot be written.
    pub(super) fn leave_out(&self, nulls: u64, bad: u64) {
        self.left_out.nulls.fetch_add(nulls, Ordering::Relaxed);
        self.left_out.bad.fetch_add(bad, Ordering::Relaxed);
    }

    /// Returns the names of its columns as a record, without the terminator.
    pub(crate) fn header(&self) -> Option<&[u8]> {
        let header = self.header.as_deref()?;
        header.split_last().map(|(_, names)| names)
    }

    /// Counts the columns of the key.
    pub(crate) fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Counts the rows of the last reading that have NULL in the key, and those with a key that cannot be written.
    pub(crate) fn left_out(&self) -> (u64, u64) {
        let LeftOut { nulls, bad } = &self.left_out;
        (nulls.load(Ordering::Relaxed), bad.load(Ordering::Relaxed))
    }
}

/// Makes a column of the key, if it can be one.
fn key_column(column: ColumnDescPtr, name: &Path) -> Result<KeyColumn> {
    let refuse = |what: &str| {
        Err(Error::usage(
            format!(
                "{}: column {} {what}",
                name.display(),
                column.path().string()
            ),
            "name a column of text, binary, numbers, dates or times",
        ))
    };
    if column.max_rep_level() > 0 {
        return refuse("is a list: a row may have several values");
    }
    match TextForm::of(&column) {
        Some(form) => Ok(KeyColumn { column, form }),
        None => refuse(&format!(
            "is of type {}, which cannot be a key",
            type_name(&column)
        )),
    }
}

/// Finds the columns of the key in a row group.
fn group_of(group: &RowGroupMetaData, leaves: &[usize], size: u64) -> Result<Group, ParquetError> {
    let rows =
        u64::try_from(group.num_rows()).map_err(|_| damaged("it has a negative number of rows"))?;
    let chunk = |&leaf: &usize| {
        let column = group.columns().get(leaf);
        let chunk = chunk_of(column.ok_or_else(|| damaged("a column is missing"))?, size)?;
        if chunk.values != rows {
            let what = "a column has a different number of values than there are rows";
            return Err(damaged(what));
        }
        Ok(chunk)
    };
    let chunks: Result<Vec<ColumnChunk>, ParquetError> = leaves.iter().map(chunk).collect();
    Ok(Group {
        rows,
        chunks: chunks?,
    })
}

/// Writes the names of the columns as a record with its terminator, if records have a header.
fn header(
    is_wanted: bool,
    writing: &Writing,
    columns: &[KeyColumn],
    name: &Path,
) -> Result<Option<Vec<u8>>> {
    if !is_wanted {
        return Ok(None);
    }
    let mut record = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let text = column.column.path().string();
        let written = writing.field(index, false, text.as_bytes(), &mut record);
        written.map_err(|why| {
            Error::usage(
                format!(
                    "{}: the name of column {text} {}",
                    name.display(),
                    why.describe().0
                ),
                "give a different format",
            )
        })?;
    }
    writing.end(&mut record);
    Ok(Some(record))
}

/// Estimates what a reading takes in bytes, by the first pages of the row group with the most bytes, and some more: the
/// pages of others may be larger. A header that is damaged is noticed when it is read.
fn memory_of(file: &File, groups: &[Group]) -> u64 {
    let raw_bytes = |chunk: &ColumnChunk| u128::from(chunk.raw_bytes);
    let bytes = |group: &&Group| group.chunks.iter().map(raw_bytes).sum::<u128>();
    let Some(largest) = groups.iter().max_by_key(bytes) else {
        return 0;
    };
    let mut needed = 0;
    for chunk in &largest.chunks {
        let (mut offset, end) = (chunk.start, chunk.start + chunk.bytes);
        let (mut dictionary, mut most) = (0, 0);
        for _ in 0..PAGES_LOOKED_AT {
            if offset >= end {
                break;
            }
            let Ok(header) = read_header(file, offset, end - offset) else {
                break;
            };
            let bytes = header.needed_bytes(chunk.codec);
            if header.values() == 0 {
                dictionary = bytes;
            }
            most = most.max(bytes);
            offset += header.header_bytes + header.stored_bytes;
        }
        needed += dictionary + most;
    }
    needed + needed / SLACK
}
