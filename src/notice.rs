//! What a user should know of a run that goes well.
//!
//! *Owns:* the things worth a word, and the words. *Invariants:* a notice changes neither the result nor
//! how the run ends; each has the form of an error, `OBJECT: what is the matter: what to do about it`,
//! on one line. *Cost:* none.

use std::fmt;
use std::path::PathBuf;

/// Something that is no failure, and most likely not what was meant. An
/// [`Observer`](crate::Observer) is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// More than half of the lines that were sampled in one input end in a CR, and at most half of
    /// another's do: no line of the one is likely to be in the other.
    CarriageReturns {
        /// The input whose lines do.
        with: PathBuf,
        /// The input whose lines do not.
        without: PathBuf,
    },
    /// Temporary files go to a file system that is in memory (tmpfs or ramfs).
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
                "{}: most of its lines end in CR LF, those of {} do not, and the CR counts: give --strip-cr to leave it out",
                with.display(),
                without.display()
            ),
            Self::TempInMemory { place } => write!(
                f,
                "{}: temporary files take memory here (tmpfs or ramfs), beyond the memory limit: name a place on a disk with --temp-dir",
                place.display()
            ),
        }
    }
}
