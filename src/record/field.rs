//! A field of a record, as a caller names it.
//!
//! *Owns:* how numbers and names are written on a command line, and the way into objects that a name stands for.
//! *Invariants:* every name can be written: [`Field::written`] is read back as the same name. *Cost:* none that
//! matters.
//!
//! ```text
//!  2           the second field
//!  url         the field called url
//!  name:2      the field called 2
//!  "a,b"       the field called a,b; a quote in it is doubled
//!  a.b         in objects: the field called a.b, or else field b of object a
//!  a\.b        in objects: the field called a.b
//! ```

use std::fmt;
use std::str::FromStr;

/// The prefix of a name that would be taken for a number.
const NAME: &str = "name:";

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// By its number, from 1.
    Number(u32),
    /// By its name: in the header, or in a JSON object, where dots lead into objects in it. A dot after a backslash
    /// belongs to the name.
    Name(String),
}

impl Field {
    /// Reads fields with commas between them. A comma between double quotes belongs to a name.
    ///
    /// ```
    /// use outset::Field;
    /// let fields = Field::list(r#"2,url,name:2021,"last, first""#)?;
    /// let name = |name: &str| Field::Name(name.to_owned());
    /// assert_eq!(fields, [Field::Number(2), name("url"), name("2021"), name("last, first")]);
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// The message about the first that is no field.
    pub fn list(text: &str) -> Result<Vec<Self>, String> {
        let (mut fields, mut rest) = (Vec::new(), text);
        loop {
            // A quote that is never closed is said by the field.
            let quoted = closing_quote(rest).map_or(0, |quote| quote + 1);
            let end = rest[quoted..].find(',').map(|comma| quoted + comma);
            fields.push(rest[..end.unwrap_or(rest.len())].parse()?);
            match end {
                Some(end) => rest = &rest[end + 1..],
                None => return Ok(fields),
            }
        }
    }

    /// Writes a field with this name as it stands in a list of fields.
    pub(crate) fn written(name: &str) -> String {
        let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        // Blanks at its ends would not be seen.
        let needs_quotes = name.is_empty() || name.trim() != name || name.contains(',');
        let is_taken = name.starts_with(NAME) || name.starts_with('"');
        if is_number {
            format!("{NAME}{name}")
        } else if needs_quotes || is_taken {
            format!("\"{}\"", name.replace('"', "\"\""))
        } else {
            name.to_owned()
        }
    }

    /// Splits it into the names that lead to it in objects.
    pub(crate) fn path(&self) -> Vec<String> {
        let text = self.to_string();
        // No dot is lost: each either parts two names or belongs to one.
        let mut names = vec![String::new()];
        for piece in text.split_inclusive('.') {
            let Some(last) = names.last_mut() else { break };
            if let Some(name) = piece.strip_suffix("\\.") {
                last.push_str(name);
                last.push('.');
            } else if let Some(name) = piece.strip_suffix('.') {
                last.push_str(name);
                names.push(String::new());
            } else {
                last.push_str(piece);
            }
        }
        names
    }

    /// Its name, where dots have no meaning.
    pub(crate) fn plain_name(&self) -> String {
        self.path().join(".")
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl FromStr for Field {
    type Err = String;

    /// Reads a number from 1, or else a name: in double quotes, after `name:` where it is a number, or as it is.
    fn from_str(text: &str) -> Result<Self, String> {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if text.starts_with('"') {
            return match closing_quote(text) {
                Some(quote) if quote + 1 == text.len() => {
                    Ok(Self::Name(text[1..quote].replace("\"\"", "\"")))
                }
                Some(_) => Err("nothing may follow the closing quote of a name".into()),
                None => Err("close the quote around the name".into()),
            };
        }
        if let Some(name) = text.strip_prefix(NAME)
            && !name.is_empty()
            && is_number(name)
        {
            return Ok(Self::Name(name.to_owned()));
        }
        match text.parse() {
            _ if text.is_empty() => Err("give the number or the name of a field".into()),
            // Such as +1, which would be read as a number.
            _ if !is_number(text) => Ok(Self::Name(text.to_owned())),
            Ok(0) => Err("fields are numbered from 1".into()),
            Ok(number) => Ok(Self::Number(number)),
            Err(_) => Err("the number of the field is too large".into()),
        }
    }
}

/// Finds the quote that closes the one at the start of `text`; `None` if there is none at the start, or none
/// that closes it.
fn closing_quote(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut quote = 0;
    if bytes.first() != Some(&b'"') {
        return None;
    }
    loop {
        quote += 1 + memchr::memchr(b'"', bytes.get(quote + 1..)?)?;
        if bytes.get(quote + 1) != Some(&b'"') {
            return Some(quote);
        }
        quote += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Field {
        Field::Name(name.to_owned())
    }

    #[test]
    fn a21_fields_are_numbers_or_names() {
        for (text, expected) in [
            ("7", Field::Number(7)),
            ("a7", name("a7")),
            ("name:2021", name("2021")),
            ("name:0", name("0")),
            ("name:en", name("name:en")),
            ("name:", name("name:")),
            ("+1", name("+1")),
            ("\"7\"", name("7")),
            ("\"a,\"\"b\"\"\"", name("a,\"b\"")),
            ("\"\"", name("")),
            ("a\"b", name("a\"b")),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for wrong in ["", "0", "4294967296", "\"", "\"a", "\"a\"b", "\"\"\""] {
            assert!(wrong.parse::<Field>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a21_commas_between_quotes_belong_to_names() {
        let list = |text| Field::list(text).ok();
        assert_eq!(list("1,b"), Some(vec![Field::Number(1), name("b")]));
        assert_eq!(list("\"a,b\""), Some(vec![name("a,b")]));
        assert_eq!(
            list("x,\"a,\"\",b\",c"),
            Some(vec![name("x"), name("a,\",b"), name("c")])
        );
        for wrong in ["", ",", "a,", "a,,b", "\"a,b", "\"a\"b,c"] {
            assert_eq!(list(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a21_every_name_can_be_written_in_a_list() {
        for text in [
            "a", "2021", "+1", "name:5", "name:x", "a,b", "\"", "\"a\"", "", " b", "a.b", "0",
        ] {
            let list = format!("{},z", Field::written(text));
            assert_eq!(
                Field::list(&list),
                Ok(vec![name(text), name("z")]),
                "{list}"
            );
        }
    }

    #[test]
    fn a21_dots_lead_into_objects_but_for_those_behind_a_backslash() {
        for (text, path) in [
            ("a", &["a"][..]),
            ("a.b", &["a", "b"]),
            ("id\\.orig_h", &["id.orig_h"]),
            ("a.b\\.c.d", &["a", "b.c", "d"]),
            ("a\\b", &["a\\b"]),
            (".a.", &["", "a", ""]),
            ("\\.", &["."]),
        ] {
            assert_eq!(name(text).path(), path, "{text}");
        }
    }
}
