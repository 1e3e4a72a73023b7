//! The length of a line.
//!
//! *Owns:* the law of the lengths. *Invariants:* a length is a pure function of the line's index and
//! stream, never below the least of the form nor above [`LengthLaw::most`]. In integers only, so
//! that equal seeds give equal files on every machine. *Cost:* 1 to 2 ns.

use crate::amount::Share;
use crate::seed::Stream;

/// The law of the lengths of lines that are not long.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Usual {
    /// All alike.
    Exact(usize),
    /// Lengths like those of URLs: 64 bytes with a terminator on average, plus a constant.
    Url(usize),
    /// Uniform: the least length, and the number of lengths from it on.
    Uniform(usize, usize),
}

/// The law of the lengths of one run.
#[derive(Debug, Clone)]
pub(crate) struct LengthLaw {
    usual: Usual,
    long: Share,
    least_long: usize,
    longest: usize,
}

/// The least length of a line that counts as long, where the form allows it.
const LONG: usize = 4096;

impl LengthLaw {
    /// `usual` lengths, but for a share of long lines from `least` (or 4 KiB) up to `longest`.
    pub(crate) fn new(usual: Usual, long: Share, least: usize, longest: usize) -> Self {
        Self {
            usual,
            long,
            least_long: LONG.max(least).min(longest),
            longest,
        }
    }

    /// The length of line `index` of a class. With long lines, line 0 is never long (it is the one
    /// that is made hot) and line 1 is always the longest.
    #[inline]
    pub(crate) fn draw(&self, index: u64, stream: &mut Stream) -> usize {
        if !self.long.is_zero() {
            let is_long = stream.next() < self.long.threshold();
            if index == 1 {
                return self.longest;
            }
            if is_long && index != 0 {
                return self.draw_long(stream);
            }
        }
        match self.usual {
            Usual::Exact(length) => length,
            Usual::Url(plus) => plus + url_length(stream.next()),
            Usual::Uniform(least, spread) => least + stream.below(spread as u64) as usize,
        }
    }

    /// Each doubling of the length is as likely as any other.
    fn draw_long(&self, stream: &mut Stream) -> usize {
        let doublings = (self.longest / self.least_long).ilog2() + 1;
        let base = self.least_long << stream.below(u64::from(doublings));
        (base + stream.below(base as u64) as usize).min(self.longest)
    }

    /// About how long most lines are.
    pub(crate) fn typical(&self) -> usize {
        match self.usual {
            Usual::Exact(length) => length,
            Usual::Url(plus) => plus + 63,
            Usual::Uniform(least, spread) => least + spread / 2,
        }
    }

    /// No line is longer than this.
    pub(crate) fn most(&self) -> usize {
        let usual = match self.usual {
            Usual::Exact(length) => length,
            Usual::Url(plus) => plus + URL_LONGEST,
            Usual::Uniform(least, spread) => least + spread,
        };
        if self.long.is_zero() {
            usual
        } else {
            usual.max(self.longest)
        }
    }
}

/// The longest that [`url_length`] gives.
const URL_LONGEST: usize = 37 + 31 + 15 + 63;

/// From 37 to 146 bytes, 63 on average, with a tail of one line in eight.
#[inline]
fn url_length(word: u64) -> usize {
    let tail = if word >> 61 == 0 {
        (word >> 12) & 63
    } else {
        0
    };
    37 + ((word & 31) + ((word >> 5) & 15) + tail) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_63_bytes_on_average() {
        let mut stream = Stream::new(1);
        let sum: usize = (0..100_000).map(|_| url_length(stream.next())).sum();
        assert!((6_250_000..6_450_000).contains(&sum), "{sum}");
    }

    #[test]
    fn long_lines_are_as_many_and_as_long_as_asked() {
        let law = LengthLaw::new(Usual::Exact(20), Share::percent(10), 20, 1 << 20);
        let mut stream = Stream::new(2);
        let lengths: Vec<usize> = (0..20_000)
            .map(|index| law.draw(index, &mut stream))
            .collect();
        assert_eq!(lengths[..2], [20, 1 << 20]);
        assert!(
            lengths
                .iter()
                .all(|&length| length == 20 || (LONG..=1 << 20).contains(&length))
        );
        let long = lengths.iter().filter(|&&length| length > 20).count();
        assert!((1_800..2_200).contains(&long), "{long}");
        assert!(lengths.iter().filter(|&&length| length > 1 << 19).count() > 100);
    }
}
