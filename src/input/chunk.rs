//! Chunks: pieces of an input that hold whole lines.
//!
//! *Owns:* cutting an input at line ends. A regular file is cut by position: a chunk owns the lines
//! that *start* in its range, so any number of threads can claim ranges from a counter and read
//! them independently. A stream is cut in order, carrying the unfinished line over to the next
//! buffer.
//!
//! *Invariants.*
//! - Every byte of the input is in exactly one chunk; chunks begin at line starts and end behind a
//!   terminator, or at the end of the input.
//! - A line is never cut. One that does not fit a pooled buffer comes as a chunk of its own, in
//!   memory that the budget granted for it, up to the longest line that the plan has room for.
//!
//! *Cost:* a pooled buffer per chunk; two pages of a file are read twice per chunk.
//!
//! What of a file a thread reads for the range `start..end`, and which lines it owns:
//!
//! ```text
//!        base    start                                     end    read_end
//!  ───────┼────────┼─────────────── range ──────────────────┼────────┼──────
//!         │◀ page ▶│                                        │◀ page ▶│
//!  ...aaaaaaaaaaaaaa⏎bbbbbb⏎ccccccccc⏎ddddddddd⏎eeeeeeeeeeeeeeeeeee⏎ffff...
//!                    └──────────── owned ─────────────────────────┘
//! ```
//!
//! Line `a` starts before the range and belongs to the thread before; the page in front shows whether a line
//! starts exactly at `start`. Line `e` starts in the range and belongs to this one; mostly it ends within the
//! page behind. Where it does not, it is read again from its start, as a long line.

use crate::error::{Error, Result};
use crate::input::file::PositionedFile;
use crate::input::lines::LineFormat;
use crate::input::long_lines::LongLines;
use crate::input::{Input, unreadable};
use crate::memory::buffer::{Buffer, PAGE};
use crate::sys::sync::atomic::{AtomicU64, Ordering};

/// Whole lines of an input: `buffer[start..end]`.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(super) buffer: Buffer,
    /// Where the first line starts in the buffer: in a file's chunk behind what belongs to the chunk before.
    pub(super) start: usize,
    /// Where the last line ends in the buffer, terminator included. Above `start`: no chunk is empty.
    pub(super) end: usize,
    /// Where the first line starts in the input, in bytes.
    pub(crate) offset: u64,
    /// Whether the buffer goes back to the pool, or was made for one long line.
    pub(crate) is_pooled: bool,
}

impl Chunk {
    /// The lines with their terminators.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Where a line of this chunk starts in the input, in bytes.
    pub(crate) fn offset_of(&self, line: &[u8]) -> u64 {
        self.offset + (line.as_ptr() as u64).saturating_sub(self.bytes().as_ptr() as u64)
    }

    /// The memory, to be used again.
    pub(crate) fn into_buffer(self) -> Buffer {
        self.buffer
    }
}

/// What came of one pooled buffer; and a line too long for it.
#[derive(Debug)]
pub(crate) struct Cut {
    /// The lines in the buffer, or the buffer alone.
    pub(crate) pooled: Pooled,
    /// The line behind them, in memory of its own.
    pub(crate) long_line: Option<Chunk>,
}

/// A pooled buffer after reading into it.
#[derive(Debug)]
pub(crate) enum Pooled {
    /// It has lines.
    Lines(Chunk),
    /// No line begins in it.
    Spare(Buffer),
}

/// What all chunks of one reading have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkRules<'a> {
    pub(crate) format: LineFormat,
    /// The range of a file that one chunk covers, in bytes; a multiple of the page size.
    pub(crate) chunk_bytes: u64,
    /// Grants the memory for lines that do not fit a pooled buffer.
    pub(crate) long_lines: &'a LongLines<'a>,
}

