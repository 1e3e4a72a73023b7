//! Copying a pipe to temporary space, for a strategy that must read it more than once.
//!
//! *Owns:* nothing beyond the copy. *Invariants:* the copy has every byte of the stream and is
//! counted against the cap on temporary disk as it grows. *Cost:* one buffer of memory; the
//! stream's size on disk.

use crate::error::Result;
use crate::input::Input;
use crate::memory::buffer::Buffer;
use crate::run::Run;
use crate::temp::space::{TempSpace, padded};

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
    let mut stream = input.take_stream(&stop)?;
    let space = run.space;
    let copy = space.new_path("spool")?;
    let mut buffer = Buffer::new(&run.budget, "spool", run.layout.chunk_bytes)?;
    let phase = run.phase("spool", None);
    let mut offset = 0;
    loop {
        let filled = stream.fill(&mut buffer, input.name())?.bytes;
        // Direct writes are of whole pages; the last one is cut off below.
        let length = padded(filled as u64) as usize;
        // An empty copy is a file, too.
        if filled > 0 || offset == 0 {
            buffer[filled..length].fill(0);
            space.write(&copy, offset, &buffer[..length])?;
            space.retain(length as u64);
            offset += filled as u64;
            phase.advance(filled as u64, 0);
        }
        // A buffer is only left with room at the end of the stream.
        if filled < buffer.len() {
            break;
        }
    }
    TempSpace::set_len(&copy, offset)?;
    input.spooled(copy.path)
}
