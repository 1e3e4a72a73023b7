//! The exchange: lines on their way between processes, which may be on different machines.
//!
//! *Owns:* the format of frames ([`frame`]) and of what ends a stream ([`totals`]), sending them ([`sender`]), reading
//! them from a stream ([`stream`]) or of one bucket from a shard file ([`shard_file`]), and the lines of a result as
//! frames ([`lines`]). Who sends what to whom is the business of [`cluster`](mod@crate::cluster), and of the scheduler
//! that runs its commands.
//!
//! ```text
//!  │ frame │ frame │ frame │ ... │ frame of counters │ trailer │    a shard: a stream, or a file
//!      ▲        │       │                ▲    │           │
//!      └────────┼─ the frame before it ──┘    │           │
//!               └── of the same bucket ───────┘◀──────────┘
//! ```
//!
//! *Invariants.*
//! - The same bytes are a stream and a file. A stream is read from its start; a file from its end, so that the frames
//!   of one bucket are found without reading the others.
//! - A stream without a trailer is not complete, and its reader fails. A trailer that does not agree with what was read
//!   is an error as well.
//! - Nothing in a frame is trusted before its checksum was compared, but the sizes that its kind allows.
//! - Frames of several shards may be mixed in a stream in any order: each is complete in itself.
//!
//! *Cost:* LZ4 and a checksum for each byte on each side.
//!
//! *Sources:* the operator that hides where its input comes from: Graefe, "Encapsulation of Parallelism in the Volcano
//! Query Processing System", SIGMOD 1990; LZ4 blocks: <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>.

pub(crate) mod frame;
pub(crate) mod lines;
pub(crate) mod sender;
pub(crate) mod shard_file;
pub(crate) mod stream;
pub(crate) mod totals;

use std::path::Path;

use lz4_flex::block::decompress_into;

use crate::error::{Error, Result};
use crate::exchange::frame::FrameHeader;
use crate::memory::buffer::Buffer;

/// A frame that was read, its payload as it was stored.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) header: FrameHeader,
    /// The checksum that its header states.
    pub(crate) sum: u64,
    /// Begins with the payload.
    pub(crate) payload: Buffer,
    /// The byte of its stream or file at which it begins.
    pub(crate) offset: u64,
}

impl Frame {
    /// Decodes and checks the payload. `scratch` has room for the largest that can be compressed.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn open<'f>(&'f self, scratch: &'f mut [u8]) -> Result<&'f [u8], &'static str> {
        let stored = &self.payload[..self.header.stored_bytes as usize];
        let decoded = if self.header.is_compressed() {
            // The header was checked: this is no more than the scratch has.
            let room = &mut scratch[..self.header.decoded_bytes as usize];
            match decompress_into(stored, room) {
                Ok(bytes) if bytes == room.len() => &*room,
                _ => return Err("the payload of the frame cannot be decoded"),
            }
        } else {
            stored
        };
        if self.header.check(self.sum, decoded) {
            Ok(decoded)
        } else {
            Err("the checksum of the frame does not match its content")
        }
    }
}

/// Makes room for the payload of a frame: given its header, and where it begins.
pub(crate) type MakeRoom<'m> = dyn FnMut(&FrameHeader, u64) -> Result<Buffer> + 'm;

/// A stream or a file that frames of lines are read from.
pub(crate) trait Frames: Send {
    /// Reads the next frame into a buffer that `room` makes. Returns `None` at the end, if all that came agrees with
    /// the trailer, and with the counters if there are any.
    ///
    /// # Errors
    /// [`Error::BadFrames`] for what is damaged or incomplete, [`Error::Input`] where reading fails, and those of
    /// `room`.
    fn next(&mut self, room: &mut MakeRoom<'_>) -> Result<Option<Frame>>;

    /// Returns the name that messages call it by.
    fn name(&self) -> &Path;
}

/// Makes the error for something wrong at byte `offset` of the stream or file `name`.
pub(crate) fn bad_frames(name: &Path, offset: u64, what: impl Into<String>) -> Error {
    Error::BadFrames {
        path: name.to_owned(),
        offset,
        what: what.into(),
    }
}
