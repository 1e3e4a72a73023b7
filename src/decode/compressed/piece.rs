//! The lines that begin in some frames of a compressed file.
//!
//! *Owns:* the borders of a piece, which lie anywhere in a line. *Invariants:* a line belongs to the piece that has the
//! byte before it, the first of the file to the first piece; so each line comes from one piece, as a whole, however
//! many it goes through. The frames of a piece end where the next one begins, or decoding fails. *Cost:* the frame
//! after a border is decoded twice, as far as the first line end.
//!
//! ```text
//!  frames   │ one⏎two⏎thr│ee⏎four⏎│fi│ve⏎six⏎ │
//!  pieces   └─── 1 ──────┴── 2 ───┴──┴── 3 ───┘
//!  lines     one two three four      five: of piece 2, which has the byte before it. Piece 3 has the line end after
//!                                    "five" and so six.
//! ```

use crate::decode::compressed::Decoder;
use crate::decode::stream::Filled;
use crate::error::Result;

/// The bytes that are decoded at a time to find the end of the last line.
const LOOKED_AT: usize = 4 << 10;

/// Decodes the lines of a piece.
pub(crate) struct PieceDecoder<'a> {
    decoder: Decoder<'a>,
    terminator: u8,
    stage: Stage,
}

/// The data that are decoded next.
enum Stage {
    /// The end of a line that begins in an earlier piece.
    Before,
    /// The frames of the piece.
    Within,
    /// The rest of the last line, which comes after them.
    Behind,
    Ended,
}

impl<'a> PieceDecoder<'a> {
    /// Gives the lines of what `decoder` decodes up to its border; all but the first where `is_first` is false. Lines
    /// end in `terminator`.
    pub(crate) fn new(decoder: Decoder<'a>, is_first: bool, terminator: u8) -> Self {
        Self {
            decoder,
            terminator,
            stage: if is_first {
                Stage::Within
            } else {
                Stage::Before
            },
        }
    }

    /// Decodes until `buffer` is full or the last line has ended.
    ///
    /// # Errors
    /// As [`Decoder::fill`].
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<Filled> {
        let mut filled = 0;
        while filled < buffer.len() && !matches!(self.stage, Stage::Ended) {
            let wanted = match self.stage {
                Stage::Behind => (buffer.len() - filled).min(LOOKED_AT),
                _ => buffer.len() - filled,
            };
            let rest = &mut buffer[filled..filled + wanted];
            let more = self.decoder.fill(rest)?;
            let line_end = memchr::memchr(self.terminator, &rest[..more.bytes]);
            let mut given = more.bytes;
            match (&self.stage, line_end) {
                (Stage::Before, None) => {
                    // A line may go through all of it.
                    if more.is_ended {
                        self.stage = Stage::Ended;
                    }
                    given = 0;
                }
                (Stage::Before, Some(end)) => {
                    rest.copy_within(end + 1..more.bytes, 0);
                    given -= end + 1;
                    self.stage = Stage::Within;
                }
                (Stage::Behind, Some(end)) => {
                    given = end + 1;
                    self.stage = Stage::Ended;
                }
                _ => {}
            }
            filled += given;
            if more.is_ended && !matches!(self.stage, Stage::Ended) {
                let goes_on = self.decoder.cross_border();
                self.stage = if goes_on { Stage::Behind } else { Stage::Ended };
            }
        }
        Ok(Filled {
            bytes: filled,
            is_ended: matches!(self.stage, Stage::Ended),
        })
    }

    /// Returns [`Decoder::padding`].
    pub(crate) fn padding(&self) -> u64 {
        self.decoder.padding()
    }

    /// Returns the offset in the file of the next byte that is taken.
    pub(crate) fn given_bytes(&self) -> u64 {
        self.decoder.given_bytes()
    }
}
