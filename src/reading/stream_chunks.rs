//! Reading in order in chunks, carrying the unfinished line over: pipes, and what is decoded.
//!
//! *Owns:* cutting what comes. *Invariants:* every byte is in exactly one chunk, in order; a
//! chunk ends after a terminator, or at the end of the stream or file. *Cost:* a copy of the unfinished
//! line per chunk, and a buffer for it.
//!
//! ```text
//!  buffer n      |carry of n-1|········ read from the pipe ········|
//!                 one⏎two⏎three⏎fo                                     whole lines become the chunk,
//!  carry          fo                                                   the rest goes to the carry,
//!  buffer n+1    |fo|ur⏎five⏎six ...                                   and in front of the next buffer
//! ```
//!
//! A buffer without a line end belongs to a long line: its content moves to a buffer that grows, and what follows the
//! line's end goes to the carry. Where that line is a record with a quote that is not closed after all, the buffer has
//! several lines. Where the buffer cannot grow, and such a quote is open, the rest of the input tells what the record
//! is; see [`lookahead`](super::lookahead). Prefixed lines, which are made of tables, are cut in the same way: their
//! lengths tell where the last whole one ends.

use std::path::Path;

use crate::error::{Error, Result};
use crate::input::Input;
use crate::input::byte_reader::ByteReader;
use crate::input::pieces::Piece;
use crate::lines::LineFormat;
use crate::lines::last_end::LastEnd;
use crate::lines::prefixed;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::reading::chunk::{Chunk, ChunkRules, Cut, Pooled};
use crate::reading::location::Location;
use crate::reading::lookahead::Lookahead;
use crate::temp::space::TempSpace;

/// The consumer, as the budget's messages name it.
const CARRY: &str = "an unfinished line";

/// The result of reading into a buffer.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time in each thread"
)]
pub(crate) enum Next {
    /// It was read into.
    Cut(Cut),
    /// There was nothing left to read into it.
    Ended(Buffer),
}

/// Reads an input in chunks, in order.
pub(crate) struct StreamChunks<'a> {
    input: &'a Input,
    reader: ByteReader<'a>,
    rules: ChunkRules<'a>,
    /// Has room for what is read before its turn.
    space: &'a TempSpace,
    /// The unfinished line at the end of the last buffer: the first `carried` bytes. As large as a pooled
    /// buffer.
    carry: Buffer,
    /// Bytes of the carry in use.
    carried: usize,
    /// The start of the next chunk in the stream or piece, in bytes.
    offset: u64,
    /// The lines before the next chunk in the stream or piece, if they are counted.
    lines: Option<u64>,
    /// True if the stream or piece has no more bytes. The carry may still have some.
    is_ended: bool,
    /// The search for the last line end of the present buffer.
    search: LastEnd,
}

impl<'a> StreamChunks<'a> {
    /// Starts a reading of `input`, whose bytes come from `reader`. `budget` grants the carry; `space` may take what is
    /// read before its turn.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where there is no room for the carry.
    pub(crate) fn new(
        input: &'a Input,
        reader: ByteReader<'a>,
        rules: ChunkRules<'a>,
        budget: &MemoryBudget,
        space: &'a TempSpace,
    ) -> Result<Self> {
        let carry = Buffer::new(budget, CARRY, ChunkRules::buffer_bytes(rules.chunk_bytes))?;
        Ok(Self {
            input,
            reader,
            rules,
            space,
            carry,
            carried: 0,
            offset: 0,
            lines: rules.counts_lines.then_some(0),
            is_ended: false,
            search: LastEnd::new(0),
        })
    }

    /// Fills `buffer`, of [`ChunkRules::buffer_bytes`], with the next whole lines, until the stream or the last piece
    /// has ended. A line that is longer than the buffer comes alone.
    ///
    /// # Errors
    /// As [`ByteReader::fill`] and [`ByteReader::next_piece`]; [`crate::Error::LineTooLong`].
    pub(crate) fn next(&mut self, mut buffer: Buffer) -> Result<Next> {
        let carried = std::mem::take(&mut self.carried);
        buffer[..carried].copy_from_slice(&self.carry[..carried]);
        let capacity = self.carry.len();
        let mut filled = self.fill(&mut buffer[..capacity], carried)?;
        while filled == 0 {
            if !self.reader.next_piece()? {
                return Ok(Next::Ended(buffer));
            }
            (self.offset, self.is_ended) = (0, false);
            self.lines = self.lines.map(|_| 0);
            filled = self.fill(&mut buffer[..capacity], 0)?;
        }
        if let Some(end) = self.cut(&buffer[..filled], 0) {
            let lines = self.chunk(buffer, end, true);
            return Ok(Next::Cut(Cut {
                pooled: Pooled::Lines(lines),
                long_line: None,
            }));
        }
        let long_line = self.read_long_line(&buffer[..filled])?;
        Ok(Next::Cut(Cut {
            pooled: Pooled::Spare(buffer),
            long_line: Some(long_line),
        }))
    }

