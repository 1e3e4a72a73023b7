//! The figures of the textbooks, computed.
//!
//! *Owns:* which cases are shown, and how. *Invariants:* a case says what is given; what comes out
//! is computed, never written down here.

use std::f64::consts::LN_2;

use outset::filter::{Kind, Shape, sizing};
use serde::Serialize;

use super::report::Row;
use super::request::SizeRequest::{self, LinesAndBits, LinesAndMemory, LinesAndRate};
use crate::cli::numbers::{binary, decimal, grouped, percent, significant};

const MILLION: u64 = 1_000_000;
const BILLION: u64 = 1_000_000_000;

/// A case and what comes out.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    given: &'static str,
    result: String,
    #[serde(flatten)]
    row: Row,
    /// The price of a tenth of the rate, in bits per line.
    #[serde(skip_serializing_if = "Option::is_none")]
    bits_per_tenfold: Option<f64>,
    /// The chance that a counter passes 15, with the best k before rounding.
    #[serde(skip_serializing_if = "Option::is_none")]
    overflow_per_counter: Option<f64>,
}

/// A request, and the words for its row.
struct Case {
    given: &'static str,
    kind: Kind,
    request: SizeRequest,
    hashes: Option<u32>,
    tell: fn(&Row) -> String,
}

impl Case {
    const fn classic(given: &'static str, request: SizeRequest, tell: fn(&Row) -> String) -> Self {
        Self {
            given,
            kind: Kind::Classic,
            request,
            hashes: None,
            tell,
        }
    }

    /// Returns the lines and the shape. A rate has the cells of the formula, as the textbooks have it; a filter that is
    /// laid out for a rate takes a few more, for hashes are whole.
    fn shape(&self) -> (u64, Shape) {
        let LinesAndRate(lines, fpr) = self.request else {
            return self.request.shape(self.kind, self.hashes);
        };
        let cells = sizing::flat_bits(lines, fpr).ceil();
        let best = sizing::best_flat_hashes(cells / lines as f64, self.kind.most_hashes());
        let shape = Shape {
            kind: self.kind,
            cells: cells as u64,
            hashes: self.hashes.unwrap_or(best),
        };
        (lines, shape)
    }
}

/// The cases in the order of the table.
const CASES: [Case; 12] = [
    Case::classic(
        "n = 1 million, p = 0.01%",
        LinesAndRate(MILLION, 1e-4),
        tell_bits,
    ),
    Case::classic(
        "n = 10 million, p = 0.01%",
        LinesAndRate(10 * MILLION, 1e-4),
        tell_bits,
    ),
    Case::classic(
        "n = 100 million, p = 0.01%",
        LinesAndRate(100 * MILLION, 1e-4),
        tell_bits,
    ),
    Case::classic("p = 1%", LinesAndRate(MILLION, 1e-2), tell_bits_per_key),
    Case::classic("p = 0.1%", LinesAndRate(MILLION, 1e-3), tell_tenfold),
    Case::classic(
        "n = 50 billion, p = 1%",
        LinesAndRate(50 * BILLION, 1e-2),
        tell_bytes,
    ),
    Case::classic(
        "n = 50 billion, p = 0.1%",
        LinesAndRate(50 * BILLION, 1e-3),
        tell_bytes,
    ),
    Case::classic(
        "n = 5 billion, p = 1%",
        LinesAndRate(5 * BILLION, 1e-2),
        tell_gigabits,
    ),
    Case::classic(
        "n = 5 billion, m = 4 GiB",
        LinesAndMemory(5 * BILLION, 4 << 30),
        tell_fpr,
    ),
    Case::classic("m = 8 n", LinesAndBits(MILLION, 8.0), tell_fpr),
    Case {
        hashes: Some(10),
        ..Case::classic(
            "m = 20 n, k = 10",
            LinesAndBits(MILLION, 20.0),
            tell_fraction,
        )
    },
    Case {
        kind: Kind::Counting,
        ..Case::classic(
            "4-bit counters, k = (m/n) ln 2",
            LinesAndRate(MILLION, 1e-2),
            tell_overflow,
        )
    },
];

