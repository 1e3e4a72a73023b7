//! Numbers as the command line prints them.
//!
//! *Owns:* every form: in sentences a size, rate or time in its largest unit, as in messages of the
//! library; counts in groups of three, wherever people read them (a result that programs read, such as a number of
//! `--count-only` or JSON, has plain digits); in tables rates with four significant digits, which tell
//! two numbers of hash functions apart; and columns under each other. *Invariants:* a size looks the same
//! everywhere, but for `outset size`, whose answer it is; no rate is rounded to zero or up to all.

use outset::size::{display_bytes, display_duration, display_rate};
use outset::stats::MemoryStats;

/// Formats a size: `64 MiB`, `1.5 GiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    display_bytes(bytes).to_string()
}

/// Formats the peak of a process, which one without /proc cannot know.
pub(crate) fn peak(peak_bytes: u64) -> String {
    match peak_bytes {
        0 => "unknown".to_owned(),
        peak_bytes => bytes(peak_bytes),
    }
}

/// Formats the peak of a process under its limit: `8.6 MiB of 16 MiB`.
pub(crate) fn peak_and_limit(memory: &MemoryStats) -> String {
    let limit = bytes(memory.limit_bytes);
    match memory.peak_rss_bytes {
        0 => format!("unknown, limit {limit}"),
        peak_bytes => format!("{} of {limit}", bytes(peak_bytes)),
    }
}

/// Formats a rate in a sentence: `1.256%`.
pub(crate) fn rate(rate: f64) -> String {
    display_rate(rate).to_string()
}

/// Formats the time that is left, rounded up: `12 s`, `2 min`.
pub(crate) fn time_left(seconds: f64) -> String {
    display_duration(seconds).to_string()
}

/// Formats the time that something took: `12 ms`, `1.25 s`, `3 min 20 s`, `2 h 05 min`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match seconds {
        0.0 => "0 s".to_owned(),
        s if s < 0.01 => format!("{:.1} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 100.0 => format!("{s:.2} s"),
        s if s < 3600.0 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Formats a number of things, whose name takes an s: `1 line`, `2,000 lines`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", grouped(number))
}

/// Formats a number with commas: `19,170,117`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.char_indices() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats four significant digits: `9.585`, `0.01001`, `1.47e-31`; whole numbers whole.
pub(crate) fn significant(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    // Rounded before its magnitude is taken: 0.00999999 is 0.01000.
    let rounded = format!("{number:.3e}");
    let exponent = rounded.split_once('e').map(|(_, exponent)| exponent);
    let magnitude: i32 = exponent.and_then(|text| text.parse().ok()).unwrap_or(0);
    if (-5..15).contains(&magnitude) {
        let decimals = (3 - magnitude).max(0) as usize;
        format!("{number:.decimals$}")
    } else {
        format!("{number:.2e}")
    }
}

/// Formats a rate in per cent: `3.686%`.
pub(crate) fn percent(rate: f64) -> String {
    let percent = significant(rate * 100.0);
    if rate < 1.0 && percent == "100.0" {
        return nearly_all(rate);
    }
    format!("{percent}%")
}

/// Formats a share in per cent, as 100% only if it is all: `99.996%`, never `100.0%` for that. Two shares that are
/// nearly all can be told apart: they have decimals up to the first that is not a 9.
pub(crate) fn share(share: f64) -> String {
    let missing = (1.0 - share) * 100.0;
    if missing <= 0.0 || missing > 1.0 {
        return percent(share);
    }
    nearly_all(share)
}

/// Formats a share below 1 with decimals up to the first that is not a 9, and two of them at least.
fn nearly_all(share: f64) -> String {
    let missing = (1.0 - share) * 100.0;
    // The arithmetic is not exact.
    let decimals = (-missing.log10() - 1e-3).ceil().clamp(2.0, 15.0) as usize;
    format!("{:.decimals$}%", share * 100.0)
}

/// Formats the computed size of a filter by powers of 1024, with four digits: `2.285 MiB`.
pub(crate) fn binary(bytes: u64) -> String {
    scaled(bytes, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// Works as [`binary`], by powers of 1000: `5.991 GB`.
pub(crate) fn decimal(bytes: u64) -> String {
    scaled(bytes, 1000.0, &["B", "KB", "MB", "GB", "TB", "PB"])
}

fn scaled(bytes: u64, step: f64, units: &[&str]) -> String {
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let number = if value.fract() == 0.0 {
        format!("{value}")
    } else {
        significant(value)
    };
    format!("{number} {}", units[unit])
}

/// Columns under each other: the first to the left, numbers to the right.
pub(crate) fn aligned<const N: usize>(table: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; N] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    table.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_keep_four_digits() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (19_170_117, "19,170,117"),
        ] {
            assert_eq!(grouped(number), text);
        }
        for (number, text) in [
            (9.585_058, "9.585"),
            (0.010_014, "0.01001"),
            (0.009_999_99, "0.01000"),
            (1.469e-31, "1.47e-31"),
            (13.288, "13.29"),
            (0.0, "0"),
        ] {
            assert_eq!(significant(number), text);
        }
        for (part, text) in [
            (0.036_86, "3.686%"),
            (1.0, "100.0%"),
            (0.999_9, "99.99%"),
            (0.999_999, "99.9999%"),
        ] {
            assert_eq!(percent(part), text);
        }
        for (part, text) in [
            (1.0, "100.0%"),
            (0.5, "50.00%"),
            (0.995, "99.50%"),
            (0.999_909, "99.991%"),
            (0.999_95, "99.995%"),
            (0.999_98, "99.998%"),
            (0.999_999_9, "99.99999%"),
        ] {
            assert_eq!(share(part), text);
        }
        let times = [0.0021, 0.25, 1.254, 200.0, 7500.0].map(duration);
        let texts = ["2.1 ms", "250 ms", "1.25 s", "3 min 20 s", "2 h 05 min"];
        assert_eq!(times, texts);
        assert_eq!(binary(2_396_265), "2.285 MiB");
        assert_eq!(binary(4 << 30), "4 GiB");
        assert_eq!(decimal(5_990_661_488), "5.991 GB");
        assert_eq!(decimal(600_000_000_000), "600 GB");
    }
}
