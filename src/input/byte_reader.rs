//! The bytes that are cut in order: those of a pipe, and of files that are decoded or whose rows become records.
//!
//! *Owns:* the choice between bytes as they are and decoded ones, and the way from one piece of an input to the next.
//!
//! *Invariants.*
//! - What a pipe carries is recognised by its first bytes when they come, not before: opening never waits for a writer.
//! - The bytes of a file or piece end where it does: [`ByteReader::fill`] ends there, and [`ByteReader::next_piece`]
//!   goes on.
//! - A file is compared with the one that was checked at the start when it was read, also where decoding it fails: that
//!   it changed is the better reason.
//!
//! *Cost:* what a decoder takes, if there is one.

use std::io::{Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::decode::compressed::{
    CompressedSource, Decoder, PieceDecoder, SOURCE_BYTES, Signature, recognise,
};
use crate::decode::file_format::FileFormat;
use crate::decode::io_error::unreadable;
use crate::decode::parquet::Rows;
use crate::decode::stream::{Filled, StoppableStream};
use crate::error::{Error, Result};
use crate::input::parts::{Padding, Parts};
use crate::input::pieces::{Piece, Pieces};
use crate::memory::budget::MemoryBudget;
use crate::selection::MOST_ORDERED_BYTES;
use crate::temp::copy::CopyReader;

/// A reader of the bytes of an input, in order.
pub(crate) struct ByteReader<'a> {
    bytes: Bytes<'a>,
    /// True if what is compressed is decoded, of streams.
    decodes: bool,
    following: Option<Following<'a>>,
    name: &'a Path,
    padding: &'a Padding,
    budget: MemoryBudget,
    /// Bytes that were given of this stream or file.
    given_bytes: u64,
    /// Copies of bytes that were given before their turn, and come again: the last of them first.
    again: Vec<CopyReader<'a>>,
    /// True if `bytes` has given all.
    is_spent: bool,
}

/// The way in which a stream is read.
enum Bytes<'a> {
    /// Nothing has come yet. It may be compressed.
    Unknown(StoppableStream<'a>),
    Plain(StoppableStream<'a>),
    Decoded(Box<Decoder<'a>>),
    Piece(Box<PieceDecoder<'a>>),
    Rows(Box<Rows<'a>>),
    /// It failed.
    None,
}

/// Streams that are read one after the other, such as the outputs of commands.
pub(crate) trait Streams: Sync {
    /// Counts them.
    fn count(&self) -> usize;

    /// Returns the name of one in messages, by its number.
    fn name(&self, number: usize) -> &Path;

    /// Opens the one with this number, whose reading `stop` can end.
    ///
    /// # Errors
    /// Where that fails.
    fn open<'a>(
        &self,
        number: usize,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
    ) -> Result<StoppableStream<'a>>;
}

/// The way to the next piece of an input.
enum Way<'a> {
    /// The pieces of files, and the rules for reading each.
    Pieces(Arc<Pieces<'a>>, PieceOpening<'a>),
    /// Streams, each of which is a piece, and what stops the reading.
    Streams(&'a dyn Streams, &'a (dyn Fn() -> Result<()> + Sync)),
}

/// The pieces of an input, one after the other.
struct Following<'a> {
    way: Way<'a>,
    /// The one that is read.
    piece: Piece,
    /// The bytes of the streams before it; 0 for files.
    streams_before: u64,
}

/// The rules for reading a piece.
#[derive(Clone)]
pub(crate) struct PieceOpening<'a> {
    /// The byte that ends a line.
    pub(crate) terminator: u8,
    /// Returns an error when the run is to stop.
    pub(crate) stop: &'a (dyn Fn() -> Result<()> + Sync),
    /// Grants the memory of the decoder.
    pub(crate) budget: MemoryBudget,
    /// True if the rows of tables come as [`prefixed`](crate::lines::prefixed) lines, in place of text.
    pub(crate) are_prefixed: bool,
}

