//! Lists of files.
//!
//! *Owns:* reading the names in them. *Invariants:* names are taken as they are: no pattern, no directory.
//! *Cost:* the list in memory, twice for a moment.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use outset::{Error, Result};

use super::STDIN;

/// The files that `list` names, `-` being standard input; a name ends in `terminator`. Where it cannot be read, `advice` says what
/// to do.
///
/// # Errors
/// [`Error::Input`] where the list cannot be read.
pub(crate) fn read_list(list: &Path, terminator: u8, advice: &'static str) -> Result<Vec<PathBuf>> {
    let text = if list == Path::new(STDIN) {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).map(|_| text)
    } else {
        std::fs::read(list)
    };
    let text = text.map_err(|source| Error::Input {
        path: list.to_owned(),
        source,
        advice,
    })?;
    let names = text.split(|&byte| byte == terminator);
    let names = names.filter(|name| !name.is_empty());
    Ok(names
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
        .collect())
}
