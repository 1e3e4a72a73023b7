//! Spilling: lines that wait for the join, in memory while there is room, in bucket files when not.
//!
//! The life of a block:
//!
//! ```text
//!          BlockPool          free buffers of one size
//!             │  take_claimed, take_if_roomy or Successor::take_or_wait
//!             ▼
//!          OpenBlock          one per bucket in use; a worker appends under the bucket's lock
//!             │  when it is full, or by `flush`
//!             ├── the pool has room ────────▶ HeldBlock ─────────────┐
//!             ▼  sealed                                              │
//!          FullBlock ──channel──▶ spill-N ──▶ BucketFile             │
//!                                    │             │                 │
//!             free buffer to the pool ◀┘           ▼                 ▼
//!                                               Bucket { file, held, counts }   sealed
//!                                                  │
//!                 copied from the page cache, or  ─┤
//!                    loaded ahead by load-N        │
//!                                                  ▼
//!                                               BucketReader ──▶ batches of lines
//! ```
//!
//! Who runs what:
//!
//! | thread | runs |
//! |---|---|
//! | the one that calls [`fill`](fill::fill) | claims blocks, starts the writers, flushes, seals |
//! | `work-N` | [`BucketWriter::append`](writer::BucketWriter::append); the first write to each file |
//! | `spill-N` | the other writes; gives buffers back to the pool |
//! | a worker of the join | [`BucketReader::read`](reader::BucketReader::read) |
//! | `load-N` | reads ahead, for all readers, what is not in the page cache |
//!
//! *Owns:* the block format and its checks ([`block`]), the memory of blocks ([`pool`]), filling buckets
//! ([`fill`], by its [`rules`], and [`writer`]), sealed buckets ([`bucket`]) and reading them back ([`reader`],
//! [`loader`], [`loads`]). The files are those of [`temp`](crate::temp).
//!
//! *Invariants.*
//! - Every line appended to bucket b of a store has bucket number b on the store's split level.
//! - Lines, bytes and the sum of hashes of a bucket are counted as lines are appended. A reading that ends
//!   with other counts fails. The header and checksum of a block reveal that it is damaged, missing,
//!   misplaced or from another run.
//! - A store that is being filled (a `BucketWriter`) cannot be read, and a sealed one (a list of `Bucket`s)
//!   cannot be filled: they are two types.
//! - No file is open between two writes: any number of buckets runs under any descriptor limit.
//!
//! *Cost:* per open bucket one block of memory; per spilled byte one write and one read, of the page cache or of the
//! disk.
//!
//! *Sources:* two types and counts per bucket: sux-rs `sig_store`; lazily spilled blocks: hybrid
//! hash join, DeWitt et al., SIGMOD 1984; terms: Velox, "Spilling".

pub(crate) mod block;
pub(crate) mod block_sink;
pub(crate) mod bucket;
pub(crate) mod fill;
mod filling_bucket;
pub(crate) mod loader;
pub(crate) mod loads;
pub(crate) mod pool;
pub(crate) mod reader;
pub(crate) mod rules;
pub(crate) mod writer;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
