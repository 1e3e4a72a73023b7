//! Writing fields as a record.
//!
//! *Owns:* [`Writing`], for files that have fields but no text: their records are written as a text file would have
//! them. *Invariants:* what is written is read back as the same fields, or is refused. *Cost:* one copy of each field.

use crate::record::{Field, Syntax, csv, json};

/// The form in which the fields of a key become a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Writing {
    syntax: Syntax,
    terminator: u8,
    /// The text before each value of an object.
    names: Vec<Vec<u8>>,
    /// True if a record has one field.
    is_alone: bool,
}

/// Why a field cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unwritable {
    /// The byte that ends lines is in it.
    LineEnd,
    /// The byte between fields is in it.
    Delimiter,
    /// JSON takes nothing but UTF-8.
    NoText,
}

impl Unwritable {
    /// Says what is wrong, and what helps.
    pub(crate) fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::LineEnd => (
                "has a line end in it",
                "add `Syntax::Csv`, which puts such keys in quotes, or leave such rows out with `BadRecords::Skip`",
            ),
            Self::Delimiter => (
                "has the delimiter in it",
                "add `Syntax::Csv`, which puts such keys in quotes, or leave such rows out with `BadRecords::Skip`",
            ),
            Self::NoText => (
                "is not text in UTF-8",
                "give a format other than `Syntax::JsonLines`, or leave such rows out with `BadRecords::Skip`",
            ),
        }
    }
}

impl Writing {
    /// Writes records of `fields` in `syntax`, each with `terminator` after it. Objects have no others in them: a name
    /// with dots stays one.
    pub(crate) fn new(syntax: Syntax, terminator: u8, fields: &[Field]) -> Self {
        let name = |(index, field): (usize, &Field)| {
            let mut before = vec![if index == 0 { b'{' } else { b',' }];
            json::write(&field.plain_name(), &mut before);
            before.push(b':');
            before
        };
        let names = match syntax {
            Syntax::JsonLines => fields.iter().enumerate().map(name).collect(),
            _ => Vec::new(),
        };
        Self {
            syntax,
            terminator,
            names,
            is_alone: fields.len() == 1,
        }
    }

    /// Appends the field at `index` (from 0) with what stands before it. A number stands in no quotes.
    ///
    /// # Errors
    /// Where the syntax has no way to write it; something was appended then.
    #[inline]
    pub(crate) fn field(
        &self,
        index: usize,
        is_number: bool,
        text: &[u8],
        record: &mut Vec<u8>,
    ) -> Result<(), Unwritable> {
        let has = |byte| memchr::memchr(byte, text).is_some();
        match self.syntax {
            Syntax::Whole => {
                if has(self.terminator) {
                    return Err(Unwritable::LineEnd);
                }
                record.extend_from_slice(text);
            }
            Syntax::Delimited(delimiter) => {
                if has(self.terminator) {
                    return Err(Unwritable::LineEnd);
                }
                if has(delimiter) {
                    return Err(Unwritable::Delimiter);
                }
                if index > 0 {
                    record.push(delimiter);
                }
                record.extend_from_slice(text);
            }
            Syntax::Csv(dialect) => {
                if self.terminator != b'\n' && has(self.terminator) {
                    return Err(Unwritable::LineEnd);
                }
                if index > 0 {
                    record.push(dialect.delimiter);
                }
                if self.is_alone {
                    csv::write_alone(text, dialect, record);
                } else {
                    csv::write(text, dialect, record);
                }
            }
            Syntax::JsonLines => {
                let text = std::str::from_utf8(text).map_err(|_| Unwritable::NoText)?;
                record.extend_from_slice(&self.names[index]);
                if is_number {
                    record.extend_from_slice(text.as_bytes());
                } else {
                    json::write(text, record);
                }
            }
        }
        Ok(())
    }

    /// Appends what follows the last field.
    pub(crate) fn end(&self, record: &mut Vec<u8>) {
        if self.syntax == Syntax::JsonLines {
            record.push(b'}');
        }
        record.push(self.terminator);
    }
}
