//! Sorted answers whose buckets are ranges of lines: those that come in any order, put in order.

use std::path::PathBuf;
use std::sync::Mutex;

use differential::sweep;
use outset::plan::Plan;
use outset::{
    Field, Keys, Label, Observer, Options, Order, Selection, Source, Strategy, Syntax, select,
};

use crate::util::{MIB, Sandbox, beside_others, from_here};

/// Lines of the plans of a run that say that it goes range by range.
#[derive(Default)]
struct Ranged(Mutex<usize>);

impl Observer for Ranged {
    fn planned(&self, plan: &Plan) {
        let steps = serde_json::to_string(plan).unwrap();
        *self.0.lock().unwrap() += steps.matches("range after range").count();
    }
}

/// Selects lines of `paths`; returns them as they come, and how often the plan went range by range.
fn lines(paths: &[PathBuf], selection: Selection, options: &Options) -> (Vec<Vec<u8>>, usize) {
    let ranged = std::sync::Arc::new(Ranged::default());
    let options = Options {
        observer: Some(ranged.clone()),
        ..from_here(options)
    };
    let sides: Vec<Source> = paths.iter().map(Source::from).collect();
    let mut lines = Vec::new();
    let mut sink = |line: &[u8]| {
        lines.push(line.to_vec());
        Ok(())
    };
    select(&sides, selection, &options, &mut sink).unwrap();
    let ranged = *ranged.0.lock().unwrap();
    (lines, ranged)
}

/// Numbers that look random, below `most`.
fn mixed(seed: u64, count: u64, most: u64) -> impl Iterator<Item = u64> {
    let mix = |i: u64| (i ^ (i >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
    (0..count).map(move |i| mix(mix(seed << 40 | i)) % most)
}

/// Two sides with lines of a kind, which have some in common; more than a sort has memory for.
fn sides(kind: &str) -> [Vec<u8>; 2] {
    [1, 2].map(|seed| {
        let shared = "y".repeat(200);
        let line = |number: u64| match kind {
            "urls" => format!("https://www.example.org/{number:x}/{number:0>30}"),
            "one range" => format!("{shared}{number}"),
            "tails" if number.is_multiple_of(7) => "\0".repeat(number as usize % 90),
            "tails" if number.is_multiple_of(11) => format!("{}\0", number % 70_000),
            // One that is longer than a chunk, and than what a range is sorted in.
            "tails" if number == 13 => format!("{number}{}", "l".repeat(3_000_000)),
            "tails" => format!("{}\u{ff}{:0>40}", number % 70_000, number),
            "keys" => format!("{seed}\t{number:0>50}\t{number}"),
            _ => format!("{number:0>50}"),
        };
        let count = if kind == "one range" { 12_000 } else { 70_000 };
        let mut numbers: Vec<u64> = match kind {
            "few" => mixed(seed, 2 * count, count / 2)
                .map(|i| i + seed * count / 8)
                .collect(),
            _ => mixed(seed, count, 2 * count).collect(),
        };
        numbers.push(13);
        if kind == "in order" {
            numbers.sort_unstable();
        }
        let lines = numbers.into_iter().map(|number| line(number) + "\n");
        lines.collect::<String>().into_bytes()
    })
}

/// Returns the lines in order, which have a label before them up to a tab.
fn sorted(mut lines: Vec<Vec<u8>>, is_labelled: bool) -> Vec<Vec<u8>> {
    let start = |line: &[u8]| {
        let tab = memchr::memchr(b'\t', line).filter(|_| is_labelled);
        tab.map_or(0, |tab| tab + 1)
    };
    lines.sort_by(|one, other| one[start(one)..].cmp(&other[start(other)..]));
    lines
}

fn selections() -> Vec<Selection> {
    let (all, common) = (Selection::union(), Selection::intersection());
    vec![
        all,
        all.labelled(Label::Count),
        all.with_all(),
        common,
        common.with_repeats(),
        Selection::difference(),
        Selection::symmetric_difference(),
    ]
}

/// Compares the sorted answers to these lines with those that come in any order: of every other selection from `first`
/// on, by one of four settings each, or in a full sweep of every selection by every setting. At least so many of the
/// runs must go range by range, and in a full sweep nearly half.
fn compare(kind: &str, first: usize, in_ranges: usize) {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = sandbox.files(&sides(kind));
    let keys = (kind == "keys").then(|| Keys {
        fields: vec![Field::Number(2)],
        syntax: Syntax::Delimited(b'\t'),
        ..Keys::default()
    });
    let mut all_ranged = 0;
    let is_wanted = |&(number, _): &(usize, Selection)| sweep::is_full() || number % 2 == first;
    for (number, selection) in selections().into_iter().enumerate().filter(is_wanted) {
        let roomy = Options {
            memory_bytes: Some(512 * MIB),
            keys: keys.clone(),
            ..sandbox.options()
        };
        let (any, _) = lines(&paths, selection, &roomy);
        assert!(any.len() > 1000, "{kind}: {selection:?}");
        let expected = sorted(any, selection == Selection::union().labelled(Label::Count));
        let mut settings = [
            (1, None, false),
            (3, None, false),
            (2, Some(40), false),
            (2, Some(12), true),
        ];
        // Not always the same one comes first.
        settings.rotate_left(2 + number % 2 - number / 2 % 2);
        for &(threads, buckets, always_spill) in sweep::some(&settings, 1) {
            let options = Options {
                memory_bytes: Some(24 * MIB),
                threads: Some(threads),
                strategy: Some(Strategy::Partition),
                buckets,
                always_spill,
                keys: keys.clone(),
                ..sandbox.options()
            };
            let (found, ranged) = lines(&paths, selection.ordered(Order::Sorted), &options);
            let what = format!("{kind}, selection {number}, {threads} threads, {buckets:?}");
            assert!(found == expected, "{what}: {} lines", found.len());
            all_ranged += ranged;
        }
    }
    let least = if sweep::is_full() { 13 } else { in_ranges };
    assert!(all_ranged >= least, "{kind}: {all_ranged} runs in ranges");
}

#[test]
fn l10_sorted_answers_in_ranges_are_those_in_any_order() {
    compare("urls", 0, 3);
}

#[test]
fn l10_sorted_answers_of_files_in_order_come_in_ranges() {
    compare("in order", 1, 2);
}

#[test]
fn l10_lines_that_share_more_than_a_border_has_are_in_one_range() {
    compare("one range", 0, 3);
}

#[test]
fn l10_ranges_of_few_different_lines_are_joined_as_others() {
    compare("few", 0, 3);
}

#[test]
fn l10_keys_that_are_written_come_in_ranges() {
    compare("keys", 0, 3);
}

#[test]
fn l10_ranges_divide_lines_of_any_bytes() {
    compare("tails", 1, 3);
}
