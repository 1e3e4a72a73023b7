//! Cells of every kind against what they promise, without files and threads.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::cells::{Change, Put};
use super::counters::{Counting, Spectral};
use super::flat::Bits;
use super::*;
use crate::batch::scatter::Scatter;
use crate::hash::LineHasher;
use crate::memory::budget::MemoryBudget;

fn rules(planned_keys: u64) -> Rules {
    Rules {
        hasher: LineHasher::with_key([7; 4]),
        format: crate::LineFormat::default(),
        key_form: crate::KeyForm::default(),
        planned_keys,
    }
}

fn filter(shape: Shape) -> Filter {
    Filter::new(&MemoryBudget::new(1 << 24, 0), shape, rules(1000)).unwrap()
}

/// Checks that a key is new exactly if it was not claimed to be in before, and is claimed from then on.
fn check_news<C: Change<Key = u64>>(mut cells: C) {
    let (mut new, mut claimed) = (0, 0);
    for key in 0..600_u64 {
        let key = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let was_in = cells.contains(key);
        let put = cells.put(key);
        assert_eq!(put, if was_in { Put::Present } else { Put::New });
        assert!(cells.contains(key));
        assert_eq!(cells.put(key), Put::Present);
        new += u32::from(!was_in);
        claimed += u32::from(was_in);
    }
    assert!(new > 200 && claimed > 20, "{new} new, {claimed} claimed");
}

#[test]
fn a_key_is_new_exactly_if_it_was_not_claimed_before() {
    check_news(Bits::new(vec![0; 32], 2000, 5));
    check_news(Counting::new(vec![0; 128], 2000, 5));
    check_news(Spectral::new(vec![0; 512], 2000, 5));
}

#[test]
fn what_cannot_forget_refuses_to() {
    for kind in Kind::ALL {
        let mut filter = filter(Shape::for_fpr(kind, 1000, 0.01, None));
        filter.insert(b"a line").unwrap();
        let removed = filter.remove(b"a line");
        if kind.can_forget() {
            assert!(removed.unwrap() && !filter.contains(b"a line"), "{kind}");
        } else {
            assert!(matches!(removed, Err(crate::Error::Usage { .. })), "{kind}");
            assert!(filter.contains(b"a line") && filter.keys() == 1, "{kind}");
        }
    }
    let forgetful = Kind::ALL.map(Kind::can_forget);
    assert_eq!(forgetful.iter().filter(|&&can| can).count(), 2);
}

/// Digests come in the order of their slots: in a table that grows as they come they pile up.
#[test]
fn a_table_that_takes_in_another_grows_once_and_to_what_both_need() {
    let shape = Shape {
        kind: Kind::Fingerprint,
        cells: 64,
        hashes: 1,
    };
    let (mut one, mut other) = (filter(shape), filter(shape));
    for number in 0..50_u32 {
        one.insert(&number.to_le_bytes()).unwrap();
        other.insert(&(number + 1000).to_le_bytes()).unwrap();
    }
    one.merge(&other).unwrap();
    assert_eq!((one.keys(), one.shape().cells), (100, 101 + 101 / 4));
}

#[test]
fn shapes_that_no_filter_can_have_are_refused() {
    let refused = |kind, cells, hashes| {
        Shape {
            kind,
            cells,
            hashes,
        }
        .check()
        .is_err()
    };
    assert!(refused(Kind::Blocked, 511, 5) && refused(Kind::Blocked, 513, 5));
    assert!(refused(Kind::Blocked, 0, 5) && !refused(Kind::Blocked, 1024, 5));
    assert!(refused(Kind::Fingerprint, 1, 1) && !refused(Kind::Fingerprint, 2, 1));
    for kind in [Kind::Classic, Kind::Counting, Kind::Spectral] {
        assert!(refused(kind, 0, 5) && refused(kind, 100, 0) && refused(kind, 100, 65));
        assert!(!refused(kind, 1, 1) && !refused(kind, 100, 64));
    }
    for kind in Kind::ALL {
        let most = (1 << 50) / kind.cell_bits();
        assert!(
            refused(kind, u64::MAX, 1) && refused(kind, most + 512, 1),
            "{kind}"
        );
        assert!(!refused(kind, most, 1), "{kind}");
    }
}

