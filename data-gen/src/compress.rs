//! Compressing what is written.
//!
//! *Owns:* the formats that outset decodes, and their encoders. *Invariants:* the lines of a compressed file are those
//! of the plain one; encoders use little memory, so that small limits can decode what they write. *Cost:* an encoder's
//! time, on one thread.

use std::io::{self, Write};

use crate::framed::{FramedWriter, Framing};

/// A format of compressed files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Compression {
    /// gzip, `.gz`.
    Gzip,
    /// bzip2, `.bz2`.
    Bzip2,
    /// xz, `.xz`.
    Xz,
    /// zstd with checksums, `.zst`.
    Zstd,
    /// The frame format of lz4 with checksums, `.lz4`.
    Lz4,
    /// gzip in blocks, as bgzip writes it, `.gz`.
    Bgzf,
    /// zstd in frames, as pzstd writes it, `.zst`.
    Pzstd,
}

impl Compression {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Gzip,
        Self::Bzip2,
        Self::Xz,
        Self::Zstd,
        Self::Lz4,
        Self::Bgzf,
        Self::Pzstd,
    ];

    /// Returns the ending of names of such files, and the name of the program that makes them.
    pub fn suffix_and_program(self) -> (&'static str, &'static str) {
        match self {
            Self::Gzip => ("gz", "gzip"),
            Self::Bzip2 => ("bz2", "bzip2"),
            Self::Xz => ("xz", "xz"),
            Self::Zstd => ("zst", "zstd"),
            Self::Lz4 => ("lz4", "lz4"),
            Self::Bgzf => ("gz", "bgzip"),
            Self::Pzstd => ("zst", "pzstd"),
        }
    }

    /// `text` as one frame, or as many as the format makes of it.
    ///
    /// # Errors
    /// What the encoder says.
    pub fn compress(self, text: &[u8]) -> io::Result<Vec<u8>> {
        let mut encoder = Encoder::new(Some(self), Vec::new())?;
        encoder.write_all(text)?;
        encoder.finish()
    }
}

/// Writes plainly or compressed.
pub(crate) enum Encoder<W: Write> {
    Plain(W),
    Gzip(flate2::write::GzEncoder<W>),
    Bzip2(bzip2::write::BzEncoder<W>),
    Xz(Box<lzma_rust2::XzWriter<W>>),
    Zstd(zstd::stream::write::Encoder<'static, W>),
    Lz4(Box<lz4_flex::frame::FrameEncoder<W>>),
    Framed(FramedWriter<W>),
}

impl<W: Write> Encoder<W> {
    /// Writes to `output` in this format; `None`: as it is.
    pub(crate) fn new(compression: Option<Compression>, output: W) -> io::Result<Self> {
        Ok(match compression {
            None => Self::Plain(output),
            Some(Compression::Gzip) => {
                let level = flate2::Compression::fast();
                Self::Gzip(flate2::write::GzEncoder::new(output, level))
            }
            Some(Compression::Bzip2) => {
                let level = bzip2::Compression::fast();
                Self::Bzip2(bzip2::write::BzEncoder::new(output, level))
            }
            Some(Compression::Xz) => {
                let options = lzma_rust2::XzOptions::with_preset(0);
                Self::Xz(Box::new(lzma_rust2::XzWriter::new(output, options)?))
            }
            Some(Compression::Zstd) => {
                let mut encoder = zstd::stream::write::Encoder::new(output, 1)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
            Some(Compression::Lz4) => {
                let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
                let encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, output);
                Self::Lz4(Box::new(encoder))
            }
            Some(Compression::Bgzf) => Self::Framed(FramedWriter::new(Framing::Bgzf, output)),
            Some(Compression::Pzstd) => Self::Framed(FramedWriter::new(Framing::Pzstd, output)),
        })
    }

    /// Writes what the format has behind the last byte; returns the output.
    pub(crate) fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(output) => Ok(output),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Bzip2(encoder) => encoder.finish(),
            Self::Xz(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
            Self::Lz4(encoder) => encoder.finish().map_err(io::Error::other),
            Self::Framed(writer) => writer.finish(),
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(output) => output.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Bzip2(encoder) => encoder.write(bytes),
            Self::Xz(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
            Self::Lz4(encoder) => encoder.write(bytes),
            Self::Framed(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Bzip2(encoder) => encoder.flush(),
            Self::Xz(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
            Self::Lz4(encoder) => encoder.flush(),
            Self::Framed(writer) => writer.flush(),
        }
    }
}
