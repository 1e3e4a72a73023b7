//! Sizes and rates as people write them: `64M`, `4GiB`, `1.5 GB`, `50%`, `5e9`, `0.01`.
//!
//! *Owns:* parsing and printing of byte sizes, counts and rates; nothing else parses a number from
//! text. *Invariants:* `K M G T P` and `KiB…` are powers of 1024 (as in `sort`), `KB MB…` powers of
//! 1000; nothing overflows: a size past 2^64 is an error.
//!
//! | text | as a size | as a count | as a rate |
//! |---|---|---|---|
//! | `64` | 64 bytes | 64 | refused, 1 or more |
//! | `64M`, `64MiB` | 64 · 1024² | 64 · 1000² (`64M` only) | refused |
//! | `64MB` | 64 · 1000² | refused | refused |
//! | `5e9` | 5 · 10⁹ bytes | 5 · 10⁹ | refused, 1 or more |
//! | `50%` | half of a base ([`Size::Share`]) | refused | 0.5 |
//!
//! Units may be in lower case, and spaces may stand before a unit and around the whole.

use std::fmt;

/// Why a text is no size, count or rate. The message names the format that is expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not {expected}")]
pub struct ParseSizeError {
    /// The text that was given.
    text: String,
    /// One of the formats below.
    expected: &'static str,
}

// What each parser expects, as its error says it.
const BYTES_FORMAT: &str = "a size: give a number and a unit, such as 64M, 4G, 1.5GiB (powers of \
     1024) or 500MB (powers of 1000)";
const SIZE_FORMAT: &str = "a size: give a number and a unit, such as 64M, 4G, 1.5GiB (powers of 1024), 500MB (powers of 1000) or 50%";
const COUNT_FORMAT: &str =
    "a count: give a whole number, such as 20000000, 5e9, 20M (powers of 1000)";
const RATE_FORMAT: &str = "a rate: give a percentage such as 1%, or a number below 1 such as 0.01";

/// A byte size as written: absolute, or a share of the base that the default is a share of, too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// This number of bytes.
    Bytes(u64),
    /// A share of the base, 0 or more; `100%` is 1.
    Share(f64),
}

impl Size {
    /// Returns the bytes that this size stands for, rounded down, given what `100%` is.
    pub fn of(self, base_bytes: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Share(share) => (share * base_bytes as f64) as u64,
        }
    }
}

impl std::str::FromStr for Size {
    type Err = ParseSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(percent) = text.trim().strip_suffix('%') {
            let share = positive(percent).ok_or_else(|| error(text, SIZE_FORMAT))? / 100.0;
            return Ok(Self::Share(share));
        }
        parse_bytes(text)
            .map(Self::Bytes)
            .map_err(|_| error(text, SIZE_FORMAT))
    }
}

/// Parses a size in bytes.
///
/// # Errors
/// [`ParseSizeError`] with the expected format.
///
/// ```
/// use outset::size::parse_bytes;
/// assert_eq!(parse_bytes("64M")?, 64 << 20);
/// assert_eq!(parse_bytes("1.5GB")?, 1_500_000_000);
/// # Ok::<(), outset::size::ParseSizeError>(())
/// ```
pub fn parse_bytes(text: &str) -> Result<u64, ParseSizeError> {
    let (number, unit) = split_unit(text);
    let bad = || error(text, BYTES_FORMAT);
    let factor = unit_factor(unit).ok_or_else(bad)?;
    scaled(number, factor).ok_or_else(bad)
}

/// Parses a count of lines: plain, with an exponent (`5e9`), or with `K M G T` as powers of 1000. It
/// must come out whole: `1.5M` does, `1.5` does not.
///
/// # Errors
/// [`ParseSizeError`] with the expected format.
pub fn parse_count(text: &str) -> Result<u64, ParseSizeError> {
    let (number, unit) = split_unit(text);
    let bad = || error(text, COUNT_FORMAT);
    let zeros = match unit.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        // `64MB` and `64MiB` are sizes: a count of lines has no binary units.
        _ => return Err(bad()),
    };
    whole(number, zeros).ok_or_else(bad)
}