/// Files have checksums for sections of 1 MiB: this is about what is in the second and third.
#[test]
fn a_file_of_several_sections_is_added_and_loaded_to_the_last_cell() {
    let budget = MemoryBudget::new(1 << 28, 0);
    let directory = tempfile::tempdir().unwrap();
    for kind in Kind::ALL {
        let hashes = if kind == Kind::Fingerprint { 1 } else { 5 };
        let shape = Shape {
            kind,
            cells: (20 << 20) / kind.cell_bits() / 512 * 512,
            hashes,
        };
        let with = |numbers: std::ops::Range<u32>| {
            let mut filter = Filter::new(&budget, shape, rules(1000)).unwrap();
            for number in numbers {
                filter.insert(&number.to_le_bytes()).unwrap();
            }
            filter
        };
        let path = directory.path().join(kind.name());
        with(0..3000)
            .save(&path, &crate::interrupt::Interrupt::new())
            .unwrap();
        let stored = StoredFilter::open(&path).unwrap();
        let loaded = stored.load(&budget, 2).unwrap();
        assert!(loaded.cells() == with(0..3000).cells(), "{kind}");
        assert_eq!(stored.occupancy(&budget).unwrap(), loaded.occupancy());
        let mut sum = with(2000..5000);
        stored.add_to(&mut sum, &budget).unwrap();
        let mut direct = with(2000..5000);
        direct.merge(&loaded).unwrap();
        let is_exact = kind == Kind::Fingerprint;
        assert_eq!(sum.keys(), if is_exact { 5000 } else { 6000 }, "{kind}");
        let count = |number: u32| sum.count(&number.to_le_bytes());
        if matches!(kind, Kind::Counting | Kind::Spectral) {
            assert!((2000..3000).all(|number| count(number) >= 2), "{kind}");
            assert!((0..2000).filter(|&number| count(number) == 1).count() > 1900);
        }
        assert!(
            sum.cells() == direct.cells() && sum.keys() == direct.keys(),
            "{kind}"
        );
        assert!(
            (0..5000_u32).all(|number| sum.contains(&number.to_le_bytes())),
            "{kind}"
        );
    }
}

#[test]
fn a_filter_is_overfull_beyond_what_chance_does_and_only_if_it_is_wrong_for_it() {
    let shape = Shape::for_fpr(Kind::Classic, 10_000, 0.01, None);
    let with = |distinct, fpr| Occupancy {
        taken_for_others: 0.0,
        used: 0,
        fill: 0.0,
        fpr,
        distinct,
        saturated: 0,
    };
    for (planned, most) in [(10_000, 10_700.0), (100, 125.0), (0, 3.05)] {
        assert!(!with(most, 1.0).is_overfull(shape, planned));
        assert!(with(most * 1.0001, 1.0).is_overfull(shape, planned));
    }
    let most = 1.1 * shape.predicted_fpr(10_000);
    assert!(!with(20_000.0, most).is_overfull(shape, 10_000));
    assert!(with(20_000.0, most * 1.0001).is_overfull(shape, 10_000));
    // However bad it was meant to be, what is wrong half of the time says little.
    let bad = Shape {
        cells: 100,
        ..shape
    };
    assert!(!with(20_000.0, 0.5).is_overfull(bad, 10_000));
    assert!(with(20_000.0, 0.51).is_overfull(bad, 10_000));
    let table = Shape {
        kind: Kind::Fingerprint,
        cells: 100,
        hashes: 1,
    };
    assert!(!with(20_000.0, 1.0).is_overfull(table, 10));
}

#[test]
fn digests_are_wrong_next_to_never() {
    let mut filter = filter(Shape {
        kind: Kind::Fingerprint,
        cells: 64,
        hashes: 1,
    });
    (0..40_u8).for_each(|number| assert!(filter.insert(&[number]).unwrap()));
    let fpr = filter.occupancy().fpr;
    assert!((fpr * 2f64.powi(128) - 40.0).abs() < 1e-6, "{fpr}");
}

#[test]
fn a_rate_of_one_or_more_is_taken_for_the_highest_below_it() {
    for kind in Kind::ALL {
        let nearly = Shape::for_fpr(kind, 1000, 1.0 - f64::EPSILON, None);
        for fpr in [1.0, 2.0, f64::INFINITY] {
            assert_eq!(Shape::for_fpr(kind, 1000, fpr, None), nearly, "{kind}");
        }
    }
}

