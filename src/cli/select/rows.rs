//! A result that is a Parquet file: rows of the first input.
//!
//! *Owns:* finding the numbers of the rows, which are kept on temporary disk ([`Numbers`]), and then having the rows
//! copied, as one more phase. *Invariants:* the file has the selected rows in their order, or the command fails.
//! *Cost:* a byte or two of temporary disk for each row; see [`RowCopy`] for the rest.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use outset::plan::{Plan, PlannedPhase};
use outset::stats::PhaseStats;
use outset::{
    Error, Notice, Observer, Options, Order, Result, RowCopy, Sink, Source, Stats, machine, select,
};

use super::SelectRequest;
use crate::cli::outputs::ResultFile;

/// The name of the phase of copying.
const COPY: &str = "copy";
/// Its position among the phases: after all steps of the plan.
const COPY_STEP: usize = usize::MAX;
/// Bytes of the numbers that are gathered before they are written.
const BUFFER_BYTES: usize = 64 << 10;

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
        return usage(
            result,
            "a Parquet output needs a single Parquet file as the first input",
            "put a Parquet file first, or give the output another name",
        );
    };
    let mut options = options.clone();
    let memory_bytes = options
        .memory_bytes
        .unwrap_or_else(machine::default_memory_bytes);
    let copy = RowCopy::open(first, memory_bytes)?;
    match &mut options.keys {
        Some(keys) => keys.row_numbers = true,
        None => {
            let what = "--key COLUMN is needed to write a Parquet file";
            return usage(result, what, "add it");
        }
    }
    if !request.writes_plain_records() {
        return usage(
            result,
            "a Parquet output gets whole rows, in the order of the file",
            "leave out --which, --count-files, --count, --keys-only, --top, --order sorted and --order count",
        );
    }
    if !request.selection.can_repeat() {
        return usage(
            result,
            "a Parquet output gets rows of the first input, but this command also writes rows that are not in it",
            "use diff, or intersect without --at-least, --at-most, --exactly and --only, or give the output another name",
        );
    }
    let bytes = std::fs::metadata(first).map_or(0, |metadata| metadata.len());
    options.observer = options
        .observer
        .map(|observer| -> Arc<dyn Observer> { Arc::new(ExpectingCopy(observer, bytes)) });
    let selection = request.selection.ordered(Order::Input);
    let mut numbers = Numbers::new(&options)?;
    let selected = select(sources, selection, &options, &mut numbers);
    let mut stats = selected.map_err(|error| numbers.unwritable(error))?;
    let phase = CopyPhase::begin(first, copy.bytes_of(stats.output.lines), &options);
    let target = (result.writer()?, result.name());
    let advance = |bytes, rows| phase.advance(bytes, rows);
    let watch = (&options.interrupt, &advance as _);
    let copied = copy.copy(&mut numbers.read()?, target, memory_bytes, watch)?;
    result.flush(copied.target)?;
    stats.output.bytes = copied.bytes;
    stats.memory.peak_rss_bytes = copied.peak_rss_bytes;
    let phase = phase.end();
    stats.seconds += phase.seconds;
    stats.phases.push(phase);
    Ok(stats)
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
    fn begin(first: &Path, bytes: u64, options: &'a Options) -> Self {
        let name = format!("{COPY} {}", first.display());
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

    fn end(self) -> PhaseStats {
        let mut phase = PhaseStats::default();
        phase.name = self.name;
        phase.seconds = self.began.elapsed().as_secs_f64();
        phase.bytes_read = self.bytes.get();
        phase.lines = self.rows.get();
        if let Some(observer) = self.observer {
            observer.phase_finished(&phase);
        }
        phase
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

fn usage(result: &ResultFile, what: &str, advice: &str) -> Result<Stats> {
    Err(Error::usage(format!("{}: {what}", result.name()), advice))
}

/// The numbers of the rows on temporary disk: each as the difference to the one before it, in groups of seven bits.
struct Numbers {
    file: BufWriter<File>,
    /// The directory of the file, for messages.
    directory: PathBuf,
    last: u64,
    bytes: u64,
    /// The most bytes that there may be.
    most: u64,
}

impl Numbers {
    fn new(options: &Options) -> Result<Self> {
        let directory = options
            .temp_dirs
            .first()
            .cloned()
            .unwrap_or_else(std::env::temp_dir);
        let file = tempfile::tempfile_in(&directory);
        let file = file.map_err(|error| unusable(&directory, error))?;
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            directory,
            last: 0,
            bytes: 0,
            most: options.max_temp_bytes.unwrap_or(u64::MAX),
        })
    }

    /// Makes the error of a failed run whose result was to be these numbers: a result that could not be written is a
    /// temporary file here.
    fn unwritable(&self, error: Error) -> Error {
        match error {
            Error::Output { .. } if self.bytes > self.most => Error::TempLimit {
                path: self.directory.clone(),
                needed_bytes: self.bytes,
                limit_bytes: self.most,
                reason: "allowed by --max-temp",
                advice: "raise --max-temp, which the numbers of the rows exceed",
            },
            Error::Output { source, .. } => unusable(&self.directory, source),
            other => other,
        }
    }

    /// Yields the numbers, from the first on.
    fn read(mut self) -> Result<impl Iterator<Item = Result<u64>>> {
        let rewound = self
            .file
            .flush()
            .and_then(|()| self.file.seek(SeekFrom::Start(0)));
        rewound.map_err(|error| unusable(&self.directory, error))?;
        let file = self
            .file
            .into_inner()
            .map_err(|error| unusable(&self.directory, error.into_error()))?;
        let mut file = BufReader::with_capacity(BUFFER_BYTES, file).bytes();
        let (mut last, directory) = (0, self.directory);
        Ok(std::iter::from_fn(move || {
            let (mut more, mut shift) = (0, 0);
            loop {
                match file.next()? {
                    Ok(byte) => {
                        more |= u64::from(byte & 0x7f) << shift;
                        shift += 7;
                        if byte < 0x80 {
                            last += more;
                            return Some(Ok(last));
                        }
                    }
                    Err(error) => return Some(Err(unusable(&directory, error))),
                }
            }
        }))
    }
}

impl Sink for Numbers {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let number = std::str::from_utf8(line)
            .ok()
            .and_then(|line| line.parse::<u64>().ok());
        let more = number.and_then(|number| number.checked_sub(self.last));
        let mut more = more.ok_or_else(|| io::Error::other("a row came out of order"))?;
        self.last += more;
        let mut bytes = arrayvec::ArrayVec::<u8, 10>::new();
        while more >= 0x80 {
            bytes.push(more as u8 | 0x80);
            more >>= 7;
        }
        bytes.push(more as u8);
        self.bytes += bytes.len() as u64;
        if self.bytes > self.most {
            return Err(io::Error::other("more than --max-temp allows"));
        }
        self.file.write_all(&bytes)
    }

    fn target(&self) -> String {
        format!("{}: a temporary file", self.directory.display())
    }
}

/// Makes the error for a temporary file.
fn unusable(directory: &Path, source: io::Error) -> Error {
    Error::Temp {
        path: directory.to_owned(),
        what: "cannot use a temporary file",
        source,
        advice: "choose another directory with --temp-dir",
    }
}
