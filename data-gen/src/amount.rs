//! Numbers as people write them: `20M`, `5e9`, `64KiB`, `10%`.
//!
//! *Owns:* the parsing and printing of counts and shares. *Invariant:* what is printed parses to the
//! same value; a share is an exact number of billionths, so that counts never depend on rounding
//! of floats. *Cost:* none that matters.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const BILLION: u64 = 1_000_000_000;

/// Parses a count: digits with `_`, a decimal point or an exponent, and a unit: `k`, `M`, `G` (or
/// `B`) and `T` are powers of 1000, `Ki`, `Mi` and `Gi` of 1024, each with or without a `B` behind.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_count(text: &str) -> Result<u64, String> {
    let plain = text.trim().replace('_', "");
    if let Ok(count) = plain.parse() {
        return Ok(count);
    }
    let (number, unit) = split_unit(&plain);
    let scale =
        scale_of(unit).ok_or_else(|| format!("`{unit}` is no unit; write 20M, 5e9 or 64Ki"))?;
    if let Ok(count) = number.parse::<u64>() {
        return count
            .checked_mul(scale)
            .ok_or_else(|| format!("{text} is too large"));
    }
    let value = number
        .parse::<f64>()
        .map_err(|_| format!("`{text}` is no number; write 20M, 5e9 or 64Ki"))?;
    let scaled = value * scale as f64;
    // Beyond 2^53 a float would silently be another number than the one written.
    if !(0.0..9e15).contains(&scaled) {
        return Err(format!("{text} is out of range"));
    }
    if (scaled - scaled.round()).abs() > 1e-6 {
        return Err(format!("{text} is not a whole number"));
    }
    Ok(scaled.round() as u64)
}

/// Cuts the text before its unit. An exponent's `e` is followed by a digit, a unit's letter never is.
fn split_unit(text: &str) -> (&str, &str) {
    let at = text
        .trim_end_matches(|c: char| c.is_ascii_alphabetic())
        .len();
    text.split_at(at)
}

fn scale_of(unit: &str) -> Option<u64> {
    let short = unit
        .strip_suffix('B')
        .filter(|rest| !rest.is_empty())
        .unwrap_or(unit);
    Some(match short {
        "" => 1,
        "k" | "K" => 1000,
        "M" => 1_000_000,
        "G" | "B" => BILLION,
        "T" => 1000 * BILLION,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return None,
    })
}

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

    /// Whether it is nothing.
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
            .map_err(|_| format!("`{text}` is no share; write 10% or 0.1"))?;
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
    /// So many.
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
            parse_count(text).map(Self::Count)
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
    fn counts_parse_as_people_write_them() {
        let cases = [
            ("0", 0),
            ("20M", 20_000_000),
            ("5e9", 5_000_000_000),
            ("1.5k", 1500),
            ("1_000", 1000),
            ("64KiB", 65_536),
            ("1MiB", 1 << 20),
            ("2GB", 2 * BILLION),
            ("3B", 3 * BILLION),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, count) in cases {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        for text in [
            "",
            "M",
            "-1",
            "1.5",
            "20X",
            "1e30",
            "99999999T",
            "nan",
            "inf",
        ] {
            assert!(parse_count(text).is_err(), "{text}");
        }
    }

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