impl<'a> ByteReader<'a> {
    /// Makes the reader of the bytes of the pipe that messages call `name`; what is passed over at its end goes to
    /// `padding`. If it is to be decoded, the decoder gets its memory from `budget`.
    pub(crate) fn of_stream(
        stream: StoppableStream<'a>,
        name: &'a Path,
        decodes: bool,
        padding: &'a Padding,
        budget: &MemoryBudget,
    ) -> Self {
        Self {
            bytes: of_stream(stream, decodes),
            decodes,
            following: None,
            name,
            padding,
            budget: budget.clone(),
            given_bytes: 0,
            again: Vec::new(),
            is_spent: false,
        }
    }

    /// Makes the reader of the bytes of those of `pieces` that it claims; `None` if there are none left.
    ///
    /// # Errors
    /// As [`Pieces::claim`] and [`Parts::open`], of the first.
    pub(crate) fn of_pieces(
        pieces: &Arc<Pieces<'a>>,
        opening: PieceOpening<'a>,
    ) -> Result<Option<Self>> {
        let Some(piece) = pieces.claim()? else {
            return Ok(None);
        };
        let first = Self::of_piece(pieces.parts(), piece, &opening)?;
        Ok(Some(Self {
            following: Some(Following {
                way: Way::Pieces(Arc::clone(pieces), opening),
                piece,
                streams_before: 0,
            }),
            ..first
        }))
    }

    /// Returns the same reader of the first of `streams`, which goes on to the others for as long as `stop` lets it.
    pub(crate) fn followed_by(
        self,
        streams: &'a dyn Streams,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
    ) -> Self {
        Self {
            following: Some(Following {
                way: Way::Streams(streams, stop),
                piece: Piece::whole(0),
                streams_before: 0,
            }),
            ..self
        }
    }

    /// Makes the reader of the bytes of one piece of a file.
    ///
    /// # Errors
    /// As [`Parts::open`].
    pub(crate) fn of_piece(
        parts: &'a Parts,
        piece: Piece,
        opening: &PieceOpening<'a>,
    ) -> Result<Self> {
        Ok(Self {
            bytes: open(parts, piece, opening)?,
            decodes: true,
            following: None,
            name: parts.name(piece.part),
            padding: parts.padding(),
            budget: opening.budget.clone(),
            given_bytes: 0,
            again: Vec::new(),
            is_spent: false,
        })
    }

    /// Makes the reader of the bytes of one file, which may be compressed, for a look at it that `stop` can end.
    ///
    /// # Errors
    /// As [`Parts::open`].
    pub(crate) fn of_part(
        parts: &'a Parts,
        part: usize,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
        budget: &MemoryBudget,
    ) -> Result<Self> {
        let opening = PieceOpening {
            terminator: b'\n',
            stop,
            budget: budget.clone(),
            are_prefixed: false,
        };
        Self::of_piece(parts, Piece::whole(part), &opening)
    }

    /// Counts the bytes of a file that were taken to give those that it gave; `None` if that is not known.
    pub(crate) fn taken_bytes(&self) -> Option<u64> {
        match &self.bytes {
            Bytes::Decoded(decoder) => Some(decoder.given_bytes()),
            Bytes::Piece(decoder) => Some(decoder.given_bytes()),
            Bytes::Rows(rows) => Some(rows.taken_bytes()),
            Bytes::Plain(_) => Some(self.given_bytes),
            Bytes::Unknown(_) | Bytes::None => None,
        }
    }

    /// Counts the bytes that it gave of the file or stream that is read.
    pub(crate) fn given_bytes(&self) -> u64 {
        self.given_bytes
    }

    /// Returns the piece that is read; of a pipe all of it.
    pub(crate) fn piece(&self) -> Piece {
        let following = self.following.as_ref();
        following.map_or(Piece::whole(0), |following| following.piece)
    }

    /// Returns the positions in the side that there are for the piece that is read.
    pub(crate) fn positions(&self) -> Range<u64> {
        match &self.following {
            Some(Following {
                way: Way::Pieces(pieces, _),
                piece,
                ..
            }) => pieces.parts().positions(piece.part, piece.start, piece.end),
            Some(following) => following.streams_before..MOST_ORDERED_BYTES,
            None => 0..MOST_ORDERED_BYTES,
        }
    }

