//! Filters that are kept: nothing is forgotten, they are wrong as often as predicted, merged ones are what one filter
//! of everything would be, and what is new is new once.

use std::collections::BTreeSet;
use std::fs;
use std::io::sink;
use std::path::{Path, PathBuf};

use differential::sweep;
use outset::filter::{Filter, Kind, Rules, Shape, StoredFilter};
use outset::hash::{HashKey, LineHasher};
use outset::memory::budget::MemoryBudget;
use outset::stored::{
    BuildRequest, Change, FilterSize, KeyCount, Question, build, change, insert_new, merge, query,
};
use outset::{Interrupt, LineFormat, Options, Source};

use crate::util::{Sandbox, beside_others, from_here, numbered};

const KEY: [u64; 4] = [11, 22, 33, 44];

fn options(threads: usize) -> Options {
    Options {
        threads: Some(threads),
        hash_key: HashKey::Fixed(KEY),
        ..Options::default()
    }
}

/// Lines that nobody inserts.
fn strangers(count: u32) -> Vec<u8> {
    numbered(3_000_000_000..3_000_000_000 + count, 10)
}

/// A budget that refuses nothing here.
pub(crate) fn ample() -> MemoryBudget {
    MemoryBudget::new(16 << 30, 0)
}

/// An empty filter under a known key.
pub(crate) fn empty(shape: Shape, planned_keys: u64) -> Filter {
    let rules = Rules {
        hasher: LineHasher::with_key(KEY),
        format: LineFormat::default(),
        key_form: outset::KeyForm::default(),
        planned_keys,
    };
    Filter::new(&ample(), shape, rules).unwrap()
}

/// A filter of all lines of some files, in a file.
fn stored(
    sandbox: &Sandbox,
    name: &str,
    files: &[&PathBuf],
    request: &BuildRequest<'_>,
) -> StoredFilter {
    let sources: Vec<Source> = files.iter().copied().map(Source::from).collect();
    let built = build(&sources, request, &options(2)).unwrap();
    save(sandbox, name, &built.filter)
}

fn save(sandbox: &Sandbox, name: &str, filter: &Filter) -> StoredFilter {
    filter.save(&sandbox.path(name), &Interrupt::new()).unwrap();
    StoredFilter::open(&sandbox.path(name)).unwrap()
}

fn request(kind: Kind, lines: u64, size: FilterSize) -> BuildRequest<'static> {
    BuildRequest {
        kind,
        keys: KeyCount::Lines(lines),
        size,
        hashes: None,
        like: None,
    }
}

/// Counts the lines of a file that a filter may have.
fn passing(filter: StoredFilter, file: &Path) -> u64 {
    let sources = [Source::from(&file.to_path_buf())];
    let answers = query(
        filter,
        &sources,
        Question::Present,
        &options(2),
        &mut sink(),
        "nowhere",
    );
    answers.unwrap().written
}

/// Every kind, of the lines in two files that two threads read: asked as it was built, loaded, mapped, and mapped with
/// less of it resident than it has.
fn check_that_nothing_is_forgotten(lines: u32) {
    let sandbox = Sandbox::new();
    let half = lines / 2;
    let parts = [
        sandbox.file("a", numbered(0..half, 8)),
        sandbox.file("b", numbered(half..lines, 8)),
    ];
    for kind in Kind::ALL {
        let request = request(kind, u64::from(lines), FilterSize::Fpr(0.01));
        let sources: Vec<Source> = parts.iter().map(Source::from).collect();
        let built = build(&sources, &request, &options(2)).unwrap();
        assert_eq!(built.lines, u64::from(lines));
        assert_eq!(built.filter.keys(), u64::from(lines));
        let file = save(&sandbox, "f", &built.filter);
        let open = || StoredFilter::open(&sandbox.path("f")).unwrap();
        let found = passing(open(), &parts[0]) + passing(open(), &parts[1]);
        assert_eq!(found, u64::from(lines), "{kind}, mapped");
        let loaded = file.load(&ample(), 2).unwrap();
        let mapped = open().check(&ample()).unwrap();
        let mapped = mapped.map(&ample()).unwrap();
        for number in (0..lines).step_by(997) {
            let line = numbered(number..number + 1, 8);
            let line = &line[..line.len() - 1];
            assert!(built.filter.contains(line), "{kind}, as built: {number}");
            assert!(loaded.contains(line), "{kind}, loaded: {number}");
            assert!(mapped.contains(line), "{kind}, mapped: {number}");
        }
    }
}

#[test]
fn i9_no_line_of_many_is_forgotten_by_any_kind() {
    let _shared = beside_others();
    check_that_nothing_is_forgotten(100_000);
}

