//! The pages of a column, one after the other.
//!
//! *Owns:* reading a page and decompressing it. `parquet` has a reader of its own, `SerializedPageReader`, which is as
//! fast (two files of 5 million rows: 2.9 s of processor time with either) but allocates what a page becomes, and keeps
//! the sizes in page headers to itself, so nobody can refuse a page before it is in memory. Measured with `parquet`
//! 60.1 under a limit of 64 MiB, where the pages here peak at 9 MB: a gzip page that becomes 400 MiB though its header
//! says 64 KiB made the process peak at 484 MB, and an honest page of 150 MiB behind small ones at 169 MB.
//! *Invariants:* memory is granted before it is allocated; what a decoder behind this would allocate going by the page
//! is checked, too; a page that does not lie in its column, or has more values than are left, is an error. *Cost:* two
//! pages at a time, one that is compressed, and the dictionary.
//!
//! ```text
//!  column of a row group │ header │ dictionary │ header │ page │ header │ page │
//!                            │ sizes: granted or refused
//!                            └▶ read ──▶ checksum ──▶ decompressed ──▶ checked ──▶ `parquet`'s decoder
//! ```

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::parquet::basic::{CompressionCodec, Encoding};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use bytes::BytesMut;

use crate::decode::parquet::allowance::Allowance;
use crate::decode::parquet::page_buffers::PageBuffers;
use crate::decode::parquet::page_header::{
    BATCH, BATCH_OF_DELTAS, PageHeader, PageKind, VALUE_BYTES,
};
use crate::decode::parquet::thrift::Broken;
use crate::decode::parquet::{codec, delta};

/// Bytes that are read to find a header, at first and at most: its statistics may be long.
const HEADER_BYTES: (u64, u64) = (256, 1 << 20);

/// The location of a column of a row group in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnChunk {
    /// Its first byte.
    pub(super) start: u64,
    /// The bytes as they are in the file, and when they are decompressed.
    pub(super) bytes: u64,
    pub(super) raw_bytes: u64,
    pub(super) codec: CompressionCodec,
    /// Values, NULLs included.
    pub(super) values: u64,
    /// True if some of them may be written as differences to the one before: [`Encoding::DELTA_BYTE_ARRAY`].
    pub(super) has_deltas: bool,
    /// True if they are byte arrays that can be read without `parquet`.
    pub(super) has_byte_arrays: bool,
}

/// The layout of the pages of a column, whichever row group they are in.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageLayout {
    /// The least bytes of a value in a dictionary.
    pub(super) value_bytes: u64,
    /// The kinds of levels that stand before the values: 0 to 2.
    pub(super) levels: usize,
}

/// Reads the pages of a column of a row group.
pub(super) struct Pages {
    file: Arc<File>,
    chunk: ColumnChunk,
    layout: PageLayout,
    /// The offset of the next page, or its header, in the file.
    offset: u64,
    /// The header of the next page, once it was read.
    next: Option<PageHeader>,
    /// Values that come after the pages read so far.
    values_left: u64,
    memory: (Arc<Allowance>, usize),
    buffers: PageBuffers,
    dictionary_bytes: u64,
    last: Arc<LastPage>,
}

/// The last page that was read. `parquet` owns the [`Pages`]; whoever decodes their values looks here.
#[derive(Debug, Default)]
pub(super) struct LastPage {
    /// Its values, NULLs included.
    pub(super) values: AtomicU64,
    /// The most of them that may be decoded at a time.
    pub(super) batch: AtomicU64,
    /// The values of this page and of all before it, whether they were read or passed over.
    pub(super) passed: AtomicU64,
    /// The values of this page, and of those before it that belong to the same row: a row with lists may have many.
    pub(super) open: AtomicU64,
}

impl Pages {
    /// Reads the pages of `chunk`, in the memory of the column with the number in `memory`. `last` is kept up to date.
    pub(super) fn new(
        file: Arc<File>,
        chunk: ColumnChunk,
        layout: PageLayout,
        memory: (Arc<Allowance>, usize),
        last: Arc<LastPage>,
    ) -> Self {
        Self {
            file,
            chunk,
            layout,
            offset: chunk.start,
            next: None,
            values_left: chunk.values,
            memory,
            buffers: PageBuffers::default(),
            dictionary_bytes: 0,
            last,
        }
    }

