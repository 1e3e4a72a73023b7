//! The footer of a file.
//!
//! *Owns:* reading it, and where a column of a row group is. *Invariants:* a footer is read in the memory that there is
//! for it; what it says of offsets and sizes is checked against the file. *Cost:* the footer and some times its bytes
//! while it is read.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use ::parquet::basic::{Encoding, Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy, RowGroupMetaData,
};

use crate::decode::io_error::unreadable;
use crate::decode::parquet::pages::{ColumnChunk, damaged};
use crate::decode::parquet::schema::schema_columns;
use crate::decode::parquet::values::guard;
use crate::decode::parquet::{codec, failure};
use crate::error::{Error, Result};
use crate::size::{display_at_least, display_bytes};

/// The first and last bytes of a file.
const MAGIC: &[u8] = b"PAR1";
/// The last bytes of a file whose footer is encrypted.
const ENCRYPTED: &[u8] = b"PARE";
/// The bytes after a footer: how long it is, and the magic.
const TAIL_BYTES: u64 = 8;
/// The most bytes of memory that a byte of a footer becomes while it is read, besides what its columns take: the
/// smallest row groups have 28 bytes there.
const FOOTER_EXPANSION: u64 = 24;
/// The memory of a column while a footer is read, in bytes: its description and its path.
const COLUMN_BYTES: u64 = 512;

/// Reads the footer of a file.
pub(super) fn read_footer(
    file: &File,
    size: u64,
    name: &Path,
    memory_bytes: u64,
) -> Result<ParquetMetaData> {
    let fail = |what: &str| failure(name, "the footer of the Parquet file", damaged(what));
    let read = |bytes: &mut [u8], start: u64| {
        let read = file.read_exact_at(bytes, start);
        read.map_err(|error| unreadable(name, error))
    };
    let mut tail = [0; TAIL_BYTES as usize];
    let behind = size.checked_sub(TAIL_BYTES).filter(|&start| start >= 4);
    read(
        &mut tail,
        behind.ok_or_else(|| fail("not found at the end: the file is truncated"))?,
    )?;
    let (length, magic) = tail.split_at(4);
    if magic == ENCRYPTED {
        return Err(fail("it is encrypted"));
    }
    if magic != MAGIC {
        return Err(fail(
            "not found at the end: the file is truncated, or has extra bytes at its end",
        ));
    }
    let length = length
        .iter()
        .rev()
        .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    let start = (size - TAIL_BYTES)
        .checked_sub(length)
        .filter(|start| *start >= 4);
    let start = start.ok_or_else(|| fail("it is longer than the file"))?;
    let grants = |needed: u64| {
        let is_granted = needed <= memory_bytes;
        let refusal = || footer_too_large(name, needed);
        is_granted.then_some(()).ok_or_else(refusal)
    };
    grants(length * FOOTER_EXPANSION)?;
    let mut footer = vec![0; length as usize];
    read(&mut footer, start)?;
    let columns =
        schema_columns(&footer).ok_or_else(|| fail("its schema is damaged, or too deep"))?;
    grants(length * FOOTER_EXPANSION + columns * COLUMN_BYTES)?;
    let skip = || ParquetStatisticsPolicy::SkipAll;
    let options = ParquetMetaDataOptions::new()
        .with_column_stats_policy(skip())
        .with_size_stats_policy(skip());
    let decoded =
        guard(|| ParquetMetaDataReader::decode_metadata_with_options(&footer, Some(&options)));
    let metadata =
        decoded.map_err(|error| failure(name, "the footer of the Parquet file", error))?;
    // Its offsets count from the start of its own file, and lead to the pages of another one.
    let moved = start.saturating_sub(described_bytes(&metadata));
    let mut front = [0; MAGIC.len()];
    if moved > 0 && file.read_exact_at(&mut front, moved).is_ok() && front == MAGIC {
        return Err(fail(
            "the file consists of two Parquet files, one after the other",
        ));
    }
    Ok(metadata)
}

