//! Writing the files of a run.
//!
//! *Owns:* the files and their names. *Invariant:* the manifest is written last and an older one
//! removed first, so a manifest means that its files are complete. *Cost:* the speed of the disk or
//! of the threads; a few MiB of memory for each thread, more for lines longer than 1 MiB and for
//! counting repeats ([`Target::window`]).

use std::fs::{self, File};
use std::io::{self, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

use parking_lot::Mutex;
use rayon::ThreadPool;

use crate::answers::{Answers, Holders};
use crate::chunk::Chunk;
use crate::counters::Counters;
use crate::error::{Error, Result};
use crate::format::{Format, LineWriter};
use crate::manifest::{FORMAT, FileEntry, Manifest};
use crate::options::Options;
use crate::plan::Plan;
use crate::produce;
use crate::solve::Solver;
use crate::sums::FileSums;

/// Bytes that a thread makes at a time.
const CHUNK: usize = 256 << 10;

/// The directory, names and format of the files, and the number of threads. None of it changes a byte of a line.
#[derive(Debug, Clone)]
pub struct Target {
    /// The directory; it is made if there is none.
    pub dir: PathBuf,
    /// Stands before the names of all files with a dash, if not empty.
    pub name: String,
    /// The number of threads that make lines.
    pub threads: usize,
    /// Number of lines whose repeats are counted at a time; each takes 40 bytes of memory. Only lines that two files or
    /// more have are counted, and only if some line is repeated.
    pub window: u64,
    /// The format of the files; `None`: lines as they are. The manifest is that of their lines in any case.
    pub format: Option<Format>,
}

/// 160 MiB of counters. Each window after the first draws all repeats again.
const WINDOW: u64 = 4 << 20;

impl Target {
    /// `dir` without a name, on all processors.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            name: String::new(),
            threads: thread::available_parallelism().map_or(1, NonZero::get),
            window: WINDOW,
            format: None,
        }
    }

    /// The manifest.
    pub fn manifest(&self) -> PathBuf {
        self.dir.join(self.named("manifest.json"))
    }

    /// The name of file number `file` of `files`: `a.txt`, `b.txt`, or `file-000.txt` where the
    /// letters do not suffice; with `.gz` and the like behind it where it is compressed, and `.csv` and the like where
    /// lines are in records.
    pub fn file_name(&self, file: usize, files: usize) -> String {
        let suffix = self.format.map_or_else(|| "txt".to_owned(), Format::suffix);
        if files > 26 {
            return self.named(&format!("file-{file:03}.{suffix}"));
        }
        let letter = char::from(b'a' + (file % 26) as u8);
        self.named(&format!("{letter}.{suffix}"))
    }

    fn named(&self, name: &str) -> String {
        if self.name.is_empty() {
            name.to_owned()
        } else {
            format!("{}-{name}", self.name)
        }
    }
}

/// Writes the files of `options` and their manifest. Files of the same names are replaced.
///
/// # Errors
/// [`Error::Usage`] when the options contradict each other, [`Error::Threads`], else [`Error::Io`].
pub fn generate(options: &Options, target: &Target) -> Result<Manifest> {
    let plan = Plan::new(options)?;
    let jobs = (0..plan.files()).map(|file| plan.lines(file).div_ceil(plan.lines_in(CHUNK)));
    let pool = produce::pool(target.threads, jobs.max().unwrap_or(0))?;
    let manifest_path = target.manifest();
    fs::create_dir_all(&target.dir).map_err(|source| Error::writing(&target.dir, source))?;
    remove(&manifest_path)?;
    let mut solver = Solver::new(&plan, target.window);
    let mut files = Vec::with_capacity(plan.files());
    for file in 0..plan.files() {
        let name = target.file_name(file, plan.files());
        let path = target.dir.join(&name);
        let output = File::create(&path)
            .and_then(|file| LineWriter::new(target.format, options.terminator.byte(), file))
            .map_err(|source| Error::writing(&path, source))?;
        let (bytes, sums) = write_file(&plan, &pool, file, output, solver.counters())
            .map_err(|source| Error::writing(&path, source))?;
        solver.end_file(file, &sums);
        files.push(entry(&plan, options, name, file, bytes));
    }
    let answers = pool.install(|| solver.finish());
    let manifest = describe(&plan, options, files, answers);
    manifest.write(&manifest_path)?;
    Ok(manifest)
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::writing(path, error)),
        _ => Ok(()),
    }
}

/// Writes a file, whose lines the threads of the pool make; returns its bytes, and what its lines add up to.
fn write_file(
    plan: &Plan,
    pool: &ThreadPool,
    file: usize,
    mut output: LineWriter<File>,
    counters: &Counters,
) -> io::Result<(u64, FileSums)> {
    let lines = plan.lines(file);
    let step = plan.lines_in(CHUNK);
    let mut bytes = 0;
    let no_sums = FileSums::new(file, plan.has_crlf(file));
    let all_sums = Mutex::new(no_sums.clone());
    let make = |job, chunk: &mut Chunk| {
        let start = job * step;
        let mut sums = no_sums.clone();
        plan.write(
            file,
            start..lines.min(start + step),
            chunk,
            &mut sums,
            counters,
        );
        all_sums.lock().merge(&sums);
    };
    let write = |chunk: &Chunk| {
        bytes += chunk.as_bytes().len() as u64;
        output.write_all(chunk.as_bytes())
    };
    produce::in_order(pool, lines.div_ceil(step), make, write)?;
    output.finish()?;
    let sums = all_sums.lock().clone();
    Ok((bytes, sums))
}

fn entry(plan: &Plan, options: &Options, path: String, file: usize, bytes: u64) -> FileEntry {
    FileEntry {
        path,
        lines: plan.lines(file),
        distinct_lines: plan.distinct_lines(file),
        bytes,
        crlf: options.crlf.is_in(file),
        final_newline: options.final_newline || plan.lines(file) == 0,
    }
}

fn describe(
    plan: &Plan,
    options: &Options,
    files: Vec<FileEntry>,
    (answers, answers_strip_cr): (Answers, Answers),
) -> Manifest {
    let common = |answers: &Answers| {
        let is_common = |holders: Holders| holders.files == plan.files();
        answers.sum(is_common, |lines| lines.once)
    };
    Manifest {
        generator: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).to_owned(),
        format: FORMAT,
        options: options.clone(),
        files,
        common: common(&answers),
        common_strip_cr: common(&answers_strip_cr),
        empty_line_is_common: plan.empty_is_common(),
        answers: Some(answers),
        answers_strip_cr: Some(answers_strip_cr),
    }
}
