//! A sealed bucket: where its blocks are, and what must come out of them.
//!
//! *Owns:* the blocks of a bucket, written to its file or held in memory.
//!
//! *Invariants:* a sealed bucket does not change; its counts are those of the lines that were
//! appended. Written blocks are numbered from 0 and lie at multiples of the block size, so that
//! nothing has to be remembered of each: however long a file gets, it costs no memory. Held blocks
//! have numbers of their own, from [`FIRST_HELD`]. *Cost:* the held blocks.

use crate::error::Error;
use crate::memory::buffer::Buffer;
use crate::spill::block::Address;
use crate::temp::space::{SpillPath, TempSpace};

/// The number of the first block that is held in memory.
pub(crate) const FIRST_HELD: u64 = 1 << 63;

/// A sealed block that stayed in memory.
#[derive(Debug)]
pub(crate) struct HeldBlock {
    pub(crate) buffer: Buffer,
    /// Its length without padding.
    pub(crate) length: usize,
}

/// All lines of one input that fall into one bucket.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// Where it belongs; the block number is not used.
    pub(crate) address: Address,
    /// The distance between written blocks.
    pub(crate) block_bytes: u64,
    pub(crate) file: BucketFile,
    pub(crate) held: Vec<HeldBlock>,
    /// Lines appended.
    pub(crate) lines: u64,
    /// Bytes of their records.
    pub(crate) record_bytes: u64,
    /// The longest of them, in bytes.
    pub(crate) longest_line: u64,
    /// The sum of their hashes, modulo 2^64: whatever their order, the same lines have the same.
    pub(crate) hash_sum: u64,
}

/// The file of a bucket. The last block of a long line may leave a hole before the next.
#[derive(Debug, Default)]
pub(crate) struct BucketFile {
    /// `None` while nothing was written.
    pub(crate) path: Option<SpillPath>,
    /// Blocks written.
    pub(crate) blocks: u64,
    /// Where the last of them ends, in bytes.
    pub(crate) end: u64,
    /// Bytes written, holes not counted.
    pub(crate) written_bytes: u64,
}

impl Bucket {
    /// Gives its memory and its disk back.
    pub(crate) fn discard(self, space: &TempSpace) {
        if let Some(path) = &self.file.path {
            space.remove(path, self.file.written_bytes);
        }
    }

    /// The error for a block that is not what it should be.
    pub(crate) fn damaged(&self, block: u64, what: String) -> Error {
        let path = self
            .file
            .path
            .as_ref()
            .map(|file| file.path.clone())
            .unwrap_or_default();
        Error::Damaged {
            path,
            block: block & !FIRST_HELD,
            what,
        }
    }
}
