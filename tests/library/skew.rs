//! Unlucky hashes and uneven data: buckets that do not fit are split, those that no split divides are worked through in
//! pieces, repeated lines cost nothing, and long lines find room beside a full set.
//!
//! A single bucket and a memory limit of 16 MiB force what otherwise takes billions of lines.

use std::path::PathBuf;

use differential::sweep;
use outset::hash::HashKey;
use outset::{LineFormat, Options, Stats, Strategy};

use crate::oracle::{Lines, common};
use crate::util::{EXACT, MIB, Sandbox, assert_same, beside_others, numbered, run};

/// One bucket, partition, little memory.
fn one_bucket(sandbox: &Sandbox, hash_key: HashKey) -> Options {
    Options {
        strategy: Some(Strategy::Partition),
        buckets: Some(1),
        hash_key,
        ..sandbox.options()
    }
}

/// Runs and compares with the oracle.
fn check(sandbox: &Sandbox, contents: &[Vec<u8>], options: &Options) -> Stats {
    check_files(
        &sandbox.files(contents),
        &common(contents, LineFormat::default()),
        options,
    )
}

fn check_files(files: &[PathBuf], expected: &Lines, options: &Options) -> Stats {
    let (found, stats) = run(files, options)
        .unwrap_or_else(|error| panic!("{error}: {options:?}, {:?}", options.hash_key));
    assert_same(&found, expected, &(options, options.hash_key));
    stats
}

/// Two inputs of 200,000 lines of 100 bytes, half of them in both: a set of 25 MB.
fn large_pair() -> [Vec<u8>; 2] {
    [numbered(0..200_000, 100), numbered(100_000..300_000, 100)]
}

#[test]
fn h3_a_bucket_that_does_not_fit_is_split() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let contents = large_pair();
    let expected = common(&contents, LineFormat::default());
    let files = sandbox.files(&contents);
    let options = Options {
        threads: Some(2),
        ..one_bucket(&sandbox, HashKey::Random)
    };
    let stats = check_files(&files, &expected, &options);
    assert!(stats.buckets.split > 0, "{:?}", stats.buckets);
    assert_eq!((stats.buckets.count, stats.buckets.levels), (1, 2));
    assert_eq!(stats.buckets.largest_lines, 200_000);
}

#[test]
#[ignore = "slow: close to a second"]
fn h3_split_levels_that_divide_nothing_are_skipped() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let contents = large_pair();
    let expected = common(&contents, LineFormat::default());
    let files = sandbox.files(&contents);
    for &levels in sweep::some(&[2, 1, 7], 1) {
        let options = one_bucket(&sandbox, HashKey::OneBucket { levels });
        let stats = check_files(&files, &expected, &options);
        assert!(stats.buckets.split > 0, "{:?}", stats.buckets);
        assert_eq!(stats.buckets.levels, levels + 1);
    }
    // With more buckets than one all lines are still in the first.
    let options = Options {
        buckets: Some(7),
        always_spill: true,
        ..one_bucket(&sandbox, HashKey::OneBucket { levels: 2 })
    };
    assert_eq!(
        check_files(&files, &expected, &options)
            .buckets
            .largest_lines,
        200_000
    );
}

#[test]
#[ignore = "slow: close to a second"]
fn a_split_bucket_of_three_inputs_keeps_what_all_have() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let [first, second] = large_pair();
    let third = [numbered(150_000..350_000, 100), numbered(0..50, 100)].concat();
    let stats = check(
        &sandbox,
        &[first, second, third],
        &one_bucket(&sandbox, HashKey::Random),
    );
    assert!(stats.buckets.split > 0);
}

#[test]
fn a_split_bucket_of_one_input_keeps_its_distinct_lines() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let file = sandbox.file(
        "file",
        [numbered(0..150_000, 100), numbered(100_000..150_000, 100)].concat(),
    );
    let (found, stats) = run(
        &[file.clone(), file],
        &one_bucket(&sandbox, HashKey::Random),
    )
    .unwrap();
    assert_eq!(found.len(), 150_000);
    assert!(stats.buckets.split > 0);
}

