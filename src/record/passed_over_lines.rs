//! Lines of a text that are no records.
//!
//! *Owns:* which lines are passed over and counted, but in no answer: comments, and blank lines where records have
//! fields. *Cost:* a look at the first byte of a line.

use crate::record::{Keys, Syntax};

/// The lines of a text that are no records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PassedOver {
    /// The byte that begins a comment.
    comment: Option<u8>,
    blank: Blank,
}

/// The kinds of blank lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blank {
    /// None is: a line is a record, whatever is in it.
    None,
    /// One of no bytes, or of a CR.
    Empty,
    /// One of blanks, which JSON ignores.
    White,
}

impl PassedOver {
    /// Determines which lines are no records of an input with these keys; `has_fields` where it has fields to
    /// compare.
    pub(crate) fn of(keys: &Keys, has_fields: bool) -> Self {
        let blank = match keys.syntax {
            _ if !has_fields => Blank::None,
            Syntax::Whole => Blank::None,
            Syntax::Delimited(_) | Syntax::Csv(_) => Blank::Empty,
            Syntax::JsonLines => Blank::White,
        };
        Self {
            comment: keys.comment,
            blank,
        }
    }

    /// Returns true if this line, without its terminator, is no record.
    #[inline]
    pub(crate) fn has(self, line: &[u8]) -> bool {
        if self.comment.is_some() && line.first().copied() == self.comment {
            return true;
        }
        match self.blank {
            Blank::None => false,
            Blank::Empty => matches!(line, [] | [b'\r']),
            Blank::White => line.iter().all(|byte| b" \t\r".contains(byte)),
        }
    }
}
