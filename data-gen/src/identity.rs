//! The identity of a line: a class and an index, and the token that stands for them in the text.
//!
//! *Owns:* identities, their packing into one word, the token's alphabet.
//!
//! *Invariants.* Identity to token is a bijection into the tokens of a run, and every line holds its
//! token at a place known from its end. Hence distinct identities have distinct lines, the numbers
//! in the manifest are exact without looking at the lines, and a line tells where it came from.
//!
//! *Cost:* 10 ns each way; no memory beside a table of 2 KiB.

use crate::permutation::{Scramble, bits_below};

/// Characters of the longest token: 13 of 5 bits hold a word of 64 bits.
pub(crate) const FULL_WIDTH: usize = 13;

/// The most files in a run; it bounds the bits for the class in a token.
pub(crate) const MAX_FILES: usize = 1000;

/// The files that a line is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// In every file.
    Common,
    /// In this file only.
    Private(u32),
    /// In every file but this one.
    AllBut(u32),
}

impl Class {
    fn number(self) -> u64 {
        match self {
            Self::Common => 0,
            Self::Private(file) => 1 + 2 * u64::from(file),
            Self::AllBut(file) => 2 + 2 * u64::from(file),
        }
    }

    fn from_number(number: u64) -> Self {
        match number {
            0 => Self::Common,
            odd if odd % 2 == 1 => Self::Private((odd / 2) as u32),
            even => Self::AllBut((even / 2 - 1) as u32),
        }
    }
}

/// One of the distinct lines of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The files that it is in.
    pub class: Class,
    /// Its number in that class, from 0.
    pub index: u64,
}

/// Turns identities into tokens and back.
#[derive(Debug, Clone)]
pub(crate) struct Codec {
    class_bits: u32,
    width: usize,
    scramble: Scramble,
}

impl Codec {
    /// Tokens of the full width, alike for every size of a run: growing a file keeps its lines.
    pub(crate) fn full(key: u64) -> Self {
        Self::with_bits(key, bits_below(class_numbers(MAX_FILES)), 64)
    }

    /// The shortest tokens for the classes of `files` files with indexes below `indexes`.
    pub(crate) fn shortest(key: u64, files: usize, indexes: u64) -> Self {
        let class_bits = bits_below(class_numbers(files));
        Self::with_bits(key, class_bits, class_bits + bits_below(indexes))
    }

    fn with_bits(key: u64, class_bits: u32, bits: u32) -> Self {
        Self {
            class_bits,
            width: bits.div_ceil(5).max(1) as usize,
            scramble: Scramble::new(key, bits),
        }
    }

    /// Returns the number of characters of every token.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The identity as one word, the same for every key.
    #[inline]
    pub(crate) fn pack(&self, identity: Identity) -> u64 {
        (identity.index << self.class_bits) | identity.class.number()
    }

    /// The token of a packed identity, in the last [`Codec::width`] of these characters.
    #[inline]
    pub(crate) fn encode(&self, packed: u64) -> [u8; FULL_WIDTH] {
        to_text(self.scramble.forward(packed))
    }

    /// The identity whose token this is; `None` if it cannot be a token.
    pub(crate) fn decode(&self, token: &[u8]) -> Option<Identity> {
        let packed = self.scramble.backward(from_text(token)?);
        Some(Identity {
            class: Class::from_number(packed & ((1 << self.class_bits) - 1)),
            index: packed >> self.class_bits,
        })
    }
}

fn class_numbers(files: usize) -> u64 {
    1 + 2 * files as u64
}

const ALPHABET: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";

static PAIRS: [[u8; 2]; 1024] = {
    let mut pairs = [[0; 2]; 1024];
    let mut number = 0;
    while number < 1024 {
        pairs[number] = [ALPHABET[number >> 5], ALPHABET[number & 31]];
        number += 1;
    }
    pairs
};

/// A word in base 32, most significant character first.
#[inline]
pub(crate) fn to_text(word: u64) -> [u8; FULL_WIDTH] {
    let mut text = [0; FULL_WIDTH];
    text[0] = ALPHABET[(word >> 60) as usize];
    let mut at = 1;
    for shift in [50, 40, 30, 20, 10, 0] {
        let pair = PAIRS[((word >> shift) & 1023) as usize];
        text[at] = pair[0];
        text[at + 1] = pair[1];
        at += 2;
    }
    text
}

fn from_text(text: &[u8]) -> Option<u64> {
    let mut word = 0u64;
    for &character in text {
        let digit = match character {
            b'0'..=b'9' => character - b'0',
            b'a'..=b'v' => character - b'a' + 10,
            _ => return None,
        };
        if word >> 59 != 0 {
            return None;
        }
        word = (word << 5) | u64::from(digit);
    }
    Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_decode_to_their_identities() {
        let classes = [
            Class::Common,
            Class::Private(0),
            Class::Private(999),
            Class::AllBut(999),
        ];
        for codec in [Codec::full(3), Codec::shortest(3, 1000, 5_000)] {
            for class in classes {
                for index in [0, 1, 77, 4_999] {
                    let identity = Identity { class, index };
                    let token = codec.encode(codec.pack(identity));
                    let token = &token[FULL_WIDTH - codec.width()..];
                    assert_eq!(codec.decode(token), Some(identity));
                }
            }
        }
    }

    #[test]
    fn words_and_texts_are_one_to_one() {
        for word in [0, 1, 31, 32, 1 << 60, u64::MAX] {
            assert_eq!(from_text(&to_text(word)), Some(word));
        }
        assert_eq!(from_text(b"g000000000000"), None, "65 bits");
        assert_eq!(from_text(b"A"), None);
    }
}
