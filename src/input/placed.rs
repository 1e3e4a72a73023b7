//! The first failure of a reading, and where it is.
//!
//! *Owns:* the place of a line that fails a reading, until it is looked up. Threads that decode pieces of a file know
//! where a line is in its piece; where that is in the file shows only by decoding the file up to there.
//!
//! 1. The thread that fails notes the error with the place in the piece.
//! 2. The other threads stop, as after any failure. When all have ended, the reading and its decoders are dropped.
//! 3. The calling thread looks up the place: it has the memory of the decoders for itself, and nobody does the same.
//!
//! *Invariants:* the place belongs to the error that is reported. *Cost:* decoding the file up to the line, once, if the
//! reading fails.

use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::input::Input;
use crate::input::chunk::Place;
use crate::input::supply::PieceOpening;
use crate::sys::first_error::FirstFailure;

/// A [`FirstFailure`] that may be of a line.
#[derive(Debug, Default)]
pub(crate) struct PlacedFailure {
    first: FirstFailure,
    /// Where the line is that the first failure is of; not set where it is of none.
    place: OnceLock<Place>,
}

impl PlacedFailure {
    /// What all threads look at.
    pub(crate) fn first(&self) -> &FirstFailure {
        &self.first
    }

    /// Notes `error` of the line at `place`, unless there is one already. Returns what the thread is to end with.
    pub(crate) fn note_at(&self, place: Place, error: Error) -> Error {
        // A cause that was kept is never replaced, so nobody else sets the place.
        if self.first.note(error) {
            _ = self.place.set(place);
        }
        Error::Interrupted
    }

    /// The first failure of a pass that reads no input: its errors say where they are. To be called when all threads have
    /// ended.
    pub(crate) fn into_unplaced(self) -> Result<()> {
        self.first.into_result()
    }

    /// The first failure, with the place of its line in the file. To be called when all threads have ended and nothing
    /// of `input` is decoded any more: `opening` grants a decoder as much as all of them had.
    pub(crate) fn into_result(self, input: &Input, opening: &PieceOpening<'_>) -> Result<()> {
        let result = self.first.into_result();
        let Some(place) = self.place.into_inner() else {
            return result;
        };
        result.map_err(|mut error| {
            match &mut error {
                Error::BadRecord { line, offset, .. } => {
                    (*line, *offset) = input.place_of(place, opening);
                }
                Error::NotAnAddress { offset, .. } | Error::LineTooLong { offset, .. } => {
                    *offset = input.offset_of(place, opening);
                }
                _ => {}
            }
            error
        })
    }
}
