//! Tests of putting an answer in order: sorter, runs and merge together.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use proptest::collection::vec;
use proptest::prelude::*;

use crate::answer::entry::Entry;
use crate::answer::rules::SortRules;
use crate::answer::sorter::Sorter;
use crate::interrupt::Interrupt;
use crate::memory::budget::MemoryBudget;
use crate::selection::Order;
use crate::spill::block::Address;
use crate::temp::quota::Quota;
use crate::temp::space::TempSpace;

/// The orders that are sorted.
const ORDERS: [Order; 3] = [Order::Sorted, Order::Input, Order::Count];

/// Makes the rules of a sorter for the first `most` entries in this order.
fn rules(space: &TempSpace, order: Order, most: u64) -> SortRules<'_> {
    SortRules {
        order,
        most,
        space,
        address: Address {
            run: 1,
            store: 0,
            bucket: 0,
            level: 0,
            number: 0,
        },
        always_spill: false,
    }
}

#[test]
fn l15_the_first_entries_come_whether_memory_has_room_for_them_or_not() {
    let directory = tempfile::tempdir().unwrap();
    let parents = [directory.path().to_owned()];
    let entry = |i: u64| match i % 5000 {
        // Longer than a buffer: a run of its own, one of which is the first of all.
        7 => (!(i / 100 + 50), format!("{i:0>60000}")),
        _ => (!(i / 100), format!("{:08} line", i * 7919 % 20_011)),
    };
    let mut expected: Vec<_> = (0..20_000).map(entry).collect();
    expected.sort();
    for (most, always_spill) in [
        (1, false),
        (100, false),
        (100, true),
        (3000, false),
        (50_000, false),
    ] {
        let space = TempSpace::new(&parents, Quota::new(u64::MAX), &Interrupt::new());
        let rules = SortRules {
            always_spill,
            ..rules(&space, Order::Count, most)
        };
        let sorter = Sorter::new(rules, 1, 64 << 10);
        let mut work = sorter.take().unwrap();
        for (place, line) in (0..20_000).map(entry) {
            sorter
                .push(&mut work, &Entry::once(line.as_bytes(), place))
                .unwrap();
        }
        sorter.put(work).unwrap();
        let budget = MemoryBudget::new(400 << 10, 0);
        let mut found = Vec::new();
        let collect = |entry: &Entry<'_>| {
            found.push((entry.place, String::from_utf8(entry.line.to_vec()).unwrap()));
            Ok(())
        };
        sorter.merge(&budget, &|_| {}, collect).unwrap();
        let first = &expected[..expected.len().min(most as usize)];
        assert!(found == first, "{most}: {} lines", found.len());
        // The long lines are written in any case.
        let written = space.space_use().written_bytes;
        let is_small = written < 500 << 10;
        assert_eq!(is_small, most <= 100, "{most}: {written}");
    }
}

/// Places of which many are equal, or have zeros, or neither.
fn places() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..4_u64, 2 => u64::MAX - 3..u64::MAX, 1 => any::<u64>()]
}

