//! Amounts: a count such as `20M`, or a share such as `10%`.
//!
//! *Owns:* the parsing and printing of shares; a count is parsed by [`outset::size`]. *Invariant:* what is printed
//! parses to the same value; a share is an exact number of billionths, so that counts never depend on rounding of
//! floats.

use std::fmt;
use std::str::FromStr;

use outset::size::parse_count;
use serde::{Deserialize, Serialize};

const BILLION: u64 = 1_000_000_000;

/// A part of a whole, in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Share(u64);

impl Share {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// A share of `percent` hundredths, 100 at most.
    pub const fn percent(percent: u64) -> Self {
        let percent = if percent > 100 { 100 } else { percent };
        Self(percent * (BILLION / 100))
    }

    /// This share of `whole`, rounded down.
    pub fn of(self, whole: u64) -> u64 {
        (u128::from(whole) * u128::from(self.0) / u128::from(BILLION)) as u64
    }

    /// The word below which a uniform word falls with this probability.
    pub(crate) fn threshold(self) -> u64 {
        self.of(u64::MAX)
    }

    /// Tells whether it is nothing.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, scale) = match text.trim().strip_suffix('%') {
            Some(number) => (number, BILLION as f64 / 100.0),
            None => (text.trim(), BILLION as f64),
        };
        let value: f64 = number
            .parse()
            .map_err(|_| format!("`{text}` is not a share; write 10% or 0.1"))?;
        let parts = (value * scale).round();
        if !(0.0..=BILLION as f64).contains(&parts) {
            return Err(format!("{text} is not between 0 and 100%"));
        }
        Ok(Self(parts as u64))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / (BILLION / 100), self.0 % (BILLION / 100));
        if rest == 0 {
            return write!(f, "{whole}%");
        }
        let rest = format!("{rest:07}");
        write!(f, "{whole}.{}%", rest.trim_end_matches('0'))
    }
}

impl From<Share> for String {
    fn from(share: Share) -> Self {
        share.to_string()
    }
}

impl TryFrom<String> for Share {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// A share of a whole (`10%`) or a number of things (`2M`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Amount {
    /// A part of the whole.
    Share(Share),
    /// A number of things.
    Count(u64),
}

impl Amount {
    /// The amount of `whole`; a count is itself, even where it is more than the whole.
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Self::Share(share) => share.of(whole),
            Self::Count(count) => count,
        }
    }
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().ends_with('%') {
            text.parse().map(Self::Share)
        } else {
            let count = parse_count(text).map_err(|error| error.to_string())?;
            Ok(Self::Count(count))
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => share.fmt(f),
            Self::Count(count) => count.fmt(f),
        }
    }
}

impl From<Amount> for String {
    fn from(amount: Amount) -> Self {
        amount.to_string()
    }
}

impl TryFrom<String> for Amount {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_amounts_print_what_they_parse() {
        for text in ["0%", "10%", "100%", "0.1%", "33.3333333%", "99.99%"] {
            assert_eq!(
                text.parse::<Share>()
                    .map(|share| share.to_string())
                    .as_deref(),
                Ok(text)
            );
            assert_eq!(
                text.parse::<Amount>()
                    .map(|amount| amount.to_string())
                    .as_deref(),
                Ok(text)
            );
        }
        assert_eq!("0.1".parse(), Ok(Share::percent(10)));
        assert_eq!("2k".parse(), Ok(Amount::Count(2000)));
        assert!("101%".parse::<Share>().is_err());
        assert_eq!(Share::percent(30).of(10), 3);
    }
}
