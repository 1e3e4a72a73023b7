//! The division of memory in the commands that work for a cluster.
//!
//! *Owns:* the layouts of `shard` and `join`. *Invariants:* as those of [`layout`](crate::plan::layout).
//!
//! ```text
//!  shard                                                      join, while it receives
//!  ├──────┬───────┬────────────────────┬──────────────────┐   ├──────┬─────────────────┬──────────────────┬──────────┐
//!  │ base │ scan  │ a block for each   │ filter, LZ4 for  │   │ base │ frames, decoded │ blocks, also of  │ rest     │
//!  │      │       │ bucket             │ each worker      │   │      │ frames          │ lines that stay  │          │
//!  └──────┴───────┴────────────────────┴──────────────────┘   └──────┴─────────────────┴──────────────────┴──────────┘
//! ```

use crate::error::Result;
use crate::exchange::frame::MOST_DECODED;
use crate::exchange::sender::scratch_bytes;
use crate::memory::buffer::PAGE;
use crate::plan::advice::advised_layout;
use crate::plan::job::Job;
use crate::plan::layout::{Layout, SMALLEST_BLOCK};
use crate::size::display_bytes;
use crate::spill::block::HEADER;
use crate::spill::pool::in_flight;

/// The part of the memory for buffers, in tenths, that a join has for frames and blocks while it receives; the same as
/// that of `partition`.
const POOL_TENTHS: u64 = 6;
/// The open blocks of a join take no more than this fraction of the memory for blocks: the others hold lines.
const OPEN_SHARE: u64 = 4;
/// Buckets of a join for each side, at most: what does not fit is split.
const MOST_JOIN_BUCKETS: u64 = 256;

/// Makes the layout for splitting the inputs of `job` into `buckets`: a block for each, as large as memory allows and
/// a frame may be. `beside_bytes` are left for a filter.
///
/// # Errors
/// [`crate::Error::MemoryPlan`] where blocks would be smaller than a page.
pub(crate) fn shard_layout(job: &Job, buckets: u32, beside_bytes: u64) -> Result<Layout> {
    let layout_in = |job: &Job| {
        let mut layout = Layout::for_scan(job, true);
        let beside = beside_bytes + layout.scan.workers as u64 * scratch_bytes();
        layout.set_bookkeeping(buckets, job.inputs.len());
        let pool_bytes = layout.rest_bytes().saturating_sub(beside);
        // No block is written: a full one is handed over.
        let writers = in_flight(0);
        if !layout.set_blocks(job, buckets, writers, pool_bytes, PAGE) {
            return None;
        }
        // Payload and header together, as a block of a bucket has them.
        layout.pool.block_bytes = layout
            .pool
            .block_bytes
            .min((MOST_DECODED + HEADER as u64) & !(PAGE - 1));
        layout.pool.blocks = u64::from(buckets) + writers + 1;
        Some(layout)
    };
    advised_layout(job, layout_in, || {
        format!(
            "{} has no room for one block per bucket ({buckets} buckets)",
            display_bytes(job.memory_bytes)
        )
    })
}

/// Makes the layout for joining what comes as frames of the sides of `job`, which are its inputs.
///
/// # Errors
/// [`crate::Error::MemoryPlan`] where there is no room for blocks.
pub(crate) fn join_layout(job: &Job) -> Result<Layout> {
    let layout_in = |job: &Job| {
        let mut layout = Layout::for_scan(job, true);
        layout.scan.chunk_bytes = MOST_DECODED;
        // One thread receives: more frames in memory would only wait.
        layout.scan.readers = 1;
        layout.scan.chunk_buffers = layout.scan.workers + 3;
        let sides = job.inputs.len() as u64;
        let pool_bytes =
            (layout.usable_bytes * POOL_TENTHS / 10).checked_sub(layout.scan.bytes())?;
        let pool_bytes = pool_bytes.min(layout.most_pool_bytes(job));
        let open = |block: u64| (pool_bytes / OPEN_SHARE / block / sides).min(MOST_JOIN_BUCKETS);
        // Large blocks, or enough buckets: whichever the memory has room for.
        let block = [MOST_DECODED, 64 << 10, SMALLEST_BLOCK]
            .into_iter()
            .find(|&block| open(block) >= 32)
            .unwrap_or(SMALLEST_BLOCK);
        let each = open(block).max(2);
        let buckets = (each * sides) as u32;
        // The buckets are those of all sides together.
        let together = Job {
            inputs: job.inputs[..1].to_vec(),
            ..job.clone()
        };
        if !layout.set_pool(&together, buckets, pool_bytes, PAGE) {
            return None;
        }
        layout.pool.block_bytes = layout.pool.block_bytes.min(block);
        if !job.always_spill {
            layout.pool.blocks = pool_bytes / layout.pool.block_bytes;
        }
        Some(layout)
    };
    advised_layout(job, layout_in, || {
        format!(
            "there is no room for the buffers of the buckets in {}",
            display_bytes(job.memory_bytes)
        )
    })
}
