//! Comparisons of the two ways: the false lines are the difference of the two results, and the rates follow from the
//! counts.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use outset::compare::{Comparer, Comparison, Point, compare};
use outset::hash::HashKey;
use outset::plan::Plan;
use outset::{
    CountSink, ErrorKind, KeyType, LineFormat, Observer, Options, Selection, Source, Strategy,
};
use proptest::prelude::*;

use crate::oracle::{Lines, common, distinct};
use crate::truth::rows;
use crate::util::{
    EXACT, MIB, Sandbox, assert_same, beside_others, entries, from_here, numbered, run,
};

/// The two runs then place lines alike, and so does a run of `intersect`.
pub(crate) const KEY: HashKey = HashKey::Fixed([1, 2, 3, 4]);

pub(crate) fn sources(paths: &[PathBuf]) -> Vec<Source> {
    paths.iter().map(Source::from).collect()
}

/// Compares, and checks what holds for every comparison: the false lines come once each, all counts agree with each
/// other, nothing is left in temporary space.
fn compared(paths: &[PathBuf], options: &Options) -> (Comparison, Lines) {
    let mut lines = BTreeSet::new();
    let mut sink = |line: &[u8]| {
        assert!(lines.insert(line.to_vec()), "a false line came twice");
        Ok(())
    };
    let found = compare(
        &sources(paths),
        Selection::intersection(),
        &from_here(options),
        &mut sink,
    )
    .unwrap();
    for directory in &options.temp_dirs {
        assert!(entries(directory).is_empty(), "left in temporary space");
    }
    assert_eq!(found.false_lines, lines.len() as u64);
    assert_eq!(found.missing_lines, 0);
    assert!(found.exact.stats.exact && !found.approximate.stats.exact);
    let (common, answered) = (
        found.exact.stats.output.lines,
        found.approximate.stats.output.lines,
    );
    assert_eq!(answered, common + found.false_lines);
    (found, lines)
}

/// Returns the answer of `bloom` alone, under the same key.
fn answered(paths: &[PathBuf], options: &Options) -> Lines {
    let bloom = Options {
        strategy: Some(Strategy::Bloom),
        ..options.clone()
    };
    run(paths, &bloom).unwrap().0
}

