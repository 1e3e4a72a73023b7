//! The lines of a result as frames, for a reader that must know whether they are complete.
//!
//! *Owns:* the sink that writes them. *Invariants:* each frame has whole lines, with their line ends. The stream has a
//! trailer only if [`LineFrames::finish`] was called.
//!
//! *Cost:* a header for each 64 KiB of lines, and for each longer line.

use std::io::{self, Write};

use crate::exchange::frame::{FrameHeader, NOWHERE};
use crate::exchange::sender::Stream;
use crate::output::Sink;

/// A sink that writes lines as frames.
pub struct LineFrames<'s> {
    stream: Stream<'s>,
    terminator: u8,
    target: String,
    /// Number of frames written.
    number: u64,
}

impl<'s> LineFrames<'s> {
    /// Writes to `out`, which messages call `target`; each line ends in `terminator`.
    pub fn new(out: &'s mut (dyn Write + Send), terminator: u8, target: impl Into<String>) -> Self {
        Self {
            stream: Stream::new(out),
            terminator,
            target: target.into(),
            number: 0,
        }
    }

    /// Ends the stream with a trailer: the result is complete.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(self) -> io::Result<()> {
        self.stream.end(NOWHERE).map(drop)
    }

    fn frame(&mut self, lines: usize, payload: &[&[u8]]) -> io::Result<()> {
        let bytes = payload.iter().map(|piece| piece.len() as u64).sum();
        let header = FrameHeader {
            records: lines as u32,
            number: self.number,
            stored_bytes: bytes,
            decoded_bytes: bytes,
            ..FrameHeader::nothing()
        };
        self.number += 1;
        self.stream.frame(&header.seal(payload), payload).map(drop)
    }
}

impl Sink for LineFrames<'_> {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.long_line(&[], line)
    }

    fn long_line(&mut self, label: &[u8], line: &[u8]) -> io::Result<()> {
        let end = [self.terminator];
        self.frame(1, &[label, line, &end])
    }

    fn block(&mut self, block: &[u8], ends: &[usize]) -> io::Result<()> {
        self.frame(ends.len(), &[block])
    }

    fn terminator(&self) -> u8 {
        self.terminator
    }

    fn target(&self) -> String {
        self.target.clone()
    }
}
