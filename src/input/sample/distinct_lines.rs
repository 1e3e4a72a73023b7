//! An estimate of the different lines of an input, from a few windows of it.
//!
//! *Owns:* the hashes of sampled lines, and the estimate. *Invariants:* nothing but the plan depends on it; without
//! evidence of repeats all lines count as different. *Cost:* 8 bytes for each sampled line, at most [`MOST_LINES`] a
//! window, while the sample is taken.
//!
//! *Formulas.* A line may come again nearby (a sorted log) or anywhere. So each window counts a line once. Of N lines
//! of the input the share q was looked at. Of d different lines that were seen, f1 are in one window and f2 in two.
//!
//! ```text
//! least    d + f1² / (2 f2 + f1 q / (1 - q))      Chao and Lin: right if all lines come equally often, less than
//!                                                 there are if some come more often than others
//! likely   d + f1² / 2 f2                         Chao: the same, if lines are drawn at random and not dealt out
//! most     d - f1 + f1 / q                        no line that was seen once comes again elsewhere
//! ```
//!
//! Each line of the input adds 1 or more to what is expected of `most`, however often it comes. Two standard deviations
//! of f2 are added for `least`, and subtracted for `likely`, for which a set is sized. With few pairs all are `most`.
//!
//! Where one part of a file is a copy of another, two windows may have a piece of the same copy: all pairs come from a
//! few windows. So for `likely` no two windows count for many more pairs than most have: where those have l on average,
//! for l + 4 sqrt(l) + 2 at most (four standard deviations). And windows do not lie at even distances; see [`sample`].
//!
//! [`sample`]: crate::input::sample
//!
//! *Sources:* Chao, Nonparametric Estimation of the Number of Classes in a Population, 1984; Chao, Lin, Nonparametric
//! Lower Bounds for Species Richness under Sampling without Replacement, Biometrics 68 (2012); Haas et al.,
//! Sampling-Based Estimation of the Number of Distinct Values of an Attribute, VLDB 1995, on how little a sample can
//! know.

use crate::sys::checksum;

/// The most lines that are looked at in one window.
const MOST_LINES: usize = 1024;
/// The bits of a hash that have the number of a window.
const WINDOW_MASK: u64 = 63;
/// Fewer lines than these say nothing.
const LEAST_SEEN: u64 = 256;
/// Fewer pairs than these are no evidence.
const LEAST_PAIRS: f64 = 24.0;

/// The number of different lines of an input, as far as a sample shows it. If it shows no repeats, all three are
/// equal; if the number was estimated, `least` and `most` are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Distinct {
    /// The number if repeated lines come equally often; fewer are unlikely.
    pub least: u64,
    /// The number that a sample suggests, between the other two. Filters have the number of hashes that is best for it,
    /// and sets are sized for it.
    pub likely: u64,
    /// The number if no line that the sample has once comes again.
    pub most: u64,
}

impl Distinct {
    /// Returns a number that is known, or of which a sample shows nothing.
    pub fn exactly(lines: u64) -> Self {
        Self {
            least: lines,
            likely: lines,
            most: lines,
        }
    }

    /// Returns what `change` makes of each number.
    pub(crate) fn map(self, change: impl Fn(u64) -> u64) -> Self {
        Self {
            least: change(self.least),
            likely: change(self.likely),
            most: change(self.most),
        }
    }

    /// Adds the different lines of another input, which has none of the same.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_add(other.least),
            likely: self.likely.saturating_add(other.likely),
            most: self.most.saturating_add(other.most),
        }
    }
}

/// The lines of the windows that were seen.
#[derive(Debug)]
pub(super) struct WindowLines {
    /// A hash of each different line of each window; the last bits are the number of the window.
    hashes: Vec<u64>,
    /// Windows looked at.
    windows: u64,
    /// Lines that were looked at, repeats in one window included.
    seen: u64,
}

impl WindowLines {
    /// Has seen nothing. Takes the memory for all windows at once: a large allocation goes back to the system when it
    /// is freed; several that grow would stay with the process and count as its own.
    pub(super) fn new() -> Self {
        Self {
            hashes: Vec::with_capacity((WINDOW_MASK as usize + 1) * MOST_LINES),
            windows: 0,
            seen: 0,
        }
    }

    /// Looks at the lines of a window, which are whole.
    pub(super) fn add(&mut self, lines: &[u8], terminator: u8) {
        let start = self.hashes.len();
        let lines = lines.split(|&byte| byte == terminator);
        let number = self.windows.min(WINDOW_MASK);
        let hash = |line: &[u8]| checksum::of(line) & !WINDOW_MASK | number;
        self.hashes.extend(lines.take(MOST_LINES).map(hash));
        self.windows += 1;
        self.seen += (self.hashes.len() - start) as u64;
        self.hashes[start..].sort_unstable();
        // Those of the windows before have other numbers, and stay.
        self.hashes.dedup();
    }

