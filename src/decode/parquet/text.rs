//! The text of values.
//!
//! *Owns:* the text of a value of each type: text and binary as their bytes, integers in decimal, a UUID in its usual
//! form, floating-point numbers with the fewest digits that tell them from others, decimals with the digits of their
//! scale, dates and times as in ISO 8601. *Invariants:* equal values of one type have one text, and different ones have
//! different texts, except 0 and -0, and all that are not a number. *Cost:* a few divisions a value.
//!
//! *Sources:* LogicalTypes.md of Parquet's format; the calendar is that of Howard Hinnant, "chrono-Compatible Low-Level
//! Date Algorithms".

use std::fmt::Display;
use std::io::Write;

use ::parquet::basic::{
    ConvertedType as Converted, IntType, LogicalType, TimeUnit, TimestampType, Type,
};
use ::parquet::data_type::{AsBytes, ByteArray, FixedLenByteArray, Int96};
use ::parquet::schema::types::ColumnDescriptor;

/// The most digits of a decimal that is a key.
const MOST_DIGITS: i32 = 38;
/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;
/// Seconds of a day.
const DAY: i64 = 86_400;

/// The form in which the values of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextForm {
    /// Their bytes.
    Bytes,
    Uuid,
    Signed,
    Unsigned,
    Float,
    /// A number with this many digits after the point.
    Decimal(u32),
    Date,
    /// A number of units, of which a second has this many.
    Time(i64),
    /// A number of units, of which a second has this many; true if it is in UTC, or else in no time zone.
    Timestamp(i64, bool),
}

impl TextForm {
    /// Returns the form of this column; `None` if it cannot be a key.
    pub(super) fn of(column: &ColumnDescriptor) -> Option<Self> {
        let old = column.converted_type();
        let decimal = |scale: i32, precision: i32| {
            let is_usual = (0..=MOST_DIGITS).contains(&scale) && precision <= MOST_DIGITS;
            is_usual.then_some(Self::Decimal(scale.unsigned_abs()))
        };
        match (column.logical_type_ref(), column.physical_type()) {
            (_, Type::FIXED_LEN_BYTE_ARRAY) if column.type_length() < 1 => None,
            (_, Type::FLOAT | Type::DOUBLE) => Some(Self::Float),
            (_, Type::INT96) => Some(Self::Timestamp(SECOND, true)),
            (Some(LogicalType::Decimal(of)), _) => decimal(of.scale, of.precision),
            (None, _) if old == Converted::DECIMAL => {
                decimal(column.type_scale(), column.type_precision())
            }
            // In a column of the second kind all values are NULL.
            (_, Type::BYTE_ARRAY) | (Some(LogicalType::Unknown), Type::FIXED_LEN_BYTE_ARRAY) => {
                Some(Self::Bytes)
            }
            (Some(LogicalType::Uuid), Type::FIXED_LEN_BYTE_ARRAY) => Some(Self::Uuid),
            (None, Type::FIXED_LEN_BYTE_ARRAY) if old == Converted::NONE => Some(Self::Bytes),
            (Some(logical), Type::INT32 | Type::INT64) => Self::of_logical(logical),
            (None, Type::INT32 | Type::INT64) => Self::of_old(old),
            _ => None,
        }
    }

    /// Returns the form of integers with this logical type.
    fn of_logical(logical: &LogicalType) -> Option<Self> {
        Some(match logical {
            LogicalType::Integer(IntType { is_signed, .. }) if !is_signed => Self::Unsigned,
            // Of the last, all values are NULL.
            LogicalType::Integer(_) | LogicalType::Unknown => Self::Signed,
            LogicalType::Date => Self::Date,
            LogicalType::Time(of) => Self::Time(in_a_second(of.unit)),
            LogicalType::Timestamp(TimestampType {
                is_adjusted_to_u_t_c,
                unit,
            }) => Self::Timestamp(in_a_second(*unit), *is_adjusted_to_u_t_c),
            _ => return None,
        })
    }

