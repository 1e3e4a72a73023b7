//! What the footer of a file says.
//!
//! *Owns:* recognising a Parquet file, finding the columns of the key, and where they are in each row group. *Invariants:* a
//! footer is read in the memory that there is for it; what it says of places and sizes is checked against the file.
//! *Cost:* the footer and some times its bytes while it is read; afterwards [`Table`] alone is left of it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use ::parquet::basic::Encoding;
use ::parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy, RowGroupMetaData,
};
use ::parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};

use crate::error::{Error, Result};
use crate::input::keying::Opening;
use crate::input::parquet::column::{Form, guarded};
use crate::input::parquet::page_header::schema_columns;
use crate::input::parquet::pages::{Chunk, damaged, needed_bytes, read_header};
use crate::input::parquet::{Group, KeyColumn, LeftOut, Table, codec, failure, group_name};
use crate::input::unreadable;
use crate::record::{BadRecords, Field, Keys, Syntax, Writing};
use crate::size::{display_at_least, display_bytes};

/// The first and last bytes of a file.
const MAGIC: &[u8] = b"PAR1";
/// The last bytes of a file whose footer is encrypted.
const ENCRYPTED: &[u8] = b"PARE";
/// What follows the magic at the start: the first field of a page's header, or of a footer, and its type.
const FIRST_FIELD: u8 = 0x15;
/// The bytes behind a footer: how long it is, and the magic.
const TAIL_BYTES: u64 = 8;
/// A footer becomes at most as many times its bytes in memory while it is read, beside what its columns take: the smallest
/// row groups have 28 bytes there.
const FOOTER_EXPANSION: u64 = 24;
/// What a column takes while a footer is read, in bytes: its description and its path.
const COLUMN_BYTES: u64 = 512;
/// As many pages of the largest row group show what memory a reading takes.
const PAGES_LOOKED_AT: usize = 64;
/// One by the share that the largest pages may be larger than those.
const SLACK: u64 = 8;

/// Whether a file or pipe that begins with `front` is Parquet.
pub(super) fn is_parquet(front: &[u8]) -> bool {
    front.starts_with(MAGIC) && front.get(MAGIC.len()) == Some(&FIRST_FIELD)
}

impl Table {
    /// The table that `file` of `size` bytes is, which belongs to the input with `number`, from 1; `None` where it is no
    /// Parquet file.
    ///
    /// # Errors
    /// [`Error::Usage`] where no column is named, or one that there is not; [`Error::Undecodable`] for a damaged file;
    /// [`Error::MemoryPlan`] for a footer that is too large.
    pub(in crate::input) fn of_file(
        (file, size): (&File, u64),
        name: &Path,
        number: u32,
        opening: Opening<'_>,
    ) -> Result<Option<Self>> {
        let mut front = [0; 5];
        if file.read_exact_at(&mut front, 0).is_err() || !is_parquet(&front) {
            return Ok(None);
        }
        let Some(keys) = opening
            .keys
            .filter(|keys| !keys.fields_of(number).is_empty())
        else {
            return Err(Error::Usage {
                what: format!(
                    "{}: is a Parquet file, and no column is named",
                    name.display()
                ),
                advice: "add --key COLUMN, or --decompress none to read its bytes as lines".into(),
            });
        };
        let metadata = read_footer(file, size, name, opening.memory_bytes)?;
        let table = Self::new((file, size), name, &metadata, (keys, number, opening))?;
        Ok(Some(table))
    }

