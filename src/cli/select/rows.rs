//! A result of Parquet files: rows of the inputs, in one file, or in a file for each of theirs.
//!
//! *Owns:* the files that the rows go to. *Invariants:* a file has the selected rows in their order, or the command
//! fails. *Cost:* that of [`RowJob`]; see [`RowCopy`] for the rest.

use std::io::{self, Write};

use outset::{Options, OutputDirectory, Result, RowCopy, Sink, Source, Stats};

use super::row_job::{RowJob, is_empty, is_table};
use super::{SelectRequest, writing_sides};
use crate::cli::outputs::Outputs;

/// The option for a result of many files.
const OUT_DIR: &str = "--out-dir";

/// Finds the rows of the files of `sources`, and writes them to the file of the result.
///
/// # Errors
/// [`Error::Usage`] where the result cannot be rows of these files; those of the search, and of copying.
pub(super) fn find_rows(
    request: SelectRequest<'_>,
    sources: &[Source],
    options: &Options,
    outputs: &Outputs,
) -> Result<Stats> {
    let result = outputs.require_result()?;
    let job = RowJob::new(request, sources, options, result.name())?;
    let like = job.check_files(RowCopy::check_columns)?;
    let (mut stats, numbers) = job.find(outputs)?;
    let like = RowCopy::open(like, job.memory_bytes)?;
    let mut target = result.writer()?;
    let rows_of = numbers.rows_of_files().iter().copied();
    let mut output = like.begin((&mut target, result.name()), rows_of, job.memory_bytes)?;
    job.copy(numbers, &mut stats, |_, copy, (_, numbers), watch| {
        copy.map_or(Ok(()), |copy| {
            copy.append_to(&mut output, numbers, job.memory_bytes, watch)
        })
    })?;
    stats.output.bytes = output.finish()?;
    result.flush(target)?;
    // These are said of results with a file for each.
    stats.files.clear();
    Ok(stats)
}

/// Returns true if the sides whose lines are written are of Parquet files, as the first that is not empty shows, and
/// are read as such.
pub(super) fn is_of_tables(
    request: SelectRequest<'_>,
    sources: &[Source],
    options: &Options,
) -> bool {
    let mut writing = writing_sides(request, sources).iter();
    let first = writing.find(|side| !is_empty(side));
    options.decompress && first.is_some_and(is_table)
}

/// Finds the rows of the files of `sources`, and writes those of each to a file in `directory`.
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
    let job = RowJob::new(request, sources, options, OUT_DIR)?;
    job.check_files(|_, _| Ok(()))?;
    let (mut stats, numbers) = job.find(outputs)?;
    let mut written = 0;
    job.copy(numbers, &mut stats, |path, copy, (rows, numbers), watch| {
        directory.begin_file(path)?;
        let Some(copy) = copy else {
            return Ok(());
        };
        let name = directory.target();
        let mut target = Inside(&mut directory);
        let mut output = copy.begin((&mut target, &name), [rows], job.memory_bytes)?;
        copy.append_to(&mut output, numbers, job.memory_bytes, watch)?;
        written += output.finish()?;
        Ok(())
    })?;
    stats.output.bytes = written;
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
