//! Every manifest against an oracle of sets over the bytes that were written.

use std::collections::BTreeSet;

use crate::common::{Run, answers, checksum, counts, intersection, lines_of, run, small};
use data_gen::bucket::OneBucket;
use data_gen::key::Key;
use data_gen::options::{Crlf, Form, Length, Order};
use data_gen::{Amount, Error, Manifest, Options, Plan, Share, Target, Workload, generate};
use outset::hash::LineHasher;
use xxhash_rust::xxh3::xxh3_64;

/// Compares everything the manifest says with the files.
fn verify(run: &Run) {
    let manifest = &run.manifest;
    let options = &manifest.options;
    let label = format!("{options:?}");
    assert_eq!(
        manifest.common,
        checksum(&intersection(run, false)),
        "{label}"
    );
    assert_eq!(
        manifest.common_strip_cr,
        checksum(&intersection(run, true)),
        "{label}"
    );
    for (found, strip_cr) in [
        (&manifest.answers, false),
        (&manifest.answers_strip_cr, true),
    ] {
        let expected = answers(&counts(run, strip_cr), run.files.len());
        assert_eq!(found.as_ref(), Some(&expected), "{strip_cr} {label}");
    }
    let empty: &[u8] = b"";
    assert_eq!(
        manifest.empty_line_is_common,
        intersection(run, true).contains(empty),
        "{label}"
    );
    for (number, (entry, file)) in manifest.files.iter().zip(&run.files).enumerate() {
        let lines = lines_of(file, options.terminator);
        let distinct: BTreeSet<&[u8]> = lines.iter().copied().collect();
        assert_eq!(entry.lines, lines.len() as u64, "{label}");
        assert_eq!(entry.lines, options.lines[number], "{label}");
        assert_eq!(entry.distinct_lines, distinct.len() as u64, "{label}");
        assert_eq!(entry.bytes, file.len() as u64, "{label}");
        let terminated = file
            .last()
            .is_none_or(|&last| last == options.terminator.byte());
        assert_eq!(entry.final_newline, terminated, "{label}");
        let (last, all) = lines
            .split_last()
            .map_or((empty, &lines[..]), |(last, rest)| (*last, rest));
        if entry.crlf {
            assert!(all.iter().all(|line| line.ends_with(b"\r")), "{label}");
            assert_eq!(
                last.ends_with(b"\r"),
                terminated && !lines.is_empty(),
                "{label}"
            );
        } else {
            assert!(!lines.iter().any(|line| line.ends_with(b"\r")), "{label}");
        }
    }
    assert_eq!(Manifest::read(&run.target.manifest()).unwrap(), *manifest);
}

#[test]
fn every_workload_is_as_its_manifest_says() {
    for &workload in Workload::all() {
        for (seed, lines) in [(1, 400), (2, 1003), (77, 150)] {
            let mut options = small(workload, lines);
            options.seed = seed;
            options.longest = 20_000;
            if let Some(bucket) = &mut options.bucket {
                bucket.buckets = 50;
            }
            let run = run(&options, 2);
            verify(&run);
            let distinct = run
                .manifest
                .files
                .iter()
                .map(|file| file.distinct_lines)
                .min()
                .unwrap();
            let found = run.manifest.common_strip_cr.count;
            match workload {
                Workload::Disjoint => assert_eq!(found, 0),
                Workload::Identical => assert_eq!(found, distinct),
                Workload::Hot => assert_eq!(distinct, lines - lines * 99 / 100),
                _ => assert!(
                    found >= distinct / 10,
                    "{workload:?}: {found} of {distinct}"
                ),
            }
        }
    }
}

#[test]
fn files_of_few_lines_are_as_their_manifest_says() {
    for &workload in Workload::all() {
        for lines in 0..6 {
            let mut options = small(workload, lines);
            options.longest = 5000;
            options.common = Amount::Share(Share::percent(50));
            if let Some(bucket) = &mut options.bucket {
                bucket.buckets = 10;
            }
            verify(&run(&options, 3));
            *options.lines.last_mut().unwrap() = 300;
            verify(&run(&options, 1));
        }
    }
}

