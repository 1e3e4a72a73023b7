//! One reading of the rows of some row groups, or of all.
//!
//! *Owns:* the way from row group to row group, and from values to records. *Invariants:* every row becomes one record,
//! or is counted as left out; each column ends with its row group, so that none comes too short in silence. *Cost:* the
//! pages of the columns of the key, and one record.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use ::parquet::errors::ParquetError;

use crate::decode::parquet::allowance::Allowance;
use crate::decode::parquet::column::Column;
use crate::decode::parquet::table::{Group, KeyColumn, Table};
use crate::decode::parquet::{failure, group_name};
use crate::decode::stream::Filled;
use crate::error::{Error, Result};
use crate::lines::prefixed;
use crate::memory::budget::MemoryBudget;
use crate::record::Unwritable;

/// Bytes of records between two looks whether the run is to stop; a row counts as some at least.
const BYTES_PER_LOOK: usize = 1 << 20;
const LEAST_ROW_BYTES: usize = 256;
/// Bytes of records that are gathered before they are given.
const GATHERED_BYTES: usize = 32 << 10;
/// The most bytes of a field that needs no memory of its own.
const SMALL_BYTES: usize = 64 << 10;
/// The most bytes of a record that a byte of a field becomes: JSON writes some bytes as six. While a record grows,
/// its memory is copied.
const EXPANSION: u64 = 12;

/// Reads the rows of a piece of a file as records.
pub(crate) struct Rows<'a> {
    table: Arc<Table>,
    file: Arc<File>,
    name: &'a Path,
    stop: &'a (dyn Fn() -> Result<()> + Sync),
    allowance: Arc<Allowance>,
    /// The row group that is read, where the piece ends, and how many rows of the group were read.
    group: usize,
    end: usize,
    row: u64,
    /// The columns of the group; none before its first row.
    columns: Vec<Column>,
    /// The number of the next row in the file, from 0, and of the first.
    number: u64,
    first_number: u64,
    /// Some records, and how many bytes of them were given.
    records: Vec<u8>,
    given: usize,
    /// True if records are [`prefixed`] and have no terminators. Where rows are numbered, the number is behind the
    /// record, not before it.
    are_prefixed: bool,
    /// The buffer in which values are put together that are no pieces of a page.
    scratch: Vec<u8>,
    nulls: u64,
    bad: u64,
    /// Bytes since it was asked whether the run is to stop.
    since_look: usize,
}

impl<'a> Rows<'a> {
    /// Reads the row groups from `start` to `end`, or to the last, of `file`. Its memory comes from `budget`.
    pub(crate) fn new(
        table: &Arc<Table>,
        file: File,
        name: &'a Path,
        start: u64,
        end: Option<u64>,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
        budget: &MemoryBudget,
    ) -> Self {
        let allowance = Allowance::new(name.to_owned(), table.columns.len() + 1, budget);
        let header = table.header.as_ref().filter(|_| start == 0);
        let records = header.cloned().unwrap_or_default();
        let all = table.groups.len();
        let start = all.min(start as usize);
        let end = end.map_or(all, |end| all.min(end as usize));
        Self {
            table: Arc::clone(table),
            file: Arc::new(file),
            name,
            stop,
            allowance: Arc::new(allowance),
            group: start,
            end,
            row: 0,
            columns: Vec::new(),
            number: table.rows_of(0..start).end,
            first_number: table.rows_of(0..start).end,
            records,
            given: 0,
            are_prefixed: false,
            scratch: Vec::new(),
            nulls: 0,
            bad: 0,
            since_look: 0,
        }
    }

    /// Returns the same, whose records have their lengths before them. To be called before any was read: no header is
    /// among them.
    pub(crate) fn with_prefixes(self) -> Self {
        Self {
            records: Vec::new(),
            are_prefixed: true,
            ..self
        }
    }

