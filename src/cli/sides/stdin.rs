//! The word that is standard input.

use std::path::Path;

use outset::{Error, Result};

/// Standard input, as the command line names it.
pub(super) const STDIN: &str = "-";

/// Refuses standard input among several files.
///
/// # Errors
/// [`Error::Usage`] where `path` is standard input.
pub(super) fn check_part(path: &Path) -> Result<()> {
    if path != Path::new(STDIN) {
        return Ok(());
    }
    Err(Error::usage(
        "-: a side of several files cannot include standard input",
        "give it as a side of its own, or copy it to a file",
    ))
}
