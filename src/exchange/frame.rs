//! The frame: a block of lines on its way from one process to another.
//!
//! *Owns:* the layout of a frame's header and its rules. Nothing here does I/O or allocates.
//!
//! A frame is a header of [`HEADER`] bytes and a payload. All integers are little-endian:
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic `OUTSETF1`; the digit is the version |
//! | 8 | 8 | job: what the hash key and the number of buckets have in common for all shards of a job |
//! | 16 | 8 | shard: random for each attempt |
//! | 24 | 4 | side, from 1; 0 in the result of a join |
//! | 28 | 4 | bucket, from 0; the number of buckets in a frame of counters |
//! | 32 | 4 | kind: 0 records, 1 counters, 2 lines |
//! | 36 | 4 | records: how many the payload has |
//! | 40 | 8 | number of the frame within its bucket and shard, from 0 |
//! | 48 | 8 | where the frame before it of the same bucket begins in the shard, in bytes; all ones for the first |
//! | 56 | 8 | sum of the hashes of its lines, modulo 2^64 |
//! | 64 | 8 | bytes of the payload as it is stored |
//! | 72 | 8 | bytes of the payload when it is decoded |
//! | 80 | 8 | XXH3-64 of the decoded payload, seeded with the XXH3-64 of the header (this field zero) |
//!
//! A payload that is shorter than it is decoded is one LZ4 block. Payloads by kind:
//!
//! - *records:* lines, each with its length (LEB128) before it. At most 256 KiB decoded; a line that does not fit has a
//!   frame of its own, which is not compressed.
//! - *counters:* what the shard has for each bucket ([`BucketTotals`](super::totals::BucketTotals)).
//! - *lines:* whole lines of a result, each with its line end. Never compressed.
//!
//! *Invariants:* a frame that passes [`FrameHeader::check`] is one that was sent, unless XXH3-64 collides. Sizes are
//! compared with what their kind allows before anything is allocated for them.
//!
//! *Cost:* the checksum, one pass over the decoded payload on each side.

use crate::sys::checksum;

/// The bytes of a header.
pub(crate) const HEADER: usize = 88;
/// The most bytes of a payload of several records, and of one that is compressed, when it is decoded.
pub(crate) const MOST_DECODED: u64 = 256 << 10;
/// The offset that stands for a frame before the first one.
pub(crate) const NOWHERE: u64 = u64::MAX;

const MAGIC: [u8; 8] = *b"OUTSETF1";
/// The offset of the checksum in a header.
const SUM_AT: usize = HEADER - 8;

/// The content of the payload. The values are those in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum FrameKind {
    /// Lines of one bucket.
    Records = 0,
    /// The totals of a shard for each bucket.
    Counters = 1,
    /// Lines of a result.
    Lines = 2,
}

/// The fields of a header, but for the magic and the checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) job: u64,
    pub(crate) shard: u64,
    /// From 1; 0 in the result of a join.
    pub(crate) side: u32,
    pub(crate) bucket: u32,
    pub(crate) kind: FrameKind,
    pub(crate) records: u32,
    /// Within its bucket and shard, from 0.
    pub(crate) number: u64,
    /// The byte of the shard at which the previous frame of the same bucket begins; [`NOWHERE`] for the first.
    pub(crate) previous: u64,
    /// The sum of the hashes of its lines under the key of the job, modulo 2^64.
    pub(crate) hash_sum: u64,
    /// Bytes of the payload as it follows.
    pub(crate) stored_bytes: u64,
    /// Bytes of the payload when it is decoded; equal to `stored_bytes` where it is not compressed.
    pub(crate) decoded_bytes: u64,
}

impl FrameHeader {
    /// Encodes the header with its checksum, for a payload that consists of these pieces when it is decoded.
    pub(crate) fn seal(&self, payload: &[&[u8]]) -> [u8; HEADER] {
        let mut bytes = self.encode();
        let sum = sum_of(&bytes, payload);
        bytes[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(8, &self.job.to_le_bytes());
        put(16, &self.shard.to_le_bytes());
        put(24, &self.side.to_le_bytes());
        put(28, &self.bucket.to_le_bytes());
        put(32, &(self.kind as u32).to_le_bytes());
        put(36, &self.records.to_le_bytes());
        put(40, &self.number.to_le_bytes());
        put(48, &self.previous.to_le_bytes());
        put(56, &self.hash_sum.to_le_bytes());
        put(64, &self.stored_bytes.to_le_bytes());
        put(72, &self.decoded_bytes.to_le_bytes());
        bytes
    }

    /// Decodes the fields of a header and its checksum. The payload is not looked at: [`FrameHeader::check`] does that.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(crate) fn decode(bytes: &[u8; HEADER]) -> Result<(Self, u64), &'static str> {
        let long = |at: usize| u64::from_le_bytes(array(&bytes[at..]));
        let short = |at: usize| u32::from_le_bytes(array(&bytes[at..]));
        if bytes[..8] != MAGIC {
            return Err(if bytes.starts_with(b"OUTSETF") {
                "the frame has a different version"
            } else {
                "these bytes are not a frame"
            });
        }
        let kinds = [FrameKind::Records, FrameKind::Counters, FrameKind::Lines];
        let kind = kinds.into_iter().find(|&kind| kind as u32 == short(32));
        let header = Self {
            job: long(8),
            shard: long(16),
            side: short(24),
            bucket: short(28),
            kind: kind.ok_or("the kind of the frame is unknown")?,
            records: short(36),
            number: long(40),
            previous: long(48),
            hash_sum: long(56),
            stored_bytes: long(64),
            decoded_bytes: long(72),
        };
        if header.has_valid_sizes() {
            Ok((header, long(SUM_AT)))
        } else {
            Err("the sizes of the frame are invalid")
        }
    }

