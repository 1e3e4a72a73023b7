//! Real files with recorded answers: every exact strategy gives exactly the true set, `bloom` no more false lines than
//! predicted, and none takes more memory than it was given.
//!
//! The files are not part of the project; where they are absent these tests say so and pass.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use data_gen::Compression;
use differential::sweep;
use flate2::read::GzDecoder;
use outset::{ErrorKind, KeyType, LineFormat, Options, Selection, Strategy};
use sha2::{Digest, Sha256};

use crate::oracle::{Lines, distinct, selected};
use crate::util::{
    EXACT, MIB, Sandbox, alone, assert_same, beside_others, peak_of, resident_bytes, root, run,
    run_into, run_to_select,
};

/// The SHA-256 of P14's answer when one CR is stripped from each line, and its lines: from the data's description.
const WITHOUT_CR: (u64, &str) = (
    25_287,
    "a5cdcf0e33096f610e5c0b2570b6b0d58d0771d11d05f84f85c2a33babecc1b9",
);

/// A row of the table of answers.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) group: String,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) lines: u64,
    pub(crate) sha256: String,
}

impl Row {
    pub(crate) fn bytes(&self) -> u64 {
        self.files
            .iter()
            .map(|file| fs::metadata(file).unwrap().len())
            .sum()
    }

    /// The file that is worked on last: the one with most bytes.
    fn last(&self) -> &Path {
        self.files
            .iter()
            .max_by_key(|file| fs::metadata(file).unwrap().len())
            .unwrap()
    }
}

/// Returns the directory of the data, if it is there.
fn data() -> PathBuf {
    root().join("../shared/data")
}

/// The rows, their files unpacked; `None` where there is no data.
pub(crate) fn rows() -> Option<Vec<Row>> {
    let data = data();
    let (Ok(truth), Ok(sizes)) = (
        fs::read_to_string(data.join("TRUTH.tsv")),
        fs::read_to_string(data.join("FILES.tsv")),
    ) else {
        eprintln!("skipped: there is no data in {}", data.display());
        return None;
    };
    let sizes: HashMap<&str, u64> = table(&sizes)
        .map(|row| (row[0], row[1].parse().unwrap()))
        .collect();
    let rows: Vec<Row> = table(&truth)
        .map(|row| Row {
            group: row[0].to_owned(),
            files: row[2]
                .split(',')
                .map(|name| unpacked(&data, name, sizes[name]))
                .collect(),
            lines: row[3].parse().unwrap(),
            sha256: row[4].to_owned(),
        })
        .collect();
    assert!(!rows.is_empty(), "the table of answers is empty");
    Some(rows)
}

/// The rows of a table without its header.
fn table(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().skip(1).map(|line| line.split('\t').collect())
}

/// Unpacks a file into the build's own directory for test files, unless it is there already.
///
/// One test at a time: a second copy that took the first one's name would be a changed input to the test that reads it.
fn unpacked(data: &Path, name: &str, bytes: u64) -> PathBuf {
    static UNPACKING: Mutex<()> = Mutex::new(());
    let _alone = UNPACKING.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("truth");
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    if fs::metadata(&path).map_or(0, |metadata| metadata.len()) != bytes {
        let mut packed = GzDecoder::new(File::open(data.join(format!("{name}.gz"))).unwrap());
        let mut half_done = tempfile::NamedTempFile::new_in(&directory).unwrap();
        assert_eq!(
            io::copy(&mut packed, &mut half_done).unwrap(),
            bytes,
            "{name}"
        );
        half_done.persist(&path).unwrap();
    }
    path
}