#[test]
fn h1_a_hot_line_is_no_reason_to_split() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let hot = b"the same line all over again, ninety-nine times out of a hundred".to_vec();
    let content = |cold: std::ops::Range<u32>| {
        let mut bytes = Vec::new();
        for number in cold {
            bytes.extend(numbered(number..number + 1, 60));
            for _ in 0..99 {
                bytes.extend(&hot);
                bytes.push(b'\n');
            }
        }
        bytes
    };
    let contents = [content(0..2000), content(1000..3000)];
    for hash_key in [
        HashKey::Random,
        HashKey::OneBucket { levels: 8 },
        HashKey::Constant,
    ] {
        let stats = check(&sandbox, &contents, &one_bucket(&sandbox, hash_key));
        assert_eq!((stats.buckets.split, stats.inputs[0].lines), (0, 200_000));
        assert_eq!(stats.output.lines, 1001);
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn h2_ten_hot_lines_and_frequencies_by_zipfs_law_need_no_deep_splits() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let hot = |count: u32, shift: u32| {
        let mut bytes = numbered(shift..shift + count / 10, 60);
        for number in 0..count {
            let line = number % 10;
            bytes.extend(numbered(line..line + 1, 60));
        }
        bytes
    };
    // The line of rank r comes as often as the first one by r, or by r to the power of 1.5.
    let zipf = |exponent: f64, shift: u32| {
        let mut bytes = Vec::new();
        for rank in 1..20_000u32 {
            let times = (40_000.0 / f64::from(rank).powf(exponent)).ceil() as u32;
            let line = numbered(rank + shift..rank + shift + 1, 60);
            (0..times).for_each(|_| bytes.extend(&line));
        }
        bytes
    };
    let contents = [
        [hot(200_000, 0), hot(200_000, 10_000)],
        [zipf(1.5, 0), zipf(1.5, 5)],
        [zipf(1.0, 0), zipf(1.0, 500)],
    ];
    for contents in sweep::some(&contents, 2) {
        let expected = common(contents, LineFormat::default());
        let files = sandbox.files(contents);
        for strategy in EXACT {
            let options = Options {
                strategy,
                memory_bytes: Some(64 * MIB),
                ..sandbox.options()
            };
            let stats = check_files(&files, &expected, &options);
            assert!(stats.buckets.levels <= 2, "{:?}", stats.buckets);
        }
        let stats = check_files(&files, &expected, &one_bucket(&sandbox, HashKey::Random));
        assert!(stats.buckets.levels <= 2, "{:?}", stats.buckets);
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn h3_what_no_level_divides_is_worked_through_in_pieces() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // Repeats far apart: a line of a later piece may have been dealt with in an earlier one.
    let first = [numbered(0..50_000, 500), numbered(0..20_000, 500)].concat();
    let second = [numbered(20_000..80_000, 500), numbered(0..1000, 500)].concat();
    let third = numbered(500..100_000, 500);
    let contents = [first, second, third];
    let options = one_bucket(&sandbox, HashKey::OneBucket { levels: 8 });
    for &inputs in sweep::some(&[2, 3], 1) {
        let stats = check(&sandbox, &contents[..inputs], &options);
        assert_eq!(stats.buckets.split, 0);
        // Several pieces: all inputs were read from disk more than once.
        assert!(
            stats.temp.read_bytes > 2 * stats.temp.written_bytes,
            "{:?}",
            stats.temp
        );
    }
}

#[test]
fn the_distinct_lines_of_one_input_come_once_from_many_pieces() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let content = [numbered(0..40_000, 500), numbered(0..40_000, 500)].concat();
    let file = sandbox.file("file", content);
    let options = one_bucket(&sandbox, HashKey::OneBucket { levels: 8 });
    let (found, stats) = run(&[file.clone(), file], &options).unwrap();
    assert_eq!((found.len(), stats.buckets.split), (40_000, 0));
}