    fn new(
        (file, size): (&File, u64),
        name: &Path,
        metadata: &ParquetMetaData,
        (keys, number, opening): (&Keys, u32, Opening<'_>),
    ) -> Result<Self> {
        let schema = metadata.file_metadata().schema_descr();
        let fields = keys.fields_of(number);
        if keys.syntax == Syntax::Whole && fields.len() > 1 {
            return Err(Error::Usage {
                what: format!("{}: a line cannot have several columns", name.display()),
                advice: "add --csv or --tsv, which put something between them".into(),
            });
        }
        let found: Vec<usize> = fields
            .iter()
            .map(|field| find(field, schema, name))
            .collect::<Result<_>>()?;
        let columns = found
            .iter()
            .map(|&leaf| key_column(schema.column(leaf), name));
        let columns: Vec<KeyColumn> = columns.collect::<Result<_>>()?;
        let mut groups = Vec::with_capacity(metadata.num_row_groups());
        for (number, group) in metadata.row_groups().iter().enumerate() {
            let group = group_of(group, &found, size)
                .map_err(|what| failure(name, &group_name(number), damaged(&what)))?;
            groups.push(group);
        }
        let rows = groups
            .iter()
            .map(|group| u128::from(group.rows))
            .sum::<u128>();
        if metadata.file_metadata().num_rows() as u128 != rows {
            let what = damaged("its row groups have another number of rows");
            return Err(failure(name, "the footer of the Parquet file", what));
        }
        let writing = Writing::new(keys.syntax, opening.format.terminator, fields);
        Ok(Self {
            header: header(keys, &writing, (&columns, name))?,
            memory_bytes: memory_of(file, &groups),
            columns,
            groups,
            rows: rows as u64,
            bytes: size,
            writing,
            has_row_numbers: keys.numbers_rows_of(number),
            skips_bad: keys.bad_records == BadRecords::Skip,
            left_out: LeftOut {
                nulls: AtomicU64::new(0),
                bad: AtomicU64::new(0),
            },
        })
    }
}

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
        behind.ok_or_else(|| fail("there is none: the file is cut short"))?,
    )?;
    let (length, magic) = tail.split_at(4);
    if magic == ENCRYPTED {
        return Err(fail("it is encrypted"));
    }
    if magic != MAGIC {
        return Err(fail(
            "there is none: the file is cut short, or goes on behind it",
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
        .with_encoding_stats_policy(skip())
        .with_size_stats_policy(skip());
    let decoded =
        guarded(|| ParquetMetaDataReader::decode_metadata_with_options(&footer, Some(&options)));
    let metadata =
        decoded.map_err(|error| failure(name, "the footer of the Parquet file", error))?;
    // Its places count from the start of its own file, and lead to the pages of another one.
    let moved = start.saturating_sub(described_bytes(&metadata));
    let mut front = [0; MAGIC.len()];
    if moved > 0 && file.read_exact_at(&mut front, moved).is_ok() && front == MAGIC {
        return Err(fail("it belongs to a second file, behind the first"));
    }
    Ok(metadata)
}

/// The refusal of a footer that takes `needed_bytes`: readers get half of the memory for it.
fn footer_too_large(name: &Path, needed_bytes: u64) -> Error {
    let least_bytes = 2 * needed_bytes;
    Error::MemoryPlan {
        what: format!(
            "{}: reading the footer of the Parquet file takes up to {} of memory",
            name.display(),
            display_bytes(needed_bytes)
        ),
        advice: format!("give at least {}", display_at_least(least_bytes)),
        least_bytes,
    }
}

/// Where what a footer describes ends: the last page, or the last index.
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

/// The leaf that a field of the key is.
fn find(field: &Field, schema: &SchemaDescriptor, name: &Path) -> Result<usize> {
    let usage = |what: String, advice: String| Err(Error::Usage { what, advice });
    let leaves = 0..schema.num_columns();
    let found: Vec<usize> = match field {
        Field::Name(wanted) => leaves
            .filter(|&leaf| schema.column(leaf).path().string() == *wanted)
            .collect(),
        Field::Number(number) => leaves
            .filter(|&leaf| schema.get_column_root_idx(leaf) + 1 == *number as usize)
            .collect(),
    };
    match found[..] {
        [only] => Ok(only),
        [] => {
            let all = (0..schema.num_columns()).map(|leaf| schema.column(leaf).path().string());
            let mut shown: Vec<String> = all.take(SHOWN + 1).collect();
            if shown.len() > SHOWN {
                shown[SHOWN] = "...".into();
            }
            usage(
                format!("{}: has no column {field}", name.display()),
                format!("name one of: {}", shown.join(", ")),
            )
        }
        _ => usage(
            format!("{}: column {field} is not one column", name.display()),
            format!(
                "name one within it, such as {}",
                schema.column(found[0]).path().string()
            ),
        ),
    }
}

/// As many columns are shown at most.
const SHOWN: usize = 20;

/// A column of the key, if it can be one.
fn key_column(column: ColumnDescPtr, name: &Path) -> Result<KeyColumn> {
    let refuse = |what: &str| {
        Err(Error::Usage {
            what: format!(
                "{}: column {} {what}",
                name.display(),
                column.path().string()
            ),
            advice: "name a column of text, binary or integers".into(),
        })
    };
    if column.max_rep_level() > 0 {
        return refuse("is a list: a row may have several values");
    }
    match Form::of(&column) {
        Some(form) => Ok(KeyColumn { column, form }),
        None => refuse("is neither text, binary nor an integer"),
    }
}

/// Where a row group has the columns of the key.
fn group_of(group: &RowGroupMetaData, leaves: &[usize], size: u64) -> Result<Group, String> {
    let rows = u64::try_from(group.num_rows()).map_err(|_| "it has less than 0 rows")?;
    let chunk = |&leaf: &usize| {
        let column = group.columns().get(leaf).ok_or("a column is missing")?;
        let chunk = chunk_of(column, size)?;
        if chunk.values != rows {
            return Err("a column has another number of values than there are rows".into());
        }
        Ok(chunk)
    };
    let chunks: Result<Vec<Chunk>, String> = leaves.iter().map(chunk).collect();
    Ok(Group {
        rows,
        chunks: chunks?,
    })
}

/// Where a column of a row group is in a file of `size` bytes.
pub(super) fn chunk_of(column: &ColumnChunkMetaData, size: u64) -> Result<Chunk, String> {
    if column.file_path().is_some() {
        return Err("a column is in another file".into());
    }
    let values = not_negative(column.num_values())?;
    // Where there is nothing, some writers give no place.
    let (start, bytes) = match values {
        0 => (MAGIC.len() as u64, 0),
        _ => chunk_range(column)?,
    };
    let codec = column.compression_codec();
    if !codec::is_known(codec) {
        let name = codec::name(codec);
        return Err(format!(
            "its pages are compressed with {name}, which is not read here"
        ));
    }
    if start.checked_add(bytes).is_none_or(|end| end > size) {
        return Err("a column does not lie in the file".into());
    }
    Ok(Chunk {
        start,
        bytes,
        raw_bytes: not_negative(column.uncompressed_size())?,
        codec,
        values,
        has_deltas: column
            .encodings()
            .any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY),
    })
}

/// The first byte and the bytes of a column of a row group.
fn chunk_range(column: &ColumnChunkMetaData) -> Result<(u64, u64), String> {
    // Some writers leave a 0 there for none.
    let data = Some(column.data_page_offset()).filter(|&start| start != 0);
    let dictionary = column.dictionary_page_offset().filter(|&start| start != 0);
    let start = data.into_iter().chain(dictionary).min();
    let start = not_negative(start.ok_or("a column has no place")?)?;
    Ok((start, not_negative(column.compressed_size())?))
}

fn not_negative(number: i64) -> Result<u64, String> {
    u64::try_from(number).map_err(|_| "a place or size is below 0".into())
}

/// The names of the columns as a record with its terminator, if records have a header.
fn header(
    keys: &Keys,
    writing: &Writing,
    (columns, name): (&[KeyColumn], &Path),
) -> Result<Option<Vec<u8>>> {
    if !keys.has_header {
        return Ok(None);
    }
    let mut record = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let text = column.column.path().string();
        let written = writing.field((place, false), text.as_bytes(), &mut record);
        written.map_err(|why| Error::Usage {
            what: format!(
                "{}: the name of column {text} {}",
                name.display(),
                why.describe().0
            ),
            advice: "give another format".into(),
        })?;
    }
    writing.end(&mut record);
    Ok(Some(record))
}

/// What a reading takes in bytes, going by the first pages of the row group with the most bytes, and some more: the pages
/// of others may be larger. A header that is damaged is noticed when it is read.
fn memory_of(file: &File, groups: &[Group]) -> u64 {
    let raw_bytes = |chunk: &Chunk| u128::from(chunk.raw_bytes);
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
            let bytes = needed_bytes(&header, chunk.codec);
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
