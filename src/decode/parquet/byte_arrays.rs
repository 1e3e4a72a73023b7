//! The byte arrays of a column, as they are in its pages.
//!
//! *Owns:* [`ByteArrays`], one reading of a column whose pages are plain or of a dictionary, a batch of rows at a time.
//! `parquet` makes a counted reference of each value; here it is a place in its page. *Invariants:* a batch is of one
//! page; a page that has fewer values than it says is damaged. *Cost:* a look at each value of the pages that are read,
//! and of a dictionary once.
//!
//! *Sources:* Encodings.md and README.md of Parquet's format, "Data Pages".

use std::fs::File;
use std::sync::Arc;

use ::parquet::basic::Encoding;
use ::parquet::column::page::{Page, PageReader};
use ::parquet::errors::Result;
use ::parquet::schema::types::ColumnDescPtr;
use bytes::Bytes;

use crate::decode::parquet::allowance::Allowance;
use crate::decode::parquet::delta::behind_levels;
use crate::decode::parquet::page_header::BATCH;
use crate::decode::parquet::pages::{ColumnChunk, LastPage, Pages, damaged};
use crate::decode::parquet::run_length::{RunDecoder, width_of};
use crate::decode::parquet::values::{guard, layout, too_few};

/// The byte arrays of a column of a row group, without lists.
pub(super) struct ByteArrays {
    pages: Pages,
    /// A value has this level, and NULL a lower one.
    level_of_values: u32,
    /// The row that comes next.
    next: u64,
    page: DataPage,
    dictionary: Dictionary,
    batch: Batch,
}

/// The rows that were read last.
#[derive(Default)]
struct Batch {
    /// The level of each; none if all have values.
    levels: Vec<u32>,
    values: Vec<Value>,
    /// The row that comes next, and the values before it.
    next_row: usize,
    next_value: usize,
    /// Space for the indexes of values in a dictionary.
    entries: Vec<u32>,
}

/// A place in a page.
#[derive(Clone, Copy)]
struct Value {
    start: u32,
    bytes: u32,
    /// Its index in the dictionary, unless it is in a plain page.
    entry: Option<u32>,
}

/// A row of a batch.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    /// NULL, with its level.
    Null(u32),
    Value {
        bytes: &'a [u8],
        /// The index in the dictionary.
        entry: Option<u32>,
    },
}

/// A page, as far as it was not read.
#[derive(Default)]
struct DataPage {
    rows: u64,
    /// The levels of its rows; none if all have values.
    levels: Option<RunDecoder>,
    values: Source,
}

/// The values of a page.
enum Source {
    Plain {
        page: Bytes,
        next: usize,
    },
    /// Indexes of a dictionary.
    Entries(RunDecoder),
}

/// A dictionary.
#[derive(Default)]
struct Dictionary {
    page: Bytes,
    entries: Vec<Value>,
}

impl ByteArrays {
    /// Opens the column of a row group that `chunk` is, in the memory with the number in `memory`.
    pub(super) fn open(
        file: &Arc<File>,
        column: &ColumnDescPtr,
        chunk: ColumnChunk,
        memory: (Arc<Allowance>, usize),
    ) -> Self {
        let (file, last) = (Arc::clone(file), Arc::<LastPage>::default());
        Self {
            pages: Pages::new(file, chunk, layout(column), memory, last),
            level_of_values: column.max_def_level() as u32,
            next: 0,
            page: DataPage::default(),
            dictionary: Dictionary::default(),
            batch: Batch::default(),
        }
    }

    /// Returns the row that comes next, by its number in the row group.
    pub(super) fn next_row(&self) -> u64 {
        self.next
    }

    /// Passes over pages that end before `row`.
    ///
    /// # Errors
    /// Where the column is damaged, or has no more rows.
    pub(super) fn skip_pages_before(&mut self, row: u64) -> Result<()> {
        while self.next + self.page.rows <= row {
            self.next += self.page.rows;
            self.page = DataPage::default();
            let page = guard(|| self.pages.peek_next_page())?;
            match page.ok_or_else(too_few)?.num_levels {
                Some(rows) if self.next + rows as u64 <= row => {
                    self.pages.skip_next_page()?;
                    self.next += rows as u64;
                }
                _ => self.open_page()?,
            }
        }
        Ok(())
    }

