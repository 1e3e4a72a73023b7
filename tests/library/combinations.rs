//! The lines of one combination of sides: every combination, by every exact strategy, in memory and spilled.

use outset::{Dialect, Keys, Label, Options, Selection, Syntax};

use crate::oracle::selected;
use crate::util::{EXACT, MIB, Sandbox, assert_same, beside_others, numbered, run_to_select};

/// Lists every way in which a line can be in one of three sides or more.
fn combinations() -> impl Iterator<Item = [bool; 3]> {
    (1..8).map(|bits| [0, 1, 2].map(|side| bits >> side & 1 == 1))
}

/// Makes three texts that have lines in every combination, some of them often.
fn texts() -> [Vec<u8>; 3] {
    let text = |step: u32| {
        let lines = (0..30_000).filter(|number| number % step != 0);
        let lines: Vec<u8> = lines
            .flat_map(|number| numbered(number..number + 1, 20))
            .collect();
        [&lines[..], &lines[..5000 * 21]].concat()
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
    for which in combinations() {
        let expected = selected(&contents, |has| has == which);
        for strategy in EXACT {
            for always_spill in [false, true] {
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
    let mut spilled = 0;
    for which in [[true, false, true], [true, false, false]] {
        let expected = selected(&contents, |has| has == which);
        assert_eq!(expected.len(), if which[2] { 60_000 } else { 40_000 });
        for strategy in EXACT {
            let options = Options {
                strategy,
                ..sandbox.options()
            };
            let Ok((found, stats)) = run_to_select(Selection::only(&which), &files, &options)
            else {
                // The memory strategy has no room.
                assert_eq!(strategy, Some(outset::Strategy::Memory));
                continue;
            };
            assert_same(&found, &expected, &(which, strategy));
            spilled += u32::from(stats.temp.written_bytes > 0);
        }
    }
    assert!(spilled >= 4, "{spilled} runs spilled");
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
        .filter(|&strategy| strategy != Some(outset::Strategy::Memory))
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
