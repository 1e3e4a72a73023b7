//! Compressed bytes as they are in a file or come through a pipe.
//!
//! *Owns:* the buffer in front of a decoder. *Invariants:* every byte of the stream is given once, in order, however
//! much of it was looked at before. *Cost:* [`SOURCE_BYTES`] of memory, and a copy of the compressed bytes.

use std::io::{self, BufRead, Read};
use std::path::Path;

use crate::decode::stream::StoppableStream;
use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;

/// The bytes that are read at a time.
pub(crate) const SOURCE_BYTES: u64 = 64 << 10;

/// A stream of compressed bytes that can be looked into.
pub(crate) struct CompressedSource<'a> {
    stream: StoppableStream<'a>,
    /// Its name in messages.
    name: &'a Path,
    buffer: Buffer,
    /// The bytes of the buffer that were not given yet.
    start: usize,
    end: usize,
    /// The offset of the next one in the stream.
    given_bytes: u64,
    is_ended: bool,
}

impl<'a> CompressedSource<'a> {
    /// Reads `stream`, of which `front`, no more than [`SOURCE_BYTES`], was read already; all of it if `is_ended`.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where there is no room for the buffer.
    pub(crate) fn new(
        stream: StoppableStream<'a>,
        name: &'a Path,
        budget: &MemoryBudget,
        front: &[u8],
        is_ended: bool,
    ) -> Result<Self> {
        let mut buffer = Buffer::new(budget, "a decoder", SOURCE_BYTES)?;
        buffer[..front.len()].copy_from_slice(front);
        Ok(Self {
            stream,
            name,
            buffer,
            start: 0,
            end: front.len(),
            given_bytes: 0,
            is_ended,
        })
    }

    /// Returns the same of a stream that begins at byte `start` of a file.
    pub(crate) fn from(self, start: u64) -> Self {
        Self {
            given_bytes: start,
            ..self
        }
    }

    /// Returns the name of the stream in messages.
    pub(super) fn name(&self) -> &'a Path {
        self.name
    }

    /// Returns the offset of the next byte in the stream, or in its file.
    pub(super) fn given_bytes(&self) -> u64 {
        self.given_bytes
    }

    /// Returns the next `count` bytes without giving them; fewer at the end of the stream.
    ///
    /// # Errors
    /// As [`StoppableStream::fill`].
    pub(super) fn peek(&mut self, count: usize) -> Result<&[u8]> {
        // A stream whose lines are wanted promptly gives less at a time.
        while self.end - self.start < count && !self.is_ended {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.refill()?;
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + count)])
    }

    /// Gives `count` bytes away; fewer at the end of the stream. Returns how many.
    ///
    /// # Errors
    /// As [`StoppableStream::fill`].
    pub(super) fn skip(&mut self, count: u64) -> Result<u64> {
        let mut left = count;
        while left > 0 {
            let here = self.peek(1)?.len();
            if here == 0 {
                break;
            }
            let skipped = left.min((self.end - self.start) as u64);
            self.consume(skipped as usize);
            left -= skipped;
        }
        Ok(count - left)
    }

    /// Fills the buffer after what it has.
    fn refill(&mut self) -> Result<()> {
        let filled = self.stream.fill(&mut self.buffer[self.end..], self.name)?;
        self.end += filled.bytes;
        self.is_ended = filled.is_ended;
        Ok(())
    }
}

impl BufRead for CompressedSource<'_> {
    /// Reads more if nothing is left. An error of the crate goes through the decoder as the inner error of another.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.start == self.end && !self.is_ended {
            (self.start, self.end) = (0, 0);
            self.refill().map_err(io::Error::other)?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        self.given_bytes += count as u64;
    }
}

impl Read for CompressedSource<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}
