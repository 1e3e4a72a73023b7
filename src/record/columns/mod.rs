//! The columns of the key in the records of one file.
//!
//! *Owns:* [`Columns`], made from [`Keys`] and, where fields have names, the header of the file. `key` takes the key
//! out of a record, `rank` the number by which records with the same key are ranked. *Invariants:* a key is a field
//! that can be written: quotes stay where it needs them. *Cost:* no memory but for a key that is not in its record as
//! it is; 16 bytes for each field.

mod key;
mod rank;

use std::ops::Range;

use crate::record::folding::Folding;
use crate::record::rank::Ranking;
use crate::record::{Dialect, Field, Keys, PassedOver, Syntax, json};

/// The most bytes of a key that is copied without a reservation. No record is longer that is not alone in a chunk: see
/// [`ChunkRules`](crate::reading::chunk::ChunkRules).
pub(crate) const MOST_BUILT_BYTES: usize = (256 + 16) << 10;

/// The key of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key<'r> {
    /// A piece of the record.
    Piece(&'r [u8]),
    /// The bytes that were appended to the buffer for keys that are built.
    Built(Range<usize>),
}

/// The columns that the fields of a key are in, in the records of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Columns {
    syntax: Syntax,
    /// The fields in the words of the caller, in the order of the key.
    names: Vec<Field>,
    /// The numbers of fields that have numbers: from 0, ascending.
    numbers: Vec<u32>,
    /// The index in the key of each of the numbers.
    order: Vec<usize>,
    /// The paths of fields of objects, in the order of the key.
    paths: Vec<json::Path>,
    /// The changes of each field before it is compared.
    folding: Folding,
    /// The field that has the rank of a record, if records are ranked.
    ranked: Option<Ranked>,
    /// The lines of a text that are no records.
    passed_over: PassedOver,
    /// The byte after the number of its row, which stands before each record that is text; `None` if rows have none.
    row_number_end: Option<u8>,
    /// True if records are keys already: they were written as keys are, and nothing is changed before it is compared.
    are_keys: bool,
}

/// The field that has the rank of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ranked {
    ranking: Ranking,
    /// Its number, from 0; of objects it means nothing.
    number: u32,
    /// Its path in objects.
    path: json::Path,
}

impl Columns {
    /// Makes the columns of a file of the input with `number` whose fields have these numbers, from 0: one for each
    /// field of the key. For objects none.
    pub(super) fn new(keys: &Keys, number: u32, numbers: &[u32]) -> Self {
        let names = match keys.syntax {
            // The fields are those of Parquet files; of a text a line is the key.
            Syntax::Whole => &[],
            _ => keys.fields_of(number),
        };
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_by_key(|&index| numbers[index]);
        let paths = match keys.syntax {
            Syntax::JsonLines => names.iter().map(json::Path::new).collect(),
            _ => Vec::new(),
        };
        Self {
            syntax: keys.syntax,
            names: names.to_vec(),
            numbers: order.iter().map(|&index| numbers[index]).collect(),
            order,
            paths,
            folding: Folding::of(keys),
            ranked: None,
            passed_over: PassedOver::of(keys, !names.is_empty()),
            row_number_end: None,
            are_keys: false,
        }
    }

    /// Makes the columns of a Parquet file of the input with `number`: what is read of it are the `count` fields of
    /// the key, in their order. `is_alone` is true if all files of the input are Parquet: else their columns may be the
    /// same as those of texts, whose records are not written as keys are.
    pub(crate) fn of_table(keys: &Keys, number: u32, count: usize, is_alone: bool) -> Self {
        let numbers: Vec<u32> = match keys.syntax {
            Syntax::Delimited(_) | Syntax::Csv(_) => (0..count as u32).collect(),
            Syntax::Whole | Syntax::JsonLines => Vec::new(),
        };
        let columns = Self::new(keys, number, &numbers);
        // A name with dots is one name in the records that are made of rows.
        let names = columns.names.iter().take(columns.paths.len());
        let paths = names.map(json::Path::plain).collect();
        let is_written_as_keys = match keys.syntax {
            Syntax::Csv(dialect) => dialect == dialect.of_keys(),
            Syntax::Whole | Syntax::Delimited(_) => true,
            Syntax::JsonLines => false,
        };
        Self {
            paths,
            are_keys: is_alone && is_written_as_keys && !columns.folding.changes(),
            row_number_end: keys.row_number_end(),
            ..columns
        }
    }

    /// Returns true if records are keys already.
    pub(crate) fn are_keys(&self) -> bool {
        self.are_keys
    }

    /// Returns true if rows have their numbers: before records that are text, or behind keys.
    pub(crate) fn has_row_numbers(&self) -> bool {
        self.row_number_end.is_some()
    }

    /// Returns the caller's name for the field at this index of the key.
    pub(super) fn name(&self, index: usize) -> String {
        self.names
            .get(index)
            .map_or_else(String::new, Field::to_string)
    }

    /// Returns true if the caller gave this number for a field.
    pub(super) fn has_number(&self, number: u32) -> bool {
        self.names.contains(&Field::Number(number))
    }

    /// Takes records for those of any file with the same columns, written as keys are or not.
    pub(crate) fn as_texts(&self) -> Self {
        Self {
            are_keys: false,
            ..self.clone()
        }
    }

    /// Takes fields as they are written: the names in a header.
    pub(crate) fn as_written(&self) -> Self {
        Self {
            folding: Folding::default(),
            row_number_end: None,
            are_keys: false,
            ..self.clone()
        }
    }

    /// Returns the byte that separates the fields of a record; `None` of objects, and of lines that are compared whole.
    pub(crate) fn delimiter(&self) -> Option<u8> {
        match self.syntax {
            Syntax::Csv(Dialect { delimiter, .. }) => Some(delimiter),
            Syntax::Delimited(delimiter) if self.has_fields() => Some(delimiter),
            _ => None,
        }
    }

    /// Returns true if a CR at the end of a record is no part of a field.
    pub(crate) fn ignores_cr(&self) -> bool {
        let has_line_ends = matches!(self.syntax, Syntax::Csv(_) | Syntax::JsonLines);
        has_line_ends && !self.names.is_empty()
    }

    /// Returns true if each key is made anew; else a key is a piece of its record, but for some that have quotes or
    /// escapes.
    fn changes(&self) -> bool {
        self.folding.changes() || self.names.len() > 1
    }

    /// Returns true if a key may be no piece of its record.
    pub(crate) fn may_copy(&self) -> bool {
        let is_special = matches!(self.syntax, Syntax::Csv(_) | Syntax::JsonLines);
        !self.are_keys && (self.changes() || is_special)
    }

    /// Returns true if fields are compared; else all of a line is.
    pub(crate) fn has_fields(&self) -> bool {
        !self.names.is_empty()
    }

    /// Returns the lines of a text that are no records.
    pub(crate) fn passed_over(&self) -> PassedOver {
        self.passed_over
    }
}

/// Leaves out the CR at the end of a record, which belongs to the line end.
fn without_cr(record: &[u8]) -> &[u8] {
    record.strip_suffix(b"\r").unwrap_or(record)
}
