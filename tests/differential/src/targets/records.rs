//! The keys of records against a loop over bytes, and against a tree of values.

use outset::{Dialect, Field, Keys, Syntax, internals};

/// The first two bytes say how the record is read, the others are the record.
///
/// # Panics
/// Where the key is another one.
pub fn records(data: &[u8]) {
    let Some((&[rules, choice], record)) = data.split_first_chunk() else {
        return;
    };
    let delimiter = [b',', b';', b'\t', b'x'][usize::from(rules >> 1 & 3)];
    let escape = (rules & 16 != 0).then_some(b'\\');
    let numbers: Vec<usize> = match rules & 8 {
        0 => vec![usize::from(choice % 4)],
        _ => vec![usize::from(choice % 4), usize::from(choice % 3 + 4)],
    };
    let syntax = match rules & 1 {
        0 => Syntax::Csv(Dialect { delimiter, escape }),
        _ => Syntax::Delimited(delimiter),
    };
    let number = |&choice: &usize| Field::Number(choice as u32 + 1);
    let keys = Keys {
        syntax,
        fields: numbers.iter().map(number).collect(),
        ..Keys::default()
    };
    let fields = match syntax {
        Syntax::Csv(_) => fields(record, delimiter, escape),
        _ => {
            let fields = record.split(|&byte| byte == delimiter);
            Some(fields.map(<[u8]>::to_vec).collect())
        }
    };
    let key = fields.and_then(|fields| {
        let wanted = numbers.iter().map(|&choice| fields.get(choice));
        let fields: Option<Vec<&Vec<u8>>> = wanted.collect();
        let write = |field: &&Vec<u8>| match syntax {
            // A line without a byte is no record.
            Syntax::Csv(_) if field.is_empty() && numbers.len() == 1 => b"\"\"".to_vec(),
            Syntax::Csv(_) => written(field, delimiter),
            _ => (*field).clone(),
        };
        let fields: Vec<Vec<u8>> = fields?.iter().map(write).collect();
        Some(fields.join(&delimiter))
    });
    assert_eq!(internals::key_of(&keys, record), key, "{keys:?}");
    object(record);
}

/// The fields of a record of CSV; `None` where one is damaged.
fn fields(record: &[u8], delimiter: u8, escape: Option<u8>) -> Option<Vec<Vec<u8>>> {
    let mut rest = record
        .strip_suffix(b"\r")
        .unwrap_or(record)
        .iter()
        .copied()
        .peekable();
    let mut fields = Vec::new();
    loop {
        let mut field = Vec::new();
        let is_quoted = rest.next_if_eq(&b'"').is_some();
        let end = loop {
            match rest.next() {
                Some(b'"') if is_quoted && rest.next_if_eq(&b'"').is_some() => field.push(b'"'),
                Some(b'"') if is_quoted => break rest.next(),
                Some(byte) if Some(byte) == escape => match rest.next() {
                    Some(byte) => field.push(byte),
                    None if is_quoted => return None,
                    None => break None,
                },
                None if is_quoted => return None,
                end if !is_quoted && (end.is_none() || end == Some(delimiter)) => break end,
                Some(byte) => field.push(byte),
                None => return None,
            }
        };
        fields.push(field);
        match end {
            None => return Some(fields),
            Some(byte) if byte == delimiter => {}
            Some(_) => return None,
        }
    }
}

/// A field of CSV, in quotes where it needs them.
fn written(field: &[u8], delimiter: u8) -> Vec<u8> {
    let needs = |byte: &u8| [b'"', b'\n', b'\r', delimiter].contains(byte);
    if !field.iter().any(needs) {
        return field.to_vec();
    }
    let doubled = field.iter().flat_map(|&byte| match byte {
        b'"' => vec![b'"', b'"'],
        byte => vec![byte],
    });
    [b'"'].into_iter().chain(doubled).chain([b'"']).collect()
}

/// Checks the same bytes as an object, with a tree of all its values. Where a name comes twice, the last one counts.
fn object(record: &[u8]) {
    let keys = Keys {
        syntax: Syntax::JsonLines,
        fields: vec![Field::Name("a.b".into())],
        ..Keys::default()
    };
    let found = internals::key_of(&keys, record);
    let tree: Option<serde_json::Value> = serde_json::from_slice(record).ok();
    let Some(value) = tree.filter(serde_json::Value::is_object) else {
        return;
    };
    match &value["a"]["b"] {
        serde_json::Value::String(text) => {
            let is_plain = !text.starts_with('"') && !text.contains(['\n', '\r', '\0']);
            let expected = if is_plain {
                text.clone()
            } else {
                serde_json::Value::String(text.clone()).to_string()
            };
            assert_eq!(found, Some(expected.into_bytes()));
        }
        serde_json::Value::Number(_) | serde_json::Value::Bool(_) => assert!(found.is_some()),
        _ => assert_eq!(found, None),
    }
}
