//! What a footer says of the values of a column of byte arrays.
//!
//! *Owns:* [`ByteArrayStatistics`]. *Invariants:* the smallest and the largest value are exact, in the order of their
//! bytes, but cut where `parquet` cuts them. *Cost:* one or two comparisons a value, and the memory of two values.

use std::sync::Arc;

use ::parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use ::parquet::column::writer::{get_column_writer, get_typed_column_writer};
use ::parquet::data_type::{ByteArray, ByteArrayType};
use ::parquet::errors::Result;
use ::parquet::file::properties::WriterPropertiesPtr;
use ::parquet::file::statistics::{Statistics, ValueStatistics};
use ::parquet::schema::types::ColumnDescPtr;

/// The statistics of values.
#[derive(Default)]
pub(super) struct ByteArrayStatistics {
    pub(super) rows: u64,
    pub(super) nulls: u64,
    /// Bytes of all values.
    pub(super) value_bytes: u64,
    bounds: Option<Bounds>,
}

/// The smallest and the largest value.
struct Bounds {
    least: Vec<u8>,
    greatest: Vec<u8>,
}

impl ByteArrayStatistics {
    /// Takes a value as one of those that the bounds are for.
    #[inline]
    pub(super) fn widen(&mut self, value: &[u8]) {
        match &mut self.bounds {
            Some(bounds) if *value < *bounds.least => value.clone_into(&mut bounds.least),
            Some(bounds) if *value > *bounds.greatest => value.clone_into(&mut bounds.greatest),
            Some(_) => {}
            None => {
                self.bounds = Some(Bounds {
                    least: value.to_vec(),
                    greatest: value.to_vec(),
                });
            }
        }
    }

    /// Makes the statistics of a footer. A writer of `parquet` that gets the bounds alone cuts them.
    ///
    /// # Errors
    /// Those of that writer.
    pub(super) fn for_footer(
        &self,
        column: &ColumnDescPtr,
        properties: &WriterPropertiesPtr,
    ) -> Result<Statistics> {
        let (column, properties) = (Arc::clone(column), Arc::clone(properties));
        let levels = [column.max_def_level(); 2];
        let writer = get_column_writer(column, properties, Box::new(Nowhere));
        let mut writer = get_typed_column_writer::<ByteArrayType>(writer);
        if let Some(Bounds { least, greatest }) = &self.bounds {
            let values = [least, greatest].map(|value| ByteArray::from(value.clone()));
            writer.write_batch(&values, Some(&levels), None)?;
        }
        let closed = writer.close()?;
        let with_nulls =
            |least, greatest| ValueStatistics::new(least, greatest, None, Some(self.nulls), false);
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