/// The SHA-256 of the lines in byte order, each with a newline.
pub(crate) fn sha256(lines: &Lines) -> String {
    let mut hasher = Sha256::new();
    for line in lines {
        hasher.update(line);
        hasher.update(b"\n");
    }
    let mut text = String::new();
    for byte in hasher.finalize() {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

/// Runs a row, which must give the true set. `None` where the strategy `memory` has too little of it.
fn check(row: &Row, options: &Options) -> Option<Lines> {
    match run(&row.files, options) {
        Ok((lines, stats)) => {
            assert!(stats.exact);
            assert_eq!(
                (lines.len() as u64, sha256(&lines).as_str()),
                (row.lines, row.sha256.as_str()),
                "{} by {} with {options:?}",
                row.group,
                stats.strategy
            );
            Some(lines)
        }
        Err(error) => {
            let may_not_fit =
                options.strategy == Some(Strategy::Memory) && options.memory_bytes < Some(1 << 30);
            assert!(
                may_not_fit && error.kind() == ErrorKind::Memory,
                "{}: {error}; {options:?}",
                row.group
            );
            None
        }
    }
}

/// Memory in mebibytes and threads; the rows take these by turns.
const SETTINGS: [[(u64, usize); 3]; 2] =
    [[(16, 2), (64, 1), (1024, 2)], [(16, 1), (64, 2), (1024, 1)]];
/// The settings of a quick test: one for each row.
const QUICK_SETTINGS: [[(u64, usize); 1]; 3] = [[(16, 2)], [(64, 1)], [(1024, 2)]];

/// Files up to this size are small: every strategy takes a moment.
const SMALL_BYTES: u64 = 40 * MIB;

/// Files up to this size are tried with every change.
pub(crate) const QUICK_BYTES: u64 = 3 * MIB;

#[test]
fn every_exact_strategy_gives_the_recorded_answers_of_small_files() {
    recorded_answers(&QUICK_SETTINGS, |row| row.bytes() <= QUICK_BYTES);
}

#[test]
#[ignore = "slow: every small file under every setting"]
fn every_exact_strategy_gives_the_recorded_answers_of_small_files_under_every_setting() {
    recorded_answers(&QUICK_SETTINGS, |row| row.bytes() <= SMALL_BYTES);
    recorded_answers(&SETTINGS, |row| row.bytes() <= SMALL_BYTES);
}

#[test]
#[ignore = "slow: files of hundreds of megabytes, under every strategy"]
fn every_exact_strategy_gives_the_recorded_answers_of_large_files() {
    recorded_answers(&SETTINGS, |row| row.bytes() > SMALL_BYTES);
}

fn recorded_answers<const N: usize>(
    settings: &[[(u64, usize); N]],
    is_wanted: impl Fn(&Row) -> bool,
) {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (row, settings) in rows()
        .unwrap_or_default()
        .iter()
        .filter(|row| is_wanted(row))
        .zip(settings.iter().cycle())
    {
        let is_large = row.bytes() > SMALL_BYTES;
        for &(memory, threads) in settings {
            for strategy in EXACT {
                // With 1 GiB nothing is spilled, as with 64 MiB.
                if is_large && memory == 1024 && strategy.is_some() {
                    continue;
                }
                let options = Options {
                    strategy,
                    memory_bytes: Some(memory * MIB),
                    threads: Some(threads),
                    ..sandbox.options()
                };
                let lines = check(row, &options);
                assert!(
                    lines.is_some() || memory == 16 || is_large,
                    "{} does not fit {memory} MiB",
                    row.group
                );
            }
        }
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn a19_compressed_files_give_the_recorded_answers_of_small_files() {
    compressed_answers(|row| row.bytes() <= QUICK_BYTES);
}

#[test]
#[ignore = "slow: all real files, compressed in every format"]
fn a19_compressed_files_give_the_recorded_answers_of_all_files() {
    compressed_answers(|_| true);
}

/// Each row from compressed files: from those of the data as they came, which are gzip, and from all formats by turns.
fn compressed_answers(is_wanted: impl Fn(&Row) -> bool) {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let rows = rows().unwrap_or_default();
    let mut formats = Compression::ALL.into_iter().cycle();
    for (row, strategy) in rows
        .iter()
        .filter(|row| is_wanted(row))
        .zip(EXACT.into_iter().cycle())
    {
        let options = Options {
            strategy,
            memory_bytes: Some(256 * MIB),
            ..sandbox.options()
        };
        let packed = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            data().join(format!("{name}.gz"))
        };
        let mut compressed = |path: &PathBuf| {
            let (format, text) = (formats.next().unwrap(), fs::read(path).unwrap());
            sandbox.file(
                path.file_name().unwrap().to_str().unwrap(),
                format.compress(&text).unwrap(),
            )
        };
        let as_they_came = row.files.iter().map(packed).collect();
        let by_turns = row.files.iter().map(&mut compressed).collect();
        for files in [as_they_came, by_turns] {
            let group = row.group.clone();
            let row = Row {
                group,
                files,
                sha256: row.sha256.clone(),
                ..*row
            };
            assert!(
                check(&row, &options).is_some(),
                "{} does not fit",
                row.group
            );
        }
    }
}

/// A selection by its name, and whether it asks for a line that these of the files have.
type Kind = (&'static str, Selection, fn(&[bool]) -> bool);

fn count(which: &[bool]) -> usize {
    which.iter().filter(|&&has| has).count()
}

const KINDS: [Kind; 3] = [
    ("diff", Selection::difference(), |which| {
        which[0] && count(which) == 1
    }),
    ("union", Selection::union(), |which| count(which) >= 1),
    ("symdiff", Selection::symmetric_difference(), |which| {
        count(which) == 1
    }),
];

#[test]
fn l1_other_operations_on_small_files_give_what_sorting_gives() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let rows = rows().unwrap_or_default();
    let strategies = [Some(Strategy::Partition), Some(Strategy::Sieve), None];
    // The files of the first group are small, some of the others have tens of megabytes.
    let wanted: Vec<_> = sweep::some(&["P14-", "P01-", "P08-", "P17-"], 1).collect();
    let is_wanted = |row: &&Row| wanted.iter().any(|&&group| row.group.starts_with(group));
    for row in rows.iter().filter(is_wanted) {
        let texts: Vec<Vec<u8>> = row
            .files
            .iter()
            .map(|file| fs::read(file).unwrap())
            .collect();
        for (&(name, selection, is_asked), &strategy) in sweep::pairs(&KINDS, &strategies) {
            // Of small files, some would be held in memory.
            let options = Options {
                strategy,
                always_spill: strategy.is_some(),
                ..sandbox.options()
            };
            let (lines, stats) = run_to_select(selection, &row.files, &options).unwrap();
            let context = format!("{name} of {} by {strategy:?}", row.group);
            assert_same(&lines, &selected(&texts, is_asked), &context);
            let written = stats.temp.written_bytes;
            // In a sieve nothing spills of files in which no line occurs twice.
            assert!(
                written > 0 || strategy != Some(Strategy::Partition),
                "{context} spilled nothing"
            );
            assert!(stats.exact, "{context}");
        }
    }
}

#[test]
fn stripping_carriage_returns_gives_the_recorded_answer() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let trap = rows()
        .unwrap_or_default()
        .into_iter()
        .filter(|row| row.group.contains("crlf"));
    for row in trap {
        let row = Row {
            lines: WITHOUT_CR.0,
            sha256: WITHOUT_CR.1.to_owned(),
            ..row
        };
        for strategy in EXACT {
            let format = LineFormat {
                strip_cr: true,
                ..LineFormat::default()
            };
            assert!(
                check(
                    &row,
                    &Options {
                        strategy,
                        format,
                        ..sandbox.options()
                    }
                )
                .is_some()
            );
        }
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn addresses_as_keys_give_the_recorded_answers() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // The other lists of addresses have empty lines, which are none.
    let pure = rows()
        .unwrap_or_default()
        .into_iter()
        .filter(|row| row.group == "P11-ipv4");
    for row in pure {
        // With sets, and with a bitmap of all addresses.
        for memory in [16, 1024] {
            for strategy in EXACT {
                let options = Options {
                    strategy,
                    key_type: KeyType::Ipv4,
                    memory_bytes: Some(memory * MIB),
                    ..sandbox.options()
                };
                assert!(check(&row, &options).is_some(), "{memory} MiB");
            }
        }
    }
}

#[test]
#[ignore = "slow: every file under three filters"]
fn bloom_adds_no_more_lines_than_predicted() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // Rows in a row often end with the same file.
    let mut last = (PathBuf::new(), Lines::new());
    for row in rows().unwrap_or_default() {
        let exact = check(
            &row,
            &Options {
                memory_bytes: Some(64 * MIB),
                ..sandbox.options()
            },
        )
        .unwrap();
        if last.0 != row.last() {
            let bytes = fs::read(row.last()).unwrap();
            last = (
                row.last().to_owned(),
                distinct(&bytes, LineFormat::default()),
            );
        }
        let source = &last.1;
        for bits_per_key in [5.0, 6.87, 10.0] {
            let options = Options {
                strategy: Some(Strategy::Bloom),
                bits_per_key: Some(bits_per_key),
                memory_bytes: Some(64 * MIB),
                ..sandbox.options()
            };
            let (found, stats) = run(&row.files, &options).unwrap();
            let context = format!("{} with {bits_per_key} bits a key", row.group);
            assert!(
                found.is_superset(&exact),
                "{context}: a common line is missing"
            );
            assert!(found.is_subset(source), "{context}: a line out of nowhere");
            let filter = stats.filter.as_ref().unwrap();
            // One file under two names has no stranger.
            if stats.inputs.len() == 1 {
                assert_eq!(found.len(), exact.len(), "{context}");
                continue;
            }
            assert!(filter.keys > 0, "{context}: nothing was inserted");
            let strangers = (source.len() - exact.len()) as f64;
            let measured = (found.len() - exact.len()) as f64 / strangers;
            let predicted = filter.predicted_fpr;
            let three_sigma = 3.0 * (predicted * (1.0 - predicted) / strangers).sqrt();
            assert!(
                measured <= 1.25 * predicted + three_sigma,
                "{context}: {measured} measured, {predicted} predicted, {strangers} lines could be false"
            );
            // A filter that lets everything through must not pass for one with a high rate.
            assert!(predicted < 0.25, "{context}: {predicted} predicted");
        }
    }
}

#[test]
fn the_process_stays_within_the_least_memory_it_may_be_given() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let rows = rows().unwrap_or_default();
    let strategies = [
        Some(Strategy::Partition),
        None,
        Some(Strategy::Sieve),
        Some(Strategy::Bloom),
    ];
    for row in rows.iter().filter(|row| row.group == "P04-repo-3way") {
        for &memory in sweep::some(&[16, 64], 1) {
            for &strategy in sweep::some(&strategies, 2) {
                let options = Options {
                    strategy,
                    memory_bytes: Some(memory * MIB),
                    resident_bytes: Some(resident_bytes()),
                    ..sandbox.options()
                };
                // Only counted: what the test collects would count against the limit.
                let mut lines = 0;
                let Some((peak, stats)) = peak_of(|| {
                    run_into(&row.files, &options, &mut |_: &[u8]| {
                        lines += 1;
                        Ok(())
                    })
                    .unwrap()
                }) else {
                    eprintln!("skipped: the peak of this process cannot be reset");
                    return;
                };
                let limit = stats.memory.limit_bytes;
                assert!(
                    peak <= limit,
                    "{} by {}: {peak} bytes at the peak, {limit} allowed",
                    row.group,
                    stats.strategy
                );
                assert!(lines >= row.lines);
            }
        }
    }
}
