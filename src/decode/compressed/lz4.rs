//! A walk along a frame of lz4, which shows whether it was read to its end.
//!
//! *Owns:* a walk along the parts of a frame while its decoder reads them: the crate's decoder gives no bytes at the
//! end of a frame, but also at a block without bytes, and where blocks are missing. *Invariants:* every byte that the
//! decoder gets is walked over once. *Cost:* a few instructions for each read.
//!
//! ```text
//!  magic 4 │ flags 1 │ block size 1 │ content size 0 or 8 │ dictionary 0 or 4 │ checksum 1
//!  then blocks:   size 4 │ data │ checksum 0 or 4
//!  at the end:    zero 4 │ checksum of the content 0 or 4
//! ```
//!
//! *Sources:* the LZ4 frame format 1.6.4.

use std::io::{self, Read};

use crate::decode::compressed::source::CompressedSource;

/// A source that knows where in a frame it is.
pub(super) struct Lz4Source<'a> {
    source: CompressedSource<'a>,
    part: FramePart,
    flags: u8,
    /// True if the decoder asked for more than there is.
    is_cut_short: bool,
}

/// The part of a frame that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FramePart {
    /// The header, of which this many bytes were read.
    Header(u64),
    /// The size of a block, of which these bytes were read.
    Size(u64, u32),
    /// This many bytes of a block and its checksum.
    Block(u64),
    /// This many bytes of the checksum of the content; none at the end of the frame.
    End(u64),
}

impl<'a> Lz4Source<'a> {
    /// Stands before a frame.
    pub(super) fn new(source: CompressedSource<'a>) -> Self {
        Self {
            source,
            part: FramePart::Header(0),
            flags: 0,
            is_cut_short: false,
        }
    }

    /// Returns true if the frame is complete.
    pub(super) fn is_at_end(&self) -> bool {
        self.part == FramePart::End(0)
    }

    /// Returns true if the source ended before the frame.
    pub(super) fn is_cut_short(&self) -> bool {
        self.is_cut_short && !self.is_at_end()
    }

    /// Returns the source that it reads.
    pub(super) fn source(&self) -> &CompressedSource<'a> {
        &self.source
    }

    /// Returns the source that it has read.
    pub(super) fn into_source(self) -> CompressedSource<'a> {
        self.source
    }

    /// Walks over `bytes`.
    fn walk(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first() {
            let mut walked = 1;
            self.part = match self.part {
                FramePart::Header(read) => {
                    if read == 4 {
                        self.flags = byte;
                    }
                    let sizes = self.if_flag(3, 8) + self.if_flag(0, 4);
                    if read > 4 && read + 1 == 7 + sizes {
                        FramePart::Size(0, 0)
                    } else {
                        FramePart::Header(read + 1)
                    }
                }
                FramePart::Size(3, size) => match size | u32::from(byte) << 24 {
                    0 => FramePart::End(self.if_flag(2, 4)),
                    // The highest bit says that the data are not compressed.
                    size => {
                        let left = u64::from(size & 0x7fff_ffff) + self.if_flag(4, 4);
                        if left == 0 {
                            FramePart::Size(0, 0)
                        } else {
                            FramePart::Block(left)
                        }
                    }
                },
                FramePart::Size(read, size) => {
                    FramePart::Size(read + 1, size | u32::from(byte) << (8 * read))
                }
                FramePart::Block(left) => {
                    walked = (left as usize).min(bytes.len());
                    match left - walked as u64 {
                        0 => FramePart::Size(0, 0),
                        left => FramePart::Block(left),
                    }
                }
                FramePart::End(left) => FramePart::End(left.saturating_sub(1)),
            };
            bytes = if walked == 1 { rest } else { &bytes[walked..] };
        }
    }

    /// Returns `bytes` if this bit of the flags is set, else 0.
    fn if_flag(&self, bit: u32, bytes: u64) -> u64 {
        u64::from(self.flags >> bit & 1) * bytes
    }
}

impl Read for Lz4Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.is_cut_short |= read == 0 && !buffer.is_empty();
        self.walk(&buffer[..read]);
        Ok(read)
    }
}
