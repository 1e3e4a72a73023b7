//! Keys as they are taken out of records.
//!
//! *Owns:* the way from a record to its key, for each syntax: the piece of the record that is one, or a copy.
//! *Invariants:* what is copied is never longer than the caller has memory for. *Cost:* one look at the record; a
//! copy of a key that has several fields, is folded, or does not stand in its record as keys are written.

use std::borrow::Cow;

use crate::record::columns::{Columns, Key, MOST_BUILT_BYTES, without_cr};
use crate::record::{Bad, Dialect, Syntax, csv, delimited_values, json};

/// A copy of a key, at the end of the caller's buffer.
struct Copied<'b> {
    buffer: &'b mut Vec<u8>,
    /// The offset of its first byte.
    start: usize,
    /// The most bytes it may have. The caller has memory for [`Columns::most_copied`].
    most_bytes: usize,
}

impl Copied<'_> {
    /// Checks that this many bytes more find room, before they are copied: copies are not in the budget.
    fn check(&self, bytes: usize) -> Result<(), Bad> {
        let bytes = bytes + (self.buffer.len() - self.start);
        if bytes > self.most_bytes {
            Err(Bad::LongKey)
        } else {
            Ok(())
        }
    }

    /// Returns the key, whole.
    fn key<'r>(self) -> Result<Key<'r>, Bad> {
        self.check(0)?;
        Ok(Key::Built(self.start..self.buffer.len()))
    }
}

