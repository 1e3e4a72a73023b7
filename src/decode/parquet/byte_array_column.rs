//! A column of byte arrays that is written: texts, mostly.
//!
//! *Owns:* [`ByteArrayColumn`]: its pages and its dictionary. A writer of `parquet` takes each value as a counted
//! reference of its own, and looks it up in its dictionary; here it is copied to the page that is filled, or is a
//! number, which the dictionary of its source leads to. *Invariants:* the dictionary comes before all other pages.
//! *Cost:* a page, a dictionary, and the compressed pages until the end.
//!
//! ```text
//!  text  ─▶ plain page   ─┬─▶ levels, values ─▶ compressed ─▶ pages ─┐
//!  entry ─▶ page of       ┘                                          ├─▶ the column
//!           numbers ─▶ dictionary ────────────────────────────────────┘ (first)
//! ```
//!
//! *Sources:* Encodings.md of Parquet's format; pages have the sizes of those of `parquet`.

use std::collections::HashMap;
use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding};
use ::parquet::column::page::{CompressedPage, Page, PageWriter};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::properties::WriterPropertiesPtr;
use ::parquet::schema::types::ColumnDescPtr;
use bytes::Bytes;

use crate::decode::parquet::allowance::{Allowance, COPIES};
use crate::decode::parquet::byte_array_statistics::ByteArrayStatistics;
use crate::decode::parquet::byte_arrays::Cell;
use crate::decode::parquet::codec;
use crate::decode::parquet::run_length::{encode_runs, width_of};
use crate::decode::parquet::written_pages::WrittenPages;

/// A page is full with so many bytes, or rows.
const PAGE_BYTES: usize = 1 << 20;
const PAGE_ROWS: usize = 20_000;
/// A dictionary is full with so many bytes, or values: of short ones, the table takes more memory than they do.
const DICTIONARY_BYTES: usize = 1 << 20;
const DICTIONARY_VALUES: usize = 1 << 16;
/// The bytes of a value that are in the memory of every writer.
const SHORT_BYTES: usize = 256 << 10;
/// The memory that a longer one takes as a multiple of its bytes: in the open page, in the page that is made of it, and
/// twice when that is compressed.
const LONG_FACTOR: u64 = 5;
/// The bytes of a run beside its numbers, and of the lengths that stand before runs, at most.
const RUN_BYTES: usize = 64;
/// The memory of a page beside its bytes.
const PAGE_OVERHEAD: u64 = 256;

/// The number of an entry that the dictionary does not have yet.
const NEW: u32 = u32::MAX;

/// The numbers of the entries of a dictionary that is read in the one that is written.
#[derive(Default)]
pub(super) struct EntryNumbers(Vec<u32>);

/// A column of byte arrays, without lists.
pub(super) struct ByteArrayColumn {
    column: ColumnDescPtr,
    properties: WriterPropertiesPtr,
    compression: Compression,
    memory: Arc<Allowance>,
    open: OpenPage,
    dictionary: Dictionary,
    statistics: ByteArrayStatistics,
    /// The pages that are full, compressed, and their bytes.
    pages: Vec<CompressedPage>,
    pages_bytes: u64,
    scratch: Vec<u8>,
}

/// The page that is filled.
#[derive(Default)]
struct OpenPage {
    rows: usize,
    /// The levels of its rows, where the column may have NULLs.
    levels: Vec<u32>,
    /// Values as they are in a plain page, or numbers of entries. One of both is empty.
    plain: Vec<u8>,
    entries: Vec<u32>,
}

/// The dictionary.
#[derive(Default)]
struct Dictionary {
    /// The page.
    plain: Vec<u8>,
    numbers: HashMap<Box<[u8]>, u32>,
    is_full: bool,
}

impl ByteArrayColumn {
    /// Begins a column in a file with these properties.
    pub(super) fn new(
        column: ColumnDescPtr,
        properties: WriterPropertiesPtr,
        memory: Arc<Allowance>,
    ) -> Self {
        Self {
            compression: properties.compression(column.path()),
            statistics: ByteArrayStatistics::new(&column),
            column,
            properties,
            memory,
            open: OpenPage::default(),
            dictionary: Dictionary::default(),
            pages: Vec::new(),
            pages_bytes: 0,
            scratch: Vec::new(),
        }
    }

