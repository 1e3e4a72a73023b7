//! Compressing and decompressing a page.
//!
//! *Owns:* the compressions of Parquet. *Invariants:* no more is decompressed than the header of the page announced,
//! whatever its bytes want to become; a page that becomes less or more is damaged. *Cost:* one pass over the page.
//!
//! *Sources:* Compression.md of Parquet's format.

use std::io::{self, ErrorKind, Read, Write};

use ::parquet::basic::{Compression, CompressionCodec};
use bytes::Bytes;

/// Decompresses `stored` to `out`, which it must fill.
///
/// # Errors
/// Where it is damaged, or compressed in a way that is not read.
pub(super) fn decompress(codec: CompressionCodec, stored: &[u8], out: &mut [u8]) -> io::Result<()> {
    let bytes = out.len();
    let written = match codec {
        CompressionCodec::GZIP => gzip(stored, out)?,
        CompressionCodec::SNAPPY => {
            check(snap::raw::decompress_len(stored)?, bytes)?;
            snap::raw::Decoder::new().decompress(stored, out)?
        }
        CompressionCodec::ZSTD => zstd::bulk::decompress_to_buffer(stored, out)?,
        CompressionCodec::LZ4_RAW => lz4(stored, out)?,
        CompressionCodec::LZ4 => match hadoop_lz4(stored, out) {
            Some(written) => written,
            // Early writers put the block there as it is.
            None => lz4(stored, out)?,
        },
        _ => {
            return Err(io::Error::new(
                ErrorKind::Unsupported,
                format!("outset cannot decompress {}", name(codec)),
            ));
        }
    };
    check(written, bytes)
}

/// Compresses a page, in the memory of the last one, `scratch`, where that can be used.
///
/// # Errors
/// Where that is not possible in this way: see [`can_compress`].
pub(super) fn compress(
    compression: Compression,
    page: &[u8],
    scratch: &mut Vec<u8>,
) -> io::Result<Bytes> {
    let compressed = match compression {
        Compression::UNCOMPRESSED => return Ok(Bytes::copy_from_slice(page)),
        Compression::GZIP(level) => {
            let level = flate2::Compression::new(level.compression_level());
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(page)?;
            encoder.finish()?
        }
        Compression::SNAPPY => {
            scratch.resize(snap::raw::max_compress_len(page.len()), 0);
            let bytes = snap::raw::Encoder::new().compress(page, scratch)?;
            return Ok(Bytes::copy_from_slice(&scratch[..bytes]));
        }
        Compression::ZSTD(level) => zstd::bulk::compress(page, level.compression_level())?,
        Compression::LZ4_RAW => lz4_flex::block::compress(page),
        _ => return Err(ErrorKind::Unsupported.into()),
    };
    Ok(compressed.into_boxed_slice().into())
}

/// Returns true if pages can be compressed in this way.
pub(super) fn can_compress(compression: Compression) -> bool {
    !matches!(
        compression,
        Compression::BROTLI(_) | Compression::LZO | Compression::LZ4
    )
}

/// Returns true if pages in this compression can be read.
pub(super) fn is_known(codec: CompressionCodec) -> bool {
    !matches!(codec, CompressionCodec::BROTLI | CompressionCodec::LZO)
}

/// Returns its name in messages.
pub(super) fn name(codec: CompressionCodec) -> String {
    format!("{codec:?}").to_lowercase()
}

fn check(bytes: usize, announced: usize) -> io::Result<()> {
    if bytes == announced {
        return Ok(());
    }
    Err(io::Error::new(
        ErrorKind::InvalidData,
        "a page has a different size than its header says",
    ))
}

/// Decompresses as much as `out` has room for; a byte more counts, to notice that there are more.
fn gzip(stored: &[u8], out: &mut [u8]) -> io::Result<usize> {
    let mut decoder = flate2::read::MultiGzDecoder::new(stored);
    let mut written = 0;
    while written < out.len() {
        match decoder.read(&mut out[written..])? {
            0 => return Ok(written),
            bytes => written += bytes,
        }
    }
    Ok(written + decoder.read(&mut [0])?)
}

fn lz4(stored: &[u8], out: &mut [u8]) -> io::Result<usize> {
    lz4_flex::block::decompress_into(stored, out)
        .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Blocks as Hadoop writes them, each after the number of its bytes when decompressed and when not; `None` if this
/// is none.
fn hadoop_lz4(mut stored: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut written = 0;
    while !stored.is_empty() {
        let (raw, rest) = stored.split_first_chunk()?;
        let (compressed, rest) = rest.split_first_chunk()?;
        let raw = u32::from_be_bytes(*raw) as usize;
        let (block, behind) = rest.split_at_checked(u32::from_be_bytes(*compressed) as usize)?;
        let out = out.get_mut(written..)?.get_mut(..raw)?;
        if lz4(block, out).ok()? != raw {
            return None;
        }
        (stored, written) = (behind, written + raw);
    }
    Some(written)
}
