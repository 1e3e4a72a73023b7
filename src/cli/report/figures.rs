//! The figures of a page: one JSON document, and how people read what is in it.
//!
//! *Owns:* [`Figures`], where every number of a table is looked up by its JSON pointer, and [`Unit`]. *Invariants:* a
//! table shows what the document has, for it has no other source; no text can end the element that it is in, nor change
//! the direction of what follows. *Cost:* the document in memory, some 100 KiB; 1 MiB with 1,000 rows of a table.

use std::io::{self, Write};

use maud::{Markup, html};
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

use crate::cli::escaping::{is_hidden, visible};
use crate::cli::numbers;

/// The document, or the part of it that tables show.
pub(super) struct Figures(Value);

/// The way in which a figure is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// A size.
    Bytes,
    /// A size per second.
    BytesPerSecond,
    /// A size given in bits.
    Bits,
    /// A number of things.
    Count,
    /// A time.
    Seconds,
    /// A rate in 0..1.
    Rate,
    /// A plain number.
    Plain,
    /// A word or a path.
    Text,
    /// A word for exact or approximate.
    Exactness,
}

/// A text of more characters than this may take several lines.
const LONG_TEXT: usize = 24;

impl Figures {
    pub(super) fn new(document: Value) -> Self {
        Self(document)
    }

    /// Returns the value that `pointer` names; nothing where that is missing or null.
    pub(super) fn get(&self, pointer: &str) -> Option<&Value> {
        self.0.pointer(pointer).filter(|value| !value.is_null())
    }

    /// Counts the elements of the list at `pointer`.
    pub(super) fn count(&self, pointer: &str) -> usize {
        let list = self.get(pointer).and_then(Value::as_array);
        list.map_or(0, Vec::len)
    }

    /// Returns the value that `pointer` names, as people read it.
    pub(super) fn text(&self, pointer: &str, unit: Unit) -> String {
        let text = self.get(pointer).and_then(|value| human(value, unit));
        text.unwrap_or_else(|| "–".to_owned())
    }

    /// Makes a cell that shows the value that `pointer` names, and says where it is from.
    pub(super) fn cell(&self, pointer: &str, unit: Unit) -> Markup {
        let text = self.text(pointer, unit);
        let class = if unit == Unit::Text && text.chars().count() > LONG_TEXT {
            "text long"
        } else {
            unit.class()
        };
        match self.get(pointer) {
            Some(value) => html! {
                td class=(class) data-figure=(pointer) data-value=(embedded(value)) { (text) }
            },
            None => html! { td class=(unit.class()) { (text) } },
        }
    }

    /// Returns the document.
    pub(super) fn document(&self) -> &Value {
        &self.0
    }
}

impl Unit {
    /// Returns the class of a column with this unit.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Text | Self::Exactness => "text",
            _ => "number",
        }
    }
}

/// Writes JSON that can stand in HTML: what could end an element, and what HTML forbids, is escaped.
pub(super) fn embed(value: &impl Serialize, out: impl Write) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, ForHtml))
}

/// Works as [`embed`], into a text.
fn embedded(value: &Value) -> String {
    let mut text = Vec::new();
    // Writing to memory cannot fail, and JSON is text.
    let _cannot_fail = embed(value, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

/// JSON in one line, with escapes in its texts.
struct ForHtml;

impl Formatter for ForHtml {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let is_escaped = |character| matches!(character, '<' | '>' | '&') || is_hidden(character);
        for part in fragment.split_inclusive(is_escaped) {
            let plain = part.trim_end_matches(is_escaped);
            out.write_all(plain.as_bytes())?;
            for character in part[plain.len()..].chars() {
                write!(out, "\\u{:04x}", u32::from(character))?;
            }
        }
        Ok(())
    }
}

fn human(value: &Value, unit: Unit) -> Option<String> {
    Some(match (unit, value) {
        (Unit::Text, Value::String(text)) => visible(text),
        (Unit::Text, Value::Array(texts)) => {
            let texts = texts.iter().filter_map(|text| human(text, Unit::Text));
            texts.collect::<Vec<_>>().join(" ")
        }
        (Unit::Exactness, Value::Bool(true)) => "exact".to_owned(),
        (Unit::Exactness, Value::Bool(false)) => "approximate".to_owned(),
        (Unit::Text | Unit::Exactness, other) => visible(&other.to_string()),
        (Unit::Bytes, _) => numbers::bytes(value.as_f64()? as u64),
        (Unit::BytesPerSecond, _) => format!("{}/s", numbers::bytes(value.as_f64()? as u64)),
        (Unit::Bits, _) => numbers::bytes((value.as_f64()? / 8.0) as u64),
        (Unit::Count, _) => grouped(value.as_f64()?),
        (Unit::Seconds, _) => numbers::duration(value.as_f64()?),
        (Unit::Rate, _) => numbers::share(value.as_f64()?),
        (Unit::Plain, _) => {
            let number = value.as_f64()?;
            format!(
                "{number:.decimals$}",
                decimals = usize::from(number.fract() != 0.0) * 2
            )
        }
    })
}

/// Formats a count, as a whole number with a comma between thousands: `20,000,000`.
pub(super) fn grouped(count: f64) -> String {
    numbers::grouped(count.round() as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_read_like_numbers_of_people() {
        let read = |value: Value, unit| human(&value, unit).unwrap_or_default();
        assert_eq!(read(json!(20_000_000), Unit::Count), "20,000,000");
        assert_eq!(read(json!(999), Unit::Count), "999");
        assert_eq!(read(json!(67_108_864), Unit::Bytes), "64 MiB");
        assert_eq!(read(json!(2048.5), Unit::BytesPerSecond), "2 KiB/s");
        assert_eq!(read(json!(0.0123), Unit::Rate), "1.230%");
        assert_eq!(read(json!(3e-9), Unit::Rate), "3.00e-7%");
        assert_eq!(read(json!(6.875), Unit::Plain), "6.88");
        assert_eq!(read(json!(7), Unit::Plain), "7");
        assert_eq!(read(json!(false), Unit::Exactness), "approximate");
    }

    #[test]
    fn what_is_embedded_is_the_same_json_and_cannot_end_its_element() {
        let value = json!({ "path": "</script><!--&\u{7f}\u{85}\u{2028}\u{0}\u{1b}" });
        let text = embedded(&value);
        assert!(
            text.is_ascii() && !text.contains(['<', '>', '&', '\u{7f}']),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(value));
    }
}
