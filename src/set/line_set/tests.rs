//! The set against what it promises of its memory.

use super::*;
use crate::batch::Batch;
use crate::hash::HashKey;
use std::collections::BTreeSet;

fn hasher(key: HashKey) -> LineHasher {
    LineHasher::new(key).unwrap()
}

/// Makes different lines of the same length.
fn lines_of(bytes: usize, count: u32) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(move |i| format!("{i:0bytes$}").into_bytes())
}

/// Counts how many of `lines` the set takes until it is full.
fn fill(set: &mut LineSet, hasher: LineHasher, lines: impl Iterator<Item = Vec<u8>>) -> u64 {
    lines
        .take_while(|line| set.insert(hasher.hash(line), line, 1, 0).unwrap() == Insert::New)
        .count() as u64
}

fn lines(count: u32) -> Vec<Vec<u8>> {
    (0..count)
        .map(|i| {
            vec![b'a' + (i % 7) as u8; (i % 61) as usize]
                .into_iter()
                .chain(i.to_string().into_bytes())
                .collect()
        })
        .collect()
}

#[test]
fn holds_each_line_once_with_any_hash() {
    for key in [HashKey::Random, HashKey::Constant] {
        let count = if key == HashKey::Constant {
            300
        } else {
            20_000
        };
        let budget = MemoryBudget::new(64 << 20, 0);
        let hasher = hasher(key);
        let mut set = LineSet::new(&budget, hasher, StateLayout::ROW).unwrap();
        let lines = lines(count);
        for round in 0..2 {
            for line in &lines {
                let expected = if round == 0 {
                    Insert::New
                } else {
                    Insert::Present
                };
                assert_eq!(set.insert(hasher.hash(line), line, 1, 0).unwrap(), expected);
            }
        }
        assert_eq!(set.lines(), u64::from(count));
        let held: BTreeSet<&[u8]> = set.iter().collect();
        assert_eq!(held, lines.iter().map(Vec::as_slice).collect());
        assert_eq!(set.mark(hasher.hash(b"stranger"), b"stranger", 2), None);
    }
}

#[test]
fn marks_count_inputs_in_a_row() {
    let budget = MemoryBudget::new(1 << 20, 0);
    let hasher = hasher(HashKey::Random);
    let mut set = LineSet::new(&budget, hasher, StateLayout::ROW).unwrap();
    for line in [&b"a"[..], b"b", b""] {
        set.insert(hasher.hash(line), line, 1, 0).unwrap();
    }
    let mut mark = |line: &[u8], side| set.mark(hasher.hash(line), line, side).is_some();
    assert!(mark(b"a", 2) && mark(b"", 2));
    assert!(!mark(b"a", 2), "a repeat in the same input is no news");
    assert!(!mark(b"b", 3), "the second input did not have it");
    assert!(mark(b"", 3) && !mark(b"", 3));
    set.exclude(hasher.hash(b"a"), b"a");
    assert_eq!(set.mark(hasher.hash(b"a"), b"a", 3), None);
}

#[test]
fn a_full_set_says_so_and_stays_intact() {
    let budget = MemoryBudget::new(40 * PAGE, 0);
    let hasher = hasher(HashKey::Random);
    let mut set = LineSet::new(&budget, hasher, StateLayout::ROW).unwrap();
    set.reset(1000, 64).unwrap();
    let lines = lines(100_000);
    let held = lines
        .iter()
        .take_while(|line| set.insert(hasher.hash(line), line, 1, 0).unwrap() == Insert::New)
        .count();
    assert!((500..100_000).contains(&held), "{held}");
    for line in &lines[..held] {
        assert_eq!(
            set.insert(hasher.hash(line), line, 1, 0).unwrap(),
            Insert::Present
        );
    }
    set.reset(10, 64).unwrap();
    assert_eq!((set.lines(), set.iter().count()), (0, 0));
}

/// Counts 8 bytes of header and at most 7 of padding (4 on average) a line, and slots of 8 bytes of which 70 % are in
/// use.
#[test]
fn what_a_set_needs_is_known_beforehand() {
    assert_eq!(table_slots(699), 1008);
    assert_eq!(estimate_set_bytes(699, 7000), 7000 + 699 * 12 + 1008 * 8);
    assert_eq!(estimate_set_bytes(0, 0), 9 * 8);
    assert_eq!(estimate_set_bytes(u64::MAX, 1), u64::MAX);
}

