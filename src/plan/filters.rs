//! The sizes of the filters, and the time at which the second one is built.
//!
//! *Owns:* the shapes of filters and the choice between two ways to a sieve's second filter.
//! *Invariants:* shapes are whole blocks; together the filters fit the room given.
//!
//! The second filter holds what survived of the further inputs, for the second reading of the
//! first. It can be *fed* while they are spilled: then it shares memory with the first filter, and
//! its size is a guess. Or it is built *afterwards*, from the survivors in their buckets: then each
//! filter has all of the memory and the number of keys is known, at the price of reading the
//! survivors once more.
//!
//! ```text
//! fed         room │ first filter, 5/6           │ second, 1/6 │   survivors: written, read
//! afterwards  room │ first filter, then the second, all of it  │   survivors: written, read, read
//! ```
//!
//! Counting these bytes, building afterwards moves fewer of them below 7 bits a key (a test compares both).
//!
//! *Formulas*, in lines or bytes alike, with c the share of A that is common and f1, f2 the rates of the
//! filters: of B survive c A + f1 (B - c A); of A survive c A + f2 (A - c A).

use crate::filter::Shape;
use crate::filter::sizing::{best_blocked, blocked_fpr};
use crate::input::sample::distinct_lines::Distinct;
use crate::plan::FilterPlan;
use crate::plan::sizes::Sizes;

/// A filter of survivors is laid out for this multiple of what is expected: the rate of an overfull filter
/// grows fast.
pub(super) const SURVIVOR_SLACK: f64 = 1.25;

/// The most bits per key of any filter of a run. More are of no use, as one line in ten thousand million
/// passes by mistake; and the bound keeps absurd requests from overflowing.
pub(super) const MOST_BITS_PER_KEY: f64 = 128.0;
/// The part of the room that a fed second filter has: at 6 bits a key in all and a tenth common, that is
/// where the fewest lines survive both.
const FED_SHARE: u64 = 6;
/// Bits per key below which the second filter is built afterwards.
const FEW_BITS_PER_KEY: f64 = 7.0;

impl FilterPlan {
    /// Plans the largest blocked filter for `keys` keys that has at most `bytes` bytes and, but for rounding up to a
    /// whole block, at most `most` bits a key; with the best number of hashes. At least one block, even where `bytes`
    /// is less.
    pub(crate) fn new(keys: u64, bytes: u64, most: f64) -> Self {
        let keys = keys.max(1);
        let capped = (keys as f64 * most.min(MOST_BITS_PER_KEY) / 512.0).ceil() * 512.0;
        let bits = ((bytes as f64 * 8.0).min(capped) as u64).max(512) / 512 * 512;
        let bits_per_key = bits as f64 / keys as f64;
        let (hashes, _) = best_blocked(bits_per_key);
        Self {
            kind: "blocked",
            bits,
            hashes,
            keys,
            bits_per_key,
            predicted_fpr: blocked_fpr(bits_per_key, hashes),
            most_fpr: None,
            overfull_for: None,
        }
    }

    /// Plans the same filter for lines of which only some are different. The number of hashes is the best one for the
    /// likely number of different lines. The rate that is announced and judged by is that of the least number: so a
    /// filter that turns out fuller is noticed.
    pub(crate) fn for_different(self, lines: Distinct) -> Self {
        let bits_for = |keys: u64| self.bits as f64 / keys.max(1) as f64;
        let (hashes, _) = best_blocked(bits_for(lines.likely));
        let fpr = |keys| blocked_fpr(bits_for(keys), hashes);
        Self {
            hashes,
            keys: lines.least.max(1),
            bits_per_key: bits_for(lines.least),
            predicted_fpr: fpr(lines.least),
            most_fpr: (lines.most > lines.least).then(|| fpr(lines.most)),
            ..self
        }
    }

    /// Returns the highest rate that is predicted.
    pub(crate) fn highest_fpr(&self) -> f64 {
        self.most_fpr.unwrap_or(self.predicted_fpr)
    }

    /// Describes a filter that exists: with this many keys, and judged to have this rate.
    pub(crate) fn existing(shape: Shape, keys: u64, fpr: f64) -> Self {
        Self {
            kind: shape.kind.name(),
            bits: shape.bits(),
            hashes: shape.hashes,
            keys,
            bits_per_key: shape.bits() as f64 / keys.max(1) as f64,
            predicted_fpr: fpr,
            most_fpr: None,
            overfull_for: None,
        }
    }
}

