//! The label before each line of an answer.
//!
//! *Owns:* [`Label`], and the form in which it stands there ([`LabelForm`]). *Invariants:* where lines are records with
//! fields, a label is one more field, the first. *Cost:* a few bytes for each line.

use serde::Serialize;

/// The text that is written before each line.
///
/// A tab follows it; where lines are records with delimiters ([`Syntax::Csv`](crate::Syntax),
/// [`Syntax::Delimited`](crate::Syntax)), it is a field of its own, the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Label {
    /// Nothing.
    #[default]
    None,
    /// A digit for each side, 1 if it has the line and 0 if not: `101`. For 64 sides at most. In CSV it stands in
    /// quotes: it is text.
    Sides,
    /// The number of sides that have the line.
    SideCount,
    /// The number of occurrences in all sides together.
    Count,
    /// The digits of [`Label::Sides`] instead of the line.
    SidesOnly,
}

impl Label {
    /// Names the field of this label in the header of an answer.
    fn name(self) -> &'static str {
        match self {
            Self::None | Self::SidesOnly => "",
            Self::Sides => "files",
            Self::SideCount => "file_count",
            Self::Count => "count",
        }
    }

    /// Writes what stands before the header of the answer: the name of the label, in this form.
    pub(crate) fn header(self, form: LabelForm) -> Vec<u8> {
        let mut header = self.name().as_bytes().to_vec();
        if !header.is_empty() {
            header.push(form.delimiter);
        }
        header
    }
}

/// The form of a label before its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LabelForm {
    /// The byte between the label and the line.
    pub(crate) delimiter: u8,
    /// True if digits that are text stand in quotes, so that nobody takes `011` for the number 11.
    pub(crate) quotes: bool,
}

impl Default for LabelForm {
    fn default() -> Self {
        Self {
            delimiter: b'\t',
            quotes: false,
        }
    }
}
