//! A result of Parquet files: rows of the first input, in one file, or in a file for each of its files.
//!
//! *Owns:* finding the numbers of the rows, which are kept on temporary disk ([`Numbers`]), and then having the rows
//! copied, as one more phase. *Invariants:* a file has the selected rows in their order, or the command fails.
//! *Cost:* that of [`Numbers`]; see [`RowCopy`] for the rest.

use std::cell::Cell;
use std::fs::File;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use outset::plan::{Plan, PlannedPhase};
use outset::stats::PhaseStats;
use outset::{
    Dialect, Error, Notice, Observer, Options, Order, OutputDirectory, Result, RowCopy, Sink,
    Source, Stats, Syntax, machine, select,
};

use super::row_numbers::Numbers;
use super::{SelectRequest, divided};
use crate::cli::outputs::{Outputs, ResultFile};
use crate::cli::process::give_back_free_memory;

/// The name of the phase of copying.
const COPY: &str = "copy";
/// Its position among the phases: after all steps of the plan.
const COPY_STEP: usize = usize::MAX;
/// The option for a result of many files.
const OUT_DIR: &str = "--out-dir";
/// The bytes that a Parquet file begins with.
const SIGNATURE: &[u8; 4] = b"PAR1";

/// Finds the rows of the first of `sources`, and writes them to `result`.
///
/// # Errors
/// [`Error::Usage`] where the result cannot be rows of that file; those of the search, and of copying.
pub(super) fn find_rows(
    request: SelectRequest<'_>,
    sources: &[Source],
    options: &Options,
    result: &ResultFile,
) -> Result<Stats> {
    let Some(Source::Path(first)) = sources.first() else {
        return Err(Error::usage(
            format!(
                "{}: a Parquet output needs a single Parquet file as the first input",
                result.name()
            ),
            "put a Parquet file first, or give the output another name",
        ));
    };
    let copy = RowCopy::open(first, memory_bytes(options))?.on_threads(threads(options));
    check(request, options, result.name())?;
    if sources.len() > 1 && !request.selection.can_repeat() {
        return Err(Error::usage(
            format!(
                "{}: a Parquet output gets rows of the first input, but this command also writes rows that are not in it",
                result.name()
            ),
            "use diff, or intersect without --at-least, --at-most, --exactly and --only, or give the output another name",
        ));
    }
    let bytes = std::fs::metadata(first).map_or(0, |metadata| metadata.len());
    let options = numbering_rows(options, bytes, sources);
    let selection = request.selection.ordered(Order::Input);
    let mut numbers = Numbers::new(&options, false)?;
    let selected = select(sources, selection, &options, &mut numbers);
    let mut stats = selected.map_err(|error| numbers.unwritable(error))?;
    let name = first.display().to_string();
    let phase = CopyPhase::begin(&name, copy.bytes_of(stats.output.lines), &options);
    let target = (result.writer()?, result.name());
    let advance = |bytes, rows| phase.advance(bytes, rows);
    let watch = (&options.interrupt, &advance as _);
    let mut numbers = numbers.read()?;
    let mut rows = numbers.of_file(stats.output.lines);
    let copied = copy.copy(&mut rows, target, memory_bytes(&options), watch)?;
    result.flush(copied.target)?;
    stats.output.bytes = copied.bytes;
    stats.memory.peak_rss_bytes = copied.peak_rss_bytes;
    phase.end_in(&mut stats);
    Ok(stats)
}

/// Returns true if the first of `sources` is of Parquet files, as the first of these that is not empty shows.
pub(super) fn is_of_tables(sources: &[Source]) -> bool {
    sources.first().is_some_and(is_table)
}

/// Returns true if a side is of Parquet files, as the first of these that is not empty shows.
fn is_table(side: &Source) -> bool {
    let begins = |path: &PathBuf| {
        let mut front = [0; 4];
        // A FIFO would be waited for.
        let file = path.is_file().then(|| File::open(path))?.ok();
        file?.read_exact(&mut front).ok().map(|()| front)
    };
    let front = match side {
        Source::Path(path) => begins(path),
        Source::Files(side) => side.paths().iter().find_map(begins),
        _ => None,
    };
    front.as_ref() == Some(SIGNATURE)
}