    /// Goes on reading the line that begins with `front` until a terminator comes. What is read at
    /// once fits the carry, so that whatever follows the terminator does too.
    ///
    /// # Errors
    /// [`Error::LineTooLong`], noted with the line's location where that has to be looked up.
    fn read_long_line(&mut self, front: &[u8]) -> Result<Chunk> {
        let long_lines = self.rules.long_lines;
        let _turn = long_lines.take_turn();
        let Piece { part, start, .. } = self.reader.piece();
        let location = Location {
            part,
            piece_start: start,
            offset: self.offset,
        };
        match self.read_in_turn(front) {
            Err(error @ Error::LineTooLong { .. })
                if start > 0 || self.input.taken(part).bytes > 0 =>
            {
                Err(long_lines.note_at(location, error))
            }
            Ok(mut chunk) => {
                let (bytes, held) = (chunk.bytes().len() as u64, chunk.buffer.len() as u64);
                chunk.key_room = long_lines.key_room(self.name(), location.offset, bytes, held)?;
                Ok(chunk)
            }
            failed => failed,
        }
    }

    /// Works as [`StreamChunks::read_long_line`], in turn, with the line's location in its piece.
    fn read_in_turn(&mut self, front: &[u8]) -> Result<Chunk> {
        let long_lines = self.rules.long_lines;
        let bytes = 2 * ChunkRules::buffer_bytes(self.rules.chunk_bytes);
        let mut long = long_lines.buffer(self.name(), self.offset, bytes)?;
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
                match long_lines.lengthen(&mut long, self.name(), self.offset) {
                    Ok(()) => {}
                    Err(error @ Error::LineTooLong { .. }) if !self.rules.are_prefixed => {
                        return self.end_early(long, error);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Ends the chunk that fills `long` without its last record, if it has more than one, or after the line of a
    /// record that is damaged; what follows is read again. Else returns `error`.
    fn end_early(&mut self, mut long: Buffer, mut error: Error) -> Result<Chunk> {
        let format = self.format();
        let open = self.search.open_field(&long, format);
        let line_end = || {
            let field = open?.open_field()?;
            let found = memchr::memchr(format.terminator, &long[field..])?;
            Some(field + found + 1)
        };
        let found = self.search.found();
        let Some(end) = found.or_else(line_end) else {
            return Err(error);
        };
        let Some(mut ahead) = Lookahead::of(&self.reader, self.space)? else {
            if let Error::LineTooLong { is_quoted, .. } = &mut error {
                *is_quoted = true;
            }
            return Err(error);
        };
        let filled = long.len();
        ahead.add(&mut long, filled)?;
        if let (None, Some(walk), Some(marks)) = (found, open, format.marks())
            && !ahead.finds_damage(&mut self.reader, walk, &long, marks, &mut self.carry)?
        {
            return Err(error);
        }
        self.reader.go_back(ahead.finish(end as u64)?)?;
        self.is_ended = false;
        Ok(self.chunk(long, end, false))
    }

    /// Returns the name of the stream or file in messages.
    fn name(&self) -> &'a Path {
        self.input.part_name(self.reader.piece().part)
    }

    /// Reads until `buffer` is full or the stream or file has ended; returns how much is filled.
    fn fill(&mut self, buffer: &mut [u8], filled: usize) -> Result<usize> {
        if self.is_ended {
            return Ok(filled);
        }
        let read = self.reader.fill(&mut buffer[filled..])?;
        self.is_ended = read.is_ended;
        Ok(filled + read.bytes)
    }

    /// Returns the rules for the lines of the stream or piece.
    fn format(&self) -> LineFormat {
        self.input
            .format_of(self.reader.piece().part, self.rules.format)
    }

    /// Finds the end of the whole lines of `data`, of which `searched` bytes were searched before; keeps what follows
    /// them. `None` if no line ends in it, or where what follows has no room in the carry. At the end of the stream
    /// the last line needs no terminator.
    fn cut(&mut self, data: &[u8], searched: usize) -> Option<usize> {
        if self.is_ended {
            return Some(data.len());
        }
        if searched == 0 {
            let keying = self.input.keying();
            let is_start = self.offset == 0 && self.reader.piece().start == 0;
            let mark = keying
                .filter(|_| is_start)
                .map_or(0, |keying| keying.mark(data));
            self.search = LastEnd::new(mark);
        }
        let end = if self.rules.are_prefixed {
            Some(prefixed::whole_bytes(data)).filter(|&end| end > 0)
        } else {
            self.search.advance(data, self.format())
        }?;
        let rest = &data[end..];
        // Behind a quote that was not closed, several lines may end long before what showed that.
        self.carry.get_mut(..rest.len())?.copy_from_slice(rest);
        self.carried = rest.len();
        Some(end)
    }

    /// Makes the next chunk of the first `end` bytes of `buffer`.
    fn chunk(&mut self, buffer: Buffer, end: usize, is_pooled: bool) -> Chunk {
        let offset = self.offset;
        self.offset += end as u64;
        let lines_before = self.lines;
        self.lines = lines_before.map(|lines| {
            let ends = memchr::memchr_iter(self.rules.format.terminator, &buffer[..end]);
            lines + ends.count() as u64
        });
        let piece = self.reader.piece();
        Chunk {
            buffer,
            start: 0,
            end,
            part: piece.part,
            positions: self.reader.positions(),
            lines_before,
            piece_start: piece.start,
            offset,
            is_pooled,
            key_room: None,
        }
    }
}
