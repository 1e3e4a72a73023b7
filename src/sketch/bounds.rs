//! The distance that an estimate from a sample can have from the true number.
//!
//! *Owns:* [`Bounds`], and the two kinds of them that sketches need. *Invariants:* the truth is between
//! the bounds in at least [`CONFIDENCE`] of all samples, and below or above them in at most half of the
//! rest each. *Cost:* some thousand additions a bound.
//!
//! Each different line is in the sample with one probability, so the number that is seen is binomial.
//! The bounds are those populations (or shares) for which seeing so few, or so many, would be too rare
//! (Clopper and Pearson): right for a handful as for millions, with no normal approximation; the whole
//! numbers make them a little wide. Where the threshold follows from the sample, as it does in a
//! sketch, the number below it is the fixed one and the share the random one; the tails are then the
//! same but for one line (`n` have `k` or more below `t` just when the `k`th is below `t`).
//!
//! *Sources:* Clopper, Pearson, Biometrika 26 (1934); the same use of the binomial for theta
//! sketches: Dasgupta, Lang, Rhodes, Thaler, ICDT 2016; its tails as a continued fraction of the
//! incomplete beta function: Abramowitz, Stegun, 26.5.8 and 26.5.24; the gamma function by
//! Stirling's series, 6.1.40.

use serde::Serialize;

/// The share of samples in which the truth is between the bounds, at least.
pub(crate) const CONFIDENCE: f64 = 0.99;
/// The share of samples in which it is above them, and of those in which it is below, at most.
const TAIL: f64 = (1.0 - CONFIDENCE) / 2.0;
/// Halvings of an interval: an interval of any length that occurs shrinks to 14 digits.
const HALVINGS: u32 = 48;
/// Terms of a continued fraction at most. It needs about the square root of its larger parameter, so this is
/// enough for some 10^12 lines seen.
const MOST_TERMS: u32 = 2_000_000;

/// An estimate, and the bounds between which the truth is in at least 99 of 100 runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    /// The estimate.
    pub estimate: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Bounds {
    /// Makes the bounds of a number that is known: all three are equal.
    pub(crate) fn exactly(value: f64) -> Self {
        Self {
            estimate: value,
            low: value,
            high: value,
        }
    }

    /// Narrows these bounds for a quantity that is known to be at most the one that `other` bounds.
    pub(crate) fn within(self, other: Self) -> Self {
        Self {
            estimate: self.estimate.min(other.estimate),
            low: self.low.min(other.high),
            high: self.high.min(other.high),
        }
    }

    /// Returns the bounds of the rest without `part`, of which at least `certain` is known to be left.
    pub(crate) fn minus(self, part: f64, certain: f64) -> Self {
        let left = |value: f64| (value - part).max(certain);
        Self {
            estimate: left(self.estimate),
            low: left(self.low),
            high: left(self.high),
        }
    }

    /// Returns true if the number is exact, with both bounds equal to it.
    pub fn is_exact(&self) -> bool {
        self.low >= self.high
    }
}

/// Estimates the size of a population of which `seen` are in a sample that has each with probability `share`, 0..1 and
/// not 0.
///
/// The lower bound is the population n in which `seen` or more would be in the sample in only half a per cent
/// of all cases; the upper bound that in which `seen` or fewer would be. Both follow from the binomial tails,
/// which are values of `beta`.
pub(super) fn population(seen: u64, share: f64) -> Bounds {
    let seen = seen as f64;
    if share >= 1.0 {
        return Bounds::exactly(seen);
    }
    let estimate = seen / share;
    // Eleven standard deviations and more: the bounds are within.
    let far = (seen + 11.0 * (seen + 9.0).sqrt()) / share;
    let low = if seen == 0.0 {
        0.0
    } else {
        halve(seen, estimate, |count| {
            beta(share, seen, count - seen + 1.0) > TAIL
        })
    };
    let high = halve(estimate.max(seen), far, |count| {
        1.0 - beta(share, seen + 1.0, count - seen) < TAIL
    });
    Bounds {
        estimate,
        low: low.floor().max(seen),
        high: high.ceil(),
    }
}

