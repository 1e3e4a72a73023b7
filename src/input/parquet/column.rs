//! The values of a column of the key, as text.
//!
//! *Owns:* which types can be keys, and how a value of each is written: text and binary as their bytes, integers in decimal,
//! a UUID in its usual form. *Invariants:* a value is read in the memory that was granted for its page; a column ends with
//! its row group, or it is an error. *Cost:* up to 1,024 values at a time, which are pieces of their page mostly.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{ConvertedType, LogicalType, Type};
use ::parquet::data_type::{
    AsBytes, ByteArrayType, DataType, FixedLenByteArrayType, Int32Type, Int64Type,
};
use ::parquet::errors::Result;
use ::parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};

use crate::input::parquet::allowance::Allowance;
use crate::input::parquet::pages::{Chunk, damaged};
use crate::input::parquet::values::{Decoded, Values};

/// How the values of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As their bytes.
    Bytes,
    Uuid,
    Signed,
    Unsigned,
}

impl Form {
    /// The form of this column; `None` where it cannot be a key.
    pub(super) fn of(column: &ColumnDescriptor) -> Option<Self> {
        use ConvertedType as Converted;
        let logical = column.logical_type_ref();
        let converted = column.converted_type();
        match column.physical_type() {
            Type::BYTE_ARRAY => match (logical, converted) {
                (Some(LogicalType::Decimal(_)), _) | (None, Converted::DECIMAL) => None,
                _ => Some(Self::Bytes),
            },
            Type::FIXED_LEN_BYTE_ARRAY if column.type_length() > 0 => match (logical, converted) {
                (Some(LogicalType::Uuid), _) => Some(Self::Uuid),
                (None, Converted::NONE) => Some(Self::Bytes),
                _ => None,
            },
            Type::INT32 | Type::INT64 => match (logical, converted) {
                (Some(LogicalType::Integer(integer)), _) if integer.is_signed => Some(Self::Signed),
                (Some(LogicalType::Integer(_)), _) => Some(Self::Unsigned),
                (Some(_), _) => None,
                (None, converted) => Self::of_integer(converted),
            },
            _ => None,
        }
    }

    /// The form of integers that have an old type alone.
    fn of_integer(converted: ConvertedType) -> Option<Self> {
        use ConvertedType as Converted;
        match converted {
            Converted::UINT_8 | Converted::UINT_16 | Converted::UINT_32 | Converted::UINT_64 => {
                Some(Self::Unsigned)
            }
            Converted::NONE
            | Converted::INT_8
            | Converted::INT_16
            | Converted::INT_32
            | Converted::INT_64 => Some(Self::Signed),
            _ => None,
        }
    }

    /// Whether it is written with digits alone.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Signed | Self::Unsigned)
    }
}

/// The values of a column of the key in a row group, in order.
pub(super) struct Column {
    cells: Box<dyn Cells>,
    form: Form,
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
        (column, form): (&ColumnDescPtr, Form),
        chunk: Chunk,
        memory: (Arc<Allowance>, usize),
    ) -> Self {
        let cells: Box<dyn Cells> = match column.physical_type() {
            Type::INT32 => Typed::<Int32Type>::open(file, column, chunk, memory),
            Type::INT64 => Typed::<Int64Type>::open(file, column, chunk, memory),
            Type::FIXED_LEN_BYTE_ARRAY => {
                Typed::<FixedLenByteArrayType>::open(file, column, chunk, memory)
            }
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

    /// The value of the next row as text, which may be put together in `scratch`; `None` for NULL. There must be one.
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

    /// Whether there are no more.
    fn is_at_end(&mut self) -> Result<bool>;

    /// The next value as text, which may be put together in `scratch`; `None` for NULL. There must be one.
    fn take<'v>(&'v mut self, form: Form, scratch: &'v mut Vec<u8>) -> Option<&'v [u8]>;
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
        chunk: Chunk,
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
    fn take<'v>(&'v mut self, form: Form, scratch: &'v mut Vec<u8>) -> Option<&'v [u8]> {
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

/// A value that can be written as text.
trait Written {
    /// Its text, put together in `scratch`, which is empty, if it is not there as it is.
    fn text<'v>(&'v self, form: Form, scratch: &'v mut Vec<u8>) -> &'v [u8];
}

impl Written for i32 {
    fn text<'v>(&'v self, form: Form, scratch: &'v mut Vec<u8>) -> &'v [u8] {
        match form {
            Form::Unsigned => decimal(*self as u32, scratch),
            _ => decimal(*self, scratch),
        }
    }
}

impl Written for i64 {
    fn text<'v>(&'v self, form: Form, scratch: &'v mut Vec<u8>) -> &'v [u8] {
        match form {
            Form::Unsigned => decimal(*self as u64, scratch),
            _ => decimal(*self, scratch),
        }
    }
}

fn decimal(number: impl Display, scratch: &mut Vec<u8>) -> &[u8] {
    // Writing to memory does not fail.
    let _cannot_fail = write!(scratch, "{number}");
    scratch
}

impl Written for ::parquet::data_type::ByteArray {
    #[inline]
    fn text<'v>(&'v self, _form: Form, _scratch: &'v mut Vec<u8>) -> &'v [u8] {
        self.as_bytes()
    }
}

impl Written for ::parquet::data_type::FixedLenByteArray {
    fn text<'v>(&'v self, form: Form, scratch: &'v mut Vec<u8>) -> &'v [u8] {
        let bytes = self.as_bytes();
        if form != Form::Uuid {
            return bytes;
        }
        for (place, byte) in bytes.iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                scratch.push(b'-');
            }
            let _cannot_fail = write!(scratch, "{byte:02x}");
        }
        scratch
    }
}
