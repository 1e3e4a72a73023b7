//! Generated inputs: every exact strategy, whatever its options, gives the oracle's set; `bloom` gives a superset.
//!
//! A workload is kept as a recipe, so that a failure prints what it was made of and not megabytes of bytes.

use std::path::PathBuf;

use outset::hash::HashKey;
use outset::{LineFormat, Options, Strategy};
use proptest::collection::vec;
use proptest::prelude::{Just, any, prop_oneof, proptest};
use proptest::strategy::Strategy as Generator;
use proptest::test_runner::{Config as Runs, RngSeed};

use crate::oracle::{Lines, common, distinct};
use crate::util::{EXACT, MIB, Place, alone, assert_same, numbered, run};

/// One line.
#[derive(Debug, Clone)]
enum Text {
    Bytes(Vec<u8>),
    /// As many equal bytes as it says, and another one behind them.
    Filled(u8, usize, u8),
}

/// A part of an input.
#[derive(Debug, Clone)]
enum Part {
    /// Lines of the pool, by index.
    Picks(Vec<usize>),
    /// Two numbers: the first, and how many numbered lines.
    Numbers(u32, u32),
    /// A line of the pool, so many times.
    Repeats(usize, usize),
}

/// Some inputs.
#[derive(Debug, Clone)]
struct Workload {
    format: LineFormat,
    pool: Vec<Text>,
    /// In every input, so that something is common.
    shared: Part,
    /// The parts of each input, and whether its last line has a terminator.
    inputs: Vec<(Vec<Part>, bool)>,
}

/// The options that must not matter.
#[derive(Debug, Clone, Copy)]
struct Setting {
    strategy: Option<Strategy>,
    buckets: u32,
    threads: usize,
    always_spill: bool,
    memory: u64,
    bits_per_key: Option<f64>,
    hash_key: HashKey,
}

impl Text {
    fn bytes(&self, terminator: u8) -> Vec<u8> {
        let mut bytes = match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Filled(byte, length, last) => {
                let mut bytes = vec![*byte; *length];
                bytes.splice(length.saturating_sub(1).., [*last]);
                bytes
            }
        };
        for byte in &mut bytes {
            if *byte == terminator {
                *byte = b'.';
            }
        }
        bytes
    }
}

impl Workload {
    fn contents(&self) -> Vec<Vec<u8>> {
        self.inputs
            .iter()
            .map(|input| self.content(input))
            .collect()
    }

    fn content(&self, (parts, is_terminated): &(Vec<Part>, bool)) -> Vec<u8> {
        let mut bytes = Vec::new();
        // The shared lines come first in one input and later in another.
        let middle = parts.len() / 2;
        let parts = parts[..middle]
            .iter()
            .chain([&self.shared])
            .chain(&parts[middle..]);
        for part in parts {
            self.append(&mut bytes, part);
        }
        if !is_terminated {
            bytes.pop();
        }
        bytes
    }

    fn append(&self, bytes: &mut Vec<u8>, part: &Part) {
        let terminator = self.format.terminator;
        let pooled = |index: usize| self.pool[index % self.pool.len()].bytes(terminator);
        let mut push = |line: Vec<u8>| {
            bytes.extend(line);
            bytes.push(terminator);
        };
        match *part {
            Part::Picks(ref indexes) => indexes.iter().for_each(|&index| push(pooled(index))),
            Part::Numbers(first, count) => {
                (first..first + count).for_each(|number| push(number.to_string().into_bytes()));
            }
            Part::Repeats(index, times) => (0..times).for_each(|_| push(pooled(index))),
        }
    }
}

/// Lengths around every size that the engine works with: pages, the smallest blocks and what they hold beside their
/// headers, chunks and their buffers.
fn edge_length() -> impl Generator<Value = usize> {
    let sizes = vec![
        127, 128, 4030, 4032, 4096, 8192, 16_317, 16_320, 16_384, 65_536, 69_632, 73_728,
    ];
    (proptest::sample::select(sizes), 0..5usize).prop_map(|(size, more)| size + more - 2)
}

fn text() -> impl Generator<Value = Text> {
    let odd_byte = proptest::sample::select(&b"ab\r\n\0\xff\xc3"[..]);
    let ends = || (any::<u8>(), proptest::sample::select(&b"xy\r\0\xfe"[..]));
    prop_oneof![
        8 => vec(odd_byte, 0..4).prop_map(Text::Bytes),
        4 => vec(any::<u8>(), 0..200).prop_map(Text::Bytes),
        4 => (edge_length(), ends()).prop_map(|(length, (byte, last))| Text::Filled(byte, length, last)),
        1 => (70_000..300_000usize, ends()).prop_map(|(length, (byte, last))| Text::Filled(byte, length, last)),
    ]
}

