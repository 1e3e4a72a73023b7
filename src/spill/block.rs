//! The block: what one write to a bucket file contains, and how a reader knows that it has the right one.
//!
//! *Owns:* the layout of a block and of a record in it. Nothing here does I/O or allocates.
//!
//! A block is a 64-byte header and a payload, zero-padded to whole pages. All integers are
//! little-endian:
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic `OUTSETB1` |
//! | 8 | 8 | run: random per run |
//! | 16 | 4 | store: which filling of buckets within the run |
//! | 20 | 4 | bucket |
//! | 24 | 4 | split level |
//! | 28 | 4 | kind: 0 whole records, 1 first piece of a long record, 2 further piece |
//! | 32 | 8 | number within the bucket |
//! | 40 | 8 | payload length in bytes |
//! | 48 | 8 | records that begin in the block |
//! | 56 | 8 | XXH3-64 of the payload, seeded with the XXH3-64 of the header (this field zero) |
//!
//! A record is its length (LEB128) and the bytes of the line. A record that fits an empty block is
//! never cut; a longer one fills blocks of its own, the length in front of the first piece:
//!
//! ```text
//!  Records        │ header │ length line │ length line │ ... │ zeros │    records = 1 or more
//!  FirstPiece     │ header │ length, start of the line       │         records = 1
//!  FurtherPiece   │ header │ next bytes of the line     │ zeros │      records = 0
//! ```
//!
//! The zeros are there because direct I/O writes whole pages. They are not part of the payload, and no
//! checksum covers them.
//!
//! *Invariants:* a block that passes [`check`] is the block that was sealed for that offset, unless
//! XXH3-64 collides. A block is written and read by one process, so the format has no version.
//!
//! *Cost:* the checksum, one pass over the payload when a block is sealed and one when it is checked. Blocks that stay
//! in memory have none: it took 3 % of the processor time of a union in memory.

use crate::sys::checksum;

/// The bytes of a header: the fields of the table above, without a gap.
pub(crate) const HEADER: usize = 64;
/// The number by which a block differs from pages that were never written, which read as zeros.
const MAGIC: u64 = u64::from_le_bytes(*b"OUTSETB1");

/// The address of a block. It is not stored with the block's offset: the reader computes it from the bucket and the
/// position of the block, and [`check`] compares it with the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    /// A random number of the run. It reveals a file that another run left or wrote to.
    pub(crate) run: u64,
    /// The number of the filling in its run, from 0: each input, and each split of a bucket, fills a new store.
    pub(crate) store: u32,
    /// The bucket within the store, from 0.
    pub(crate) bucket: u32,
    /// The split level whose hash value chose the bucket: 0, or that of the split; below `MAX_LEVELS`.
    pub(crate) level: u32,
    /// The number of the block within the file of its bucket, from 0.
    pub(crate) number: u64,
}

/// The kinds of payloads. The values are those in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum BlockKind {
    /// Whole records, one after the other.
    Records = 0,
    /// The length of a record that is longer than a block, and as much of its line as fits.
    FirstPiece = 1,
    /// More bytes of the line that the block before it left unfinished.
    FurtherPiece = 2,
}

impl BlockKind {
    /// Reads a number of a header; `None` for one that no version of this enum has: the header is damaged.
    fn from_u32(kind: u32) -> Option<Self> {
        [Self::Records, Self::FirstPiece, Self::FurtherPiece]
            .into_iter()
            .find(|k| *k as u32 == kind)
    }
}

/// The content of a checked block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockInfo {
    pub(crate) kind: BlockKind,
    /// Bytes after the header, padding excluded; never more than the bytes that were checked.
    pub(crate) payload_bytes: usize,
    /// Records that begin in the block: 0 for a further piece.
    pub(crate) records: u64,
}

/// Writes the header of a finished block. `block` is [`HEADER`] bytes of room, then the payload, and nothing
/// else: its length is the length of the payload that the header records. The room may contain anything.
///
/// Called by the thread that filled the block, under the lock of its bucket.
pub(crate) fn seal(block: &mut [u8], address: &Address, kind: BlockKind, records: u64) {
    let payload_bytes = (block.len() - HEADER) as u64;
    let header = header(address, kind, payload_bytes, records);
    block[..HEADER].copy_from_slice(&header);
    // `header` still has a zero in the field of the sum, as in `check`: the sum does not cover itself.
    let sum = sum_of(&header, &block[HEADER..]);
    block[56..HEADER].copy_from_slice(&sum.to_le_bytes());
}

