//! The header of a page.
//!
//! *Owns:* reading it, so that its sizes are known before anything is allocated for the page. *Invariants:* nothing
//! that a header says is taken for true here except its own length. *Cost:* one look at each of its fields.
//!
//! *Sources:* parquet.thrift of Parquet's format 2.11.

use ::parquet::basic::{CompressionCodec, Encoding};
use ::parquet::column::page::Page;
use bytes::Bytes;

use crate::decode::parquet::thrift::{Broken, Compact, MOST_DEPTH, Structure};

/// Values that are decoded at a time.
pub(super) const BATCH: u64 = 1024;
/// Values that are decoded at a time where each may be as long as its page: they are put together from pieces of
/// others.
pub(super) const BATCH_OF_DELTAS: u64 = 16;
/// The memory of a value besides its bytes: a reference to them, and levels.
pub(super) const VALUE_BYTES: u64 = 40;

/// The header of a page: what it is, and its sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageHeader {
    pub(super) kind: PageKind,
    /// Bytes of the page in the file.
    pub(super) stored_bytes: u64,
    /// Bytes when it is decompressed.
    pub(super) raw_bytes: u64,
    /// A checksum of the bytes in the file.
    pub(super) crc: Option<u32>,
    /// Bytes of the header itself.
    pub(super) header_bytes: u64,
}

/// The kinds of pages; each with the number of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PageKind {
    Dictionary {
        values: u32,
        encoding: Encoding,
    },
    Data {
        values: u32,
        encoding: Encoding,
        definitions: Encoding,
        repetitions: Encoding,
    },
    /// The second version: levels come first, and are never compressed.
    Data2 {
        values: u32,
        nulls: u32,
        rows: u32,
        encoding: Encoding,
        definition_bytes: u32,
        repetition_bytes: u32,
        is_compressed: bool,
    },
    /// One that readers pass over.
    Other,
}

impl PageHeader {
    /// Reads the header that `bytes` begin with.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Broken> {
        let mut reader = Compact { rest: bytes };
        let fields = reader.structure(MOST_DEPTH)?;
        let kind = match fields.number(1)? {
            0 => {
                let page = fields.structure(5)?;
                PageKind::Data {
                    values: page.count(1)?,
                    encoding: encoding(page, 2)?,
                    definitions: encoding(page, 3)?,
                    repetitions: encoding(page, 4)?,
                }
            }
            1 => PageKind::Other,
            2 => {
                let page = fields.structure(7)?;
                PageKind::Dictionary {
                    values: page.count(1)?,
                    encoding: encoding(page, 2)?,
                }
            }
            3 => {
                let page = fields.structure(8)?;
                PageKind::Data2 {
                    values: page.count(1)?,
                    nulls: page.count(2)?,
                    rows: page.count(3)?,
                    encoding: encoding(page, 4)?,
                    definition_bytes: page.count(5)?,
                    repetition_bytes: page.count(6)?,
                    is_compressed: page.is_true(7).unwrap_or(true),
                }
            }
            _ => return Err(Broken::Wrong),
        };
        Ok(Self {
            kind,
            raw_bytes: fields.count(2)?.into(),
            stored_bytes: fields.count(3)?.into(),
            crc: fields.number(4).ok().map(|crc| crc as u32),
            header_bytes: (bytes.len() - reader.rest.len()) as u64,
        })
    }

    /// Returns the encoding of its values; `None` for a page without data.
    pub(super) fn encoding(&self) -> Option<Encoding> {
        match self.kind {
            PageKind::Data { encoding, .. } | PageKind::Data2 { encoding, .. } => Some(encoding),
            PageKind::Dictionary { .. } | PageKind::Other => None,
        }
    }

    /// Counts the rows of a column that has one value in each; 0 for a page without data.
    pub(super) fn values(&self) -> u64 {
        match self.kind {
            PageKind::Data { values, .. } | PageKind::Data2 { values, .. } => values.into(),
            PageKind::Dictionary { .. } | PageKind::Other => 0,
        }
    }

    /// Returns the bytes of levels that stand before the values and are never compressed; and true if the values are
    /// compressed as those of the column.
    pub(super) fn levels(&self) -> (u64, bool) {
        match self.kind {
            PageKind::Data2 {
                definition_bytes,
                repetition_bytes,
                is_compressed,
                ..
            } => (
                u64::from(definition_bytes) + u64::from(repetition_bytes),
                is_compressed,
            ),
            _ => (0, true),
        }
    }

    /// Computes the memory in bytes for a page while it is read and decoded, besides a dictionary that was read.
    pub(super) fn needed_bytes(&self, codec: CompressionCodec) -> u64 {
        let stored = match codec {
            CompressionCodec::UNCOMPRESSED => 0,
            _ => self.stored_bytes,
        };
        let raw = self.raw_bytes;
        stored
            + match self.kind {
                PageKind::Dictionary { values, .. } => raw + u64::from(values) * VALUE_BYTES,
                PageKind::Data {
                    encoding, values, ..
                }
                | PageKind::Data2 {
                    encoding, values, ..
                } => {
                    let of_lengths = u64::from(values) * 4;
                    // The page before it is held while it is read.
                    2 * raw
                        + BATCH * VALUE_BYTES
                        + match encoding {
                            Encoding::DELTA_LENGTH_BYTE_ARRAY => of_lengths,
                            Encoding::DELTA_BYTE_ARRAY => 2 * of_lengths + BATCH_OF_DELTAS * raw,
                            _ => 0,
                        }
                        + self.old_levels_bytes()
                }
                PageKind::Other => 0,
            }
    }

    /// Estimates the memory for copies of levels in an old encoding, of this page and the one before it.
    fn old_levels_bytes(&self) -> u64 {
        match self.kind {
            #[expect(deprecated, reason = "old files have it")]
            PageKind::Data {
                definitions: Encoding::BIT_PACKED,
                ..
            } => 2 * self.raw_bytes,
            _ => 0,
        }
    }

    /// Makes a page as `parquet` wants it.
    pub(super) fn page(&self, buf: Bytes) -> Page {
        match self.kind {
            PageKind::Dictionary { values, encoding } => Page::DictionaryPage {
                buf,
                num_values: values,
                encoding,
                is_sorted: false,
            },
            PageKind::Data2 {
                values,
                nulls,
                rows,
                encoding,
                definition_bytes,
                repetition_bytes,
                is_compressed,
            } => Page::DataPageV2 {
                buf,
                num_values: values,
                encoding,
                num_nulls: nulls,
                num_rows: rows,
                def_levels_byte_len: definition_bytes,
                rep_levels_byte_len: repetition_bytes,
                is_compressed,
                statistics: None,
            },
            PageKind::Data {
                values,
                encoding,
                definitions,
                repetitions,
            } => Page::DataPage {
                buf,
                num_values: values,
                encoding,
                def_level_encoding: definitions,
                rep_level_encoding: repetitions,
                statistics: None,
            },
            // Passed over before.
            PageKind::Other => Page::DataPage {
                buf,
                num_values: 0,
                encoding: Encoding::PLAIN,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            },
        }
    }
}

