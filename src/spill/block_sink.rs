//! The receiver of blocks that are neither held in memory nor written to temporary disk: another process.
//!
//! *Owns:* the interface [`BlockSink`]. *Invariants:* a block sink gets the records of a bucket in the order in which
//! they were appended, and the sums of their hashes add up to that of the bucket. *Cost:* that of the block sink, under
//! the bucket's lock.

use crate::error::Result;

/// Takes the blocks of a filling, instead of memory and files. Threads share it by reference.
pub(crate) trait BlockSink: Sync + std::fmt::Debug {
    /// Takes whole records. Called under the lock of their bucket.
    ///
    /// # Errors
    /// Whatever ends the filling.
    fn put(&self, content: Content<'_>) -> Result<()>;
}

/// The records of a block, or one that is longer than a block, for a [`BlockSink`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content<'c> {
    pub(crate) bucket: u32,
    pub(crate) records: u64,
    /// The sum of the hashes of their lines, modulo 2^64.
    pub(crate) hash_sum: u64,
    /// The records in two pieces, of which the second may be empty; in the format of [a block](crate::spill::block).
    pub(crate) payload: [&'c [u8]; 2],
}
