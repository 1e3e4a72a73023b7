//! The inputs that a caller names.
//!
//! *Owns:* [`Source`] and [`Files`]. *Invariants:* a source says what to read, and nothing of it was looked at yet.
//! *Cost:* the paths, which all copies of a source share.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::decode::feed::Reader;
use crate::decode::io_error::STDIN;
use crate::decode::producer::Producer;

/// An input as a user names it: one side of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A file, a FIFO or a device.
    Path(PathBuf),
    /// Standard input; at most once in a run.
    Stdin,
    /// Many files that are one side.
    Files(Files),
    /// Lines that a program reads itself, or has in memory.
    Reader(Reader),
    /// Lines that commands write.
    Producer(Producer),
}

/// Regular files that are read as one input, in their order, as if they were concatenated.
///
/// A line never goes on in the next file: the last line of a file ends with the file, whether it has a
/// terminator or not. A file that is in the list twice is read twice.
///
/// ```
/// use outset::{Files, Options, Source, intersect};
/// # let directory = tempfile::tempdir()?;
/// # let [one, two, b] = ["part-1", "part-2", "b"].map(|name| directory.path().join(name));
/// std::fs::write(&one, "apple\nbanana")?;
/// std::fs::write(&two, "cherry\n")?;
/// std::fs::write(&b, "banana\ncherry\n")?;
///
/// let parts = Files::new("both parts", [one, two]);
/// let stats = intersect(&[Source::from(parts), Source::from(&b)], &Options::default(), &mut |_: &[u8]| Ok(()))?;
/// assert_eq!((stats.inputs[0].lines, stats.inputs[0].files), (3, Some(2)));
/// assert_eq!(stats.output.lines, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    name: PathBuf,
    // Not a slice: making one of a list would have both in memory for a moment.
    paths: Arc<Vec<PathBuf>>,
}

impl Files {
    /// Names the files at `paths`, which messages and statistics call `name` where they mean all of them. A run refuses
    /// an empty list, and whatever is not a regular file.
    pub fn new(name: impl Into<PathBuf>, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            name: name.into(),
            paths: Arc::new(paths.into_iter().collect()),
        }
    }

    /// Returns the name that they have together.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns their paths, in the order of reading.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Returns the paths, shared.
    pub(super) fn shared_paths(&self) -> Arc<Vec<PathBuf>> {
        self.paths.clone()
    }
}

impl<P: AsRef<Path>> From<P> for Source {
    /// Takes `-` for standard input, and everything else for a path.
    fn from(path: P) -> Self {
        if path.as_ref() == Path::new(STDIN) {
            Self::Stdin
        } else {
            Self::Path(path.as_ref().to_owned())
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Stdin => f.write_str(STDIN),
            Self::Files(files) => files.name.display().fmt(f),
            Self::Reader(reader) => reader.name().display().fmt(f),
            Self::Producer(producer) => producer.name().display().fmt(f),
        }
    }
}

impl From<Reader> for Source {
    fn from(reader: Reader) -> Self {
        Self::Reader(reader)
    }
}

impl From<Producer> for Source {
    fn from(producer: Producer) -> Self {
        Self::Producer(producer)
    }
}

impl From<Files> for Source {
    fn from(files: Files) -> Self {
        Self::Files(files)
    }
}
