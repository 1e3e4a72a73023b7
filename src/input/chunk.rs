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

use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::budget::{Buffer, MemoryBudget, PAGE};
use crate::error::{Error, Result};
use crate::failure::FirstFailure;
use crate::input::file::PositionedFile;
use crate::input::lines::LineFormat;
use crate::input::{Input, unreadable};

/// Memory consumers, as the budget's messages name them.
const LONG_LINE: &str = "a long line";
const CARRY: &str = "an unfinished line";

/// Whole lines of an input.
#[derive(Debug)]
pub(crate) struct Chunk {
    buffer: Buffer,
    start: usize,
    end: usize,
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

/// What came of one pooled buffer: its lines, or the buffer unused; and a line too long for it.
#[derive(Debug)]
pub(crate) struct Cut {
    pub(crate) lines: Option<Chunk>,
    pub(crate) spare: Option<Buffer>,
    pub(crate) long_line: Option<Chunk>,
}

/// What all chunks of one reading have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkRules<'a> {
    pub(crate) format: LineFormat,
    /// The range of a file that one chunk covers, in bytes; a multiple of the page size.
    pub(crate) chunk_bytes: u64,
    pub(crate) long_lines: &'a LongLines<'a>,
}

impl ChunkRules<'_> {
    /// The size of a pooled buffer: the range, a page before it and a page behind it.
    pub(crate) fn buffer_bytes(chunk_bytes: u64) -> u64 {
        chunk_bytes + 2 * PAGE
    }
}

/// The memory for lines that do not fit a pooled buffer. One reader at a time puts a long line
/// together; when there is no room it waits for the workers to be done with the long lines before
/// it. Only a line that does not fit alone is too long.
#[derive(Debug)]
pub(crate) struct LongLines<'a> {
    budget: MemoryBudget,
    turn: Mutex<()>,
    failure: &'a FirstFailure,
    /// The limit of the whole process, for the advice.
    memory_bytes: u64,
}

impl<'a> LongLines<'a> {
    /// Room for long lines of `budget`'s size in all, for a scan whose failure ends the waiting.
    pub(crate) fn new(budget: MemoryBudget, memory_bytes: u64, failure: &'a FirstFailure) -> Self {
        Self {
            budget,
            turn: Mutex::new(()),
            failure,
            memory_bytes,
        }
    }

    fn take_turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A first buffer of `bytes`.
    fn buffer(&self, input: &Input, offset: u64, bytes: u64) -> Result<Buffer> {
        self.when_there_is_room(input, offset, 0, || {
            Buffer::new(&self.budget, LONG_LINE, bytes)
        })
    }

    /// Doubles the buffer, or takes what is left.
    fn lengthen(&self, buffer: &mut Buffer, input: &Input, offset: u64) -> Result<()> {
        let held = buffer.len() as u64;
        let most = self.budget.limit_bytes() & !(PAGE - 1);
        if held >= most {
            return Err(self.too_long(input, offset, held));
        }
        self.when_there_is_room(input, offset, held, || buffer.grow((held * 2).min(most)))
    }

    fn when_there_is_room<T>(
        &self,
        input: &Input,
        offset: u64,
        held: u64,
        mut ask: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        loop {
            let others = self.budget.limit_bytes() - self.budget.available_bytes() - held;
            match ask() {
                Err(Error::Memory { .. }) if others > 0 => {
                    self.failure.check()?;
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(Error::Memory { .. }) => return Err(self.too_long(input, offset, held)),
                other => return other,
            }
        }
    }

    fn too_long(&self, input: &Input, offset: u64, seen_bytes: u64) -> Error {
        let longest_bytes = self.budget.limit_bytes();
        // The plan gives long lines a share of the limit: keep the proportion, for twice what was
        // seen.
        let share = self.memory_bytes as f64 / longest_bytes.max(1) as f64;
        Error::LineTooLong {
            path: input.name().to_owned(),
            offset,
            longest_bytes,
            least_bytes: (seen_bytes.max(longest_bytes) as f64 * 2.0 * share.min(8.0)) as u64,
        }
    }
}

/// Reads a regular file in chunks; shared by several reader threads.
#[derive(Debug)]
pub(crate) struct FileChunks<'a> {
    input: &'a Input,
    file: PositionedFile,
    rules: ChunkRules<'a>,
    next: AtomicU64,
}

impl<'a> FileChunks<'a> {
    /// Starts a reading of `input` through `file`.
    pub(crate) fn new(input: &'a Input, file: PositionedFile, rules: ChunkRules<'a>) -> Self {
        Self {
            input,
            file,
            rules,
            next: AtomicU64::new(0),
        }
    }

