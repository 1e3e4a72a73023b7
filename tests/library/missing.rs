//! Comparisons of a difference: the missing lines are what `bloom` alone lacks of the oracle's, and the rates follow
//! from the counts.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use outset::compare::{Comparer, Comparison, Mistake, Point, compare};
use outset::{CountSink, ErrorKind, KeyType, Observer, Options, Selection, Strategy};
use proptest::prelude::*;

use crate::comparisons::{Choices, KEY, choices, chosen, lines_of_few, sources};
use crate::oracle::{Lines, distinct};
use crate::util::{
    MIB, Sandbox, assert_same, beside_others, entries, from_here, numbered, run_to_select,
};

/// Compares, and checks what holds for every comparison of a difference: the missing lines come once each, all counts
/// agree with each other, nothing is left in temporary space.
fn compared(paths: &[PathBuf], options: &Options) -> (Comparison, Lines) {
    let mut lines = BTreeSet::new();
    let mut sink = |line: &[u8]| {
        assert!(lines.insert(line.to_vec()), "a missing line came twice");
        Ok(())
    };
    let difference = Selection::difference();
    let found = compare(&sources(paths), difference, &from_here(options), &mut sink).unwrap();
    for directory in &options.temp_dirs {
        assert!(entries(directory).is_empty(), "left in temporary space");
    }
    assert_eq!(
        (found.operation, found.mistake),
        ("diff", Mistake::MissingLines)
    );
    assert_eq!(found.mistakes(), lines.len() as u64);
    assert_eq!(
        (found.missing_lines, found.false_lines),
        (lines.len() as u64, 0)
    );
    assert!(found.exact.stats.exact && !found.approximate.stats.exact);
    assert_eq!(
        found.approximate.stats.output.lines + found.missing_lines,
        found.exact.stats.output.lines
    );
    (found, lines)
}

fn check_against_the_oracle(contents: &[Vec<u8>], options: &Options, sandbox: &Sandbox) {
    let paths = sandbox.files(contents);
    let (found, missing) = compared(&paths, options);
    let distinct = |bytes: &Vec<u8>| distinct(bytes, options.format);
    let others: Lines = contents[1..].iter().flat_map(distinct).collect();
    let truth = &distinct(&contents[0]) - &others;
    let bloom = Options {
        strategy: Some(Strategy::Bloom),
        ..options.clone()
    };
    let answered = run_to_select(Selection::difference(), &paths, &bloom);
    let expected = &truth - &answered.unwrap().0;
    assert_same(&missing, &expected, options);
    let all = truth.len() as u64;
    assert_eq!(found.exact.stats.output.lines, all);
    let could_pass = found.could_pass_lines.unwrap();
    assert!(could_pass.is_exact());
    assert_eq!(could_pass.estimate as usize, truth.len());
    // So few lines are counted, not estimated.
    let in_filter = found.filter_lines.unwrap();
    assert!(in_filter.is_exact());
    assert_eq!(in_filter.estimate as usize, others.len());
    let measured = (all > 0).then(|| expected.len() as f64 / all as f64);
    assert_eq!(found.measured_fpr, measured);
    let recall = 1.0 - measured.unwrap_or_default();
    assert!((found.recall - recall).abs() < 1e-12, "{recall}");
    assert_eq!((found.precision, found.quality()), (1.0, found.recall));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(15))]

    #[test]
    fn l14_missing_lines_are_what_bloom_alone_lacks(texts in texts(), choices in choices()) {
        check_case(&texts, choices);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    #[ignore = "slow: 200 comparisons"]
    fn l14_missing_lines_are_what_bloom_alone_lacks_in_many_cases(texts in texts(), choices in choices()) {
        check_case(&texts, choices);
    }
}

/// Two to four texts.
fn texts() -> impl proptest::strategy::Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(lines_of_few(), 2..5)
}

fn check_case(texts: &[Vec<u8>], choices: Choices) {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    check_against_the_oracle(texts, &chosen(choices, &sandbox), &sandbox);
}

#[test]
fn l14_many_missing_lines_are_found_in_results_that_are_spilled() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let contents = [
        numbered(0..125_000, 40),
        numbered(100_000..162_500, 40),
        numbered(90_000..150_000, 40),
    ];
    let options = Options {
        // The test collects the lines in the same process.
        memory_bytes: Some(128 * MIB),
        always_spill: true,
        bits_per_key: Some(2.0),
        hash_key: KEY,
        ..sandbox.options()
    };
    let paths = sandbox.files(&contents);
    let (found, missing) = compared(&paths, &options);
    assert_eq!(found.exact.stats.output.lines, 90_000);
    assert!(missing.len() > 10_000, "{}", missing.len());
    let (measured, predicted) = (found.measured_fpr.unwrap(), found.predicted_fpr.unwrap());
    assert!(
        (measured / predicted - 1.0).abs() < 0.05,
        "{measured}, {predicted}"
    );
    let known = found.filter_lines.unwrap();
    assert!(known.low <= 72_500.0 && known.high >= 72_500.0, "{known:?}");
    assert!(known.high - known.low < 2_000.0, "{known:?}");
}

