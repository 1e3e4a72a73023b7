//! Reading in order in chunks, carrying the unfinished line over: pipes, and what is decoded.
//!
//! *Owns:* waiting for a pipe, and cutting what comes. *Invariants:* every byte is in exactly one chunk, in order; a
//! chunk ends behind a terminator, or at the end of the stream or file. *Cost:* a copy of the unfinished
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
//! several lines.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::{Error, Result};
use crate::input::chunk::{Chunk, ChunkRules, Cut, Place, Pooled};
use crate::input::feed::Feed;
use crate::input::last_end::LastEnd;
use crate::input::pieces::Piece;
use crate::input::supply::Supply;
use crate::input::{Input, unreadable};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;

/// The consumer, as the budget's messages name it.
const CARRY: &str = "an unfinished line";

/// How long a read waits before it checks whether the run is to stop: 50 milliseconds.
const LOOK_UP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// The capacity that is asked for a pipe, in bytes: what Linux grants without privileges (pipe(7),
/// /proc/sys/fs/pipe-max-size). By default a pipe holds 64 KiB, and both ends wake sixteen times as often.
const PIPE_BYTES: usize = 1 << 20;

/// A poll that returns at once.
const NOW: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// What came of reading a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filled {
    /// Bytes that were read.
    pub(crate) bytes: usize,
    /// Whether there are no more.
    pub(crate) is_ended: bool,
}

/// How a stream is read whose lines are wanted as soon as they are there.
#[derive(Clone, Copy)]
struct Prompt<'a> {
    terminator: u8,
    /// Called with `true` when reading begins to wait, and with `false` when it no longer does.
    waiting: &'a (dyn Fn(bool) -> Result<()> + Sync),
}

/// A pipe whose silence does not keep a run from stopping.
pub(crate) struct StoppableStream<'a> {
    file: File,
    /// The note about the end of the reader that feeds it; `None` where any end is the end of the input.
    feed: Option<Feed>,
    /// Where lines are wanted as soon as they are there.
    prompt: Option<Prompt<'a>>,
    /// An error when the run is to stop.
    stop: &'a (dyn Fn() -> Result<()> + Sync),
}

impl<'a> StoppableStream<'a> {
    /// Reads `file` for as long as `stop` gives no error.
    pub(crate) fn new(file: File, stop: &'a (dyn Fn() -> Result<()> + Sync)) -> Self {
        // Fewer, larger pieces. What is no pipe refuses, and so may the system.
        let _refused_is_fine = rustix::pipe::fcntl_setpipe_size(&file, PIPE_BYTES);
        Self {
            file,
            feed: None,
            prompt: None,
            stop,
        }
    }

    /// The same stream, whose end `feed` must confirm.
    pub(super) fn fed_by(self, feed: Option<Feed>) -> Self {
        Self { feed, ..self }
    }

    /// The same stream, to be read in pieces as they come, once they hold the end of a line.
    /// `waiting` is called with `true` when reading begins to wait, and with `false` when it no longer does.
    pub(crate) fn promptly(
        self,
        terminator: u8,
        waiting: &'a (dyn Fn(bool) -> Result<()> + Sync),
    ) -> Self {
        let prompt = Prompt {
            terminator,
            waiting,
        };
        Self {
            prompt: Some(prompt),
            ..self
        }
    }

    /// Reads until `buffer` is full or the stream has ended. A prompt stream also stops where it has a line
    /// and would have to wait for more.
    ///
    /// 1. Ask `stop`, so that a run can end while nobody writes.
    /// 2. Poll: for 50 milliseconds, or not at all where there is something to give already.
    /// 3. Nothing came: return what there is if the stream is prompt and has a line, else start over.
    /// 4. Something came: read it, which does not block now.
    ///
    /// # Errors
    /// What `stop` returns; [`crate::Error::Input`] where reading fails.
    pub(crate) fn fill(&mut self, buffer: &mut [u8], name: &Path) -> Result<Filled> {
        let (mut filled, mut has_line, mut is_waiting) = (0, false, false);
        while filled < buffer.len() {
            (self.stop)()?;
            let mut waiting = [PollFd::new(&self.file, PollFlags::IN)];
            // A prompt stream looks first, and waits only where it has nothing to give.
            let looks = has_line || (self.prompt.is_some() && !is_waiting);
            let patience = if looks { &NOW } else { &LOOK_UP };
            if poll(&mut waiting, Some(patience)) == Ok(0) {
                if has_line {
                    break;
                }
                if !is_waiting {
                    is_waiting = true;
                    self.tell(is_waiting)?;
                }
                continue;
            }
            if is_waiting {
                is_waiting = false;
                self.tell(is_waiting)?;
            }
            // Where polling itself fails, reading tells why.
            match self.file.read(&mut buffer[filled..]) {
                Ok(0) => {
                    self.feed.as_ref().map_or(Ok(()), |feed| feed.check(name))?;
                    return Ok(Filled {
                        bytes: filled,
                        is_ended: true,
                    });
                }
                Ok(read) => {
                    let new = &buffer[filled..filled + read];
                    has_line |= self
                        .prompt
                        .is_some_and(|prompt| memchr::memchr(prompt.terminator, new).is_some());
                    filled += read;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(name, error)),
            }
        }
        Ok(Filled {
            bytes: filled,
            is_ended: false,
        })
    }