/// Returns the encoding that a field names.
fn encoding(page: &Structure, field: i64) -> Result<Encoding, Broken> {
    Ok(match page.number(field)? {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        #[expect(deprecated, reason = "old files have it")]
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return Err(Broken::Wrong),
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// A dictionary page of 3 values: 12 bytes in the file, 20 when it is decompressed.
    const DICTIONARY: &[u8] = &[
        0x15, 0x04, // type: 2
        0x15, 0x28, // 20 bytes
        0x15, 0x18, // 12 in the file
        0x4c, // field 7: a structure
        0x15, 0x06, // 3 values
        0x15, 0x00, // plain
        0x00, 0x00,
    ];

    #[test]
    fn b23_a_header_is_read_to_its_end() {
        let followed = [DICTIONARY, b"page"].concat();
        let header = PageHeader::read(&followed).unwrap();
        assert_eq!(
            header,
            PageHeader {
                kind: PageKind::Dictionary {
                    values: 3,
                    encoding: Encoding::PLAIN
                },
                stored_bytes: 12,
                raw_bytes: 20,
                crc: None,
                header_bytes: DICTIONARY.len() as u64,
            }
        );
    }

    #[test]
    fn b23_a_header_that_is_cut_short_is_none() {
        for end in 0..DICTIONARY.len() {
            let cut = PageHeader::read(&DICTIONARY[..end]);
            assert_eq!(cut.unwrap_err(), Broken::Short, "{end}");
        }
    }

    #[test]
    fn b23_sizes_below_zero_and_deep_structures_are_refused() {
        let mut negative = DICTIONARY.to_vec();
        negative[3] = 0x29;
        assert_eq!(PageHeader::read(&negative), Err(Broken::Wrong));
        assert_eq!(PageHeader::read(&[0x1c; 100]), Err(Broken::Wrong));
        // A field behind the last number that there is.
        let last = [&[0x05, 0xfe][..], &[0xff; 8], &[1, 0, 0x15, 0]].concat();
        assert_eq!(PageHeader::read(&last), Err(Broken::Wrong));
        let many = [0x11; 200];
        assert_eq!(PageHeader::read(&many), Err(Broken::Wrong));
    }
}