    /// Returns the form of integers that have an old type alone.
    fn of_old(old: Converted) -> Option<Self> {
        Some(match old {
            Converted::UINT_8 | Converted::UINT_16 | Converted::UINT_32 | Converted::UINT_64 => {
                Self::Unsigned
            }
            Converted::NONE
            | Converted::INT_8
            | Converted::INT_16
            | Converted::INT_32
            | Converted::INT_64 => Self::Signed,
            Converted::DATE => Self::Date,
            Converted::TIME_MILLIS => Self::Time(1000),
            Converted::TIME_MICROS => Self::Time(1_000_000),
            Converted::TIMESTAMP_MILLIS => Self::Timestamp(1000, true),
            Converted::TIMESTAMP_MICROS => Self::Timestamp(1_000_000, true),
            _ => return None,
        })
    }

    /// Returns true if `text`, a value in this form, is a number in JSON.
    pub(super) fn is_number(self, text: &[u8]) -> bool {
        match self {
            Self::Signed | Self::Unsigned | Self::Decimal(_) => true,
            // Infinity and what is not a number are none.
            Self::Float => text.last().is_some_and(u8::is_ascii_digit),
            _ => false,
        }
    }
}

/// Names the type of a column for messages.
pub(super) fn type_name(column: &ColumnDescriptor) -> String {
    let physical = || column.physical_type().to_string().to_lowercase();
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(logical), _) => {
            let name = format!("{logical:?}");
            let word = name.split(|c: char| !c.is_alphanumeric()).next();
            word.unwrap_or_default().to_lowercase()
        }
        (None, Converted::NONE) => physical(),
        (None, old) => old.to_string().to_lowercase(),
    }
}

fn in_a_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::MILLIS => 1000,
        TimeUnit::MICROS => 1_000_000,
        TimeUnit::NANOS => SECOND,
    }
}

/// A value that can be written as text.
pub(super) trait Written {
    /// Its text, put together in `scratch`, which is empty, if it is not there as it is.
    fn text<'v>(&'v self, form: TextForm, scratch: &'v mut Vec<u8>) -> &'v [u8];
}

impl Written for i32 {
    fn text<'v>(&'v self, form: TextForm, scratch: &'v mut Vec<u8>) -> &'v [u8] {
        match form {
            TextForm::Unsigned => written(*self as u32, scratch),
            _ => i64::from(*self).text_in(form, scratch),
        }
    }
}

impl Written for i64 {
    fn text<'v>(&'v self, form: TextForm, scratch: &'v mut Vec<u8>) -> &'v [u8] {
        self.text_in(form, scratch)
    }
}

/// Integers, which stand for several types.
trait Integer {
    fn text_in(self, form: TextForm, scratch: &mut Vec<u8>) -> &[u8];
}

impl Integer for i64 {
    #[inline]
    fn text_in(self, form: TextForm, scratch: &mut Vec<u8>) -> &[u8] {
        match form {
            TextForm::Unsigned => written(self as u64, scratch),
            TextForm::Decimal(scale) => decimal(self.into(), scale, scratch),
            TextForm::Date => date(self, scratch),
            TextForm::Time(units) => {
                time(self, units, scratch);
                scratch
            }
            TextForm::Timestamp(units, is_utc) => {
                let seconds = self.div_euclid(units);
                date(seconds.div_euclid(DAY), scratch);
                scratch.push(b'T');
                let units_of_day = seconds.rem_euclid(DAY) * units + self.rem_euclid(units);
                time(units_of_day, units, scratch);
                scratch.extend_from_slice(if is_utc { b"Z" } else { b"" });
                scratch
            }
            _ => written(self, scratch),
        }
    }
}

impl Written for f32 {
    fn text<'v>(&'v self, _form: TextForm, scratch: &'v mut Vec<u8>) -> &'v [u8] {
        // No sign: -0 + 0 is 0.
        written(self + 0.0, scratch)
    }
}

impl Written for f64 {
    fn text<'v>(&'v self, _form: TextForm, scratch: &'v mut Vec<u8>) -> &'v [u8] {
        written(self + 0.0, scratch)
    }
}

impl Written for Int96 {
    fn text<'v>(&'v self, form: TextForm, scratch: &'v mut Vec<u8>) -> &'v [u8] {
        /// The Julian day of 1970-01-01.
        const EPOCH: i64 = 2_440_588;
        let [low, high, day] = *self.data() else {
            return scratch;
        };
        let nanos = (i64::from(high) << 32) | i64::from(low);
        // Days and nanoseconds by themselves: together they may be too many.
        let days = i64::from(day) - EPOCH + nanos.div_euclid(DAY * SECOND);
        date(days, scratch);
        scratch.push(b'T');
        time(nanos.rem_euclid(DAY * SECOND), SECOND, scratch);
        if matches!(form, TextForm::Timestamp(_, true)) {
            scratch.push(b'Z');
        }
        scratch
    }
}

