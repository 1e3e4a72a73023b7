//! The source of a case's decisions: a seed, or the bytes of a fuzzer.
//!
//! *Owns:* the numbers. *Invariants:* equal seeds and equal bytes give equal numbers. Bytes that are used up give
//! zeros, so every generator puts the simplest choice first. *Cost:* a few instructions a number.

/// A source of decisions.
#[derive(Debug)]
pub struct Choices<'a>(Source<'a>);

#[derive(Debug)]
enum Source<'a> {
    Seed(u64),
    Bytes(&'a [u8]),
}

impl<'a> Choices<'a> {
    /// Decisions that follow from a seed, without an end.
    pub fn seeded(seed: u64) -> Choices<'static> {
        Choices(Source::Seed(seed))
    }

    /// Decisions that are read from `bytes`.
    pub fn from_bytes(bytes: &'a [u8]) -> Self {
        Self(Source::Bytes(bytes))
    }

    /// A number of `count` bytes (at most 8).
    fn number(&mut self, count: usize) -> u64 {
        match &mut self.0 {
            // SplitMix64: Steele, Lea, Flood, OOPSLA 2014.
            Source::Seed(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                mixed(*state)
            }
            Source::Bytes(bytes) => {
                let (taken, rest) = bytes.split_at(count.min(bytes.len()));
                *bytes = rest;
                let number = taken.iter().enumerate();
                number.fold(0, |sum, (at, &byte)| sum | u64::from(byte) << (8 * at))
            }
        }
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.number(8)
    }

    /// A number below `end`, which is at least 1.
    pub fn below(&mut self, end: u64) -> u64 {
        match self.0 {
            Source::Seed(_) => ((u128::from(self.number(8)) * u128::from(end)) >> 64) as u64,
            Source::Bytes(_) => {
                let bits = u64::BITS - (end - 1).leading_zeros();
                self.number(bits.div_ceil(8) as usize) % end
            }
        }
    }

    /// A number of `least..=most`.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == times - 1
    }

    /// One of `values`, which are not none.
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

/// A word of which every bit depends on every bit of `word`.
pub fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