    /// Reads up to `most` rows, at least one, as the new batch; returns how many.
    ///
    /// # Errors
    /// As [`ByteArrays::skip_pages_before`].
    pub(super) fn read(&mut self, most: usize) -> Result<usize> {
        while self.page.rows == 0 {
            self.open_page()?;
        }
        let rows = self.page.rows.min(BATCH).min(most as u64);
        let (page, batch) = (&mut self.page, &mut self.batch);
        page.read(rows as usize, self.level_of_values, &self.dictionary, batch)
            .ok_or_else(|| damaged("a page has fewer values than it says"))?;
        page.rows -= rows;
        self.next += rows;
        Ok(rows as usize)
    }

    /// Takes the next row of the batch. There must be one.
    #[inline]
    pub(super) fn next_cell(&mut self) -> Cell<'_> {
        let batch = &mut self.batch;
        let level = batch.levels.get(batch.next_row);
        batch.next_row += 1;
        if let Some(&level) = level
            && level != self.level_of_values
        {
            return Cell::Null(level);
        }
        let value = batch.values[batch.next_value];
        batch.next_value += 1;
        let page = match &self.page.values {
            Source::Plain { page, .. } => page,
            Source::Entries(_) => &self.dictionary.page,
        };
        Cell::Value {
            bytes: &page[value.start as usize..value.end()],
            entry: value.entry,
        }
    }

    /// Returns true if there are no more rows.
    ///
    /// # Errors
    /// Where what follows is damaged.
    pub(super) fn is_at_end(&mut self) -> Result<bool> {
        while let Some(page) = guard(|| self.pages.peek_next_page())? {
            if !page.is_dict {
                return Ok(false);
            }
            self.pages.skip_next_page()?;
        }
        Ok(self.page.rows == 0)
    }

    /// Opens the next page, which may be a dictionary.
    fn open_page(&mut self) -> Result<()> {
        match guard(|| self.pages.get_next_page())?.ok_or_else(too_few)? {
            Page::DictionaryPage { .. } if !self.dictionary.entries.is_empty() => {
                return Err(damaged("a column of a row group has two dictionaries"));
            }
            Page::DictionaryPage {
                buf,
                num_values,
                encoding: Encoding::PLAIN | Encoding::PLAIN_DICTIONARY,
                ..
            } => self.dictionary = Dictionary::read(buf, num_values)?,
            page => self.page = DataPage::open(&page, self.level_of_values)?,
        }
        Ok(())
    }
}

impl Default for Source {
    fn default() -> Self {
        let page = Bytes::new();
        Self::Plain { page, next: 0 }
    }
}

impl DataPage {
    fn open(page: &Page, level_of_values: u32) -> Result<Self> {
        let short = || damaged("a page has fewer values than it says");
        let mut level_encoding = Encoding::RLE;
        let width = width_of(level_of_values);
        let (levels, values) = match page {
            Page::DataPage { buf, .. } if width == 0 => (0..0, buf.slice(..)),
            Page::DataPage {
                buf,
                num_values,
                def_level_encoding,
                ..
            } => {
                level_encoding = *def_level_encoding;
                let levels = match level_encoding {
                    Encoding::RLE => 4..behind_levels(buf, 1).ok_or_else(short)?,
                    _ => 0..(*num_values as usize * usize::from(width)).div_ceil(8),
                };
                let values = (levels.end <= buf.len()).then(|| buf.slice(levels.end..));
                (levels, values.ok_or_else(short)?)
            }
            Page::DataPageV2 {
                buf,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let start = *rep_levels_byte_len as usize;
                let end = start + *def_levels_byte_len as usize;
                let values = (end <= buf.len()).then(|| buf.slice(end..));
                (start..end, values.ok_or_else(short)?)
            }
            Page::DictionaryPage { .. } => return Err(other_encoding()),
        };
        let levels = page.buffer().slice(levels);
        let levels = match level_encoding {
            _ if width == 0 => None,
            Encoding::RLE => RunDecoder::new(levels, width),
            // The other order of bits makes no difference where each is a number by itself.
            #[expect(deprecated, reason = "old files have it")]
            Encoding::BIT_PACKED if width == 1 => Some(RunDecoder::of_reversed_bits(&levels)),
            _ => {
                return Err(damaged(
                    "a page has levels in an encoding that outset cannot read",
                ));
            }
        };
        Ok(Self {
            rows: page.num_values().into(),
            levels,
            values: Source::open(page.encoding(), values)?,
        })
    }

