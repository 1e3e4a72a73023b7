//! The operations by name, for the commands that take one as an option.
//!
//! *Owns:* [`Operation`], and the other names of the commands. *Invariants:* an operation has the names that its
//! command has.

use clap::ValueEnum;
use outset::{Label, Selection};

/// The other names of `diff`.
pub(crate) const DIFF_ALIASES: [&str; 5] = ["difference", "subtract", "except", "minus", "exclude"];
/// The other names of `union`.
pub(crate) const UNION_ALIASES: [&str; 3] = ["dedup", "distinct", "uniq"];
/// The other name of `symdiff`.
pub(crate) const SYMDIFF_ALIAS: &str = "xor";

/// The operation that `--operation` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Operation {
    Intersect,
    #[value(aliases = DIFF_ALIASES)]
    Diff,
    #[value(aliases = UNION_ALIASES)]
    Union,
    #[value(alias = SYMDIFF_ALIAS)]
    Symdiff,
    Overlaps,
}

impl Operation {
    /// Returns the lines that the command of this name writes or counts if it is given no option.
    pub(crate) fn selection(self) -> Selection {
        match self {
            Self::Intersect => Selection::intersection(),
            Self::Diff => Selection::difference(),
            Self::Union => Selection::union(),
            Self::Symdiff => Selection::symmetric_difference(),
            Self::Overlaps => Selection::union().labelled(Label::SidesOnly),
        }
    }
}
