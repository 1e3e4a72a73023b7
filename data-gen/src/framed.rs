//! Formats of many frames that say how long each is.
//!
//! *Owns:* BGZF, and what pzstd writes. *Invariants:* a frame has the bytes that it says, and a decoder of the plain format
//! reads all of them. *Cost:* a frame, as it is and compressed.
//!
//! *Sources:* BGZF is section 4.1 of the SAM specification, pzstd's frames are described in contrib/pzstd of zstd.

use std::io::{self, Write};

use flate2::GzBuilder;

/// How frames say their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// In a field of the header of each member; an empty one is the last.
    Bgzf,
    /// In a skippable frame before each.
    Pzstd,
}

impl Framing {
    /// What a frame has at most, in bytes.
    fn most_bytes(self) -> usize {
        match self {
            Self::Bgzf => 0xff00,
            Self::Pzstd => 256 << 10,
        }
    }

    /// `content` as a frame.
    fn frame(self, content: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Bgzf => {
                // The last two bytes are those for the size, less one.
                let field = GzBuilder::new().extra(&b"BC\x02\0\0\0"[..]);
                let mut encoder = field.write(Vec::new(), flate2::Compression::fast());
                encoder.write_all(content)?;
                let mut member = encoder.finish()?;
                let size = u16::try_from(member.len() - 1).map_err(io::Error::other)?;
                member[16..18].copy_from_slice(&size.to_le_bytes());
                Ok(member)
            }
            Self::Pzstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1)?;
                encoder.include_checksum(true)?;
                encoder.write_all(content)?;
                let frame = encoder.finish()?;
                let size = u32::try_from(frame.len()).map_err(io::Error::other)?;
                let before = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0];
                Ok([&before[..], &size.to_le_bytes(), &frame].concat())
            }
        }
    }
}

/// Writes frames.
pub(crate) struct FramedWriter<W> {
    framing: Framing,
    output: W,
    content: Vec<u8>,
}

impl<W: Write> FramedWriter<W> {
    pub(crate) fn new(framing: Framing, output: W) -> Self {
        Self {
            framing,
            output,
            content: Vec::new(),
        }
    }

    /// Writes the last frame; returns the output.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        if !self.content.is_empty() || self.framing == Framing::Pzstd {
            self.write_frame()?;
        }
        if self.framing == Framing::Bgzf {
            self.write_frame()?;
        }
        Ok(self.output)
    }

    fn write_frame(&mut self) -> io::Result<()> {
        let frame = self.framing.frame(&self.content)?;
        self.content.clear();
        self.output.write_all(&frame)
    }
}

impl<W: Write> Write for FramedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.framing.most_bytes() - self.content.len();
        let taken = bytes.len().min(room);
        self.content.extend_from_slice(&bytes[..taken]);
        if taken == room {
            self.write_frame()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