impl Written for [u8] {
    #[inline]
    fn text<'v>(&'v self, form: TextForm, scratch: &'v mut Vec<u8>) -> &'v [u8] {
        match form {
            TextForm::Decimal(scale) => decimal_of_bytes(self, scale, scratch),
            _ => self,
        }
    }
}

impl Written for ByteArray {
    fn text<'v>(&'v self, form: TextForm, scratch: &'v mut Vec<u8>) -> &'v [u8] {
        self.as_bytes().text(form, scratch)
    }
}

impl Written for FixedLenByteArray {
    fn text<'v>(&'v self, form: TextForm, scratch: &'v mut Vec<u8>) -> &'v [u8] {
        let bytes = self.as_bytes();
        match form {
            TextForm::Decimal(scale) => return decimal_of_bytes(bytes, scale, scratch),
            TextForm::Uuid => {}
            _ => return bytes,
        }
        for (index, byte) in bytes.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                scratch.push(b'-');
            }
            let _cannot_fail = write!(scratch, "{byte:02x}");
        }
        scratch
    }
}

/// Writes a number in decimal.
fn written(number: impl Display, scratch: &mut Vec<u8>) -> &[u8] {
    // Writing to memory does not fail.
    let _cannot_fail = write!(scratch, "{number}");
    scratch
}

/// Writes a decimal with `scale` digits after the point.
fn decimal(unscaled: i128, scale: u32, scratch: &mut Vec<u8>) -> &[u8] {
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = unscaled.unsigned_abs();
    // A scale of more than 38 digits was refused.
    let one = 10_u128.pow(scale);
    let (whole, rest, width) = (digits / one, digits % one, scale as usize);
    let _cannot_fail = match scale {
        0 => write!(scratch, "{sign}{whole}"),
        _ => write!(scratch, "{sign}{whole}.{rest:0width$}"),
    };
    scratch
}

/// Writes a decimal whose digits are a number in two's complement, the high bytes first. One that is larger than any of
/// 38 digits, and so damaged, is written byte by byte.
fn decimal_of_bytes<'v>(bytes: &[u8], scale: u32, scratch: &'v mut Vec<u8>) -> &'v [u8] {
    let is_negative = bytes.first().is_some_and(|&byte| byte >= 0x80);
    let filler = if is_negative { 0xff } else { 0 };
    let (front, last) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut number = [filler; 16];
    number[16 - last.len()..].copy_from_slice(last);
    let number = i128::from_be_bytes(number);
    let fits = front.iter().all(|&byte| byte == filler) && (number < 0) == is_negative;
    if fits {
        return decimal(number, scale, scratch);
    }
    scratch.extend_from_slice(b"0x");
    for byte in bytes {
        let _cannot_fail = write!(scratch, "{byte:02x}");
    }
    scratch
}

/// Writes the day that is `days` days after 1970-01-01.
fn date(days: i64, scratch: &mut Vec<u8>) -> &[u8] {
    /// Days from 0000-03-01 to 1970-01-01.
    const TO_EPOCH: i64 = 719_468;
    /// Days of 400 years.
    const ERA: i64 = 146_097;
    // Years begin in March here, so that the day of a leap year is the last one.
    let days = days.saturating_add(TO_EPOCH);
    let day_of_era = days.rem_euclid(ERA);
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / (ERA - 1);
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + 400 * days.div_euclid(ERA) + i64::from(month <= 2);
    // ISO 8601 has a sign before years that have not four digits.
    let _cannot_fail = match year {
        0..=9999 => write!(scratch, "{year:04}-{month:02}-{day:02}"),
        _ => write!(scratch, "{year:+05}-{month:02}-{day:02}"),
    };
    scratch
}

