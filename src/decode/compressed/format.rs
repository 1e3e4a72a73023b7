//! The compression of a file, and what decoding it takes.
//!
//! *Owns:* the first bytes of each format, and the memory that its headers ask for. *Invariants:* nothing is allocated
//! here, and nothing is trusted but what the header says of the memory that a decoder will want.
//!
//! *Sources:* RFC 1952 (gzip), RFC 8878 (zstd), the xz file format 1.2.1, the LZ4 frame format 1.6.4; bzip2 from its
//! own source. What each decoder takes besides the window is from the sources of its crate.
//!
//! Who adds a format: the compiler finds the matches in this file, `frame.rs` and `decoder.rs`. It does not find
//! [`recognise`], the most memory of a decoder (`mod.rs`), what begins like a file of another kind
//! (`input/beginning.rs`, `notice/foreign.rs`), names of outputs (`cli/outputs/names.rs`), the list of
//! `python/pyoutset/frames.py`, and `Compression::ALL` of data-gen, which makes the tests try it.
//!
//! ```text
//!          first bytes                       memory of a decoder
//! gzip     1f 8b                             the window of 32 KiB, tables
//! bzip2    "BZh" 1-9, then a block's magic   4 bytes for each byte of a block: up to 3.6 MB
//! xz       fd "7zXZ" 00                      the dictionary of its first block
//! zstd     28 b5 2f fd                       the window of the frame
//! lz4      04 22 4d 18                       three blocks and a window
//! ```

/// A kind of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompressionFormat {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
    Lz4,
}

impl CompressionFormat {
    /// Returns its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
        }
    }

    /// Returns the number of bytes that are written or read in the time of a decoded one. A core decodes 300 to 500
    /// MB/s of gzip, 700 and more of zstd and lz4, 100 of xz, 30 of bzip2; a run writes and reads a little more than 1
    /// GB/s, and hashes its lines while others are decoded.
    pub(super) fn cost(self) -> u64 {
        match self {
            Self::Gzip => 2,
            Self::Bzip2 => 30,
            Self::Xz => 10,
            Self::Zstd | Self::Lz4 => 1,
        }
    }
}

/// The kind of data that some bytes begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signature {
    /// Nothing that is decoded.
    Plain,
    /// There are too few bytes to tell.
    Unclear,
    /// A member or frame with this compression.
    Frame(CompressionFormat),
    /// A frame of zstd or lz4 with this many bytes in all that mean nothing.
    Skippable(u64),
    /// A frame of the first version of lz4, which has no checksums.
    LegacyLz4,
    /// A Parquet file.
    Parquet,
}

/// The number of bytes that tell what a file is, and what its first decoder takes.
pub(crate) const HEADER_BYTES: usize = 64;

const GZIP: &[u8] = &[0x1f, 0x8b];
const BZIP2: &[u8] = b"BZh";
/// The bytes after "BZh" and a digit: the magic of a block, or of the end of a stream without blocks.
const BZIP2_BLOCKS: [&[u8]; 2] = [b"1AY&SY", &[0x17, 0x72, 0x45, 0x38, 0x50, 0x90]];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const LZ4: &[u8] = &[0x04, 0x22, 0x4d, 0x18];
/// Behind "PAR1" the first field of the header of a page, or of a footer, and its type.
const PARQUET: &[u8] = b"PAR1\x15";
const LZ4_LEGACY: &[u8] = &[0x02, 0x21, 0x4c, 0x18];
/// The last three bytes of the magic of a skippable frame; the first is `50` to `5f`.
const SKIPPABLE: &[u8] = &[0x2a, 0x4d, 0x18];

/// Recognises what `bytes` begin. `is_all` says that no more follow: what is then the beginning of a magic number and
/// of no text counts as the compressed file that was cut short.
pub(crate) fn recognise(bytes: &[u8], is_all: bool) -> Signature {
    let mut is_unclear = bytes.is_empty();
    for (magic, front) in [
        (GZIP, Signature::Frame(CompressionFormat::Gzip)),
        (XZ, Signature::Frame(CompressionFormat::Xz)),
        (ZSTD, Signature::Frame(CompressionFormat::Zstd)),
        (LZ4, Signature::Frame(CompressionFormat::Lz4)),
        (LZ4_LEGACY, Signature::LegacyLz4),
        (PARQUET, Signature::Parquet),
    ] {
        // The first two bytes of each are no text in UTF-8, except the last: "PAR1" alone may be a line.
        let is_all = is_all && front != Signature::Parquet;
        if bytes.starts_with(magic) || (is_all && bytes.len() > 1 && magic.starts_with(bytes)) {
            return front;
        }
        is_unclear |= magic.starts_with(bytes);
    }
    match bzip2(bytes, is_all).or_else(|| skippable(bytes)) {
        Some(front) if front != Signature::Unclear => front,
        found if !is_all && (is_unclear || found.is_some()) => Signature::Unclear,
        _ => Signature::Plain,
    }
}

