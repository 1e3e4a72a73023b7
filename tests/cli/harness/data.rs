//! Texts to intersect, and the plain way of computing what they have in common.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

/// A megabyte of these is about 30 000 lines.
const LINE_BYTES: usize = 33;

/// Lines that differ everywhere, one per number; equal numbers give equal lines.
pub(crate) fn lines(numbers: Range<u64>) -> Vec<u8> {
    let mut text = String::with_capacity(LINE_BYTES * numbers.clone().count());
    for number in numbers {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        writeln!(text, "{:016x} line {number:010}", mixed ^ (mixed >> 29)).unwrap();
    }
    text.into_bytes()
}

/// About so many megabytes of [`lines`], beginning with number `first`.
pub(crate) fn megabytes(count: u64, first: u64) -> Vec<u8> {
    lines(first..first + count * (1 << 20) / LINE_BYTES as u64)
}

/// IPv4 addresses, one per number.
pub(crate) fn addresses(numbers: Range<u32>) -> Vec<u8> {
    let address = |number: u32| std::net::Ipv4Addr::from(number.wrapping_mul(2_654_435_761));
    numbers
        .flat_map(|number| format!("{}\n", address(number)).into_bytes())
        .collect()
}

/// The lines of a text, in order.
pub(crate) fn split(text: &[u8], terminator: u8) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == terminator).collect();
    // Behind the last terminator there is no line.
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// The distinct lines that all texts have, in order.
pub(crate) fn common<'a>(texts: &[&'a [u8]]) -> BTreeSet<&'a [u8]> {
    let mut sets = texts
        .iter()
        .map(|text| split(text, b'\n').into_iter().collect::<BTreeSet<_>>());
    let first = sets.next().unwrap_or_default();
    sets.fold(first, |mut common, set| {
        common.retain(|line| set.contains(line));
        common
    })
}

pub(crate) const EXACT: [&str; 4] = ["auto", "memory", "partition", "sieve"];

pub(crate) fn small() -> (Vec<u8>, Vec<u8>) {
    (lines(0..3000), lines(2000..6000))
}
