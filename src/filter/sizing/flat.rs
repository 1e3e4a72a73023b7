//! The flat filter: bits (or counters) anywhere in it.
//!
//! *Owns:* the textbook's formulas, which the classic, the counting and the spectral filter share: a
//! counter that is not zero stands for a bit that is set. *Invariants:* rates stay in 0..=1.
//! *Sources:* Bloom 1970; Broder and Mitzenmacher 2004. That k positions from two
//! hashes have the same rate as k hashes in a large filter: Kirsch and Mitzenmacher, "Less Hashing, Same
//! Performance", 2006. What a small one has besides: Dillinger and Manolios, "Bloom Filters in Probabilistic
//! Verification", 2004.

use std::f64::consts::LN_2;

/// Returns the false-positive rate of a flat Bloom filter: `(1 - e^(-k/b))^k` for `b` bits per key and `k` hashes.
///
/// ```
/// use outset::filter::sizing::flat_fpr;
/// assert!((flat_fpr(6.87, 5) - 0.0369).abs() < 1e-4);
/// ```
pub fn flat_fpr(bits_per_key: f64, hashes: u32) -> f64 {
    if bits_per_key.is_nan() || bits_per_key <= 0.0 {
        return 1.0;
    }
    let k = f64::from(hashes);
    // As 1 - e^x, but right to the last digit where a filter is nearly empty.
    (-(-k / bits_per_key).exp_m1()).powf(k)
}

/// Returns the chance that a line has the very cells of one of `keys` keys, because the two numbers below `cells` are
/// the same from which the cells of each follow: n/m^2. No number of hashes makes it smaller: of a small filter it is
/// most of the rate (Dillinger and Manolios, 2004, on the accuracy of double hashing).
///
/// ```
/// use outset::filter::sizing::{flat_coincidence, flat_fpr};
/// // Ten lines in 288 bits: the textbook's formula says one in a million.
/// assert!(flat_fpr(28.8, 20) < 1.1e-6);
/// assert!((flat_coincidence(10.0, 288) - 1.2e-4).abs() < 1e-6);
/// ```
pub fn flat_coincidence(keys: f64, cells: u64) -> f64 {
    let cells = cells.max(1) as f64;
    (keys / cells / cells).clamp(0.0, 1.0)
}

/// Returns the best number of hashes of a flat filter, before rounding: `b ln 2`.
pub fn flat_hashes_exact(bits_per_key: f64) -> f64 {
    bits_per_key * LN_2
}

/// Returns the best whole number of hashes of a flat filter, from 1 to `most`: of the two next to `b ln 2` the one with
/// the lower rate.
///
/// ```
/// use outset::filter::sizing::best_flat_hashes;
/// assert_eq!(best_flat_hashes(8.0, 64), 6);
/// ```
pub fn best_flat_hashes(bits_per_key: f64, most: u32) -> u32 {
    // A conversion from f64 saturates, and takes NaN for 0: the clamp makes every input safe.
    let fewer = (flat_hashes_exact(bits_per_key) as u32).clamp(1, most.max(1));
    let more = fewer.saturating_add(1).min(most.max(1));
    if flat_fpr(bits_per_key, more) < flat_fpr(bits_per_key, fewer) {
        more
    } else {
        fewer
    }
}

/// Returns the bits that a flat filter needs for `keys` keys at rate `fpr`: `-n ln p / (ln 2)^2`.
///
/// ```
/// use outset::filter::sizing::flat_bits;
/// assert_eq!(flat_bits(1_000_000, 0.0001).round(), 19_170_117.0);
/// ```
pub fn flat_bits(keys: u64, fpr: f64) -> f64 {
    -(keys as f64) * fpr.ln() / (LN_2 * LN_2)
}

/// Returns the bits per key at which a flat filter with exactly `hashes` hashes has the rate `fpr`: the rate's formula
/// solved for b, `-k / ln(1 - p^(1/k))`.
///
/// ```
/// use outset::filter::sizing::{flat_bits_per_key, flat_fpr};
/// // The plain bitmap with one hash: a hundred bits a key for one per cent, against 9.6.
/// assert!((flat_bits_per_key(0.01, 1) - 99.5).abs() < 0.01);
/// assert!((flat_fpr(flat_bits_per_key(0.01, 1), 1) - 0.01).abs() < 1e-12);
/// ```
pub fn flat_bits_per_key(fpr: f64, hashes: u32) -> f64 {
    let k = f64::from(hashes.max(1));
    -k / (-fpr.powf(1.0 / k)).ln_1p()
}

/// Returns the bytes that a hash table of `keys` keys would take, for comparison: 1.5 slots of 8 bytes a key. The lines
/// themselves are not in it.
pub fn hash_table_bytes(keys: u64) -> u64 {
    keys.saturating_mul(12)
}
