//! The value of a field of a JSON object.
//!
//! *Owns:* the way along a dotted path. *Invariants:* the whole record is read: what is no JSON after the value is
//! noticed. *Cost:* that of `serde_json`, which passes over what is not on the path.
//!
//! *Sources:* RFC 8259. Of two fields with the same name the last one counts, as in most readers.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::record::Field;

/// A value at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value<'r> {
    /// Text, without the escapes.
    Text(Cow<'r, str>),
    /// Text that [`needs_quotes`], as it stands in quotes: [`write()`] would write it in the same way.
    Quoted(&'r str),
    /// A number, true or false, as it is written.
    Plain(&'r str),
    /// An object or a list.
    Other,
    /// A text with escapes that is too long for a copy.
    Long,
}

/// Why a record has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is no JSON object.
    NotJson,
    /// It has NaN, Infinity or -Infinity, which are no JSON, at this offset, in bytes from 0.
    NotFinite(usize),
    /// A text that is read has an escape that is no character: a half of a surrogate pair.
    LoneSurrogate,
}

/// The way to the value of a field in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    /// The names that lead to it.
    names: Vec<String>,
    /// The name of a field that comes before what the names lead to, if there is one so called.
    plain: Option<String>,
}

impl Path {
    /// Makes the path of `field`: the dots in its name lead into objects where the object has no field of just that
    /// name.
    pub(super) fn new(field: &Field) -> Self {
        let names = field.path();
        let plain = (names.len() > 1).then(|| names.join("."));
        Self { names, plain }
    }

    /// Makes the path of `field` where dots have no meaning.
    pub(super) fn plain(field: &Field) -> Self {
        Self {
            names: vec![field.plain_name()],
            plain: None,
        }
    }
}

/// Finds the value that `record` has at `path`; `Ok(None)` where it has nothing there, or null. `is_whole_key` is true
/// if the key is that value alone, as it is: only then it may be [`Value::Quoted`]. Of a text with escapes at most
/// `most_bytes` are copied.
///
/// # Errors
/// Where it is no JSON object, or the text there has no characters.
#[inline]
pub(super) fn value<'r>(
    record: &'r [u8],
    path: &Path,
    is_whole_key: bool,
    most_bytes: usize,
) -> Result<Option<Value<'r>>, Fault> {
    let raw = raw_value(record, path).map_err(|error| fault(record, &error))?;
    let Some(raw) = raw.map(RawValue::get) else {
        return Ok(None);
    };
    Ok(match raw.as_bytes().first() {
        Some(b'n') => None,
        // Its escapes are well formed, but may be no characters.
        Some(b'"') if is_whole_key && is_written_so(raw.as_bytes()) => Some(Value::Quoted(raw)),
        Some(b'"') => Some(
            match text(raw, most_bytes).map_err(|_| Fault::LoneSurrogate)? {
                Some(text) => Value::Text(text),
                None => Value::Long,
            },
        ),
        Some(b'{' | b'[') => Some(Value::Other),
        _ => Some(Value::Plain(raw)),
    })
}

/// Finds what `record` has at `path`, as it stands there.
#[inline]
fn raw_value<'r>(record: &'r [u8], path: &Path) -> Result<Option<&'r RawValue>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(record);
    let object = Object {
        names: &path.names,
        plain: path.plain.as_deref(),
    };
    let raw = object.deserialize(&mut reader)?;
    reader.end()?;
    Ok(raw)
}

/// Says why `record` is no object, where the reader failed with `error`.
#[cold]
fn fault(record: &[u8], error: &serde_json::Error) -> Fault {
    /// The numbers that are not finite, as Python writes them.
    const WORDS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
    // The reader stops after the first byte of it, or after the second of what has a sign, and counts from the last
    // line end before, of which a record that NUL ends may have some.
    let before = memchr::memchr_iter(b'\n', record).take(error.line().saturating_sub(1));
    let last = before.last().map_or(0, |end| end + 1) + error.column();
    let offset = (last.saturating_sub(2)..=last).find(|&offset| {
        let rest = record.get(offset..).unwrap_or_default();
        WORDS.iter().any(|word| rest.starts_with(word))
    });
    offset.map_or(Fault::NotJson, Fault::NotFinite)
}

/// Reads a JSON string without its quotes and escapes; `None` of one with escapes that is too long for a copy.
fn text(raw: &str, most_bytes: usize) -> Result<Option<Cow<'_, str>>, serde_json::Error> {
    match raw.get(1..raw.len() - 1) {
        Some(plain) if !plain.contains('\\') => Ok(Some(Cow::Borrowed(plain))),
        _ if raw.len() > most_bytes => Ok(None),
        _ => serde_json::from_str(raw).map(|text| Some(Cow::Owned(text))),
    }
}

