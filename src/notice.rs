//! Warnings about runs that succeed.
//!
//! *Owns:* the conditions worth a warning, and their texts. *Invariants:* a notice changes neither the
//! result nor the exit status; each has the form of an error, `OBJECT: what happened: what to do about
//! it`, on one line.

use std::fmt;
use std::path::PathBuf;

/// Something that is not a failure but probably not what the user meant. The run passes it to the
/// [`Observer`](crate::Observer).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// More than half of the sampled lines of one input end in a CR, and at most half of another's do:
    /// hardly any line of the one can be in the other.
    CarriageReturns {
        /// The input whose lines end in a CR.
        with: PathBuf,
        /// The input whose lines do not.
        without: PathBuf,
    },
    /// The temporary directory is on a file system in memory (tmpfs or ramfs).
    TempInMemory {
        /// The temporary directory.
        place: PathBuf,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CarriageReturns { with, without } => write!(
                f,
                "{}: most lines end in CR LF, but most lines of {} do not, so they cannot match: use --strip-cr to ignore the CR",
                with.display(),
                without.display()
            ),
            Self::TempInMemory { place } => write!(
                f,
                "{}: temporary files here use memory that the limit does not count (tmpfs or ramfs): choose a directory on disk with --temp-dir",
                place.display()
            ),
        }
    }
}