#[test]
fn a_set_prepared_for_what_comes_does_not_grow_and_takes_no_more_than_estimated() {
    let hasher = hasher(HashKey::Random);
    for (bytes, count) in [(12, 50_000), (64, 20_000), (301, 5_000), (12, 700), (40, 0)] {
        let budget = MemoryBudget::new(64 << 20, 0);
        let mut set = LineSet::new(&budget, hasher, StateLayout::ROW).unwrap();
        set.reset(u64::from(count), bytes as u64).unwrap();
        let prepared = set.held_bytes();
        assert_eq!(prepared, (64 << 20) - budget.available_bytes());
        assert_eq!(
            fill(&mut set, hasher, lines_of(bytes, count)),
            u64::from(count)
        );
        assert_eq!(set.held_bytes(), prepared, "{count} lines of {bytes} bytes");
        let estimate = estimate_set_bytes(u64::from(count), (bytes * count as usize) as u64);
        assert!(prepared <= estimate + 2 * PAGE, "{prepared} of {estimate}");
    }
}

#[test]
fn what_is_expected_of_a_small_budget_is_what_it_holds() {
    let hasher = hasher(HashKey::Random);
    for bytes in [12, 64, 301] {
        // No whole number of pages.
        let budget = MemoryBudget::new((1 << 20) + 3000, 0);
        let mut set = LineSet::new(&budget, hasher, StateLayout::ROW).unwrap();
        // The second time its memory is its own already.
        for _ in 0..2 {
            set.reset(1 << 40, bytes as u64).unwrap();
            let held = fill(&mut set, hasher, lines_of(bytes, 1_000_000)) as f64;
            let record = (8 + bytes.next_multiple_of(8)) as f64;
            let most = f64::from(1 << 20) / (record + 8.0 / 0.7);
            assert!(
                held > 0.94 * most && held <= most,
                "{held} of {most}: {bytes} bytes"
            );
        }
    }
}

#[test]
fn a_set_that_is_let_go_keeps_two_pages_and_works() {
    let budget = MemoryBudget::new(1 << 20, 0);
    let hasher = hasher(HashKey::Random);
    let mut set = LineSet::new(&budget, hasher, StateLayout::ROW).unwrap();
    assert_eq!(fill(&mut set, hasher, lines_of(20, 9_000)), 9_000);
    set.release().unwrap();
    assert_eq!(set.held_bytes(), 2 * PAGE);
    assert_eq!(budget.available_bytes(), (1 << 20) - 2 * PAGE);
    assert_eq!((set.lines(), set.iter().count()), (0, 0));
    // A page has 512 slots: what fits 70 % of them needs no other table, and a page of records no
    // other arena.
    assert_eq!(fill(&mut set, hasher, lines_of(3, 255)), 255);
    assert_eq!(set.held_bytes(), 2 * PAGE);
    assert_eq!(
        fill(&mut set, hasher, lines_of(4, 1).chain(lines_of(5, 9_000))),
        9_001
    );
}

#[test]
fn the_table_grows_at_seventy_per_cent_and_not_before() {
    let budget = MemoryBudget::new(1 << 20, 0);
    let hasher = hasher(HashKey::Random);
    let mut set = LineSet::new(&budget, hasher, StateLayout::ROW).unwrap();
    fill(&mut set, hasher, lines_of(3, 358));
    assert_eq!(set.slots, 512, "358 is less than 70 % of 512");
    fill(&mut set, hasher, lines_of(4, 1));
    assert_eq!(set.slots, 1024);
    set.reset(0, 0).unwrap();
    assert_eq!(set.slots, 512);
    // 707 are 70 % to the line.
    set.reset(701, 8).unwrap();
    assert_eq!(set.slots, 1010);
    fill(&mut set, hasher, lines_of(8, 707));
    assert_eq!(set.slots, 1010);
    fill(&mut set, hasher, lines_of(9, 1));
    assert_eq!(set.slots, 2020);
    assert_eq!(
        set.insert(hasher.hash(b""), b"", 1, 0).unwrap(),
        Insert::New
    );
}

#[test]
fn the_arena_grows_by_a_quarter_and_at_the_end_by_what_is_left() {
    let budget = MemoryBudget::new(8 << 20, 0);
    let hasher = hasher(HashKey::Random);
    let mut set = LineSet::new(&budget, hasher, StateLayout::ROW).unwrap();
    set.reset(9_000, 0).unwrap();
    let mut sizes = vec![set.records.arena.len() as u64];
    for line in lines_of(1000, 4_000) {
        assert_eq!(
            set.insert(hasher.hash(&line), &line, 1, 0).unwrap(),
            Insert::New
        );
        if Some(&(set.records.arena.len() as u64)) != sizes.last() {
            sizes.push(set.records.arena.len() as u64);
        }
    }
    for pair in sizes.windows(2) {
        let least = pair[0] + pair[0] / 4;
        assert_eq!(
            pair[1],
            crate::memory::buffer::round_up(least, PAGE),
            "{sizes:?}"
        );
    }
    let more = fill(&mut set, hasher, lines_of(1001, 100_000));
    let table = set.table.len() as u64;
    let most = ((8 << 20) - table) / 1016;
    assert!(4_000 + more > most - 8, "{} of {most}", 4_000 + more);
}

