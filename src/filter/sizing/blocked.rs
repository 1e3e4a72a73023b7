//! The blocked filter: all bits of a key in one block of 512.
//!
//! *Owns:* its exact rate, and what follows from it: the best number of hashes, the bits for a rate.
//! *Invariants:* rates stay in 0..=1 and fall as bits per key grow. *Cost:* [`blocked_fpr`] a
//! fraction of a microsecond, a few below 1 in 100,000; [`blocked_bits_per_key`] up to a few
//! milliseconds.
//!
//! A block holds j keys, where j is Poisson distributed (Putze, Sanders, Singler 2007), and so has
//! had `r = k j` bits thrown into it. To put the *mean* share of set bits to the power k, as is
//! often done, is not enough: the share varies at a given j, a power is convex, and the rate comes
//! out too low, by 0.2 % of itself at 5 bits a key and 3 % at 20. The exact rate asks about the
//! positions of the question instead. They are D distinct ones of the M = 512, and that r bits cover
//! all of d given positions has the probability (inclusion and exclusion; Bose et al. 2008)
//!
//! ```text
//! covered(r, d) = sum over i = 0..d of (-1)^i C(d, i) (1 - i/M)^r
//! ```
//!
//! whose mean over j comes out closed, because for j of mean λ that of x^j is e^(-λ (1 - x)):
//!
//! ```text
//! rate = sum over d of P(D = d) sum over i of (-1)^i C(d, i) e^(-λ (1 - (1 - i/M)^k))
//! ```

/// Bits of a block of the blocked filter: one cache line.
pub const BLOCK_BITS: u64 = 512;
/// The most bits per key that the blocked filter sets: two words of seven 9-bit fields.
pub const MAX_BLOCKED_HASHES: u32 = 14;
/// The number of bits per key at which [`blocked_bits_per_key`] gives up: two million blocks for a key.
pub const MOST_BLOCKED_BITS_PER_KEY: f64 = 1e9;

const M: f64 = BLOCK_BITS as f64;
/// One value for each number of positions, from none to the most.
type PerPosition = [f64; MAX_BLOCKED_HASHES as usize + 1];
/// Below it the terms of the closed sum, of up to 3432, cancel to fewer than eight digits.
const LEAST_BY_CLOSED_SUM: f64 = 1e-5;
/// The factor by which a computed rate must be below the one to be kept, so that the last digits of either sum decide
/// nothing.
const MARGIN: f64 = 1.0 - 1e-7;

/// Returns the false-positive rate of a blocked filter with 512-bit blocks: the chance that a block of as many keys as
/// it happens to hold covers all bits of a question. `hashes` is taken for 1 to [`MAX_BLOCKED_HASHES`].
///
/// Exact for independent bits and many blocks: from simulations of a million blocks with 5 to 20
/// bits a key it is off by 0.01 % to 0.06 % of itself, less than their standard error. A filter of
/// a handful of blocks differs, for its keys are not Poisson distributed over them.
///
/// ```
/// use outset::filter::sizing::blocked_fpr;
/// // The flat filter has 0.844 % there: so much do the blocks cost.
/// assert!((blocked_fpr(10.0, 6) - 0.009_665).abs() < 1e-6);
/// ```
pub fn blocked_fpr(bits_per_key: f64, hashes: u32) -> f64 {
    if bits_per_key.is_nan() || bits_per_key <= 0.0 {
        return 1.0;
    }
    let hashes = hashes.clamp(1, MAX_BLOCKED_HASHES);
    // More keys than that fill every block; the bound keeps infinity out of the sums.
    let mean_keys = (M / bits_per_key).min(1e9);
    let rate = by_closed_sum(mean_keys, hashes);
    if rate < LEAST_BY_CLOSED_SUM {
        by_positive_sum(mean_keys, hashes).clamp(0.0, 1.0)
    } else {
        rate.min(1.0)
    }
}

/// Steps of the mean over a filter that fills up.
const FILLING_STEPS: u32 = 24;

