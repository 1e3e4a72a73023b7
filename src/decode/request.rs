//! What a caller says of how inputs are opened.
//!
//! *Owns:* [`Opening`]. *Invariants:* it says nothing about any single input.

use crate::interrupt::Interrupt;
use crate::lines::LineFormat;
use crate::record::Keys;

/// How inputs are opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening<'a> {
    /// Whether what is compressed is decoded.
    pub(crate) decodes: bool,
    /// What a line is.
    pub(crate) format: LineFormat,
    /// Where the keys of lines are; `None` where a line is its own key.
    pub(crate) keys: Option<&'a Keys>,
    /// The number of the first input with the caller, 1 for all of them.
    pub(crate) first_number: u32,
    /// What a decoder may have that reads a header, in bytes.
    pub(crate) memory_bytes: u64,
    /// Ends the waiting for a header.
    pub(crate) interrupt: &'a Interrupt,
}

#[cfg(test)]
impl<'a> Opening<'a> {
    /// For lines that are their own keys.
    pub(crate) fn plain(interrupt: &'a Interrupt) -> Self {
        Self {
            interrupt,
            decodes: true,
            format: LineFormat::default(),
            keys: None,
            first_number: 1,
            memory_bytes: 1 << 20,
        }
    }
}
