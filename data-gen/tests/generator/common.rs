//! What several of the tests need: a run in a temporary directory, and its lines by plain means.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use data_gen::options::Terminator;
use data_gen::{Answers, Combination, Manifest, Options, OrderFree, Target, Workload, generate};
use tempfile::TempDir;

/// A run that was written.
pub(crate) struct Run {
    /// Removed with the run.
    pub(crate) _dir: TempDir,
    pub(crate) target: Target,
    pub(crate) manifest: Manifest,
    pub(crate) files: Vec<Vec<u8>>,
}

/// Writes the files of `options` on `threads` threads and reads them back.
pub(crate) fn run(options: &Options, threads: usize) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let mut target = Target::new(dir.path());
    target.threads = threads;
    let manifest = generate(options, &target).unwrap();
    let files = manifest
        .files
        .iter()
        .map(|file| fs::read(dir.path().join(&file.path)).unwrap())
        .collect();
    Run {
        _dir: dir,
        target,
        manifest,
        files,
    }
}

/// A workload with `lines` lines in each of its files.
pub(crate) fn small(workload: Workload, lines: u64) -> Options {
    let mut options = Options::of(workload);
    options.lines.fill(lines);
    options
}

/// The lines of a file without terminators; nothing behind the last terminator is no line.
pub(crate) fn lines_of(file: &[u8], terminator: Terminator) -> Vec<&[u8]> {
    let byte = terminator.byte();
    let mut lines: Vec<&[u8]> = file.split(|&other| other == byte).collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// The lines that all files have, by sets, with or without one carriage return at their ends.
pub(crate) fn intersection(run: &Run, strip_cr: bool) -> BTreeSet<Vec<u8>> {
    let terminator = run.manifest.options.terminator;
    let strip = |line: &[u8]| {
        let bare = line.strip_suffix(b"\r").filter(|_| strip_cr);
        bare.unwrap_or(line).to_vec()
    };
    let sets = run
        .files
        .iter()
        .map(|file| lines_of(file, terminator).into_iter().map(strip).collect());
    sets.reduce(|common: BTreeSet<Vec<u8>>, set| common.intersection(&set).cloned().collect())
        .unwrap()
}

/// The checksum of a set of lines.
pub(crate) fn checksum<'a>(lines: impl IntoIterator<Item = &'a Vec<u8>>) -> OrderFree {
    let mut sum = OrderFree::default();
    lines.into_iter().for_each(|line| sum.add(line));
    sum
}

/// The lines with a line feed behind each.
pub(crate) fn text_of<'a>(lines: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    lines
        .into_iter()
        .flat_map(|line| [&line[..], b"\n"].concat())
        .collect()
}

/// How often each file has each line.
pub(crate) type Counts = BTreeMap<Vec<u8>, Vec<u64>>;

/// Reads all files, with or without one carriage return at the ends of their lines.
pub(crate) fn counts(run: &Run, strip_cr: bool) -> Counts {
    let mut counts = Counts::new();
    for (file, text) in run.files.iter().enumerate() {
        for line in lines_of(text, run.manifest.options.terminator) {
            let bare = line.strip_suffix(b"\r").filter(|_| strip_cr);
            let line = bare.unwrap_or(line).to_vec();
            let none = || vec![0; run.files.len()];
            counts.entry(line).or_insert_with(none)[file] += 1;
        }
    }
    counts
}

/// The lines of which `times` says how often they come, given how often each file has them.
pub(crate) fn weighed(counts: &Counts, times: impl Fn(&[u64]) -> u64) -> Vec<Vec<u8>> {
    let repeated = |(line, counts): (&Vec<u8>, &Vec<u64>)| {
        let times = times(counts) as usize;
        std::iter::repeat_n(line.clone(), times)
    };
    counts.iter().flat_map(repeated).collect()
}

/// All answers, by plain means.
pub(crate) fn answers(counts: &Counts, files: usize) -> Answers {
    let which = |counts: &[u64]| -> String {
        let digit = |&count: &u64| if count > 0 { '1' } else { '0' };
        counts.iter().map(digit).collect()
    };
    let combinations: BTreeSet<String> = counts.values().map(|counts| which(counts)).collect();
    let combination = |digits: String| {
        let sum = |times: fn(&[u64]) -> u64| {
            let of_these = |counts: &[u64]| {
                if which(counts) == digits {
                    times(counts)
                } else {
                    0
                }
            };
            checksum(&weighed(counts, of_these))
        };
        Combination {
            once: sum(|_| 1),
            in_first: sum(|counts| counts[0]),
            in_all: sum(|counts| counts.iter().sum()),
            which: digits,
        }
    };
    let several = |times: fn(&[u64]) -> u64| (files > 1).then(|| checksum(&weighed(counts, times)));
    Answers {
        combinations: combinations.into_iter().map(combination).collect(),
        intersect_all: several(|counts| counts.iter().copied().min().unwrap_or(0)),
        diff_all: several(|counts| counts[0].saturating_sub(counts[1..].iter().sum())),
        symdiff_all: several(|counts| counts[0].abs_diff(counts[1])).filter(|_| files == 2),
    }
}