impl Columns {
    /// Finds the key of `record`, which has no terminator. A key that is not a piece of it is appended to `built`.
    ///
    /// # Errors
    /// Why the record has none; [`Bad::LongKey`] for a key of more than [`MOST_BUILT_BYTES`] that is not a piece.
    /// `built` may have grown then.
    #[inline]
    pub(crate) fn key<'r>(&self, record: &'r [u8], built: &mut Vec<u8>) -> Result<Key<'r>, Bad> {
        self.key_up_to(record, built, MOST_BUILT_BYTES)
    }

    /// Returns the memory that copying the key of a record of `record_bytes` may take, in bytes: a text without its
    /// escapes, the same folded, and the key, in a buffer that grows by doubling.
    pub(crate) fn most_copied(record_bytes: u64) -> u64 {
        record_bytes.saturating_mul(4)
    }

    /// Works as [`Columns::key`], for a key of up to `most_bytes`; the caller has memory for [`Columns::most_copied`].
    ///
    /// # Errors
    /// As [`Columns::key`].
    #[inline]
    pub(crate) fn key_up_to<'r>(
        &self,
        record: &'r [u8],
        built: &mut Vec<u8>,
        most_bytes: usize,
    ) -> Result<Key<'r>, Bad> {
        let record = match self.row_number_end {
            Some(end) => behind_number(record, end),
            None => record,
        };
        if self.are_keys {
            return Ok(Key::Piece(record));
        }
        let copied = Copied {
            start: built.len(),
            buffer: built,
            most_bytes,
        };
        if self.names.is_empty() {
            return self.of_line(record, copied);
        }
        match self.syntax {
            Syntax::Whole => Ok(Key::Piece(record)),
            Syntax::Delimited(delimiter) => self.of_delimited(record, delimiter, copied),
            Syntax::Csv(dialect) => self.of_csv(without_cr(record), dialect, copied),
            Syntax::JsonLines => self.of_object(record, copied),
        }
    }

    /// Takes all of the record as its key, as it stands in the file. Quotes are checked: one that is out of place may
    /// have moved the ends of records.
    fn of_line<'r>(&self, record: &'r [u8], copied: Copied<'_>) -> Result<Key<'r>, Bad> {
        if let Syntax::Csv(dialect) = self.syntax {
            csv::for_fields(without_cr(record), dialect, &[], |_, _| {})?;
        }
        if self.changes() {
            self.joined(&[record], copied)
        } else {
            Ok(Key::Piece(record))
        }
    }

    /// Finds the fields of the key between delimiters.
    #[inline]
    fn of_delimited<'r>(
        &self,
        record: &'r [u8],
        delimiter: u8,
        copied: Copied<'_>,
    ) -> Result<Key<'r>, Bad> {
        if !self.changes() {
            let mut key = record;
            delimited_values::for_fields(record, delimiter, &self.numbers, |_, field| {
                key = field;
            })?;
            return Ok(Key::Piece(key));
        }
        let mut fields = vec![&[][..]; self.numbers.len()];
        delimited_values::for_fields(record, delimiter, &self.numbers, |index, field| {
            fields[self.order[index]] = field;
        })?;
        self.joined(&fields, copied)
    }

    /// Finds the fields of the key in a record with quotes.
    #[inline]
    fn of_csv<'r>(
        &self,
        record: &'r [u8],
        dialect: Dialect,
        copied: Copied<'_>,
    ) -> Result<Key<'r>, Bad> {
        if !self.changes() {
            let mut key = Some(record);
            csv::for_fields(record, dialect, &self.numbers, |_, field| {
                key = field.written(dialect);
            })?;
            return match key.filter(|key| !key.is_empty()) {
                Some(piece) => Ok(Key::Piece(piece)),
                None => self.written_anew(record, dialect, copied),
            };
        }
        let mut fields = vec![Cow::default(); self.numbers.len()];
        let mut is_long = false;
        csv::for_fields(record, dialect, &self.numbers, |index, field| {
            is_long |= field.bytes() > copied.most_bytes.saturating_mul(2);
            if !is_long {
                fields[self.order[index]] = field.text(dialect);
            }
        })?;
        if is_long {
            return Err(Bad::LongKey);
        }
        self.joined(&fields, copied)
    }

    /// Writes the key of a record whose only field does not stand in it as a key is written.
    #[cold]
    fn written_anew<'r>(
        &self,
        record: &'r [u8],
        dialect: Dialect,
        copied: Copied<'_>,
    ) -> Result<Key<'r>, Bad> {
        let mut fits = Ok(());
        csv::for_fields(record, dialect, &self.numbers, |_, field| {
            fits = copied.check(field.bytes());
            if fits.is_ok() {
                csv::write_alone(&field.text(dialect), dialect.of_keys(), copied.buffer);
            }
        })?;
        fits?;
        copied.key()
    }

    /// Makes the key of these fields, in the order of the key.
    ///
    /// # Errors
    /// [`Bad::LongKey`], before anything is copied.
    fn joined<'r, T: AsRef<[u8]>>(&self, fields: &[T], copied: Copied<'_>) -> Result<Key<'r>, Bad> {
        copied.check(fields.iter().map(|field| field.as_ref().len()).sum())?;
        let joint = match self.syntax {
            Syntax::Delimited(delimiter) if self.names.len() > 1 => Some(delimiter),
            _ => None,
        };
        for (index, field) in fields.iter().enumerate() {
            // Before it is put in quotes.
            let field = self.folding.field(field.as_ref(), joint);
            match self.syntax {
                Syntax::Delimited(delimiter) | Syntax::Csv(Dialect { delimiter, .. })
                    if index > 0 =>
                {
                    copied.buffer.push(delimiter);
                }
                _ => {}
            }
            match self.syntax {
                Syntax::Csv(dialect) if self.names.len() == 1 => {
                    csv::write_alone(&field, dialect.of_keys(), copied.buffer);
                }
                Syntax::Csv(dialect) if self.has_fields() => {
                    csv::write(&field, dialect.of_keys(), copied.buffer);
                }
                _ => copied.buffer.extend_from_slice(&field),
            }
        }
        copied.key()
    }

    /// Makes the key of an object: its only field as text, several of them as a list of texts.
    fn of_object<'r>(&self, record: &'r [u8], copied: Copied<'_>) -> Result<Key<'r>, Bad> {
        let is_list = self.paths.len() > 1;
        for (index, path) in self.paths.iter().enumerate() {
            let value = json::value(record, path, !self.changes(), copied.most_bytes);
            let value = value.map_err(|fault| match fault {
                json::Fault::NotJson => Bad::NoObject,
                json::Fault::NotFinite(at) => Bad::NoNumber(at),
                json::Fault::LoneSurrogate => Bad::NoCharacter(index),
            })?;
            let text = match value {
                None => return Err(Bad::NoField(index)),
                Some(json::Value::Other) => return Err(Bad::NoValue(index)),
                Some(json::Value::Long) => return Err(Bad::LongKey),
                Some(json::Value::Quoted(raw)) => return Ok(Key::Piece(raw.as_bytes())),
                Some(json::Value::Plain(text)) => text.into(),
                Some(json::Value::Text(text)) => text,
            };
            if let Cow::Borrowed(text) = text
                && !self.changes()
                && !json::needs_quotes(text)
            {
                return Ok(Key::Piece(text.as_bytes()));
            }
            copied.check(text.len())?;
            let text = self.folding.text(&text);
            if is_list {
                copied.buffer.push(if index == 0 { b'[' } else { b',' });
            }
            if is_list || json::needs_quotes(&text) {
                json::write(&text, copied.buffer);
            } else {
                copied.buffer.extend_from_slice(text.as_bytes());
            }
        }
        if is_list {
            copied.buffer.push(b']');
        }
        copied.key()
    }
}

/// Leaves out the number of the row, which the byte `end` ends, from a record.
fn behind_number(record: &[u8], end: u8) -> &[u8] {
    memchr::memchr(end, record).map_or(record, |at| &record[at + 1..])
}