/// Checks that `block` (as read, padding included) is what was sealed for `address`. The slice may be of
/// any length and content; nothing in it is trusted before it was compared.
///
/// # Errors
/// What does not agree, in words. The caller adds the path and the number of the block.
pub(crate) fn check(block: &[u8], address: &Address) -> Result<BlockInfo, String> {
    let word = |at: usize| -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&block[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    if block.len() < HEADER || word(0) != MAGIC {
        return Err("not a spill block".into());
    }
    // A length that is too large for this machine is larger than the slice, too: `get` refuses it.
    let payload_bytes = usize::try_from(word(40)).unwrap_or(usize::MAX);
    // The kind is the upper half of the word that the level begins.
    let kind = BlockKind::from_u32((word(24) >> 32) as u32);
    let (Some(kind), Some(payload)) = (kind, block[HEADER..].get(..payload_bytes)) else {
        return Err("its header is invalid".into());
    };
    // The header that belongs here, with the three fields that only the block knows. Comparing it first
    // gives the more telling message: a misplaced block has a correct checksum of its own.
    let header = header(address, kind, payload_bytes as u64, word(48));
    if block[..56] != header[..56] {
        return Err("it belongs to a different bucket or a different run".into());
    }
    if sum_of(&header, payload) != word(56) {
        return Err("its checksum does not match its content".into());
    }
    Ok(BlockInfo {
        kind,
        payload_bytes,
        records: word(48),
    })
}

/// Makes the bytes of a header whose checksum field is zero.
fn header(address: &Address, kind: BlockKind, payload_bytes: u64, records: u64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &MAGIC.to_le_bytes());
    put(8, &address.run.to_le_bytes());
    put(16, &address.store.to_le_bytes());
    put(20, &address.bucket.to_le_bytes());
    put(24, &address.level.to_le_bytes());
    put(28, &(kind as u32).to_le_bytes());
    put(32, &address.number.to_le_bytes());
    put(40, &payload_bytes.to_le_bytes());
    put(48, &records.to_le_bytes());
    header
}

/// True if blocks get the checksum 0, so that a benchmark can measure what checksums cost. Set it before any block is
/// sealed: [`seal`] and [`check`] must agree on it.
#[cfg(feature = "internals")]
pub(crate) static UNCHECKED: std::sync::atomic::AtomicBool =
    std::sync::atomic::AtomicBool::new(false);

/// Computes the payload's checksum, seeded with the header's. One number covers both, so a header cannot be combined
/// with the payload of another block.
fn sum_of(header: &[u8; HEADER], payload: &[u8]) -> u64 {
    #[cfg(feature = "internals")]
    if UNCHECKED.load(std::sync::atomic::Ordering::Relaxed) {
        return 0;
    }
    checksum::in_place(checksum::of(header), payload)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::lines::prefixed::{MAX_LENGTH_BYTES, PrefixedLines, put_length, record_bytes};

    const ADDRESS: Address = Address {
        run: 9,
        store: 1,
        bucket: 7,
        level: 2,
        number: 3,
    };

    fn sealed(lines: &[&[u8]]) -> Vec<u8> {
        let mut block = vec![0; HEADER];
        for line in lines {
            let mut length = [0; MAX_LENGTH_BYTES];
            let taken = put_length(&mut length, line.len());
            block.extend_from_slice(&length[..taken]);
            block.extend_from_slice(line);
            assert_eq!(record_bytes(line.len()), taken + line.len());
        }
        seal(&mut block, &ADDRESS, BlockKind::Records, lines.len() as u64);
        block
    }

    #[test]
    fn a_block_gives_its_lines_back() {
        let long = vec![b'x'; 20_000];
        let lines: [&[u8]; 4] = [b"", b"a", &long, &[b'y'; 128]];
        let mut block = sealed(&lines);
        block.resize(block.len() + 500, 0);
        let info = check(&block, &ADDRESS).unwrap();
        assert_eq!((info.kind, info.records), (BlockKind::Records, 4));
        let back: Vec<&[u8]> = PrefixedLines(&block[HEADER..HEADER + info.payload_bytes]).collect();
        assert_eq!(back, lines);
    }

    #[test]
    fn every_kind_is_known_again_and_what_is_no_block_is_refused() {
        for kind in [
            BlockKind::Records,
            BlockKind::FirstPiece,
            BlockKind::FurtherPiece,
        ] {
            let mut block = vec![7; HEADER + 100];
            seal(&mut block, &ADDRESS, kind, 1);
            assert_eq!(check(&block, &ADDRESS).unwrap().kind, kind);
        }
        let empty = sealed(&[]);
        assert_eq!(check(&empty, &ADDRESS).unwrap().payload_bytes, 0);
        for length in 0..HEADER {
            let told = check(&empty[..length], &ADDRESS).unwrap_err();
            assert_eq!(told, "not a spill block", "{length} bytes");
        }
        let told = check(&[0; HEADER + 10], &ADDRESS).unwrap_err();
        assert_eq!(told, "not a spill block");
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let block = sealed(&[b"first line", b"second line"]);
        for bit in 0..block.len() * 8 {
            let mut damaged = block.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(check(&damaged, &ADDRESS).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_block_at_another_offset_is_noticed() {
        let block = sealed(&[b"line"]);
        for other in [
            Address { run: 8, ..ADDRESS },
            Address {
                store: 2,
                ..ADDRESS
            },
            Address {
                bucket: 6,
                ..ADDRESS
            },
            Address {
                level: 1,
                ..ADDRESS
            },
            Address {
                number: 4,
                ..ADDRESS
            },
        ] {
            assert!(check(&block, &other).is_err(), "{other:?}");
        }
        assert!(check(&vec![0; 4096], &ADDRESS).is_err());
    }
}
