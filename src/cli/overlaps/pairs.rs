//! The table of pairs as text.
//!
//! *Owns:* its rows. *Invariants:* a row for each file, then a row for each pair that has lines in common, those with
//! the most first: of 64 files, no line is wider than of two. *Cost:* 2,080 rows at most, one at a time.

use std::io::{self, Write};

use outset::Pairs;

use crate::cli::escaping::visible;
use crate::cli::numbers::share;

/// The numbers of a pair as they are printed.
type Row = [String; 4];

/// Writes the table.
pub(super) fn describe(found: &Pairs, out: &mut dyn Write) -> io::Result<()> {
    let labels: Vec<String> = found.labels.iter().map(|label| visible(label)).collect();
    let lines = |input| found.distinct_lines(input).to_string();
    let widest = (0..labels.len()).map(|input| lines(input).len()).max();
    let width = widest.unwrap_or(0).max("lines".len());
    writeln!(out, "{:>width$}  file", "lines")?;
    for (input, label) in labels.iter().enumerate() {
        writeln!(out, "{:>width$}  {label}", lines(input))?;
    }
    let pairs = found.in_order();
    if pairs.is_empty() {
        return Ok(());
    }
    let head = ["common", "jaccard", "a_in_b", "b_in_a"].map(str::to_owned);
    let mut widths = head.each_ref().map(String::len);
    for &pair in &pairs {
        for (width, number) in widths.iter_mut().zip(row(found, pair)) {
            *width = number.len().max(*width);
        }
    }
    let longest = pairs.iter().map(|&(one, _)| labels[one].chars().count());
    let name = longest.max().unwrap_or(0);
    writeln!(out)?;
    let mut write = |numbers: Row, one: &str, other: &str| {
        for (number, width) in numbers.iter().zip(widths) {
            write!(out, "{number:>width$}  ")?;
        }
        writeln!(out, "{one:<name$}  {other}")
    };
    write(head, "a", "b").and_then(|()| {
        pairs.iter().try_for_each(|&(one, other)| {
            write(row(found, (one, other)), &labels[one], &labels[other])
        })
    })
}

/// Returns the numbers of a pair.
fn row(found: &Pairs, (one, other): (usize, usize)) -> Row {
    let shares = [
        found.jaccard(one, other),
        found.containment(one, other),
        found.containment(other, one),
    ];
    // Both have lines.
    let [jaccard, within, without] = shares.map(|found| share(found.unwrap_or(0.0)));
    let common = found.common_lines(one, other).to_string();
    [common, jaccard, within, without]
}
