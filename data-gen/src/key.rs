//! The known key of the hash.
//!
//! *Owns:* its form as text. *Invariant:* what is printed parses to the same key.

use std::fmt;
use std::str::FromStr;

use outset::hash::HashKey;
use serde::{Deserialize, Serialize};

/// The key of the hash. As text: 64 hexadecimal digits, each word with its highest digit first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Key(pub [u64; 4]);

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(HashKey::Fixed(key)) => Ok(Self(key)),
            _ => Err(format!("'{text}' is not a key: give 64 hexadecimal digits")),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|word| write!(f, "{word:016x}"))
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for Key {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_print_what_they_parse() {
        let text = "0000000000000001000000000000000a000000000000000fffffffffffffffff";
        let key = Key([1, 10, 15, u64::MAX]);
        assert_eq!(text.parse(), Ok(key));
        assert_eq!(key.to_string(), text);
        assert!("12".parse::<Key>().is_err());
    }
}
