//! Chunks: pieces of an input that hold whole lines.
//!
//! *Owns:* what a chunk is. A regular file is cut by position: a chunk owns the lines that *start* in its range
//! ([`range`](crate::reading::range)), so any number of threads can claim ranges and read them independently. A stream
//! is cut in order, carrying the unfinished line over to the next buffer.
//!
//! *Invariants.*
//! - Every byte of the input is in exactly one chunk; chunks begin at line starts and end after a terminator, after a
//!   [`prefixed`](crate::lines::prefixed) line, or at the end of a file or stream. No chunk has bytes of two files.
//! - A line is never cut. One that does not fit a pooled buffer comes as a chunk of its own, in
//!   memory that the budget granted for it, up to the longest line that the plan has room for.
//!
//! *Cost:* a pooled buffer per chunk; two pages of a file are read twice per chunk.

use std::ops::Range;

use crate::lines::LineFormat;
use crate::memory::budget::Reservation;
use crate::memory::buffer::{Buffer, PAGE};
use crate::reading::location::Location;
use crate::reading::long_lines::LongLines;

/// Whole lines of an input: `buffer[start..end]`.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(super) buffer: Buffer,
    /// The start of the first line in the buffer: in a file's chunk after what belongs to the chunk before.
    pub(super) start: usize,
    /// The end of the last line in the buffer, terminator included. Above `start`: no chunk is empty.
    pub(super) end: usize,
    /// The number of the file that it is of, in the order of the input; 0 for a stream.
    pub(crate) part: usize,
    /// The positions in the side that there are for its piece.
    pub(super) positions: Range<u64>,
    /// The lines before it in its piece, where these are counted: only of what is read in order.
    pub(super) lines_before: Option<u64>,
    /// The start of the piece in its file, as [`crate::input::pieces`] says; 0 where the file is read from its start.
    pub(super) piece_start: u64,
    /// The start of the first line in that piece, or else in the file or stream, in bytes.
    pub(crate) offset: u64,
    /// True if the buffer goes back to the pool; else it was made for one long line.
    pub(crate) is_pooled: bool,
    /// The memory for a copy of the key of that line, if it may have to be copied.
    pub(super) key_room: Option<Box<Reservation>>,
}

impl Chunk {
    /// Returns the lines with their terminators, or the lengths before them.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Counts those of its bytes that are among the first `bytes` of its file.
    pub(crate) fn bytes_in_front(&self, bytes: u64) -> usize {
        let front = if self.piece_start == 0 { bytes } else { 0 };
        (front.saturating_sub(self.offset) as usize).min(self.bytes().len())
    }

    /// Returns true if it has the first bytes of a file.
    pub(crate) fn is_first_of_file(&self) -> bool {
        self.offset == 0 && self.piece_start == 0
    }

    /// Returns the position of the first line in the side. Positions of the chunks of a reading are in the order of its
    /// lines; each byte has one.
    pub(crate) fn position(&self) -> u64 {
        self.positions.start.saturating_add(self.offset)
    }

    /// Returns the position of its piece, and the lines before it there, where these are counted.
    pub(crate) fn lines_before(&self) -> Option<(u64, u64)> {
        self.lines_before.map(|lines| (self.positions.start, lines))
    }

    /// Returns true if there are positions for all of its bytes: what is decoded may have more than anybody thought.
    pub(crate) fn has_positions(&self) -> bool {
        let end = self.position().saturating_add(self.bytes().len() as u64);
        end <= self.positions.end
    }

    /// Finds the start of a line of this chunk, for messages.
    pub(crate) fn location_of(&self, line: &[u8]) -> Location {
        let bytes = self.bytes();
        let from_start = (line.as_ptr() as u64).wrapping_sub(bytes.as_ptr() as u64);
        // A key that was copied is in no chunk: somewhere in this one.
        let in_chunk = if from_start < bytes.len() as u64 {
            from_start
        } else {
            0
        };
        Location {
            part: self.part,
            piece_start: self.piece_start,
            offset: self.offset + in_chunk,
        }
    }

    /// Returns true if there is memory for a copy of a key of any length in it.
    pub(crate) fn has_key_room(&self) -> bool {
        self.key_room.is_some()
    }

    /// Returns the memory, to be used again.
    pub(crate) fn into_buffer(self) -> Buffer {
        self.buffer
    }
}

/// The result of reading into one pooled buffer, and a line too long for it.
#[derive(Debug)]
pub(crate) struct Cut {
    /// The lines in the buffer, or the buffer alone.
    pub(crate) pooled: Pooled,
    /// The line after them, in memory of its own.
    pub(crate) long_line: Option<Chunk>,
}

impl Cut {
    /// Returns the position of its first line in the side, as [`Chunk::position`]; 0 if it has none.
    pub(crate) fn position(&self) -> u64 {
        let pooled = match &self.pooled {
            Pooled::Lines(chunk) => Some(chunk),
            Pooled::Spare(_) => None,
        };
        pooled
            .or(self.long_line.as_ref())
            .map_or(0, Chunk::position)
    }
}

/// A pooled buffer after reading into it.
#[derive(Debug)]
pub(crate) enum Pooled {
    /// It has lines.
    Lines(Chunk),
    /// No line begins in it.
    Spare(Buffer),
}

/// The rules that all chunks of one reading have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkRules<'a> {
    pub(crate) format: LineFormat,
    /// The range of a file that one chunk covers, in bytes; a multiple of the page size.
    pub(crate) chunk_bytes: u64,
    /// Grants the memory for lines that do not fit a pooled buffer.
    pub(crate) long_lines: &'a LongLines<'a>,
    /// True if the lines of what is read in order are counted.
    pub(crate) counts_lines: bool,
    /// True if lines are [`prefixed`](crate::lines::prefixed): they have their lengths before them, and no terminators.
    pub(crate) are_prefixed: bool,
}

impl ChunkRules<'_> {
    /// Returns the size of a pooled buffer: the range, a page before it and a page after it.
    pub(crate) fn buffer_bytes(chunk_bytes: u64) -> u64 {
        chunk_bytes + 2 * PAGE
    }
}