fn check_against_the_oracle(contents: &[Vec<u8>], options: &Options, sandbox: &Sandbox) {
    let paths = sandbox.files(contents);
    let (found, false_lines) = compared(&paths, options);
    let truth = common(contents, options.format);
    let expected = &answered(&paths, options) - &truth;
    assert_same(&false_lines, &expected, options);
    assert_eq!(found.exact.stats.output.lines, truth.len() as u64);
    let probe = usize::from(contents[1].len() >= contents[0].len());
    let could_pass = distinct(&contents[probe], options.format).len() - truth.len();
    let known = found.could_pass_lines.unwrap();
    assert!(known.is_exact());
    assert_eq!(known.estimate as usize, could_pass);
    let measured = (could_pass > 0).then(|| expected.len() as f64 / could_pass as f64);
    assert_eq!(found.measured_fpr, measured);
    let answered = truth.len() + expected.len();
    let precision = if answered == 0 {
        1.0
    } else {
        truth.len() as f64 / answered as f64
    };
    assert!((found.precision - precision).abs() < 1e-12, "{precision}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(15))]

    #[test]
    fn false_lines_are_the_difference_of_the_two_results(texts in [lines_of_few(), lines_of_few()], choices in choices()) {
        check_case(&texts, choices);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    #[ignore = "slow: 200 comparisons"]
    fn false_lines_are_the_difference_of_the_two_results_in_many_cases(texts in [lines_of_few(), lines_of_few()], choices in choices()) {
        check_case(&texts, choices);
    }
}

/// The number of a strategy, bits per key, whether to spill and to strip CRs, and the number of buckets.
pub(crate) type Choices = (usize, f64, bool, bool, Option<u32>);

pub(crate) fn choices() -> impl proptest::strategy::Strategy<Value = Choices> {
    (
        0..4usize,
        0.5..4.0,
        any::<bool>(),
        any::<bool>(),
        prop::option::of(1..40u32),
    )
}

/// The options of a comparison with these choices.
pub(crate) fn chosen(
    (strategy, bits, spill, strip_cr, buckets): Choices,
    sandbox: &Sandbox,
) -> Options {
    Options {
        strategy: EXACT[strategy],
        bits_per_key: Some(bits),
        always_spill: spill,
        buckets,
        hash_key: KEY,
        format: LineFormat {
            strip_cr,
            ..LineFormat::default()
        },
        ..sandbox.options()
    }
}

fn check_case(texts: &[Vec<u8>], choices: Choices) {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    check_against_the_oracle(texts, &chosen(choices, &sandbox), &sandbox);
}

/// Lines of which many are equal, with CRs in every number at their ends, the last with a newline or without.
pub(crate) fn lines_of_few() -> impl proptest::strategy::Strategy<Value = Vec<u8>> {
    use proptest::strategy::Strategy as _;
    let line = (prop::collection::vec(0..4u8, 0..5), 0..3usize).prop_map(|(text, crs)| {
        let letters: String = text.iter().map(|&letter| (b'a' + letter) as char).collect();
        letters + &"\r".repeat(crs)
    });
    (prop::collection::vec(line, 0..400), any::<bool>())
        .prop_map(|(lines, ends)| (lines.join("\n") + if ends { "\n" } else { "" }).into_bytes())
}

#[test]
fn many_false_lines_are_found_in_results_that_are_spilled() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let contents = [numbered(0..125_000, 40), numbered(25_000..162_500, 40)];
    let options = Options {
        // The test collects the lines in the same process.
        memory_bytes: Some(128 * MIB),
        always_spill: true,
        bits_per_key: Some(1.0),
        hash_key: KEY,
        ..sandbox.options()
    };
    let paths = sandbox.files(&contents);
    let (found, false_lines) = compared(&paths, &options);
    let truth = common(&contents, options.format);
    assert_eq!(truth.len(), 100_000);
    assert_same(
        &false_lines,
        &(&answered(&paths, &options) - &truth),
        &options,
    );
    assert!(false_lines.len() > 12_500, "{}", false_lines.len());
    let (measured, predicted) = (found.measured_fpr.unwrap(), found.predicted_fpr.unwrap());
    assert!(
        (measured / predicted - 1.0).abs() < 0.05,
        "{measured}, {predicted}"
    );
}

#[test]
fn addresses_are_compared() {
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
    check_against_the_oracle(
        &[addresses(0..3000), addresses(2000..6000)],
        &options,
        &sandbox,
    );
}

#[test]
fn a_file_beside_itself_has_nothing_that_could_pass() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let path = sandbox.file("a", numbered(0..1000, 10));
    let (found, _) = compared(&[path.clone(), path], &sandbox.options());
    assert_eq!(found.exact.stats.output.lines, 1000);
    assert_eq!((found.measured_fpr, found.precision), (None, 1.0));
}