    /// Makes a header of nothing, to be replaced by the first that is read.
    pub(crate) fn nothing() -> Self {
        Self {
            job: 0,
            shard: 0,
            side: 0,
            bucket: 0,
            kind: FrameKind::Lines,
            records: 0,
            number: 0,
            previous: NOWHERE,
            hash_sum: 0,
            stored_bytes: 0,
            decoded_bytes: 0,
        }
    }

    /// Tells whether its payload is an LZ4 block.
    pub(crate) fn is_compressed(&self) -> bool {
        self.stored_bytes != self.decoded_bytes
    }

    /// Tells whether a frame of its kind may have its sizes.
    fn has_valid_sizes(&self) -> bool {
        let is_block = self.decoded_bytes <= MOST_DECODED;
        let is_long_line = self.records == 1 && !self.is_compressed();
        match self.kind {
            FrameKind::Records => {
                self.stored_bytes <= self.decoded_bytes
                    && self.records > 0
                    && self.side > 0
                    && (is_block || is_long_line)
            }
            FrameKind::Counters | FrameKind::Lines => !self.is_compressed(),
        }
    }

    /// Returns the seed for the checksum of its payload.
    pub(crate) fn seed(&self) -> u64 {
        checksum::of(&self.encode())
    }

    /// Tells whether `payload` is the decoded one that was sent with this header and `sum`.
    pub(crate) fn check(&self, sum: u64, payload: &[u8]) -> bool {
        sum_of(&self.encode(), &[payload]) == sum
    }
}

/// Sums a payload together with a header whose field for the checksum is zero. One number covers both.
fn sum_of(header: &[u8; HEADER], payload: &[&[u8]]) -> u64 {
    let seed = checksum::of(header);
    if let [only] | [only, []] = payload {
        return checksum::in_place(seed, only);
    }
    let mut running = checksum::Running::in_place(seed);
    for piece in payload {
        running.update(piece);
    }
    running.finish()
}

/// Returns the first `N` bytes of a longer slice.
pub(crate) fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[..N]);
    array
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn header() -> FrameHeader {
        FrameHeader {
            job: 1,
            shard: 2,
            side: 3,
            bucket: 4,
            kind: FrameKind::Records,
            records: 5,
            number: 6,
            previous: NOWHERE,
            hash_sum: 8,
            stored_bytes: 9,
            decoded_bytes: 10,
        }
    }

    #[test]
    fn a_header_comes_back_as_it_was() {
        let sealed = header().seal(&[b"012345", b"6789"]);
        let (back, sum) = FrameHeader::decode(&sealed).unwrap();
        assert_eq!(back, header());
        assert!(back.check(sum, b"0123456789"));
        assert!(!back.check(sum, b"0123456780"));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let sealed = header().seal(&[b"0123456789"]);
        for bit in 0..HEADER * 8 {
            let mut damaged = sealed;
            damaged[bit / 8] ^= 1 << (bit % 8);
            let is_noticed = FrameHeader::decode(&damaged)
                .map_or(true, |(back, sum)| !back.check(sum, b"0123456789"));
            assert!(is_noticed, "bit {bit}");
        }
    }

    #[test]
    fn sizes_that_a_kind_cannot_have_are_refused_before_anything_is_read() {
        let refused = |change: fn(&mut FrameHeader)| {
            let mut header = header();
            change(&mut header);
            FrameHeader::decode(&header.seal(&[])).unwrap_err()
        };
        for change in [
            (|header| header.decoded_bytes = MOST_DECODED + 1) as fn(&mut FrameHeader),
            |header| header.stored_bytes = 11,
            |header| header.records = 0,
            |header| header.side = 0,
            |header| header.kind = FrameKind::Counters,
            |header| (header.stored_bytes, header.decoded_bytes) = (1 << 40, 1 << 40),
        ] {
            assert_eq!(refused(change), "the sizes of the frame are invalid");
        }
        let mut other = header().seal(&[]);
        other[7] = b'2';
        assert_eq!(
            FrameHeader::decode(&other),
            Err("the frame has a different version")
        );
        assert_eq!(
            FrameHeader::decode(&[0; HEADER]),
            Err("these bytes are not a frame")
        );
    }
}