    /// Reads until `buffer` is full or the stream or file has ended. Less comes of a stream whose lines are wanted
    /// promptly, and the first time of a plain one.
    ///
    /// # Errors
    /// As [`StoppableStream::fill`] and [`Decoder::fill`].
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<Filled> {
        match self.fill_any(buffer) {
            Ok(filled) => {
                self.given_bytes += filled.bytes as u64;
                if filled.is_ended {
                    self.note_padding();
                }
                Ok(filled)
            }
            // That a file changed is the better reason.
            Err(error) => self.verify().and(Err(error)),
        }
    }

    /// Notes what was passed over at the end of a file.
    fn note_padding(&self) {
        let bytes = match &self.bytes {
            Bytes::Decoded(decoder) => decoder.padding(),
            Bytes::Piece(decoder) => decoder.padding(),
            _ => 0,
        };
        if bytes > 0 {
            self.padding.note(self.piece().part, bytes);
        }
    }

    /// Works as [`ByteReader::fill`], but does not look whether a file changed.
    fn fill_any(&mut self, buffer: &mut [u8]) -> Result<Filled> {
        while let Some(copy) = self.again.last_mut() {
            match copy.fill(buffer)? {
                0 => drop(self.again.pop()),
                bytes => {
                    return Ok(Filled {
                        bytes,
                        is_ended: false,
                    });
                }
            }
        }
        if self.is_spent {
            return Ok(Filled {
                bytes: 0,
                is_ended: true,
            });
        }
        let filled = self.fill_new(buffer)?;
        self.is_spent = filled.is_ended;
        Ok(filled)
    }

    /// Reads bytes that were not given before.
    fn fill_new(&mut self, buffer: &mut [u8]) -> Result<Filled> {
        match &mut self.bytes {
            Bytes::Unknown(stream) => {
                let (front, filled) = read_front(stream, buffer, self.name)?;
                self.settle(front, &buffer[..filled.bytes], filled.is_ended)?;
                match &mut self.bytes {
                    Bytes::Decoded(decoder) => decoder.fill(buffer),
                    _ => Ok(filled),
                }
            }
            Bytes::Plain(stream) => stream.fill(buffer, self.name),
            Bytes::Decoded(decoder) => decoder.fill(buffer),
            Bytes::Piece(decoder) => decoder.fill(buffer),
            Bytes::Rows(rows) => rows.fill(buffer),
            Bytes::None => Ok(Filled {
                bytes: 0,
                is_ended: true,
            }),
        }
    }

    /// Returns true if the file that is read can be read again from anywhere.
    pub(crate) fn can_seek(&self) -> bool {
        let way = self.following.as_ref().map(|following| &following.way);
        let is_file = matches!(way, Some(Way::Pieces(..))) && self.again.is_empty();
        is_file && matches!(self.bytes, Bytes::Plain(_))
    }