/// Recognises the first bytes of bzip2, which are text; `None` for others.
fn bzip2(bytes: &[u8], is_all: bool) -> Option<Signature> {
    let Some(behind) = bytes.strip_prefix(BZIP2) else {
        return BZIP2.starts_with(bytes).then_some(Signature::Unclear);
    };
    let Some((level, block)) = behind.split_first() else {
        return Some(Signature::Unclear);
    };
    let is_level = (b'1'..=b'9').contains(level);
    if is_level && BZIP2_BLOCKS.iter().any(|magic| block.starts_with(magic)) {
        return Some(Signature::Frame(CompressionFormat::Bzip2));
    }
    let may_become = BZIP2_BLOCKS.iter().any(|magic| magic.starts_with(block));
    match block.len() {
        _ if !is_level || !may_become => None,
        // Hardly a text: a file that is cut short.
        2.. if is_all => Some(Signature::Frame(CompressionFormat::Bzip2)),
        _ => Some(Signature::Unclear),
    }
}

/// Recognises the beginning of a skippable frame; `None` for anything else.
fn skippable(bytes: &[u8]) -> Option<Signature> {
    let (&first, magic) = bytes.split_first()?;
    if !(0x50..=0x5f).contains(&first) {
        return None;
    }
    let (magic, size) = magic.split_at(magic.len().min(SKIPPABLE.len()));
    match size.first_chunk() {
        Some(size) if magic == SKIPPABLE => Some(Signature::Skippable(
            8 + u64::from(u32::from_le_bytes(*size)),
        )),
        None if SKIPPABLE.starts_with(magic) => Some(Signature::Unclear),
        _ => None,
    }
}

/// The memory of a decoder besides its window, in bytes: its tables and what it reads at a time.
const TABLES: u64 = 128 << 10;
/// The largest window of zstd, 2 GiB.
const MOST_WINDOW: u64 = 1 << 31;
/// The largest block of zstd. A decoder has one of compressed bytes, and room for two after its window.
const ZSTD_BLOCK: u64 = 128 << 10;

/// Computes the memory that the decoder of a member or frame takes, in bytes, from at most [`HEADER_BYTES`] of its
/// header. A header that makes no sense asks for little: its decoder refuses it.
pub(crate) fn decoder_bytes(compression: CompressionFormat, header: &[u8]) -> u64 {
    let at = |index: usize| u64::from(header.get(index).copied().unwrap_or(0));
    let window = match compression {
        CompressionFormat::Gzip => return 64 << 10,
        CompressionFormat::Bzip2 => at(3).saturating_sub(u64::from(b'0')).min(9) * 400_000,
        CompressionFormat::Xz => xz_dictionary(header) + TABLES,
        // A decoder refuses larger windows.
        CompressionFormat::Zstd => zstd_window(header).min(MOST_WINDOW) + 3 * ZSTD_BLOCK + TABLES,
        // The size of a block is 64 KiB, and four times as much for each next code.
        CompressionFormat::Lz4 => {
            3 * ((64 << 10) << (2 * ((at(5) >> 4) & 7).clamp(4, 7) - 8)) + TABLES
        }
    };
    window + TABLES
}

/// Reads the window of a zstd frame: RFC 8878, 3.1.1.1.
fn zstd_window(header: &[u8]) -> u64 {
    let at = |index: usize| u64::from(header.get(index).copied().unwrap_or(0));
    let descriptor = at(4);
    let is_single_segment = descriptor & 0x20 != 0;
    if !is_single_segment {
        let (exponent, mantissa) = (at(5) >> 3, at(5) & 7);
        let base = 1 << (10 + exponent);
        return base + base / 8 * mantissa;
    }
    // The whole content is the window. Its size stands after the number of the dictionary.
    let dictionary_bytes = [0, 1, 2, 4][(descriptor & 3) as usize];
    let size_bytes = [1, 2, 4, 8][(descriptor >> 6) as usize];
    let size = |(shift, index): (usize, usize)| at(index) << (8 * shift);
    let indexes = (5 + dictionary_bytes..).take(size_bytes).enumerate();
    let content: u64 = indexes.map(size).sum();
    content
        .saturating_add(if size_bytes == 2 { 256 } else { 0 })
        .min(1 << 56)
}

