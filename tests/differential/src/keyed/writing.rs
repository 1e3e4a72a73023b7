//! Records as text.
//!
//! *Owns:* how fields are quoted in each syntax. *Invariants:* written by hand, not with the code under test. *Cost:* a
//! copy.

use outset::Syntax;

use super::record::NAMES;
use crate::choices::Choices;

/// A record with these values, in this order of columns.
pub(super) fn record(
    choices: &mut Choices<'_>,
    syntax: Syntax,
    order: &[usize],
    values: &[String],
) -> Vec<u8> {
    match syntax {
        Syntax::Csv(dialect) => {
            let delimiter = char::from(dialect.delimiter);
            let field = |&name: &usize| {
                let value = &values[name];
                // A quote within a field is text, unless the field begins with it.
                let has_quote =
                    value.starts_with('"') || (value.contains('"') && choices.one_in(2));
                let needs = has_quote || value.contains(['\n', '\r', delimiter]);
                if needs || choices.one_in(3) {
                    format!("\"{}\"", value.replace('"', "\"\""))
                } else {
                    value.clone()
                }
            };
            let fields: Vec<String> = order.iter().map(field).collect();
            let end = if choices.one_in(5) { "\r" } else { "" };
            (fields.join(&delimiter.to_string()) + end).into_bytes()
        }
        Syntax::JsonLines => {
            let field = |&name: &usize| {
                let (name, value) = (NAMES[name], &values[name]);
                let mut value = serde_json::to_string(value).unwrap();
                if choices.one_in(4) {
                    value = value.replace('p', "\\u0070");
                }
                format!("{}: {value}", serde_json::to_string(name).unwrap())
            };
            let fields: Vec<String> = order.iter().map(field).collect();
            format!("{{{}}}", fields.join(", ")).into_bytes()
        }
        _ => {
            let fields: Vec<&str> = order.iter().map(|&name| &values[name][..]).collect();
            fields.join(between(syntax)).into_bytes()
        }
    }
}

/// Returns the text between fields without quotes.
fn between(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::Delimited(b'k') => "k",
        _ => "\t",
    }
}

/// A row of a Parquet file with these values as a record: the fields of the key alone.
pub(super) fn row(syntax: Syntax, wanted: &[usize], values: &[String]) -> Vec<u8> {
    let fields = wanted.iter().map(|&name| &values[name]);
    match syntax {
        Syntax::Csv(dialect) => {
            let delimiter = char::from(dialect.delimiter);
            let field = |value: &String| match value {
                // A line without a byte is no record.
                value if value.is_empty() && wanted.len() == 1 => "\"\"".to_owned(),
                value if value.contains(['"', '\n', '\r', delimiter]) => {
                    format!("\"{}\"", value.replace('"', "\"\""))
                }
                value => value.clone(),
            };
            let fields: Vec<String> = fields.map(field).collect();
            fields.join(&delimiter.to_string()).into_bytes()
        }
        Syntax::JsonLines => {
            let text = |value: &str| serde_json::to_string(value).unwrap();
            let names = wanted.iter().map(|&name| text(NAMES[name]));
            let fields: Vec<String> = names
                .zip(fields)
                .map(|(name, value)| format!("{name}:{}", text(value)))
                .collect();
            format!("{{{}}}", fields.join(",")).into_bytes()
        }
        _ => {
            let fields: Vec<&str> = fields.map(String::as_str).collect();
            fields.join(between(syntax)).into_bytes()
        }
    }
}

/// Writes a key alone.
pub(super) fn key(syntax: Syntax, key: &[String]) -> Vec<u8> {
    let quoted = |field: &String, delimiter: char| match field {
        // A line without a byte is no record.
        field if field.is_empty() && key.len() == 1 => "\"\"".to_owned(),
        field if field.contains(['"', '\n', '\r', delimiter]) => {
            format!("\"{}\"", field.replace('"', "\"\""))
        }
        field => field.clone(),
    };
    let text = match syntax {
        Syntax::Csv(dialect) => {
            let delimiter = char::from(dialect.delimiter);
            let fields: Vec<String> = key.iter().map(|field| quoted(field, delimiter)).collect();
            fields.join(&delimiter.to_string())
        }
        // The capital of a delimiter stays one, even if case is ignored.
        Syntax::Delimited(delimiter) if key.len() > 1 => {
            let delimiter = char::from(delimiter);
            let capital = delimiter.to_ascii_uppercase().to_string();
            let fields: Vec<String> = key
                .iter()
                .map(|field| field.replace(delimiter, &capital))
                .collect();
            fields.join(&delimiter.to_string())
        }
        Syntax::JsonLines if key.len() > 1 => serde_json::to_string(key).unwrap(),
        Syntax::JsonLines if key[0].contains('\n') || key[0].starts_with('"') => {
            serde_json::to_string(&key[0]).unwrap()
        }
        _ => key[0].clone(),
    };
    text.into_bytes()
}
