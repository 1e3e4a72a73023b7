//! Formats of many frames that say how long each is.
//!
//! *Owns:* BGZF, and what pzstd writes. *Invariants:* a frame has the bytes that it says, and a decoder of the plain
//! format reads all of them. *Cost:* a frame, as it is and compressed.
//!
//! *Sources:* BGZF is section 4.1 of the SAM specification, pzstd's frames are described in contrib/pzstd of zstd.

use std::io::{self, Write};

use flate2::GzBuilder;

/// The way in which frames say their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// In a field of the header of each member; an empty one is the last.
    Bgzf,
    /// In a skippable frame before each.
    Pzstd,
}

impl Framing {
    /// Returns the most bytes of a frame.
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
                let mut member = bgzf_member(content, flate2::Compression::fast())?;
                if member.len() > MOST_MEMBER_BYTES {
                    // Random bytes grow at the fastest level, by up to an eighth; stored they grow by a few.
                    member = bgzf_member(content, flate2::Compression::none())?;
                }
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

/// The most bytes of a member of BGZF: its size less one is in two bytes.
const MOST_MEMBER_BYTES: usize = 1 << 16;

/// `content` as a gzip member with room for its size in bytes 16 and 17.
fn bgzf_member(content: &[u8], level: flate2::Compression) -> io::Result<Vec<u8>> {
    let field = GzBuilder::new().extra(&b"BC\x02\0\0\0"[..]);
    let mut encoder = field.write(Vec::new(), level);
    encoder.write_all(content)?;
    encoder.finish()
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

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// Bytes that no compressor makes smaller: SplitMix64.
    fn random_bytes(count: usize) -> Vec<u8> {
        let mut state = 0_u64;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)).to_le_bytes()
        };
        std::iter::repeat_with(&mut next)
            .flatten()
            .take(count)
            .collect()
    }

    #[test]
    fn frames_hold_bytes_that_grow() -> io::Result<()> {
        let content = random_bytes(300_000);
        for framing in [Framing::Bgzf, Framing::Pzstd] {
            let mut writer = FramedWriter::new(framing, Vec::new());
            writer.write_all(&content)?;
            let file = writer.finish()?;
            let mut read = Vec::new();
            match framing {
                Framing::Bgzf => {
                    flate2::read::MultiGzDecoder::new(&file[..]).read_to_end(&mut read)?
                }
                Framing::Pzstd => {
                    zstd::stream::read::Decoder::new(&file[..])?.read_to_end(&mut read)?
                }
            };
            assert!(read == content, "{framing:?}");
        }
        Ok(())
    }
}
