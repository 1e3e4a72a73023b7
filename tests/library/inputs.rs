//! The inputs: any order, the same file under two names, pipes, files whose sample misleads.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use outset::{LineFormat, Observer, Options, Selection, Source, Strategy, plan_for};

use crate::oracle::{Lines, common, distinct};
use crate::util::{EXACT, MIB, Sandbox, assert_same, beside_others, from_here, numbered, run};

/// Three inputs of different sizes with some lines in common, one of them longer than a chunk.
fn three() -> [Vec<u8>; 3] {
    let long = [vec![b'l'; 100_000], b"\n".to_vec()].concat();
    [
        [numbered(0..3000, 9), long.clone(), b"\n\nlast".to_vec()].concat(),
        [long.clone(), numbered(1000..9000, 9), b"last\n\n".to_vec()].concat(),
        [numbered(2000..40_000, 9), b"\nlast\nlast\n".to_vec(), long].concat(),
    ]
}

#[test]
fn h10_the_order_of_inputs_does_not_matter() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let contents = three();
    let expected = common(&contents, LineFormat::default());
    assert_eq!(expected.len(), 1003);
    let files = sandbox.files(&contents);
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let files = order.map(|index: usize| files[index].clone());
        for strategy in EXACT {
            let options = Options {
                strategy,
                ..sandbox.options()
            };
            let (found, stats) = run(&files, &options).unwrap();
            assert_same(&found, &expected, &(order, strategy));
            // The statistics keep the caller's order.
            let sizes = stats.inputs.iter().map(|input| input.bytes);
            assert!(sizes.eq(order.map(|index: usize| contents[index].len() as u64)));
        }
    }
}

#[test]
fn b8_a_file_counts_once_under_whatever_name() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let content = [numbered(0..5000, 20), numbered(0..100, 20)].concat();
    let expected = distinct(&content, LineFormat::default());
    let file = sandbox.file("file", &content);
    let (hard, soft) = (sandbox.path("hard"), sandbox.path("soft"));
    std::fs::hard_link(&file, &hard).unwrap();
    std::os::unix::fs::symlink(&file, &soft).unwrap();
    let detour = sandbox.path("temp/../file");
    let other = sandbox.file("other", numbered(4000..7000, 20));
    let expected_with_other = common(&[content, numbered(4000..7000, 20)], LineFormat::default());
    for strategy in EXACT.into_iter().chain([Some(Strategy::Bloom)]) {
        for name in [&file, &hard, &soft, &detour] {
            let options = Options {
                strategy,
                ..sandbox.options()
            };
            let (found, stats) = run(&[file.clone(), name.clone()], &options).unwrap();
            assert_same(&found, &expected, &(strategy, name));
            assert_eq!(
                (stats.inputs.len(), stats.inputs[0].lines),
                (1, 5100),
                "{name:?}"
            );
        }
        if strategy != Some(Strategy::Bloom) {
            let options = Options {
                strategy,
                always_spill: true,
                ..sandbox.options()
            };
            let (found, stats) =
                run(&[soft.clone(), other.clone(), hard.clone()], &options).unwrap();
            assert_same(&found, &expected_with_other, &strategy);
            assert_eq!(stats.inputs.len(), 2);
        }
    }
}

/// Runs `strategy` on `contents`, those with a bit in `pipes` through FIFOs.
fn run_with_pipes(
    sandbox: &Sandbox,
    strategy: Option<Strategy>,
    contents: &[Vec<u8>],
    pipes: u32,
) -> Lines {
    let paths: Vec<PathBuf> = (0..)
        .zip(contents)
        .map(|(number, bytes)| {
            if pipes & (1 << number) == 0 {
                sandbox.file(&format!("file{number}"), bytes)
            } else {
                sandbox.fifo(&format!("fifo{number}"), bytes.clone())
            }
        })
        .collect();
    let options = Options {
        strategy,
        ..sandbox.options()
    };
    let (found, stats) = run(&paths, &options)
        .unwrap_or_else(|error| panic!("{error}: {strategy:?}, pipes {pipes:03b}"));
    let read = stats.inputs.iter().map(|input| input.bytes);
    assert!(
        read.eq(contents.iter().map(|bytes| bytes.len() as u64)),
        "{strategy:?}, pipes {pipes:03b}: {:?}",
        stats.inputs
    );
    found
}

#[test]
fn b10_any_of_the_inputs_may_be_a_fifo() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let contents = three();
    for strategy in EXACT {
        for inputs in [2, 3] {
            let expected = common(&contents[..inputs], LineFormat::default());
            for pipes in 1..(1 << inputs) {
                let found = run_with_pipes(&sandbox, strategy, &contents[..inputs], pipes);
                assert_same(&found, &expected, &(strategy, pipes));
            }
        }
    }
}

#[test]
fn bloom_misses_nothing_that_comes_through_fifos() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let contents = three();
    let expected = common(&contents, LineFormat::default());
    let all = contents.iter().fold(Lines::new(), |mut all, bytes| {
        all.append(&mut distinct(bytes, LineFormat::default()));
        all
    });
    for pipes in 0..8 {
        let found = run_with_pipes(&sandbox, Some(Strategy::Bloom), &contents, pipes);
        assert!(
            found.is_superset(&expected) && found.is_subset(&all),
            "pipes {pipes:03b}"
        );
    }
}