    /// Claims the next range: the offset where it starts. `None` at the end of the file.
    pub(crate) fn claim(&self) -> Option<u64> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let start = number.saturating_mul(self.rules.chunk_bytes);
        (start < self.file.size()).then_some(start)
    }

    /// Checks at the end of a reading that the file did not change meanwhile.
    pub(crate) fn finish(&self) -> Result<()> {
        self.input.verify(self.file.file())
    }

    /// Reads the lines that start in the range at `start`.
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
                lines: None,
                spare: Some(buffer),
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
                lines: None,
                spare: Some(buffer),
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
            lines: Some(lines),
            spare: None,
            long_line,
        })
    }

    /// Reads the one line that starts at `offset`, however far it goes.
    fn read_long_line(&self, offset: u64) -> Result<Chunk> {
        let size = self.file.size();
        let base = offset & !(PAGE - 1);
        let first = (offset - base) as usize;
        let long_lines = self.rules.long_lines;
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
            long_lines.lengthen(&mut buffer, self.input, offset)?;
        }
    }

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

/// Reads a stream in chunks, in order.
#[derive(Debug)]
pub(crate) struct StreamChunks<'a> {
    input: &'a Input,
    file: File,
    rules: ChunkRules<'a>,
    /// The unfinished line at the end of the last buffer: the first `carried` bytes.
    carry: Buffer,
    carried: usize,
    offset: u64,
    is_ended: bool,
}

impl<'a> StreamChunks<'a> {
    /// Starts the one reading of `input`.
    pub(crate) fn new(
        input: &'a Input,
        file: File,
        rules: ChunkRules<'a>,
        budget: &MemoryBudget,
    ) -> Result<Self> {
        let carry = Buffer::new(budget, CARRY, ChunkRules::buffer_bytes(rules.chunk_bytes))?;
        Ok(Self {
            input,
            file,
            rules,
            carry,
            carried: 0,
            offset: 0,
            is_ended: false,
        })
    }

    /// Fills `buffer` with the next whole lines; `Ok(None)` at the end of the stream.
    pub(crate) fn next(&mut self, mut buffer: Buffer) -> Result<Option<Cut>> {
        let carried = std::mem::take(&mut self.carried);
        buffer[..carried].copy_from_slice(&self.carry[..carried]);
        let capacity = self.carry.len();
        let filled = self.fill(&mut buffer[..capacity], carried)?;
        if filled == 0 {
            return Ok(None);
        }
        if let Some(end) = self.cut(&buffer[..filled], 0) {
            let lines = self.chunk(buffer, end, true);
            return Ok(Some(Cut {
                lines: Some(lines),
                spare: None,
                long_line: None,
            }));
        }
        let long_line = self.read_long_line(&buffer[..filled])?;
        Ok(Some(Cut {
            lines: None,
            spare: Some(buffer),
            long_line: Some(long_line),
        }))
    }

    /// Goes on reading the line that begins with `front` until a terminator comes. What is read at
    /// once fits the carry, so that whatever follows the terminator does too.
    fn read_long_line(&mut self, front: &[u8]) -> Result<Chunk> {
        let long_lines = self.rules.long_lines;
        let bytes = 2 * ChunkRules::buffer_bytes(self.rules.chunk_bytes);
        let mut long = long_lines.buffer(self.input, self.offset, bytes)?;
        let mut filled = front.len();
        long[..filled].copy_from_slice(front);
        loop {
            let searched = filled;
            let upto = (filled + self.rules.chunk_bytes as usize).min(long.len());
            filled = self.fill(&mut long[..upto], filled)?;
            if let Some(end) = self.cut(&long[..filled], searched) {
                return Ok(self.chunk(long, end, false));
            }
            if filled == long.len() {
                long_lines.lengthen(&mut long, self.input, self.offset)?;
            }
        }
    }

    /// Reads until `buffer` is full or the stream has ended; returns how much is filled.
    fn fill(&mut self, buffer: &mut [u8], mut filled: usize) -> Result<usize> {
        while filled < buffer.len() && !self.is_ended {
            match self.file.read(&mut buffer[filled..]) {
                Ok(0) => self.is_ended = true,
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(self.input.name(), error)),
            }
        }
        Ok(filled)
    }

    /// Where the whole lines of `data` end, looking from `searched` on; keeps what follows them.
    fn cut(&mut self, data: &[u8], searched: usize) -> Option<usize> {
        if self.is_ended {
            return Some(data.len());
        }
        let end = searched + self.rules.format.find_last(&data[searched..])? + 1;
        let rest = &data[end..];
        self.carry[..rest.len()].copy_from_slice(rest);
        self.carried = rest.len();
        Some(end)
    }

    fn chunk(&mut self, buffer: Buffer, end: usize, is_pooled: bool) -> Chunk {
        let offset = self.offset;
        self.offset += end as u64;
        Chunk {
            buffer,
            start: 0,
            end,
            offset,
            is_pooled,
        }
    }
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
