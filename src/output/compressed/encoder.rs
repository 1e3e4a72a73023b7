//! One piece of text as a frame that can be decoded by itself.
//!
//! *Owns:* the encoders of all formats. *Invariants:* frames one after the other are a file of their format: members of
//! gzip (RFC 1952, 2.2), frames of zstd (RFC 8878, 3) and lz4, streams of bzip2 and xz. *Cost:* see
//! [`Compression::encoder_bytes`](super::Compression).

use std::io::{self, Write};

use flate2::{FlushCompress, Status};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use zstd::zstd_safe::CParameter;

use super::{Codec, Compression, CompressorPlan};

/// The window of gzip, as a power of 2.
const WINDOW_BITS: u8 = 15;

/// Compresses one piece after the other. That of gzip and zstd is kept: what is allocated again and again from several
/// threads leaves holes in memory.
pub(super) enum Encoder {
    Anew(Compression),
    Gzip(flate2::Compress),
    Zstd(zstd::bulk::Compressor<'static>),
}

impl Encoder {
    /// Makes one.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(super) fn new(plan: &CompressorPlan) -> io::Result<Self> {
        let compression = plan.compression;
        if compression.codec == Codec::Gzip {
            let level = flate2::Compression::new(compression.level);
            return Ok(Self::Gzip(flate2::Compress::new_gzip(level, WINDOW_BITS)));
        }
        if compression.codec != Codec::Zstd {
            return Ok(Self::Anew(compression));
        }
        let mut encoder = zstd::bulk::Compressor::new(compression.level as i32)?;
        encoder.set_parameter(CParameter::ChecksumFlag(true))?;
        Ok(Self::Zstd(encoder))
    }

    /// Puts `text` as one frame into `frame`, in the place of what is there.
    ///
    /// # Errors
    /// What the encoder says.
    pub(super) fn encode(&mut self, text: &[u8], frame: &mut Vec<u8>) -> io::Result<()> {
        frame.clear();
        let Compression { codec, level } = match self {
            Self::Zstd(encoder) => {
                frame.reserve(zstd::zstd_safe::compress_bound(text.len()));
                return encoder.compress_to_buffer(text, frame).map(drop);
            }
            Self::Gzip(encoder) => return member(encoder, text, frame),
            Self::Anew(compression) => *compression,
        };
        match codec {
            Codec::Bzip2 => {
                let level = bzip2::Compression::new(level);
                let mut encoder = bzip2::write::BzEncoder::new(frame, level);
                encoder.write_all(text)?;
                encoder.finish()?;
            }
            Codec::Xz => {
                let mut encoder = lzma_rust2::XzWriter::new(frame, xz_options(level, text.len()))?;
                encoder.write_all(text)?;
                encoder.finish()?;
            }
            // The others are kept.
            Codec::Lz4 | Codec::Gzip | Codec::Zstd => {
                let info = FrameInfo::new()
                    .block_size(BlockSize::Max64KB)
                    .block_mode(BlockMode::Independent)
                    .content_checksum(true);
                let mut encoder = FrameEncoder::with_frame_info(info, frame);
                encoder.write_all(text)?;
                encoder.finish().map_err(io::Error::other)?;
            }
        }
        Ok(())
    }
}

/// Puts `text` as a member of gzip into `frame`.
fn member(encoder: &mut flate2::Compress, text: &[u8], frame: &mut Vec<u8>) -> io::Result<()> {
    encoder.reset();
    loop {
        let taken = encoder.total_in() as usize;
        frame.reserve(text.len() / 64 + 1024);
        let status = encoder.compress_vec(&text[taken..], frame, FlushCompress::Finish)?;
        if status == Status::StreamEnd {
            return Ok(());
        }
    }
}

/// Returns the options of a level of xz, with a dictionary that is no larger than the text: 4 KiB at least.
fn xz_options(level: u32, text_bytes: usize) -> lzma_rust2::XzOptions {
    let mut options = lzma_rust2::XzOptions::with_preset(level);
    let dictionary = &mut options.lzma_options.dict_size;
    *dictionary = (*dictionary).min(text_bytes.next_power_of_two().max(4096) as u32);
    options
}
