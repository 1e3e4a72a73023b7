//! What several of the tests need: a run in a temporary directory, and its lines by plain means.

#![allow(dead_code, reason = "each test crate uses a part of it")]

use std::collections::BTreeSet;
use std::fs;

use data_gen::options::Terminator;
use data_gen::{Manifest, Options, OrderFree, Target, Workload, generate};
use tempfile::TempDir;

/// A run that was written.
pub(crate) struct Run {
    pub(crate) dir: TempDir,
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
        dir,
        target,
        manifest,
        files,
    }
}

/// A workload with so many lines in each of its files.
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
