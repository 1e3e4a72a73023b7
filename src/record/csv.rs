//! Fields of comma-separated values (RFC 4180).
//!
//! *Owns:* the rules for quotes. *Invariants:* a quote opens a field only at its start; inside a field that has no
//! quotes around it, it is text, as Python, DuckDB, Polars and Excel read it. A record is looked at to its end, so that
//! a field that is damaged is noticed wherever it is. *Cost:* two searches for each field; after the last field that
//! is wanted one for the whole rest, if it has no quotes.
//!
//! ```text
//!  in the record     the field says     because
//!  3.5" disk         3.5" disk          no quote at the start: quotes are text
//!  "3.5"" disk"      3.5" disk          two quotes are one
//!  "3.5\" disk"      3.5" disk          with the escape \
//!  "a" b             damaged            text after the closing quote
//!  "a                damaged            never closed
//! ```

use std::borrow::Cow;

use crate::record::Bad;

/// The bytes that mean something in a CSV file, besides quotes and line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// The byte between two fields.
    pub delimiter: u8,
    /// A byte that makes the next one text, whatever that is, in quotes and outside of them: `\` in what MySQL writes.
    /// Two quotes in a quoted field are one in any case.
    pub escape: Option<u8>,
}

impl Dialect {
    /// Fields with this byte between them, and no escape.
    pub const fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            escape: None,
        }
    }

    /// Finds the quote that closes a field whose text goes on at `from`. A quote at the very end of `bytes` may be the
    /// first of two, unless `is_all`: nothing follows.
    #[inline]
    pub(crate) fn closing_quote(self, bytes: &[u8], from: usize, is_all: bool) -> Closing {
        if let Some(escape) = self.escape {
            return closing_quote_among_escapes(bytes, from, escape, is_all);
        }
        let (mut at, mut is_plain) = (from, true);
        while let Some(found) = memchr::memchr(b'"', &bytes[at..]) {
            at += found;
            match bytes.get(at + 1) {
                Some(b'"') => (at, is_plain) = (at + 2, false),
                None if !is_all => return Closing::Beyond(at),
                _ => return Closing::At { at, is_plain },
            }
        }
        Closing::Beyond(bytes.len())
    }

    /// Returns the way in which keys are written, without escapes: so they are the same, whatever they were read
    /// from.
    pub(super) const fn of_keys(self) -> Self {
        Self::new(self.delimiter)
    }

    /// Returns true if a field with this text is only a field between quotes. A CR at the end of a record would be
    /// taken for a part of the line end, and by other programs for a line end anywhere; NUL ends lines with `-z`.
    fn needs_quotes(self, text: &[u8]) -> bool {
        let has = |byte| memchr::memchr(byte, text).is_some();
        memchr::memchr3(b'\n', self.delimiter, b'"', text).is_some()
            || memchr::memchr2(b'\r', 0, text).is_some()
            || self.escape.is_some_and(has)
    }
}

/// The end of a quoted field, as a search found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    /// At a quote.
    At {
        /// The offset of that quote.
        at: usize,
        /// True if the search passed no quotes that are one, and no escapes.
        is_plain: bool,
    },
    /// Not in these bytes. With more of them the search goes on here.
    Beyond(usize),
}

/// Works as [`Dialect::closing_quote`], where a quote after an escape closes nothing.
#[inline(never)]
fn closing_quote_among_escapes(bytes: &[u8], from: usize, escape: u8, is_all: bool) -> Closing {
    let (mut at, mut is_plain) = (from, true);
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(found) = memchr::memchr2(b'"', escape, rest) else {
            return Closing::Beyond(bytes.len());
        };
        at += found;
        match (bytes[at], bytes.get(at + 1)) {
            (b'"', None) if !is_all => return Closing::Beyond(at),
            (b'"', next) if next != Some(&b'"') => return Closing::At { at, is_plain },
            (_, None) => return Closing::Beyond(at),
            // Two quotes, or an escape and what it makes text.
            (_, Some(_)) => (at, is_plain) = (at + 2, false),
        }
    }
}

/// A field as it stands in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawField<'r> {
    /// Its bytes; of a quoted field those between the quotes.
    content: &'r [u8],
    /// The bytes with the quotes, of a quoted field.
    quoted: Option<&'r [u8]>,
    /// True if the bytes are what the field says: there are no escapes, and no quotes that stand for others.
    is_plain: bool,
}

impl<'r> RawField<'r> {
    /// Counts its bytes as they stand in the record, without the quotes around it.
    pub(super) fn bytes(&self) -> usize {
        self.content.len()
    }

