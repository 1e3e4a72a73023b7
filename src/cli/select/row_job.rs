//! Rows of Parquet files that are found, and then copied.
//!
//! *Owns:* [`RowJob`]: what is checked before the search, the search for the numbers of the rows, which are kept on
//! temporary disk ([`Numbers`]), and the way through the files whose rows are copied: those of all sides whose records
//! may be in the result. *Invariants:* the rows of a file that changed since they were found are not copied. *Cost:*
//! that of [`Numbers`], and 24 bytes of memory for each file.

use std::cell::Cell;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use outset::{
    Advance, Dialect, Error, Interrupt, Observer, Options, Order, Result, RowCopy, Source, Stats,
    Syntax, machine,
};

use super::copy_phase::{CopyPhase, ExpectingCopy};
use super::row_numbers::Numbers;
use super::{SelectRequest, divided, writing_sides};
use crate::cli::outputs::Outputs;
use crate::cli::process::give_back_free_memory;
use crate::cli::report::Both;

/// Rows of Parquet files that are to be found and copied.
pub(super) struct RowJob<'a> {
    request: SelectRequest<'a>,
    sources: &'a [Source],
    /// The files whose rows may be copied, in the order of the sides.
    paths: Vec<&'a Path>,
    options: Options,
    /// The memory limit of the process, in bytes.
    pub(super) memory_bytes: u64,
    /// The state of each of these files before the search.
    before: Vec<u64>,
}

/// The rows of a file that are to be copied: how many they are, and their numbers.
pub(super) type FileRows<'a> = (u64, &'a mut dyn Iterator<Item = Result<u64>>);

/// Who may stop a copy, and who is told of it.
pub(super) type Watch<'a> = (&'a Interrupt, Advance<'a>);

impl<'a> RowJob<'a> {
    /// Checks what can be checked before the search. Messages call the result `name`.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub(super) fn new(
        request: SelectRequest<'a>,
        sources: &'a [Source],
        options: &Options,
        name: &str,
    ) -> Result<Self> {
        check(request, options, name)?;
        if options.keys.as_ref().is_some_and(|keys| keys.row_numbers) {
            let what = format!("--rows: {name} gets the rows of Parquet files, not their numbers");
            let advice = match request.set.out_dir {
                Some(_) => "leave out one of the two",
                None => "leave out --rows, or give the output the name of a text file",
            };
            return Err(Error::usage(what, advice));
        }
        let writing = writing_sides(request, sources);
        if let Some(side) = writing.iter().find(|side| paths(side).is_empty()) {
            return Err(Error::usage(
                format!("{name}: a Parquet output gets rows of Parquet files, and {side} is none"),
                "give Parquet files, or give the output another name",
            ));
        }
        let paths: Vec<&Path> = writing
            .iter()
            .flat_map(paths)
            .map(PathBuf::as_path)
            .collect();
        let bytes = paths.iter().map(|path| size(path)).sum();
        let options = numbering_rows(options.clone(), bytes, sources);
        let memory_bytes = options.memory_bytes;
        Ok(Self {
            request: SelectRequest {
                selection: request.selection.ordered(Order::Input),
                ..request
            },
            memory_bytes: memory_bytes.unwrap_or_else(machine::default_memory_bytes),
            before: paths.iter().map(|path| state(path)).collect(),
            options,
            sources,
            paths,
        })
    }

    /// Checks that all files can be copied, and has `compare` compare each with one before it. Returns the file that a
    /// result of all should be like: the first that has rows, since others do not tell how columns are compressed.
    ///
    /// # Errors
    /// Those of [`RowCopy::open`], and of `compare`.
    pub(super) fn check_files(
        &self,
        mut compare: impl FnMut(&RowCopy, &RowCopy) -> Result<()>,
    ) -> Result<&Path> {
        let mut like = (None, self.paths[0]);
        for path in self.paths.iter().copied() {
            // One without bytes has no rows, and of another kind the search knows more to say.
            if self.paths.len() > 1 && !RowCopy::recognises(path) {
                continue;
            }
            let copy = RowCopy::open(path, self.memory_bytes)?;
            if let Some(like) = &like.0 {
                compare(&copy, like)?;
            }
            if like.0.as_ref().is_none_or(|like| like.rows() == 0) {
                like = (Some(copy), path);
            }
        }
        Ok(like.1)
    }

    /// Finds the numbers of the rows.
    ///
    /// # Errors
    /// Those of the search.
    pub(super) fn find(&self, outputs: &Outputs) -> Result<(Stats, Numbers<'_>)> {
        let mut numbers = Numbers::new(&self.options, &self.paths)?;
        let selected = divided(
            self.request,
            self.sources,
            &self.options,
            outputs,
            &mut numbers,
        );
        match selected {
            Ok(stats) => Ok((stats, numbers)),
            Err(error) => Err(numbers.unwritable(error)),
        }
    }

    /// Has `copy` copy the rows of one file after the other; of a file of 0 bytes there are none, and nothing to open.
    ///
    /// # Errors
    /// [`Error::InputChanged`], [`Error::Temp`], and those of `copy`.
    pub(super) fn copy(
        &self,
        mut numbers: Numbers<'_>,
        stats: &mut Stats,
        mut copy: impl FnMut(&Path, Option<&RowCopy>, FileRows<'_>, Watch<'_>) -> Result<()>,
    ) -> Result<()> {
        let rows_of = numbers.take_files();
        let all = self.paths.iter().map(|path| size(path)).sum();
        let phase = CopyPhase::begin(&self.name_in(stats), all, &self.options);
        let mut numbers = numbers.read()?;
        for ((path, before), rows) in self.paths.iter().zip(&self.before).zip(rows_of) {
            if state(path) != *before {
                // A file that is gone has a better error.
                RowCopy::open(path, self.memory_bytes)?;
                return Err(Error::InputChanged {
                    path: path.to_path_buf(),
                    what: "it was written to after its rows were found".into(),
                });
            }
            let (bytes, done) = (size(path), Cell::new(0));
            let advance = |more: u64, rows| {
                done.set(done.get() + more);
                phase.advance(more, rows);
            };
            let source = (bytes > 0).then(|| self.open(path)).transpose()?;
            let watch = (&self.options.interrupt, &advance as _);
            let mut numbers = numbers.of_file(rows);
            copy(path, source.as_ref(), (rows, &mut numbers), watch)?;
            phase.advance(bytes.saturating_sub(done.get()), 0);
        }
        stats.memory.peak_rss_bytes = machine::peak_resident_bytes();
        phase.end_in(stats);
        Ok(())
    }

    /// Names what is copied by the label of its side, if it is one.
    fn name_in(&self, stats: &Stats) -> String {
        match writing_sides(self.request, self.sources).len() {
            1 => stats.inputs[0].label.clone(),
            sides => format!("{sides} sides"),
        }
    }

    /// Opens a file whose rows are copied.
    fn open(&self, path: &Path) -> Result<RowCopy> {
        // What the copies before this one have freed counts as long as the allocator has it.
        give_back_free_memory();
        let threads = self.options.threads;
        let copy = RowCopy::open(path, self.memory_bytes)?;
        Ok(copy.on_threads(threads.unwrap_or_else(machine::default_threads)))
    }
}