#[test]
#[ignore = "slow: five filters of ten million lines"]
fn i9_no_line_of_ten_million_is_forgotten_by_any_kind() {
    let _shared = beside_others();
    check_that_nothing_is_forgotten(10_000_000);
}

/// Fails unless `passed` of `asked` lines is what the rate `predicted` predicts, within a tenth and three sigma.
fn assert_rate(passed: u64, asked: u64, predicted: f64, context: &str) {
    let expected = predicted * asked as f64;
    let three_sigma = 3.0 * (expected * (1.0 - predicted)).sqrt();
    assert!(
        (passed as f64 - expected).abs() <= 0.1 * expected + three_sigma,
        "{context}: {passed} passed, {expected:.1} were predicted"
    );
}

/// Builds filters of `count` lines and asks them about `asked` others.
fn check_rates(count: u64, asked: u32, kinds: &[Kind], cells_per_key: &[f64], hashes: Option<u32>) {
    let sandbox = Sandbox::new();
    let lines = sandbox.file("lines", numbered(0..count as u32, 8));
    let strangers = sandbox.file("strangers", strangers(asked));
    for &kind in kinds {
        for &cells in cells_per_key {
            let bits = cells * kind.cell_bits() as f64;
            let request = BuildRequest {
                hashes,
                ..request(kind, count, FilterSize::BitsPerKey(bits))
            };
            let filter = stored(&sandbox, "f", &[&lines], &request);
            let shape = filter.shape();
            let wanted = Shape::for_bits_per_key(kind, count, bits, hashes);
            assert_eq!(shape, wanted);
            let predicted = shape.predicted_fpr(count);
            let told = filter.occupancy(&ample()).unwrap().fpr;
            let context = format!("{kind}, {cells} cells a key, k = {}", shape.hashes);
            assert!(
                (told / predicted - 1.0).abs() < 0.05,
                "{context}: {told} told, {predicted} predicted"
            );
            let passed = passing(filter, &strangers);
            assert_rate(passed, u64::from(asked), predicted, &context);
        }
    }
}

const BITS_AND_COUNTERS: [Kind; 4] = [Kind::Blocked, Kind::Classic, Kind::Counting, Kind::Spectral];

/// Cells per key: bits, or counters.
const SIZES: [f64; 5] = [5.0, 6.87, 9.6, 14.4, 20.0];

#[test]
#[ignore = "slow: close to a second"]
fn i9_every_kind_is_wrong_as_often_as_predicted() {
    let _shared = beside_others();
    check_rates(100_000, 100_000, &BITS_AND_COUNTERS, &SIZES, None);
}

#[test]
#[ignore = "slow: twenty filters of a million lines, asked about twenty million others"]
fn i9_every_kind_is_wrong_as_often_as_predicted_to_a_few_per_cent() {
    let _shared = beside_others();
    check_rates(1_000_000, 20_000_000, &BITS_AND_COUNTERS, &SIZES, None);
}

#[test]
fn a_bitmap_with_one_hash_is_wrong_as_often_as_predicted() {
    let _shared = beside_others();
    check_rates(300_000, 300_000, &[Kind::Classic], &[2.0, 8.0], Some(1));
}

#[test]
fn digests_are_never_wrong() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let lines = sandbox.file("lines", numbered(0..300_000, 8));
    let strangers = sandbox.file("strangers", strangers(1_000_000));
    let request = request(Kind::Fingerprint, 300_000, FilterSize::Fpr(0.01));
    let filter = stored(&sandbox, "f", &[&lines], &request);
    assert_eq!(filter.occupancy(&ample()).unwrap().used, 300_000);
    assert_eq!(passing(filter, &strangers), 0);
}

// Merging.

