//! The totals of a shard for each bucket, and the end of a stream.
//!
//! *Owns:* the entries of a frame of counters, and the [`Trailer`]. Nothing here does I/O.
//!
//! The payload of a frame of counters has an entry of [`ENTRY`] bytes for each bucket, in order. All integers are
//! little-endian, of 8 bytes: frames, lines, bytes of the decoded payloads, sum of the hashes of the lines modulo
//! 2^64, bytes of the largest decoded payload, and where the last frame of the bucket begins in the shard (all ones if
//! there is none). The frames of a bucket are a chain from there, through the field of each for the frame before it.
//! The last integer is the XXH3-64 of those before it, seeded with the XXH3-64 of the frame's header (its checksum
//! zero) plus the number of the bucket: so the entry of one bucket is checked without reading the others.
//!
//! A trailer has [`TRAILER`] bytes:
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic `OUTSETE1` |
//! | 8 | 8 | frames before it, that of the counters included |
//! | 16 | 8 | bytes before it |
//! | 24 | 8 | where the frame of counters begins; all ones if there is none |
//!
//! It has no checksum: a reader compares it with what it has read. So any language can write one with a few additions.
//!
//! *Cost:* the entries of a shard: 56 bytes for each bucket.

use crate::exchange::frame::{FrameHeader, NOWHERE, array};
use crate::sys::checksum;

/// The bytes of an entry.
pub(crate) const ENTRY: usize = 56;
/// The offset of the checksum in an entry.
const SUM_AT: usize = ENTRY - 8;
/// The bytes of a trailer.
pub(crate) const TRAILER: usize = 32;

pub(crate) const TRAILER_MAGIC: [u8; 8] = *b"OUTSETE1";

/// The totals of one bucket of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BucketTotals {
    pub(crate) frames: u64,
    pub(crate) lines: u64,
    /// Bytes of the decoded payloads.
    pub(crate) bytes: u64,
    /// The sum of the hashes of the lines, modulo 2^64.
    pub(crate) hash_sum: u64,
    /// Bytes of the largest decoded payload: no line is longer.
    pub(crate) largest: u64,
    /// The byte of the shard at which the last frame begins; [`NOWHERE`] if there is none.
    pub(crate) last: u64,
}

impl Default for BucketTotals {
    fn default() -> Self {
        Self {
            frames: 0,
            lines: 0,
            bytes: 0,
            hash_sum: 0,
            largest: 0,
            last: NOWHERE,
        }
    }
}

impl BucketTotals {
    /// Counts a frame of lines.
    pub(crate) fn count(&mut self, header: &FrameHeader) {
        self.add(&Self {
            frames: 1,
            lines: u64::from(header.records),
            bytes: header.decoded_bytes,
            hash_sum: header.hash_sum,
            largest: header.decoded_bytes,
            last: NOWHERE,
        });
    }

    /// Adds what another bucket has. Sums wrap: they may come from a damaged file.
    pub(crate) fn add(&mut self, other: &Self) {
        self.frames = self.frames.wrapping_add(other.frames);
        self.lines = self.lines.wrapping_add(other.lines);
        self.bytes = self.bytes.wrapping_add(other.bytes);
        self.hash_sum = self.hash_sum.wrapping_add(other.hash_sum);
        self.largest = self.largest.max(other.largest);
    }

    /// Tells whether frames, lines, bytes and hashes are those of `other`.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        let counts = |of: &Self| (of.frames, of.lines, of.bytes, of.hash_sum);
        counts(self) == counts(other)
    }

    /// Encodes the entry of `bucket` in a frame whose header has this seed.
    pub(crate) fn encode(&self, seed: u64, bucket: u32) -> [u8; ENTRY] {
        let fields = [
            self.frames,
            self.lines,
            self.bytes,
            self.hash_sum,
            self.largest,
            self.last,
        ];
        let mut bytes = [0; ENTRY];
        for (target, field) in bytes.chunks_exact_mut(8).zip(fields) {
            target.copy_from_slice(&field.to_le_bytes());
        }
        let sum = sum_of(&bytes, seed, bucket);
        bytes[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Decodes an entry if it is that of `bucket` in a frame whose header has this seed, and undamaged.
    pub(crate) fn decode(bytes: &[u8], seed: u64, bucket: u32) -> Option<Self> {
        let field = |number: usize| u64::from_le_bytes(array(&bytes[8 * number..]));
        let totals = Self {
            frames: field(0),
            lines: field(1),
            bytes: field(2),
            hash_sum: field(3),
            largest: field(4),
            last: field(5),
        };
        (field(6) == sum_of(bytes, seed, bucket)).then_some(totals)
    }
}

/// Returns the checksum of an entry.
fn sum_of(entry: &[u8], seed: u64, bucket: u32) -> u64 {
    checksum::in_place(seed.wrapping_add(u64::from(bucket)), &entry[..SUM_AT])
}

/// The end of a stream, or of a shard file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    /// Frames before it.
    pub(crate) frames: u64,
    /// Bytes before it.
    pub(crate) bytes: u64,
    /// The byte at which the frame of counters begins; [`NOWHERE`] if there is none.
    pub(crate) counters: u64,
}

impl Trailer {
    pub(crate) fn encode(&self) -> [u8; TRAILER] {
        let mut bytes = [0; TRAILER];
        let fields = [self.frames, self.bytes, self.counters].map(u64::to_le_bytes);
        let all = [TRAILER_MAGIC, fields[0], fields[1], fields[2]];
        bytes.copy_from_slice(all.as_flattened());
        bytes
    }

    /// Decodes the trailer in `bytes`; `None` if they are something else.
    pub(crate) fn decode(bytes: &[u8; TRAILER]) -> Option<Self> {
        let field = |number: usize| u64::from_le_bytes(array(&bytes[8 * number..]));
        bytes.starts_with(&TRAILER_MAGIC).then(|| Self {
            frames: field(1),
            bytes: field(2),
            counters: field(3),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_trailers_come_back_as_they_were() {
        let totals = BucketTotals {
            frames: 1,
            lines: 2,
            bytes: 3,
            hash_sum: u64::MAX,
            largest: 5,
            last: 6,
        };
        let entry = totals.encode(17, 3);
        assert_eq!(BucketTotals::decode(&entry, 17, 3), Some(totals));
        // Of another bucket, or another frame.
        assert_eq!(BucketTotals::decode(&entry, 17, 4), None);
        assert_eq!(BucketTotals::decode(&entry, 18, 3), None);
        for bit in 0..ENTRY * 8 {
            let mut damaged = entry;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(BucketTotals::decode(&damaged, 17, 3), None, "bit {bit}");
        }
        let trailer = Trailer {
            frames: 7,
            bytes: 8,
            counters: NOWHERE,
        };
        assert_eq!(Trailer::decode(&trailer.encode()), Some(trailer));
        assert_eq!(Trailer::decode(&[0; TRAILER]), None);
    }
}
