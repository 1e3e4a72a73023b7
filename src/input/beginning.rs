//! The beginning of an input, and whether it speaks against lines of text.
//!
//! *Owns:* the one rule, for files, pipes and what was decoded. *Invariants:* nothing but a hint depends on it; lines
//! of text with a few odd bytes are never foreign: it takes a known beginning, more NUL bytes than lines, or many
//! different control bytes. *Cost:* a look at the first 32 KiB of each file.
//!
//! *Sources:* the file formats' own descriptions, and the magic file of file(1).

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::decode::compressed::{Signature, recognise};
use crate::error::Error;
use crate::notice::Foreign;

/// The number of first bytes of a file that are looked at.
pub(super) const FRONT_BYTES: usize = 32 << 10;
/// Of text no more than one in this many bytes is a control byte.
const MOST_CONTROL: usize = 10;
/// The least number of different control bytes in binary data. Text whose fields are separated by some has fewer.
const LEAST_KINDS: u32 = 4;

/// The first bytes of what tells itself by them, in the order of trial. The longer of two that begin alike comes first.
const FRONTS: [(&[u8], Foreign); 26] = [
    (b"\xff\xfe\0\0", Foreign::Utf32),
    (b"\0\0\xfe\xff", Foreign::Utf32),
    (b"\xff\xfe", Foreign::Utf16),
    (b"\xfe\xff", Foreign::Utf16),
    (b"PK\x03\x04", Foreign::Zip),
    (b"PK\x05\x06", Foreign::Zip),
    (b"7z\xbc\xaf\x27\x1c", Foreign::SevenZip),
    (b"Rar!\x1a\x07", Foreign::Rar),
    (b"\x1f\x9d", Foreign::Compress),
    (b"\x5d\0\0", Foreign::Lzma),
    (b"LZIP\x01", Foreign::Lzip),
    (b"\x89LZO\0\r\n\x1a\n", Foreign::Lzop),
    (b"\xff\x06\0\0sNaPpY", Foreign::Snappy),
    (b"\x82SNAPPY\0", Foreign::Snappy),
    (b"SQLite format 3\0", Foreign::Sqlite),
    (b"ORC\0", Foreign::Orc),
    (b"ORC\x08", Foreign::Orc),
    (b"ORC\x0a", Foreign::Orc),
    (b"ORC\x12", Foreign::Orc),
    (b"ORC\x1a", Foreign::Orc),
    (b"ARROW1\0\0", Foreign::Arrow),
    (b"\xff\xff\xff\xff\x10\0\0\0", Foreign::Arrow),
    (b"FEA1\0", Foreign::Arrow),
    (b"Obj\x01", Foreign::Avro),
    (b"Obj\x00", Foreign::Avro),
    (b"PAR1\x15", Foreign::Parquet),
];
/// The beginnings of pages in HTML and documents in XML, after white space.
const MARKUP: [&[u8]; 3] = [b"<!doctype html", b"<html", b"<?xml"];
/// The compression of files by the ends of their names.
const NAMES: [(&str, Option<Foreign>); 24] = [
    ("gz", None),
    ("tgz", None),
    ("bz2", None),
    ("tbz2", None),
    ("xz", None),
    ("txz", None),
    ("zst", None),
    ("zstd", None),
    ("lz4", None),
    ("br", Some(Foreign::Brotli)),
    ("snappy", Some(Foreign::Snappy)),
    ("sz", Some(Foreign::Snappy)),
    ("lzma", Some(Foreign::Lzma)),
    ("z", Some(Foreign::Compress)),
    ("lzo", Some(Foreign::Lzop)),
    ("lzo_deflate", Some(Foreign::Lzop)),
    ("lz", Some(Foreign::Lzip)),
    ("deflate", Some(Foreign::Zlib)),
    ("zz", Some(Foreign::Zlib)),
    ("zlib", Some(Foreign::Zlib)),
    ("7z", Some(Foreign::SevenZip)),
    ("rar", Some(Foreign::Rar)),
    ("zip", Some(Foreign::Zip)),
    ("tar", Some(Foreign::Tar)),
];

