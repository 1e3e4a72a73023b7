//! Copying a pipe to temporary space, for a strategy that must read it more than once.
//!
//! *Owns:* nothing beyond the copy. *Invariants:* the copy has every byte of the stream and is
//! counted against the cap on temporary disk as it grows. Of several streams it has the lines: what is compressed is
//! decoded, and the last line of each stream ends. *Cost:* one buffer of memory; the stream's size on disk.

use crate::decode::stream::StoppableStream;
use crate::error::Result;
use crate::input::Input;
use crate::input::byte_reader::ByteReader;
use crate::memory::buffer::Buffer;
use crate::run::Run;
use crate::temp::copy::Copy;

/// Replaces a stream by a file with its content; a regular file is returned as it is. Runs on the calling
/// thread: a pipe has one reader, and the copy is as fast as its writer.
///
/// # Errors
/// [`crate::Error::Temp`] or [`crate::Error::TempLimit`] where the copy finds no room; what reading returns.
pub(crate) fn spool(run: &Run<'_>, input: Input) -> Result<Input> {
    if input.is_file() {
        return Ok(input);
    }
    let stop = || run.interrupt().check();
    let mut source = SpoolSource::of(run, &input, &stop)?;
    let mut copy = Copy::new(run.space, "spool")?;
    let mut buffer = Buffer::new(&run.budget, "spool", run.layout.scan.chunk_bytes)?;
    let phase = run.phase("spool", None);
    loop {
        let filled = source.fill(&mut buffer, &input)?;
        copy.append(&mut buffer, filled)?;
        phase.advance(filled as u64, 0);
        // A buffer is only left with room at the end of the stream.
        if filled < buffer.len() {
            break;
        }
    }
    drop(source);
    input.spooled(copy.keep()?)
}

/// The bytes that are copied.
enum SpoolSource<'a> {
    /// Those of one stream, as they are.
    Raw(StoppableStream<'a>),
    /// Those of several streams.
    Joined {
        reader: ByteReader<'a>,
        terminator: u8,
        /// The last byte that came.
        last: u8,
        /// True if the present stream has ended.
        is_ended: bool,
    },
}

impl<'a> SpoolSource<'a> {
    fn of(
        run: &Run<'_>,
        input: &'a Input,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
    ) -> Result<Self> {
        let (stream, terminator) = (input.take_stream(stop)?, run.options.format.terminator);
        Ok(if input.is_joined() {
            Self::Joined {
                reader: input.byte_reader(stream, &run.decoding, stop),
                terminator,
                last: terminator,
                is_ended: false,
            }
        } else {
            Self::Raw(stream)
        })
    }

    /// Fills `buffer`; less comes at the end of all streams only.
    fn fill(&mut self, buffer: &mut [u8], input: &Input) -> Result<usize> {
        let (reader, terminator, last, is_ended) = match self {
            Self::Raw(stream) => return Ok(stream.fill(buffer, input.name())?.bytes),
            Self::Joined {
                reader,
                terminator,
                last,
                is_ended,
            } => (reader, *terminator, last, is_ended),
        };
        let mut filled = 0;
        while filled < buffer.len() {
            if !*is_ended {
                let read = reader.fill(&mut buffer[filled..])?;
                filled += read.bytes;
                *is_ended = read.is_ended;
                *last = buffer[..filled].last().copied().unwrap_or(*last);
            } else if *last != terminator {
                (buffer[filled], *last) = (terminator, terminator);
                filled += 1;
            } else if reader.next_piece()? {
                *is_ended = false;
            } else {
                break;
            }
        }
        Ok(filled)
    }
}