    /// Returns the text of the field: without the quotes around it, one quote for two, and without escapes.
    pub(super) fn text(&self, dialect: Dialect) -> Cow<'r, [u8]> {
        if self.is_plain {
            return Cow::Borrowed(self.content);
        }
        let mut text = Vec::with_capacity(self.content.len());
        let mut bytes = self.content.iter().copied();
        while let Some(byte) = bytes.next() {
            let is_double = byte == b'"' && self.quoted.is_some();
            let is_first_of_two = is_double || Some(byte) == dialect.escape;
            // An escape at the end of the record has nothing after it.
            let byte = if is_first_of_two {
                bytes.next()
            } else {
                Some(byte)
            };
            text.extend(byte);
        }
        Cow::Owned(text)
    }

    /// Returns the one way to write the field, if it stands so in the record: with quotes where it needs them, and
    /// without where not. `None` if it has to be written anew.
    #[inline]
    pub(super) fn written(&self, dialect: Dialect) -> Option<&'r [u8]> {
        match self.is_plain {
            true if !dialect.needs_quotes(self.content) => Some(self.content),
            // Doubled quotes stay.
            _ if self.is_plain || dialect.escape.is_none() => self.quoted,
            _ => None,
        }
    }
}

/// Appends the one way to write a field with this text.
pub(super) fn write(text: &[u8], dialect: Dialect, out: &mut Vec<u8>) {
    if dialect.needs_quotes(text) {
        write_quoted(text, dialect, out);
    } else {
        out.extend_from_slice(text);
    }
}

/// Appends the only field of a record with this text. An empty one has quotes: an empty line is no record.
pub(super) fn write_alone(text: &[u8], dialect: Dialect, out: &mut Vec<u8>) {
    if text.is_empty() {
        write_quoted(text, dialect, out);
    } else {
        write(text, dialect, out);
    }
}

/// Appends a field with this text between quotes.
pub(super) fn write_quoted(text: &[u8], dialect: Dialect, out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text {
        if byte == b'"' || Some(byte) == dialect.escape {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// Calls `found` with the fields with the numbers `wanted` (from 0, ascending), each with its index in that list. All
/// of the record is checked.
///
/// # Errors
/// [`Bad::TooFewFields`], and what is wrong with the quotes.
pub(super) fn for_fields<'r>(
    record: &'r [u8],
    dialect: Dialect,
    wanted: &[u32],
    mut found: impl FnMut(usize, RawField<'r>),
) -> Result<(), Bad> {
    let mut rest = Some(record);
    let mut number = 0;
    for (index, &next) in wanted.iter().enumerate() {
        loop {
            let (field, behind) = first(rest.ok_or(Bad::TooFewFields(next + 1))?, dialect)?;
            rest = behind;
            number += 1;
            if number > next {
                found(index, field);
                break;
            }
        }
    }
    while let Some(left) = rest.filter(|left| memchr::memchr(b'"', left).is_some()) {
        rest = first(left, dialect)?.1;
    }
    Ok(())
}

/// Splits a record into its fields.
///
/// # Errors
/// What is wrong with the quotes.
pub(super) fn fields(record: &[u8], dialect: Dialect) -> Result<Vec<RawField<'_>>, Bad> {
    let (mut fields, mut rest) = (Vec::new(), Some(record));
    while let Some(left) = rest {
        let (field, behind) = first(left, dialect)?;
        fields.push(field);
        rest = behind;
    }
    Ok(fields)
}

/// Splits off the first field of `record` from what follows the delimiter that ends it: `None` if it is the
/// last.
#[inline]
fn first(record: &[u8], dialect: Dialect) -> Result<(RawField<'_>, Option<&[u8]>), Bad> {
    if record.first() == Some(&b'"') {
        return first_quoted(record, dialect);
    }
    let (end, is_plain) = match dialect.escape {
        None => (memchr::memchr(dialect.delimiter, record), true),
        Some(escape) => first_escaped(record, dialect.delimiter, escape),
    };
    let field = |content| RawField {
        content,
        quoted: None,
        is_plain,
    };
    Ok(match end {
        None => (field(record), None),
        Some(end) => (field(&record[..end]), Some(&record[end + 1..])),
    })
}

/// Finds where a field without quotes around it ends, if that is before the end of the record, and whether it has no
/// escapes.
fn first_escaped(record: &[u8], delimiter: u8, escape: u8) -> (Option<usize>, bool) {
    let (mut at, mut is_plain) = (0, true);
    loop {
        let rest = record.get(at..).unwrap_or_default();
        let Some(found) = memchr::memchr2(delimiter, escape, rest) else {
            return (None, is_plain);
        };
        at += found;
        if record[at] == delimiter {
            return (Some(at), is_plain);
        }
        (at, is_plain) = (at + 2, false);
    }
}

/// Works as [`first`], for a record that begins with a quote.
#[inline]
fn first_quoted(record: &[u8], dialect: Dialect) -> Result<(RawField<'_>, Option<&[u8]>), Bad> {
    let Closing::At { at: end, is_plain } = dialect.closing_quote(record, 1, true) else {
        return Err(Bad::OpenQuote);
    };
    let field = RawField {
        content: &record[1..end],
        quoted: Some(&record[..=end]),
        is_plain,
    };
    match record.get(end + 1) {
        None => Ok((field, None)),
        Some(&byte) if byte == dialect.delimiter => Ok((field, Some(&record[end + 2..]))),
        Some(_) => Err(Bad::BehindQuote),
    }
}