/// Finds the rows of the files of the first of `sources`, and writes those of each to a file in `directory`.
///
/// # Errors
/// [`Error::Usage`] where the result cannot be rows of these files; those of the search, and of copying.
pub(super) fn find_rows_of_files(
    request: SelectRequest<'_>,
    sources: &[Source],
    options: &Options,
    outputs: &Outputs,
    mut directory: OutputDirectory,
) -> Result<(Stats, OutputDirectory)> {
    check(request, options, OUT_DIR)?;
    if sources.len() > 1 && !request.selection.can_repeat() {
        return Err(Error::usage(
            "--out-dir: this command writes rows of several sides, but Parquet files can be written of one",
            "give all files to one --side, or use diff or intersect",
        ));
    }
    if options.keys.as_ref().is_some_and(|keys| keys.row_numbers) {
        return Err(Error::usage(
            "--rows: --out-dir writes the rows of Parquet files, not their numbers",
            "leave out --rows",
        ));
    }
    let paths = match &sources[0] {
        Source::Files(side) => side.paths(),
        Source::Path(path) => std::slice::from_ref(path),
        _ => &[],
    };
    let before: Vec<u64> = paths.iter().map(|path| state(path)).collect();
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let options = numbering_rows(options, paths.iter().map(size).sum(), sources);
    let mut numbers = Numbers::new(&options, true)?;
    let selected = divided(request, sources, &options, outputs, &mut numbers);
    let mut stats = selected.map_err(|error| numbers.unwritable(error))?;
    let rows_of = numbers.take_files();
    // The sink was told of each file of the side, in their order.
    debug_assert_eq!(rows_of.len(), paths.len());
    let name = stats.inputs[0].label.clone();
    let phase = CopyPhase::begin(&name, paths.iter().map(size).sum(), &options);
    let mut numbers = numbers.read()?;
    stats.output.bytes = 0;
    for ((path, rows), before) in paths.iter().zip(rows_of).zip(before) {
        directory.begin_file(path)?;
        if state(path) != before {
            return Err(Error::InputChanged {
                path: path.clone(),
                what: "it was written to after its rows were found".into(),
            });
        }
        let (bytes, done) = (size(path), Cell::new(0));
        let advance = |more: u64, rows| {
            done.set(done.get() + more);
            phase.advance(more, rows);
        };
        if bytes > 0 {
            // What the copies before this one have freed counts as long as the allocator has it.
            give_back_free_memory();
            let copy = RowCopy::open(path, memory_bytes(&options))?.on_threads(threads(&options));
            let name = directory.target();
            let target = (Inside(&mut directory), name.as_str());
            let watch = (&options.interrupt, &advance as _);
            let mut rows = numbers.of_file(rows);
            let copied = copy.copy(&mut rows, target, memory_bytes(&options), watch)?;
            stats.output.bytes += copied.bytes;
            stats.memory.peak_rss_bytes = copied.peak_rss_bytes;
        }
        phase.advance(bytes.saturating_sub(done.get()), 0);
    }
    phase.end_in(&mut stats);
    Ok((stats, directory))
}

/// The file of a directory that is open, as something that bytes are written to.
struct Inside<'a>(&'a mut OutputDirectory);

impl Write for Inside<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.block(bytes, &[]).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a number that differs, but for a chance of one in 2^64, once a file was changed. A file that cannot be
/// looked at fails when it is read.
fn state(path: &Path) -> u64 {
    let metadata = std::fs::metadata(path).ok();
    let state = metadata.map(|it| (it.dev(), it.ino(), it.len(), it.mtime(), it.mtime_nsec()));
    BuildHasherDefault::<DefaultHasher>::default().hash_one(state)
}

/// Returns the memory limit of the process, in bytes.
fn memory_bytes(options: &Options) -> u64 {
    let given = options.memory_bytes;
    given.unwrap_or_else(machine::default_memory_bytes)
}

/// Returns the number of threads of the run.
fn threads(options: &Options) -> usize {
    options.threads.unwrap_or_else(machine::default_threads)
}