impl ChunkRules<'_> {
    /// The size of a pooled buffer: the range, a page before it and a page behind it.
    pub(crate) fn buffer_bytes(chunk_bytes: u64) -> u64 {
        chunk_bytes + 2 * PAGE
    }
}

/// Reads a regular file in chunks; shared by several reader threads, with no lock between them.
#[derive(Debug)]
pub(crate) struct FileChunks<'a> {
    input: &'a Input,
    file: PositionedFile,
    rules: ChunkRules<'a>,
    /// The number of the next range to claim. Goes beyond the last one by one for each thread that asked.
    next: AtomicU64,
}

impl<'a> FileChunks<'a> {
    /// Starts a reading of `input` through `file`, which was opened for it.
    pub(crate) fn new(input: &'a Input, file: PositionedFile, rules: ChunkRules<'a>) -> Self {
        Self {
            input,
            file,
            rules,
            next: AtomicU64::new(0),
        }
    }

    /// Claims the next range: its number, and the offset where it starts. `None` at the end of the
    /// file.
    pub(crate) fn claim(&self) -> Option<(u64, u64)> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let start = number.saturating_mul(self.rules.chunk_bytes);
        (start < self.file.size()).then_some((number, start))
    }

    /// Checks at the end of a reading that the file did not change meanwhile.
    ///
    /// # Errors
    /// [`Error::InputChanged`].
    pub(crate) fn finish(&self) -> Result<()> {
        self.input.verify(self.file.file())
    }

    /// Reads the lines that start in the range at `start`, which was claimed, into a buffer of
    /// [`ChunkRules::buffer_bytes`].
    ///
    /// # Errors
    /// [`Error::Input`], [`Error::InputChanged`] where the file has become shorter, [`Error::LineTooLong`].
    pub(crate) fn read_range(&self, start: u64, mut buffer: Buffer) -> Result<Cut> {
        let size = self.file.size();
        let end = (start + self.rules.chunk_bytes).min(size);
        let base = start.saturating_sub(PAGE);
        let read_end = (end + PAGE).min(size);
        self.read(&mut buffer, base, read_end)?;
        let data = &buffer[..(read_end - base) as usize];
        let Some((first, stop, is_closed)) = owned_lines(
            self.rules.format,
            data,
            (start - base) as usize,
            (end - base) as usize,
            end == size,
        ) else {
            return Ok(Cut {
                pooled: Pooled::Spare(buffer),
                long_line: None,
            });
        };
        let long_line = if is_closed {
            None
        } else {
            Some(self.read_long_line(base + stop as u64)?)
        };
        if stop == first {
            return Ok(Cut {
                pooled: Pooled::Spare(buffer),
                long_line,
            });
        }
        let offset = base + first as u64;
        let lines = Chunk {
            buffer,
            start: first,
            end: stop,
            offset,
            is_pooled: true,
        };
        Ok(Cut {
            pooled: Pooled::Lines(lines),
            long_line,
        })
    }

    /// Reads the one line that starts at `offset`, however far it goes: into a buffer that doubles until the
    /// line's end is in it. Where the memory does not allow that, the rest of the line is searched for its end,
    /// so that the error can name the limit that would do.
    fn read_long_line(&self, offset: u64) -> Result<Chunk> {
        let size = self.file.size();
        let base = offset & !(PAGE - 1);
        let first = (offset - base) as usize;
        let long_lines = self.rules.long_lines;
        // Held until the line is complete: two threads with half a line each might wait for each other.
        let _turn = long_lines.take_turn();
        let bytes = 2 * ChunkRules::buffer_bytes(self.rules.chunk_bytes);
        let mut buffer = long_lines.buffer(self.input, offset, bytes)?;
        let mut filled = 0;
        loop {
            let read_end = (base + buffer.len() as u64).min(size);
            self.read(&mut buffer[filled..], base + filled as u64, read_end)?;
            let searched = filled.max(first);
            filled = (read_end - base) as usize;
            let found = self
                .rules
                .format
                .find(&buffer[searched..filled])
                .map(|at| searched + at + 1);
            if let Some(end) = found.or((read_end == size).then_some(filled)) {
                return Ok(Chunk {
                    buffer,
                    start: first,
                    end,
                    offset,
                    is_pooled: false,
                });
            }
            match long_lines.lengthen(&mut buffer, self.input, offset) {
                Err(Error::LineTooLong { .. }) => {
                    let line_bytes = self.end_of_line(&mut buffer, base + filled as u64)? - offset;
                    return Err(long_lines.too_long(self.input, offset, Some(line_bytes)));
                }
                other => other?,
            }
        }
    }

    /// Where the line ends that goes on at `from`, a multiple of the page size: what lies between is read
    /// through `window`, piece by piece.
    fn end_of_line(&self, window: &mut Buffer, from: u64) -> Result<u64> {
        let size = self.file.size();
        let mut at = from;
        while at < size {
            self.rules.long_lines.check()?;
            let end = (at + window.len() as u64).min(size);
            self.read(window, at, end)?;
            let piece = &window[..(end - at) as usize];
            if let Some(found) = self.rules.format.find(piece) {
                return Ok(at + found as u64);
            }
            at = end;
        }
        Ok(size)
    }

    /// Fills the front of `buffer` with the bytes `offset..end` of the file.
    fn read(&self, buffer: &mut [u8], offset: u64, end: u64) -> Result<()> {
        self.file.read(buffer, offset, end).map_err(|error| {
            if error.kind() == std::io::ErrorKind::UnexpectedEof {
                Error::InputChanged {
                    path: self.input.name().to_owned(),
                    what: format!("it now ends before byte {end} of {}", self.file.size()),
                }
            } else {
                unreadable(self.input.name(), error)
            }
        })
    }
}

