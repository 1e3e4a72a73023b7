//! Parquet files as inputs: their columns of the key are read, as records in the syntax of the other
//! inputs.
//!
//! *Owns:* what is known of one before it is read ([`Table`]), and its readings ([`Rows`]). *Invariants:* a row is a
//! record, whose fields are those of the key; a row with NULL in one of them is none, and is counted. Nothing is
//! allocated because a file says so before the memory for it was granted.
//!
//! ```text
//!  footer ──▶ Table: the columns, and where each is in each row group
//!               │ Rows: one reading of all row groups
//!               └─▶ Column ◀─┬─ `parquet`: levels, values ◀─┬─ Pages: sizes, checksum, decompression
//!                     │      └─ ByteArrays: places in pages ◀┘
//!                     └─▶ record in the syntax of the keys ──▶ chunk buffer
//! ```
//!
//! [`RowCopy`] appends some rows of a file to a new one ([`RowOutput`]), by the same pages and the same two ways.
//!
//! The thread that reads an input decodes it, beside the workers that hash its lines: the same as with compressed
//! files.
//!
//! *Cost:* the pages of a reading, see [`pages`]; 40 bytes for each row group and column of the key.
//!
//! *Sources:* the format is that of parquet-format 2.11; footer, levels and values are read by the crate `parquet`.

mod allowance;
mod byte_array_column;
mod byte_array_statistics;
mod byte_arrays;
mod codec;
mod column;
mod column_copy;
mod column_lanes;
mod copy;
mod delta;
mod footer;
mod group_copy;
mod names;
mod page_buffers;
mod page_header;
mod pages;
mod row_output;
mod rows;
mod run_length;
mod same_columns;
mod schema;
mod table;
mod text;
mod thrift;
mod values;
mod written_pages;

use std::path::Path;

use ::parquet::errors::ParquetError;

use crate::error::Error;

pub use copy::{Advance, RowCopy};
pub use row_output::RowOutput;
pub(crate) use rows::Rows;
pub(crate) use table::Table;

/// Makes the error for what `parquet`, or what it reads with, says of the file with this name.
fn failure(name: &Path, part: &str, error: ParquetError) -> Error {
    let mut advice = "copy or fetch it again, and check it with the program that wrote it";
    let why = match error {
        ParquetError::External(source) => match source.downcast::<Error>() {
            Ok(own) => return *own,
            Err(other) => other.to_string(),
        },
        ParquetError::General(why) | ParquetError::EOF(why) => why,
        // It is as it should be.
        ParquetError::NYI(why) => {
            advice = "write the file again with zstd, snappy, gzip, lz4 or no compression";
            why
        }
        other => other.to_string(),
    };
    Error::Undecodable {
        path: name.to_owned(),
        what: format!("{part} cannot be read ({why})"),
        advice,
    }
}

/// Returns the name of a row group in messages.
fn group_name(number: usize) -> String {
    format!("row group {number} of the Parquet file")
}
