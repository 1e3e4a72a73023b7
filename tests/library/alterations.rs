//! Spill files that come back altered (row E8 of `tests/matrix.tsv`): what was written is changed behind the engine's
//! back before it is read, at random offsets and in random ways, and every such run must say that a file is damaged.
//!
//! Not every byte of a file carries something: a block is padded to whole pages. A change of padding alone must not
//! change the result.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use outset::{ErrorKind, Options, Order, Selection, Strategy};

use crate::faults::{Moment, select_with_fault, spill_files};
use crate::oracle::{Lines, selected};
use crate::util::{Sandbox, assert_same, beside_others, numbered};

const PAGE: usize = 4096;
const HEADER: usize = 64;

/// Numbers that look random (xorshift64*).
struct Dice(u64);

impl Dice {
    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) as usize % end
    }
}

/// For each byte of a file whether it carries something: it does in headers and payloads, not in padding.
fn carrying(file: &[u8]) -> Vec<bool> {
    let mut carries = vec![false; file.len()];
    let mut at = 0;
    while at + HEADER <= file.len() {
        let length: [u8; 8] = file[at + 40..at + 48].try_into().unwrap();
        let end = at + HEADER + u64::from_le_bytes(length) as usize;
        assert!(file[at..].starts_with(b"OUTSETB1") && end <= file.len());
        carries[at..end].fill(true);
        at = end.next_multiple_of(PAGE);
    }
    carries
}

/// Alters one of the files. Returns how, and whether anything that carries something has changed.
fn alter(files: &[PathBuf], dice: &mut Dice) -> (String, bool) {
    let file = &files[dice.below(files.len())];
    let before = fs::read(file).unwrap();
    let mut after = before.clone();
    let pages = before.len() / PAGE;
    let page = dice.below(pages) * PAGE;
    let how = match dice.below(6) {
        0 => {
            let (at, bit) = (dice.below(before.len()), dice.below(8));
            after[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} flipped")
        }
        1 => {
            after[page..page + PAGE].fill(0);
            format!("page at {page} zeroed")
        }
        2 => {
            after.truncate(page);
            format!("cut at {page}")
        }
        3 => {
            let other = dice.below(pages) * PAGE;
            after.copy_within(other..other + PAGE, page);
            format!("page at {page} replaced by that at {other}")
        }
        4 => {
            let other = &files[dice.below(files.len())];
            after = fs::read(other).unwrap();
            format!("replaced by {}", other.display())
        }
        _ => {
            let length = 1 + dice.below(PAGE);
            let start = dice.below(before.len() - length);
            for byte in &mut after[start..start + length] {
                *byte = dice.below(256) as u8;
            }
            format!("noise from {start}, {length} bytes")
        }
    };
    fs::write(file, &after).unwrap();
    let carries = carrying(&before);
    // Longer by what nobody reads is no damage to what was written.
    let matters = (0..before.len()).any(|at| carries[at] && after.get(at) != Some(&before[at]));
    (format!("{}: {how}", file.display()), matters)
}

/// A way to run: the lines that are asked for, the strategy, and the number of buckets.
type Way = (Selection, Strategy, u32);

const COMMON: [Way; 4] = [
    (Selection::intersection(), Strategy::Sieve, 3),
    (Selection::intersection(), Strategy::Partition, 1),
    (Selection::intersection(), Strategy::Partition, 5),
    (Selection::intersection(), Strategy::Bloom, 3),
];
const OTHERS: [Way; 5] = [
    (Selection::difference(), Strategy::Partition, 5),
    (Selection::union(), Strategy::Partition, 3),
    (Selection::union(), Strategy::Sieve, 3),
    (Selection::symmetric_difference(), Strategy::Sieve, 3),
    // Its buckets are ranges of lines, and no run is left for the end.
    (
        Selection::union().ordered(Order::Sorted),
        Strategy::Partition,
        3,
    ),
];

/// The requests whose answer is altered: its lines are in order, and were written before they are merged. Of counted
/// lines no answer is read once more from the inputs.
const IN_ORDER: [Way; 3] = [
    (
        Selection::union().ordered(Order::Sorted),
        Strategy::Sieve,
        3,
    ),
    (
        Selection::difference().with_all().ordered(Order::Input),
        Strategy::Sieve,
        3,
    ),
    (
        Selection::intersection().ordered(Order::Input),
        Strategy::Memory,
        3,
    ),
];

/// The lines that one of these selections asks for.
fn answer(selection: Selection, contents: &[Vec<u8>]) -> Lines {
    let count = |which: &[bool]| which.iter().filter(|&&has| has).count();
    let all = contents.len();
    selected(contents, |which| match selection.name() {
        "intersect" => count(which) == all,
        "diff" => which[0] && count(which) == 1,
        "symdiff" => count(which) == 1,
        _ => true,
    })
}

/// Alters the spill of `count` runs, each in one way.
fn alterations(count: usize, ways: &[Way]) {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let contents = [numbered(0..5000, 60), numbered(2500..8000, 60)];
    let files = sandbox.files(&contents);
    let given = std::env::var("OUTSET_TEST_SEED").ok();
    let seed = given.and_then(|text| text.parse().ok()).unwrap_or(1);
    println!("OUTSET_TEST_SEED={seed}");
    let dice = Arc::new(Mutex::new(Dice(seed)));
    let (mut detected, mut harmless, mut trials) = (0, 0, 0);
    while detected < count {
        trials += 1;
        assert!(trials < 3 * count, "most alterations were harmless");
        let (selection, strategy, buckets) = ways[trials % ways.len()];
        let options = Options {
            strategy: Some(strategy),
            buckets: Some(buckets),
            always_spill: true,
            ..sandbox.options()
        };
        let done = Arc::new(Mutex::new((String::new(), false)));
        let (temp, into, dice) = (sandbox.temp(), done.clone(), dice.clone());
        let act = move || {
            let spilled = spill_files(&temp);
            *into.lock().unwrap() = alter(&spilled, &mut dice.lock().unwrap());
        };
        let is_ordered = |order| selection == selection.ordered(order);
        let in_ranges = strategy == Strategy::Partition && is_ordered(Order::Sorted);
        let phase = if in_ranges || is_ordered(Order::Any) {
            "join"
        } else {
            "order"
        };
        let result = select_with_fault(selection, &files, &options, phase, Moment::Start, act);
        let (how, matters) = done.lock().unwrap().clone();
        match result {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Damaged, "{how}: {error}");
                assert!(matters, "nothing was damaged by {how}: {error}");
                detected += 1;
            }
            Ok(lines) => {
                assert!(
                    !matters,
                    "not noticed, seed {seed}, {selection:?} by {strategy}: {how}"
                );
                if strategy != Strategy::Bloom {
                    assert_same(&lines, &answer(selection, &contents), &how);
                }
                harmless += 1;
            }
        }
    }
    println!("{trials} alterations: {detected} noticed, {harmless} of padding alone or of nothing");
}

#[test]
fn e8_spill_that_comes_back_altered_is_noticed() {
    alterations(16, &COMMON);
}

#[test]
fn e8_spill_of_any_operation_that_comes_back_altered_is_noticed() {
    alterations(15, &OTHERS);
}

#[test]
fn e8_an_answer_that_comes_back_altered_is_noticed() {
    alterations(9, &IN_ORDER);
}

#[test]
#[ignore = "slow: more than a thousand runs"]
fn e8_a_thousand_alterations_of_spill_are_noticed() {
    alterations(1000, &[&COMMON[..], &OTHERS, &IN_ORDER].concat());
}
