//! The changes that a field undergoes before it is compared.
//!
//! *Owns:* [`Folding`]: case, the blanks at both ends, and runs of blanks. *Invariants:* what is folded once stays the
//! same when it is folded again; a blank is a space or a tab. *Cost:* one copy of a field that changes in more than its
//! ends.

use std::borrow::Cow;

use crate::record::Keys;

/// The rules by which texts that differ count as equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Folding {
    /// True if the case of ASCII letters is left out.
    ignores_case: bool,
    /// True if blanks at both ends are left out.
    trims: bool,
    /// True if one or more blanks in a row become one space.
    squeezes: bool,
}

impl Folding {
    /// Takes the rules from `keys`.
    pub(super) fn of(keys: &Keys) -> Self {
        Self {
            ignores_case: keys.ignores_case,
            trims: keys.trims,
            squeezes: keys.squeezes,
        }
    }

    /// Returns true if a field may change.
    pub(super) fn changes(self) -> bool {
        self.ignores_case || self.trims || self.squeezes
    }

    /// Folds a field. Where fields are joined without quotes, `joint` is the byte between them. The field does not have
    /// it, and must not get it: a letter stays a capital then, and blanks become a tab.
    pub(super) fn field(self, field: &[u8], joint: Option<u8>) -> Cow<'_, [u8]> {
        let field = if self.trims { trim(field) } else { field };
        if !(self.squeezes || self.ignores_case) {
            return Cow::Borrowed(field);
        }
        let mut folded = field.to_vec();
        self.fold(&mut folded, joint);
        Cow::Owned(folded)
    }

    /// Folds a text.
    pub(super) fn text(self, text: &str) -> Cow<'_, str> {
        let text = if self.trims {
            text.trim_matches([' ', '\t'])
        } else {
            text
        };
        if !(self.squeezes || self.ignores_case) {
            return Cow::Borrowed(text);
        }
        let mut folded = text.as_bytes().to_vec();
        self.fold(&mut folded, None);
        // What changes are whole characters of one byte: text stays text.
        Cow::Owned(String::from_utf8(folded).unwrap_or_default())
    }

    /// Folds all but the ends of a field in place.
    fn fold(self, field: &mut Vec<u8>, joint: Option<u8>) {
        if self.squeezes {
            squeeze(field, if joint == Some(b' ') { b'\t' } else { b' ' });
        }
        if self.ignores_case {
            field.make_ascii_lowercase();
            if let Some(joint) = joint {
                for byte in field.iter_mut().filter(|byte| **byte == joint) {
                    *byte = joint.to_ascii_uppercase();
                }
            }
        }
    }
}

/// Puts one byte `blank` in the place of each run of blanks.
fn squeeze(field: &mut Vec<u8>, blank: u8) {
    let (mut kept, mut was_blank) = (0, false);
    for at in 0..field.len() {
        let byte = field[at];
        let is_blank = is_blank(byte);
        // What goes is overwritten by what comes next: without a branch for each byte.
        field[kept] = if is_blank { blank } else { byte };
        kept += usize::from(!(is_blank && was_blank));
        was_blank = is_blank;
    }
    field.truncate(kept);
}

/// Returns true for what counts as white space in keys.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Leaves out the blanks around a field.
pub(super) fn trim(field: &[u8]) -> &[u8] {
    let start = field.iter().position(|byte| !is_blank(*byte));
    let start = start.unwrap_or(field.len());
    let end = field.iter().rposition(|byte| !is_blank(*byte));
    &field[start..end.map_or(start, |last| last + 1)]
}
