//! The formulas: how large a filter must be, and how often it is wrong.
//!
//! *Owns:* every formula about filters; nothing else computes a rate. Pure functions of numbers:
//! counts are `u64`, rates `f64` in 0..1, bits per key `f64` (a budget of 6.87 bits is not 6).
//! [`flat_fpr`] and its like are about bits anywhere in the filter, [`blocked_fpr`] and its like
//! about bits of one cache line, [`counter_overflow`] about 4-bit counters, [`collision_chance`]
//! about digests in a table.
//!
//! *Invariants:* whatever comes in, a rate stays in 0..=1 and nothing panics. *Cost:* a few
//! operations; a blocked rate up to a few microseconds, the bits for one up to a few milliseconds.
//!
//! *Sources:* the flat filter: Bloom 1970; Broder and Mitzenmacher, "Network Applications of Bloom
//! Filters: A Survey", 2004. The blocked one: Putze, Sanders, Singler, "Cache-, Hash- and
//! Space-Efficient Bloom Filters", WEA 2007 (a Poisson mixture over the keys of a block). The exact
//! rate of a block: Bose et al., "On the false-positive rate of Bloom filters", 2008. Counters: Fan
//! et al., "Summary Cache", 2000.

mod blocked;
mod counting;
mod fingerprint;
mod flat;

pub use blocked::{
    BLOCK_BITS, MAX_BLOCKED_HASHES, MOST_BLOCKED_BITS_PER_KEY, best_blocked, blocked_bits_per_key,
    blocked_fpr, blocked_fpr_while_filling,
};
pub use counting::{LARGEST_COUNT, counter_overflow, counting_overflow};
pub use fingerprint::{collision_chance, fingerprint_capacity, fingerprint_fpr, fingerprint_slots};
pub use flat::{
    best_flat_hashes, flat_bits, flat_bits_per_key, flat_coincidence, flat_fpr, flat_hashes_exact,
    hash_table_bytes,
};

#[cfg(test)]
mod tests;
