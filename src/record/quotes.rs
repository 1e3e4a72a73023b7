//! The text of a key that is written between quotes.
//!
//! *Owns:* what is hashed of such a key. A key that cannot stand in a line as it is (a field of CSV with a comma, a text of
//! JSON with a line end) is compared and written between quotes, as its syntax wants it. Its hash is that of its text:
//! so a stored filter finds a key in whatever syntax it was inserted and is asked about.
//!
//! *Invariants:* a key has quotes only where it cannot stand without. So no two keys of one syntax have the same text.
//!
//! *Cost:* a look at the first byte of each key; a copy of one with quotes.

use std::borrow::Cow;

/// The way in which keys are written that cannot stand as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quotes {
    /// Between quotes, and with two for each that is in the text.
    Csv,
    /// As a JSON string.
    Json,
}

impl Quotes {
    /// Returns the text of a key between quotes; `None` of any other, and of what is none of these keys.
    pub(crate) fn text(self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let quoted = key.strip_prefix(b"\"")?;
        match self {
            Self::Csv => {
                let content = quoted.strip_suffix(b"\"")?;
                if memchr::memchr(b'"', content).is_none() {
                    return Some(Cow::Borrowed(content));
                }
                let mut text = Vec::with_capacity(content.len());
                let mut bytes = content.iter();
                while let Some(&byte) = bytes.next() {
                    text.push(byte);
                    if byte == b'"' && bytes.next() != Some(&b'"') {
                        return None;
                    }
                }
                Some(Cow::Owned(text))
            }
            Self::Json => {
                let text: String = serde_json::from_slice(key).ok()?;
                Some(Cow::Owned(text.into_bytes()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_the_text_of_a_key_is_what_its_quotes_say() {
        for (quotes, key, text) in [
            (Quotes::Csv, r"a,b", None),
            (Quotes::Csv, r#""a,b""#, Some("a,b")),
            (Quotes::Csv, r#""""""#, Some("\"")),
            (Quotes::Csv, r#""""a"" b""#, Some("\"a\" b")),
            (Quotes::Csv, "\"a\nb\"", Some("a\nb")),
            (Quotes::Csv, r#""a" b""#, None),
            (Quotes::Csv, r#"""#, None),
            (Quotes::Csv, "", None),
            (Quotes::Json, r#""a\nb""#, Some("a\nb")),
            (Quotes::Json, r#""\"a""#, Some("\"a")),
            (Quotes::Json, r#""a" b"#, None),
            (Quotes::Json, "[1]", None),
        ] {
            let found = quotes.text(key.as_bytes());
            assert_eq!(found.as_deref(), text.map(str::as_bytes), "{key}");
        }
    }
}
