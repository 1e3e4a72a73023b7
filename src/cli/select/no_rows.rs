//! The stand-in for the copying of rows in a build that reads no Parquet files: it refuses.
//!
//! *Owns:* the refusal. *Invariants:* lines are not written to a file whose name says that it is Parquet. *Cost:* none.

use outset::{Error, Options, OutputDirectory, Result, Source, Stats};

use super::SelectRequest;
use crate::cli::outputs::Outputs;

/// Refuses the result.
///
/// # Errors
/// [`Error::Usage`], always.
pub(super) fn find_rows(
    _request: SelectRequest<'_>,
    _sources: &[Source],
    _options: &Options,
    outputs: &Outputs,
) -> Result<Stats> {
    let result = outputs.require_result()?;
    Err(Error::usage(
        format!("{}: this build cannot write Parquet", result.name()),
        "build outset with the feature parquet, or give the output another name",
    ))
}

/// Returns false: what might be a Parquet file is refused when it is opened.
pub(super) fn is_of_tables(
    _request: SelectRequest<'_>,
    _sources: &[Source],
    _options: &Options,
) -> bool {
    false
}

/// Refuses everything.
///
/// # Errors
/// [`Error::Usage`], always.
pub(super) fn find_rows_of_files(
    _request: SelectRequest<'_>,
    _sources: &[Source],
    _options: &Options,
    _outputs: &Outputs,
    _directory: OutputDirectory,
) -> Result<(Stats, OutputDirectory)> {
    Err(Error::usage(
        "--out-dir: this build cannot write Parquet",
        "build outset with the feature parquet",
    ))
}
