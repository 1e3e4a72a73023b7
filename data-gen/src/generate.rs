//! Writing the files of a run.
//!
//! *Owns:* the files and their names. *Invariant:* the manifest is written last and an older one
//! removed first, so a manifest means that its files are complete. *Cost:* the speed of the disk or
//! of the threads; a few MiB of memory for each thread, more only for lines longer than 1 MiB.

use std::fs::{self, File};
use std::io::{self, Write};
use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use crate::checksum::OrderFree;
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::identity::{Class, Identity};
use crate::manifest::{FORMAT, FileEntry, Manifest};
use crate::options::{Crlf, Options};
use crate::plan::Plan;
use crate::produce;
use crate::words::CARRIAGE_RETURN;

/// Bytes that a thread makes at a time.
const CHUNK: usize = 1 << 20;

/// Where a run goes, and on how many threads. None of it changes a byte.
#[derive(Debug, Clone)]
pub struct Target {
    /// The directory; it is made if there is none.
    pub dir: PathBuf,
    /// Stands before the names of all files with a dash, if not empty.
    pub name: String,
    /// The number of threads that make lines.
    pub threads: usize,
}

impl Target {
    /// `dir` without a name, on all processors.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            name: String::new(),
            threads: thread::available_parallelism().map_or(1, NonZero::get),
        }
    }

    /// The manifest.
    pub fn manifest(&self) -> PathBuf {
        self.dir.join(self.named("manifest.json"))
    }

    /// The name of file number `file` of `files`: `a.txt`, `b.txt`, or `file-000.txt` where the
    /// letters do not suffice.
    pub fn file_name(&self, file: usize, files: usize) -> String {
        if files > 26 {
            return self.named(&format!("file-{file:03}.txt"));
        }
        let letter = char::from(b'a' + (file % 26) as u8);
        self.named(&format!("{letter}.txt"))
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
/// [`Error::Usage`] when the options contradict each other, else [`Error::Io`].
pub fn generate(options: &Options, target: &Target) -> Result<Manifest> {
    let plan = Plan::new(options)?;
    let manifest_path = target.manifest();
    fs::create_dir_all(&target.dir).map_err(|source| Error::writing(&target.dir, source))?;
    remove(&manifest_path)?;
    let files = (0..plan.files())
        .map(|file| write_file(&plan, options, target, file))
        .collect::<Result<Vec<FileEntry>>>()?;
    let manifest = describe(&plan, options, files, target.threads);
    manifest.write(&manifest_path)?;
    Ok(manifest)
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::writing(path, error)),
        _ => Ok(()),
    }
}

fn write_file(plan: &Plan, options: &Options, target: &Target, file: usize) -> Result<FileEntry> {
    let name = target.file_name(file, plan.files());
    let path = target.dir.join(&name);
    let mut output = File::create(&path).map_err(|source| Error::writing(&path, source))?;
    let lines = plan.lines(file);
    let step = plan.lines_in(CHUNK);
    let mut bytes = 0;
    let make = |job, chunk: &mut Chunk| {
        let start = job * step;
        plan.write(file, start..lines.min(start + step), chunk);
    };
    let write = |chunk: &Chunk| {
        bytes += chunk.as_bytes().len() as u64;
        output.write_all(chunk.as_bytes())
    };
    produce::in_order(lines.div_ceil(step), target.threads, make, write)
        .map_err(|source| Error::writing(&path, source))?;
    Ok(FileEntry {
        path: name,
        lines,
        distinct_lines: plan.distinct_lines(file),
        bytes,
        crlf: options.crlf.is_in(file),
        final_newline: options.final_newline || lines == 0,
    })
}

fn describe(plan: &Plan, options: &Options, files: Vec<FileEntry>, threads: usize) -> Manifest {
    let sums = CommonSums::of(plan, threads);
    Manifest {
        generator: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).to_owned(),
        format: FORMAT,
        options: options.clone(),
        files,
        common: match options.crlf {
            Crlf::None => sums.bare,
            Crlf::All => sums.with_cr,
            // There are two files at least, and one of them has no carriage returns.
            Crlf::Only(_) => OrderFree::default(),
        },
        common_strip_cr: sums.bare,
        empty_line_is_common: plan.empty_is_common(),
    }
}

/// The checksums of the lines in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommonSums {
    /// Of the lines themselves.
    pub bare: OrderFree,
    /// Of the lines with a carriage return behind each.
    pub with_cr: OrderFree,
}

impl CommonSums {
    /// Makes all lines in common, on `threads` threads and without writing them anywhere.
    pub fn of(plan: &Plan, threads: usize) -> Self {
        let threads = threads.clamp(1, 1024) as u64;
        let lines = plan.common_lines();
        let bound = |part: u64| (u128::from(lines) * u128::from(part) / u128::from(threads)) as u64;
        let mut all = Self::default();
        thread::scope(|scope| {
            let parts: Vec<_> = (0..threads)
                .map(|part| {
                    scope.spawn(move || Self::of_indexes(plan, bound(part)..bound(part + 1)))
                })
                .collect();
            for part in parts {
                // A panic of the part goes on in this thread.
                all.merge(part.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
        });
        if plan.empty_is_common() {
            all.bare.add(b"");
            all.with_cr.add(b"\r");
        }
        all
    }

    fn of_indexes(plan: &Plan, indexes: Range<u64>) -> Self {
        let mut sums = Self::default();
        let mut line = Chunk::new();
        for index in indexes {
            let class = Class::Common;
            line.clear();
            plan.write_line(Identity { class, index }, &mut line);
            sums.bare.add(line.as_bytes());
            line.push(CARRIAGE_RETURN);
            sums.with_cr.add(line.as_bytes());
        }
        sums
    }

    fn merge(&mut self, other: Self) {
        self.bare.merge(&other.bare);
        self.with_cr.merge(&other.with_cr);
    }
}