/// Estimates the share of a population, 0..1, that has a property, from a sample: `hits` of its `seen` members have it.
/// Without a sample anything is possible: 0 to 1.
pub(crate) fn proportion(hits: u64, seen: u64) -> Bounds {
    let (hits, seen) = (hits as f64, seen as f64);
    if seen == 0.0 {
        return Bounds {
            estimate: 0.0,
            low: 0.0,
            high: 1.0,
        };
    }
    let estimate = hits / seen;
    let low = if hits == 0.0 {
        0.0
    } else {
        halve(0.0, estimate, |share| {
            beta(share, hits, seen - hits + 1.0) > TAIL
        })
    };
    let high = if hits >= seen {
        1.0
    } else {
        halve(estimate, 1.0, |share| {
            1.0 - beta(share, hits + 1.0, seen - hits) < TAIL
        })
    };
    Bounds {
        estimate,
        low,
        high,
    }
}

/// Finds the point between `low` and `high` at which `is_above`, which is false and then true, becomes true.
fn halve(mut low: f64, mut high: f64, is_above: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if is_above(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Computes the regularised incomplete beta function: the probability that of `a + b - 1` trials with probability `x`
/// at least `a` succeed.
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || b <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let scale = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * f64::ln_1p(-x);
    // Each half converges fast where the other does not.
    if x < (a + 1.0) / (a + b + 2.0) {
        scale.exp() / (a * fraction(x, a, b))
    } else {
        1.0 - scale.exp() / (b * fraction(1.0 - x, b, a))
    }
}

/// Computes the continued fraction of [`beta`] below the line, by the method of Lentz.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let off_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut value, mut upper, mut lower) = (1.0, 1.0, 0.0);
    for term in 0..MOST_TERMS {
        let m = f64::from(term / 2);
        let factor = match term {
            0 => -(a + b) * x / (a + 1.0),
            even if even % 2 == 0 => {
                -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
            }
            _ => {
                let m = m + 1.0;
                m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
            }
        };
        lower = 1.0 / off_zero(1.0 + factor * lower);
        upper = off_zero(1.0 + factor / upper);
        let step = upper * lower;
        value *= step;
        if (step - 1.0).abs() < 1e-13 {
            break;
        }
    }
    value
}

/// Computes the logarithm of the gamma function.
fn ln_gamma(x: f64) -> f64 {
    // The series needs a large argument; smaller ones are moved there.
    let (mut large, mut product) = (x, 1.0);
    while large < 16.0 {
        product *= large;
        large += 1.0;
    }
    let square = 1.0 / (large * large);
    let series =
        (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / large;
    let half_ln_tau = 0.5 * std::f64::consts::TAU.ln();
    (large - 0.5) * large.ln() - large + half_ln_tau + series - f64::ln(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_the_binomial() {
        // Summed term by term.
        for (n, p) in [(5u32, 0.5f64), (40, 0.03), (200, 0.7)] {
            let mut term = (1.0 - p).powi(n as i32);
            let mut below = 0.0;
            for successes in 1..=n {
                below += term;
                term *= f64::from(n - successes + 1) / f64::from(successes) * p / (1.0 - p);
                let tail = beta(p, f64::from(successes), f64::from(n - successes + 1));
                assert!(
                    (tail - (1.0 - below)).abs() < 1e-10,
                    "{n} {p} {successes}: {tail}, {below}"
                );
            }
        }
    }

    #[test]
    fn bounds_are_those_of_the_tables() {
        // The textbooks' limits for Poisson counts, which a small share gives.
        for (seen, low, high) in [(0, 0.0, 5.298), (1, 0.00501, 7.430), (10, 3.717, 21.398)] {
            let bounds = population(seen, 1e-6);
            assert!((bounds.low * 1e-6 - low).abs() < 2e-3, "{seen}: {bounds:?}");
            assert!(
                (bounds.high * 1e-6 - high).abs() < 2e-3,
                "{seen}: {bounds:?}"
            );
        }
        // Clopper and Pearson's for 2 of 10.
        let share = proportion(2, 10);
        assert!((share.low - 0.0109).abs() < 1e-4 && (share.high - 0.6482).abs() < 1e-4);
        assert_eq!(population(7, 1.0), Bounds::exactly(7.0));
    }

    #[test]
    fn large_numbers_give_the_normal_bounds() {
        let share = 65_536.0 / 5e9;
        let bounds = population(65_536, share);
        let spread = 2.5758 * 256.0 / share;
        for bound in [bounds.estimate - bounds.low, bounds.high - bounds.estimate] {
            assert!((bound / spread - 1.0).abs() < 0.01, "{bounds:?}");
        }
    }
}
