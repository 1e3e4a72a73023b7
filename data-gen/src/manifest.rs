//! The files that were written, and the result that each operation on them must give.
//!
//! *Owns:* the manifest and its form as JSON. *Invariant:* its numbers are exact by construction:
//! they come from the plan, not from reading the files. *Cost:* 5 ns for the
//! checksum of each line that is written; where lines are repeated, each that files share is made again.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::answers::Answers;
use crate::checksum::OrderFree;
use crate::error::{Error, Result};
use crate::options::Options;

/// The form of the manifest; it changes when a reader of the former one would go wrong.
///
/// Format 1 has no answers, and `distinct_lines` instead of `lines` in checksums; it can still be read.
pub const FORMAT: u32 = 2;

/// All that is known about a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Name and version of the generator.
    pub generator: String,
    /// See [`FORMAT`].
    pub format: u32,
    /// The options, the workload and the seed among them.
    pub options: Options,
    /// The files in order.
    pub files: Vec<FileEntry>,
    /// The distinct lines in common byte for byte: a carriage return belongs to its line.
    pub common: OrderFree,
    /// The distinct lines in common where one carriage return at the end of a line does not count.
    pub common_strip_cr: OrderFree,
    /// True if the empty line is one of them.
    pub empty_line_is_common: bool,
    /// The answers of all operations, byte for byte; `None` in a manifest of format 1.
    #[serde(default)]
    pub answers: Option<Answers>,
    /// The answers where one carriage return at the end of a line does not count.
    #[serde(default)]
    pub answers_strip_cr: Option<Answers>,
}

/// One file of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Its name, in the directory of the manifest.
    pub path: String,
    /// All its lines.
    pub lines: u64,
    /// Its distinct lines.
    pub distinct_lines: u64,
    /// Its size.
    pub bytes: u64,
    /// True if its lines end with CR LF.
    pub crlf: bool,
    /// True if its last line is terminated, or if the file is empty.
    pub final_newline: bool,
}

impl Manifest {
    /// Reads the manifest at `path`.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Manifest`].
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).map_err(|source| Error::reading(path, source))?;
        serde_json::from_slice(&text).map_err(|source| Error::Manifest {
            path: path.to_path_buf(),
            source,
        })
    }

    /// The answers byte for byte, or where one carriage return does not count.
    ///
    /// # Errors
    /// [`Error::Usage`] where there are none, in a manifest of format 1.
    pub fn answers(&self, strip_cr: bool) -> Result<&Answers> {
        let answers = if strip_cr {
            &self.answers_strip_cr
        } else {
            &self.answers
        };
        answers.as_ref().ok_or_else(|| {
            let problem = "the answer of a plain intersect is all that this old manifest has";
            Error::usage("--manifest", problem, "generate the data again")
        })
    }

    /// Writes it to `path`.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Manifest`].
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(self).map_err(|source| Error::Manifest {
            path: path.to_path_buf(),
            source,
        })?;
        text.push(b'\n');
        fs::write(path, text).map_err(|source| Error::writing(path, source))
    }
}
