//! The statistics of a column of byte arrays, for its footer.
//!
//! *Owns:* [`ByteArrayStatistics`]. *Invariants:* the smallest and the largest value are exact, in the order of their
//! bytes, but cut where `parquet` cuts them. *Cost:* one or two comparisons a value, and the fronts of two values.

use std::sync::Arc;

use ::parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use ::parquet::column::writer::{get_column_writer, get_typed_column_writer};
use ::parquet::data_type::{ByteArray, ByteArrayType};
use ::parquet::errors::Result;
use ::parquet::file::metadata::{ColumnChunkMetaData, ColumnChunkMetaDataBuilder};
use ::parquet::file::properties::WriterPropertiesPtr;
use ::parquet::file::statistics::{Statistics, ValueStatistics};
use ::parquet::schema::types::ColumnDescPtr;
use arrayvec::ArrayVec;

/// The most bytes of a value that are looked at: more than the 64 at which `parquet` cuts the bounds of a column, by a
/// character.
const FRONT_BYTES: usize = 68;

/// The statistics of values.
pub(super) struct ByteArrayStatistics {
    /// Numbers of the rows of each level. The last are values, and the others NULLs.
    levels: Vec<u64>,
    /// Bytes of all values.
    pub(super) value_bytes: u64,
    bounds: Option<Bounds>,
}

/// The smallest and the largest value, as far as they are looked at.
struct Bounds {
    least: ArrayVec<u8, FRONT_BYTES>,
    greatest: ArrayVec<u8, FRONT_BYTES>,
}

impl ByteArrayStatistics {
    /// Begins the statistics of a column.
    pub(super) fn new(column: &ColumnDescPtr) -> Self {
        Self {
            levels: vec![0; column.max_def_level() as usize + 1],
            value_bytes: 0,
            bounds: None,
        }
    }

    /// Counts a row of this level.
    #[inline]
    pub(super) fn count(&mut self, level: u32) {
        if let Some(rows) = self.levels.get_mut(level as usize) {
            *rows += 1;
        }
    }

    /// Counts all rows.
    pub(super) fn rows(&self) -> u64 {
        self.levels.iter().sum()
    }

    /// Takes a value as one of those that the bounds are for.
    #[inline]
    pub(super) fn widen(&mut self, value: &[u8]) {
        let value = front_of(value);
        let kept = || value.iter().copied().collect();
        match &mut self.bounds {
            Some(bounds) if *value < *bounds.least => bounds.least = kept(),
            Some(bounds) if *value > *bounds.greatest => bounds.greatest = kept(),
            Some(_) => {}
            None => {
                self.bounds = Some(Bounds {
                    least: kept(),
                    greatest: kept(),
                });
            }
        }
    }

    /// Says of the values what the footer has. A writer of `parquet` that gets the bounds alone cuts them.
    ///
    /// # Errors
    /// Those of that writer.
    pub(super) fn describe(
        &self,
        column: &ColumnDescPtr,
        properties: &WriterPropertiesPtr,
    ) -> Result<ColumnChunkMetaDataBuilder> {
        let levels = self.levels.iter().map(|&rows| rows as i64);
        let levels = (self.levels.len() > 1).then(|| levels.collect::<Vec<_>>().into());
        Ok(ColumnChunkMetaData::builder(Arc::clone(column))
            .set_num_values(self.rows() as i64)
            .set_unencoded_byte_array_data_bytes(Some(self.value_bytes as i64))
            .set_definition_level_histogram(levels)
            .set_statistics(self.statistics(column, properties)?))
    }

    fn statistics(
        &self,
        column: &ColumnDescPtr,
        properties: &WriterPropertiesPtr,
    ) -> Result<Statistics> {
        let (column, properties) = (Arc::clone(column), Arc::clone(properties));
        let levels = [column.max_def_level(); 2];
        let writer = get_column_writer(column, properties, Box::new(Nowhere));
        let mut writer = get_typed_column_writer::<ByteArrayType>(writer);
        if let Some(Bounds { least, greatest }) = &self.bounds {
            let values = [least, greatest].map(|value| ByteArray::from(value.to_vec()));
            writer.write_batch(&values, Some(&levels), None)?;
        }
        let closed = writer.close()?;
        let nulls: u64 = self.levels.iter().rev().skip(1).sum();
        let with_nulls =
            |least, greatest| ValueStatistics::new(least, greatest, None, Some(nulls), false);
        Ok(match closed.metadata.statistics() {
            Some(Statistics::ByteArray(cut)) => {
                with_nulls(cut.min_opt().cloned(), cut.max_opt().cloned())
                    .with_min_is_exact(cut.min_is_exact())
                    .with_max_is_exact(cut.max_is_exact())
            }
            _ => with_nulls(None, None),
        }
        .into())
    }
}

/// Returns the front of a value that is looked at: of a longer one some 65 to 68 bytes, whole characters if it is text.
#[inline]
fn front_of(value: &[u8]) -> &[u8] {
    if value.len() <= FRONT_BYTES {
        return value;
    }
    let begins_character = |&end: &usize| value[end] & 0xc0 != 0x80;
    let end = (FRONT_BYTES - 3..=FRONT_BYTES).rev().find(begins_character);
    &value[..end.unwrap_or(FRONT_BYTES)]
}

/// A target that forgets its pages.
struct Nowhere;

impl PageWriter for Nowhere {
    fn write_page(&mut self, _: CompressedPage) -> Result<PageWriteSpec> {
        Ok(PageWriteSpec::new())
    }

    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b23_of_long_values_whole_characters_are_looked_at() {
        for (value, bytes) in [
            ("a".repeat(68), 68),
            ("a".repeat(69), 68),
            ("\u{e9}".repeat(40), 68),
            (format!("a{}", "\u{e9}".repeat(40)), 67),
            (format!("a{}", "\u{20ac}".repeat(40)), 67),
            (format!("ab{}", "\u{1f600}".repeat(40)), 66),
        ] {
            assert_eq!(front_of(value.as_bytes()).len(), bytes, "{value}");
        }
        assert_eq!(front_of(&[0x80; 100]).len(), FRONT_BYTES);
    }
}