#[test]
fn i16_of_equal_lines_one_is_new_and_all_are_counted_by_what_counts() {
    let lines: [&[u8]; 5] = [b"one", b"two", b"one", b"three", b"one"];
    for kind in Kind::ALL {
        let mut filter = filter(Shape::for_fpr(kind, 1000, 0.001, None));
        let mut hashes = Vec::new();
        filter.rules.hasher.hash_batch(&lines, &mut hashes);
        let batch = Batch::new(&lines, &hashes);
        let mut new = Vec::new();
        let inserted = filter
            .updater()
            .insert_new(batch, &mut Scatter::default(), &mut new);
        inserted.unwrap();
        assert_eq!(new, [0, 1, 3], "{kind}");
        let (keys, count) = match kind {
            Kind::Counting | Kind::Spectral => (5, 3),
            Kind::Blocked | Kind::Classic => (5, 1),
            Kind::Fingerprint => (3, 1),
        };
        let found = (filter.keys(), filter.count(b"one"));
        assert_eq!(found, (keys, count), "{kind}");
        if kind.can_forget() {
            for _ in 0..count {
                assert!(filter.remove(b"one").unwrap(), "{kind}");
            }
            assert!(!filter.contains(b"one"), "{kind}");
        }
    }
}

#[test]
fn i14_a_filter_is_judged_by_what_it_was_laid_out_for_until_it_has_more() {
    let shape = Shape::for_fpr(Kind::Classic, 10_000, 0.01, None);
    let with = |distinct, fpr| Occupancy {
        taken_for_others: 0.0,
        used: 0,
        fill: 0.0,
        fpr,
        distinct,
        saturated: 0,
    };
    let planned = shape.predicted_fpr(10_000);
    for (distinct, fpr, keys, expected) in [
        // By chance above the prediction, or far below it.
        (10_000.0, 0.0101, 10_000, planned),
        (100.0, 1e-9, 100, 1e-9),
        // Lines that were counted are right, whatever the cells say; of repeats only the cells tell.
        (11_000.0, 0.011, 10_000, planned),
        (10_000.0, 0.0101, 20_000, planned),
        // 0.5 %, and two square roots.
        (10_249.0, 0.0101, 20_000, planned),
        (10_251.0, 0.0112, 20_000, 0.0112),
        (f64::INFINITY, 1.0, 20_000, 1.0),
    ] {
        let judged = with(distinct, fpr).judged_fpr(shape, 10_000, keys);
        assert!((judged - expected).abs() < 1e-12, "{distinct}: {judged}");
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn i14_repeats_do_not_make_a_filter_seem_to_have_more_lines() {
    for kind in [Kind::Blocked, Kind::Classic, Kind::Counting, Kind::Spectral] {
        for fpr in [0.3, 0.01, 1e-5] {
            let shape = Shape::for_fpr(kind, 200_000, fpr, None);
            let mut filter = filter(shape);
            for number in 0..200_000_u32 {
                filter.insert(&number.to_le_bytes()).unwrap();
            }
            let (occupancy, keys) = (filter.occupancy(), 10 * filter.keys());
            let more = occupancy.distinct;
            assert!(
                !occupancy.has_more_than(200_000, keys),
                "{kind} {fpr}: {more}"
            );
            assert!(
                occupancy.has_more_than(197_000, keys),
                "{kind} {fpr}: {more}"
            );
        }
    }
}

#[test]
fn the_rate_that_follows_from_the_cells_is_the_predicted_one() {
    for kind in [Kind::Blocked, Kind::Classic, Kind::Counting, Kind::Spectral] {
        let shape = Shape::for_fpr(kind, 5000, 0.02, None);
        let mut filter = filter(shape);
        for number in 0..5000_u32 {
            filter.insert(&number.to_le_bytes()).unwrap();
        }
        let occupancy = filter.occupancy();
        let (measured, predicted) = (occupancy.fpr, shape.predicted_fpr(5000));
        assert!(
            (measured / predicted - 1.0).abs() < 0.25,
            "{kind}: {measured}"
        );
        assert!((occupancy.distinct / 5000.0 - 1.0).abs() < 0.05, "{kind}");
    }
}

fn hashes(range: std::ops::Range<u64>) -> Vec<u64> {
    let hasher = LineHasher::with_key([5; 4]);
    range.map(|i| hasher.hash(&i.to_le_bytes())).collect()
}

/// Makes a batch of these hashes; of blocks nobody looks at the lines.
fn with_batch<R>(hashes: &[u64], work: impl FnOnce(Batch<'_>) -> R) -> R {
    let lines = vec![&b""[..]; hashes.len()];
    work(Batch::new(&lines, hashes))
}

fn blocks(bytes: u64, k: u32) -> Filter {
    let shape = Shape {
        kind: Kind::Blocked,
        cells: (bytes / 64).max(1) * 512,
        hashes: k,
    };
    Filter::new(&MemoryBudget::new(1 << 30, 0), shape, rules(1000)).unwrap()
}

/// Blocks with these keys, which three threads insert.
fn filled(keys: &[u64], bits_per_key: f64, k: u32) -> Filter {
    let mut filter = blocks((keys.len() as f64 * bits_per_key / 8.0) as u64, k);
    let updater = filter.updater();
    std::thread::scope(|scope| {
        for part in keys.chunks(keys.len().div_ceil(3)) {
            let updater = &updater;
            scope.spawn(move || {
                let mut scatter = Scatter::default();
                for hashes in part.chunks(1000) {
                    with_batch(hashes, |batch| updater.insert(batch, &mut scatter)).unwrap();
                }
            });
        }
    });
    drop(updater);
    filter
}

fn passing(filter: &Filter, hashes: &[u64]) -> Vec<u32> {
    let mut passing = Vec::new();
    with_batch(hashes, |batch| filter.passing(batch, &mut passing));
    passing
}

#[test]
fn no_key_is_forgotten_whatever_the_shape() {
    let keys = hashes(0..50_000);
    for (bits, k) in [
        (0.01, 1),
        (1.0, 2),
        (5.0, 3),
        (7.3, 5),
        (16.0, 10),
        (30.0, 14),
    ] {
        let filter = filled(&keys, bits, k);
        assert_eq!(
            passing(&filter, &keys).len(),
            keys.len(),
            "{bits} bits, k = {k}"
        );
        let strangers = hashes(1 << 40..(1 << 40) + 50_000);
        let one_by_one: Vec<u32> = (0..50_000)
            .filter(|&index| passing(&filter, &strangers[index as usize..=index as usize]) == [0])
            .collect();
        assert_eq!(
            passing(&filter, &strangers),
            one_by_one,
            "{bits} bits, k = {k}"
        );
        assert_eq!(filter.keys(), 50_000);
    }
}

#[test]
fn some_lines_of_a_batch_are_put_in_and_the_others_are_not() {
    let texts: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
    let lines: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let mut hashes = Vec::new();
    rules(0).hasher.hash_batch(&lines, &mut hashes);
    let batch = Batch::new(&lines, &hashes);
    for kind in Kind::ALL {
        let mut filter = filter(Shape::for_fpr(kind, 1000, 1e-6, None));
        let some: Vec<u32> = (0..1000).step_by(7).collect();
        let updater = filter.updater();
        let mut scatter = Scatter::default();
        updater
            .insert_at(batch, some.iter().copied(), &mut scatter)
            .unwrap();
        drop(updater);
        let mut found = Vec::new();
        filter.passing(batch, &mut found);
        assert_eq!(found, some, "{kind}");
        assert_eq!(filter.keys(), some.len() as u64, "{kind}");
    }
}

#[test]
fn the_fill_of_a_large_filter_is_that_of_some_of_its_blocks() {
    for count in [1, 64, 1 << 16, (3 << 16) + 1] {
        let mut filter = blocks(count * 64, 3);
        let keys = hashes(0..count * 5);
        let updater = filter.updater();
        with_batch(&keys, |batch| {
            updater.insert(batch, &mut Scatter::default())
        })
        .unwrap();
        drop(updater);
        let (all, sampled) = (filter.occupancy(), filter.occupancy_sampled());
        let is_near = |a: f64, b: f64| (a - b).abs() <= 0.01 * b;
        assert!(
            is_near(sampled.fill, all.fill) && is_near(sampled.fpr, all.fpr),
            "{count}"
        );
        assert!(is_near(sampled.distinct, all.distinct), "{count}");
        assert!(is_near(sampled.used as f64, all.used as f64), "{count}");
        // Up to 65,536 blocks all are looked at.
        assert_eq!(count <= 1 << 16, sampled == all, "{count}");
    }
}

#[test]
fn the_measured_rate_of_blocks_is_the_predicted_one() {
    let keys = hashes(0..400_000);
    let strangers = hashes(1 << 40..(1 << 40) + 1_000_000);
    for (bits, k) in [(5.0, 3), (6.87, 5), (9.6, 6), (14.4, 9), (20.0, 11)] {
        let filter = filled(&keys, bits, k);
        let measured = passing(&filter, &strangers).len() as f64;
        let predicted = filter.shape().predicted_fpr(400_000) * 1e6;
        let three_sigma = 3.0 * predicted.sqrt();
        assert!(
            (measured - predicted).abs() <= 0.03 * predicted + three_sigma,
            "{bits}: {measured} against {predicted}"
        );
        let by_cells = filter.occupancy_sampled().fpr * 1e6;
        assert!(
            (by_cells - predicted).abs() <= 0.03 * predicted + 1.0,
            "{bits}: the cells say {by_cells}, not {predicted}"
        );
    }
}

#[test]
fn lines_that_are_taken_for_others_while_a_filter_fills_are_counted_from_its_cells() {
    for (kind, bits, hashes) in [
        (Kind::Blocked, 1.0, 1),
        (Kind::Blocked, 4.0, 3),
        (Kind::Blocked, 8.0, 2),
        (Kind::Classic, 1.0, 1),
        (Kind::Classic, 6.0, 4),
    ] {
        let keys = 100_000u64;
        let cells = ((keys as f64 * bits) as u64).next_multiple_of(512);
        let shape = Shape {
            kind,
            cells,
            hashes,
        };
        let budget = MemoryBudget::new(1 << 24, 0);
        let mut filter = Filter::new(&budget, shape, rules(keys)).unwrap();
        let mut taken = 0;
        for number in (0..keys).chain(0..keys / 2) {
            let is_new = filter.insert(&number.to_le_bytes()).unwrap();
            // Repeats come after all others, and are none of them.
            taken += u32::from(!is_new && filter.keys() <= keys);
        }
        let found = filter.occupancy().taken_for_others;
        let slack = 4.0 * f64::from(taken).sqrt() + 0.01 * found;
        assert!(
            (f64::from(taken) - found).abs() <= slack,
            "{kind:?}, {bits}, {hashes}: {taken}, {found}"
        );
    }
}

/// Of a few lines in a few cells, others have the very cells of one more often than the textbook says.
#[test]
fn i9_small_filters_keep_to_the_rate_that_they_are_laid_out_for() {
    for kind in [Kind::Classic, Kind::Counting, Kind::Spectral] {
        for (keys, fpr) in [(10, 1e-3), (100, 1e-4)] {
            let shape = Shape::for_fpr(kind, keys, fpr, None);
            let (mut wrong, asked) = (0, 600_000_u64);
            for set in 0..100 {
                let mut filter = filter(shape);
                let line = |number: u64| (set << 40 | number).to_le_bytes();
                for number in 0..keys {
                    filter.insert(&line(number)).unwrap();
                }
                let others = keys..keys + asked / 100;
                wrong += others
                    .filter(|&number| filter.contains(&line(number)))
                    .count();
            }
            let expected = asked as f64 * fpr;
            let most = expected * 1.1 + 4.0 * expected.sqrt();
            assert!((wrong as f64) < most, "{shape:?}: {wrong} of {expected}");
        }
    }
}

#[test]
fn i14_what_stays_behind_in_counters_at_their_top_counts_when_it_was_removed() {
    let mut filter = filter(Shape::for_fpr(Kind::Counting, 100, 0.01, None));
    for number in 0..50_000_u32 {
        filter.insert(&number.to_le_bytes()).unwrap();
    }
    for number in 0..50_000_u32 {
        filter.remove(&number.to_le_bytes()).unwrap();
    }
    let (occupancy, shape) = (filter.occupancy(), filter.shape());
    assert_eq!(filter.keys(), 0);
    assert!(occupancy.judged_fpr(shape, 100, 0) > 0.9, "{occupancy:?}");
}
