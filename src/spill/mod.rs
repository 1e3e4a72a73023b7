//! Spilling: lines that wait for the join, in memory while there is room, in bucket files when not.
//!
//! ```text
//!  lines ──▶ BucketWriter ──▶ open block of the bucket ──full──▶ held in memory, or
//!                                                          └───▶ writer thread ──▶ bucket file
//!  Buckets (being filled) ──finish──▶ Vec<Bucket> (sealed) ──read──▶ batches of lines
//! ```
//!
//! *Owns:* the block format and its checks ([`block`]), the memory of blocks ([`pool`]), filling buckets
//! ([`fill`], [`writer`]), sealed buckets ([`bucket`]) and reading them back ([`reader`], [`loader`]). The
//! files are those of [`temp`](crate::temp).
//!
//! *Invariants.*
//! - Every line appended to bucket b of a store has bucket number b on the store's split level.
//! - Lines and bytes of a bucket are counted as they are appended and must come out again when it
//!   is read; a block that is damaged, missing, misplaced or of another run is noticed by its
//!   header and checksum.
//! - A store that is being filled cannot be read, and a sealed one cannot be filled: they are two
//!   types.
//! - No file is open between two writes: any number of buckets runs under any descriptor limit.
//!
//! *Cost:* per open bucket one block of memory; per spilled byte one write and one read around the
//! page cache.
//!
//! *Sources:* two types and counts per bucket: sux-rs `sig_store`; lazily spilled blocks: hybrid
//! hash join, DeWitt et al., SIGMOD 1984; terms: Velox, "Spilling".

pub(crate) mod block;
pub(crate) mod bucket;
pub(crate) mod fill;
pub(crate) mod loader;
pub(crate) mod pool;
pub(crate) mod reader;
pub(crate) mod writer;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
