//! Filters that are filled at random, for measuring how fast a filter is asked that is not there yet.
//!
//! *Owns:* the filling. *Invariants:* what such a filter answers means nothing; only how often it says yes does. *Cost:* a
//! pass over the cells, a nanosecond or two for a word.

use crate::filter::block::BLOCK_WORDS;
use crate::filter::filter::Filter;

impl Filter {
    /// Fills a filter of blocks as if it were complete: with a false-positive rate of `fpr` (0..1), and so that it lets
    /// about the share `passing` of all lines pass, whatever they are. For measuring how fast a filter is asked that is
    /// not there yet.
    ///
    /// All k bits of a line are set with the chance p^k where each bit is with the chance p, so p = fpr^(1/k). Blocks with
    /// all bits set make the rest of the lines pass: they are met as seldom as lines that are in the filter.
    pub(crate) fn fill_at_random(&mut self, fpr: f64, passing: f64) {
        /// Words that all others are drawn from.
        const DRAWN: usize = 1 << 12;
        let fpr = fpr.min(passing).clamp(0.0, 1.0);
        let chance = fpr.powf(1.0 / f64::from(self.shape.hashes.max(1)));
        let full = (passing.min(1.0) - fpr) / (1.0 - fpr).max(f64::MIN_POSITIVE);
        let mut random = Xorshift(0x9e37_79b9_7f4a_7c15);
        let drawn: Vec<u64> = (0..DRAWN).map(|_| random.bits(chance)).collect();
        for block in self.words.words_mut().chunks_mut(BLOCK_WORDS) {
            if random.next() as f64 / (u64::MAX as f64) < full {
                block.fill(u64::MAX);
            } else {
                block.fill_with(|| drawn[random.next() as usize % DRAWN]);
            }
        }
    }
}

/// Random numbers that are good enough for [`Filter::fill_at_random`] (Marsaglia, "Xorshift RNGs", 2003).
struct Xorshift(u64);

impl Xorshift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A word of which each bit is set with this chance, to a precision of 2^-16. From the last binary digit of the
    /// chance to the first, a 1 adds half of what is missing, and a 0 halves what there is.
    fn bits(&mut self, chance: f64) -> u64 {
        let digits = (chance * f64::from(1 << 16)) as u32;
        if digits >> 16 == 1 {
            return u64::MAX;
        }
        (0..16).fold(0, |bits, digit| match digits >> digit & 1 {
            0 => bits & self.next(),
            _ => bits | self.next(),
        })
    }
}
