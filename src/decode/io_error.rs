//! The error for what cannot be opened or read.
//!
//! *Owns:* its advice. *Invariants:* it names the file or stream as the caller did. *Cost:* none.

use std::io;
use std::path::Path;

use crate::error::Error;

/// The name of standard input in messages.
pub(crate) const STDIN: &str = "-";

/// Makes the error for an input that cannot be opened or read.
pub(crate) fn unreadable(path: &Path, source: io::Error) -> Error {
    let advice = match source.kind() {
        io::ErrorKind::NotFound => "check the name",
        io::ErrorKind::PermissionDenied => "check the permissions of the file and its directories",
        _ if path == Path::new(STDIN) => "check that standard input is open and readable",
        _ => "check the file and the disk it is on",
    };
    Error::Input {
        path: path.to_owned(),
        source,
        advice,
    }
}