/// Options that no workload has, one change each.
fn variations() -> Vec<Options> {
    let changes: [fn(&mut Options); 14] = [
        |options| options.hot_private = true,
        |options| options.order = Order::Grouped,
        |options| options.crlf = Crlf::Only(1),
        |options| options.crlf = Crlf::All,
        |options| options.partial = Share::percent(100),
        |options| options.common = Amount::Count(3),
        |options| options.common = Amount::Count(0),
        |options| options.duplicates = Share::percent(100),
        |options| options.lines = vec![700, 300, 500, 301],
        |options| options.lines = vec![200; 30],
        |options| options.form = Form::Bytes,
        |options| options.form = Form::Token,
        |options| options.length = Length::Exact(63),
        |options| options.prefix = 5000,
    ];
    let base = |change: &fn(&mut Options)| {
        let mut options = small(Workload::Mixed, 600);
        options.common = Amount::Share(Share::percent(20));
        change(&mut options);
        options
    };
    changes.iter().map(base).collect()
}

#[test]
fn every_option_leaves_the_manifest_exact() {
    for mut options in variations() {
        options.longest = 9000;
        verify(&run(&options, 2));
        options.order = Order::Grouped;
        options.zipf = None;
        verify(&run(&options, 2));
    }
}

/// Repeats of every kind, carriage returns in every mix, one to four files, with the last line cut or not.
fn mixes() -> Vec<Options> {
    let repeats: [fn(&mut Options); 5] = [
        |_| {},
        |options| options.duplicates = Share::percent(95),
        |options| {
            options.duplicates = Share::percent(60);
            options.zipf = Some(1.1);
        },
        |options| {
            options.duplicates = Share::percent(30);
            options.hot = Share::percent(40);
            options.empty_lines = Share::percent(3);
        },
        |options| {
            options.hot = Share::percent(20);
            options.hot_private = true;
        },
    ];
    let mut mixes = Vec::new();
    for files in 1..=4 {
        for crlf in [Crlf::None, Crlf::All, Crlf::Only(0), Crlf::Only(files - 1)] {
            for (number, change) in repeats.iter().enumerate() {
                let mut options = small(Workload::Urls, 300);
                options.seed = mixes.len() as u64;
                options.lines = (0..files).map(|file| 300 + 70 * u64::from(file)).collect();
                options.common = Amount::Share(Share::percent(40));
                options.partial = Share::percent(20);
                options.crlf = crlf;
                options.final_newline = (number + files as usize).is_multiple_of(2);
                change(&mut options);
                mixes.push(options);
            }
        }
    }
    mixes
}