/// Reads the dictionary of the first block of an xz stream: the xz file format, 3.1 and 5.3.1. 0 for a stream without
/// blocks.
fn xz_dictionary(header: &[u8]) -> u64 {
    /// The identifier of LZMA2, the last filter of a block, and the length of its one property.
    const LZMA2: [u8; 2] = [0x21, 1];
    let block = header.get(12..).unwrap_or_default();
    let Some((&[size, flags], rest)) = block.split_first_chunk() else {
        return 0;
    };
    if size == 0 {
        return 0;
    }
    // Two sizes that may be there, of up to nine bytes each; the last byte of each is below 0x80.
    let sizes = usize::from(flags & 0x40 != 0) + usize::from(flags & 0x80 != 0);
    let mut rest = rest;
    for _ in 0..sizes {
        let end = rest.iter().position(|&byte| byte < 0x80);
        rest = end.map_or(&[][..], |end| &rest[end + 1..]);
    }
    let index = rest.windows(2).position(|pair| pair == LZMA2);
    match index.and_then(|index| rest.get(index + 2)) {
        Some(&code @ 0..40) => (2 | u64::from(code & 1)) << (code / 2 + 11),
        Some(_) => u64::from(u32::MAX),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a19_the_first_bytes_tell_the_format_and_texts_that_begin_like_them_stay_texts() {
        use CompressionFormat::{Bzip2, Gzip, Lz4, Xz, Zstd};
        for (bytes, more_may_come, all) in [
            (&b""[..], Signature::Unclear, Signature::Plain),
            (b"a", Signature::Plain, Signature::Plain),
            (b"\x1f", Signature::Unclear, Signature::Plain),
            (b"\x1f\x8b", Signature::Frame(Gzip), Signature::Frame(Gzip)),
            (b"\xfd7z", Signature::Unclear, Signature::Frame(Xz)),
            (b"\xfd7zXZ\0", Signature::Frame(Xz), Signature::Frame(Xz)),
            (b"\x28\xb5\x2f", Signature::Unclear, Signature::Frame(Zstd)),
            (b"(plain)\n", Signature::Plain, Signature::Plain),
            (
                b"\x04\x22\x4d\x18",
                Signature::Frame(Lz4),
                Signature::Frame(Lz4),
            ),
            (b"B", Signature::Unclear, Signature::Plain),
            (b"BZh9", Signature::Unclear, Signature::Plain),
            (b"BZh9\n", Signature::Plain, Signature::Plain),
            (b"BZh01AY&SY", Signature::Plain, Signature::Plain),
            (b"BZh91A", Signature::Unclear, Signature::Frame(Bzip2)),
            (
                b"BZh91AY&SY",
                Signature::Frame(Bzip2),
                Signature::Frame(Bzip2),
            ),
            (b"P", Signature::Unclear, Signature::Plain),
            (b"P*M\x18", Signature::Unclear, Signature::Plain),
            (
                b"P*M\x18\x02\0\0\0",
                Signature::Skippable(10),
                Signature::Skippable(10),
            ),
            (b"Paul\n", Signature::Plain, Signature::Plain),
        ] {
            assert_eq!(recognise(bytes, false), more_may_come, "{bytes:?}");
            assert_eq!(recognise(bytes, true), all, "{bytes:?}");
        }
    }

    #[test]
    fn c12_headers_that_ask_for_much_memory_are_believed_and_no_shift_overflows() {
        let zstd = |header: &[u8]| zstd_window(&[ZSTD, header].concat());
        assert_eq!(zstd(&[0, 0]), 1 << 10);
        assert_eq!(zstd(&[0, 17 << 3]), 1 << 27);
        assert_eq!(zstd(&[0, 0xff]), (1 << 41) + (1 << 41) / 8 * 7);
        assert_eq!(zstd(&[0x20, 200]), 200);
        assert_eq!(zstd(&[0x60, 0, 1]), 512);
        assert_eq!(
            zstd(&[0xe3, 9, 9, 9, 9, 255, 255, 255, 255, 255, 255, 255, 255]),
            1 << 56
        );
        let xz = |block: &[u8]| xz_dictionary(&[&[0; 12], block].concat());
        assert_eq!(xz(&[2, 0, 0x21, 1, 22]), 8 << 20);
        assert_eq!(xz(&[4, 0xc0, 0x80, 1, 0x21, 0x21, 1, 0]), 4 << 10);
        assert_eq!(xz(&[2, 0, 0x21, 1, 40]), u64::from(u32::MAX));
        assert_eq!(xz(&[0, 1]), 0);
        let lz4 = |code: u8| {
            decoder_bytes(
                CompressionFormat::Lz4,
                &[4, 0x22, 0x4d, 0x18, 0x60, code << 4],
            )
        };
        assert_eq!(lz4(7) - lz4(4), 3 * ((4 << 20) - (64 << 10)));
        assert_eq!(lz4(0), lz4(4));
        for cut in 0..HEADER_BYTES {
            let header = vec![0xff; cut];
            for compression in [
                CompressionFormat::Bzip2,
                CompressionFormat::Xz,
                CompressionFormat::Zstd,
                CompressionFormat::Lz4,
            ] {
                assert!(decoder_bytes(compression, &header) < 1 << 57);
            }
        }
    }
}
