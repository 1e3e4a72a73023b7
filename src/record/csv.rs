//! Fields of comma-separated values (RFC 4180).
//!
//! *Owns:* the rules for quotes. *Invariants:* a record is looked at to its end, so that a quote out of place, which may
//! have moved the ends of records, is never passed over. *Cost:* two searches for each field; behind the last field that is
//! wanted one for the whole rest, if it has no quotes.

use std::borrow::Cow;

use crate::record::Bad;

/// A field as it stands in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawField<'r> {
    /// Its bytes; of a quoted field those between the quotes.
    content: &'r [u8],
    /// The same with the quotes.
    quoted: Option<&'r [u8]>,
    /// Whether there are doubled quotes in it.
    has_quotes: bool,
}

impl<'r> RawField<'r> {
    /// Its bytes as they stand in the record, without the quotes around it.
    pub(super) fn bytes(&self) -> usize {
        self.content.len()
    }

    /// What the field says: without the quotes around it, and one quote for two.
    pub(super) fn text(&self) -> Cow<'r, [u8]> {
        if !self.has_quotes {
            return Cow::Borrowed(self.content);
        }
        let mut text = Vec::with_capacity(self.content.len());
        let mut rest = self.content;
        while let Some(quote) = memchr::memchr(b'"', rest) {
            text.extend_from_slice(&rest[..=quote]);
            rest = &rest[quote + 2..];
        }
        text.extend_from_slice(rest);
        Cow::Owned(text)
    }

    /// The one way to write the field: with quotes where it needs them, and without where not.
    pub(super) fn written(&self, delimiter: u8) -> &'r [u8] {
        match self.quoted {
            Some(quoted) if self.has_quotes || needs_quotes(self.content, delimiter) => quoted,
            _ => self.content,
        }
    }
}

/// Whether a field with this text is only a field between quotes. A CR alone needs none.
fn needs_quotes(text: &[u8], delimiter: u8) -> bool {
    memchr::memchr3(b'\n', delimiter, b'"', text).is_some()
}

/// Appends the one way to write a field with this text.
pub(super) fn write(text: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    if !needs_quotes(text, delimiter) {
        out.extend_from_slice(text);
        return;
    }
    write_quoted(text, out);
}

/// Appends a field with this text between quotes.
pub(super) fn write_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// Calls `found` with the fields at `places` (from 0, ascending), each with its place in that list. All of the record is
/// checked.
///
/// # Errors
/// [`Bad::TooFewFields`], what is wrong with the quotes, and [`Bad::LineEnd`] in one of these fields.
pub(super) fn for_fields<'r>(
    record: &'r [u8],
    delimiter: u8,
    places: &[u32],
    mut found: impl FnMut(usize, RawField<'r>),
) -> Result<(), Bad> {
    let mut rest = Some(record);
    let mut number = 0;
    for (index, &place) in places.iter().enumerate() {
        loop {
            let (field, behind) = first(rest.ok_or(Bad::TooFewFields(place + 1))?, delimiter)?;
            rest = behind;
            number += 1;
            if number > place {
                // Where records end in NUL. It would have to be written with quotes, which are not there.
                if field.quoted.is_none() && memchr::memchr(b'\n', field.content).is_some() {
                    return Err(Bad::LineEnd);
                }
                found(index, field);
                break;
            }
        }
    }
    while let Some(left) = rest.filter(|left| memchr::memchr(b'"', left).is_some()) {
        rest = first(left, delimiter)?.1;
    }
    Ok(())
}

/// All fields of a record.
///
/// # Errors
/// What is wrong with the quotes.
pub(super) fn fields(record: &[u8], delimiter: u8) -> Result<Vec<RawField<'_>>, Bad> {
    let (mut fields, mut rest) = (Vec::new(), Some(record));
    while let Some(left) = rest {
        let (field, behind) = first(left, delimiter)?;
        fields.push(field);
        rest = behind;
    }
    Ok(fields)
}

/// The first field of `record`, and what stands behind the delimiter that ends it: `None` if it is the last.
#[inline]
fn first(record: &[u8], delimiter: u8) -> Result<(RawField<'_>, Option<&[u8]>), Bad> {
    if record.first() == Some(&b'"') {
        return first_quoted(record, delimiter);
    }
    let end = memchr::memchr2(delimiter, b'"', record);
    let field = |content| RawField {
        content,
        quoted: None,
        has_quotes: false,
    };
    match end {
        None => Ok((field(record), None)),
        Some(end) if record[end] == delimiter => {
            Ok((field(&record[..end]), Some(&record[end + 1..])))
        }
        Some(_) => Err(Bad::StrayQuote),
    }
}

/// As [`first`], of a record that begins with a quote.
fn first_quoted(record: &[u8], delimiter: u8) -> Result<(RawField<'_>, Option<&[u8]>), Bad> {
    let (mut end, mut has_quotes) = (1, false);
    loop {
        end += memchr::memchr(b'"', &record[end..]).ok_or(Bad::OpenQuote)?;
        if record.get(end + 1) != Some(&b'"') {
            break;
        }
        has_quotes = true;
        end += 2;
    }
    let field = RawField {
        content: &record[1..end],
        quoted: Some(&record[..=end]),
        has_quotes,
    };
    match record.get(end + 1) {
        None => Ok((field, None)),
        Some(&byte) if byte == delimiter => Ok((field, Some(&record[end + 2..]))),
        Some(_) => Err(Bad::BehindQuote),
    }
}