    /// Makes the last `bytes` that were given come again, from the copy, where there is one.
    ///
    /// # Errors
    /// As [`StoppableStream::go_back`].
    pub(crate) fn go_back(&mut self, (bytes, copy): (u64, Option<CopyReader<'a>>)) -> Result<()> {
        self.given_bytes -= bytes;
        match (copy, &mut self.bytes) {
            (Some(copy), _) => self.again.push(copy),
            (None, Bytes::Plain(stream)) => {
                stream.go_back(bytes, self.name)?;
                self.is_spent = false;
            }
            (None, _) => {}
        }
        Ok(())
    }

    /// Decides how a stream is read that begins with `read`, which is all of it or not: as it is, or by a decoder,
    /// which gets what was read.
    fn settle(&mut self, front: Signature, read: &[u8], is_ended: bool) -> Result<()> {
        self.bytes = match std::mem::replace(&mut self.bytes, Bytes::None) {
            Bytes::Unknown(stream) if front == Signature::Plain => Bytes::Plain(stream),
            Bytes::Unknown(_) if front == Signature::Parquet => {
                return Err(Error::usage(
                    format!(
                        "{}: is a Parquet file read from a pipe",
                        self.name.display()
                    ),
                    "write it to a file first (Parquet is read from its end)",
                ));
            }
            Bytes::Unknown(stream) => {
                let source =
                    CompressedSource::new(stream, self.name, &self.budget, read, is_ended)?;
                Bytes::Decoded(Box::new(Decoder::new(source, &self.budget)))
            }
            settled => settled,
        };
        Ok(())
    }

    /// Goes on to the next piece; false where there is none. To be called when one has ended.
    ///
    /// # Errors
    /// As [`Parts::open`] of the file that was read, and of the next; as [`Pieces::claim`].
    pub(crate) fn next_piece(&mut self) -> Result<bool> {
        self.verify()?;
        let Some(following) = &mut self.following else {
            return Ok(false);
        };
        // The memory of the decoder before is free for the next.
        self.bytes = Bytes::None;
        let (piece, name, bytes) = match &following.way {
            Way::Pieces(pieces, opening) => {
                let Some(piece) = pieces.claim()? else {
                    return Ok(false);
                };
                let parts = pieces.parts();
                (piece, parts.name(piece.part), open(parts, piece, opening)?)
            }
            Way::Streams(streams, stop) => {
                let next = following.piece.part + 1;
                if next == streams.count() {
                    return Ok(false);
                }
                let stream = of_stream(streams.open(next, *stop)?, self.decodes);
                (Piece::whole(next), streams.name(next), stream)
            }
        };
        following.piece = piece;
        following.streams_before += std::mem::take(&mut self.given_bytes);
        (self.name, self.bytes, self.is_spent) = (name, bytes, false);
        Ok(true)
    }

    /// Fails if the file that is read has changed.
    fn verify(&self) -> Result<()> {
        match &self.following {
            Some(Following {
                way: Way::Pieces(pieces, _),
                piece,
                ..
            }) => pieces.parts().open(piece.part).map(drop),
            _ => Ok(()),
        }
    }
}

/// Reads a stream that may be compressed, if it is to be decoded then.
fn of_stream(stream: StoppableStream<'_>, decodes: bool) -> Bytes<'_> {
    if decodes {
        Bytes::Unknown(stream)
    } else {
        Bytes::Plain(stream)
    }
}

/// Reads the first bytes of a stream, no more than a decoder reads at a time, until they tell what it is.
fn read_front(
    stream: &mut StoppableStream<'_>,
    buffer: &mut [u8],
    name: &Path,
) -> Result<(Signature, Filled)> {
    let most = buffer.len().min(SOURCE_BYTES as usize);
    let mut bytes = 0;
    loop {
        let Filled {
            bytes: more,
            is_ended,
        } = stream.fill(&mut buffer[bytes..most], name)?;
        bytes += more;
        match recognise(&buffer[..bytes], is_ended || bytes == most) {
            Signature::Unclear => {}
            front => return Ok((front, Filled { bytes, is_ended })),
        }
    }
}

/// Opens a piece of a file for reading in order.
fn open<'a>(parts: &'a Parts, piece: Piece, opening: &PieceOpening<'a>) -> Result<Bytes<'a>> {
    let Piece { part, start, end } = piece;
    let (mut file, name) = (parts.open(part)?, parts.name(part));
    let PieceOpening {
        terminator,
        stop,
        ref budget,
        are_prefixed,
    } = *opening;
    Ok(match &parts.all()[part].format {
        FileFormat::Plain => Bytes::Plain(StoppableStream::new(file, stop)),
        FileFormat::Compressed(_) if piece.is_whole() => {
            Bytes::Unknown(StoppableStream::new(file, stop))
        }
        FileFormat::Compressed(_) => {
            let moved = file.seek(SeekFrom::Start(start));
            moved.map_err(|error| unreadable(name, error))?;
            let stream = StoppableStream::new(file, stop);
            let source = CompressedSource::new(stream, name, budget, &[], false)?.from(start);
            let decoder = Decoder::new(source, budget).up_to(end);
            Bytes::Piece(Box::new(PieceDecoder::new(decoder, start == 0, terminator)))
        }
        FileFormat::Table(table) => {
            let rows = Rows::new(table, file, name, start, end, stop, budget);
            Bytes::Rows(Box::new(if are_prefixed {
                rows.with_prefixes()
            } else {
                rows
            }))
        }
    })
}