/// The beginning of a file or stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beginning<'a> {
    /// The first bytes, decoded.
    pub(super) bytes: &'a [u8],
    /// The name that messages have for it.
    pub(super) name: &'a Path,
    /// The byte that ends its lines.
    pub(super) terminator: u8,
    /// True if what is compressed is decoded.
    pub(super) decodes: bool,
    /// True if it is the file as it is stored, with nothing decoded.
    pub(super) is_stored: bool,
}

impl Beginning<'_> {
    /// Guesses the format that begins like this. Returns `None` if nothing speaks against lines of text.
    pub(super) fn foreign(&self) -> Option<Foreign> {
        let bytes = &self.bytes[..self.bytes.len().min(FRONT_BYTES)];
        let found = known(bytes)
            .or_else(|| hadoop_snappy(bytes))
            .or_else(|| zlib(bytes));
        let found = found.or_else(|| {
            matches!(recognise(bytes, false), Signature::Frame(_)).then_some(Foreign::Compressed)
        });
        let found = match found {
            Some(Foreign::Compressed) if self.decodes => Some(Foreign::CompressedTwice),
            Some(Foreign::Parquet) if self.decodes => Some(Foreign::ParquetInside),
            found => found,
        };
        found
            .or_else(|| self.by_name(bytes))
            .or_else(|| wide(bytes).filter(|_| self.terminator != 0))
            .or_else(|| is_binary(bytes, self.terminator).then_some(Foreign::Binary))
            .or_else(|| self.lone_carriage_returns(bytes))
    }

    /// Guesses by the name of a file, where its bytes do not contradict.
    fn by_name(&self, bytes: &[u8]) -> Option<Foreign> {
        if !self.is_stored || !self.decodes {
            return None;
        }
        let ending = self.name.extension()?.to_str()?;
        let (_, kind) = NAMES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(ending))?;
        if is_text(bytes) {
            return Some(Foreign::Misnamed);
        }
        *kind
    }

    /// Recognises lines that end in CR alone.
    fn lone_carriage_returns(&self, bytes: &[u8]) -> Option<Foreign> {
        let inner = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let is_so = self.terminator == b'\n'
            && memchr::memchr(b'\n', bytes).is_none()
            && memchr::memchr(b'\r', inner).is_some();
        is_so.then_some(Foreign::LoneCarriageReturns)
    }
}

/// Recognises what has certain bytes at known offsets.
fn known(bytes: &[u8]) -> Option<Foreign> {
    let found = FRONTS.iter().find(|(front, _)| bytes.starts_with(front));
    if let Some(&(_, kind)) = found {
        return Some(kind);
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Some(Foreign::Tar);
    }
    let text = bytes.trim_ascii_start();
    let begins = |front: &&[u8]| {
        text.get(..front.len())
            .is_some_and(|text| text.eq_ignore_ascii_case(front))
    };
    MARKUP.iter().any(begins).then_some(Foreign::Markup)
}

/// Recognises snappy blocks as Hadoop writes them: the length of a block, the length of its first piece, and the former
/// again in the piece itself.
fn hadoop_snappy(bytes: &[u8]) -> Option<Foreign> {
    /// The length of the longest block that Hadoop writes, in bytes.
    const MOST: u64 = 1 << 26;
    let (block, rest) = bytes.split_first_chunk()?;
    let (piece, rest) = rest.split_first_chunk()?;
    let (block, piece) = (
        u64::from(u32::from_be_bytes(*block)),
        u64::from(u32::from_be_bytes(*piece)),
    );
    let mut length = 0;
    for (index, &byte) in rest.iter().take(5).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            let is_so = (1..=MOST).contains(&block)
                && (2..=MOST).contains(&piece)
                && (1..=block).contains(&length);
            return is_so.then_some(Foreign::Snappy);
        }
    }
    None
}

/// Recognises a zlib stream of the usual window: its header is text now and then, and what follows is not.
fn zlib(bytes: &[u8]) -> Option<Foreign> {
    let is_header = matches!(bytes, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..]);
    let is_so =
        is_header && std::str::from_utf8(bytes).is_err() && bytes.iter().copied().any(is_control);
    is_so.then_some(Foreign::Zlib)
}

