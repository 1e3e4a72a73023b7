//! Parquet files as inputs: what is read of one are the columns of the key, as records in the syntax of the other inputs.
//!
//! *Owns:* recognising them, and what is known of one before it is read ([`Table`]). *Invariants:* a row is a record, whose
//! fields are those of the key; a row with NULL in one of them is none, and is counted. Nothing is allocated because a file
//! says so before the memory for it was granted.
//!
//! ```text
//!  footer ──▶ Table: the columns, and where each is in each row group
//!               │ Rows: one reading of all row groups
//!               └─▶ Column ◀── `parquet`: levels, values ◀── Pages: sizes, checksum, decompression
//!                     └─▶ record in the syntax of the keys ──▶ chunk buffer
//! ```
//!
//! [`RowCopy`] writes some rows of a file to a new one, by the same pages.
//!
//! The thread that reads an input decodes it, beside the workers that hash its lines: the same as with compressed files.
//!
//! *Cost:* the pages of a reading, see [`pages`]; 40 bytes for each row group and column of the key.
//!
//! *Sources:* the format is that of parquet-format 2.11; footer, levels and values are read by the crate `parquet`.

mod allowance;
mod codec;
mod column;
mod copy;
mod delta;
mod footer;
mod page_header;
mod pages;
mod rows;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::parquet::errors::ParquetError;
use ::parquet::schema::types::ColumnDescPtr;

use crate::error::Error;
use crate::input::compressed::Decoding;
use crate::input::parquet::column::Form;
use crate::input::parquet::pages::Chunk;
use crate::record::Writing;

pub use copy::{Copied, RowCopy};
pub(crate) use rows::Rows;

/// A byte of a record costs as much time as this many that are written or read: a core decodes 500 MB/s.
const COST: u64 = 2;

/// A Parquet file, before it is read.
#[derive(Debug)]
pub(crate) struct Table {
    /// The columns of the key, in its order.
    columns: Vec<KeyColumn>,
    groups: Vec<Group>,
    /// Of all groups.
    rows: u64,
    /// The bytes of the file.
    bytes: u64,
    /// What a reading takes in bytes, as far as some pages show it.
    memory_bytes: u64,
    writing: Writing,
    /// The names of the columns as a record, with a terminator; of records that have a header.
    header: Option<Vec<u8>>,
    /// Whether the number of its row stands before each record.
    has_row_numbers: bool,
    /// Whether rows whose key cannot be written are left out.
    skips_bad: bool,
    /// What the last complete reading left out.
    left_out: LeftOut,
}

/// Rows that are no records.
#[derive(Debug, Default)]
struct LeftOut {
    nulls: AtomicU64,
    bad: AtomicU64,
}

#[derive(Debug)]
struct KeyColumn {
    column: ColumnDescPtr,
    form: Form,
}

/// A row group.
#[derive(Debug)]
struct Group {
    rows: u64,
    /// Where it has each column of the key.
    chunks: Vec<Chunk>,
}

impl Table {
    /// What decoding it takes.
    pub(super) fn decoding(&self) -> Decoding {
        Decoding {
            memory_bytes: self.memory_bytes,
            cost: COST,
        }
    }

    /// The names of its columns as a record, without the terminator.
    pub(super) fn header(&self) -> Option<&[u8]> {
        let header = self.header.as_deref()?;
        header.split_last().map(|(_, names)| names)
    }

    /// How many columns the key has.
    pub(super) fn columns(&self) -> usize {
        self.columns.len()
    }

    /// How many rows of the last complete reading have NULL in the key, and how many a key that cannot be written.
    pub(super) fn left_out(&self) -> (u64, u64) {
        let LeftOut { nulls, bad } = &self.left_out;
        (nulls.load(Ordering::Relaxed), bad.load(Ordering::Relaxed))
    }
}

/// The error for what `parquet`, or what it reads with, says of the file with this name.
fn failure(name: &Path, place: &str, error: ParquetError) -> Error {
    let why = match error {
        ParquetError::External(source) => match source.downcast::<Error>() {
            Ok(own) => return *own,
            Err(other) => other.to_string(),
        },
        ParquetError::General(why) | ParquetError::EOF(why) => why,
        other => other.to_string(),
    };
    Error::Undecodable {
        path: name.to_owned(),
        what: format!("{place} cannot be read ({why})"),
        advice: "copy or fetch it again, and check it with the program that wrote it",
    }
}

/// What messages call a row group.
fn group_name(number: usize) -> String {
    format!("row group {number} of the Parquet file")
}

/// The table of a file, shared by those who read it.
pub(super) type SharedTable = Arc<Table>;