/// Makes a batch of lines with the hashes of `hasher`.
fn with_batch<R>(hasher: LineHasher, lines: &[Vec<u8>], work: impl FnOnce(Batch<'_>) -> R) -> R {
    let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
    let mut hashes = Vec::new();
    hasher.hash_batch(&lines, &mut hashes);
    work(Batch::new(&lines, &hashes))
}

#[test]
fn batches_are_inserted_and_marked_as_line_by_line_whatever_the_hash() {
    for key in [HashKey::Random, HashKey::Constant] {
        let hasher = hasher(key);
        let budget = MemoryBudget::new(16 << 20, 0);
        let mut set = LineSet::new(&budget, hasher, StateLayout::ROW).unwrap();
        let all: Vec<Vec<u8>> = lines_of(5, 300).collect();
        let mut marked = Vec::new();
        with_batch(hasher, &all[..200], |batch| {
            let inserted = set.insert_all(batch, (0..200).chain(0..10), 1, |_| Ok(()));
            assert_eq!(inserted.unwrap(), 210);
        });
        assert!(set.iter().eq(all[..200].iter().map(Vec::as_slice)));
        with_batch(hasher, &all[100..], |batch| {
            let note = |line: &[u8], mark| {
                assert_eq!(mark, 2);
                marked.push(line.to_vec());
                Ok(())
            };
            set.mark_all(batch, (0..200).rev().chain(0..10), 2, note)
                .unwrap();
        });
        marked.sort_unstable();
        assert_eq!(marked, &all[100..200], "{key:?}");
        let unmarked = set.iter_marked().filter(|(_, found)| found.mark == 1);
        assert!(
            unmarked
                .map(|(line, ..)| line)
                .eq(all[..100].iter().map(Vec::as_slice))
        );
    }
}

#[test]
fn lines_are_spread_over_the_slots_and_told_apart_by_their_tags() {
    let hasher = hasher(HashKey::Random);
    let budget = MemoryBudget::new(1 << 20, 0);
    let set = LineSet::new(&budget, hasher, StateLayout::ROW).unwrap();
    let hashes: Vec<u64> = lines_of(9, 512).map(|line| hasher.hash(&line)).collect();
    let homes: BTreeSet<usize> = hashes.iter().map(|&hash| set.home(hash)).collect();
    // 1 - 1/e of the slots are somebody's home.
    assert!((280..370).contains(&homes.len()), "{}", homes.len());
    let tags: BTreeSet<u64> = hashes.iter().map(|&hash| tag(hash)).collect();
    assert!(tags.len() > 505 && tags.iter().all(|tag| tag & OFFSET_MASK == 0));
}

#[test]
fn a_set_that_says_it_has_room_is_never_full_whatever_it_held_before() {
    let hasher = hasher(HashKey::Random);
    let (mut with_room, mut without) = (0, 0);
    let ordinal = StateLayout {
        has_ordinal: true,
        has_rank: true,
        ..StateLayout::ROW
    };
    let budgets = (40..400).step_by(7).map(|kib| kib << 10);
    for (bytes, kept) in budgets.zip([StateLayout::ROW, ordinal].into_iter().cycle()) {
        let budget = MemoryBudget::new(bytes, 0);
        let mut set = LineSet::new(&budget, hasher, kept).unwrap();
        // Many short lines leave a large table, and a few long ones a large arena.
        for (count, length) in [
            (9000, 5),
            (300, 601),
            (2000, 41),
            (40, 5000),
            (4000, 8),
            (2500, 15),
        ] {
            let lines: Vec<Vec<u8>> = lines_of(length, count).collect();
            set.reset(count.into(), length as u64).unwrap();
            let has_room = set.has_room_for(count.into(), u64::from(count) * length as u64);
            let taken = fill(&mut set, hasher, lines.into_iter());
            if has_room {
                assert_eq!(taken, u64::from(count), "{count} of {length} in {bytes}");
                with_room += 1;
            } else {
                without += 1;
            }
        }
    }
    assert!(
        with_room > 50 && without > 50,
        "{with_room} with room, {without} without"
    );
}

#[test]
fn a_batch_tells_of_each_line_that_is_new_once() {
    let hasher = hasher(HashKey::Random);
    let budget = MemoryBudget::new(1 << 20, 0);
    let mut set = LineSet::new(&budget, hasher, StateLayout::ROW).unwrap();
    let all: Vec<Vec<u8>> = lines_of(9, 300).collect();
    let mut new = Vec::new();
    with_batch(hasher, &all, |batch| {
        let again: Vec<u32> = (0..200).chain(0..10).collect();
        for indexes in [again, (100..250).collect(), (0..300).collect()] {
            let on_new = |line: &[u8]| {
                new.push(line.to_vec());
                Ok(())
            };
            set.insert_all(batch, indexes.into_iter(), 1, on_new)
                .unwrap();
        }
    });
    assert_eq!(new, all);
}
