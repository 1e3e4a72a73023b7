//! Filters that forget or count, against exact models: multisets and sets, counters at their top, tables that grow.

use std::collections::{BTreeMap, BTreeSet};

use outset::filter::{Filter, Kind, Shape};
use proptest::prelude::*;

use crate::filters::empty;

fn line(number: u32) -> Vec<u8> {
    format!("line {number}").into_bytes()
}

/// Returns the counts of a filter for the lines below `count`.
fn counts(filter: &Filter, count: u32) -> Vec<u64> {
    (0..count)
        .map(|number| filter.count(&line(number)))
        .collect()
}

/// Lines that are inserted and removed at random.
const LINES: u32 = 48;

/// Inserts and removes; removes only what is in, and what certainly is not: the rest takes others with it, as
/// documented.
fn check_against_a_multiset(steps: &[(bool, u32)], cells: u64, hashes: u32) {
    let shape = Shape {
        kind: Kind::Counting,
        cells,
        hashes,
    };
    let mut filter = empty(shape, u64::from(LINES));
    let mut model: BTreeMap<u32, u64> = BTreeMap::new();
    for &(is_insertion, number) in steps {
        let times = model.entry(number).or_default();
        if is_insertion {
            let was_absent = filter.count(&line(number)) == 0;
            assert_eq!(filter.insert(&line(number)).unwrap(), was_absent);
            *times += 1;
        } else if *times > 0 {
            assert!(filter.remove(&line(number)).unwrap(), "{number} is in");
            *times -= 1;
        } else if !filter.contains(&line(number)) {
            let before = (counts(&filter, LINES), filter.occupancy(), filter.keys());
            assert!(!filter.remove(&line(number)).unwrap());
            let after = (counts(&filter, LINES), filter.occupancy(), filter.keys());
            assert_eq!(before, after, "a refused removal changed something");
        }
        assert_eq!(filter.keys(), model.values().sum::<u64>());
        for (&number, &times) in &model {
            let count = filter.count(&line(number));
            assert!(
                count >= times.min(15) && count <= 15,
                "{number}: {count}, {times}"
            );
        }
    }
    for (&number, &times) in &model {
        for _ in 0..times {
            assert!(filter.remove(&line(number)).unwrap());
        }
    }
    let left = filter.occupancy();
    // Only what was at the top stays.
    assert_eq!(left.used, left.saturated, "{left:?}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn i10_a_counting_filter_is_a_multiset_that_may_claim_too_much(
        steps in prop::collection::vec((prop::bool::weighted(0.6), 0..LINES), 0..300),
        cells in prop::sample::select(vec![1u64, 17, 64, 300, 2000]),
        hashes in 1u32..9,
    ) {
        check_against_a_multiset(&steps, cells, hashes);
    }

    #[test]
    fn a_filter_of_digests_is_a_set_that_grows(
        steps in prop::collection::vec((prop::bool::weighted(0.7), 0..500u32), 0..1500),
    ) {
        let mut filter = empty(Shape::for_fpr(Kind::Fingerprint, 1, 0.01, None), 1);
        let mut model = BTreeSet::new();
        for &(is_insertion, number) in &steps {
            if is_insertion {
                assert_eq!(filter.insert(&line(number)).unwrap(), model.insert(number));
            } else {
                assert_eq!(filter.remove(&line(number)).unwrap(), model.remove(&number));
            }
            assert_eq!(filter.keys(), model.len() as u64);
        }
        for number in 0..500 {
            assert_eq!(filter.contains(&line(number)), model.contains(&number));
        }
        assert_eq!(filter.occupancy().used, model.len() as u64);
    }
}