fn part() -> impl Generator<Value = Part> {
    let picks = vec(any::<usize>(), 0..8).prop_map(Part::Picks);
    prop_oneof![
        4 => picks,
        2 => (0..3000u32, 0..6000u32).prop_map(|(first, count)| Part::Numbers(first, count)),
        1 => (any::<usize>(), 0..12usize).prop_map(|(index, times)| Part::Repeats(index, times)),
    ]
}

fn input() -> impl Generator<Value = (Vec<Part>, bool)> {
    (vec(part(), 0..4), any::<bool>())
}

fn workload() -> impl Generator<Value = Workload> {
    let format = (proptest::sample::select(vec![b'\n', 0]), any::<bool>()).prop_map(
        |(terminator, strip_cr)| LineFormat {
            terminator,
            strip_cr,
        },
    );
    // Sometimes nothing is shared, so that empty inputs occur.
    let shared = prop_oneof![3 => part(), 1 => Just(Part::Picks(Vec::new()))];
    (format, vec(text(), 1..16), shared, vec(input(), 2..=5)).prop_map(
        |(format, pool, shared, inputs)| Workload {
            format,
            pool,
            shared,
            inputs,
        },
    )
}

fn hash_key() -> impl Generator<Value = HashKey> {
    proptest::sample::select(vec![
        HashKey::Random,
        HashKey::OneBucket { levels: 1 },
        HashKey::OneBucket { levels: 2 },
        HashKey::OneBucket { levels: 8 },
    ])
}

/// A thousand files take long to make: seldom.
fn buckets_and_spill() -> impl Generator<Value = (u32, bool)> {
    prop_oneof![
        15 => (proptest::sample::select(vec![1, 7]), any::<bool>()),
        4 => Just((1000, false)),
        1 => Just((1000, true)),
    ]
}

fn setting() -> impl Generator<Value = Setting> {
    (
        proptest::sample::select(EXACT.to_vec()),
        buckets_and_spill(),
        proptest::sample::select(vec![1, 2, 4]),
        proptest::sample::select(vec![16 * MIB, 64 * MIB]),
        // Filters so small that much passes them by mistake; given, `memory` has filters, too.
        proptest::sample::select(vec![None, Some(2.0), Some(8.0)]),
        hash_key(),
    )
        .prop_map(
            |(strategy, (buckets, always_spill), threads, memory, bits_per_key, hash_key)| {
                Setting {
                    strategy,
                    buckets,
                    threads,
                    always_spill,
                    memory,
                    bits_per_key,
                    hash_key,
                }
            },
        )
}

impl Setting {
    fn options(&self, place: &Place, format: LineFormat) -> Options {
        // So many buckets need room for their blocks beside the filter; that is tested in `requests`.
        let least = match (self.strategy, self.buckets) {
            (Some(Strategy::Sieve), 1000) => 96 * MIB,
            (Some(Strategy::Bloom), 1000) => 640 * MIB,
            // What repeats counts in full when the set is planned.
            (Some(Strategy::Memory), _) => 64 * MIB,
            _ => 0,
        };
        Options {
            memory_bytes: Some(self.memory.max(least)),
            strategy: self.strategy,
            buckets: Some(self.buckets),
            threads: Some(self.threads),
            bits_per_key: self.bits_per_key,
            format,
            hash_key: self.hash_key,
            always_spill: self.always_spill,
            ..place.options()
        }
    }

    /// Runs and returns the lines; a failure says what was run.
    fn run(&self, place: &Place, files: &[PathBuf], format: LineFormat) -> Lines {
        match run(files, &self.options(place, format)) {
            Ok((lines, stats)) => {
                assert_eq!(stats.exact, self.strategy != Some(Strategy::Bloom));
                lines
            }
            Err(error) => panic!("{error} ({:?}), with {self:?}", error.kind()),
        }
    }
}

/// Runs are in a temporary directory: nothing is remembered in the source tree. A failure prints its
/// workload. The cases are the same each time, so that a failure tells of the change that was made;
/// `PROPTEST_RNG_SEED=N cargo test --test library equivalence` tries others.
fn runs(cases: u32) -> Runs {
    let defaults = Runs::default();
    let rng_seed = match defaults.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        given @ RngSeed::Fixed(_) => given,
    };
    Runs {
        cases,
        failure_persistence: None,
        max_shrink_iters: 500,
        rng_seed,
        ..defaults
    }
}

#[test]
fn a10_a13_j1_any_setting_gives_the_oracles_set() {
    let _alone = alone();
    proptest!(runs(80), |(workload in workload(), settings in vec(setting(), 4))| {
        let (place, contents) = (Place::new(), workload.contents());
        let expected = common(&contents, workload.format);
        let files = place.files(&contents);
        for setting in settings {
            let found = setting.run(&place, &files, workload.format);
            assert_same(&found, &expected, &setting);
        }
    });
}

