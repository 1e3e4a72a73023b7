//! Copying a pipe to temporary space, for a strategy that must read it more than once.
//!
//! *Owns:* nothing beyond the copy. *Invariants:* the copy has every byte of the stream and is
//! counted against the cap on temporary disk as it grows. *Cost:* one buffer of memory; the
//! stream's size on disk.

use crate::error::Result;
use crate::input::Input;
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
    let mut stream = input.take_stream(&stop)?;
    let mut copy = Copy::new(run.space, "spool")?;
    let mut buffer = Buffer::new(&run.budget, "spool", run.layout.scan.chunk_bytes)?;
    let phase = run.phase("spool", None);
    loop {
        let filled = stream.fill(&mut buffer, input.name())?.bytes;
        copy.append(&mut buffer, filled)?;
        phase.advance(filled as u64, 0);
        // A buffer is only left with room at the end of the stream.
        if filled < buffer.len() {
            break;
        }
    }
    input.spooled(copy.keep()?)
}
