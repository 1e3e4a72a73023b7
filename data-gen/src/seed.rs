//! The source of every pseudo-random word.
//!
//! *Owns:* the derivation of keys from the run's seed, and the stream of words behind one line.
//!
//! *Invariants.* Every word is a pure function of the seed, a [`Purpose`] and a number, so that any
//! line can be made again, on any thread, without the lines before it. No two purposes share a key.
//!
//! *Cost:* about 1 ns a word; no memory.
//!
//! *Sources:* `SplitMix64`, Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014; the mixing constants are variant 13 of David Stafford.

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The purpose of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The bijection from identities to tokens.
    Token,
    /// Everything in a line beside its token.
    Text,
    /// The names of hosts.
    Host,
    /// The prefix that all lines share.
    Prefix,
    /// The order of the lines of one file.
    Order,
    /// The choice of the lines that are repeated.
    Repeat,
    /// The choice of a file's most frequent line, the second, and so on.
    Rank,
}

/// A key for one purpose; `number` tells apart the files of a run.
pub(crate) fn key(seed: u64, purpose: Purpose, number: u64) -> u64 {
    let purpose = purpose as u64 + 1;
    mix(mix(seed ^ GOLDEN.wrapping_mul(purpose)) ^ number)
}

/// A bijection of 64-bit words in which every bit of the result depends on every bit of `word`.
#[inline]
pub(crate) fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// An endless stream of words from one key.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    state: u64,
}

impl Stream {
    /// The stream of `key`; equal keys give equal streams.
    #[inline]
    pub(crate) fn new(key: u64) -> Self {
        Self { state: mix(key) }
    }

    /// The next word.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// The next number in `0..range`; `range` is at least 1.
    #[inline]
    pub(crate) fn below(&mut self, range: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(range)) >> 64) as u64
    }

    /// The next number in `[0, 1)`.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}