    /// Appends a row. `numbers` are of the dictionary that the cell has entries of.
    ///
    /// # Errors
    /// Where memory is lacking, or a page cannot be compressed.
    #[inline]
    pub(super) fn push(&mut self, cell: Cell<'_>, numbers: &mut EntryNumbers) -> Result<()> {
        match cell {
            Cell::Null(level) => self.end_row(level),
            Cell::Value { bytes, entry: None } => {
                self.statistics.widen(bytes);
                self.push_plain(bytes)
            }
            Cell::Value {
                bytes,
                entry: Some(entry),
            } => self.push_entry(bytes, numbers.of(entry)),
        }
    }

    /// Appends a value of a dictionary, whose number in the one that is written is `number`, or [`NEW`].
    fn push_entry(&mut self, value: &[u8], number: &mut u32) -> Result<()> {
        if *number == NEW {
            self.statistics.widen(value);
            *number = self.dictionary.number_of(value).unwrap_or(NEW);
        }
        if self.dictionary.is_full {
            return self.push_plain(value);
        }
        if !self.open.plain.is_empty() {
            self.end_page()?;
        }
        self.open.entries.push(*number);
        self.statistics.value_bytes += value.len() as u64;
        self.end_row(self.column.max_def_level() as u32)
    }

    fn push_plain(&mut self, value: &[u8]) -> Result<()> {
        if !self.open.entries.is_empty() {
            self.end_page()?;
        }
        if value.len() > SHORT_BYTES {
            self.grant(self.pages_bytes + LONG_FACTOR * value.len() as u64)?;
            self.open.plain.reserve_exact(value.len() + 4);
        }
        put_plain(value, &mut self.open.plain);
        self.statistics.value_bytes += value.len() as u64;
        self.end_row(self.column.max_def_level() as u32)
    }

    /// Ends a row of this level, and the page if it is full.
    fn end_row(&mut self, level: u32) -> Result<()> {
        self.statistics.count(level);
        self.open.rows += 1;
        if self.column.max_def_level() > 0 {
            self.open.levels.push(level);
        }
        if self.open.rows < PAGE_ROWS && self.open.plain.len() < PAGE_BYTES {
            return Ok(());
        }
        self.end_page()
    }