    /// Reads rows to a batch; `None` if there are fewer.
    fn read(
        &mut self,
        rows: usize,
        level_of_values: u32,
        dictionary: &Dictionary,
        batch: &mut Batch,
    ) -> Option<()> {
        let mut values = rows;
        batch.levels.clear();
        if let Some(decoder) = &mut self.levels {
            batch.levels.resize(rows, 0);
            decoder.read(&mut batch.levels)?;
            values = 0;
            for &level in &batch.levels {
                if level > level_of_values {
                    return None;
                }
                values += usize::from(level == level_of_values);
            }
        }
        batch.values.clear();
        (batch.next_row, batch.next_value) = (0, 0);
        match &mut self.values {
            Source::Plain { page, next } => {
                for _ in 0..values {
                    let value = Value::read(page, *next)?;
                    *next = value.end();
                    batch.values.push(value);
                }
            }
            Source::Entries(decoder) => {
                batch.entries.resize(values, 0);
                decoder.read(&mut batch.entries)?;
                for &entry in &batch.entries {
                    batch.values.push(*dictionary.entries.get(entry as usize)?);
                }
            }
        }
        Some(())
    }
}

impl Source {
    fn open(encoding: Encoding, values: Bytes) -> Result<Self> {
        match encoding {
            Encoding::PLAIN => Ok(Self::Plain {
                page: values,
                next: 0,
            }),
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                // A page of NULLs has no numbers, nor their width.
                let width = values.first().copied().unwrap_or_default();
                let runs = values.slice(values.len().min(1)..);
                let decoder = RunDecoder::new(runs, width);
                decoder.map(Self::Entries).ok_or_else(other_encoding)
            }
            _ => Err(other_encoding()),
        }
    }
}

impl Value {
    /// Finds the value whose length is at `at`.
    #[inline]
    fn read(page: &[u8], at: usize) -> Option<Self> {
        let bytes = u32::from_le_bytes(*page.get(at..)?.first_chunk()?);
        let value = Self {
            start: at as u32 + 4,
            bytes,
            entry: None,
        };
        (value.end() <= page.len()).then_some(value)
    }

    fn end(self) -> usize {
        self.start as usize + self.bytes as usize
    }
}

impl Dictionary {
    /// Finds the values in a page.
    fn read(page: Bytes, values: u32) -> Result<Self> {
        let mut entries = Vec::with_capacity(values as usize);
        let mut next = 0;
        for entry in 0..values {
            let value = Value::read(&page, next).ok_or_else(too_few)?;
            next = value.end();
            entries.push(Value {
                entry: Some(entry),
                ..value
            });
        }
        Ok(Self { page, entries })
    }
}

