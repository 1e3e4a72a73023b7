//! The rules of a caller for opening inputs.
//!
//! *Owns:* [`Opening`]. *Invariants:* it says nothing about any single input.

use std::borrow::Cow;

use crate::interrupt::Interrupt;
use crate::lines::LineFormat;
use crate::record::Keys;

/// The rules for opening inputs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening<'a> {
    /// True if what is compressed is decoded.
    pub(crate) decodes: bool,
    /// The rules by which lines are told apart.
    pub(crate) format: LineFormat,
    /// The columns of keys in lines; `None` if a line is its own key.
    pub(crate) keys: Option<&'a Keys>,
    /// The number of the first input with the caller, 1 for all of them.
    pub(crate) first_number: u32,
    /// The number of the last input whose records may be written: those of others need no rank, and no row number.
    pub(crate) last_written: u32,
    /// The memory of a decoder that reads a header, in bytes.
    pub(crate) memory_bytes: u64,
    /// Ends the waiting for a header.
    pub(crate) interrupt: &'a Interrupt,
}

impl<'a> Opening<'a> {
    /// Returns the keys of the input with `number`: without ranks and row numbers where its records are not written.
    pub(crate) fn keys_of(&self, number: u32) -> Option<Cow<'a, Keys>> {
        let keys = self.keys?;
        if number <= self.last_written || !(keys.row_numbers || keys.ranking.is_some()) {
            return Some(Cow::Borrowed(keys));
        }
        Some(Cow::Owned(Keys {
            ranking: None,
            row_numbers: false,
            ..keys.clone()
        }))
    }
}

#[cfg(test)]
impl<'a> Opening<'a> {
    /// Asks for lines that are their own keys.
    pub(crate) fn plain(interrupt: &'a Interrupt) -> Self {
        Self {
            interrupt,
            decodes: true,
            format: LineFormat::default(),
            keys: None,
            first_number: 1,
            last_written: u32::MAX,
            memory_bytes: 1 << 20,
        }
    }
}