proptest! {
    #[test]
    fn l10_runs_of_any_lines_are_merged_in_every_order(
        runs in vec(vec((places(), vec(prop_oneof![4 => Just(b'a'), 1 => Just(0), 1 => any::<u8>()], 0..12), 0..9_usize), 0..20), 0..9),
        // Lines may differ only after what a run leaves out, a head shows, or a block has room for.
        shared in prop_oneof![4 => 0..60_usize, 4 => 240..270_usize, 1 => 20_000..20_003_usize],
        always_spill in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let space = TempSpace::new(&[directory.path().to_owned()], Quota::new(u64::MAX), &Interrupt::new());
        let line = |tail: &[u8], number: usize| {
            // Some share nothing with their neighbours.
            let shared = if number.is_multiple_of(9) { 0 } else { shared };
            [&vec![b'x'; shared], tail].concat()
        };
        let mut expected: Vec<(u64, Vec<u8>)> = Vec::new();
        let rules = |order| SortRules { always_spill, ..rules(&space, order, u64::MAX) };
        let sorters = ORDERS.map(|order| Sorter::new(rules(order), 1, 128 << 10));
        for run in &runs {
            let entries = run.iter().enumerate();
            let entries = entries.map(|(number, (place, tail, label))| (*place, line(tail, number), vec![b'l'; *label]));
            let entries: Vec<_> = entries.collect();
            for sorter in &sorters {
                let mut work = sorter.take().unwrap();
                for (place, line, label) in &entries {
                    let entry = Entry { times: 300, label, ..Entry::once(line, *place) };
                    sorter.push(&mut work, &entry).unwrap();
                }
                sorter.put(work).unwrap();
            }
            expected.extend(entries.into_iter().map(|(place, line, _)| (place, line)));
        }
        for (order, sorter) in ORDERS.into_iter().zip(sorters) {
            let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
            let collect = |entry: &Entry<'_>| {
                assert!(entry.times == 300 && entry.label.iter().all(|&byte| byte == b'l'));
                found.push((if order.has_places() { entry.place } else { 0 }, entry.line.to_vec()));
                Ok(())
            };
            sorter.merge(&MemoryBudget::new(400 << 10, 0), &|_| {}, collect).unwrap();
            let key = |(place, line): &(u64, Vec<u8>)| match order {
                Order::Sorted => (0, line.clone()),
                Order::Count => (*place, line.clone()),
                Order::Any | Order::Input => (*place, Vec::new()),
            };
            let keys: Vec<_> = found.iter().map(key).collect();
            prop_assert!(keys.is_sorted());
            let lines = |entries: &[(u64, Vec<u8>)]| {
                let mut lines: Vec<_> = entries.iter().map(|(_, line)| line.clone()).collect();
                lines.sort();
                lines
            };
            prop_assert_eq!(lines(&found), lines(&expected));
            expected.sort_by_key(key);
            prop_assert_eq!(keys, expected.iter().map(key).collect::<Vec<_>>());
        }
    }
}

#[test]
fn l10_runs_that_memory_cannot_read_at_once_are_merged_in_several_levels() {
    let directory = tempfile::tempdir().unwrap();
    let parents = [directory.path().to_owned()];
    let space = TempSpace::new(&parents, Quota::new(u64::MAX), &Interrupt::new());
    let rules = rules(&space, Order::Sorted, u64::MAX);
    let sorter = Sorter::new(rules, 1, 64 << 10);
    let line = |i: usize| match i % 1000 {
        // Longer than a buffer: a run of its own.
        7 => format!("{:0>60000}", i * 7919 % 20_011),
        _ => format!("{:08} line", i * 7919 % 20_011),
    };
    let mut work = sorter.take().unwrap();
    for line in (0..20_000).map(line) {
        let entry = Entry::once(line.as_bytes(), 0);
        sorter.push(&mut work, &entry).unwrap();
    }
    sorter.put(work).unwrap();
    let written = space.space_use().written_bytes;
    // Room for two long lines and some blocks.
    let budget = MemoryBudget::new(240 << 10, 0);
    let mut found = Vec::new();
    let collect = |entry: &Entry<'_>| {
        found.push(entry.line.to_vec());
        Ok(())
    };
    let planned = sorter.bytes_to_merge(&budget);
    let merged = std::cell::Cell::new(0);
    sorter
        .merge(&budget, &|bytes| merged.set(merged.get() + bytes), collect)
        .unwrap();
    let bytes: u64 = found.iter().map(|line| line.len() as u64 + 1).sum();
    assert!(merged.get() > 0, "nothing was heard of the first level");
    let share = (merged.get() + bytes) as f64 / planned as f64;
    assert!((0.9..=1.1).contains(&share), "{share} of {planned}");
    assert!(
        space.space_use().written_bytes > written,
        "one level was enough"
    );
    let mut expected: Vec<Vec<u8>> = (0..20_000).map(|i| line(i).into_bytes()).collect();
    expected.sort();
    assert!(found == expected);
}
