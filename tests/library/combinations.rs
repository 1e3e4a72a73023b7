//! The lines of one combination of sides: every combination, by every exact strategy, in memory and spilled.

use std::cell::RefCell;
use std::collections::BTreeSet;

use differential::sweep;
use outset::{Dialect, Keys, Label, Options, Selection, Strategy, Syntax};

use crate::oracle::{Lines, selected};
use crate::util::{EXACT, MIB, Sandbox, assert_same, beside_others, numbered, run_to_select};

/// Lists every way in which a line can be in one of three sides or more.
fn combinations() -> impl Iterator<Item = [bool; 3]> {
    (1..8).map(|bits| [0, 1, 2].map(|side| bits >> side & 1 == 1))
}

/// Makes three texts that have lines in every combination, some of them often.
fn texts() -> [Vec<u8>; 3] {
    let text = |step: u32| {
        let lines = (0..9000).filter(|number| number % step != 0);
        let lines: Vec<u8> = lines
            .flat_map(|number| numbered(number..number + 1, 20))
            .collect();
        [&lines[..], &lines[..1500 * 21]].concat()
    };
    [text(2), text(3), text(5)]
}

/// Compares every combination of these of the texts by every strategy, in memory and spilled.
fn check(order: [usize; 3]) {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let texts = texts();
    let files = sandbox.files(&texts);
    let named = order.map(|number| files[number].clone());
    let contents = order.map(|number| texts[number].clone());
    let combinations: Vec<_> = combinations().collect();
    for (&which, &strategy, &always_spill) in sweep::triples(&combinations, &EXACT, &[false, true])
    {
        let expected = selected(&contents, |has| has == which);
        let options = Options {
            strategy,
            always_spill,
            memory_bytes: Some(64 * MIB),
            ..sandbox.options()
        };
        let (found, _) = run_to_select(Selection::only(&which), &named, &options).unwrap();
        let about = (which, strategy, always_spill);
        assert_same(&found, &expected, &about);
    }
}

#[test]
fn l16_every_combination_of_sides_has_the_oracles_lines_by_every_strategy() {
    check([0, 1, 2]);
}

#[test]
fn l16_a_file_that_is_given_twice_has_two_digits() {
    check([1, 0, 1]);
}

#[test]
fn l16_what_spills_under_the_smallest_memory_has_the_oracles_lines() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let contents = [
        numbered(0..160_000, 100),
        numbered(100_000..200_000, 100),
        numbered(40_000..140_000, 100),
    ];
    let files = sandbox.files(&contents);
    let (mut runs, mut spilled) = (0, 0);
    // The first and the third of them spill.
    let strategies = [
        Some(Strategy::Partition),
        Some(Strategy::Memory),
        Some(Strategy::Sieve),
        None,
    ];
    for &which in sweep::some(&[[true, false, true], [true, false, false]], 1) {
        let expected = selected(&contents, |has| has == which);
        assert_eq!(expected.len(), if which[2] { 60_000 } else { 40_000 });
        for &strategy in sweep::some(&strategies, 2) {
            runs += 1;
            let options = Options {
                strategy,
                ..sandbox.options()
            };
            let Ok((found, stats)) = run_to_select(Selection::only(&which), &files, &options)
            else {
                // The memory strategy has no room.
                assert_eq!(strategy, Some(Strategy::Memory));
                continue;
            };
            assert_same(&found, &expected, &(which, strategy));
            spilled += u32::from(stats.temp.written_bytes > 0);
        }
    }
    assert!(spilled * 2 >= runs, "{spilled} of {runs} runs spilled");
}

#[test]
fn l16_of_the_records_of_a_combination_the_first_one_comes_with_its_label() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let files = sandbox.files(&[
        b"x,1\nboth,2\nboth,3\nall,4\n".to_vec(),
        b"y,5\nall,6\n".to_vec(),
        b"all,7\nlate,8\nboth,9\nlate,10\n".to_vec(),
    ]);
    let keys = Keys {
        syntax: Syntax::Csv(Dialect::new(b',')),
        fields: vec!["1".parse().unwrap()],
        ..Keys::default()
    };
    for strategy in EXACT
        .into_iter()
        .filter(|&strategy| strategy != Some(Strategy::Memory))
    {
        let options = Options {
            strategy,
            keys: Some(keys.clone()),
            ..sandbox.options()
        };
        for (which, expected) in [
            ([true, false, true], "3,both,2"),
            ([false, false, true], "2,late,8"),
            ([true, true, true], "3,all,4"),
        ] {
            let selection = Selection::only(&which);
            let records = selection.of_records().labelled(Label::Count);
            let (found, _) = run_to_select(records, &files, &options).unwrap();
            let expected = expected.as_bytes().to_vec();
            assert_eq!(found, [expected].into(), "{which:?} by {strategy:?}");
            let (found, _) = run_to_select(selection, &files, &options).unwrap();
            assert_eq!(found.len(), 1, "the key of {which:?} by {strategy:?}");
        }
    }
}

/// Makes `count` texts of which the lines are in very different combinations: number n is in the sides whose numbers
/// have a bit of a mix of n. The first lines of each come twice.
pub(crate) fn many_texts(count: u64) -> Vec<Vec<u8>> {
    let has = |side: u64, number: u64| {
        let mix = (number % 97).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        number.is_multiple_of(41) || mix >> side & 1 == 1
    };
    let text = |side| {
        let numbers = (0..400).filter(|&number| has(side, number));
        let lines: Vec<u8> = numbers
            .flat_map(|number| format!("line {number}\n").into_bytes())
            .collect();
        let again = lines.split_inclusive(|&byte| byte == b'\n').take(7);
        [&lines[..], &again.collect::<Vec<_>>().concat()].concat()
    };
    (0..count).map(text).collect()
}

#[test]
fn l18_combinations_of_up_to_64_sides_have_the_oracles_lines() {
    let _shared = beside_others();
    for count in [17, 24, 40, 64] {
        let sandbox = Sandbox::new();
        let texts = many_texts(count);
        let files = sandbox.files(&texts);
        // The combination of a line that some sides have, and of one that all have.
        let has = RefCell::new(BTreeSet::new());
        selected(&texts, |which| {
            has.borrow_mut().insert(which.to_vec());
            false
        });
        let has = has.into_inner();
        // Each bucket on disk is a file per side.
        let many_buckets = if count == 17 { 1000 } else { 20 };
        let ways = EXACT
            .into_iter()
            .zip([None, Some(1), Some(many_buckets), Some(7)]);
        for ((turn, which), (strategy, buckets)) in has
            .iter()
            .step_by(has.len() / 4)
            .enumerate()
            .zip(ways.cycle())
        {
            let options = Options {
                strategy,
                buckets,
                always_spill: turn % 3 == 1,
                threads: Some(1 + turn),
                memory_bytes: Some(128 * MIB),
                ..sandbox.options()
            };
            let digits: String = which
                .iter()
                .map(|&has| if has { '1' } else { '0' })
                .collect();
            let labelled = |line: &Vec<u8>| [digits.as_bytes(), b"\t", line].concat();
            let expected: Lines = selected(&texts, |has| has == which)
                .iter()
                .map(labelled)
                .collect();
            let selection = Selection::only(which).labelled(Label::Sides).min_count(1);
            let (found, _) = run_to_select(selection, &files, &options).unwrap();
            assert_same(&found, &expected, &(count, which, strategy));
        }
    }
}
