//! The pages of a column that were written, as its footer tells of them.
//!
//! *Owns:* [`WrittenPages`]. *Invariants:* sizes count the headers of pages. *Cost:* a few bytes for each encoding.
//!
//! *Sources:* `ColumnMetaData` in parquet.thrift of Parquet's format.

use ::parquet::basic::{Encoding, PageType};
use ::parquet::column::page::{CompressedPage, PageWriter};
use ::parquet::errors::Result;
use ::parquet::file::metadata::{ColumnChunkMetaDataBuilder, PageEncodingStats};

/// The pages of a column.
#[derive(Default)]
pub(super) struct WrittenPages {
    /// The bytes as they are in the file, and before they were compressed.
    pub(super) bytes: u64,
    raw_bytes: u64,
    /// The offsets of the first page of data, and of the dictionary.
    data: Option<u64>,
    dictionary: Option<u64>,
    encodings: Vec<Encoding>,
    by_encoding: Vec<PageEncodingStats>,
}

impl WrittenPages {
    /// Writes a page.
    ///
    /// # Errors
    /// Where that is not possible.
    pub(super) fn write(&mut self, page: CompressedPage, to: &mut dyn PageWriter) -> Result<()> {
        let (page_type, encoding) = (page.page_type(), page.encoding());
        let mut known = self.by_encoding.iter_mut();
        match known.find(|it| (it.page_type, it.encoding) == (page_type, encoding)) {
            Some(known) => known.count += 1,
            None => self.by_encoding.push(PageEncodingStats {
                page_type,
                encoding,
                count: 1,
            }),
        }
        // The second is that of levels.
        for encoding in [encoding, Encoding::RLE] {
            if !self.encodings.contains(&encoding) {
                self.encodings.push(encoding);
            }
        }
        let spec = to.write_page(page)?;
        self.bytes += spec.bytes_written;
        self.raw_bytes += spec.uncompressed_size as u64;
        let first = match page_type {
            PageType::DICTIONARY_PAGE => &mut self.dictionary,
            _ => &mut self.data,
        };
        first.get_or_insert(spec.offset);
        Ok(())
    }

    /// Says of the pages what the footer has.
    pub(super) fn describe(self, column: ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder {
        let dictionary = self.dictionary.map(|offset| offset as i64);
        column
            .set_encodings(self.encodings)
            .set_page_encoding_stats(self.by_encoding)
            .set_total_compressed_size(self.bytes as i64)
            .set_total_uncompressed_size(self.raw_bytes as i64)
            .set_data_page_offset(self.data.unwrap_or(0) as i64)
            .set_dictionary_page_offset(dictionary)
    }
}