/// Recognises UTF-16 or UTF-32 without a mark: most characters have one byte that is not 0.
fn wide(bytes: &[u8]) -> Option<Foreign> {
    // NUL bytes are equally many at each of four offsets.
    let mut zeros = [0; 4];
    for four in bytes.chunks_exact(4) {
        for (count, &byte) in zeros.iter_mut().zip(four) {
            *count += usize::from(byte == 0);
        }
    }
    let fours = bytes.len() / 4;
    let is_mostly = zeros.map(|count| count > fours / 10 * 7 && count > 0);
    let is_rarely = zeros.map(|count| count <= fours / 10);
    match (is_mostly, is_rarely) {
        ([false, true, false, true], [true, _, true, _]) => Some(Foreign::Utf16Little),
        ([true, false, true, false], [_, true, _, true]) => Some(Foreign::Utf16Big),
        ([false, true, true, true], [true, ..]) | ([true, true, true, false], [.., true]) => {
            Some(Foreign::Utf32)
        }
        _ => None,
    }
}

/// Returns true if bytes are no text: more of them are 0 than end lines, or many are control bytes. A NUL byte in some
/// line of a list is odd, and no more.
fn is_binary(bytes: &[u8], terminator: u8) -> bool {
    let count = |byte: u8| memchr::memchr_iter(byte, bytes).count();
    if terminator != 0 && count(0) > count(terminator) {
        return true;
    }
    let control = bytes.iter().filter(|&&byte| is_control(byte)).count();
    if control * MOST_CONTROL <= bytes.len() {
        return false;
    }
    let is_there = |kinds: u64, &byte: &u8| {
        kinds
            | if is_control(byte) && byte < 64 {
                1 << byte
            } else {
                0
            }
    };
    let kinds = bytes.iter().fold(0, is_there);
    (kinds & !1).count_ones() >= LEAST_KINDS
}

/// Returns true if bytes are UTF-8 without control bytes; a character may be cut at the end.
fn is_text(bytes: &[u8]) -> bool {
    let is_utf8 = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    is_utf8 && !bytes.iter().copied().any(is_control)
}

/// Returns true if no text has this byte, or hardly any.
fn is_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | 0x0b | 0x0c | b'\r' | 0x1b)
}

/// Returns true if about half of `ends` line ends have a CR before them, as `after_cr` of them do.
pub(super) fn are_mixed(ends: u64, after_cr: u64) -> bool {
    4 * after_cr >= ends && 4 * after_cr <= 3 * ends && ends > 0
}

/// Adds to an error what explains it, where a file or stream whose header or fields are wrong is no plain text.
pub(super) fn explained(error: Error, foreign: Option<Foreign>) -> Error {
    match (error, foreign.filter(|kind| kind.explains_errors())) {
        (Error::Usage { what, .. }, Some(kind)) => Error::usage(
            format!("{what}, and the file {}", kind.description()),
            kind.advice(),
        ),
        (error, _) => error,
    }
}

/// The kinds of foreign data that were found in an input and reported to the user.
#[derive(Debug)]
pub(super) struct ReportedKinds(AtomicU32);

impl Default for ReportedKinds {
    /// Treats every kind as reported, until [`ReportedKinds::arm`].
    fn default() -> Self {
        Self(AtomicU32::new(u32::MAX))
    }
}

impl ReportedKinds {
    /// Forgets what was reported, so that the next finding of each kind is reported.
    pub(super) fn arm(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Returns true if the kind was not reported yet; it is now.
    pub(super) fn is_new(&self, kind: Foreign) -> bool {
        let bit = 1 << kind as u32;
        self.0.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Returns true if [`ReportedKinds::arm`] was called.
    pub(super) fn is_armed(&self) -> bool {
        self.0.load(Ordering::Relaxed) != u32::MAX
    }

    /// Returns true if [`ReportedKinds::arm`] was called and nothing was reported since.
    pub(super) fn is_silent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}
