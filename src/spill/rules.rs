//! The rules of one filling of a store.
//!
//! *Owns:* [`FillRules`]. *Invariants:* they are the same for all threads of the filling. *Cost:* none.

use std::sync::Arc;

use crate::record::Columns;
use crate::spill::block::Address;
use crate::spill::block_sink::BlockSink;
use crate::spill::pool::BlockPool;
use crate::temp::space::TempSpace;

/// The rules of one filling; the same for all its threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FillRules<'a> {
    /// The temporary space of the bucket files.
    pub(crate) space: &'a TempSpace,
    /// The source of blocks. It may hold blocks of earlier stores.
    pub(crate) pool: &'a BlockPool,
    /// Run, store and split level; the bucket and the number are filled in for each block.
    pub(crate) address: Address,
    /// The number of buckets, at least 1: the range of `bucket` in
    /// [`BucketWriter::append`](super::writer::BucketWriter::append).
    pub(crate) buckets: u32,
    /// The most threads that write full blocks. With 0, the thread that fills a block writes it: so does a split where
    /// many workers join, or whose parts stay in memory.
    pub(crate) writers: usize,
    /// True if the lines have ordinals, which are kept after them.
    pub(crate) has_ordinals: bool,
    /// The columns of the keys of the lines, if they are records.
    pub(crate) columns: Option<&'a Arc<Columns>>,
    /// The taker of all blocks; the sealed buckets then have counts and no lines. Not for lines with ordinals. `None`:
    /// blocks are held in memory or written to `space`.
    pub(crate) block_sink: Option<&'a dyn BlockSink>,
}
