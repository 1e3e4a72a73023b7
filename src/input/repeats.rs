//! How many lines of an input are different, from a few windows of it.
//!
//! *Owns:* the hashes of sampled lines, and the estimate. *Invariants:* nothing but the plan depends on it; without
//! evidence of repeats all lines count as different. *Cost:* 8 bytes for each sampled line, at most [`MOST_LINES`] a
//! window, while the sample is taken.
//!
//! *Formulas.* A line may come again nearby (a sorted log) or anywhere. So each window counts a line once, and what n
//! such lines of all windows have in common is seen between windows:
//!
//! - *Hot* lines are in three windows or more. They are few, and counted as they are.
//! - Of the m others, p pairs are equal. If N such lines are drawn from D that are equally likely, m of them have about
//!   m² / 2D equal pairs, so D is about m² / 2p. Two standard deviations of p are added, and D is at most N.
//!
//! Where one part of a file is a copy of another, two windows may have a piece of the same copy: all pairs come from a
//! few windows. So no two windows count for many more pairs than most have: where those have l on average, for
//! l + 4 sqrt(l) + 2 at most (four standard deviations). And windows do not lie at even distances; see [`sample`].
//!
//! [`sample`]: crate::input::sample
//!
//! Real lines are not equally likely, so there are more different lines than this says: the estimate is of those that
//! make up most of the input.
//!
//! *Sources:* the birthday problem; Haas et al., Sampling-Based Estimation of the Number of Distinct Values of an
//! Attribute, VLDB 1995, on how little a sample can know.

use crate::sys::checksum;

/// The most lines of one window that are looked at.
const MOST_LINES: usize = 512;
/// The bits of a hash that have the number of a window.
const WINDOW_MASK: u64 = 63;
/// Fewer lines than these say nothing.
const LEAST_SEEN: u64 = 256;
/// Fewer pairs than these are no evidence.
const LEAST_PAIRS: f64 = 24.0;

/// The lines of the windows that were seen.
#[derive(Debug)]
pub(super) struct Repeats {
    /// A hash of each different line of each window; the last bits are the number of the window.
    hashes: Vec<u64>,
    /// Windows looked at.
    windows: u64,
    /// Lines that were looked at, repeats in one window included.
    seen: u64,
}

impl Repeats {
    /// Nothing seen. Takes the memory for all windows at once: a large allocation goes back to the system when it is
    /// freed, where several that grow would stay with the process and count as its own.
    pub(super) fn new() -> Self {
        Self {
            hashes: Vec::with_capacity((WINDOW_MASK as usize + 1) * MOST_LINES),
            windows: 0,
            seen: 0,
        }
    }

    /// Looks at the whole lines of a window. Its first and its last piece may belong to other windows.
    pub(super) fn add(&mut self, window: &[u8], terminator: u8) {
        let start = self.hashes.len();
        let whole = |window: &[u8]| {
            let first = memchr::memchr(terminator, window)?;
            let last = memchr::memrchr(terminator, window)?;
            (first < last).then_some(first + 1..last)
        };
        let Some(whole) = whole(window) else {
            return;
        };
        let lines = window[whole].split(|&byte| byte == terminator);
        let number = self.windows.min(WINDOW_MASK);
        let hash = |line: &[u8]| checksum::of(line) & !WINDOW_MASK | number;
        self.hashes.extend(lines.take(MOST_LINES).map(hash));
        self.windows += 1;
        self.seen += (self.hashes.len() - start) as u64;
        self.hashes[start..].sort_unstable();
        // Those of the windows before have other numbers, and stay.
        self.hashes.dedup();
    }

    /// About how many of `lines` lines are different.
    pub(super) fn distinct(mut self, lines: u64) -> u64 {
        if self.seen < LEAST_SEEN {
            return lines;
        }
        self.hashes.sort_unstable();
        let (mut hot, mut hot_lines) = (0u64, 0u64);
        let mut pairs = Vec::new();
        for group in self
            .hashes
            .chunk_by(|one, other| one | WINDOW_MASK == other | WINDOW_MASK)
        {
            match group {
                [one, other] => pairs.push((one & WINDOW_MASK, other & WINDOW_MASK)),
                [_, _, _, ..] => (hot, hot_lines) = (hot + 1, hot_lines + group.len() as u64),
                _ => {}
            }
        }
        let pairs = unclustered(pairs, self.windows);
        let others = (self.hashes.len() as u64 - hot_lines) as f64;
        // Of the whole input, what is neither hot nor a repeat nearby.
        let all_others = lines as f64 * others / self.seen as f64;
        let different = if pairs < LEAST_PAIRS {
            all_others
        } else {
            (others * others / 2.0 / (pairs - 2.0 * pairs.sqrt())).min(all_others)
        };
        (hot + different.ceil() as u64).min(lines)
    }
}

/// How many equal pairs there are, if no two of `windows` windows count for many more than most do. A pair is given by
/// its two windows.
fn unclustered(mut pairs: Vec<(u64, u64)>, windows: u64) -> f64 {
    pairs.sort_unstable();
    let of_two: Vec<usize> = pairs
        .chunk_by(|one, other| one == other)
        .map(<[_]>::len)
        .collect();
    let all = (windows * windows.saturating_sub(1) / 2) as usize;
    // Without the tenth that has most; those that have none are not in the list.
    let mut counts = of_two.clone();
    counts.sort_unstable();
    let most = all - all / 10;
    let none = all.saturating_sub(counts.len());
    let in_most: usize = counts.iter().take(most.saturating_sub(none)).sum();
    let mean = in_most as f64 / most.max(1) as f64;
    let cap = mean + 4.0 * mean.sqrt() + 2.0;
    of_two.iter().map(|&count| (count as f64).min(cap)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What 32 windows of 500 lines say of `lines` lines, of which number `i` is `line(i)`.
    fn estimate(lines: u64, line: impl Fn(u64) -> u64) -> f64 {
        let mut repeats = Repeats::new();
        for window in 0..32 {
            let first = lines / 32 * window;
            let text: Vec<u8> = (first..first + 502)
                .flat_map(|at| format!("{}\n", line(at)).into_bytes())
                .collect();
            repeats.add(&text, b'\n');
        }
        repeats.distinct(lines) as f64
    }

    /// A number that looks random.
    fn mix(i: u64) -> u64 {
        let i = (i ^ (i >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (i ^ (i >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
    }

    #[test]
    fn lines_that_are_all_different_are_taken_for_that() {
        assert!(estimate(20_000_000, |i| i) >= 20_000_000.0);
    }

    #[test]
    fn a18_lines_drawn_from_fewer_are_estimated_within_a_half() {
        for distinct in [100u64, 2_000, 30_000, 200_000, 1_000_000] {
            let found = estimate(20_000_000, |i| mix(i) % distinct) / distinct as f64;
            assert!((0.6..1.7).contains(&found), "{distinct}: {found}");
        }
    }

    #[test]
    fn repeats_nearby_count() {
        let found = estimate(20_000_000, |i| i / 20) / 1_000_000.0;
        assert!((0.9..1.1).contains(&found), "{found}");
    }

    #[test]
    fn a_copy_of_a_part_says_nothing() {
        // The second half of the file is a copy of the first.
        let found = estimate(1_000_000, |i| i % 500_000);
        assert!(found > 900_000.0, "{found}");
    }

    #[test]
    fn a_hot_line_says_nothing_about_the_others() {
        let found = estimate(20_000_000, |i| if mix(i).is_multiple_of(2) { 0 } else { i });
        assert!((9e6..11e6).contains(&found), "{found}");
    }
}