#[test]
fn points_with_one_limit_share_the_exact_run() {
    #[derive(Default)]
    struct Parts(Mutex<Vec<String>>, AtomicUsize);
    impl Observer for Parts {
        fn part_started(&self, name: &str) {
            self.0.lock().unwrap().push(name.to_owned());
        }
        fn planned(&self, _: &Plan) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = sandbox.files(&[numbered(0..20_000, 20), numbered(10_000..40_000, 20)]);
    let parts = Arc::new(Parts::default());
    let options = from_here(&Options {
        memory_bytes: Some(32 * MIB),
        observer: Some(parts.clone()),
        ..sandbox.options()
    });
    let mut comparer =
        Comparer::new(&sources(&paths), Selection::intersection(), &options).unwrap();
    let other = Point {
        memory_bytes: options.memory_bytes.map(|bytes| bytes + 16 * MIB),
        ..Point::default()
    };
    let rate = |fpr| Point {
        filter_fpr: Some(fpr),
        ..Point::default()
    };
    let expected = comparer
        .expected_bytes(&[rate(0.1), rate(0.01), other])
        .unwrap();
    let mut rates = Vec::new();
    for fpr in [0.1, 0.01] {
        let found = comparer.compare(rate(fpr), &mut CountSink).unwrap();
        let filter = found.approximate.stats.filter.unwrap();
        assert!(
            filter.predicted_fpr <= fpr && filter.predicted_fpr > 0.9 * fpr,
            "{filter:?}"
        );
        assert_eq!(found.exact.stats.output.lines, 10_000);
        rates.push(found.measured_fpr.unwrap());
    }
    assert!(rates[0] > 0.08 && rates[1] < 0.02, "{rates:?}");
    let found = comparer.compare(other, &mut CountSink).unwrap();
    assert_eq!(Some(found.memory.limit_bytes), other.memory_bytes);
    assert_eq!(
        *parts.0.lock().unwrap(),
        [
            "exact",
            "approximate",
            "false lines",
            "distinct lines", // the first point
            "approximate",
            "false lines", // the second
            "exact",
            "approximate",
            "false lines", // the third, with another limit
        ]
    );
    let inputs = 50_000 * 21;
    let names = parts.0.lock().unwrap().len();
    assert_eq!((expected.len(), expected[3]), (names, inputs));
    for (&bytes, name) in expected.iter().zip(&*parts.0.lock().unwrap()) {
        let is_plausible = match name.as_str() {
            "false lines" => bytes > 0 && bytes < inputs,
            _ => bytes >= inputs,
        };
        assert!(is_plausible, "{name}: {expected:?}");
    }
    assert_eq!(
        parts.1.load(Ordering::Relaxed),
        8,
        "runs, each planned once"
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = sandbox.files(&[b"a\n".to_vec(), b"a\nb\n".to_vec()]);
    let refused = |paths: &[PathBuf], options: &Options| {
        let error = compare(
            &sources(paths),
            Selection::intersection(),
            &from_here(options),
            &mut CountSink,
        )
        .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        error.to_string()
    };
    let options = sandbox.options();
    assert!(refused(&paths[..1], &options).contains("one file given"));
    let bloom = Options {
        strategy: Some(Strategy::Bloom),
        ..options.clone()
    };
    assert!(refused(&paths, &bloom).contains("exact run"));
    let kept = Options {
        save_filter: Some(sandbox.path("filter")),
        ..options.clone()
    };
    assert!(refused(&paths, &kept).contains("filter"));
    let pipe = sandbox.fifo("pipe", b"a\n".to_vec());
    assert!(refused(&[paths[0].clone(), pipe], &options).contains("several times"));
}

#[test]
fn a_cap_on_temporary_disk_counts_the_results() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = sandbox.files(&[numbered(0..50_000, 60), numbered(0..50_000, 60)]);
    let options = |cap| Options {
        max_temp_bytes: Some(cap),
        ..sandbox.options()
    };
    let error = compare(
        &sources(&paths),
        Selection::intersection(),
        &from_here(&options(2 * MIB)),
        &mut CountSink,
    )
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Temp, "{error}");
    assert!(entries(&sandbox.temp()).is_empty());
    compared(&paths, &options(64 * MIB));
}

#[test]
fn an_input_that_changes_between_two_runs_fails_the_comparison() {
    struct Changer(PathBuf);
    impl Observer for Changer {
        fn part_started(&self, name: &str) {
            if name == "approximate" {
                std::fs::write(&self.0, "x\n").unwrap();
            }
        }
    }
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = sandbox.files(&[numbered(0..500, 10), numbered(200..900, 10)]);
    let options = Options {
        observer: Some(Arc::new(Changer(paths[0].clone()))),
        ..sandbox.options()
    };
    let error = compare(
        &sources(&paths),
        Selection::intersection(),
        &from_here(&options),
        &mut CountSink,
    )
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input, "{error}");
}

#[test]
#[ignore = "slow: close to a second"]
fn real_urls_pass_as_often_as_predicted() {
    let _shared = beside_others();
    let Some(row) =
        rows().and_then(|rows| rows.into_iter().find(|row| row.group == "P01-url-feeds"))
    else {
        return;
    };
    let sandbox = Sandbox::new();
    let options = Options {
        bits_per_key: Some(6.87),
        hash_key: KEY,
        ..sandbox.options()
    };
    let (found, false_lines) = compared(&row.files, &options);
    assert_eq!(found.exact.stats.output.lines, row.lines);
    let exact = run(&row.files, &sandbox.options()).unwrap().0;
    assert_same(
        &false_lines,
        &(&answered(&row.files, &options) - &exact),
        &options,
    );
    let (measured, predicted) = (found.measured_fpr.unwrap(), found.predicted_fpr.unwrap());
    assert!(
        (measured / predicted - 1.0).abs() < 0.05,
        "{measured}, {predicted}"
    );
}
