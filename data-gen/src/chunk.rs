//! The text of consecutive lines.
//!
//! *Owns:* the memory that lines are made in. *Invariant:* an open line has [`SLACK`] bytes to spare
//! behind its end, so that pieces can be written whole. *Cost:* the memory is used again and again,
//! and grows to twice the longest text at most.

use crate::words::Piece;

/// Bytes behind the end of an open line that a piece may spill into.
pub(crate) const SLACK: usize = 16;

/// The text of consecutive lines, in memory that is used again and again.
#[derive(Debug, Default)]
pub struct Chunk {
    bytes: Vec<u8>,
    length: usize,
}

impl Chunk {
    /// An empty chunk.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Forgets the text and keeps the memory.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Room for a line of `length` bytes and [`SLACK`] behind the text; its content is undefined.
    #[inline]
    pub(crate) fn open(&mut self, length: usize) -> &mut [u8] {
        let end = self.length + length + SLACK;
        if self.bytes.len() < end {
            self.bytes.resize(end.next_power_of_two(), 0);
        }
        &mut self.bytes[self.length..end]
    }

    /// Adds the first `length` bytes of the open line to the text.
    #[inline]
    pub(crate) fn close(&mut self, length: usize) {
        self.length += length;
    }

    /// Adds a piece of text.
    #[inline]
    pub(crate) fn push(&mut self, piece: Piece) {
        piece.put(self.open(0), 0);
        self.length += piece.len();
    }
}
