//! The first failure of a reading, and where it is.
//!
//! *Owns:* the location of a line that fails a reading, until it is looked up. Threads that decode pieces of a file
//! know where a line is in its piece; where that is in the file shows only by decoding the file up to there.
//!
//! 1. The thread that fails notes the error with the location in the piece.
//! 2. The other threads stop, as after any failure. When all have ended, the reading and its decoders are dropped.
//! 3. The calling thread looks up the location: it has the memory of the decoders for itself, and nobody does the same.
//!
//! *Invariants:* the location belongs to the error that is reported. *Cost:* decoding the file up to the line, once, if
//! the reading fails.

use std::sync::OnceLock;

use crate::decode::compressed::SOURCE_BYTES;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::input::byte_reader::{ByteReader, PieceOpening};
use crate::input::keying::Taken;
use crate::input::parts::Parts;
use crate::input::pieces::Piece;
use crate::reading::location::Location;
use crate::record::MOST_HEADER_BYTES;
use crate::sys::first_error::FirstFailure;

/// A [`FirstFailure`] that may be of a line.
#[derive(Debug, Default)]
pub(crate) struct LocatedFailure {
    first: FirstFailure,
    /// The location of the line that the first failure is about; not set where it is about none.
    location: OnceLock<Location>,
}

impl LocatedFailure {
    /// Returns the failure that all threads look at.
    pub(crate) fn first(&self) -> &FirstFailure {
        &self.first
    }

    /// Notes `error` of the line at `location`, unless there is one already. Returns what the thread is to end with.
    pub(crate) fn note_at(&self, location: Location, error: Error) -> Error {
        // A cause that was kept is never replaced, so nobody else sets the location.
        if self.first.note(error) {
            _ = self.location.set(location);
        }
        Error::Interrupted
    }

    /// Returns the first failure of a pass that reads no input: its errors say where they are. To be called when all
    /// threads have ended.
    pub(crate) fn into_unlocated(self) -> Result<()> {
        self.first.into_result()
    }

    /// Returns the first failure, with the location of its line in the file. To be called when all threads have ended
    /// and nothing of `input` is decoded any more: `opening` grants a decoder as much as all of them had.
    pub(crate) fn into_result(self, input: &Input, opening: &PieceOpening<'_>) -> Result<()> {
        let result = self.first.into_result();
        let Some(location) = self.location.into_inner() else {
            return result;
        };
        result.map_err(|mut error| {
            match &mut error {
                Error::BadRecord { line, offset, .. } => {
                    (*line, *offset) = input.location_of(location, opening);
                }
                Error::NotAnAddress { offset, .. } | Error::LineTooLong { offset, .. } => {
                    *offset = input.taken(location.part).bytes + input.offset_of(location, opening);
                }
                _ => {}
            }
            error
        })
    }
}

impl Input {
    /// Finds `location` for the user: its line, from 1, or `None` if lines cannot be counted, and its offset. The
    /// header of a stream counts, too.
    pub(crate) fn location_of(
        &self,
        location: Location,
        opening: &PieceOpening<'_>,
    ) -> (Option<u64>, u64) {
        let offset = self.offset_of(location, opening);
        let Taken { bytes, lines, .. } = self.taken(location.part);
        let line = self
            .parts()
            .map(|parts| lines_before(parts, location.part, offset, opening));
        let line = line.and_then(Result::ok).map(|before| lines + before + 1);
        (line, bytes + offset)
    }

    /// Finds `location` in its file or stream, in decoded bytes; in its piece where the file can no longer be decoded
    /// up to there.
    pub(crate) fn offset_of(&self, location: Location, opening: &PieceOpening<'_>) -> u64 {
        let before = self
            .parts()
            .map(|parts| bytes_before(parts, location, opening));
        before.and_then(Result::ok).unwrap_or(0) + location.offset
    }
}

/// Counts the lines that end in the bytes of a file before `offset`.
fn lines_before(
    parts: &Parts,
    part: usize,
    offset: u64,
    opening: &PieceOpening<'_>,
) -> Result<u64> {
    let mut reader = ByteReader::of_part(parts, part, opening.stop, &opening.budget)?;
    let (mut buffer, mut left, mut lines) = (vec![0; MOST_HEADER_BYTES], offset, 0);
    while left > 0 {
        let filled = reader.fill(&mut buffer)?;
        let before = left.min(filled.bytes as u64) as usize;
        lines += memchr::memchr_iter(opening.terminator, &buffer[..before]).count() as u64;
        left -= before as u64;
        if filled.is_ended {
            break;
        }
    }
    Ok(lines)
}

/// Counts the decoded bytes of a file before the piece that has `location`: the file is decoded up to there.
///
/// # Errors
/// As [`Parts::open`] and [`ByteReader::fill`].
fn bytes_before(parts: &Parts, location: Location, opening: &PieceOpening<'_>) -> Result<u64> {
    if location.piece_start == 0 {
        return Ok(0);
    }
    let piece = Piece::before(location.part, location.piece_start);
    let mut reader = ByteReader::of_piece(parts, piece, opening)?;
    let mut buffer = vec![0; SOURCE_BYTES as usize];
    while !reader.fill(&mut buffer)?.is_ended {}
    Ok(reader.given_bytes())
}