    /// Reads the header of the next page, unless that was done. `None` after the last page.
    fn header(&mut self) -> Result<Option<&PageHeader>> {
        while self.next.is_none() {
            if self.left() == 0 {
                return Ok(None);
            }
            let header = read_header(&self.file, self.offset, self.left())?;
            self.offset += header.header_bytes;
            if header.stored_bytes > self.left() {
                return Err(damaged("a page does not end in its column"));
            }
            if header.values() > self.values_left {
                return Err(damaged("a column has more values than its row group"));
            }
            let is_dictionary = matches!(header.kind, PageKind::Dictionary { .. });
            if header.values() > 0 || is_dictionary {
                self.next = Some(header);
            } else {
                // A reader would take a page without values for the end.
                self.offset += header.stored_bytes;
            }
        }
        Ok(self.next.as_ref())
    }

    /// Bytes of the column that were not read.
    fn left(&self) -> u64 {
        (self.chunk.start + self.chunk.bytes).saturating_sub(self.offset)
    }

    /// Goes on after the page whose header was read, and returns that.
    fn pass(&mut self) -> Option<PageHeader> {
        let header = self.next.take()?;
        self.offset += header.stored_bytes;
        self.values_left -= header.values();
        let passed = self.chunk.values - self.values_left;
        self.last.passed.store(passed, Ordering::Relaxed);
        Some(header)
    }

    /// Reads the page after its header.
    fn read(&mut self, header: &PageHeader) -> Result<Page> {
        let start = self.offset - header.stored_bytes;
        let is_of_differences = header.encoding() == Some(Encoding::DELTA_BYTE_ARRAY);
        if is_of_differences && !self.chunk.has_deltas {
            return Err(damaged(
                "a page has an encoding that its row group does not name",
            ));
        }
        let is_plain = self.chunk.codec == CompressionCodec::UNCOMPRESSED;
        if is_plain && header.stored_bytes != header.raw_bytes {
            return Err(damaged("a page has a different size than its header says"));
        }
        let mut needed = header.needed_bytes(self.chunk.codec);
        if self.layout.levels == 2 {
            needed += self.last.open.load(Ordering::Relaxed) * VALUE_BYTES;
        }
        self.grow_to(needed)?;
        let raw = self.raw_page(header, start)?;
        let raw = self.buffers.page(raw);
        self.check_values(header, &raw)?;
        if let PageKind::Dictionary { values, .. } = header.kind {
            self.dictionary_bytes = header.raw_bytes + u64::from(values) * VALUE_BYTES;
        }
        Ok(header.page(raw))
    }

    fn grow_to(&self, bytes: u64) -> Result<()> {
        let (allowance, index) = &self.memory;
        allowance
            .grow_to(*index, bytes + self.dictionary_bytes)
            .map_err(|error| ParquetError::External(Box::new(error)))
    }

    /// Reads a page that begins at `start`, and decompresses it: in the second version its levels are not compressed.
    fn raw_page(&mut self, header: &PageHeader, start: u64) -> Result<BytesMut> {
        let (levels, is_compressed) = header.levels();
        let (stored_bytes, raw_bytes) = (header.stored_bytes, header.raw_bytes);
        if levels > raw_bytes || levels > stored_bytes {
            return Err(damaged("the levels of a page are longer than the page"));
        }
        let mut raw = self.buffers.take(raw_bytes as usize);
        if !is_compressed || self.chunk.codec == CompressionCodec::UNCOMPRESSED {
            if stored_bytes != raw_bytes {
                return Err(damaged("a page has a different size than its header says"));
            }
            self.file.read_exact_at(&mut raw, start)?;
            check_sum(header, &raw)?;
            return Ok(raw);
        }
        let mut stored = self.buffers.take_stored(stored_bytes as usize);
        self.file.read_exact_at(&mut stored, start)?;
        check_sum(header, &stored)?;
        let (levels, rest) = stored.split_at(levels as usize);
        let (raw_levels, raw_rest) = raw.split_at_mut(levels.len());
        raw_levels.copy_from_slice(levels);
        // A page of NULLs has nothing after its levels.
        if !raw_rest.is_empty() || !rest.is_empty() {
            codec::decompress(self.chunk.codec, rest, raw_rest)?;
        }
        self.buffers.put_stored(stored);
        Ok(raw)
    }

