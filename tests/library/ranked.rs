//! Records of which the one with the smallest or the largest number is kept, against a naive oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use differential::sweep;
use outset::{
    BadRecords, Dialect, ErrorKind, Field, Keys, Order, Ranking, Selection, Sink, Source, Strategy,
    Syntax, select,
};

use crate::util::{Sandbox, beside_others, from_here};

/// A sink for what is kept and what is dropped.
#[derive(Default)]
struct Both {
    kept: Vec<String>,
    dropped: Vec<String>,
}

impl Sink for Both {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.kept.push(String::from_utf8_lossy(line).into_owned());
        Ok(())
    }

    fn duplicate(&mut self, line: &[u8]) -> io::Result<()> {
        self.dropped
            .push(String::from_utf8_lossy(line).into_owned());
        Ok(())
    }
}

/// Texts of numbers, with the numbers; none has none. Equal ones are written in several ways.
const NUMBERS: [(&str, Option<i128>); 9] = [
    ("7", Some(7)),
    ("-12", Some(-12)),
    ("1e1", Some(10)),
    ("7.0", Some(7)),
    ("9007199254740993", Some(9_007_199_254_740_993)),
    ("9007199254740992", Some(9_007_199_254_740_992)),
    ("0", Some(0)),
    ("300", Some(300)),
    ("", None),
];

/// A record: its key, its number, and how it is written.
type Record = (u64, Option<i128>, String);

/// Makes the records of a side in this syntax; the number stands before the key, and each record is different.
fn records(syntax: Syntax, side: u64, count: u64, keys: u64) -> Vec<Record> {
    let record = |index: u64| {
        // SplitMix64.
        let mixed = (side << 32 | index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let drawn = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 20;
        let (key, (text, number)) = (
            side * 400 + drawn % keys,
            NUMBERS[(drawn >> 24) as usize % NUMBERS.len()],
        );
        let padding = "x".repeat((drawn % 41) as usize);
        let written = match (syntax, text) {
            (Syntax::JsonLines, "") if index.is_multiple_of(2) => {
                format!("{{\"k\":\"key {key}\",\"i\":\"{side}.{index}{padding}\"}}")
            }
            (Syntax::JsonLines, "") => {
                format!("{{\"n\":null,\"k\":\"key {key}\",\"i\":\"{side}.{index}\"}}")
            }
            (Syntax::JsonLines, text) if index.is_multiple_of(3) => {
                format!("{{\"n\":\"{text}\",\"k\":\"key {key}\",\"i\":\"{side}.{index}\"}}")
            }
            (Syntax::JsonLines, text) => {
                format!("{{\"n\":{text},\"k\":\"key {key}\",\"i\":\"{side}.{index}{padding}\"}}")
            }
            (Syntax::Csv(_), text) => format!("\"{text}\",key {key},{side}.{index}{padding}"),
            (_, text) => format!("{text}\tkey {key}\t{side}.{index}{padding}"),
        };
        (key, number, written)
    };
    (0..count).map(record).collect()
}

/// The oracle: the index of the record that is kept of each key, in the order of all records.
fn kept<'r>(all: impl Iterator<Item = &'r Record>, greatest: bool) -> BTreeMap<u64, &'r str> {
    let mut best: BTreeMap<u64, (bool, i128, &str)> = BTreeMap::new();
    for (key, number, written) in all {
        let number_or_zero = number.unwrap_or(0);
        let rank = if greatest {
            -number_or_zero
        } else {
            number_or_zero
        };
        let found = (number.is_none(), rank, written.as_str());
        match best.get(key) {
            Some(&(is_none, before, _)) if (is_none, before) <= (found.0, found.1) => {}
            _ => _ = best.insert(*key, found),
        }
    }
    best.into_iter()
        .map(|(key, (.., written))| (key, written))
        .collect()
}

fn keys(syntax: Syntax, greatest: bool) -> Keys {
    let (key, number) = match syntax {
        Syntax::JsonLines => ("k", "n"),
        _ => ("2", "1"),
    };
    let number: Field = number.parse().unwrap();
    let ranking = if greatest {
        Ranking::Greatest(number)
    } else {
        Ranking::Least(number)
    };
    Keys {
        syntax,
        fields: vec![key.parse().unwrap()],
        ranking: Some(ranking),
        ..Keys::default()
    }
}

fn text(side: &[Record]) -> Vec<u8> {
    let lines = side.iter().map(|(.., written)| format!("{written}\n"));
    lines.collect::<String>().into_bytes()
}

