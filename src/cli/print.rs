//! Printing to standard output: reports, plans, help.
//!
//! *Owns:* the one way of writing a finished text there. *Invariants:* a closed or unwritable standard
//! output is an error, never silence.

use std::io::{self, Write};

use outset::{Error, Result};

use super::streams::check_stdout;

/// Writes a text and a line end to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    print_bytes(format!("{text}\n").as_bytes())
}

/// Writes what is complete as it is to standard output.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    check_stdout()
        .and_then(|()| stdout.write_all(bytes))
        .and_then(|()| stdout.flush())
        .map_err(unwritable)
}

/// Formats a report as JSON.
pub(crate) fn json(report: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string_pretty(report).map_err(|error| unwritable(error.into()))
}

/// Makes the error of standard output.
pub(crate) fn unwritable(source: io::Error) -> Error {
    Error::Output {
        target: "standard output".to_owned(),
        what: "cannot write",
        source,
        advice: "check where it goes",
    }
}