/// Writes the time of a day, `since_midnight` of the `units` of a second after midnight, with no more digits of a
/// fraction than it needs.
fn time(since_midnight: i64, units: i64, scratch: &mut Vec<u8>) {
    let (seconds, fraction) = (
        since_midnight.div_euclid(units),
        since_midnight.rem_euclid(units),
    );
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let _cannot_fail = write!(scratch, "{hours:02}:{minutes:02}:{seconds:02}");
    if fraction > 0 {
        let _cannot_fail = write!(scratch, ".{:09}", fraction * (SECOND / units));
        let end = scratch.iter().rposition(|&byte| byte != b'0');
        scratch.truncate(end.map_or(0, |last| last + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &impl Written, form: TextForm) -> String {
        let mut scratch = Vec::new();
        String::from_utf8_lossy(value.text(form, &mut scratch)).into_owned()
    }

    #[test]
    fn b23_floating_point_numbers_have_the_fewest_digits_and_no_signs_without_a_meaning() {
        for (value, expected) in [
            (2.0, "2"),
            (-0.0, "0"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (1e21, "1000000000000000000000"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (1e-7, "0.0000001"),
            (f64::NAN, "NaN"),
            (-f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(text(&value, TextForm::Float), expected);
            assert_eq!(
                TextForm::Float.is_number(expected.as_bytes()),
                value.is_finite(),
                "{expected}"
            );
        }
        assert_eq!(text(&0.1_f32, TextForm::Float), "0.1");
        assert_eq!(text(&-0.0_f32, TextForm::Float), "0");
    }

    #[test]
    fn b23_decimals_have_the_digits_of_their_scale() {
        for (value, scale, expected) in [
            (150_i64, 2, "1.50"),
            (-5, 2, "-0.05"),
            (0, 3, "0.000"),
            (7, 0, "7"),
            (i64::MIN, 18, "-9.223372036854775808"),
            (1, 38, "0.00000000000000000000000000000000000001"),
        ] {
            let form = TextForm::Decimal(scale);
            assert_eq!(text(&value, form), expected);
            let bytes = value.to_be_bytes();
            assert_eq!(text(&ByteArray::from(bytes.to_vec()), form), expected);
            let wide = i128::from(value).to_be_bytes();
            let wide = [&wide[..1], &wide[..]].concat();
            assert_eq!(text(&ByteArray::from(wide), form), expected);
        }
        let bytes = |bytes: &[u8]| text(&ByteArray::from(bytes.to_vec()), TextForm::Decimal(1));
        assert_eq!(bytes(&[]), "0.0");
        assert_eq!(bytes(&[0xff]), "-0.1");
        assert_eq!(bytes(&[1; 17]), format!("0x{}", "01".repeat(17)));
        assert_eq!(
            bytes(&[[0].as_slice(), &[0xff; 16]].concat()),
            format!("0x00{}", "ff".repeat(16))
        );
    }

    #[test]
    fn b23_dates_and_times_are_those_of_iso_8601() {
        for (days, expected) in [
            (0_i32, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (19_782, "2024-02-29"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
            (2_932_897, "+10000-01-01"),
        ] {
            assert_eq!(text(&days, TextForm::Date), expected);
        }
        for (value, units, expected) in [
            (0_i64, 1000, "1970-01-01T00:00:00"),
            (-1, 1000, "1969-12-31T23:59:59.999"),
            (1_709_210_096_500_000, 1_000_000, "2024-02-29T12:34:56.5"),
            (1, SECOND, "1970-01-01T00:00:00.000000001"),
        ] {
            assert_eq!(text(&value, TextForm::Timestamp(units, false)), expected);
            assert_eq!(
                text(&value, TextForm::Timestamp(units, true)),
                format!("{expected}Z")
            );
        }
        for extreme in [i64::MIN, i64::MAX] {
            for form in [
                TextForm::Timestamp(1000, true),
                TextForm::Time(1000),
                TextForm::Date,
            ] {
                let scratch = text(&(extreme / 4), form);
                assert!(!scratch.is_empty());
            }
        }
        assert_eq!(text(&45_296_100_i32, TextForm::Time(1000)), "12:34:56.1");
        let mut old = Int96::new();
        old.set_data(500, 0, 2_440_588);
        let form = TextForm::Timestamp(SECOND, true);
        assert_eq!(text(&old, form), "1970-01-01T00:00:00.0000005Z");
    }
}