#[test]
fn h9_j1_all_settings_agree_on_the_same_inputs() {
    let _alone = alone();
    proptest!(runs(1), |(workload in workload())| {
        let (place, contents) = (Place::new(), workload.contents());
        let expected = common(&contents, workload.format);
        let files = place.files(&contents);
        for setting in all_settings() {
            let found = setting.run(&place, &files, workload.format);
            assert_same(&found, &expected, &setting);
        }
    });
}

/// Every strategy with every number of buckets and threads, spilling and not. `memory` has neither buckets nor spill.
fn all_settings() -> Vec<Setting> {
    let mut settings = Vec::new();
    for strategy in EXACT {
        for threads in [1, 2, 4] {
            for (buckets, always_spill) in [
                (1, false),
                (1, true),
                (7, false),
                (7, true),
                (1000, false),
                (1000, true),
            ] {
                settings.push(Setting {
                    strategy,
                    buckets,
                    threads,
                    always_spill,
                    memory: if threads == 2 { 64 * MIB } else { 16 * MIB },
                    bits_per_key: (threads == 4).then_some(4.0),
                    hash_key: HashKey::Random,
                });
            }
        }
    }
    settings.retain(|setting| {
        setting.strategy != Some(Strategy::Memory)
            || (setting.buckets == 1 && !setting.always_spill)
    });
    // A thousand files take long to make: once per strategy.
    settings
        .retain(|setting| setting.buckets < 1000 || !setting.always_spill || setting.threads == 4);
    settings
}

/// No model checker: what threads do in what order is left to the machine, which has far fewer cores than there are threads here.
#[test]
fn j1_j2_j3_any_number_of_threads_and_files_gives_the_oracles_set() {
    let _alone = alone();
    let place = Place::new();
    let contents = [numbered(0..6000, 40), numbered(3000..9000, 40)];
    let expected = common(&contents, LineFormat::default());
    let files = place.files(&contents);
    for threads in [1, 3, 8, 21, 64] {
        for buckets in [1, 16] {
            for strategy in [Strategy::Partition, Strategy::Sieve] {
                let setting = Setting {
                    strategy: Some(strategy),
                    buckets,
                    threads,
                    always_spill: true,
                    memory: 256 * MIB,
                    bits_per_key: None,
                    hash_key: HashKey::Random,
                };
                let found = setting.run(&place, &files, LineFormat::default());
                assert_same(&found, &expected, &setting);
            }
        }
    }
}

#[test]
fn h4_equal_hashes_for_all_lines_give_the_oracles_set() {
    let _alone = alone();
    // Few lines: they are compared one by one.
    let small = vec(vec(any::<usize>(), 0..60).prop_map(Part::Picks), 0..3);
    let inputs = vec((small, any::<bool>()), 2..=4);
    proptest!(runs(24), |(pool in vec(text(), 1..60), inputs in inputs, setting in setting())| {
        let workload = Workload {
            format: LineFormat::default(),
            pool,
            shared: Part::Picks(vec![3, 1, 4]),
            inputs,
        };
        let (place, contents) = (Place::new(), workload.contents());
        let files = place.files(&contents);
        let expected = common(&contents, workload.format);
        let setting = Setting { hash_key: HashKey::Constant, ..setting };
        let found = setting.run(&place, &files, workload.format);
        assert_same(&found, &expected, &setting);
    });
}

#[test]
fn j1_bloom_gives_a_superset_of_the_truth_from_lines_of_the_input_it_works_on_last() {
    let _alone = alone();
    proptest!(runs(60), |(workload in workload(), setting in setting(), bits in 1.0..20.0f64)| {
        let (place, contents) = (Place::new(), workload.contents());
        let files = place.files(&contents);
        let setting = Setting { strategy: Some(Strategy::Bloom), ..setting };
        let options = Options {
            bits_per_key: Some(bits),
            ..setting.options(&place, workload.format)
        };
        let (found, stats) = run(&files, &options)
            .unwrap_or_else(|error| panic!("{error}, with {setting:?}"));
        assert!(!stats.exact);
        let expected = common(&contents, workload.format);
        assert!(found.is_superset(&expected), "a common line is missing, with {setting:?}");
        // Fewest bytes first; a file without any is read like a pipe, after those whose size is known.
        let last = contents
            .iter()
            .max_by_key(|bytes| if bytes.is_empty() { usize::MAX } else { bytes.len() })
            .unwrap();
        let source = distinct(last, workload.format);
        assert!(found.is_subset(&source), "a line out of nowhere, with {setting:?}");
    });
}
