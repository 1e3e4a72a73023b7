//! The beginnings of the frames of a compressed file, as far as the file tells them itself.
//!
//! *Owns:* the two layouts that say it, and cutting a file into pieces of them, so that several threads decode it.
//! *Invariants:* a border is only where the file says that a frame begins, and where one is recognised. That it is true
//! shows when the piece before it is decoded, whose last frame must end there. *Cost:* a look at each frame's header:
//! 60 of BGZF for each piece.
//!
//! ```text
//!  BGZF    │ 1f 8b 08 04 ··· "BC" 2 size-1 │ deflated, up to 64 KiB of content │ sum, size │ 1f 8b ···
//!  pzstd   │ 50 2a 4d 18 4 size │ frame of zstd, of that size │ 50 2a 4d 18 4 size │ ···
//! ```
//!
//! *Sources:* BGZF is section 4.1 of the SAM specification, pzstd's frames are described in contrib/pzstd of zstd.

use std::fs::File;
use std::io;

use crate::decode::compressed::bytes_at;
use crate::decode::compressed::format::{CompressionFormat, HEADER_BYTES, Signature, recognise};

/// The least bytes of a piece in the file: enough to make up for the line that two of them decode. Tests have
/// small files.
pub(crate) const PIECE_BYTES: u64 = if cfg!(test) { 300 } else { 1 << 20 };

/// The bytes of an empty block, which is the last of a file.
pub(super) const MARKER_BYTES: u64 = 28;
/// The fixed front of a gzip member with extra fields: magic, method, flags.
const GZIP_WITH_EXTRA: [u8; 4] = [0x1f, 0x8b, 8, 4];
/// The offset of the extra fields of a gzip member, after their length.
const EXTRA: usize = 12;
/// The field of BGZF, and how many bytes it has.
const BLOCK_SIZE: [u8; 4] = [b'B', b'C', 2, 0];
/// The bytes that pzstd puts before each frame: a skippable frame with the size of the next.
pub(super) const FRAME_SIZE: [u8; 8] = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0];
/// The bytes of that.
const FRAME_SIZE_BYTES: usize = 12;

/// Finds the first border that is [`PIECE_BYTES`] or more after the one at `start`, in a file of `size` bytes; `None`
/// where there is none, or the file does not say.
///
/// # Errors
/// Where the file cannot be read.
pub(crate) fn border_after(file: &File, start: u64, size: u64) -> io::Result<Option<u64>> {
    let mut border = start;
    loop {
        let Some(end) = frame_end(file, border, size)? else {
            return Ok(None);
        };
        if border >= start + PIECE_BYTES {
            return Ok(Some(border));
        }
        border = end;
    }
}

/// Finds the end of the frame at `start`; `None` if no frame begins that tells it, and where it is not in the file.
fn frame_end(file: &File, start: u64, size: u64) -> io::Result<Option<u64>> {
    let mut header = [0; HEADER_BYTES];
    let header = bytes_at(file, start, size, &mut header)?;
    let bytes = block_bytes(header).or_else(|| frame_bytes(header));
    Ok(bytes.map(|bytes| start + bytes).filter(|&end| end <= size))
}

/// Counts the bytes of the BGZF block that begins with `header`.
pub(super) fn block_bytes(header: &[u8]) -> Option<u64> {
    if !header.starts_with(&GZIP_WITH_EXTRA) {
        return None;
    }
    let field = header.get(EXTRA..EXTRA + 6)?;
    let [low, high] = field.strip_prefix(&BLOCK_SIZE)? else {
        return None;
    };
    Some(u64::from(u16::from_le_bytes([*low, *high])) + 1)
}

/// Counts the bytes of the frame of zstd that begins with `header`, and of its size before it.
fn frame_bytes(header: &[u8]) -> Option<u64> {
    let (size, frame) = header.strip_prefix(&FRAME_SIZE)?.split_first_chunk()?;
    let is_frame = recognise(frame, false) == Signature::Frame(CompressionFormat::Zstd);
    is_frame.then(|| FRAME_SIZE_BYTES as u64 + u64::from(u32::from_le_bytes(*size)))
}