/// Which part of `data` the range `start..end` owns: from the first line that starts in it to the
/// end of the last, and whether that end was seen. `None` where no line starts in the range. `data`
/// begins a page before `start`, unless the input does.
fn owned_lines(
    format: LineFormat,
    data: &[u8],
    start: usize,
    end: usize,
    is_last: bool,
) -> Option<(usize, usize, bool)> {
    // A line starts at `start` if the byte before it is a terminator: look from that byte on.
    let first = match start {
        0 => 0,
        _ => format.find(&data[start - 1..]).map(|found| start + found)?,
    };
    if first >= end {
        return None;
    }
    if is_last {
        return Some((first, end, true));
    }
    if let Some(found) = format.find(&data[end - 1..]) {
        return Some((first, end + found, true));
    }
    // The last line runs past what was read: it gets a chunk of its own.
    let stop = format
        .find_last(&data[first..end])
        .map_or(first, |found| first + found + 1);
    Some((first, stop, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cuts `data` at every range size and checks that the ranges own each byte exactly once.
    fn check_ranges(data: &[u8]) {
        let format = LineFormat::default();
        for range in 1..=data.len() {
            let mut owned = Vec::new();
            for start in (0..data.len()).step_by(range) {
                let end = (start + range).min(data.len());
                if let Some((first, stop, is_closed)) =
                    owned_lines(format, data, start, end, end == data.len())
                {
                    let stop = if is_closed {
                        stop
                    } else {
                        // The long line that the reader would fetch.
                        format
                            .find(&data[stop..])
                            .map_or(data.len(), |at| stop + at + 1)
                    };
                    owned.extend_from_slice(&data[first..stop]);
                }
            }
            assert_eq!(owned, data, "ranges of {range} bytes");
        }
    }

    #[test]
    fn every_byte_is_owned_once_whatever_the_range() {
        for text in [
            "a\n",
            "a",
            "\n\n\n",
            "one\ntwo\n\nfour",
            "x\nlonger than any range here\ny\n",
            "\nabc",
        ] {
            check_ranges(text.as_bytes());
        }
    }
}