/// Returns true if `raw`, a JSON string, is a text that [`needs_quotes`], and what [`write()`] would make of it. Long
/// texts mostly are: writers of JSON agree on the escapes of line ends, quotes and backslashes.
fn is_written_so(raw: &[u8]) -> bool {
    let mut needs_quotes = raw.starts_with(br#""\""#);
    let mut rest = raw;
    while let Some(escape) = memchr::memchr(b'\\', rest) {
        rest = match &rest[escape + 1..] {
            [b'n' | b'r', rest @ ..] => {
                needs_quotes = true;
                rest
            }
            [b't' | b'b' | b'f' | b'"' | b'\\', rest @ ..] => rest,
            [b'u', b'0', b'0', high, low, rest @ ..] if is_control(*high, *low) => {
                needs_quotes |= (high, low) == (&b'0', &b'0');
                rest
            }
            _ => return false,
        };
    }
    needs_quotes
}

/// Returns true if a control character with these hexadecimal digits has no shorter escape.
fn is_control(high: u8, low: u8) -> bool {
    match high {
        b'0' => matches!(low, b'0'..=b'7' | b'b' | b'e' | b'f'),
        b'1' => matches!(low, b'0'..=b'9' | b'a'..=b'f'),
        _ => false,
    }
}

/// A reader of an object, and in it of the value at a path of at least one name.
struct Object<'p> {
    names: &'p [String],
    /// A field with this name comes first.
    plain: Option<&'p str>,
}

impl<'r> DeserializeSeed<'r> for Object<'_> {
    type Value = Option<&'r RawValue>;

    #[inline]
    fn deserialize<D: Deserializer<'r>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'r> Visitor<'r> for Object<'_> {
    type Value = Option<&'r RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    #[inline]
    fn visit_map<A: MapAccess<'r>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (name, below) = self
            .names
            .split_first()
            .map_or(("", self.names), |(name, below)| (name.as_str(), below));
        let plain = self.plain;
        let (mut found, mut has_plain) = (None, false);
        while let Some(which) = map.next_key_seed(Which { name, plain })? {
            if which == Named::Other || (has_plain && which == Named::First) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let raw: &RawValue = map.next_value()?;
            has_plain |= which == Named::Plain;
            let leads_on = raw.get().starts_with('{');
            found = match below {
                _ if which == Named::Plain => Some(raw),
                [] => Some(raw),
                _ if !leads_on => None,
                below => {
                    let mut inner = serde_json::Deserializer::from_str(raw.get());
                    let object = Object {
                        names: below,
                        plain: None,
                    };
                    object
                        .deserialize(&mut inner)
                        .map_err(serde::de::Error::custom)?
                }
            };
        }
        Ok(found)
    }
}

/// The meaning of a field's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    /// The first name of the path.
    First,
    /// All of the path in one.
    Plain,
    Other,
}

/// A comparison of a name that makes no copy.
struct Which<'p> {
    name: &'p str,
    plain: Option<&'p str>,
}

impl<'r> DeserializeSeed<'r> for Which<'_> {
    type Value = Named;

    fn deserialize<D: Deserializer<'r>>(self, reader: D) -> Result<Named, D::Error> {
        // The names of other fields need not be text that can be.
        reader.deserialize_bytes(self)
    }
}

impl Visitor<'_> for Which<'_> {
    type Value = Named;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_bytes<E: serde::de::Error>(self, name: &[u8]) -> Result<Named, E> {
        Ok(if name == self.name.as_bytes() {
            Named::First
        } else if self.plain.is_some_and(|plain| name == plain.as_bytes()) {
            Named::Plain
        } else {
            Named::Other
        })
    }
}

/// Returns true if a text would be taken for two lines, or for a text in quotes, if it were written as it is.
pub(super) fn needs_quotes(text: &str) -> bool {
    text.starts_with('"') || memchr::memchr3(b'\n', b'\r', 0, text.as_bytes()).is_some()
}

/// Appends a text as a JSON string.
pub(super) fn write(text: &str, out: &mut Vec<u8>) {
    // Writing to memory does not fail, and a text is always a JSON string.
    let _cannot_fail = serde_json::to_writer(out, text);
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// Makes texts of pieces that meet every case of an escape, in every order of up to three.
    fn raw_texts() -> Vec<String> {
        let pieces = [
            "",
            "a",
            "\u{e9}",
            "/",
            r"\n",
            r"\r",
            r"\t",
            r"\b",
            r"\f",
            r#"\""#,
            r"\\",
            r"\/",
            r"\u0000",
            r"\u0001",
            r"\u000a",
            r"\u000b",
            r"\u000B",
            r"\u001f",
            r"\u001F",
            r"\u0020",
            r"\u00e9",
            r"\u2028",
            r"\ud83d\ude00",
            "\u{7f}",
        ];
        let mut texts = Vec::new();
        for one in pieces {
            for two in pieces {
                texts.extend(pieces.map(|three| format!("\"{one}{two}{three}\"")));
            }
        }
        texts
    }

    #[test]
    fn a21_a_text_is_taken_as_it_stands_exactly_if_it_would_be_written_so() {
        let mut taken = 0;
        for raw in raw_texts() {
            let text: String = serde_json::from_str(&raw).unwrap();
            let mut written = Vec::new();
            write(&text, &mut written);
            let expected = needs_quotes(&text) && written == raw.as_bytes();
            assert_eq!(is_written_so(raw.as_bytes()), expected, "{raw}");
            taken += u32::from(expected);
        }
        assert!(taken > 1000, "{taken}");
    }
}