#[test]
fn repeats_and_carriage_returns_in_one_to_four_files_are_as_the_manifest_says() {
    for options in mixes() {
        verify(&run(&options, 2));
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn the_answers_do_not_depend_on_how_many_lines_are_counted_at_a_time() {
    for options in mixes().into_iter().step_by(3) {
        let reference = run(&options, 1);
        for window in [0, 1, 7, 50] {
            let dir = tempfile::tempdir().unwrap();
            let mut target = Target::new(dir.path());
            target.window = window;
            target.threads = 3;
            let manifest = generate(&options, &target).unwrap();
            assert_eq!(manifest, reference.manifest, "{window} lines at a time");
        }
    }
}

#[test]
fn lines_in_all_files_but_one_are_not_common() {
    let run = run(&small(Workload::Many, 1000), 2);
    verify(&run);
    assert_eq!(run.manifest.common.count, 100);
    let sets: Vec<BTreeSet<&[u8]>> = run
        .files
        .iter()
        .map(|file| {
            lines_of(file, run.manifest.options.terminator)
                .into_iter()
                .collect()
        })
        .collect();
    for (without, set) in sets.iter().enumerate() {
        let mut others = sets
            .iter()
            .enumerate()
            .filter(|&(number, _)| number != without)
            .map(|(_, set)| set.clone());
        let first = others.next().unwrap();
        let shared = others.fold(first, |shared, other| {
            shared.intersection(&other).copied().collect()
        });
        assert_eq!(
            shared.difference(set).count(),
            25,
            "lines that only file {without} lacks"
        );
    }
}

#[test]
fn the_bytes_depend_on_the_seed_and_not_on_the_threads() {
    for &workload in Workload::all() {
        let mut options = small(workload, 3000);
        options.longest = 300_000;
        if let Some(bucket) = &mut options.bucket {
            bucket.buckets = 4;
        }
        let reference = run(&options, 1);
        for threads in [2, 5] {
            let again = run(&options, threads);
            assert!(
                again.files == reference.files,
                "{workload:?} on {threads} threads"
            );
            assert_eq!(again.manifest, reference.manifest);
        }
        options.seed = 2;
        let other = run(&options, 2);
        assert!(other.files != reference.files, "{workload:?}");
        assert_eq!(other.manifest.common.count, reference.manifest.common.count);
    }
}

#[test]
fn a_seed_means_the_same_bytes_in_every_version() {
    // Measurements of different versions are comparable only if this stays. A change of it is a
    // change of `manifest::FORMAT`.
    let run = run(&small(Workload::Urls, 1000), 1);
    let hash = xxh3_64(&run.files[0]);
    assert_eq!(hash, 0x53b3_ddd0_5fc2_826c, "{hash:#018x}");
}

#[test]
fn common_lines_lie_scattered_and_in_another_order_in_each_file() {
    let run = run(&small(Workload::Urls, 10_000), 2);
    let common = intersection(&run, false);
    let positions = |file: &[u8]| -> Vec<(usize, Vec<u8>)> {
        let lines = lines_of(file, run.manifest.options.terminator)
            .into_iter()
            .map(<[u8]>::to_vec);
        lines
            .enumerate()
            .filter(|(_, line)| common.contains(line))
            .collect()
    };
    let (a, b) = (positions(&run.files[0]), positions(&run.files[1]));
    for tenth in 0..10 {
        let inside = a
            .iter()
            .filter(|(position, _)| position / 1000 == tenth)
            .count();
        assert!(
            (60..140).contains(&inside),
            "{inside} common lines in part {tenth}"
        );
    }
    let same = a.iter().zip(&b).filter(|(a, b)| a.1 == b.1).count();
    assert!(
        same < 10,
        "{same} lines have the same rank among the common lines of both files"
    );
}

#[test]
fn h6_one_bucket_gets_all_lines_under_its_key_and_no_other() {
    let mut options = small(Workload::Urls, 200);
    let key = [5, 6, 7, 8];
    options.bucket = Some(OneBucket {
        key: Key(key),
        buckets: 300,
    });
    let run = run(&options, 2);
    verify(&run);
    let in_bucket_0 = |key: [u64; 4]| {
        let hasher = LineHasher::with_key(key);
        let lines = run
            .files
            .iter()
            .flat_map(|file| lines_of(file, run.manifest.options.terminator));
        lines
            .filter(|line| hasher.bucket(hasher.hash(line), 0, 300) == 0)
            .count()
    };
    assert_eq!(in_bucket_0(key), 400);
    assert!(in_bucket_0([5, 6, 7, 9]) < 20);
}

#[test]
fn hot_and_frequent_lines_are_as_frequent_as_asked() {
    let frequency = |options: &Options| {
        let run = run(options, 2);
        let mut lines = lines_of(&run.files[0], options.terminator);
        lines.sort_unstable();
        lines
            .chunk_by(|a, b| a == b)
            .map(<[&[u8]]>::len)
            .max()
            .unwrap()
    };
    assert_eq!(frequency(&small(Workload::Hot, 10_000)), 9901);
    let zipf = frequency(&small(Workload::Zipf, 10_000));
    // 8000 draws over 2000 ranks: the first has 1 / (ln 2000 + 0.58) of them.
    assert!((850..1100).contains(&zipf), "{zipf}");
    assert!(frequency(&small(Workload::Duplicates, 10_000)) < 12);
}

#[test]
fn impossible_options_are_refused_with_the_option_to_change() {
    let refused = |change: fn(&mut Options)| {
        let mut options = small(Workload::Urls, 100);
        change(&mut options);
        match Plan::new(&options) {
            Err(error @ Error::Usage { option, .. }) => {
                assert_eq!(error.exit_status(), 2);
                option
            }
            other => panic!("{options:?} gave {other:?}"),
        }
    };
    assert_eq!(refused(|options| options.lines = vec![]), "--files");
    assert_eq!(refused(|options| options.lines = vec![1; 1001]), "--files");
    assert_eq!(
        refused(|options| options.common = Amount::Count(101)),
        "--common"
    );
    assert_eq!(
        refused(|options| options.length = Length::Exact(25)),
        "--length"
    );
    assert_eq!(refused(|options| options.prefix = 10), "--prefix");
    assert_eq!(refused(|options| options.crlf = Crlf::Only(2)), "--crlf");
    assert_eq!(refused(|options| options.zipf = Some(0.0)), "--zipf");
    assert_eq!(
        refused(|options| options.bucket = Some(OneBucket {
            key: Key([0; 4]),
            buckets: 0
        })),
        "--buckets"
    );
    let last_line_without_cr = |options: &mut Options| {
        options.common = Amount::Share(Share::percent(100));
        options.crlf = Crlf::All;
        options.final_newline = false;
    };
    assert_eq!(refused(last_line_without_cr), "--no-final-newline");
}
