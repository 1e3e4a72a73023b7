//! A sealed bucket: where its blocks are, and what must come out of them.
//!
//! *Owns:* the blocks of a bucket, written to its file or held in memory.
//!
//! Offsets in a file, where B is the size of a block:
//!
//! ```text
//!  0              B              2B             3B
//!  │ block 0      │ block 1 ▒▒▒▒ │ block 2      │ block 3 │
//!                           hole                          end
//! ```
//!
//! *Invariants:* a sealed bucket does not change; its counts are those of the lines that were
//! appended. Written blocks are numbered from 0, and block n begins at n times the block size. So nothing
//! is stored per block: a file costs no memory, however long it gets.
//!
//! *Cost:* the held blocks. They came from a pool and outlive it: they go back to the budget, not to the
//! pool, when the bucket is dropped.

use std::sync::Arc;

use crate::error::Error;
use crate::memory::buffer::Buffer;
use crate::record::Columns;
use crate::spill::block::{Address, HEADER};
use crate::temp::space::{SpillPath, TempSpace};

/// A full block of whole records that stayed in memory. Nobody can have put another in its place, so it has no header
/// and no checksum. The sum of hashes covers its keys; what else is in memory is not checked either.
#[derive(Debug)]
pub(crate) struct HeldBlock {
    /// A whole block of the pool, with room for a header at its front.
    pub(crate) buffer: Buffer,
    /// The offset at which its records end: from `HEADER` to the size of a block.
    pub(crate) filled: usize,
    pub(crate) records: u64,
}

impl HeldBlock {
    /// Returns the records, one after the other.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.buffer[HEADER..self.filled]
    }
}

/// The lines of one input that fall into one bucket, complete.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// Run, store, bucket and level of its blocks. The block number in it means nothing: the reader fills
    /// it in.
    pub(crate) address: Address,
    /// The distance between the starts of written blocks, in bytes; a multiple of the page size.
    pub(crate) block_bytes: u64,
    /// The written blocks; without a path if all of the bucket is in memory.
    pub(crate) file: BucketFile,
    /// The blocks in memory.
    pub(crate) held: Vec<HeldBlock>,
    /// True if each line has its ordinal after it.
    pub(crate) has_ordinals: bool,
    /// The columns that the keys of the lines are in, if these are records; else each line is its own key.
    pub(crate) columns: Option<Arc<Columns>>,
    /// Lines appended, repetitions included.
    pub(crate) lines: u64,
    /// Bytes of their records, lengths included: the sum of all payloads.
    pub(crate) record_bytes: u64,
    /// The length of the longest line with what follows it, in bytes; 0 without lines. Sizes the memory of a
    /// reader.
    pub(crate) longest_line: u64,
    /// The sum of the lines' hashes, modulo 2^64. Several threads append in any order, and a sum does not
    /// depend on it. Counts alone would miss a line that turned into another of the same length.
    pub(crate) hash_sum: u64,
}

/// The file of a bucket. A block is written without the unused pages at its end; if another block follows,
/// they are a hole in the file, which takes no disk and reads as zeros.
#[derive(Debug, Default)]
pub(crate) struct BucketFile {
    /// `None` while nothing was written.
    pub(crate) path: Option<SpillPath>,
    /// Blocks written, or sent to a writer thread; also the number of the next one.
    pub(crate) blocks: u64,
    /// The offset at which the last of them ends, padding included, in bytes.
    pub(crate) end: u64,
    /// Bytes written, padding included and holes not: what the quota is charged for.
    pub(crate) written_bytes: u64,
}

impl Bucket {
    /// Gives the bucket's memory and disk back. The join frees the held blocks first and calls this on the
    /// thread `sweep`, because removing a file may take long; a split calls it on its own thread. A file that
    /// cannot be removed stays until the private directory goes.
    pub(crate) fn discard(self, space: &TempSpace) {
        if let Some(path) = &self.file.path {
            space.remove(path, self.file.written_bytes);
        }
    }

    /// Makes the error for a block that is not what it should be; `what` says why. The path is empty if the bucket has
    /// no file.
    pub(crate) fn damaged(&self, block: u64, what: String) -> Error {
        let path = self
            .file
            .path
            .as_ref()
            .map(|file| file.path.clone())
            .unwrap_or_default();
        Error::Damaged { path, block, what }
    }
}