    /// Passes on that reading waits, or does not any more.
    fn tell(&self, is_waiting: bool) -> Result<()> {
        self.prompt
            .map_or(Ok(()), |prompt| (prompt.waiting)(is_waiting))
    }
}

/// What came of a buffer.
pub(crate) enum Next {
    /// It was read into.
    Cut(Cut),
    /// There was nothing left to read into it.
    Ended(Buffer),
}

/// Reads an input in chunks, in order.
pub(crate) struct StreamChunks<'a> {
    input: &'a Input,
    supply: Supply<'a>,
    rules: ChunkRules<'a>,
    /// The unfinished line at the end of the last buffer: the first `carried` bytes. As large as a pooled
    /// buffer.
    carry: Buffer,
    /// Bytes of the carry in use.
    carried: usize,
    /// Where the next chunk starts in the stream or piece, in bytes.
    offset: u64,
    /// Whether the stream or piece has no more bytes. The carry may still have some.
    is_ended: bool,
    /// The search for the last line end of the present buffer.
    search: LastEnd,
}

impl<'a> StreamChunks<'a> {
    /// Starts a reading of `input`, whose bytes come from `supply`. `budget` grants the carry.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where there is no room for the carry.
    pub(crate) fn new(
        input: &'a Input,
        supply: Supply<'a>,
        rules: ChunkRules<'a>,
        budget: &MemoryBudget,
    ) -> Result<Self> {
        let carry = Buffer::new(budget, CARRY, ChunkRules::buffer_bytes(rules.chunk_bytes))?;
        Ok(Self {
            input,
            supply,
            rules,
            carry,
            carried: 0,
            offset: 0,
            is_ended: false,
            search: LastEnd::new(0),
        })
    }

    /// Fills `buffer`, of [`ChunkRules::buffer_bytes`], with the next whole lines, until the stream or the last piece
    /// has ended. A line that is longer than the buffer comes alone.
    ///
    /// # Errors
    /// As [`Supply::fill`] and [`Supply::next_piece`]; [`crate::Error::LineTooLong`].
    pub(crate) fn next(&mut self, mut buffer: Buffer) -> Result<Next> {
        let carried = std::mem::take(&mut self.carried);
        buffer[..carried].copy_from_slice(&self.carry[..carried]);
        let capacity = self.carry.len();
        let mut filled = self.fill(&mut buffer[..capacity], carried)?;
        while filled == 0 {
            if !self.supply.next_piece()? {
                return Ok(Next::Ended(buffer));
            }
            (self.offset, self.is_ended) = (0, false);
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
    /// [`Error::LineTooLong`], noted with the line's place where that has to be looked up.
    fn read_long_line(&mut self, front: &[u8]) -> Result<Chunk> {
        let long_lines = self.rules.long_lines;
        let _turn = long_lines.take_turn();
        let Piece { part, start, .. } = self.supply.place();
        let place = Place {
            part,
            piece_start: start,
            offset: self.offset,
        };
        match self.read_in_turn(front) {
            Err(error @ Error::LineTooLong { .. }) if start > 0 => {
                Err(long_lines.note_at(place, error))
            }
            read => read,
        }
    }

    /// As [`StreamChunks::read_long_line`], in turn, with the line's place in its piece.
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
                let mut lengthened = long_lines.lengthen(&mut long, self.name(), self.offset);
                if let Err(Error::LineTooLong { is_quoted, .. }) = &mut lengthened {
                    *is_quoted = self.search.ends_inside(&long, self.rules.format);
                }
                lengthened?;
            }
        }
    }

    /// How messages call the stream or file.
    fn name(&self) -> &'a Path {
        self.input.part_name(self.supply.place().part)
    }

    /// Reads until `buffer` is full or the stream or file has ended; returns how much is filled.
    fn fill(&mut self, buffer: &mut [u8], filled: usize) -> Result<usize> {
        if self.is_ended {
            return Ok(filled);
        }
        let read = self.supply.fill(&mut buffer[filled..])?;
        self.is_ended = read.is_ended;
        Ok(filled + read.bytes)
    }

    /// Where the whole lines of `data` end, of which `searched` bytes were searched before; keeps what follows them.
    /// `None` where no line ends in it, or where what follows has no room in the carry. At the end of the stream the
    /// last line needs no terminator.
    fn cut(&mut self, data: &[u8], searched: usize) -> Option<usize> {
        if self.is_ended {
            return Some(data.len());
        }
        if searched == 0 {
            let keying = self.input.keying();
            let is_start = self.offset == 0 && self.supply.place().start == 0;
            let mark = keying
                .filter(|_| is_start)
                .map_or(0, |keying| keying.mark(data));
            self.search = LastEnd::new(mark);
        }
        let end = self.search.advance(data, self.rules.format)?;
        let rest = &data[end..];
        // Behind a quote that was not closed, several lines may end long before what showed that.
        self.carry.get_mut(..rest.len())?.copy_from_slice(rest);
        self.carried = rest.len();
        Some(end)
    }

    /// The next chunk: the first `end` bytes of `buffer`.
    fn chunk(&mut self, buffer: Buffer, end: usize, is_pooled: bool) -> Chunk {
        let offset = self.offset;
        self.offset += end as u64;
        let (place, part_start) = (self.supply.place(), self.supply.part_start());
        Chunk {
            buffer,
            start: 0,
            end,
            part: place.part,
            part_start,
            piece_start: place.start,
            offset,
            is_pooled,
        }
    }
}
