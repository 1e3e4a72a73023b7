//! Bijections: of the words of a given number of bits, and of the numbers below a given bound.
//!
//! *Owns:* the scramble behind the tokens (invertible) and the order of a file's lines.
//!
//! *Invariants.* Both maps are bijections for every key, which is what makes lines distinct, and
//! every line of a file occur exactly once, by construction.
//!
//! *Cost:* 3 to 5 ns a scramble; a permutation takes at most two scrambles on average. Constant
//! memory whatever the bound.
//!
//! *Sources:* cycle walking: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.

use crate::seed::Stream;

const ROUNDS: usize = 3;

/// A keyed bijection of the words of `bits` bits.
#[derive(Debug, Clone)]
pub(crate) struct Scramble {
    mask: u64,
    shift: u32,
    offset: u64,
    multipliers: [u64; ROUNDS],
    inverses: [u64; ROUNDS],
}

impl Scramble {
    /// The bijection of `key` on words of `bits` bits, 64 at most.
    pub(crate) fn new(key: u64, bits: u32) -> Self {
        let mut stream = Stream::new(key);
        let offset = stream.next();
        let multipliers = [(); ROUNDS].map(|()| stream.next() | 1);
        Self {
            mask: if bits >= 64 {
                u64::MAX
            } else {
                (1 << bits) - 1
            },
            // At least half of the bits, so that shifting and adding twice is the identity.
            shift: bits.div_ceil(2).max(1),
            offset,
            multipliers,
            inverses: multipliers.map(inverse_of_odd),
        }
    }

    /// The image of `word`, which has no bits beyond the domain.
    #[inline]
    pub(crate) fn forward(&self, word: u64) -> u64 {
        let mut word = word.wrapping_add(self.offset) & self.mask;
        for multiplier in self.multipliers {
            word ^= word >> self.shift;
            word = word.wrapping_mul(multiplier) & self.mask;
        }
        word ^ (word >> self.shift)
    }

    /// The word whose image is `word`.
    #[inline]
    pub(crate) fn backward(&self, word: u64) -> u64 {
        let mut word = word ^ (word >> self.shift);
        for inverse in self.inverses.into_iter().rev() {
            word = word.wrapping_mul(inverse) & self.mask;
            word ^= word >> self.shift;
        }
        word.wrapping_sub(self.offset) & self.mask
    }
}

/// The inverse modulo 2^64 by Newton's iteration; each step doubles the number of right bits.
fn inverse_of_odd(odd: u64) -> u64 {
    let mut inverse = odd; // Right in the lowest 3 bits.
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    inverse
}

/// A keyed permutation of `0..count`.
#[derive(Debug, Clone)]
pub(crate) struct Permutation {
    count: u64,
    scramble: Scramble,
}

impl Permutation {
    /// The permutation of `key` on `0..count`.
    pub(crate) fn new(key: u64, count: u64) -> Self {
        Self {
            count,
            scramble: Scramble::new(key, bits_below(count)),
        }
    }

    /// The image of `number`, which is below the count.
    #[inline]
    pub(crate) fn at(&self, number: u64) -> u64 {
        let mut image = self.scramble.forward(number);
        // The walk along a cycle that starts inside the bound comes back inside it.
        while image >= self.count {
            image = self.scramble.forward(image);
        }
        image
    }
}

/// Returns the number of bits that the numbers below `count` need.
pub(crate) fn bits_below(count: u64) -> u32 {
    64 - count.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scramble_is_undone_on_every_width() {
        for bits in 0..=64 {
            let scramble = Scramble::new(u64::from(bits) + 7, bits);
            let mask = if bits == 64 {
                u64::MAX
            } else {
                (1 << bits) - 1
            };
            let mut stream = Stream::new(3);
            for _ in 0..200 {
                let word = stream.next() & mask;
                let image = scramble.forward(word);
                assert!(image <= mask);
                assert_eq!(scramble.backward(image), word, "{bits} bits");
            }
        }
    }

    #[test]
    fn a_permutation_hits_every_number_once() {
        for count in [1, 2, 3, 5, 64, 65, 1000, 4096, 5000] {
            let permutation = Permutation::new(11, count);
            let mut images: Vec<u64> = (0..count).map(|number| permutation.at(number)).collect();
            images.sort_unstable();
            assert!(images.into_iter().eq(0..count), "{count}");
        }
    }

    #[test]
    fn a_permutation_spreads_a_range_over_all_positions() {
        let permutation = Permutation::new(5, 100_000);
        let mut hits = [0u32; 10];
        for number in 0..10_000 {
            hits[(permutation.at(number) / 10_000) as usize] += 1;
        }
        assert!(
            hits.iter().all(|hits| (850..1150).contains(hits)),
            "{hits:?}"
        );
    }
}