/// Makes the error for a page that is read another way.
fn other_encoding() -> ::parquet::errors::ParquetError {
    damaged("a page has an encoding that its row group does not name")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// Reads a page of three rows as text, with this dictionary; `None` if it is damaged.
    fn read(page: &Page, level_of_values: u32, dictionary: &Dictionary) -> Option<Vec<String>> {
        let mut page = DataPage::open(page, level_of_values).ok()?;
        let mut batch = Batch::default();
        page.read(3, level_of_values, dictionary, &mut batch)?;
        let of_page = match &page.values {
            Source::Plain { page, .. } => page,
            Source::Entries(_) => &dictionary.page,
        };
        let values = batch.values.iter();
        let text = |it: &Value| String::from_utf8(of_page[it.start as usize..it.end()].to_vec());
        let levels = batch.levels.iter().map(u32::to_string);
        Some(levels.chain(values.map(|it| text(it).unwrap())).collect())
    }

    fn page(bytes: &[u8], encoding: Encoding, levels: Encoding) -> Page {
        Page::DataPage {
            buf: Bytes::copy_from_slice(bytes),
            num_values: 3,
            encoding,
            def_level_encoding: levels,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        }
    }

    fn page_of_second_form(bytes: &[u8], levels: u32, lists: u32) -> Page {
        Page::DataPageV2 {
            buf: Bytes::copy_from_slice(bytes),
            num_values: 3,
            encoding: Encoding::PLAIN,
            num_nulls: 1,
            num_rows: 3,
            def_levels_byte_len: levels,
            rep_levels_byte_len: lists,
            is_compressed: false,
            statistics: None,
        }
    }

    /// Two values.
    const PLAIN: &[u8] = b"\x01\0\0\0a\x02\0\0\0bc";

    #[test]
    #[expect(deprecated, reason = "old files have it")]
    fn b23_values_and_levels_of_every_form_of_page_are_read() {
        let none = Dictionary::default();
        let with = |levels: &[u8]| [levels, PLAIN].concat();
        let expected = Some(["1", "0", "1", "a", "bc"].map(String::from).to_vec());
        let rle = page(&with(b"\x02\0\0\0\x03\x05"), Encoding::PLAIN, Encoding::RLE);
        assert_eq!(read(&rle, 1, &none), expected);
        let old = page(&with(&[0b1010_0000]), Encoding::PLAIN, Encoding::BIT_PACKED);
        assert_eq!(read(&old, 1, &none), expected);
        let second = page_of_second_form(&with(b"\x03\x05"), 2, 0);
        assert_eq!(read(&second, 1, &none), expected);
        let with_lists = page_of_second_form(&with(b"\x09\x09\x03\x05"), 2, 2);
        assert_eq!(read(&with_lists, 1, &none), expected);
        let dictionary = Dictionary::read(Bytes::from_static(PLAIN), 2).unwrap();
        let entries = page(b"\x01\x03\x05", Encoding::RLE_DICTIONARY, Encoding::RLE);
        let expected = Some(["bc", "a", "bc"].map(String::from).to_vec());
        assert_eq!(read(&entries, 0, &dictionary), expected);
    }

    #[test]
    #[expect(deprecated, reason = "old files have it")]
    fn b23_pages_that_are_short_or_of_other_forms_are_errors() {
        let none = Dictionary::default();
        let whole = [b"\x02\0\0\0\x03\x05", PLAIN].concat();
        for end in 0..whole.len() {
            let cut = page(&whole[..end], Encoding::PLAIN, Encoding::RLE);
            assert_eq!(read(&cut, 1, &none), None, "{end}");
        }
        for (levels, lists) in [(100, 0), (0, 100), (u32::MAX, u32::MAX), (1, 0)] {
            let page = page_of_second_form(&whole, levels, lists);
            assert_eq!(read(&page, 1, &none), None, "{levels} {lists}");
        }
        // Three rows of level 3, where a level has one bit.
        let high = page(b"\x02\0\0\0\x06\x03", Encoding::PLAIN, Encoding::RLE);
        assert_eq!(read(&high, 1, &none), None);
        let packed = page(&whole, Encoding::PLAIN, Encoding::BIT_PACKED);
        assert_eq!(read(&packed, 2, &none), None, "levels of two bits");
        let deltas = page(&whole, Encoding::DELTA_BYTE_ARRAY, Encoding::RLE);
        assert_eq!(read(&deltas, 1, &none), None);
        let dictionary = Dictionary::read(Bytes::from_static(PLAIN), 2).unwrap();
        for bytes in [&b"\x02\x03\x09\0"[..], b"\x21\x03\x05", b"\x01", b""] {
            let entries = page(bytes, Encoding::RLE_DICTIONARY, Encoding::RLE);
            assert_eq!(read(&entries, 0, &dictionary), None, "{bytes:?}");
        }
        assert!(Dictionary::read(Bytes::from_static(PLAIN), 3).is_err());
    }
}
