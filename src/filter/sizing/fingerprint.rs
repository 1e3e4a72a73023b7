//! Digests of 128 bits in a table: how likely two lines are taken for one.
//!
//! *Owns:* the chances, and the slots for a number of keys. *Invariants:* a table is never fuller than
//! [`MOST_FULL`] of its slots. *Source:* the birthday bound; a digest is taken for
//! random because it is keyed.

/// The fullest that a table may be, as a fraction: 4 of 5 slots. Beyond it the search for a free
/// slot grows long.
const MOST_FULL: (u128, u128) = (4, 5);

/// The number of digests.
const DIGESTS: f64 = (1u128 << 127) as f64 * 2.0;

/// Returns the chance, at most, that any two of `keys` lines have the same digest: `n (n - 1) / 2 / 2^128`.
///
/// ```
/// use outset::filter::sizing::collision_chance;
/// assert!((collision_chance(5_000_000_000) - 3.67e-20).abs() < 1e-22);
/// ```
pub fn collision_chance(keys: u64) -> f64 {
    let keys = keys as f64;
    (keys * (keys - 1.0).max(0.0) / 2.0 / DIGESTS).min(1.0)
}

/// Returns the chance that a line that is none of `keys` lines has the digest of one: `n / 2^128`.
pub fn fingerprint_fpr(keys: u64) -> f64 {
    keys as f64 / DIGESTS
}

/// Returns the slots that a table needs for `keys` keys, 16 bytes each: 1.25 a key.
///
/// ```
/// use outset::filter::sizing::fingerprint_slots;
/// assert_eq!(fingerprint_slots(1_000_000), 1_250_000);
/// ```
pub fn fingerprint_slots(keys: u64) -> u64 {
    let slots = (u128::from(keys) * MOST_FULL.1).div_ceil(MOST_FULL.0);
    u64::try_from(slots).unwrap_or(u64::MAX)
}

/// Returns the keys that a table of this number of slots may hold.
pub fn fingerprint_capacity(slots: u64) -> u64 {
    (u128::from(slots) * MOST_FULL.0 / MOST_FULL.1) as u64
}