#[test]
fn l14_addresses_and_a_file_that_is_given_twice_are_compared() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let addresses = |range: std::ops::Range<u32>| -> Vec<u8> {
        let line = |n: u32| format!("{}\n", std::net::Ipv4Addr::from(n * 7919));
        range.map(line).collect::<String>().into_bytes()
    };
    let options = Options {
        key_type: KeyType::Ipv4,
        bits_per_key: Some(2.0),
        hash_key: KEY,
        ..sandbox.options()
    };
    let contents = [addresses(0..6000), addresses(2000..3000)];
    check_against_the_oracle(&contents, &options, &sandbox);
    let path = sandbox.file("a", numbered(0..1000, 10));
    let (found, _) = compared(&[path.clone(), path], &sandbox.options());
    assert_eq!(found.exact.stats.output.lines, 0);
    assert_eq!((found.measured_fpr, found.recall), (None, 1.0));
}

#[test]
fn l14_points_share_what_they_can_and_the_first_file_is_not_estimated() {
    #[derive(Default)]
    struct Parts(Mutex<Vec<String>>);
    impl Observer for Parts {
        fn part_started(&self, name: &str) {
            self.0.lock().unwrap().push(name.to_owned());
        }
    }
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = sandbox.files(&[numbered(0..30_000, 20), numbered(20_000..40_000, 20)]);
    let parts = Arc::new(Parts::default());
    let options = from_here(&Options {
        memory_bytes: Some(32 * MIB),
        observer: Some(parts.clone()),
        ..sandbox.options()
    });
    let difference = Selection::difference();
    let mut comparer = Comparer::new(&sources(&paths), difference, &options).unwrap();
    let points = [0.1, 0.01].map(|fpr| Point {
        filter_fpr: Some(fpr),
        ..Point::default()
    });
    let expected = comparer.expected_bytes(&points).unwrap();
    let rates = points.map(|point| {
        let found = comparer.compare(point, &mut CountSink).unwrap();
        assert_eq!(found.exact.stats.output.lines, 20_000);
        found.measured_fpr.unwrap()
    });
    assert!(rates[0] > 0.08 && rates[1] < 0.02, "{rates:?}");
    assert_eq!(
        *parts.0.lock().unwrap(),
        [
            "exact",
            "approximate",
            "missing lines",
            "distinct lines", // the first point
            "approximate",
            "missing lines", // the second
        ]
    );
    assert_eq!(expected.len(), 6);
    // Only the second file goes into the filter.
    assert_eq!(expected[3], 20_000 * 21);
}

#[test]
fn l14_what_bloom_loses_of_a_union_is_counted_and_predicted() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let contents = [
        numbered(0..60_000, 20),
        numbered(50_000..100_000, 20),
        numbered(0..60_000, 20),
    ];
    let paths = sandbox.files(&contents);
    let options = Options {
        bits_per_key: Some(3.0),
        hash_key: KEY,
        ..sandbox.options()
    };
    for (count, all) in [(1, 60_000), (3, 100_000)] {
        let mut missing = BTreeSet::new();
        let mut sink = |line: &[u8]| {
            assert!(missing.insert(line.to_vec()), "a missing line came twice");
            Ok(())
        };
        let (inputs, union) = (sources(&paths[..count]), Selection::union());
        let found = compare(&inputs, union, &from_here(&options), &mut sink).unwrap();
        assert_eq!(
            (found.operation, found.mistake),
            ("union", Mistake::LostLines)
        );
        let truth: Lines = contents[..count]
            .iter()
            .flat_map(|bytes| distinct(bytes, options.format))
            .collect();
        assert!(missing.is_subset(&truth));
        let lost = missing.len() as u64;
        assert_eq!((found.missing_lines, found.false_lines), (lost, 0));
        assert_eq!(found.exact.stats.output.lines, all);
        assert_eq!(found.approximate.stats.output.lines + lost, all);
        let rate = lost as f64 / all as f64;
        assert_eq!(found.measured_fpr, Some(rate));
        assert!((found.recall + rate - 1.0).abs() < 1e-12);
        let (predicted, at_end) = (found.predicted_fpr.unwrap(), found.fill_fpr.unwrap());
        assert!((rate / predicted - 1.0).abs() < 0.15, "{rate}, {predicted}");
        assert!(at_end > 2.0 * predicted, "{at_end}, {predicted}");
        assert_eq!(
            found.filter_lines.map(|lines| lines.estimate),
            Some(all as f64)
        );
    }
}

#[test]
fn l14_a_difference_of_one_file_and_other_selections_are_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = sandbox.files(&[b"a\n".to_vec(), b"a\nb\n".to_vec()]);
    let options = sandbox.options();
    let refused = |paths: &[PathBuf], selection| {
        let options = from_here(&options);
        let error = compare(&sources(paths), selection, &options, &mut CountSink).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        error.to_string()
    };
    let said = refused(&paths[..1], Selection::difference());
    assert!(said.contains("give two or more"), "{said}");
    let said = refused(&paths, Selection::union().with_duplicates());
    assert!(said.contains("each line once"), "{said}");
    let said = refused(&paths[..0], Selection::union());
    assert!(said.contains("give one or more"), "{said}");
    let said = refused(&paths, Selection::difference().with_repeats());
    assert!(said.contains("each line once"), "{said}");
}
