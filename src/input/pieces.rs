//! Pieces of an input that is decoded: each is decoded from its start to its end, by one thread at a time.
//!
//! *Owns:* which pieces there are ([`Piece`]), and who decodes which: they are claimed in their order ([`Pieces`]).
//! *Invariants:* every line of the input belongs to one piece, and every piece is claimed once. *Cost:* a file is
//! opened for each piece of it, and looked into for where it ends.
//!
//! | a file | its pieces |
//! |---|---|
//! | plain, or compressed as a whole | the file |
//! | of BGZF, or by pzstd | frames of 1 MiB or more, with the lines that begin in them |
//! | Parquet | row groups with 65,536 rows or more |

use crate::decode::compressed::border_after;
use crate::decode::file_format::FileFormat;
use crate::decode::io_error::unreadable;
use crate::error::Result;
use crate::input::parts::Parts;
use crate::sys::sync::Mutex;

/// A piece of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The number of its file.
    pub(crate) part: usize,
    /// Its beginning in the file: a byte of a compressed file, a row group of a Parquet file; 0 at its beginning.
    pub(crate) start: u64,
    /// The beginning of the next piece; `None` for the last of a file.
    pub(crate) end: Option<u64>,
}

impl Piece {
    /// Makes a piece of a whole file.
    pub(crate) fn whole(part: usize) -> Self {
        Self {
            part,
            start: 0,
            end: None,
        }
    }

    /// Makes a piece of all that comes before `start` in a file.
    pub(crate) fn before(part: usize, start: u64) -> Self {
        Self {
            part,
            start: 0,
            end: Some(start),
        }
    }

    /// Returns true if it is a whole file.
    pub(crate) fn is_whole(&self) -> bool {
        *self == Self::whole(self.part)
    }
}

/// The pieces of an input that nobody has claimed yet.
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    parts: &'a Parts,
    cuts: Cuts,
    /// The beginning of the next one: a file, and an offset in it as in [`Piece::start`].
    next: Mutex<(usize, u64)>,
}

/// The offsets at which files are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cuts {
    /// Nowhere: each file is one piece.
    None,
    /// Between rows, but not within lines: where these end shows only from the start of a file on.
    Rows,
    /// Wherever files say that a frame begins, and between rows.
    All,
}

impl<'a> Pieces<'a> {
    /// Makes the queue of all pieces of the files.
    pub(crate) fn new(parts: &'a Parts, cuts: Cuts) -> Self {
        Self {
            parts,
            cuts,
            next: Mutex::new((0, 0)),
        }
    }

    /// Returns the files.
    pub(crate) fn parts(&self) -> &'a Parts {
        self.parts
    }

    /// Claims the next piece; `None` if there are no more.
    ///
    /// # Errors
    /// As [`Parts::open`], of the file that it is of, where that is looked into.
    pub(crate) fn claim(&self) -> Result<Option<Piece>> {
        let mut next = self.next.lock();
        let (part, start) = *next;
        if part == self.parts.all().len() {
            return Ok(None);
        }
        let end = self.end(part, start)?;
        *next = end.map_or((part + 1, 0), |end| (part, end));
        Ok(Some(Piece { part, start, end }))
    }

    /// Finds the end of the piece that begins at `start` of a file.
    fn end(&self, part: usize, start: u64) -> Result<Option<u64>> {
        let about = &self.parts.all()[part];
        match (&about.format, self.cuts) {
            (FileFormat::Compressed(decoding), Cuts::All) if decoding.pieces > 1 => {
                let file = self.parts.open(part)?;
                let border = border_after(&file, start, about.state.size);
                border.map_err(|error| unreadable(self.parts.name(part), error))
            }
            (FileFormat::Table(table), Cuts::All | Cuts::Rows) => Ok(table.piece_end(start)),
            _ => Ok(None),
        }
    }
}