#[test]
#[ignore = "slow: more than a second"]
fn h4_equal_hashes_with_more_lines_than_fit_are_worked_through_in_pieces() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // Few and long: equal hashes are told apart by comparing all.
    let first = [numbered(0..800, 30_000), numbered(0..100, 30_000)].concat();
    let second = [numbered(300..1100, 30_000), numbered(0..100, 30_000)].concat();
    for strategy in [Strategy::Partition, Strategy::Sieve] {
        let options = Options {
            strategy: Some(strategy),
            ..one_bucket(&sandbox, HashKey::Constant)
        };
        let stats = check(&sandbox, &[first.clone(), second.clone()], &options);
        assert_eq!(stats.buckets.split, 0);
        assert!(
            stats.temp.read_bytes > stats.temp.written_bytes,
            "{:?}",
            stats.temp
        );
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn a_long_line_finds_room_beside_a_set_that_nearly_fills_the_memory() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let long = [vec![b'l'; 1_500_000], b"\n".to_vec()].concat();
    let mut failures = Vec::new();
    // From sets that leave room to sets that are split.
    let sizes: Vec<u32> = (60_000..120_000).step_by(10_000).collect();
    for &lines in sweep::some(&sizes, 3) {
        let first = [numbered(0..lines, 100), long.clone()].concat();
        let second = [numbered(lines / 2..2 * lines, 100), long.clone()].concat();
        let expected = common(&[first.clone(), second.clone()], LineFormat::default());
        let files = sandbox.files(&[first, second]);
        for strategy in [Strategy::Partition, Strategy::Sieve] {
            let options = Options {
                strategy: Some(strategy),
                always_spill: true,
                ..one_bucket(&sandbox, HashKey::Random)
            };
            match run(&files, &options) {
                Ok((found, _)) => assert_same(&found, &expected, &(lines, strategy)),
                Err(error) => failures.push(format!("{lines} lines, {strategy}: {error}")),
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a4_a_long_line_finds_room_beside_a_table_for_many_repeats() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let long = [vec![b'l'; 2_500_000], b"\n".to_vec()].concat();
    let many = vec![b'\n'; 3_000_000];
    let contents = [
        [many.clone(), long.clone()].concat(),
        [long, many, b"x\n".to_vec()].concat(),
    ];
    let options = Options {
        always_spill: true,
        ..one_bucket(&sandbox, HashKey::Random)
    };
    let stats = check(&sandbox, &contents, &options);
    assert_eq!(stats.output.lines, 2);
}

#[test]
#[ignore = "slow: close to a second"]
fn h9_the_number_of_buckets_does_not_matter_beyond_memory() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let contents = large_pair();
    let expected = common(&contents, LineFormat::default());
    let files = sandbox.files(&contents);
    for (&strategy, &buckets) in sweep::pairs(&EXACT, &[Some(300), Some(7)]) {
        let memory_bytes = if strategy == Some(Strategy::Memory) {
            64 * MIB
        } else {
            24 * MIB
        };
        let options = Options {
            strategy,
            buckets,
            memory_bytes: Some(memory_bytes),
            ..sandbox.options()
        };
        let stats = check_files(&files, &expected, &options);
        assert!(
            stats.temp.peak_bytes > 0 || strategy == Some(Strategy::Memory),
            "{strategy:?}: {:?}",
            stats.temp
        );
    }
}

#[test]
fn h1_a_hot_line_is_spilled_a_few_times_and_counts_as_passed() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let hot = b"the hot line\n".repeat(300_000);
    let contents = [
        [numbered(0..50_000, 60), hot.clone()].concat(),
        [hot, numbered(40_000..90_000, 60)].concat(),
    ];
    let expected = common(&contents, LineFormat::default());
    let files = sandbox.files(&contents);
    for strategy in EXACT {
        let options = Options {
            strategy,
            always_spill: true,
            memory_bytes: Some(64 * MIB),
            ..sandbox.options()
        };
        let stats = check_files(&files, &expected, &options);
        let other_lines = 100_000 * 64;
        assert!(
            stats.temp.written_bytes < 2 * other_lines,
            "{:?}",
            stats.temp
        );
    }
    let approximate = Options {
        strategy: Some(Strategy::Bloom),
        bits_per_key: Some(0.6),
        ..sandbox.options()
    };
    let (found, stats) = run(&files, &approximate).unwrap();
    let false_lines = found.len() - expected.len();
    let told = stats.filter.unwrap().expected_false_lines;
    // The repeats of the hot line passed, and must not count as refused.
    assert!(false_lines > 1000);
    assert!(
        (told - false_lines as f64).abs() < 5.0 + 0.5 * false_lines as f64,
        "{told} were told, {false_lines} found"
    );
}

#[test]
fn h1_a_line_that_comes_again_far_from_its_first_time_is_one_mistake() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let second = numbered(40_000..90_000, 60);
    let files = sandbox.files(&[numbered(0..50_000, 60), second.repeat(9)]);
    let options = Options {
        strategy: Some(Strategy::Bloom),
        bits_per_key: Some(3.0),
        ..sandbox.options()
    };
    let (found, stats) = run(&files, &options).unwrap();
    let false_lines = found.len() as f64 - 10_000.0;
    let told = stats.filter.unwrap().expected_false_lines;
    assert!(false_lines > 1000.0);
    assert!(
        (told / false_lines - 1.0).abs() < 0.15,
        "{told} were told, {false_lines} found"
    );
}
