//! How large a filter must be, and how often it is wrong: the formulas.
//!
//! *Owns:* every formula about filters; nothing else computes a rate. Pure functions of numbers:
//! counts are `u64`, rates `f64` in 0..1, bits per key `f64` (a budget of 6.87 bits is not 6).
//!
//! *Sources:* the flat filter: Bloom 1970; Broder and Mitzenmacher, "Network Applications of Bloom
//! Filters: A Survey", 2004. The blocked one: Putze, Sanders, Singler, "Cache-, Hash- and
//! Space-Efficient Bloom Filters", WEA 2007 (a Poisson mixture over the keys of a block).

use std::f64::consts::LN_2;

/// Bits of a block of the blocked filter: one cache line.
pub const BLOCK_BITS: u64 = 512;
/// The most bits per key that the blocked filter sets: two words of seven 9-bit fields.
pub const MAX_BLOCKED_HASHES: u32 = 14;

/// The false-positive rate of a flat Bloom filter: `(1 - e^(-k/b))^k` for `b` bits per key and `k`
/// hashes.
///
/// ```
/// use outset::filter::sizing::flat_fpr;
/// assert!((flat_fpr(6.87, 5) - 0.0369).abs() < 1e-4);
/// ```
pub fn flat_fpr(bits_per_key: f64, hashes: u32) -> f64 {
    if bits_per_key <= 0.0 {
        return 1.0;
    }
    let k = f64::from(hashes);
    (1.0 - (-k / bits_per_key).exp()).powf(k)
}

/// The best number of hashes of a flat filter, before rounding: `b ln 2`.
pub fn flat_hashes_exact(bits_per_key: f64) -> f64 {
    bits_per_key * LN_2
}

/// The bits a flat filter needs for `keys` keys at rate `fpr`: `-n ln p / (ln 2)^2`.
///
/// ```
/// use outset::filter::sizing::flat_bits;
/// assert_eq!(flat_bits(1_000_000, 0.0001).round(), 19_170_117.0);
/// ```
pub fn flat_bits(keys: u64, fpr: f64) -> f64 {
    -(keys as f64) * fpr.ln() / (LN_2 * LN_2)
}

/// The false-positive rate of a blocked filter with 512-bit blocks: the flat rate of a block with j
/// keys, averaged over the Poisson distribution of j.
///
/// ```
/// use outset::filter::sizing::blocked_fpr;
/// // RocksDB's comment states 0.9535 % by theory and 0.957 % measured for 10 bits and 6 probes.
/// assert!((blocked_fpr(10.0, 6) - 0.00957).abs() < 1e-4);
/// ```
pub fn blocked_fpr(bits_per_key: f64, hashes: u32) -> f64 {
    if bits_per_key <= 0.0 {
        return 1.0;
    }
    let mean = BLOCK_BITS as f64 / bits_per_key;
    // So many keys per block that their spread no longer matters: every block is full alike.
    if mean > 20_000.0 {
        return block_fpr(mean, hashes);
    }
    let spread = 12.0 * mean.sqrt() + 30.0;
    let (first, last) = ((mean - spread).max(0.0).floor(), (mean + spread).ceil());
    let mut log_probability = -mean + first * mean.ln() - ln_factorial(first);
    let (mut sum, mut keys) = (0.0, first);
    while keys <= last {
        sum += log_probability.exp() * block_fpr(keys, hashes);
        keys += 1.0;
        log_probability += mean.ln() - keys.ln();
    }
    sum.clamp(0.0, 1.0)
}

/// The number of hashes with the lowest rate for a blocked filter, and that rate. Fewer than the
/// flat filter's best.
///
/// ```
/// use outset::filter::sizing::best_blocked;
/// assert_eq!(best_blocked(6.87).0, 5);
/// ```
pub fn best_blocked(bits_per_key: f64) -> (u32, f64) {
    (1..=MAX_BLOCKED_HASHES)
        .map(|hashes| (hashes, blocked_fpr(bits_per_key, hashes)))
        .fold(
            (1, 1.0),
            |best, next| if next.1 < best.1 { next } else { best },
        )
}

/// The rate of one block that holds `keys` keys of `hashes` independent bits each.
fn block_fpr(keys: f64, hashes: u32) -> f64 {
    let k = f64::from(hashes);
    let free = (1.0 - 1.0 / BLOCK_BITS as f64).powf(k * keys);
    (1.0 - free).powf(k)
}

fn ln_factorial(n: f64) -> f64 {
    // Stirling with two terms: exact to 1e-9 from 10 on, and below that the product is short.
    if n < 10.0 {
        return (1..=n as u32).map(|i| f64::from(i).ln()).sum();
    }
    n * n.ln() - n + 0.5 * (2.0 * std::f64::consts::PI * n).ln() + 1.0 / (12.0 * n)
        - 1.0 / (360.0 * n.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() < 0.02 * expected,
            "{value} instead of {expected}"
        );
    }

    #[test]
    fn blocked_rates_are_those_of_the_literature() {
        // Rates in per cent by bits per key and k, from an exact computation of the same mixture.
        for (bits, hashes, percent) in [
            (5.0, 3, 9.29),
            (6.87, 5, 3.87),
            (8.0, 5, 2.31),
            (9.6, 6, 1.13),
            (12.0, 8, 0.407),
            (14.4, 9, 0.153),
            (16.0, 10, 0.083),
        ] {
            close(blocked_fpr(bits, hashes) * 100.0, percent);
            assert_eq!(best_blocked(bits).0, hashes, "best k at {bits} bits");
        }
    }

    #[test]
    fn flat_figures_of_the_mission() {
        close(flat_bits(5_000_000_000, 0.01) / 8e9, 5.99);
        close(flat_fpr(8.0, 6), 0.0216);
        close(flat_fpr(20.0, 10), 0.000_088_9);
        close(flat_hashes_exact(flat_bits(1, 0.0001)), 13.29);
    }

    #[test]
    fn rates_stay_rates_at_silly_sizes() {
        for bits in [0.0, 1e-9, 0.001, 0.1, 1.0, 100.0, 1e6, 1e12] {
            for hashes in 1..=MAX_BLOCKED_HASHES {
                for rate in [blocked_fpr(bits, hashes), flat_fpr(bits, hashes)] {
                    assert!(
                        (0.0..=1.0).contains(&rate),
                        "{bits} bits, {hashes} hashes: {rate}"
                    );
                }
            }
        }
        assert!(blocked_fpr(0.001, 1) > 0.99 && best_blocked(1000.0).1 < 1e-9);
    }
}

/// TEMP
pub fn collision_chance(keys: u64) -> f64 {
    let n = keys as f64;
    n * (n - 1.0).max(0.0) / 2.0 / 2f64.powi(128)
}
