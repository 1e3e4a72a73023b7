//! The faults that an answer can have.
//!
//! *Owns:* their kinds and words. *Invariants:* none. *Cost:* a text for each fault.

/// The fault of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// A failing case is made smaller only as long as it fails in the same way.
    pub kind: WrongKind,
    /// The details, in words.
    pub what: String,
}

/// The ways to be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongKind {
    /// A line that must be there is missing.
    Missing,
    /// A line that must not be there.
    Extra,
    /// A line twice.
    Twice,
    /// Counts that are not those of the lines.
    Counts,
    /// More or fewer false lines than chance gives.
    Rate,
    /// More memory than allowed.
    Memory,
    /// Something left in temporary space.
    Left,
    /// An error, or a command that failed.
    Error,
    /// Refused for lack of memory, whatever is given.
    Refused,
    /// A panic.
    Panic,
}

impl Wrong {
    /// Something wrong, with its details.
    pub fn new(kind: WrongKind, what: String) -> Self {
        Self { kind, what }
    }

    pub(crate) fn err<T>(kind: WrongKind, what: String) -> Result<T, Self> {
        Err(Self::new(kind, what))
    }
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.what)
    }
}
