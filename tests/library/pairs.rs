//! The common lines of each two sides: by every exact strategy, in memory and spilled, against the oracle.

use std::path::PathBuf;

use differential::sweep;
use outset::{Error, Label, Options, Overlaps, Pairs, Selection, Source, overlaps, pairs};

use crate::combinations::many_texts;
use crate::oracle::{Lines, distinct};
use crate::util::{EXACT, MIB, Sandbox, beside_others, from_here, numbered};

/// The common lines of each two texts, row after row.
fn expected(texts: &[Vec<u8>]) -> Vec<u64> {
    let sets: Vec<Lines> = texts
        .iter()
        .map(|text| distinct(text, outset::LineFormat::default()))
        .collect();
    let pairs = sets
        .iter()
        .flat_map(|one| sets.iter().map(move |other| (one, other)));
    pairs
        .map(|(one, other)| one.intersection(other).count() as u64)
        .collect()
}

fn count(files: &[PathBuf], options: &Options) -> outset::Result<Pairs> {
    let sources: Vec<Source> = files.iter().map(Source::from).collect();
    pairs(&sources, &from_here(options))
}

/// The numbers of `found`, row after row; the shares must be those that follow from them.
fn table(found: &Pairs) -> Vec<u64> {
    let all = 0..found.inputs.len();
    let mut table = Vec::new();
    for (one, other) in all
        .clone()
        .flat_map(|one| all.clone().map(move |other| (one, other)))
    {
        let common = found.common_lines(one, other);
        let (first, second) = (found.distinct_lines(one), found.distinct_lines(other));
        let share = |all: u64| (all > 0).then(|| common as f64 / all as f64);
        assert_eq!(found.containment(one, other), share(first));
        assert_eq!(found.jaccard(one, other), share(first + second - common));
        table.push(common);
    }
    table
}

#[test]
fn l20_pairs_of_up_to_64_sides_have_the_oracles_numbers_by_every_strategy() {
    let _shared = beside_others();
    let sides = [(1, 1), (2, 1000), (17, 1000), (40, 7), (64, 1)];
    let ways: Vec<_> = EXACT.into_iter().zip([1, 2, 5, 3]).collect();
    for (&(sides, buckets), &(strategy, threads), &always_spill) in
        sweep::triples(&sides, &ways, &[false, true])
    {
        let sandbox = Sandbox::new();
        let mut texts = many_texts(sides);
        // An empty one, and one that was given twice.
        if sides > 2 {
            texts[1].clear();
        }
        let mut files = sandbox.files(&texts);
        if sides > 16 {
            (texts[3], files[3]) = (texts[9].clone(), files[9].clone());
        }
        // Each bucket on disk is a file per side.
        let buckets = if always_spill {
            buckets.min(20)
        } else {
            buckets
        };
        let options = Options {
            strategy,
            always_spill,
            buckets: Some(buckets),
            threads: Some(threads),
            memory_bytes: Some(128 * MIB),
            ..sandbox.options()
        };
        let found = count(&files, &options).unwrap();
        let about = format!("{sides} sides by {strategy:?}, spilled: {always_spill}");
        assert!(table(&found) == expected(&texts), "{about}");
        assert_eq!(found.labels.len(), texts.len());
    }
}

#[test]
fn l20_pairs_of_sides_that_spill_under_the_smallest_memory_have_the_oracles_numbers() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let texts: Vec<Vec<u8>> = (0..20)
        .map(|side| numbered(side * 4000..side * 4000 + 10_000, 100))
        .collect();
    let files = sandbox.files(&texts);
    let expected = expected(&texts);
    let strategies = [outset::Strategy::Sieve, outset::Strategy::Partition];
    for &strategy in sweep::some(&strategies, 1) {
        let options = Options {
            strategy: Some(strategy),
            ..sandbox.options()
        };
        let found = count(&files, &options).unwrap();
        assert!(table(&found) == expected, "{strategy}");
        assert!(found.stats.temp.written_bytes > 0, "{strategy}");
    }
}

#[test]
fn l20_pairs_are_the_sums_of_their_combinations() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let files = sandbox.files(&many_texts(5));
    let sources: Vec<Source> = files.iter().map(Source::from).collect();
    let of_pairs = count(&files, &sandbox.options()).unwrap();
    let of_combinations = overlaps(&sources, &from_here(&sandbox.options())).unwrap();
    for one in 0..5 {
        for other in 0..5 {
            let both = of_combinations.combinations.iter();
            let both = both.filter(|found| found.has(one) && found.has(other));
            let lines: u64 = both.map(|found| found.lines).sum();
            assert_eq!(of_pairs.common_lines(one, other), lines);
        }
    }
    let order = of_pairs.in_order();
    let common = |&(one, other): &(usize, usize)| of_pairs.common_lines(one, other);
    assert!(order.is_sorted_by(|one, other| common(one) >= common(other)));
    assert!(order.len() <= 10 && order.iter().all(|(one, other)| one < other));
    // Sides that are not there have no lines.
    assert_eq!(
        (of_pairs.common_lines(0, 5), of_pairs.jaccard(9, 9)),
        (0, None)
    );
}

#[test]
fn l20_more_sides_than_can_be_counted_are_refused_with_what_to_do() {
    let sandbox = Sandbox::new();
    let files = sandbox.files(&vec![b"a\n".to_vec(); 65]);
    let sources: Vec<Source> = files.iter().map(Source::from).collect();
    for (refused, parts) in [
        (
            count(&files, &sandbox.options()).map(drop),
            ["65 files given, ", "at most 64", "`Files`"],
        ),
        (
            overlaps(&sources[..17], &from_here(&sandbox.options())).map(drop),
            ["17 files given, ", "at most 16", "`pairs`"],
        ),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::Usage { .. }));
        let text = error.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    assert_eq!((Overlaps::MOST_INPUTS, Pairs::MOST_INPUTS), (16, 64));
    let which = Selection::union().labelled(Label::SidesOnly);
    let plan =
        |count: usize| outset::plan_for(&sources[..count], which, &from_here(&sandbox.options()));
    assert!(plan(64).is_ok() && plan(65).is_err());
}
