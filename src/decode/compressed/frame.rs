//! The decoders: one member, stream or frame of a compressed file.
//!
//! *Owns:* the crates that decode. *Invariants:* a frame gives all of its bytes, after which every checksum that the
//! format has was compared, or an error. It takes no byte of the source after its own end.
//!
//! *Cost:* what [`decoder_bytes`](super::format::decoder_bytes) says, while it is open.

use std::io::{self, Read};

use crate::decode::compressed::format::CompressionFormat;
use crate::decode::compressed::lz4::Lz4Source;
use crate::decode::compressed::source::CompressedSource;

/// The largest window that a decoder of zstd takes, as a power of two: all that the format has on 64 bits. What is
/// too much was refused before.
const MOST_WINDOW_LOG: u32 = 31;

/// A frame that is being decoded.
pub(super) enum FrameDecoder<'a> {
    Gzip(Box<flate2::bufread::GzDecoder<CompressedSource<'a>>>),
    Bzip2(bzip2::bufread::BzDecoder<CompressedSource<'a>>),
    Xz(Box<lzma_rust2::XzReader<CompressedSource<'a>>>),
    Zstd(zstd::stream::read::Decoder<'static, CompressedSource<'a>>),
    Lz4(Box<lz4_flex::frame::FrameDecoder<Lz4Source<'a>>>),
}

impl<'a> FrameDecoder<'a> {
    /// Begins to decode the frame that `source` stands at, in at most `memory_bytes`.
    ///
    /// # Errors
    /// What the decoder says.
    pub(super) fn new(
        compression: CompressionFormat,
        source: CompressedSource<'a>,
        memory_bytes: u64,
    ) -> io::Result<Self> {
        Ok(match compression {
            CompressionFormat::Gzip => {
                Self::Gzip(Box::new(flate2::bufread::GzDecoder::new(source)))
            }
            CompressionFormat::Bzip2 => Self::Bzip2(bzip2::bufread::BzDecoder::new(source)),
            CompressionFormat::Xz => {
                let kibibytes = u32::try_from(memory_bytes >> 10).unwrap_or(u32::MAX);
                let reader = lzma_rust2::XzReader::new_mem_limit(source, false, kibibytes);
                Self::Xz(Box::new(reader))
            }
            CompressionFormat::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(source)?;
                let mut decoder = decoder.single_frame();
                decoder.window_log_max(MOST_WINDOW_LOG)?;
                Self::Zstd(decoder)
            }
            CompressionFormat::Lz4 => {
                let source = Lz4Source::new(source);
                Self::Lz4(Box::new(lz4_flex::frame::FrameDecoder::new(source)))
            }
        })
    }

    /// Reads the next decoded bytes; none at the end of the frame, whose checksums are right then.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self {
                Self::Gzip(decoder) => decoder.read(buffer),
                Self::Bzip2(decoder) => decoder.read(buffer),
                Self::Xz(decoder) => decoder.read(buffer),
                Self::Zstd(decoder) => decoder.read(buffer),
                // A frame whose last blocks are missing seems to end like a whole one, and so does an empty block.
                Self::Lz4(decoder) => match decoder.read(buffer) {
                    Ok(0) if decoder.get_ref().is_cut_short() => {
                        Err(io::ErrorKind::UnexpectedEof.into())
                    }
                    Ok(0) if !decoder.get_ref().is_at_end() => continue,
                    read => read,
                },
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    /// Counts the bytes of the source that the frames took so far; a part of them may not be decoded yet.
    pub(super) fn given_bytes(&self) -> u64 {
        match self {
            Self::Gzip(decoder) => decoder.get_ref().given_bytes(),
            Self::Bzip2(decoder) => decoder.get_ref().given_bytes(),
            Self::Xz(decoder) => decoder.inner().given_bytes(),
            Self::Zstd(decoder) => decoder.get_ref().given_bytes(),
            Self::Lz4(decoder) => decoder.get_ref().source().given_bytes(),
        }
    }

    /// Returns the source, which stands after the frame.
    pub(super) fn into_source(self) -> CompressedSource<'a> {
        match self {
            Self::Gzip(decoder) => decoder.into_inner(),
            Self::Bzip2(decoder) => decoder.into_inner(),
            Self::Xz(decoder) => decoder.into_inner(),
            Self::Zstd(decoder) => decoder.finish(),
            Self::Lz4(decoder) => decoder.into_inner().into_source(),
        }
    }
}