    /// Compresses the page that was filled.
    fn end_page(&mut self) -> Result<()> {
        let (rows, is_of_entries) = (self.open.rows, !self.open.entries.is_empty());
        let page = self.open.take(&self.column, self.dictionary.numbers.len());
        let (buf, bytes) = (self.compress(&page)?, page.len());
        let page = Page::DataPage {
            buf,
            num_values: rows as u32,
            encoding: if is_of_entries {
                Encoding::RLE_DICTIONARY
            } else {
                Encoding::PLAIN
            },
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        self.pages.push(CompressedPage::new(page, bytes));
        Ok(())
    }

    fn compress(&mut self, page: &[u8]) -> Result<Bytes> {
        let compressed = codec::compress(self.compression, page, &mut self.scratch)?;
        forget_long(&mut self.scratch);
        self.pages_bytes += compressed.len() as u64 + PAGE_OVERHEAD;
        self.grant(self.pages_bytes)?;
        Ok(compressed)
    }

    fn grant(&self, bytes: u64) -> Result<()> {
        let granted = self.memory.grow_to(COPIES, bytes);
        granted.map_err(|error| ParquetError::External(Box::new(error)))
    }

    /// Writes the column.
    ///
    /// # Errors
    /// Where memory is lacking, or a page cannot be compressed or written.
    pub(super) fn finish(mut self, to: &mut dyn PageWriter) -> Result<ColumnCloseResult> {
        if self.open.rows > 0 {
            self.end_page()?;
        }
        let values = self.dictionary.numbers.len();
        if values > 0 {
            let page = std::mem::take(&mut self.dictionary.plain);
            let (buf, bytes) = (self.compress(&page)?, page.len());
            let page = Page::DictionaryPage {
                buf,
                num_values: values as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            self.pages.insert(0, CompressedPage::new(page, bytes));
        }
        let mut written = WrittenPages::default();
        for page in std::mem::take(&mut self.pages) {
            written.write(page, to)?;
        }
        let statistics = &self.statistics;
        let metadata = statistics.describe(&self.column, &self.properties)?;
        let metadata = metadata.set_compression(self.compression);
        Ok(ColumnCloseResult {
            bytes_written: written.bytes,
            rows_written: statistics.rows(),
            metadata: written.describe(metadata).build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        })
    }
}

impl EntryNumbers {
    /// Returns the number of the entry with this index.
    #[inline]
    fn of(&mut self, entry: u32) -> &mut u32 {
        let entry = entry as usize;
        if entry >= self.0.len() {
            self.0.resize(entry + 1, NEW);
        }
        &mut self.0[entry]
    }
}

impl OpenPage {
    /// Takes the page, with numbers of a dictionary of so many `entries`. The next one is empty.
    fn take(&mut self, column: &ColumnDescPtr, entries: usize) -> Vec<u8> {
        // With room for all runs: to grow, a page takes its memory twice.
        let runs = 4 * (self.levels.len() + self.entries.len()) + RUN_BYTES;
        let mut page = Vec::with_capacity(self.plain.len() + runs);
        if column.max_def_level() > 0 {
            page.extend_from_slice(&[0; 4]);
            let width = width_of(column.max_def_level() as u32);
            encode_runs(&self.levels, width, &mut page);
            let bytes = (page.len() - 4) as u32;
            page[..4].copy_from_slice(&bytes.to_le_bytes());
        }
        if self.entries.is_empty() {
            page.extend_from_slice(&self.plain);
        } else {
            let width = width_of(entries.saturating_sub(1) as u32);
            page.push(width);
            encode_runs(&self.entries, width, &mut page);
        }
        self.rows = 0;
        self.levels.clear();
        self.entries.clear();
        self.plain.clear();
        forget_long(&mut self.plain);
        page
    }
}

impl Dictionary {
    /// Returns the number of a value, which it gets unless it has one; `None` if the dictionary has no room for it.
    fn number_of(&mut self, value: &[u8]) -> Option<u32> {
        if self.is_full {
            return None;
        }
        let next = self.numbers.len();
        if let Some(&number) = self.numbers.get(value) {
            return Some(number);
        }
        self.is_full =
            next == DICTIONARY_VALUES || self.plain.len() + value.len() > DICTIONARY_BYTES;
        if self.is_full {
            return None;
        }
        put_plain(value, &mut self.plain);
        self.numbers.insert(value.into(), next as u32);
        Some(next as u32)
    }
}

/// Gives back the memory of a buffer that had a long value.
fn forget_long(buffer: &mut Vec<u8>) {
    if buffer.capacity() > 2 * PAGE_BYTES {
        *buffer = Vec::new();
    }
}

/// Appends a value as it is in a plain page: after its length.
fn put_plain(value: &[u8], page: &mut Vec<u8>) {
    page.extend_from_slice(&(value.len() as u32).to_le_bytes());
    page.extend_from_slice(value);
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::schema::parser::parse_message_type;
    use ::parquet::schema::types::SchemaDescriptor;

    use super::*;
    use crate::decode::parquet::allowance::USERS;
    use crate::memory::budget::MemoryBudget;

    /// Begins a column that may have this memory.
    fn column(bytes: u64) -> ByteArrayColumn {
        let schema = parse_message_type("message m { required binary a; }").unwrap();
        let column = SchemaDescriptor::new(schema.into()).column(0);
        let budget = MemoryBudget::new(bytes, 0);
        let memory = Allowance::new("a".into(), USERS, &budget);
        let properties = WriterProperties::builder().build();
        ByteArrayColumn::new(column, properties.into(), memory.into())
    }

    fn value(bytes: &[u8], entry: Option<u32>) -> Cell<'_> {
        Cell::Value { bytes, entry }
    }

    #[test]
    fn b23_pages_that_wait_are_counted_however_small_they_are() {
        let mut column = column(100 * PAGE_OVERHEAD);
        let mut numbers = EntryNumbers::default();
        // Each is in a page of its own: the next one is of the other kind.
        let mut entries = [None, Some(0)].into_iter().cycle();
        let pushed = entries.position(|entry| {
            let pushed = column.push(value(b"a", entry), &mut numbers);
            pushed.is_err()
        });
        assert!((50..100).contains(&pushed.unwrap()), "{pushed:?}");
    }

    #[test]
    fn b23_a_long_value_has_memory_granted_before_it_is_copied() {
        let long = vec![b'a'; 1 << 20];
        for (bytes, is_enough) in [(4 << 20, false), (6 << 20, true)] {
            let mut column = column(bytes);
            let pushed = column.push(value(&long, None), &mut EntryNumbers::default());
            assert_eq!(pushed.is_ok(), is_enough, "{bytes}");
            assert_eq!(
                column.open.plain.capacity() + column.pages.len() > 0,
                is_enough
            );
        }
    }
}
