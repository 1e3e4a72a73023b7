//! The rules of a caller for opening inputs.
//!
//! *Owns:* [`Opening`]. *Invariants:* it says nothing about any single input.

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
    /// The number of the last input whose records are ranked, if any are: only those that are written have to be.
    pub(crate) last_ranked: u32,
    /// The memory of a decoder that reads a header, in bytes.
    pub(crate) memory_bytes: u64,
    /// Ends the waiting for a header.
    pub(crate) interrupt: &'a Interrupt,
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
            last_ranked: u32::MAX,
            memory_bytes: 1 << 20,
        }
    }
}
