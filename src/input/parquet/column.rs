//! The values of a column of the key, as text.
//!
//! *Owns:* which types can be keys, and how a value of each is written: text and binary as their bytes, integers in decimal,
//! a UUID in its usual form. *Invariants:* a value is read in the memory that was granted for its page; a column ends with
//! its row group, or it is an error. *Cost:* up to 1,024 values at a time, which are pieces of their page mostly.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ::parquet::basic::{ConvertedType, LogicalType, Type};
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::data_type::{
    AsBytes, ByteArrayType, DataType, FixedLenByteArrayType, Int32Type, Int64Type,
};
use ::parquet::errors::Result;
use ::parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};

use crate::input::parquet::allowance::Allowance;
use crate::input::parquet::pages::{Chunk, Given, Layout, Pages, damaged};

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

/// What the pages of this column are like.
pub(super) fn layout(column: &ColumnDescriptor) -> Layout {
    let value_bytes = match column.physical_type() {
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => column.type_length().max(1) as u64,
        Type::BOOLEAN => 1,
        // Of text its length.
        Type::BYTE_ARRAY | Type::INT32 | Type::FLOAT => 4,
    };
    let levels = usize::from(column.max_rep_level() > 0) + usize::from(column.max_def_level() > 0);
    Layout {
        value_bytes,
        levels,
    }
}

/// The values of a column of a row group, in order.
pub(super) struct Column {
    cells: Box<dyn Cells>,
    form: Form,
    /// The page that is decoded.
    page: Arc<Given>,
    /// Values that were not decoded yet, NULLs included.
    left: u64,
    /// Of the values that are decoded: how many there are, and which comes next.
    decoded: u64,
    next: u64,
}

impl Column {
    /// Opens a column of a row group.
    pub(super) fn open(
        file: &Arc<File>,
        (column, form): (&ColumnDescPtr, Form),
        chunk: Chunk,
        memory: (Arc<Allowance>, usize),
    ) -> Self {
        let page = Arc::new(Given::default());
        let about = (chunk, layout(column));
        let pages = Pages::new(Arc::clone(file), about, memory, Arc::clone(&page));
        let cells: Box<dyn Cells> = match column.physical_type() {
            Type::INT32 => Typed::<Int32Type>::open(column, pages),
            Type::INT64 => Typed::<Int64Type>::open(column, pages),
            Type::FIXED_LEN_BYTE_ARRAY => Typed::<FixedLenByteArrayType>::open(column, pages),
            _ => Typed::<ByteArrayType>::open(column, pages),
        };
        Self {
            cells,
            form,
            page,
            left: chunk.values,
            decoded: 0,
            next: 0,
        }
    }

    /// The next value as text, which may be put together in `scratch`; `None` for NULL.
    ///
    /// # Errors
    /// Where the column is damaged or ends early.
    #[inline]
    pub(super) fn read<'v>(&'v mut self, scratch: &'v mut Vec<u8>) -> Result<Option<&'v [u8]>> {
        if self.next == self.decoded {
            self.decode()?;
        }
        self.next += 1;
        Ok(self.cells.take(self.form, scratch))
    }

    /// Checks that nothing is left at the end of the row group.
    ///
    /// # Errors
    /// Where the column has more values.
    pub(super) fn finish(mut self) -> Result<()> {
        if self.left > 0 || guarded(|| self.cells.decode(1))? > 0 {
            return Err(damaged(
                "a column has more values than its row group has rows",
            ));
        }
        Ok(())
    }

    /// Decodes some values of one page: pages before it are not held for them.
    fn decode(&mut self) -> Result<()> {
        if self.left == 0 {
            return Err(damaged(
                "a column has fewer values than its row group has rows",
            ));
        }
        let batch = self.page.batch.load(Ordering::Relaxed);
        let wanted = match self.page.values.load(Ordering::Relaxed) {
            // The first of the next page: how many that has shows then.
            0 => 1,
            of_page => of_page.min(batch).min(self.left),
        };
        self.decoded = guarded(|| self.cells.decode(wanted as usize))? as u64;
        self.next = 0;
        if self.decoded != wanted {
            return Err(damaged(
                "a column has fewer values than its row group has rows",
            ));
        }
        self.left -= wanted;
        self.page.values.fetch_sub(wanted, Ordering::Relaxed);
        Ok(())
    }
}

/// Calls a decoder of `parquet`. That a damaged page lets it panic is an error like others.
pub(super) fn guarded<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    crate::sys::guarded::guarded(decode)
        .unwrap_or_else(|| Err(damaged("its content makes no sense")))
}

/// The values of a column, of whatever type.
trait Cells: Send {
    /// Decodes up to `count` values; returns how many there were.
    fn decode(&mut self, count: usize) -> Result<usize>;

    /// The next value as text, which may be put together in `scratch`; `None` for NULL. There must be one.
    fn take<'v>(&'v mut self, form: Form, scratch: &'v mut Vec<u8>) -> Option<&'v [u8]>;
}

/// Values of one type.
struct Typed<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
    levels: Vec<i16>,
    /// A value has this level, and NULL a lower one.
    level_of_values: i16,
    next_value: usize,
    next_level: usize,
}

impl<T: DataType> Typed<T>
where
    T::T: Written,
{
    fn open(column: &ColumnDescPtr, pages: Pages) -> Box<dyn Cells> {
        Box::new(Self {
            reader: ColumnReaderImpl::<T>::new(Arc::clone(column), Box::new(pages)),
            values: Vec::new(),
            levels: Vec::new(),
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
    fn decode(&mut self, count: usize) -> Result<usize> {
        // The page that these came from goes with them.
        self.values.clear();
        self.levels.clear();
        (self.next_value, self.next_level) = (0, 0);
        let levels = Some(&mut self.levels);
        let read = self
            .reader
            .read_records(count, levels, None, &mut self.values)?;
        Ok(read.0)
    }

    #[inline]
    fn take<'v>(&'v mut self, form: Form, scratch: &'v mut Vec<u8>) -> Option<&'v [u8]> {
        if self.level_of_values > 0 {
            let level = self.levels[self.next_level];
            self.next_level += 1;
            if level < self.level_of_values {
                return None;
            }
        }
        let value = &self.values[self.next_value];
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
        // Writing to memory does not fail.
        let _cannot_fail = match form {
            Form::Unsigned => write!(scratch, "{}", *self as u32),
            _ => write!(scratch, "{self}"),
        };
        scratch
    }
}

impl Written for i64 {
    fn text<'v>(&'v self, form: Form, scratch: &'v mut Vec<u8>) -> &'v [u8] {
        let _cannot_fail = match form {
            Form::Unsigned => write!(scratch, "{}", *self as u64),
            _ => write!(scratch, "{self}"),
        };
        scratch
    }
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