    /// Checks what a decoder would allocate going by what is in the page.
    fn check_values(&self, header: &PageHeader, raw: &[u8]) -> Result<()> {
        let too_many = || damaged("a page has fewer values than it says");
        let (encoding, start) = match header.kind {
            PageKind::Dictionary { values, .. } => {
                let most = raw.len() as u64 / self.layout.value_bytes.max(1);
                let is_there = u64::from(values) <= most;
                return is_there.then_some(()).ok_or_else(too_many);
            }
            PageKind::Data { encoding, .. } => (encoding, None),
            PageKind::Data2 {
                encoding,
                definition_bytes,
                repetition_bytes,
                ..
            } => (encoding, Some(definition_bytes + repetition_bytes)),
            PageKind::Other => return Ok(()),
        };
        let lists = match encoding {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => return Ok(()),
        };
        // Levels of the old form have no length before them: the lists would be looked for elsewhere.
        if let PageKind::Data {
            definitions,
            repetitions,
            ..
        } = header.kind
            && self.layout.levels > 0
            && [definitions, repetitions]
                .iter()
                .any(|&levels| levels != Encoding::RLE)
        {
            return Err(damaged(
                "a page has levels in an encoding that outset cannot read",
            ));
        }
        let start = match start {
            Some(start) => start as usize,
            None => delta::behind_levels(raw, self.layout.levels).ok_or_else(too_many)?,
        };
        let values = raw.get(start..).ok_or_else(too_many)?;
        let are_there = delta::counts_are_at_most(values, lists, header.values());
        are_there.then_some(()).ok_or_else(too_many)
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.header()?;
        let Some(header) = self.pass() else {
            return Ok(None);
        };
        if header.values() > 0 {
            let batch = match header.encoding() {
                Some(Encoding::DELTA_BYTE_ARRAY) => BATCH_OF_DELTAS,
                _ => BATCH,
            };
            self.last.values.store(header.values(), Ordering::Relaxed);
            self.last.open.fetch_add(header.values(), Ordering::Relaxed);
            self.last.batch.store(batch, Ordering::Relaxed);
        }
        self.read(&header).map(Some)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let header = self.header()?;
        Ok(header.map(|header| {
            let count = |count: u32| Some(count as usize);
            let (num_rows, num_levels) = match header.kind {
                PageKind::Data { values, .. } => (None, count(values)),
                PageKind::Data2 { values, rows, .. } => (count(rows), count(values)),
                PageKind::Dictionary { .. } | PageKind::Other => (None, None),
            };
            PageMetadata {
                num_rows,
                num_levels,
                is_dict: matches!(header.kind, PageKind::Dictionary { .. }),
            }
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.header()?;
        self.pass();
        Ok(())
    }
}

/// Checks the bytes of a page as they are in the file, if its header has a sum of them.
fn check_sum(header: &PageHeader, stored: &[u8]) -> Result<()> {
    let sum_of = |bytes| {
        let mut sum = flate2::Crc::new();
        sum.update(bytes);
        sum.sum()
    };
    match header.crc {
        Some(crc) if sum_of(stored) != crc => Err(damaged("the checksum of a page does not match")),
        _ => Ok(()),
    }
}

/// Reads the header at `offset`, with no more than `left` bytes.
pub(super) fn read_header(file: &File, offset: u64, left: u64) -> Result<PageHeader> {
    let (mut wanted, most) = HEADER_BYTES;
    loop {
        let mut bytes = vec![0; wanted.min(left) as usize];
        file.read_exact_at(&mut bytes, offset)?;
        match PageHeader::read(&bytes) {
            Ok(header) => return Ok(header),
            Err(Broken::Short) if wanted < left.min(most) => wanted *= 4,
            Err(_) => return Err(damaged("a page is missing")),
        }
    }
}

pub(super) fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}
