//! A filter file as bytes, made from the layout that `outset::filter::file` documents and from nothing else: where it
//! agrees with what the library writes, the documentation is right, and where the library refuses it, that is not
//! because of a checksum.
//!
//! The fuzz target uses this file, too.

use outset::hash::LineHasher;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Bytes of the header, and of a table of up to 512 sections.
pub(crate) const PAGE: usize = 4096;
/// Bytes of a section of the body.
const SECTION: usize = 1 << 20;
const MAGIC: [u8; 8] = [0x93, 0x4f, 0x53, 0x46, 0x0d, 0x0a, 0x1a, 0x0a];

/// The parts that a file is made of.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    /// 1 blocked, 2 classic, 3 counting, 4 spectral, 5 fingerprint.
    pub(crate) kind: u8,
    pub(crate) terminator: u8,
    pub(crate) strip_cr: u8,
    pub(crate) hashes: u32,
    pub(crate) cells: u64,
    pub(crate) keys: u64,
    pub(crate) planned_keys: u64,
    pub(crate) key: [u64; 4],
    pub(crate) body: Vec<u8>,
}

/// The bytes of a file.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
}

impl Image {
    /// The file of these parts, whether they go together or not, with all checksums right.
    pub(crate) fn new(parts: &Parts) -> Self {
        let table = (parts.body.len().div_ceil(SECTION) * 8).next_multiple_of(PAGE);
        let mut image = Self {
            bytes: vec![0; PAGE + table],
        };
        image.put(0, MAGIC);
        image.put(8, 1u32.to_le_bytes());
        image.put(12, (PAGE as u32).to_le_bytes());
        image.put(16, [parts.kind, parts.terminator, parts.strip_cr, 0]);
        image.put(20, parts.hashes.to_le_bytes());
        image.put_number(24, parts.cells);
        image.put_number(32, parts.keys);
        image.put_number(40, parts.planned_keys);
        image.put_number(48, (PAGE + table) as u64);
        image.put_number(56, parts.body.len() as u64);
        for (at, number) in (64..).step_by(8).zip(parts.key) {
            image.put_number(at, number);
        }
        image.put_number(96, LineHasher::with_key(parts.key).hash(b"outset"));
        image.bytes.extend(&parts.body);
        image.seal();
        image
    }

    pub(crate) fn put(&mut self, at: usize, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub(crate) fn put_number(&mut self, at: usize, number: u64) {
        self.put(at, number.to_le_bytes());
    }

    /// Makes the header's own checksum right.
    pub(crate) fn seal_header(&mut self) {
        let checksum = xxh3_64(&self.bytes[..PAGE - 8]);
        self.put_number(PAGE - 8, checksum);
    }

    /// Makes all checksums right that the file has room for, with the body where the header says it is.
    pub(crate) fn seal(&mut self) {
        if self.bytes.len() < PAGE {
            return;
        }
        let body_at = self.number(48).min(self.bytes.len() as u64) as usize;
        if body_at >= PAGE {
            let (front, body) = self.bytes.split_at_mut(body_at);
            let table = front[PAGE..].chunks_exact_mut(8);
            for ((number, section), entry) in (0..).zip(body.chunks(SECTION)).zip(table) {
                entry.copy_from_slice(&xxh3_64_with_seed(section, number).to_le_bytes());
            }
            let checksum = xxh3_64(&front[PAGE..]);
            self.put_number(104, checksum);
        }
        self.seal_header();
    }

    fn number(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.bytes[at..at + 8]);
        u64::from_le_bytes(bytes)
    }
}