#[test]
fn merged_filters_are_what_one_filter_of_everything_is() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // They overlap, and one of them has every line twice.
    let a = sandbox.file("a", numbered(0..30_000, 8));
    let b = sandbox.file("b", numbered(20_000..60_000, 8).repeat(2));
    for kind in Kind::ALL {
        let request = request(kind, 60_000, FilterSize::Fpr(0.02));
        let mut one = stored(&sandbox, "fa", &[&a], &request)
            .load(&ample(), 2)
            .unwrap();
        let other = stored(&sandbox, "fb", &[&b], &request)
            .load(&ample(), 2)
            .unwrap();
        stored(&sandbox, "both", &[&a, &b], &request);
        one.merge(&other).unwrap();
        let merged = save(&sandbox, "merged", &one);
        // To the byte, with all counts: where neither order nor history decides what a cell is.
        if matches!(kind, Kind::Blocked | Kind::Classic | Kind::Counting) {
            let of = |name| fs::read(sandbox.path(name)).unwrap();
            assert!(of("merged") == of("both"), "{kind}");
        }
        assert_eq!(passing(merged, &b), 80_000, "{kind}");
        for number in (0..60_000).step_by(17) {
            let line = numbered(number..number + 1, 8);
            let line = &line[..line.len() - 1];
            let times = u64::from(number < 30_000) + 2 * u64::from(number >= 20_000);
            let counts = matches!(kind, Kind::Counting | Kind::Spectral);
            let least = if counts { times } else { 1 };
            assert!(one.count(line) >= least, "{kind}: {number}");
        }
        if kind == Kind::Fingerprint {
            assert_eq!(one.keys(), 60_000);
        }
    }
}

#[test]
fn merging_is_associative_and_commutative() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let texts: Vec<PathBuf> = (0..3u32)
        .map(|part| {
            sandbox.file(
                &format!("text{part}"),
                numbered(part * 700..part * 700 + 1000, 8),
            )
        })
        .collect();
    let strangers = sandbox.file("strangers", strangers(100_000));
    for kind in Kind::ALL {
        let request = request(kind, 2400, FilterSize::Fpr(0.05));
        for (name, text) in ["a", "b", "c"].iter().zip(&texts) {
            stored(&sandbox, name, &[text], &request);
        }
        let merged = |names: &[&str], to: &str| {
            let open = |name: &&str| StoredFilter::open(&sandbox.path(name)).unwrap();
            let filters: Vec<StoredFilter> = names.iter().map(open).collect();
            save(&sandbox, to, &merge(&filters, &options(2)).unwrap());
        };
        merged(&["a", "b", "c"], "abc");
        merged(&["c", "b", "a"], "cba");
        merged(&["b", "c"], "bc");
        merged(&["a", "bc"], "a(bc)");
        for other in ["cba", "a(bc)"] {
            if kind == Kind::Fingerprint {
                // The same digests in other slots.
                let filter = StoredFilter::open(&sandbox.path(other)).unwrap();
                assert_eq!(filter.keys(), 2400);
                for text in &texts {
                    let filter = StoredFilter::open(&sandbox.path(other)).unwrap();
                    assert_eq!(passing(filter, text), 1000, "{other}");
                }
                assert_eq!(passing(filter, &strangers), 0, "{other}");
            } else {
                let of = |name| fs::read(sandbox.path(name)).unwrap();
                assert!(of("abc") == of(other), "{kind}, {other}");
            }
        }
    }
}

// Changing.

/// Numbers below 60,000 in no order, most of them several times.
fn with_repeats() -> Vec<u32> {
    let number = |index: u32| index.wrapping_mul(2_654_435_761).rotate_left(9) % 30_000;
    (0..125_000).map(number).collect()
}

fn first_occurrences(numbers: &[u32]) -> Vec<u32> {
    let mut seen = BTreeSet::new();
    let is_first = |number: &u32| seen.insert(*number);
    numbers.iter().copied().filter(is_first).collect()
}

#[test]
fn each_line_is_new_once_whatever_the_threads() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let numbers = with_repeats();
    let lines = numbers
        .iter()
        .flat_map(|&number| numbered(number..number + 1, 12));
    let file = sandbox.file("lines", lines.collect::<Vec<u8>>());
    let firsts = first_occurrences(&numbers);
    for (&kind, &threads) in sweep::pairs(&Kind::ALL, &[1, 4]) {
        let request = request(kind, 60_000, FilterSize::Fpr(1e-7));
        let filter = stored(&sandbox, "f", &[], &request);
        let options = Options {
            threads: Some(threads),
            ..from_here(&sandbox.options())
        };
        let (mut out, sources) = (Vec::new(), [Source::from(&file)]);
        let changed = insert_new(&filter, &sources, &options, &mut out, "memory").unwrap();
        let text = String::from_utf8(out).unwrap();
        let new: Vec<u32> = text
            .lines()
            .map(|line| line[..7].parse().unwrap())
            .collect();
        let context = format!("{kind}, {threads} threads");
        assert_eq!(
            changed.noted,
            new.len() as u64,
            "{context}: count of new lines"
        );
        assert!(
            threads > 1 || new == firsts,
            "{context}: not the first occurrences"
        );
        assert_eq!(new.len(), firsts.len(), "{context}: a line twice, or none");
        assert!(
            new.iter().collect::<BTreeSet<_>>() == firsts.iter().collect(),
            "{context}"
        );
        // They come in the order of the lines, whichever of several was taken.
        let mut rest = numbers.iter();
        let is_next = |number: &u32| rest.any(|other| other == number);
        assert!(new.iter().all(is_next), "{context}: not in order");
    }
}

