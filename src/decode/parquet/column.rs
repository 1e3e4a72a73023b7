//! The values of a column of the key, as text.
//!
//! *Owns:* going through them row by row; how each is written is in [`text`](super::text). *Invariants:* a value
//! is read in the memory that was granted for its page; a column ends with its row group, or it is an error. *Cost:* up
//! to 1,024 values at a time, which are pieces of their page mostly.

use std::fs::File;
use std::sync::Arc;

use ::parquet::basic::Type;
use ::parquet::data_type::{
    ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
    Int96Type,
};
use ::parquet::errors::Result;
use ::parquet::schema::types::ColumnDescPtr;

use crate::decode::parquet::allowance::Allowance;
use crate::decode::parquet::byte_arrays::{ByteArrays, Cell};
use crate::decode::parquet::pages::{ColumnChunk, damaged};
use crate::decode::parquet::text::{TextForm, Written};
use crate::decode::parquet::values::{Decoded, Values};

/// The values of a column of the key in a row group, in order.
pub(super) struct Column {
    cells: Box<dyn Cells>,
    form: TextForm,
    /// Rows that were not decoded yet.
    left: u64,
    /// Of the rows that are decoded: how many there are, and which comes next.
    decoded: usize,
    next: usize,
}

impl Column {
    /// Opens a column of a row group.
    pub(super) fn open(
        file: &Arc<File>,
        (column, form): (&ColumnDescPtr, TextForm),
        chunk: ColumnChunk,
        memory: (Arc<Allowance>, usize),
    ) -> Self {
        let cells: Box<dyn Cells> = match column.physical_type() {
            Type::INT32 => Typed::<Int32Type>::open(file, column, chunk, memory),
            Type::INT64 => Typed::<Int64Type>::open(file, column, chunk, memory),
            Type::INT96 => Typed::<Int96Type>::open(file, column, chunk, memory),
            Type::FLOAT => Typed::<FloatType>::open(file, column, chunk, memory),
            Type::DOUBLE => Typed::<DoubleType>::open(file, column, chunk, memory),
            Type::FIXED_LEN_BYTE_ARRAY => {
                Typed::<FixedLenByteArrayType>::open(file, column, chunk, memory)
            }
            _ if chunk.has_byte_arrays => Box::new(ByteArrays::open(file, column, chunk, memory)),
            _ => Typed::<ByteArrayType>::open(file, column, chunk, memory),
        };
        Self {
            cells,
            form,
            left: chunk.values,
            decoded: 0,
            next: 0,
        }
    }

    /// Reads the value of the next row as text, which may be put together in `scratch`; `None` for NULL. There must be
    /// a row.
    ///
    /// # Errors
    /// Where the column is damaged or ends early.
    #[inline]
    pub(super) fn read<'v>(&'v mut self, scratch: &'v mut Vec<u8>) -> Result<Option<&'v [u8]>> {
        if self.next == self.decoded {
            self.decoded = self.cells.decode(self.left as usize)?;
            self.left -= self.decoded as u64;
            self.next = 0;
        }
        self.next += 1;
        Ok(self.cells.take(self.form, scratch))
    }

    /// Checks that nothing is left at the end of the row group.
    ///
    /// # Errors
    /// Where the column has more values.
    pub(super) fn finish(mut self) -> Result<()> {
        if self.cells.is_at_end()? {
            return Ok(());
        }
        Err(damaged(
            "a column has more values than its row group has rows",
        ))
    }
}

/// The values of a column, of whatever type.
trait Cells: Send {
    /// Decodes up to `most` rows, at least one; returns how many.
    fn decode(&mut self, most: usize) -> Result<usize>;

    /// Returns true if there are no more.
    fn is_at_end(&mut self) -> Result<bool>;

    /// Takes the next value as text, which may be put together in `scratch`; `None` for NULL. There must be one.
    fn take<'v>(&'v mut self, form: TextForm, scratch: &'v mut Vec<u8>) -> Option<&'v [u8]>;
}

impl Cells for ByteArrays {
    fn decode(&mut self, most: usize) -> Result<usize> {
        self.read(most)
    }

    fn is_at_end(&mut self) -> Result<bool> {
        Self::is_at_end(self)
    }

    #[inline]
    fn take<'v>(&'v mut self, form: TextForm, scratch: &'v mut Vec<u8>) -> Option<&'v [u8]> {
        let Cell::Value { bytes, .. } = self.next_cell() else {
            return None;
        };
        scratch.clear();
        Some(bytes.text(form, scratch))
    }
}

/// Values of one type.
struct Typed<T: DataType> {
    values: Values<T>,
    decoded: Decoded<T>,
    /// A value has this level, and NULL a lower one.
    level_of_values: i16,
    next_value: usize,
    next_level: usize,
}

impl<T: DataType> Typed<T>
where
    T::T: Written,
{
    fn open(
        file: &Arc<File>,
        column: &ColumnDescPtr,
        chunk: ColumnChunk,
        memory: (Arc<Allowance>, usize),
    ) -> Box<dyn Cells> {
        Box::new(Self {
            values: Values::open(file, column, chunk, memory),
            decoded: Decoded::default(),
            level_of_values: column.max_def_level(),
            next_value: 0,
            next_level: 0,
        })
    }
}

impl<T: DataType> Cells for Typed<T>
where
    T::T: Written,
{
    fn decode(&mut self, most: usize) -> Result<usize> {
        (self.next_value, self.next_level) = (0, 0);
        self.values.read(most, &mut self.decoded)
    }

    fn is_at_end(&mut self) -> Result<bool> {
        self.values.is_at_end()
    }

    #[inline]
    fn take<'v>(&'v mut self, form: TextForm, scratch: &'v mut Vec<u8>) -> Option<&'v [u8]> {
        if self.level_of_values > 0 {
            let level = self.decoded.definitions[self.next_level];
            self.next_level += 1;
            if level < self.level_of_values {
                return None;
            }
        }
        let value = &self.decoded.values[self.next_value];
        self.next_value += 1;
        scratch.clear();
        Some(value.text(form, scratch))
    }
}