/// Parses a rate: `0.01` or `1%`; the result is in 0..=1. A number of 1 or more is refused without a per cent sign: who
/// types 1 means 1 %.
///
/// # Errors
/// [`ParseSizeError`] with the expected format.
pub fn parse_rate(text: &str) -> Result<f64, ParseSizeError> {
    let bad = || error(text, RATE_FORMAT);
    let rate = match text.trim().strip_suffix('%') {
        Some(percent) => positive(percent).ok_or_else(bad)? / 100.0,
        None => positive(text).filter(|&rate| rate < 1.0).ok_or_else(bad)?,
    };
    if rate <= 1.0 { Ok(rate) } else { Err(bad()) }
}

/// Prints a size with a binary unit and at most one decimal: `64 MiB`, `1.5 GiB`.
pub fn display_bytes(bytes: u64) -> impl fmt::Display {
    Scaled {
        value: bytes as f64,
        step: 1024.0,
        units: &["B", "KiB", "MiB", "GiB", "TiB", "PiB"],
    }
}

/// Prints two sizes so that a reader can tell them apart: as [`display_bytes`], unless two different ones
/// would then look the same. In that case each that is not a whole number of its unit is printed to the byte.
pub fn display_apart(one: u64, other: u64) -> (String, String) {
    let short = |bytes| display_bytes(bytes).to_string();
    let is_alike = one != other && short(one) == short(other);
    let text = |bytes: u64| {
        // The largest power of 1024 that is not above `bytes`.
        let unit = 1 << (bytes.max(1).ilog2() / 10 * 10);
        if is_alike && !bytes.is_multiple_of(unit) {
            format!("{bytes} bytes")
        } else {
            short(bytes)
        }
    };
    (text(one), text(other))
}

/// Prints a size that is advised, never rounded down: in whole mebibytes below 1 GiB, and in its largest
/// unit from there, with at most one decimal: `26 MiB`, `3.1 GiB`, `521 GiB`.
pub fn display_at_least(bytes: u64) -> impl fmt::Display {
    let mebibytes = bytes.div_ceil(1 << 20);
    // Powers of two, in mebibytes.
    let units = [("PiB", 30), ("TiB", 20), ("GiB", 10)];
    let Some((unit, power)) = units.iter().find(|(_, power)| mebibytes >= 1 << power) else {
        return format!("{mebibytes} MiB");
    };
    let tenths = (mebibytes * 10).div_ceil(1 << power);
    if tenths >= 1000 || tenths.is_multiple_of(10) {
        format!("{} {unit}", tenths.div_ceil(10))
    } else {
        format!("{}.{} {unit}", tenths / 10, tenths % 10)
    }
}

/// Rounds bytes up to whole mebibytes: an advised limit is given in these.
pub(crate) fn round_mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20) << 20
}

/// Prints a rate (0..1) as a percentage, with an exponent where it is tiny: `1.256%`, `3.2e-7%`.
pub fn display_rate(rate: f64) -> impl fmt::Display {
    let percent = rate * 100.0;
    if percent == 0.0 {
        "0%".to_owned()
    } else if percent >= 0.001 {
        format!("{percent:.3}%")
    } else {
        format!("{percent:.1e}%")
    }
}

/// Prints a count with a decimal unit (powers of 1000): `20 M`, `5 G`.
pub fn display_count(count: u64) -> impl fmt::Display {
    Scaled {
        value: count as f64,
        step: 1000.0,
        units: &["", "k", "M", "G", "T", "P"],
    }
}

/// Prints a time in the largest unit that suits it, rounded up: `12 s`, `2 min`, `3.5 h`, `4 days`. Only a
/// time of 0 or less is printed as `0 s`. Whole seconds go up to 99, minutes to 99, hours to 72.
pub fn display_duration(seconds: f64) -> impl fmt::Display {
    let (minutes, hours) = (seconds / 60.0, seconds / 3600.0);
    if seconds <= 99.0 {
        format!("{:.0} s", seconds.max(0.0).ceil())
    } else if minutes <= 99.0 {
        format!("{:.0} min", minutes.ceil())
    } else if hours <= 72.0 {
        format!("{:.1} h", (hours * 10.0).ceil() / 10.0)
    } else {
        format!("{:.0} days", (hours / 24.0).ceil())
    }
}

