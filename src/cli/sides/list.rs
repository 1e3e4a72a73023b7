//! Lists of files.
//!
//! *Owns:* reading the names in them. *Invariants:* names are taken as they are: no pattern, no directory. A name that
//! no file can have ends the reading. *Cost:* a buffer; what is kept of a name is the caller's.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use outset::{Error, Result};

use super::stdin::STDIN;
use crate::cli::escaping::shortened;

/// The longest path that the system opens, in bytes: PATH_MAX without its NUL.
const LONGEST_NAME: usize = 4095;
/// Characters that a message shows of a name that is too long.
const SHOWN: usize = 60;

/// A list that is open.
pub(crate) struct List<'l> {
    path: &'l Path,
    names: Box<dyn BufRead>,
    terminator: u8,
    /// The advice for a list that cannot be read.
    advice: &'static str,
    /// Names that were read, empty ones counted.
    count: u64,
}

impl<'l> List<'l> {
    /// Opens the list at `path`, `-` being standard input; a name ends in `terminator`. Where it cannot be read,
    /// `advice` says what to do.
    ///
    /// # Errors
    /// [`Error::Input`] where it cannot be opened.
    pub(crate) fn open(path: &'l Path, terminator: u8, advice: &'static str) -> Result<Self> {
        let names: Box<dyn BufRead> = if path == Path::new(STDIN) {
            Box::new(io::stdin().lock())
        } else {
            let opened = File::open(path);
            let file = opened.map_err(|source| unreadable(path, source, advice))?;
            Box::new(BufReader::new(file))
        };
        Ok(Self {
            path,
            names,
            terminator,
            advice,
            count: 0,
        })
    }

    /// Reads the next name that is not empty.
    ///
    /// # Errors
    /// [`Error::Input`] where the list cannot be read, or has a name that is too long for a path; [`Error::Usage`] for
    /// a name with a NUL.
    pub(crate) fn next(&mut self) -> Result<Option<PathBuf>> {
        loop {
            let mut name = Vec::new();
            // One byte more than fits, and its end.
            let read = (&mut self.names)
                .take(LONGEST_NAME as u64 + 2)
                .read_until(self.terminator, &mut name);
            let read = read.map_err(|source| unreadable(self.path, source, self.advice))?;
            if read == 0 {
                return Ok(None);
            }
            self.count += 1;
            if name.last() == Some(&self.terminator) {
                name.pop();
            }
            if name.first() != Some(&0) && name.contains(&0) {
                let what = format!(
                    "{}: name {} has a NUL in it",
                    self.path.display(),
                    self.count
                );
                let advice =
                    "give a name on each line, or --null for names that end in NUL (find -print0)";
                return Err(Error::usage(what, advice));
            }
            if name.len() > LONGEST_NAME {
                return Err(self.too_long(&name));
            }
            if !name.is_empty() {
                return Ok(Some(PathBuf::from(OsStr::from_bytes(&name))));
            }
        }
    }

    fn too_long(&self, name: &[u8]) -> Error {
        let shown: String = String::from_utf8_lossy(name).chars().take(SHOWN).collect();
        let what = format!(
            "name {} is longer than {LONGEST_NAME} bytes, so it is no file (\"{}...\")",
            self.count,
            shortened(&shown, 2 * SHOWN, "...")
        );
        unreadable(self.path, io::Error::other(what), self.advice)
    }
}

fn unreadable(list: &Path, source: io::Error, advice: &'static str) -> Error {
    Error::Input {
        path: list.to_owned(),
        source,
        advice,
    }
}
