//! The text of a key that is written between quotes.
//!
//! *Owns:* what is hashed of such a key where a stored filter is built or asked. A key that cannot stand in a line as
//! it is (a field of CSV with a comma, a text of JSON with a line end) is compared and written between quotes, as its
//! syntax wants it. Its text is the same in any syntax, so a filter finds it whatever it was inserted from.
//!
//! *Invariants:* a key has quotes only where it cannot stand without. So no two keys of one syntax have the same text.
//!
//! *Cost:* a search in a key that has quotes; no memory, however long it is.

/// The way in which keys are written that cannot stand as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quotes {
    /// Quotes around the text, and two for each that is in it.
    Csv,
    /// A JSON string, which has escapes only where it must.
    Json,
}

impl Quotes {
    /// Hands the text of a key that is written between quotes to `each`, piece by piece. Returns false for what is no
    /// such key; `each` may have got a part of it then.
    pub(crate) fn text(self, key: &[u8], mut each: impl FnMut(&[u8])) -> bool {
        let quoted = key.strip_prefix(b"\"");
        let Some(mut rest) = quoted.and_then(|key| key.strip_suffix(b"\"")) else {
            return false;
        };
        let mark = match self {
            Self::Csv => b'"',
            Self::Json => b'\\',
        };
        while let Some(at) = memchr::memchr(mark, rest) {
            let (before, behind) = (&rest[..at], &rest[at + 1..]);
            let Some((byte, taken)) = self.escaped(behind) else {
                return false;
            };
            each(before);
            each(&[byte]);
            rest = &behind[taken..];
        }
        each(rest);
        true
    }

    /// Returns the byte that an escape stands for, of which `rest` comes behind its first byte, and how many bytes of
    /// `rest` belong to it; `None` for what no key has.
    fn escaped(self, rest: &[u8]) -> Option<(u8, usize)> {
        let &first = rest.first()?;
        let byte = match (self, first) {
            (_, b'"') | (Self::Json, b'\\') => first,
            (Self::Json, b'b') => b'\x08',
            (Self::Json, b'f') => b'\x0c',
            (Self::Json, b'n') => b'\n',
            (Self::Json, b'r') => b'\r',
            (Self::Json, b't') => b'\t',
            // Other control characters.
            (Self::Json, b'u') => {
                let digits = std::str::from_utf8(rest.get(1..5)?).ok()?;
                let code = u32::from_str_radix(digits, 16).ok()?;
                return Some((u8::try_from(code).ok().filter(u8::is_ascii)?, 5));
            }
            _ => return None,
        };
        Some((byte, 1))
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
            (Quotes::Csv, r#""""#, Some("")),
            (Quotes::Csv, r#""""""#, Some("\"")),
            (Quotes::Csv, r#""""a"" b""#, Some("\"a\" b")),
            (Quotes::Csv, "\"a\nb\\\"", Some("a\nb\\")),
            (Quotes::Csv, r#""a" b""#, None),
            (Quotes::Csv, r#"""#, None),
            (Quotes::Csv, "", None),
            (Quotes::Json, r#""\"a""#, Some("\"a")),
            (Quotes::Json, r#""a" b"#, None),
            (Quotes::Json, r#""a\""#, None),
            (Quotes::Json, r#""\u00e9""#, None),
            (Quotes::Json, "[1]", None),
        ] {
            let mut found = Vec::new();
            let is_quoted = quotes.text(key.as_bytes(), |piece| found.extend_from_slice(piece));
            let found = is_quoted.then_some(&found[..]);
            assert_eq!(found, text.map(str::as_bytes), "{key}");
        }
    }

    #[test]
    fn i17_the_text_of_a_json_string_is_what_was_written() {
        let controls: String = (0..0x80_u8).map(char::from).collect();
        for text in ["", "\n", "a\u{e9}\n\"\\/", &controls] {
            let key = serde_json::Value::from(text).to_string();
            let mut found = Vec::new();
            assert!(Quotes::Json.text(key.as_bytes(), |piece| found.extend_from_slice(piece)));
            assert_eq!(found, text.as_bytes(), "{key}");
        }
    }
}
