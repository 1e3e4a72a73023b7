//! The counting filter: how likely a 4-bit counter is to overflow.
//!
//! *Owns:* the bound. Its false-positive rate is that of a flat filter with as many bits as there
//! are counters. *Invariants:* a chance stays in 0..=1. *Source:* Fan, Cao, Almeida,
//! Broder, "Summary Cache: A Scalable Wide-Area Web Cache Sharing Protocol", 2000, section 4.3:
//! P(a counter reaches i) <= (e n k / (i m))^i.

use std::f64::consts::E;

/// The highest number that a counter of 4 bits reaches; it stays there and never wraps.
pub const LARGEST_COUNT: u32 = 15;

/// Returns the chance, at most, that one counter exceeds [`LARGEST_COUNT`]: `(e l / 16)^16`, where
/// the load `l = n k / m` is the mean of a counter. With the best number of hashes `l` is `ln 2`.
///
/// ```
/// use outset::filter::sizing::counter_overflow;
/// assert!((counter_overflow(std::f64::consts::LN_2) - 1.37e-15).abs() < 1e-17);
/// ```
pub fn counter_overflow(load: f64) -> f64 {
    let count = LARGEST_COUNT + 1;
    (E * load.max(0.0) / f64::from(count))
        .powi(count as i32)
        .min(1.0)
}

/// Returns the chance, at most, that any of `counters` counters exceeds [`LARGEST_COUNT`] when `keys` distinct keys are
/// in the filter, each with `hashes` counters: `m (e n k / (16 m))^16`.
///
/// ```
/// use outset::filter::sizing::counting_overflow;
/// // With 7 hashes for the best 6.64, a counter's chance is not 1.37e-15 but 3.15e-15.
/// assert!((counting_overflow(9_585_059, 1_000_000, 7) / 9_585_059.0 - 3.15e-15).abs() < 1e-17);
/// ```
pub fn counting_overflow(counters: u64, keys: u64, hashes: u32) -> f64 {
    let counters = counters.max(1) as f64;
    let load = keys as f64 * f64::from(hashes) / counters;
    (counters * counter_overflow(load)).min(1.0)
}
