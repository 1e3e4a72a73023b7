//! Lists of files.
//!
//! *Owns:* reading the names in them. *Invariants:* names are taken as they are: no pattern, no directory.
//! *Cost:* the list in memory, twice for a moment.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use outset::{Error, Result};

use super::{STDIN, check_part};

/// The files that `list` names, `-` being standard input; a name ends in `terminator`.
///
/// # Errors
/// [`Error::Input`] where the list cannot be read; [`Error::Usage`] where it names standard input.
pub(super) fn read_list(list: &Path, terminator: u8) -> Result<Vec<PathBuf>> {
    let text = if list == Path::new(STDIN) {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).map(|_| text)
    } else {
        std::fs::read(list)
    };
    let text = text.map_err(|source| Error::Input {
        path: list.to_owned(),
        source,
        advice: "give --files-from a file that lists the names of other files",
    })?;
    let names = text.split(|&byte| byte == terminator);
    let names = names.filter(|name| !name.is_empty());
    let paths = names.map(|name| PathBuf::from(OsStr::from_bytes(name)));
    paths.map(|path| check_part(&path).map(|()| path)).collect()
}
