//! Numbers and names in JSON that the program has written.

use std::collections::BTreeSet;

use serde_json::Value;

pub(crate) fn number(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path);
    found
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("{path} is no number in {value:#}"))
}

pub(crate) fn parse(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

pub(crate) fn keys(value: &Value, path: &str) -> BTreeSet<String> {
    let object = value.pointer(path).and_then(Value::as_object);
    object
        .unwrap_or_else(|| panic!("{path} is no object in {value:#}"))
        .keys()
        .cloned()
        .collect()
}

pub(crate) fn assert_has_keys(value: &Value, path: &str, expected: &str) {
    let keys = keys(value, path);
    for name in expected.split_whitespace() {
        assert!(keys.contains(name), "{path}/{name} is not in {value:#}");
    }
}
