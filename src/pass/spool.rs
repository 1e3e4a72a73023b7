//! Copying a pipe to temporary space, for a strategy that must read it more than once.
//!
//! *Owns:* nothing beyond the copy. *Invariants:* a copy has every byte of its stream, as it is, and is counted
//! against the cap on temporary disk as it grows. *Cost:* one buffer of memory; the streams' sizes on disk.

use crate::error::Result;
use crate::input::Input;
use crate::memory::buffer::Buffer;
use crate::run::Run;
use crate::temp::copy::Copy;

/// Replaces a stream by a file with its content, and several streams by as many files; a regular file is returned as it
/// is. Runs on the calling thread: a pipe has one reader, and the copy is as fast as its writer.
///
/// # Errors
/// [`crate::Error::Temp`] or [`crate::Error::TempLimit`] where the copy finds no room; what reading returns.
pub(crate) fn spool(run: &Run<'_>, input: Input) -> Result<Input> {
    if input.is_file() {
        return Ok(input);
    }
    let mut buffer = Buffer::new(&run.budget, "spool", run.layout.scan.chunk_bytes)?;
    let phase = run.phase("spool", None);
    let copy = |number| {
        let stop = || run.interrupt().check();
        let (mut stream, name) = (input.take_stream(number, &stop)?, input.part_name(number));
        let mut copy = Copy::new(run.space, "spool")?;
        loop {
            let filled = stream.fill(&mut buffer, name)?.bytes;
            copy.append(&mut buffer, filled)?;
            phase.advance(filled as u64, 0);
            // A buffer is only left with room at the end of the stream.
            if filled < buffer.len() {
                return copy.keep();
            }
        }
    };
    let copies = (0..input.part_count()).map(copy).collect::<Result<_>>()?;
    input.spooled(copies)
}