/// Computes all figures.
pub(super) fn all() -> Vec<Figure> {
    let figure = |case: &Case| {
        let (lines, shape) = case.shape();
        let row = Row::new(lines, shape);
        let has_rate = matches!(case.request, LinesAndRate(..));
        Figure {
            given: case.given,
            result: (case.tell)(&row),
            bits_per_tenfold: has_rate.then(tenfold),
            overflow_per_counter: row.overflow_chance.map(|_| overflow()),
            row,
        }
    };
    CASES.iter().map(figure).collect()
}

/// Words the figures for people.
pub(super) fn describe(figures: &[Figure]) -> String {
    let widest = figures.iter().map(|figure| figure.given.len()).max();
    let width = widest.unwrap_or(0);
    let mut text = vec![
        "n lines, m bits, k hash functions, false-positive rate p; classic filters unless stated otherwise:"
            .to_owned(),
        "p = (1 - e^(-kn/m))^k, m = -n ln p / (ln 2)^2, k = (m/n) ln 2".to_owned(),
        "k is a whole number, so p is slightly higher than given; --max-fpr adds the bits that make up for it"
            .to_owned(),
        String::new(),
    ];
    let lines = figures.iter();
    text.extend(lines.map(|figure| format!("{:<width$}  {}", figure.given, figure.result)));
    text.push(String::new());
    text.push("Other sizes and kinds: outset size --lines 5e9 --memory 4G".to_owned());
    text.join("\n")
}

fn tenfold() -> f64 {
    sizing::flat_bits(1, 0.1)
}

fn overflow() -> f64 {
    sizing::counter_overflow(LN_2)
}

/// Words the best number of hashes, and the other whole number next to the exact one.
fn tell_hashes(row: &Row) -> String {
    let (k, exact) = (row.hashes, row.hashes_exact);
    let (other, other_fpr) = if f64::from(k) > exact {
        (k - 1, row.fpr_one_less_hash)
    } else {
        (k + 1, row.fpr_one_more_hash)
    };
    let fpr = percent(row.predicted_fpr);
    let other_fpr = percent(other_fpr.unwrap_or(1.0));
    format!("best k = {exact:.2}; with k = {k}, p = {fpr}; with k = {other}, p = {other_fpr}")
}

fn tell_bits(row: &Row) -> String {
    let (bits, bytes) = (grouped(row.cells), binary(row.bytes));
    format!("m = {bits} bits = {bytes}, {}", tell_hashes(row))
}

fn tell_bits_per_key(row: &Row) -> String {
    let bits = significant(row.bits_per_key);
    format!("{bits} bits per line, {}", tell_hashes(row))
}

fn tell_tenfold(row: &Row) -> String {
    let (bits, more) = (significant(row.bits_per_key), tenfold());
    format!(
        "{bits} bits per line; {more:.2} more bits per line each time the rate falls to a tenth"
    )
}

fn tell_bytes(row: &Row) -> String {
    let (bytes, table) = (decimal(row.bytes), decimal(row.hash_table_bytes));
    format!("{bytes}; a hash table of 1.5 n slots of 8 bytes: {table}")
}

fn tell_gigabits(row: &Row) -> String {
    let (bits, bytes) = (row.bits as f64 / 1e9, decimal(row.bytes));
    format!("m = {bits:.2} Gbit = {bytes}, {}", tell_hashes(row))
}

fn tell_fpr(row: &Row) -> String {
    let (bits, per_key) = (row.bits as f64 / 1e9, significant(row.bits_per_key));
    let hashes = tell_hashes(row);
    if bits < 1.0 {
        return hashes;
    }
    format!("m = {bits:.2} Gbit, {per_key} bits per line, {hashes}")
}

fn tell_fraction(row: &Row) -> String {
    format!("p = {:.7}", row.predicted_fpr)
}

fn tell_overflow(_: &Row) -> String {
    let chance = overflow();
    format!("P(any counter exceeds 15) <= m * {chance:.2e}; counters stay at 15 and never wrap")
}