    /// Writes records until `buffer` is full or the rows have ended.
    ///
    /// # Errors
    /// [`Error::Undecodable`] for a damaged file, [`Error::BadRow`] for a key that cannot be written,
    /// [`Error::MemoryPlan`] for a page that takes more memory than there is; what `stop` returns.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<Filled> {
        let table = Arc::clone(&self.table);
        let (mut filled, mut is_ended) = (0, false);
        while filled < buffer.len() && !is_ended {
            let rest = &self.records[self.given..];
            if rest.is_empty() {
                is_ended = !self.next_rows(&table)?;
                continue;
            }
            let bytes = rest.len().min(buffer.len() - filled);
            buffer[filled..filled + bytes].copy_from_slice(&rest[..bytes]);
            self.given += bytes;
            filled += bytes;
        }
        Ok(Filled {
            bytes: filled,
            is_ended,
        })
    }

    /// Estimates the bytes of the file that the records so far come from: the share of the file that they are of the
    /// rows.
    pub(crate) fn taken_bytes(&self) -> u64 {
        let rows = self.number - self.first_number;
        let share = rows as f64 / self.table.rows.max(1) as f64;
        (self.table.bytes as f64 * share) as u64
    }

    /// Gathers the records of some rows. False at the end.
    fn next_rows(&mut self, table: &Table) -> Result<bool> {
        self.records.clear();
        self.given = 0;
        while self.records.len() < GATHERED_BYTES {
            if !self.next_row(table)? {
                return Ok(!self.records.is_empty());
            }
        }
        Ok(true)
    }

    /// Appends the record of the next row that is not left out. False at the end.
    fn next_row(&mut self, table: &Table) -> Result<bool> {
        while let Some(group) = table.groups[..self.end].get(self.group) {
            if self.row == group.rows {
                self.end_group(group)?;
                continue;
            }
            if self.since_look > BYTES_PER_LOOK {
                (self.stop)()?;
                self.since_look = 0;
            }
            if self.columns.is_empty() {
                self.open_group(group);
            }
            let (number, start) = (self.number, self.records.len());
            let written = self.write_row(table, number);
            self.row += 1;
            self.number += 1;
            self.since_look += (self.records.len() - start).max(LEAST_ROW_BYTES);
            match written.map_err(|error| failure(self.name, &group_name(self.group), error))? {
                Row::Written => return Ok(true),
                Row::Null => self.nulls += 1,
                Row::Bad(_) if table.skips_bad => self.bad += 1,
                Row::Bad(why) => return Err(self.bad_row(number, why)),
            }
            self.records.truncate(start);
        }
        table.leave_out(
            std::mem::take(&mut self.nulls),
            std::mem::take(&mut self.bad),
        );
        Ok(false)
    }

    fn open_group(&mut self, group: &Group) {
        let columns = self.table.columns.iter().zip(&group.chunks);
        let open = |(index, (column, &chunk))| {
            let memory = (Arc::clone(&self.allowance), index);
            let column: &KeyColumn = column;
            Column::open(&self.file, (&column.column, column.form), chunk, memory)
        };
        self.columns = columns.enumerate().map(open).collect();
    }

    fn end_group(&mut self, group: &Group) -> Result<()> {
        if group.rows == 0 {
            self.open_group(group);
        }
        for column in std::mem::take(&mut self.columns) {
            let finished = column.finish();
            finished.map_err(|error| failure(self.name, &group_name(self.group), error))?;
        }
        self.group += 1;
        self.row = 0;
        Ok(())
    }

    /// Appends the next row as a record.
    fn write_row(&mut self, table: &Table, number: u64) -> Result<Row, ParquetError> {
        let start = self.records.len();
        if self.are_prefixed {
            self.records.push(0);
        } else if let Some(end) = table.row_number_end {
            let mut digits = itoa::Buffer::new();
            self.records
                .extend_from_slice(digits.format(number).as_bytes());
            self.records.push(end);
        }
        let mut row = Row::Written;
        for (index, column) in self.columns.iter_mut().enumerate() {
            // Every column goes on, whatever the others have.
            let Some(text) = column.read(&mut self.scratch)? else {
                row = Row::Null;
                continue;
            };
            if text.len() > SMALL_BYTES {
                let index = table.columns.len();
                self.allowance
                    .grow_to(index, EXPANSION * text.len() as u64)
                    .map_err(|error| ParquetError::External(Box::new(error)))?;
            }
            let is_number = table.columns[index].form.is_number(text);
            let (writing, records) = (&table.writing, &mut self.records);
            let written = writing.field(index, is_number, text, records);
            if let (Err(why), Row::Written) = (written, &row) {
                row = Row::Bad(why);
            }
        }
        if !self.are_prefixed {
            table.writing.end(&mut self.records);
            return Ok(row);
        }
        if table.row_number_end.is_some() {
            self.records.extend_from_slice(&number.to_le_bytes());
        }
        prefixed::put_before(&mut self.records, start);
        Ok(row)
    }

    fn bad_row(&self, row: u64, why: Unwritable) -> Error {
        let (what, advice) = why.describe();
        Error::BadRow {
            path: self.name.to_owned(),
            row,
            what,
            advice,
        }
    }
}

/// The result of writing a row.
enum Row {
    Written,
    /// It has NULL in the key.
    Null,
    Bad(Unwritable),
}
