//! Compressed inputs: recognised by their first bytes, decoded to their last.
//!
//! *Owns:* the formats, their decoders, and what may follow what in a file. *Invariants:* a compressed input gives all
//! of its bytes, or the run fails; a decoder has the memory that the budget granted for it.
//!
//! ```text
//!  file or pipe ──▶ Source: 64 KiB that can be looked into
//!                     │ Decoder: which frame comes next, and the memory for it
//!                     └─▶ Frame: the decoder of one format ──▶ chunk buffer
//! ```
//!
//! The thread that reads an input decodes it, while the workers hash its lines. Where there are several files, or
//! one that says where its frames begin ([`borders`]), each worker decodes a piece of its own
//! ([`crate::input::pieces`]).
//!
//! *Cost:* a thread for as long as decoding takes; see [`mod@format`] for the memory.

mod borders;
pub(crate) mod decoder;
pub(crate) mod format;
mod frame;
mod lz4;
mod piece;
pub(crate) mod source;
// Its data comes from data-gen, with which the feature comes, too: neither is in the package of the registry.
#[cfg(all(test, feature = "internals"))]
mod tests;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

pub(crate) use borders::border_after;
pub(crate) use decoder::Decoder;
#[cfg(feature = "parquet")]
pub(crate) use decoder::least_for_decoding;
pub(crate) use format::{HEADER_BYTES, Signature, decoder_bytes, recognise};
pub(crate) use piece::PieceDecoder;
pub(crate) use source::{CompressedSource, SOURCE_BYTES};

/// The share of the memory that decoders get in any case, as one by this number: what a pipe needs, and a later frame
/// of a file, shows too late for the plan.
pub(crate) const UNPLANNED_SHARE: u64 = 32;
/// The most bytes for that: what the largest presets of gzip, bzip2, xz, lz4 and zstd take, except for --ultra and
/// --long of zstd.
pub(crate) const MOST_UNPLANNED_BYTES: u64 = 72 << 20;

/// The most frames that mean nothing which are passed over to find the header of one that does.
const MOST_SKIPPED: usize = 16;

/// The cost of decoding an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoding {
    /// Memory while it is read, in bytes, going by its first frame.
    pub memory_bytes: u64,
    /// A decoded byte costs as much time as this many that are written or read.
    pub cost: u64,
    /// The most pieces of it that can be decoded at the same time: files, or what a file is made of.
    pub pieces: u64,
}

/// Estimates the pieces of a file of `size` bytes that can be decoded at the same time.
fn pieces_of(file: &File, size: u64) -> io::Result<u64> {
    let border = border_after(file, 0, size)?;
    Ok(border.map_or(1, |border| size.div_ceil(border)))
}

/// Recognises a file of `size` bytes by its first bytes.
///
/// # Errors
/// Where it cannot be read.
pub(crate) fn signature_of(file: &File, size: u64) -> io::Result<Signature> {
    let mut front = [0; HEADER_BYTES];
    let front = bytes_at(file, 0, size, &mut front)?;
    Ok(recognise(front, front.len() as u64 == size))
}

/// Reads the bytes of a file of `size` bytes from `start`, until `buffer` is full; none where the file has
/// become shorter, which the next look at it shows.
fn bytes_at<'b>(file: &File, start: u64, size: u64, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
    let left = size.saturating_sub(start);
    let wanted = left.min(buffer.len() as u64) as usize;
    match file.read_exact_at(&mut buffer[..wanted], start) {
        Ok(()) => Ok(&buffer[..wanted]),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(&[]),
        Err(error) => Err(error),
    }
}

impl Decoding {
    /// The least that the plan sets aside for what shows its format only when it is read: it may turn out to be gzip.
    pub(crate) const OF_PIPE: Self = Self {
        memory_bytes: SOURCE_BYTES + (64 << 10),
        cost: 0,
        pieces: 1,
    };

    /// Computes what decoding a file of `size` bytes takes, from the header of its first frame that has content; `None`
    /// where it is not compressed.
    pub(crate) fn of_file(file: &File, size: u64) -> io::Result<Option<Self>> {
        let mut front = [0; HEADER_BYTES];
        let mut start = 0;
        // What pzstd writes begins with a frame that means nothing.
        for _ in 0..MOST_SKIPPED {
            let front = bytes_at(file, start, size, &mut front)?;
            match recognise(front, front.len() as u64 == size.saturating_sub(start)) {
                Signature::Skippable(bytes) if start + bytes < size => start += bytes,
                Signature::Frame(compression) => {
                    return Ok(Some(Self {
                        memory_bytes: SOURCE_BYTES + decoder_bytes(compression, front),
                        cost: compression.cost(),
                        pieces: pieces_of(file, size)?,
                    }));
                }
                Signature::Plain | Signature::Unclear if start == 0 => return Ok(None),
                // What follows is not known, or refused when it is read.
                _ => break,
            }
        }
        Ok(Some(Self::OF_PIPE))
    }

    /// Adds the decoding of other files: the larger memory and the larger cost of both, and the pieces of each.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            memory_bytes: self.memory_bytes.max(other.memory_bytes),
            cost: self.cost.max(other.cost),
            pieces: self.pieces + other.pieces,
        }
    }
}