#[test]
fn a_table_of_digests_grows_ten_thousandfold() {
    let mut filter = empty(Shape::for_fpr(Kind::Fingerprint, 4, 0.01, None), 4);
    for number in 0..40_000 {
        assert!(filter.insert(&line(number)).unwrap());
    }
    for number in (0..40_000).step_by(3) {
        assert!(filter.remove(&line(number)).unwrap());
    }
    for number in 0..50_000 {
        let is_in = number < 40_000 && number % 3 != 0;
        assert_eq!(filter.contains(&line(number)), is_in, "{number}");
    }
    let slots = filter.shape().cells;
    assert!(filter.shape().capacity() >= 40_000, "{slots} slots");
    assert!(slots <= 4 * 40_000, "{slots} slots");
}

#[test]
fn i10_a_counter_at_its_top_stays_there_and_its_neighbours_are_unharmed() {
    let shape = Shape::for_fpr(Kind::Counting, 1000, 0.01, None);
    let mut filter = empty(shape, 1000);
    for number in 0..1000 {
        filter.insert(&line(number)).unwrap();
    }
    let before = (counts(&filter, 1000), filter.occupancy());
    let hot = line(5000);
    for _ in 0..40 {
        filter.insert(&hot).unwrap();
    }
    assert_eq!(filter.count(&hot), 15);
    for _ in 0..40 {
        assert!(filter.remove(&hot).unwrap());
    }
    assert_eq!(filter.count(&hot), 15, "it no longer knows: it sticks");
    let after = filter.occupancy();
    assert!((1..=u64::from(shape.hashes)).contains(&after.saturated));
    assert!(after.used <= before.1.used + u64::from(shape.hashes));
    // Whose counters are not all among those of the line counts as before.
    let (mut same, mut more) = (0, 0);
    for (was, is) in before.0.iter().zip(counts(&filter, 1000)) {
        assert!(is >= *was);
        same += u32::from(is == *was);
        more += u32::from(is > *was);
    }
    assert!(same > 990, "{more} lines count more");
    for number in 0..1000 {
        assert!(filter.remove(&line(number)).unwrap());
    }
    assert_eq!(filter.occupancy().used, after.saturated);
}

#[test]
fn a_frequency_goes_up_to_65535_and_no_further() {
    let shape = Shape::for_fpr(Kind::Spectral, 1000, 0.01, None);
    let mut filter = empty(shape, 1000);
    for number in 0..1000 {
        filter.insert(&line(number)).unwrap();
    }
    let before = counts(&filter, 1000);
    let used = filter.occupancy().used;
    let hot = line(5000);
    let was = filter.count(&hot);
    for times in 1..=70_000u64 {
        filter.insert(&hot).unwrap();
        if times % 7919 == 0 || times > 65_530 {
            assert_eq!(filter.count(&hot), (was + times).min(65_535));
        }
    }
    assert_eq!(filter.keys(), 71_000);
    let after = filter.occupancy();
    assert!(after.used <= used + u64::from(shape.hashes));
    assert!((1..=u64::from(shape.hashes)).contains(&after.saturated));
    let same = before.iter().zip(counts(&filter, 1000));
    assert!(same.filter(|(was, is)| *was == is).count() > 990);
    assert!(filter.remove(&hot).is_err());
}

#[test]
fn minimal_increase_estimates_better_than_plain_counting() {
    let of_kind = |kind| {
        let shape = Shape {
            kind,
            cells: 9000,
            hashes: 4,
        };
        let mut filter = empty(shape, 3000);
        for round in 1..=5 {
            for number in 0..3000 {
                if number % 5 < round {
                    filter.insert(&line(number)).unwrap();
                }
            }
        }
        let mut excess = 0;
        for number in 0..3000 {
            let truth = u64::from(5 - number % 5);
            let count = filter.count(&line(number));
            assert!(count >= truth, "{kind}: {number}");
            excess += count - truth;
        }
        excess
    };
    let (spectral, counting) = (of_kind(Kind::Spectral), of_kind(Kind::Counting));
    assert!(counting > 100, "{counting}: nothing is shown");
    assert!(
        spectral * 2 < counting,
        "{spectral} too many with minimal increase, {counting} without"
    );
}
