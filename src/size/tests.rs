//! Sizes, counts, rates and times as they are typed, and as they are printed.

use super::*;

#[test]
fn sizes_of_every_unit() {
    for (text, bytes) in [
        ("0", 0),
        ("17", 17),
        ("64K", 64 << 10),
        ("64k", 64 << 10),
        ("4G", 4 << 30),
        ("4GiB", 4 << 30),
        ("1.5GB", 1_500_000_000),
        ("2 MB", 2_000_000),
        ("1T", 1 << 40),
        ("1e3", 1000),
    ] {
        assert_eq!(parse_bytes(text).as_ref(), Ok(&bytes), "{text}");
    }
    for text in ["", "x", "12Q", "-1", "1..2", "99999999999T", "nan", "1KiBB"] {
        assert!(parse_bytes(text).is_err(), "{text}");
    }
    assert_eq!("50%".parse::<Size>().map(|s| s.of(10)), Ok(5));
}

#[test]
fn counts_and_rates() {
    assert_eq!(parse_count("5e9"), Ok(5_000_000_000));
    assert_eq!(parse_count("20M"), Ok(20_000_000));
    assert!(parse_count("20MiB").is_err());
    assert_eq!(parse_rate("1%"), Ok(0.01));
    assert_eq!(parse_rate("0.05"), Ok(0.05));
    assert_eq!(parse_rate("100%"), Ok(1.0));
    for text in ["5", "1", "1.0", "1e3", " 1 "] {
        let refused = parse_rate(text).map_err(|error| error.to_string());
        let said = format!("'{text}' is not {RATE_FORMAT}");
        assert!(said.contains("a percentage such as 1%"), "{said}");
        assert_eq!(refused, Err(said));
    }
    assert!(parse_rate("-0.1").is_err());
}

#[test]
fn k5_a_count_is_whole_or_refused() {
    for (text, count) in [
        ("1.5M", 1_500_000),
        ("1.1K", 1100),
        ("5e9", 5_000_000_000),
        ("0.5e1", 5),
        ("2.0", 2),
        (".5K", 500),
        ("1.", 1),
        ("0", 0),
        ("0e99", 0),
        ("18446744073709551615", u64::MAX),
        ("18.446744073709551615e18", u64::MAX),
    ] {
        assert_eq!(parse_count(text), Ok(count), "{text}");
    }
    for text in [
        "1.5",
        "1.2345K",
        "1.23e1",
        "0.1",
        "18446744073709551616",
        "1e20",
        "1e4294967296",
        ".",
        "",
        "e5",
        "1.2.3",
        "-1",
        "1.5e-1",
    ] {
        assert!(parse_count(text).is_err(), "{text}");
    }
}

#[test]
fn k4_sizes_print_rounded_and_two_that_differ_can_be_told_apart() {
    for (bytes, text) in [
        ((16 << 20) - 1, "16 MiB"),
        ((1 << 20) - 1, "1 MiB"),
        ((100 << 20) - 1, "100 MiB"),
        ((15 << 20) + (1 << 19), "15.5 MiB"),
        (1023, "1023 B"),
        (u64::MAX, "16384 PiB"),
    ] {
        assert_eq!(display_bytes(bytes).to_string(), text, "{bytes}");
    }
    let apart = |one, other| display_apart(one, other);
    let texts = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    assert_eq!(apart(16 << 20, 17 << 20), texts("16 MiB", "17 MiB"));
    assert_eq!(apart(16 << 20, 16 << 20), texts("16 MiB", "16 MiB"));
    assert_eq!(
        apart((16 << 20) - 1, 16 << 20),
        texts("16777215 bytes", "16 MiB")
    );
}

#[test]
fn sizes_print_short() {
    assert_eq!(display_bytes(64 << 20).to_string(), "64 MiB");
    assert_eq!(display_bytes((3 << 30) / 2).to_string(), "1.5 GiB");
    for (bytes, text) in [
        ((25 << 20) + 1, "26 MiB"),
        ((1 << 30) - 1, "1 GiB"),
        (3 << 30, "3 GiB"),
        ((3 << 30) + 1, "3.1 GiB"),
        (533_445 << 20, "521 GiB"),
        ((1 << 50) + 1, "1.1 PiB"),
    ] {
        assert_eq!(display_at_least(bytes).to_string(), text);
        assert!(
            parse_bytes(text).is_ok_and(|parsed| parsed >= bytes),
            "{text}"
        );
    }
    assert_eq!(display_rate(0.01256).to_string(), "1.256%");
    assert_eq!(display_rate(3.2e-9).to_string(), "3.2e-7%");
    assert_eq!(display_count(20_000_000).to_string(), "20 M");
}

#[test]
fn times_print_in_their_largest_unit_and_only_nothing_is_zero() {
    for (seconds, text) in [
        (-1.0, "0 s"),
        (0.0, "0 s"),
        (0.01, "1 s"),
        (12.0, "12 s"),
        (99.0, "99 s"),
        (100.0, "2 min"),
        (5940.0, "99 min"),
        (5941.0, "1.7 h"),
        (36_000.0, "10.0 h"),
        (86_400.0 * 4.0, "4 days"),
    ] {
        assert_eq!(display_duration(seconds).to_string(), text, "{seconds}");
    }
}