/// Returns the mean rate of a blocked filter that is asked for each key just before it is inserted, from the first key
/// to the last: a half of the last rate with one hash and many bits, and less with more hashes.
///
/// By Simpson's rule over the number of keys, off by less than a thousandth of itself.
///
/// ```
/// use outset::filter::sizing::{blocked_fpr, blocked_fpr_while_filling};
/// let share = |bits, hashes| blocked_fpr_while_filling(bits, hashes) / blocked_fpr(bits, hashes);
/// assert!((share(1000.0, 1) - 0.5).abs() < 0.01);
/// assert!((0.10..0.25).contains(&share(10.0, 6)));
/// ```
pub fn blocked_fpr_while_filling(bits_per_key: f64, hashes: u32) -> f64 {
    let rate = |step: u32| {
        let share = f64::from(step) / f64::from(FILLING_STEPS);
        // An empty filter has no key.
        if step == 0 {
            0.0
        } else {
            blocked_fpr(bits_per_key / share, hashes)
        }
    };
    let weight = |step: u32| match step {
        0 | FILLING_STEPS => 1.0,
        odd if odd % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let sum: f64 = (0..=FILLING_STEPS)
        .map(|step| weight(step) * rate(step))
        .sum();
    sum / 3.0 / f64::from(FILLING_STEPS)
}

/// Returns the number of hashes with the lowest rate for a blocked filter, and that rate. Fewer than the flat filter's
/// best.
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

/// Returns the fewest bits per key at which a blocked filter has a rate of at most `fpr`, with `hashes` hashes or with
/// the best number of them. [`MOST_BLOCKED_BITS_PER_KEY`] if the rate is not reached before.
///
/// ```
/// use outset::filter::sizing::{best_blocked, blocked_bits_per_key};
/// let bits = blocked_bits_per_key(0.01, None);
/// assert!(best_blocked(bits).1 <= 0.01 && best_blocked(bits * 0.999).1 > 0.01);
/// ```
pub fn blocked_bits_per_key(fpr: f64, hashes: Option<u32>) -> f64 {
    let reaches = |bits: f64| {
        let rate = hashes.map_or_else(|| best_blocked(bits).1, |k| blocked_fpr(bits, k));
        rate <= fpr * MARGIN
    };
    let (mut fewest, mut enough) = (1e-3, MOST_BLOCKED_BITS_PER_KEY);
    if reaches(fewest) {
        return fewest;
    }
    // The range is wide, so it is halved by ratio, until the ninth digit is known.
    while enough > fewest * (1.0 + 1e-9) {
        let middle = (fewest * enough).sqrt();
        if reaches(middle) {
            enough = middle;
        } else {
            fewest = middle;
        }
    }
    enough
}

/// Returns the probabilities that the positions of a question, `hashes` of them, are 0, 1, 2... distinct ones: each
/// next one is new with probability `1 - d/M`.
fn distinct_positions(hashes: u32) -> PerPosition {
    let mut probability = [0.0; _];
    probability[0] = 1.0;
    for _ in 0..hashes {
        for d in (1..probability.len()).rev() {
            let one_less = (d - 1) as f64;
            probability[d] =
                probability[d] * (d as f64 / M) + probability[d - 1] * (1.0 - one_less / M);
        }
        probability[0] = 0.0;
    }
    probability
}

/// Computes the rate by the formula in the module's header.
fn by_closed_sum(mean_keys: f64, hashes: u32) -> f64 {
    let probability = distinct_positions(hashes);
    // Turns from the chance that i positions are free into the i-th difference, in place: after d
    // rounds the first is the chance that d positions are covered.
    let mut differences: PerPosition = [0.0; _];
    for (i, free) in differences.iter_mut().enumerate() {
        let stays_free = (1.0 - i as f64 / M).powi(hashes as i32);
        *free = (-mean_keys * (1.0 - stays_free)).exp();
    }
    let mut rate = 0.0;
    for (d, probability) in probability.iter().enumerate().take(hashes as usize + 1) {
        rate += probability * differences[0];
        for i in 0..hashes as usize - d {
            differences[i] -= differences[i + 1];
        }
    }
    rate
}

/// Computes the same rate from positive terms only, bit by bit and key by key: slower, and right to many digits however
/// small it is. For filters of few keys a block.
fn by_positive_sum(mean_keys: f64, hashes: u32) -> f64 {
    let probability = distinct_positions(hashes);
    let most_keys = (mean_keys + 12.0 * mean_keys.sqrt() + 30.0) as u32;
    // covered[d]: the chance that the bits so far cover d given positions. The next bit is one of
    // them with probability d/M, and then the earlier ones have covered the others.
    let mut covered: PerPosition = [0.0; _];
    covered[0] = 1.0;
    let mut weight = (-mean_keys).exp();
    let mut rate = 0.0;
    for keys in 1..=most_keys {
        weight *= mean_keys / f64::from(keys);
        for _ in 0..hashes {
            for d in (1..=hashes as usize).rev() {
                let hit = d as f64 / M;
                covered[d] = hit * covered[d - 1] + (1.0 - hit) * covered[d];
            }
        }
        let of_block: f64 = covered.iter().zip(&probability).map(|(c, p)| c * p).sum();
        rate += weight * of_block;
        // A block covers everything at most, and from the mean on each weight is at most this fraction of the one
        // before.
        let fraction = mean_keys / f64::from(keys + 1);
        if fraction < 1.0 && weight * fraction / (1.0 - fraction) < rate * f64::EPSILON / 2.0 {
            break;
        }
    }
    rate
}
