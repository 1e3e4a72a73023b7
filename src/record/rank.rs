//! The rank of a record: a number in one of its fields, by which one of the records with the same key is kept.
//!
//! *Owns:* [`Ranking`], what a caller asks for, and the ranks that it gives, which compare as the numbers do.
//! *Invariants:* of two records the one with the smaller rank is kept; one without a number comes after all that have
//! one. *Cost:* parsing one number for each record and reading.
//!
//! ```text
//! rank   │ the nearest double, so that larger numbers have larger bits: 64 │ a whole number less that double: 64 │
//! ```
//!
//! Whole numbers of 20 digits are told apart, as of times in nanoseconds; fractions are as far as doubles tell them
//! apart.

use crate::record::Field;

/// The number by which one of the records with the same key is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ranking {
    /// The record with the smallest number in this field is kept.
    Least(Field),
    /// The record with the largest.
    Greatest(Field),
}

impl Ranking {
    /// Returns the field that has the number.
    pub fn field(&self) -> &Field {
        match self {
            Self::Least(field) | Self::Greatest(field) => field,
        }
    }

    /// Ranks a record whose field has this text, trimmed; `None` if it is no number.
    pub(super) fn of_text(&self, text: &[u8]) -> Option<u128> {
        let text = text.trim_ascii();
        if text.is_empty() {
            return Some(NO_NUMBER);
        }
        let rank = rank(std::str::from_utf8(text).ok()?)?;
        Some(match self {
            Self::Least(_) => rank,
            Self::Greatest(_) => !rank,
        })
    }
}

/// The rank of a record without a number, which comes last.
pub(crate) const NO_NUMBER: u128 = u128::MAX;

/// Returns a number that compares as the one in `text` does; `None` if that has none: no word is a number.
fn rank(text: &str) -> Option<u128> {
    let is_of_number = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    if !text.bytes().all(is_of_number) {
        return None;
    }
    // Of the two zeros one is enough.
    let double = text.parse::<f64>().ok()? + 0.0;
    let whole: Option<i128> = text.parse().ok();
    // A double has 53 bits of its number, so what is left of 127 is less than 2^74; times do not come near that.
    let rest = whole.map_or(0, |whole| whole.saturating_sub(double as i128));
    let rest = rest.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    let bits = double.to_bits();
    let bits = if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    };
    Some(u128::from(bits) << 64 | u128::from(rest.cast_unsigned() ^ 1 << 63))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a21_ranks_compare_as_numbers_do() {
        let ascending = [
            "-1e999",
            "-12345678901234567891",
            "-12345678901234567890",
            "-10",
            "-9.5",
            "-1e-3",
            "0",
            "1e-300",
            "2",
            "10",
            "10.25",
            "1.1e1",
            "9007199254740992",
            "9007199254740993",
            "1700000000000000001",
            "1700000000000000002",
            "1e30",
            "1e999",
        ];
        let (field, mut all) = (Field::Number(1), Vec::new());
        let (least, greatest) = (Ranking::Least(field.clone()), Ranking::Greatest(field));
        for text in ascending {
            let of = |ranking: &Ranking| ranking.of_text(text.as_bytes()).unwrap();
            all.push((of(&least), of(&greatest)));
            assert!(
                of(&least) < NO_NUMBER && of(&greatest) < NO_NUMBER,
                "{text}"
            );
        }
        assert!(
            all.is_sorted_by(|one, next| one.0 < next.0 && one.1 > next.1),
            "{all:?}"
        );
        for (one, other) in [("7", " +7.0\t"), ("0", "-0.0"), ("1e2", "100")] {
            let of = |text: &str| least.of_text(text.as_bytes());
            assert_eq!(of(one), of(other), "{one}");
        }
        assert_eq!(greatest.of_text(b"  "), Some(NO_NUMBER));
        for wrong in [
            "nan",
            "inf",
            "2024-01-02",
            "1,5",
            "0x10",
            "-",
            "e",
            "1_000",
            "\u{ff11}",
        ] {
            assert_eq!(least.of_text(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