/// Refuses a footer that takes `needed_bytes`: readers get half of the memory for it.
fn footer_too_large(name: &Path, needed_bytes: u64) -> Error {
    let least_bytes = 2 * needed_bytes;
    Error::MemoryPlan {
        what: format!(
            "reading the footer of {} takes up to {} of memory",
            name.display(),
            display_bytes(needed_bytes)
        ),
        advice: format!("give at least {}", display_at_least(least_bytes)),
        least_bytes,
    }
}

/// Finds the end of what a footer describes: the last page, or the last index.
fn described_bytes(metadata: &ParquetMetaData) -> u64 {
    let end = |start: Option<i64>, bytes: Option<i32>| {
        let end = start?.checked_add(bytes?.into())?;
        u64::try_from(end).ok()
    };
    let columns = metadata
        .row_groups()
        .iter()
        .flat_map(RowGroupMetaData::columns);
    let ends = columns.flat_map(|column| {
        let pages = chunk_range(column).map(|(start, bytes)| start.saturating_add(bytes));
        [
            pages.ok(),
            end(column.column_index_offset(), column.column_index_length()),
            end(column.offset_index_offset(), column.offset_index_length()),
            end(column.bloom_filter_offset(), column.bloom_filter_length()),
        ]
    });
    ends.flatten().max().unwrap_or(MAGIC.len() as u64)
}

/// Finds where a column of a row group is in a file of `size` bytes.
///
/// # Errors
/// An error of its own where the footer makes no sense; [`ParquetError::NYI`] for a compression that is not read.
pub(super) fn chunk_of(
    column: &ColumnChunkMetaData,
    size: u64,
) -> Result<ColumnChunk, ParquetError> {
    if column.file_path().is_some() {
        return Err(damaged("a column is in a different file"));
    }
    let values = not_negative(column.num_values()).map_err(|what| damaged(&what))?;
    // Where there is nothing, some writers give no offset.
    let (start, bytes) = match values {
        0 => (MAGIC.len() as u64, 0),
        _ => chunk_range(column).map_err(|what| damaged(&what))?,
    };
    let codec = column.compression_codec();
    if !codec::is_known(codec) {
        let name = codec::name(codec);
        return Err(ParquetError::NYI(format!(
            "its pages are compressed with {name}, which outset cannot decompress"
        )));
    }
    if start.checked_add(bytes).is_none_or(|end| end > size) {
        return Err(damaged("a column ends beyond the end of the file"));
    }
    Ok(ColumnChunk {
        start,
        bytes,
        raw_bytes: not_negative(column.uncompressed_size()).map_err(|what| damaged(&what))?,
        codec,
        values,
        has_deltas: column
            .encodings()
            .any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY),
        has_byte_arrays: has_byte_arrays(column),
    })
}

/// Returns true if a column of a row group is one of byte arrays without lists, in pages that are plain or of a
/// dictionary: one of [`ByteArrays`](crate::decode::parquet::byte_arrays::ByteArrays).
pub(super) fn has_byte_arrays(chunk: &ColumnChunkMetaData) -> bool {
    let column = chunk.column_descr();
    let is_read = |encoding| match encoding {
        Encoding::PLAIN | Encoding::RLE | Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => {
            true
        }
        // Old writers name it also where there are no levels that have it.
        #[expect(deprecated, reason = "old files have it")]
        Encoding::BIT_PACKED => column.max_def_level() <= 1,
        _ => false,
    };
    column.physical_type() == Type::BYTE_ARRAY
        && column.max_rep_level() == 0
        && chunk.encodings().next().is_some()
        && chunk.encodings().all(is_read)
}

/// Returns the first byte and the bytes of a column of a row group.
fn chunk_range(column: &ColumnChunkMetaData) -> Result<(u64, u64), String> {
    // Some writers leave a 0 there for none.
    let data = Some(column.data_page_offset()).filter(|&start| start != 0);
    let dictionary = column.dictionary_page_offset().filter(|&start| start != 0);
    let start = data.into_iter().chain(dictionary).min();
    let start = not_negative(start.ok_or("a column has no offset")?)?;
    Ok((start, not_negative(column.compressed_size())?))
}

fn not_negative(number: i64) -> Result<u64, String> {
    u64::try_from(number).map_err(|_| "an offset or a size is negative".into())
}
