//! The location of a line in an input.
//!
//! *Owns:* [`Location`]. *Invariants:* it is the location in the piece that a thread reads; where that is in the file
//! shows only when somebody asks ([`failure`](super::failure)). *Cost:* none.

/// The start of a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Location {
    /// The number of the file.
    pub(super) part: usize,
    /// The start of the piece in that file; 0 where the file is read from its start.
    pub(super) piece_start: u64,
    /// In bytes, in the piece.
    pub(super) offset: u64,
}