/// Returns the files of a side; none if it is of something else.
fn paths(side: &Source) -> &[PathBuf] {
    match side {
        Source::Files(side) => side.paths(),
        Source::Path(path) => std::slice::from_ref(path),
        _ => &[],
    }
}

/// Returns true if a side is of files of 0 bytes, which have no rows.
pub(super) fn is_empty(side: &Source) -> bool {
    let paths = paths(side);
    !paths.is_empty() && paths.iter().all(|path| path.is_file() && size(path) == 0)
}

/// Returns the size of a file, in bytes.
fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Returns true if a side is of Parquet files, as the first of these that is not empty shows.
pub(super) fn is_table(side: &Source) -> bool {
    let first = paths(side).iter().find(|path| size(path) > 0);
    first.is_some_and(|path| RowCopy::recognises(path))
}

/// Returns a number that differs, but for a chance of one in 2^64, once a file was changed. A file that cannot be
/// looked at fails when it is read.
fn state(path: &Path) -> u64 {
    let metadata = std::fs::metadata(path).ok();
    let state = metadata.map(|it| (it.dev(), it.ino(), it.len(), it.mtime(), it.mtime_nsec()));
    BuildHasherDefault::<DefaultHasher>::default().hash_one(state)
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
        return usage(
            "rows that are dropped cannot be written beside Parquet files",
            "add --duplicates-format map, or leave out -D",
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
fn numbering_rows(mut options: Options, bytes: u64, sources: &[Source]) -> Options {
    if let Some(keys) = &mut options.keys {
        keys.row_numbers = true;
        // Where one is no Parquet file, the search refuses it; as CSV it would be read.
        let are_tables = |side: &Source| {
            let mut paths = paths(side).iter();
            paths.len() > 0 && paths.all(|path| RowCopy::recognises(path) || size(path) == 0)
        };
        if keys.syntax == Syntax::Whole && sources.iter().all(are_tables) {
            keys.syntax = Syntax::Csv(Dialect::new(b','));
            keys.has_header = true;
        }
    }
    options.observer = options.observer.map(|observer| -> Arc<dyn Observer> {
        let copy = ExpectingCopy(observer.clone(), bytes);
        Arc::new(Both(observer, Arc::new(copy)))
    });
    options
}
