//! Lines of every kind that an engine can trip over.
//!
//! *Owns:* the lengths around the engine's constants, and the odd bytes. *Invariants:* a line does not contain the
//! terminator. *Cost:* the lines.

use crate::choices::Choices;

/// The size that a case may have.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Of each input, lines that are made in bulk, one of these.
    pub bulk_lines: &'static [u64],
    /// Times that a line is repeated, at most.
    pub repeats: u64,
    /// Bytes of a line, at most.
    pub line_bytes: u64,
}

impl Scale {
    /// For cases from a seed: mostly small, some of megabytes.
    pub const SEEDED: Self = Self {
        bulk_lines: &[0, 0, 20, 200, 1000, 3000, 3000, 8000, 8000, 30_000],
        repeats: 20_000,
        line_bytes: 1_200_000,
    };
    /// For cases from a fuzzer, of which there are to be many.
    pub const FUZZED: Self = Self {
        bulk_lines: &[0, 10, 100],
        repeats: 50,
        line_bytes: 17_000,
    };
}

/// Sizes that the engine works with: lengths and hash packets, pages, the smallest blocks and what they hold beside
/// their headers, chunks and their buffers.
const EDGES: [u64; 20] = [
    32, 64, 120, 127, 1024, 4030, 4032, 4096, 8192, 16_317, 16_320, 16_384, 65_472, 65_536, 69_632,
    73_728, 262_144, 524_288, 1_048_512, 1_048_576,
];

/// Lines that look like something else.
const POSERS: [&[u8]; 6] = [
    b"--help",
    b"-",
    b"OUTSETB1\0\0\0\0\0\0\0\0\x01\0\0\0",
    b"\x93OSF\r\n\x1a\n",
    b"\xef\xbb\xbfbom",
    b"trailing space ",
];

/// A line of any kind.
pub fn any(choices: &mut Choices, scale: Scale) -> Vec<u8> {
    match choices.below(12) {
        0..=3 => odd(choices, 4),
        4 | 5 => (0..choices.below(200))
            .map(|_| choices.below(256) as u8)
            .collect(),
        6 => choices.pick(&POSERS).to_vec(),
        7 => vec![b'p'; 2000]
            .into_iter()
            .chain(odd(choices, 3))
            .collect(),
        8..=10 => around_an_edge(choices, scale),
        _ => {
            let most = scale.line_bytes.min(300_000);
            let length = if choices.one_in(8) {
                scale.line_bytes
            } else {
                most
            };
            let length = choices.below(length);
            filled(choices, length)
        }
    }
}

/// Few bytes of few kinds, so that lines are often equal.
fn odd(choices: &mut Choices, most: u64) -> Vec<u8> {
    let length = choices.below(most);
    (0..length)
        .map(|_| choices.pick(b"ab\r\n\0\xff\xc3"))
        .collect()
}

fn around_an_edge(choices: &mut Choices, scale: Scale) -> Vec<u8> {
    let fitting = EDGES
        .iter()
        .filter(|&&edge| edge < scale.line_bytes)
        .count();
    // The long ones take long: seldom.
    let among = if choices.one_in(4) {
        fitting
    } else {
        fitting.min(14)
    };
    let length = choices.pick(&EDGES[..among]) + choices.below(5) - 2;
    filled(choices, length)
}

/// Equal bytes but for the last: lines that differ in it alone.
fn filled(choices: &mut Choices, length: u64) -> Vec<u8> {
    let mut line = vec![choices.pick(b"xyz\xff\r"); length as usize];
    if let Some(last) = line.last_mut() {
        *last = choices.pick(b"xy\r\0\xfe");
    }
    line
}

/// The form of numbered lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bulk {
    /// The number alone.
    Number,
    /// The number, padded to this many bytes.
    Padded(usize),
    /// The number behind this many equal bytes.
    Prefixed(usize),
    /// The number's bytes: all values, the odd ones too.
    Binary,
}

impl Bulk {
    /// One of the kinds.
    pub fn choose(choices: &mut Choices) -> Self {
        match choices.below(20) {
            0..=9 => Self::Number,
            10..=15 => Self::Padded(choices.pick(&[8, 20, 60, 64, 100, 200])),
            16 => Self::Prefixed(2000),
            _ => Self::Binary,
        }
    }

    /// Returns the number of lines that stand for one of [`Bulk::Number`], so that inputs stay within megabytes.
    pub fn weight(self) -> u64 {
        match self {
            Self::Prefixed(_) => 20,
            _ => 1,
        }
    }

    /// The line of a number.
    pub fn line(self, number: u64) -> Vec<u8> {
        match self {
            Self::Number => number.to_string().into_bytes(),
            Self::Padded(length) => format!("{number:07}{:.<1$}", "", length - 7).into_bytes(),
            Self::Prefixed(length) => {
                let mut line = vec![b'p'; length];
                line.extend_from_slice(number.to_string().as_bytes());
                line
            }
            Self::Binary => crate::choices::mixed(number).to_le_bytes().to_vec(),
        }
    }
}

/// An IPv4 address; neighbours are often equal.
pub fn address(choices: &mut Choices) -> Vec<u8> {
    let parts: [u64; 4] = match choices.below(3) {
        0 => [10, 0, 0, choices.below(256)],
        1 => [
            choices.pick(&[0, 127, 255]),
            0,
            choices.below(256),
            choices.pick(&[0, 1, 255]),
        ],
        _ => [1, 2, 3, 4].map(|_| choices.below(256)),
    };
    parts.map(|part| part.to_string()).join(".").into_bytes()
}

/// `line` without the terminator in it.
pub fn without(mut line: Vec<u8>, terminator: u8) -> Vec<u8> {
    for byte in &mut line {
        if *byte == terminator {
            *byte = b'.';
        }
    }
    line
}
