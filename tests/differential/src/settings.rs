//! Settings from choices.
//!
//! *Owns:* which options are tried together, and how often the slow ones are. *Invariants:* every setting made here can
//! be met by a machine of 4 GiB.

use outset::compare::Mistake;
use outset::filter::Kind;
use outset::{Label, Order, Strategy};

use crate::case::{Asked, Case, HashChoice, Often, Setting, Wanted, Way};
use crate::choices::Choices;
use crate::counts::Counts;

/// A mebibyte.
pub const MIB: u64 = 1 << 20;

/// Lines that may all have the same hash: they are compared one by one.
const MOST_WITH_ONE_HASH: usize = 600;
/// Lines that do not fit the least memory, often: in one bucket, they are worked through in pieces.
const FEWEST_FOR_PIECES: usize = 30_000;
/// The limit under which a bitmap of all addresses is used, in bytes.
const ROOM_FOR_BITMAPS: u64 = 1200 * MIB;

/// A setting for the case.
pub fn setting(choices: &mut Choices, case: &Case) -> Setting {
    let strategy = choices.pick(&[
        Some(Strategy::Memory),
        Some(Strategy::Partition),
        Some(Strategy::Partition),
        Some(Strategy::Sieve),
        Some(Strategy::Sieve),
        Some(Strategy::Bloom),
        None,
    ]);
    let way = way(choices, case);
    let (buckets, always_spill) = buckets_and_spill(choices);
    let memory_bytes = if case.is_ipv4 && choices.one_in(4) {
        ROOM_FOR_BITMAPS
    } else {
        choices.pick(&[16, 16, 16, 20, 32, 64, 256]) * MIB
    };
    let max_fpr = choices.pick(&[None, Some(0.0), Some(0.05), Some(0.5)]);
    let strategy = match way {
        Way::Intersect => strategy,
        Way::Select(wanted) => {
            strategy.filter(|&strategy| strategy != Strategy::Bloom || wanted.may_be_approximate())
        }
        Way::Stored { .. } | Way::Changed { .. } => None,
        Way::Compare(_) | Way::Pairs => strategy.filter(|strategy| strategy.is_exact()),
    };
    Setting {
        way,
        strategy,
        max_fpr: match (way, strategy) {
            (Way::Intersect, None) => max_fpr,
            (Way::Select(wanted), None) if wanted.may_be_approximate() => max_fpr,
            _ => None,
        },
        memory_bytes,
        threads: choices.pick(&[1, 2, 2, 3, 4, 4, 7, 16, 64, 1000]),
        buckets,
        // Filters so small that much passes by mistake; given, `memory` has filters, too.
        bits_per_key: choices.pick(&[None, None, Some(1.0), Some(2.5), Some(8.0), Some(20.0)]),
        always_spill,
        hash: hash(choices, case, way),
        is_reversed: choices.one_in(3),
    }
}

fn way(choices: &mut Choices, case: &Case) -> Way {
    let are_files = case
        .inputs
        .iter()
        .all(|input| !input.is_fifo && !input.is_command);
    let is_twice = case.again.is_some();
    match choices.below(19) {
        18 => Way::Pairs,
        13..18 => selected(choices, case.inputs.len() as u64 + u64::from(is_twice)),
        10 if !is_twice => Way::Stored {
            kind: choices.pick(&[
                Kind::Blocked,
                Kind::Classic,
                Kind::Counting,
                Kind::Spectral,
                Kind::Fingerprint,
            ]),
            fpr: choices.pick(&[0.3, 0.05, 0.01]),
        },
        11 if are_files && !is_twice && case.inputs.len() == 2 => Way::Compare(choices.pick(&[
            Mistake::FalseLines,
            Mistake::MissingLines,
            Mistake::LostLines,
        ])),
        11 if are_files => Way::Compare(choices.pick(&[Mistake::MissingLines, Mistake::LostLines])),
        12 if are_files && !is_twice => Way::Changed {
            kind: choices.pick(&[Kind::Counting, Kind::Fingerprint]),
        },
        _ => Way::Intersect,
    }
}

/// Lines by the number of the inputs that have them, or of the first alone.
fn selected(choices: &mut Choices, sides: u64) -> Way {
    let sides = sides as u32;
    let least = choices.between(1, u64::from(sides)) as u32;
    let most = choices.between(u64::from(least), u64::from(sides)) as u32;
    let bits = choices.between(1, u64::MAX >> (64 - sides));
    let asked = choices.pick(&[
        Asked::Difference,
        Asked::Between(1, sides),
        Asked::Between(1, 1),
        Asked::Between(sides, sides),
        Asked::Between(least, sides),
        Asked::Between(least, most),
        Asked::Only(bits, sides),
    ]);
    let is_first = asked == Asked::Difference;
    let is_all = asked == Asked::Between(sides, sides);
    let is_union = asked == Asked::Between(1, sides);
    let is_symmetric = asked == Asked::Between(1, 1) && sides == 2;
    let mut often = vec![Often::Once, Often::Once];
    if is_first || is_all {
        often.push(Often::Repeats);
    }
    if is_first || is_all || is_union || is_symmetric {
        often.push(Often::All);
    }
    let often = choices.pick(&often);
    let labels = [Label::Sides, Label::SideCount, Label::None, Label::Count];
    let label = match often {
        Often::Once => choices.pick(&labels),
        // The number of occurrences is not counted where the lines come as often.
        Often::Repeats => choices.pick(&labels[..3]),
        Often::All => Label::None,
    };
    let orders = [
        Order::Any,
        Order::Any,
        Order::Input,
        Order::Sorted,
        Order::Count,
    ];
    let (counts, orders) = match often {
        Often::Once => (Counts::random(choices), &orders[..]),
        _ => (Counts::default(), &orders[..4]),
    };
    Way::Select(Wanted {
        asked,
        label,
        often,
        order: match counts.top {
            Some(_) => Order::Count,
            None => choices.pick(orders),
        },
        counts,
    })
}

/// Many files take long to make: seldom.
fn buckets_and_spill(choices: &mut Choices) -> (Option<u32>, bool) {
    match choices.below(24) {
        0..=3 => (None, false),
        4..=6 => (None, true),
        7..=13 => (Some(choices.pick(&[1, 2, 7, 64])), false),
        14..=20 => (Some(choices.pick(&[1, 2, 7, 64])), true),
        21 | 22 => (Some(choices.pick(&[300, 1000, 4096])), false),
        _ if choices.one_in(4) => (Some(choices.pick(&[300, 1000, 4096])), true),
        _ => (Some(16), true),
    }
}

/// Tells whether the lines themselves are compared, so that their hashes may be as bad as can be.
fn compares(way: Way) -> bool {
    matches!(way, Way::Intersect | Way::Select(_) | Way::Pairs)
}

fn hash(choices: &mut Choices, case: &Case, way: Way) -> HashChoice {
    let fixed = HashChoice::Fixed(choices.any());
    let lines: usize = case.inputs.iter().map(|input| input.lines.len()).sum();
    if lines >= FEWEST_FOR_PIECES && compares(way) && choices.one_in(3) {
        return HashChoice::OneBucket(8);
    }
    match choices.below(12) {
        // A key that places all lines alike is no key that a file could have.
        8 | 9 if compares(way) => HashChoice::OneBucket(choices.pick(&[1, 2, 8])),
        10 if compares(way) && lines <= MOST_WITH_ONE_HASH => HashChoice::Constant,
        11 => HashChoice::Random,
        _ => fixed,
    }
}