#[test]
fn a1_empty_fifos_and_empty_files_have_nothing_in_common_with_anything() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for strategy in EXACT.into_iter().chain([Some(Strategy::Bloom)]) {
        for contents in [
            [vec![], vec![]],
            [b"a\n".to_vec(), vec![]],
            [vec![], b"\n".to_vec()],
        ] {
            for pipes in 0..4 {
                let found = run_with_pipes(&sandbox, strategy, &contents, pipes);
                assert_same(&found, &Lines::new(), &(strategy, pipes));
            }
        }
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn auto_starts_over_when_the_set_turns_out_larger_than_its_sample_promised() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // Long lines where the sample looks, short ones everywhere else.
    let mut content = Vec::new();
    for window in 0..32u32 {
        // Windows lie somewhere in the first half of their parts, which have 184 kB here.
        let before = (window * 618 % 1000 * 92).saturating_sub(4_000) / 8;
        let first = 100_000 + window * 20_000;
        content.extend(numbered(first..first + before, 7));
        content.extend(numbered(window * 40..window * 40 + 40, 1000));
        content.extend(numbered(first + before..first + 18_000, 7));
    }
    let other = [numbered(100_000..900_000, 7), numbered(0..50, 1000)].concat();
    let expected = common(&[content.clone(), other.clone()], LineFormat::default());
    let files = sandbox.files(&[content, other]);
    let sources: Vec<Source> = files.iter().map(Source::from).collect();
    // A little more than least: the answer must not depend on what other tests have left in this process.
    let options = Options {
        memory_bytes: Some(18 * MIB),
        ..sandbox.options()
    };
    assert_eq!(
        plan_for(&sources, Selection::intersection(), &from_here(&options))
            .unwrap()
            .strategy(),
        Strategy::Memory
    );
    let (found, stats) = run(&files, &options).unwrap();
    assert_same(&found, &expected, &stats.strategy);
    assert_ne!(stats.strategy, "memory");
}

#[test]
fn a_long_line_that_no_sample_saw_is_read_all_the_same() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let small = numbered(0..20_000, 100);
    // Between two windows of the sample, of which there are 32, behind lines that are in the result already.
    let lines = numbered(10_000..210_000, 100);
    let long = [vec![b'l'; 300_000], b"\n".to_vec()].concat();
    let window = (lines.len() + long.len()) / 32 * 28;
    let (front, back) = lines.split_at((window + (64 << 10)) / 101 * 101);
    let large = [front, &long, back].concat();
    let expected = common(&[small.clone(), large.clone()], LineFormat::default());
    assert_eq!(expected.len(), 10_000);
    let files = sandbox.files(&[small, large]);
    for strategy in EXACT {
        let options = Options {
            strategy,
            ..sandbox.options()
        };
        match run(&files, &options) {
            Ok((found, _)) => assert_same(&found, &expected, &strategy),
            Err(error) => panic!("{strategy:?}: {error}"),
        }
    }
}

#[test]
fn pipes_that_turn_out_small_run_under_a_small_cap_on_temporary_disk() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let contents = three();
    let expected = common(&contents[..2], LineFormat::default());
    for pipes in [0b01, 0b10, 0b11] {
        let names = ["fifo0", "fifo1"];
        let paths = [0, 1].map(|number: usize| {
            if pipes & (1 << number) == 0 {
                sandbox.file("file", &contents[number])
            } else {
                sandbox.fifo(names[number], contents[number].clone())
            }
        });
        let options = Options {
            strategy: Some(Strategy::Partition),
            memory_bytes: Some(64 * MIB),
            max_temp_bytes: Some(64 * MIB),
            ..sandbox.options()
        };
        match run(&paths, &options) {
            Ok((found, _)) => assert_same(&found, &expected, &pipes),
            Err(error) => panic!("pipes {pipes:02b}: {error}"),
        }
    }
}

/// Notes whether reader threads were at work: they are there for cold files and pipes only.
#[derive(Default)]
struct SeesReaders(AtomicBool);

impl Observer for SeesReaders {
    fn advanced(&self, _bytes_read: u64, _lines: u64) {
        let names = std::fs::read_dir("/proc/self/task")
            .into_iter()
            .flatten()
            .flatten();
        let has_reader = names
            .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
            .any(|name| name.starts_with("read-"));
        self.0.fetch_or(has_reader, Ordering::Relaxed);
    }
}

/// Asks the system to forget the cached pages of a file.
fn make_cold(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}

#[test]
fn cold_files_give_what_warm_ones_do() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let mut contents = three();
    // Sizes around the units of direct reading, and enough chunks for all readers.
    contents[0].extend(numbered(100_000..130_000, 60));
    contents[1].extend(numbered(110_000..150_000, 60));
    contents[1].resize(contents[1].len().next_multiple_of(4096) - 1, b'x');
    contents[1].push(b'\n');
    contents[2].extend(numbered(120_000..160_000, 60));
    let expected = common(&contents, LineFormat::default());
    let files = sandbox.files(&contents);
    let mut seen_cold = false;
    for strategy in EXACT {
        for threads in [1, 3] {
            for file in &files {
                make_cold(file);
            }
            let observer = Arc::new(SeesReaders::default());
            let options = Options {
                strategy,
                threads: Some(threads),
                memory_bytes: Some(64 * MIB),
                observer: Some(observer.clone()),
                ..sandbox.options()
            };
            let (found, _) = run(&files, &options).unwrap();
            assert_same(&found, &expected, &(strategy, threads));
            seen_cold |= observer.0.load(Ordering::Relaxed);
        }
    }
    let is_memory = rustix::fs::statfs(sandbox.temp()).unwrap().f_type == 0x0102_1994;
    assert!(seen_cold || is_memory, "no file was read as a cold one");
}