    /// Estimates how many of `lines` lines are different.
    pub(super) fn distinct(mut self, lines: u64) -> Distinct {
        if self.seen < LEAST_SEEN {
            return Distinct::exactly(lines);
        }
        self.hashes.sort_unstable();
        let (mut seen_once, mut in_more) = (0u64, 0u64);
        let mut pairs = Vec::new();
        for group in self
            .hashes
            .chunk_by(|one, other| one | WINDOW_MASK == other | WINDOW_MASK)
        {
            match group {
                [_] => seen_once += 1,
                [one, other] => pairs.push((one & WINDOW_MASK, other & WINDOW_MASK)),
                _ => in_more += 1,
            }
        }
        let share = (self.seen as f64 / lines.max(1) as f64).min(1.0);
        let (once, in_more, all_pairs) = (seen_once as f64, in_more as f64, pairs.len() as f64);
        let counted = unclustered(pairs, self.windows);
        // The two lines of a pair that does not count are taken for different ones.
        let lone = once + 2.0 * (all_pairs - counted);
        let most = in_more + counted + lone / share;
        // With `below` under the line.
        let chao = |once: f64, pairs: f64, below: f64| {
            (in_more + pairs + once + once * once / below.max(1.0)).min(most)
        };
        let spread = |pairs: f64| 2.0 * pairs.sqrt();
        let least = if all_pairs < LEAST_PAIRS {
            most
        } else {
            let of_share = once * share / (1.0 - share).max(f64::MIN_POSITIVE);
            let pairs = all_pairs + spread(all_pairs);
            chao(once, all_pairs, 2.0 * pairs + of_share)
        };
        let likely = if counted < LEAST_PAIRS {
            most
        } else {
            chao(lone, counted, 2.0 * (counted - spread(counted))).max(least)
        };
        let whole = |number: f64| (number.ceil() as u64).min(lines);
        Distinct {
            least: whole(least),
            likely: whole(likely),
            most: whole(most),
        }
    }
}

/// Counts equal pairs, but no two of `windows` windows count for many more than most do. A pair is given by its two
/// windows.
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

    /// Estimates from 32 windows of 500 lines the distinct ones of `lines` lines, of which number `i` is `line(i)`.
    fn estimate(lines: u64, line: impl Fn(u64) -> u64) -> Distinct {
        let mut repeats = WindowLines::new();
        for window in 0..32 {
            let first = lines / 32 * window;
            let text: Vec<u8> = (first + 1..first + 501)
                .flat_map(|at| format!("{}\n", line(at)).into_bytes())
                .collect();
            repeats.add(text.trim_ascii_end(), b'\n');
        }
        repeats.distinct(lines)
    }

    /// A number that looks random.
    fn mix(i: u64) -> u64 {
        let i = (i ^ (i >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (i ^ (i >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
    }

    /// Each of `distinct` lines `times` times, in an order that looks random: the line at `i`.
    fn dealt(distinct: u64, times: u64) -> impl Fn(u64) -> u64 {
        let mut lines: Vec<u64> = (0..distinct * times).map(|i| i % distinct).collect();
        for last in (1..lines.len()).rev() {
            lines.swap(last, (mix(last as u64) % (last as u64 + 1)) as usize);
        }
        move |i| lines.get(i as usize).copied().unwrap_or(0)
    }

    #[test]
    fn lines_that_are_all_different_are_taken_for_that() {
        let all = 20_000_000;
        assert_eq!(estimate(all, |i| i), Distinct::exactly(all));
    }

    #[test]
    fn a18_lines_drawn_from_fewer_are_estimated_within_a_half() {
        for distinct in [100u64, 2_000, 10_000, 30_000, 200_000, 1_000_000] {
            let found = estimate(20_000_000, |i| mix(i) % distinct);
            let likely = found.likely as f64 / distinct as f64;
            assert!((0.9..1.5).contains(&likely), "{distinct}: {found:?}");
            let least = found.least as f64 / distinct as f64;
            assert!(least < 1.05 && found.most >= distinct, "{found:?}");
        }
    }

    #[test]
    fn a18_the_least_number_is_that_of_lines_that_come_equally_often() {
        for (distinct, times) in [(500_000, 2), (200_000, 5), (40_000, 50)] {
            let found = estimate(distinct * times, dealt(distinct, times));
            let least = found.least as f64 / distinct as f64;
            assert!((0.75..1.05).contains(&least), "{times}: {found:?}");
            assert!(found.most >= distinct, "{times}: {found:?}");
        }
    }

    #[test]
    fn a18_lines_of_which_few_come_very_often_are_between_the_bounds() {
        // Number i comes about as often as 1 / i says.
        let line =
            |i: u64| (300_000f64.powf((mix(i) % (1 << 20)) as f64 / f64::from(1 << 20))) as u64;
        let all: std::collections::HashSet<u64> = (0..1_000_000).map(line).collect();
        let (found, all) = (estimate(1_000_000, line), all.len() as u64);
        assert!(found.least <= all && all <= found.most, "{all}: {found:?}");
        assert!(found.likely > all / 8, "{all}: {found:?}");
    }

    #[test]
    fn repeats_nearby_count() {
        let found = estimate(20_000_000, |i| i / 20);
        assert!((900_000..1_100_000).contains(&found.least), "{found:?}");
        assert_eq!(found, Distinct::exactly(found.least));
    }

    #[test]
    fn a_copy_of_a_part_says_little() {
        // The second half of the file is a copy of the first.
        let found = estimate(1_000_000, |i| i % 500_000);
        assert!(found.likely > 900_000, "{found:?}");
        assert!(found.least <= 500_000 && found.most > 900_000, "{found:?}");
    }

    #[test]
    fn a_hot_line_says_nothing_about_the_others() {
        let found = estimate(20_000_000, |i| if mix(i).is_multiple_of(2) { 0 } else { i });
        assert!((9_000_000..11_000_000).contains(&found.least), "{found:?}");
    }
}