#[test]
fn i16_to_ask_for_what_is_new_changes_nothing_of_what_is_inserted() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // Less than a chunk: the order of the lines matters to spectral cells and to tables of digests.
    let lines = with_repeats().into_iter().take(6000);
    let lines = lines.flat_map(|number| numbered(number % 2500..number % 2500 + 1, 8));
    let file = sandbox.file("lines", lines.collect::<Vec<u8>>());
    let before = sandbox.file("before", numbered(2000..2200, 8));
    for kind in Kind::ALL {
        // Wrong for many: a line that seems to be in by mistake must be inserted, too.
        let request = request(kind, 2500, FilterSize::Fpr(0.2));
        let filter = stored(&sandbox, "f", &[&before], &request);
        let sources = [Source::from(&file)];
        let plain = change(&filter, &sources, Change::Insert, &options(1)).unwrap();
        let mut out = Vec::new();
        let new = insert_new(&filter, &sources, &options(1), &mut out, "memory").unwrap();
        save(&sandbox, "plain", &plain.filter);
        save(&sandbox, "new", &new.filter);
        let [plain, new] = ["plain", "new"].map(|name| std::fs::read(sandbox.path(name)).unwrap());
        assert!(plain == new, "{kind}: the files differ");
    }
}

#[test]
fn i16_a_line_that_was_claimed_by_mistake_is_not_forgotten_with_others() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let all = sandbox.file("all", numbered(0..20_000, 8));
    for kind in [Kind::Counting, Kind::Fingerprint] {
        let request = request(kind, 20_000, FilterSize::Fpr(0.1));
        let filter = stored(&sandbox, "f", &[], &request);
        let mut new = Vec::new();
        let sources = [Source::from(&all)];
        let changed = insert_new(&filter, &sources, &options(2), &mut new, "memory").unwrap();
        let filter = save(&sandbox, "g", &changed.filter);
        // What was said to be new was inserted for certain, and half of it is removed.
        let new: Vec<&[u8]> = new.split_inclusive(|&byte| byte == b'\n').collect();
        let (removed, _) = new.split_at(new.len() / 2);
        let gone = sandbox.file("gone", removed.concat());
        let changed = change(&filter, &[Source::from(&gone)], Change::Remove, &options(2));
        let filter = save(&sandbox, "h", &changed.unwrap().filter);
        let removed: BTreeSet<&[u8]> = removed.iter().copied().collect();
        let text = numbered(0..20_000, 8);
        let others = text.split_inclusive(|&byte| byte == b'\n');
        let others: Vec<&[u8]> = others.filter(|line| !removed.contains(line)).collect();
        let stays = sandbox.file("stays", others.concat());
        assert_eq!(passing(filter, &stays), others.len() as u64, "{kind}");
    }
}

#[test]
fn what_is_removed_from_a_file_is_gone_and_the_rest_is_not() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let all = sandbox.file("all", numbered(0..50_000, 8));
    let gone = sandbox.file("gone", numbered(0..20_000, 8));
    let stays = sandbox.file("stays", numbered(20_000..50_000, 8));
    let strangers = sandbox.file("strangers", strangers(1000));
    for kind in [Kind::Counting, Kind::Fingerprint] {
        let request = request(kind, 50_000, FilterSize::Fpr(1e-6));
        let filter = stored(&sandbox, "f", &[&all], &request);
        let sources = [Source::from(&gone), Source::from(&strangers)];
        let changed = change(&filter, &sources, Change::Remove, &options(2)).unwrap();
        assert_eq!((changed.lines, changed.noted), (21_000, 1000), "{kind}");
        assert_eq!(changed.filter.keys(), 30_000, "{kind}");
        let open = || save(&sandbox, "g", &changed.filter);
        assert_eq!(passing(open(), &stays), 30_000, "{kind}");
        assert!(passing(open(), &gone) <= 1, "{kind}");
    }
    for kind in [Kind::Blocked, Kind::Classic, Kind::Spectral] {
        let request = request(kind, 50_000, FilterSize::Fpr(0.01));
        let filter = stored(&sandbox, "f", &[&all], &request);
        let sources = [Source::from(&gone)];
        let refused = change(&filter, &sources, Change::Remove, &options(2)).unwrap_err();
        assert!(
            refused.to_string().contains("no line can be removed"),
            "{refused}"
        );
    }
}
