//! Reading a range of a file: the lines that start in it.
//!
//! *Owns:* cutting a file by position, and reading lines that do not fit a chunk. *Invariants:* the ranges of a file
//! own each of its bytes once, whatever their size. *Cost:* two pages of the file besides each range.
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
//! page after. Where it does not, it is read again from its start, as a long line.

use std::path::Path;

use crate::decode::file::PositionedFile;
use crate::decode::io_error::unreadable;
use crate::error::{Error, Result};
use crate::input::parts::Parts;
use crate::lines::LineFormat;
use crate::memory::buffer::{Buffer, PAGE};
use crate::reading::chunk::{Chunk, ChunkRules, Cut, Pooled};
use crate::reading::long_lines::LongLines;

/// A file that is open for a reading; shared by several reader threads, with no lock between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct RangeReader<'a> {
    pub(super) parts: &'a Parts,
    /// The number of the file.
    pub(super) part: usize,
    pub(super) file: &'a PositionedFile,
    /// The number of the chunk that it reads.
    pub(super) number: u64,
    pub(super) rules: ChunkRules<'a>,
}

impl RangeReader<'_> {
    /// Reads the lines that start in the range at `start`, which was claimed, into a buffer of
    /// [`ChunkRules::buffer_bytes`].
    ///
    /// # Errors
    /// [`Error::Input`], [`Error::InputChanged`] where the file has become shorter, [`Error::LineTooLong`].
    pub(super) fn read(&self, start: u64, mut buffer: Buffer) -> Result<Cut> {
        let size = self.file.size();
        let limit = self.parts.range(self.part).end;
        let end = (start + self.rules.chunk_bytes).min(limit);
        // The page with the byte before the range, wherever in a page that begins.
        let base = start.saturating_sub(1) & !(PAGE - 1);
        let read_end = (end + PAGE).min(size);
        self.fill(&mut buffer, base, read_end)?;
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
        Ok(Cut {
            pooled: Pooled::Lines(self.chunk(buffer, first, stop, base + first as u64, true)),
            long_line,
        })
    }

    /// Makes a chunk of the bytes `start..end` of `buffer`, which begin at `offset` of the file.
    fn chunk(
        &self,
        buffer: Buffer,
        start: usize,
        end: usize,
        offset: u64,
        is_pooled: bool,
    ) -> Chunk {
        Chunk {
            buffer,
            start,
            end,
            part: self.part,
            positions: self.parts.positions(self.part, 0, None),
            lines_before: None,
            piece_start: 0,
            offset,
            is_pooled,
            key_room: None,
        }
    }

    /// Returns the name of the file in messages.
    fn name(&self) -> &Path {
        self.parts.name(self.part)
    }

    /// Reads the one line that starts at `offset`, however far it goes. Where the memory does not allow that, the rest
    /// of the line is searched for its end, so that the error can name the limit that would do.
    fn read_long_line(&self, offset: u64) -> Result<Chunk> {
        let long_lines = self.rules.long_lines;
        if let Some(ahead) = long_lines.ahead() {
            match self.put_together(offset, &ahead, |error, _, _| error) {
                // In its turn there is more.
                Err(Error::Memory { .. } | Error::LineTooLong { .. }) => {}
                line => return line,
            }
        }
        // Held until the line is complete: two threads with half a line each might wait for each other.
        let _turn = long_lines.take_turn_of(self.number)?;
        self.put_together(offset, long_lines, |error, mut buffer, from| match error {
            Error::LineTooLong { .. } => match self.end_of_line(&mut buffer, from) {
                Ok(end) => long_lines.too_long(self.name(), offset, Some(end - offset)),
                Err(error) => error,
            },
            error => error,
        })
    }

    /// Puts the line that starts at `offset` together in a buffer of `long_lines`, which doubles until the end of the
    /// line is in it.
    ///
    /// # Errors
    /// Those of reading, and of `long_lines`. Where a buffer cannot become longer, `explain` makes the error of it,
    /// from the buffer, and where in the file the line goes on.
    fn put_together(
        &self,
        offset: u64,
        long_lines: &LongLines<'_>,
        explain: impl FnOnce(Error, Buffer, u64) -> Error,
    ) -> Result<Chunk> {
        let size = self.file.size();
        let base = offset & !(PAGE - 1);
        let first = (offset - base) as usize;
        let bytes = 2 * ChunkRules::buffer_bytes(self.rules.chunk_bytes);
        let mut buffer = long_lines.buffer(self.name(), offset, bytes)?;
        let mut filled = 0;
        loop {
            let read_end = (base + buffer.len() as u64).min(size);
            self.fill(&mut buffer[filled..], base + filled as u64, read_end)?;
            let searched = filled.max(first);
            filled = (read_end - base) as usize;
            let found = self
                .rules
                .format
                .find(&buffer[searched..filled])
                .map(|at| searched + at + 1);
            if let Some(end) = found.or((read_end == size).then_some(filled)) {
                let (line_bytes, held) = ((end - first) as u64, buffer.len() as u64);
                let mut chunk = self.chunk(buffer, first, end, offset, false);
                chunk.key_room = long_lines.key_room(self.name(), offset, line_bytes, held)?;
                return Ok(chunk);
            }
            if let Err(error) = long_lines.lengthen(&mut buffer, self.name(), offset) {
                return Err(explain(error, buffer, base + filled as u64));
            }
        }
    }

    /// Finds the end of the line that goes on at `from`, a multiple of the page size: what lies between is read through
    /// `window`, piece by piece.
    fn end_of_line(&self, window: &mut Buffer, from: u64) -> Result<u64> {
        let size = self.file.size();
        let mut at = from;
        while at < size {
            self.rules.long_lines.check()?;
            let end = (at + window.len() as u64).min(size);
            self.fill(window, at, end)?;
            let piece = &window[..(end - at) as usize];
            if let Some(found) = self.rules.format.find(piece) {
                return Ok(at + found as u64);
            }
            at = end;
        }
        Ok(size)
    }

    /// Fills the front of `buffer` with the bytes `offset..end` of the file.
    fn fill(&self, buffer: &mut [u8], offset: u64, end: u64) -> Result<()> {
        self.file.read(buffer, offset, end).map_err(|error| {
            if error.kind() == std::io::ErrorKind::UnexpectedEof {
                Error::InputChanged {
                    path: self.name().to_owned(),
                    what: format!(
                        "it had {} bytes, and now ends before byte {end}",
                        self.file.size()
                    ),
                }
            } else {
                unreadable(self.name(), error)
            }
        })
    }
}

/// Finds the part of `data` that the range `start..end` owns: from the first line that starts in it to the end of the
/// last, and whether that end was seen. `None` if no line starts in the range. `data` begins a page before `start`,
/// or with the input.
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
