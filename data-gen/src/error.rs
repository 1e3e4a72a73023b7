//! The failures, and advice on each.
//!
//! *Owns:* the error type of the crate and its exit status. *Invariant:* every message names the
//! option or the path it is about and ends with a next step.

use std::io;
use std::path::{Path, PathBuf};

/// The result of this crate's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can fail.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The options contradict each other or are out of range.
    #[error("{option}: {problem}; {advice}")]
    Usage {
        /// The option to change.
        option: &'static str,
        /// The fault of its value.
        problem: String,
        /// Advice on what to do next.
        advice: &'static str,
    },
    /// A file could not be written or read.
    #[error("cannot {action} {}: {source}; {advice}", path.display())]
    Io {
        /// The step that failed: a verb.
        action: &'static str,
        /// The file or directory it was tried on.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
        /// Advice on what to do next.
        advice: &'static str,
    },
    /// The threads that were asked for could not be started.
    #[error(
        "cannot start the threads: {0}; use fewer --threads, or raise the limit on processes (ulimit -u)"
    )]
    Threads(rayon::ThreadPoolBuildError),
    /// A manifest does not have the form this version writes.
    #[error("{} is not a manifest of this version: {source}; generate the data again", path.display())]
    Manifest {
        /// The file that was read.
        path: PathBuf,
        /// The fault of the form, and its place.
        source: serde_json::Error,
    },
}

impl Error {
    /// The exit status for this error: 2 for options, 1 for everything else.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Usage { .. } => 2,
            Self::Io { .. } | Self::Threads(_) | Self::Manifest { .. } => 1,
        }
    }

    pub(crate) fn usage(
        option: &'static str,
        problem: impl Into<String>,
        advice: &'static str,
    ) -> Self {
        Self::Usage {
            option,
            problem: problem.into(),
            advice,
        }
    }

    pub(crate) fn writing(path: &Path, source: io::Error) -> Self {
        Self::Io {
            action: "write",
            path: path.to_path_buf(),
            source,
            advice: "check the free space and the permissions of the directory",
        }
    }

    /// The error of a file at `path` that could not be opened for reading.
    pub fn opening(path: &Path, source: io::Error) -> Self {
        Self::unreadable("open", path, source)
    }

    /// The error of a file at `path` that could not be read.
    pub fn reading(path: &Path, source: io::Error) -> Self {
        Self::unreadable("read", path, source)
    }

    fn unreadable(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_path_buf(),
            source,
            advice: "check that the path is right and the file readable",
        }
    }
}