/// Checks that a result of Parquet files, which messages call `name`, gets whole rows.
///
/// # Errors
/// [`Error::Usage`].
fn check(request: SelectRequest<'_>, options: &Options, name: &str) -> Result<()> {
    let usage = |what: &str, advice| Err(Error::usage(format!("{name}: {what}"), advice));
    if options.keys.is_none() {
        return usage("--key COLUMN is needed to write a Parquet file", "add it");
    }
    if !request.writes_plain_records() {
        return usage(
            "a Parquet output gets whole rows, in the order of the file",
            "leave out --which, --count-files, --count, --keys-only, --top, --order sorted and --order count",
        );
    }
    let tells_places = request.selection == request.selection.with_duplicate_places();
    if request.duplicates.is_some() && !tells_places {
        let advice = match name {
            OUT_DIR => "add --duplicates-format map, or leave out -D",
            _ => "leave out -D",
        };
        return usage(
            "rows that are dropped cannot be written beside Parquet files",
            advice,
        );
    }
    if request.set.compress.asked().is_some() {
        return usage(
            "Parquet files keep the compression of their columns",
            "leave out --compress",
        );
    }
    Ok(())
}

/// Returns the options of the search for row numbers in `sources`, after which `bytes` are copied. Keys of several
/// columns, and those with line ends, have a form in CSV alone; where all sides are Parquet files, nobody sees it.
fn numbering_rows(options: &Options, bytes: u64, sources: &[Source]) -> Options {
    let mut options = options.clone();
    if let Some(keys) = &mut options.keys {
        keys.row_numbers = true;
        if keys.syntax == Syntax::Whole && sources.iter().all(is_table) {
            keys.syntax = Syntax::Csv(Dialect::new(b','));
            keys.has_header = true;
        }
    }
    options.observer = options
        .observer
        .map(|observer| -> Arc<dyn Observer> { Arc::new(ExpectingCopy(observer, bytes)) });
    options
}

/// The phase in which rows are copied. One that fails does not end.
struct CopyPhase<'a> {
    name: String,
    observer: Option<&'a Arc<dyn Observer>>,
    began: Instant,
    bytes: Cell<u64>,
    rows: Cell<u64>,
}

impl<'a> CopyPhase<'a> {
    fn begin(copied: &str, bytes: u64, options: &'a Options) -> Self {
        let name = format!("{COPY} {copied}");
        let observer = options.observer.as_ref();
        if let Some(observer) = observer {
            observer.phase_started(&name, Some(COPY_STEP), Some(bytes));
        }
        Self {
            name,
            observer,
            began: Instant::now(),
            bytes: Cell::default(),
            rows: Cell::default(),
        }
    }

    fn advance(&self, bytes: u64, rows: u64) {
        self.bytes.update(|all| all + bytes);
        self.rows.update(|all| all + rows);
        if let Some(observer) = self.observer {
            observer.advanced(bytes, rows);
        }
    }

    /// Ends it, and adds it to the phases of a run.
    fn end_in(self, stats: &mut Stats) {
        let mut phase = PhaseStats::default();
        phase.name = self.name;
        phase.seconds = self.began.elapsed().as_secs_f64();
        phase.bytes_read = self.bytes.get();
        phase.lines = self.rows.get();
        if let Some(observer) = self.observer {
            observer.phase_finished(&phase);
        }
        stats.seconds += phase.seconds;
        stats.phases.push(phase);
    }
}

/// An observer to which a plan has one more phase: rows are copied, of a file of this many bytes.
struct ExpectingCopy(Arc<dyn Observer>, u64);

impl Observer for ExpectingCopy {
    fn part_started(&self, name: &str) {
        self.0.part_started(name);
    }

    fn planned(&self, plan: &Plan) {
        self.0.planned(plan);
        self.expected(&plan.phases);
    }

    fn expected(&self, phases: &[PlannedPhase]) {
        let copy = PlannedPhase {
            step: COPY_STEP,
            name: COPY,
            bytes_read: self.1,
        };
        self.0.expected(&[phases, &[copy]].concat());
    }

    fn noticed(&self, notice: &Notice) {
        self.0.noticed(notice);
    }

    fn phase_started(&self, name: &str, step: Option<usize>, total_bytes: Option<u64>) {
        self.0.phase_started(name, step, total_bytes);
    }

    fn advanced(&self, bytes_read: u64, lines: u64) {
        self.0.advanced(bytes_read, lines);
    }

    fn phase_finished(&self, phase: &PhaseStats) {
        self.0.phase_finished(phase);
    }
}