#[test]
fn a21_the_record_with_the_smallest_or_the_largest_number_is_kept() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let syntaxes = [
        Syntax::Csv(Dialect::new(b',')),
        Syntax::JsonLines,
        Syntax::Delimited(b'\t'),
    ];
    let ways = [
        (None, false),
        (None, true),
        (Some(Strategy::Partition), false),
        (Some(Strategy::Partition), true),
        (Some(Strategy::Sieve), false),
        (Some(Strategy::Sieve), true),
    ];
    for (turn, (&syntax, &(strategy, greatest))) in (1..).zip(sweep::pairs(&syntaxes, &ways)) {
        let sides = [(0, 3000, 900), (1, 1500, 1800)]
            .map(|(side, count, keys)| records(syntax, side, count, keys));
        let paths = sandbox.files(&sides.each_ref().map(|side| text(side)));
        let sources = [Source::from(&paths[0]), Source::from(&paths[1])];
        let has = |side: usize, key: u64| sides[side].iter().any(|record| record.0 == key);
        let options = outset::Options {
            strategy,
            always_spill: turn % 2 == 0,
            threads: Some(1 + turn % 3),
            buckets: (turn % 4 == 0).then_some(7),
            keys: Some(keys(syntax, greatest)),
            ..sandbox.options()
        };
        let of = |selection: Selection| {
            let selection = selection.of_records().keeping_ranked();
            let selection = if turn % 5 < 2 {
                selection.ordered(Order::Input)
            } else {
                selection
            };
            let mut both = Both::default();
            select(&sources, selection, &from_here(&options), &mut both).unwrap();
            if turn % 5 >= 2 {
                both.kept.sort();
            }
            both.dropped.sort();
            both
        };
        let in_order = |kept: &BTreeMap<u64, &str>| {
            let all = sides.iter().flatten().map(|(.., written)| written.as_str());
            let chosen: BTreeSet<&str> = kept.values().copied().collect();
            let mut lines: Vec<String> = all
                .filter(|line| chosen.contains(line))
                .map(str::to_owned)
                .collect();
            if turn % 5 >= 2 {
                lines.sort();
            }
            lines
        };
        let case = format!("{syntax:?} {strategy:?} {greatest} {turn}");
        let all = kept(sides.iter().flatten(), greatest);
        let found = of(Selection::union().with_duplicates());
        assert!(found.kept == in_order(&all), "{case}");
        let mut dropped: Vec<String> = sides
            .iter()
            .flatten()
            .map(|(.., line)| line.clone())
            .collect();
        let chosen: BTreeSet<&str> = all.values().copied().collect();
        dropped.retain(|line| !chosen.contains(line.as_str()));
        dropped.sort();
        assert!(found.dropped == dropped, "{case}");
        let first = kept(sides[0].iter(), greatest);
        for (selection, is_in_second) in [
            (Selection::intersection(), true),
            (Selection::difference(), false),
        ] {
            let mut expected = first.clone();
            expected.retain(|&key, _| has(1, key) == is_in_second);
            assert!(expected.len() > 100);
            let (found, expected) = (of(selection).kept, in_order(&expected));
            let other = found
                .iter()
                .zip(&expected)
                .find(|(one, other)| one != other);
            assert!(
                found == expected,
                "{case} {is_in_second}: {other:?} of {} and {}",
                found.len(),
                expected.len()
            );
        }
    }
}

#[test]
fn a21_records_without_a_number_to_be_ranked_by_fail_or_are_left_out() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let path = sandbox.file("a", "1,k\n2024-01-02,k\n0,k\n");
    let mut options = outset::Options {
        keys: Some(keys(Syntax::Csv(Dialect::new(b',')), false)),
        ..sandbox.options()
    };
    let ranked = Selection::union().of_records().keeping_ranked();
    let run = |selection, options: &outset::Options| {
        let mut both = Both::default();
        let done = select(
            &[Source::from(&path)],
            selection,
            &from_here(options),
            &mut both,
        );
        done.map(|_| both.kept)
    };
    let error = run(ranked, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input, "{error}");
    assert!(
        error.to_string().contains("line 2") && error.to_string().contains("has no number in 1"),
        "{error}"
    );
    options.keys.as_mut().unwrap().bad_records = BadRecords::Skip;
    assert_eq!(run(ranked, &options).unwrap(), ["0,k"]);
    // What ranks nothing is refused.
    for (selection, said) in [
        (Selection::union().of_records(), "nothing is chosen"),
        (Selection::union().keeping_ranked(), "keys are written"),
    ] {
        let said_so = run(selection, &options).unwrap_err().to_string();
        assert!(said_so.contains(said), "{said_so}");
    }
    options.keys.as_mut().unwrap().ranking = None;
    let said = run(ranked, &options).unwrap_err().to_string();
    assert!(said.contains("there are no keys"), "{said}");
}