/// The filters of a sieve, and the bytes that it moves besides reading its inputs.
#[derive(Debug, Clone, Copy)]
pub(super) struct SievePlan {
    /// The filter of the first input.
    pub(super) first: FilterPlan,
    /// The filter of the survivors, where it is fed while they are spilled; `None` if it is built
    /// afterwards, if at all.
    pub(super) fed: Option<FilterPlan>,
    /// Bytes that survive of all inputs: written, and read by the join.
    pub(super) survivors: u64,
    /// Bytes that are read once more to build the second filter; 0 where it is fed.
    pub(super) read_back: u64,
}

impl SievePlan {
    /// Chooses the way that moves fewer bytes, in `room` bytes of memory and with `cap` bits per key at most.
    pub(super) fn new(sizes: &Sizes, room: u64, cap: f64) -> Self {
        let afterwards = Self::afterwards(sizes, room, cap);
        if afterwards.first.bits_per_key < FEW_BITS_PER_KEY {
            afterwards
        } else {
            Self::fed(sizes, room, cap)
        }
    }

    /// Plans two filters one after the other, each in all of `room`.
    fn afterwards(sizes: &Sizes, room: u64, cap: f64) -> Self {
        let first = FilterPlan::new(sizes.build.lines, room, cap);
        let second = FilterPlan::new(expected_survivors(sizes, &first), room, cap);
        Self {
            first,
            fed: None,
            survivors: surviving_bytes(sizes, first.predicted_fpr, second.predicted_fpr),
            read_back: surviving_others(sizes, first.predicted_fpr) as u64,
        }
    }

    /// Plans two filters at the same time: 5/6 of `room` for the first, 1/6 for the second.
    fn fed(sizes: &Sizes, room: u64, cap: f64) -> Self {
        let first = FilterPlan::new(sizes.build.lines, room - room / FED_SHARE, cap);
        let second = FilterPlan::new(expected_survivors(sizes, &first), room / FED_SHARE, cap);
        // The filter is laid out for more keys than are expected; its rate is that of the expected number.
        let keys = second.keys as f64 / SURVIVOR_SLACK;
        let second_fpr = blocked_fpr(second.bits as f64 / keys, second.hashes);
        Self {
            first,
            fed: Some(second),
            survivors: surviving_bytes(sizes, first.predicted_fpr, second_fpr),
            read_back: 0,
        }
    }
}

/// Estimates the lines of the last input that the first filter lets through, with slack: a filter of the survivors is
/// laid out for this number.
pub(super) fn expected_survivors(sizes: &Sizes, first: &FilterPlan) -> u64 {
    let expected = sizes.build.lines as f64 * sizes.common_share
        + sizes.last.lines as f64 * first.predicted_fpr;
    (expected * SURVIVOR_SLACK) as u64 + 1024
}

/// Estimates the bytes of all inputs that survive: what is common in each, and of the rest what passes by mistake.
fn surviving_bytes(sizes: &Sizes, first_fpr: f64, second_fpr: f64) -> u64 {
    let build = sizes.build.bytes as f64;
    let common = build * sizes.common_share;
    (surviving_others(sizes, first_fpr) + common + (build - common) * second_fpr) as u64
}

/// Estimates the bytes of all inputs but the first that survive. Each of them has what is common.
pub(super) fn surviving_others(sizes: &Sizes, first_fpr: f64) -> f64 {
    let others = (sizes.total.bytes - sizes.build.bytes) as f64;
    let common =
        (sizes.build.bytes as f64 * sizes.common_share * sizes.further_inputs as f64).min(others);
    common + (others - common) * first_fpr
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::job::DataSize;

    #[test]
    fn the_way_that_is_chosen_moves_fewer_bytes() {
        let side = DataSize {
            bytes: 12_800_000_000,
            lines: 200_000_000,
        };
        let sizes = Sizes {
            build: side,
            of_set: side,
            distinct: side.and(side),
            repeats: 0.0,
            total: side.and(side),
            building: 1,
            telling: 1,
            last: side,
            further_inputs: 1,
            common_share: crate::plan::ASSUMED_COMMON,
        };
        let moved = |plan: SievePlan| 2 * plan.survivors + plan.read_back;
        for bits in [2, 4, 5, 6, 8, 10, 14] {
            let room = side.lines * bits / 8;
            let fed = moved(SievePlan::fed(&sizes, room, 12.0));
            let afterwards = moved(SievePlan::afterwards(&sizes, room, 12.0));
            let chosen = moved(SievePlan::new(&sizes, room, 12.0));
            assert_eq!(
                chosen,
                fed.min(afterwards),
                "{bits} bits: {fed}, {afterwards}"
            );
        }
    }
}