/// A number to be printed in the largest unit in which it is at least 1.
struct Scaled {
    /// In the first of `units`.
    value: f64,
    /// Each unit is this many of the one before.
    step: f64,
    units: &'static [&'static str],
}

impl fmt::Display for Scaled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut value, mut unit) = (self.value, 0);
        // As it will be printed: with one decimal below 100, else whole. The loop compares this number, so
        // that 1023.97 KiB becomes 1 MiB, and not 1024 KiB.
        let rounded = |value: f64| match value {
            value if value < 100.0 => (value * 10.0).round() / 10.0,
            value => value.round(),
        };
        while rounded(value) >= self.step && unit + 1 < self.units.len() {
            value /= self.step;
            unit += 1;
        }
        let value = rounded(value);
        let decimals = usize::from(unit > 0 && value < 100.0 && value.fract() > 0.0);
        match self.units[unit] {
            "" => write!(f, "{value:.decimals$}"),
            unit => write!(f, "{value:.decimals$} {unit}"),
        }
    }
}

/// Splits `1.5GiB` into `1.5` and `GiB`, without spaces around either; the exponent of `5e9` stays with the
/// number. An `e` without digits after it begins the unit.
fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut end = text.find(|c| !is_number(c)).unwrap_or(text.len());
    if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
        let digits = exponent
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(exponent.len());
        // `5e` or `5exa` has no exponent: what follows the number is a unit, and an unknown one.
        if digits > 0 {
            end += 1 + digits;
        }
    }
    (&text[..end], text[end..].trim_start())
}

/// Returns the bytes of a unit; `None` for one that does not exist. An empty unit is a byte.
fn unit_factor(unit: &str) -> Option<u64> {
    let upper = unit.to_ascii_uppercase();
    let (letter, base) = match upper.as_str() {
        "" | "B" => return Some(1),
        u if u.len() == 1 => (u, 1024u64),
        u if u.ends_with("IB") && u.len() == 3 => (&u[..1], 1024),
        u if u.ends_with('B') && u.len() == 2 => (&u[..1], 1000),
        _ => return None,
    };
    // `?` refuses other letters; the power of the 5 that are left cannot overflow.
    let power = 1 + ["K", "M", "G", "T", "P"]
        .iter()
        .position(|l| *l == letter)?;
    base.checked_pow(power as u32)
}

/// Returns the product, rounded to whole bytes; `None` if it is not a number or past 2^64. A whole number is
/// multiplied as such: a float would lose its low digits beyond 2^53.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let value = positive(number)? * factor as f64;
    (value < u64::MAX as f64).then_some(value.round() as u64)
}

/// Returns `number` times ten to the power of `zeros`, exactly; `None` if that is not whole or past 2^64. Works on the
/// digits as text: the decimal places, without trailing zeros, use up zeros of the power.
fn whole(number: &str, zeros: u32) -> Option<u64> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    // 1.50e3 with 0 zeros: digits 15, one decimal place, 3 zeros: 15 times 10 to the power of 2.
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let after = after.trim_end_matches('0');
    let digits: u64 = format!("{before}{after}").parse().ok()?;
    let shift = exponent.parse::<u32>().ok()?.checked_add(zeros)?;
    let zeros = shift.checked_sub(after.len() as u32)?;
    match digits {
        0 => Some(0),
        _ => digits.checked_mul(10u64.checked_pow(zeros)?),
    }
}

/// Parses a finite number that is 0 or more.
fn positive(text: &str) -> Option<f64> {
    text.trim()
        .parse::<f64>()
        .ok()
        .filter(|v| v.is_finite() && *v >= 0.0)
}

/// Makes the error for `text`, which is not `expected`.
fn error(text: &str, expected: &'static str) -> ParseSizeError {
    ParseSizeError {
        text: text.to_owned(),
        expected,
    }
}

#[cfg(test)]
mod tests;
