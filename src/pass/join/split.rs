//! Splitting a bucket that does not fit: the spill pass again, from a bucket, on the next hash
//! bits.
//!
//! *Owns:* the choice of split level and fan-out, and the splitting. *Invariants:* only the bucket
//! that did not fit is split; a level is taken only if it divides the lines that were seen, so no
//! split is in vain; the level grows with each split, so the recursion ends after [`MAX_LEVELS`] at
//! most. *Cost:* the bucket is read and written once more; memory is the worker's share.

use crate::error::Result;
use crate::hash::MAX_LEVELS;
use crate::memory::budget::{MemoryBudget, Reservation};
use crate::memory::buffer::PAGE;
use crate::pass::join::work::{JoinWork, Position};
use crate::pass::spill::ToBuckets;
use crate::plan::layout::BUCKET_BYTES;
use crate::run::Run;
use crate::set::line_set::LineSet;
use crate::spill::bucket::Bucket;
use crate::spill::fill::fill;
use crate::spill::pool::BlockPool;
use crate::spill::reader::BucketReader;
use crate::spill::rules::FillRules;

/// Lines of the set by which a level is judged. A bucket of lines with equal hashes shows it in a few; some
/// thousand tell an uneven level from an even one.
const WITNESSES: usize = 4096;
/// The most threads that write the blocks of a split for one joiner, while the joiner reads and scatters.
pub(super) const MOST_WRITERS: usize = 4;
/// Blocks besides one for each part: the pool's spare ones, and those that are written.
const SPARE_BLOCKS: u64 = 2 + MOST_WRITERS as u64;
/// The smallest block that a split writes.
const LEAST_BLOCK: u64 = 16 << 10;

/// The plan for splitting a bucket.
#[derive(Debug, Clone, Copy)]
pub(super) struct SplitPlan {
    /// The split level of the parts: above that of the bucket, below [`MAX_LEVELS`]. Each level uses other
    /// bits of the hash, so lines that met on one level part on the next.
    level: u32,
    /// The number of parts, 2 or more.
    fan_out: u32,
    /// Bytes of a block of a part, a multiple of the page size.
    block_bytes: u64,
    /// Bytes for what is remembered of the parts of all inputs.
    bookkeeping_bytes: u64,
}

/// Plans the split of the buckets of `work`, of whose building sides the lines before `end` are in the set; `None`
/// where no level would divide them, or there is no room for the parts.
pub(super) fn plan(
    run: &Run<'_>,
    set: &LineSet,
    budget: &MemoryBudget,
    work: &JoinWork<'_>,
    end: Position,
) -> Option<SplitPlan> {
    let (inputs, (fitting, lines)) = (work.buckets().len(), work.lines_before(end));
    // Not one line fits: smaller buckets would not help.
    if fitting == 0 {
        return None;
    }
    // Half of the share for blocks and bookkeeping: the rest is the reader's, and slack.
    let free = budget.available_bytes() + set.held_bytes();
    let room = free / 2;
    let layout = &run.layout;
    let least_block = layout.pool.block_bytes.min(LEAST_BLOCK.max(room / 64));
    let most = (room / (least_block + inputs as u64 * BUCKET_BYTES))
        .saturating_sub(SPARE_BLOCKS)
        .clamp(2, 1024);
    // Half more parts than equal ones would need: they are not equal, and lines beyond those seen may be longer.
    let fan_out = (3 * lines.div_ceil(fitting) / 2 + 1).clamp(2, most) as u32;
    let bookkeeping_bytes = u64::from(fan_out) * inputs as u64 * BUCKET_BYTES;
    // Of very many inputs, what is remembered of two parts may be more than there is.
    if bookkeeping_bytes > room {
        return None;
    }
    let blocks = u64::from(fan_out) + SPARE_BLOCKS;
    // As large as there is room for, and as the reader takes at a time: a disk is slow in small pieces.
    let block_bytes = (room.saturating_sub(bookkeeping_bytes) / blocks)
        .clamp(PAGE, layout.read_bytes())
        & !(PAGE - 1);
    let hasher = run.hasher;
    let hashes: Vec<u64> = set
        .iter()
        .take(WITNESSES)
        .map(|line| hasher.hash(line))
        .collect();
    let divides = |level: &u32| {
        let mut counts = vec![0usize; fan_out as usize];
        for &hash in &hashes {
            counts[hasher.bucket(hash, *level, fan_out) as usize] += 1;
        }
        // A useful level leaves no part with nearly everything.
        counts
            .iter()
            .max()
            .is_some_and(|&largest| largest * 10 <= hashes.len() * 9)
    };
    let level = (work.buckets()[0].address.level + 1..MAX_LEVELS).find(divides)?;
    Some(SplitPlan {
        level,
        fan_out,
        block_bytes,
        bookkeeping_bytes,
    })
}

/// The parts of a bucket, and the memory for what is remembered of them.
pub(super) struct SplitBuckets {
    stores: Vec<std::vec::IntoIter<Bucket>>,
    left: u32,
    _bookkeeping: Reservation,
}

impl Iterator for SplitBuckets {
    /// The bucket of every input.
    type Item = Vec<Bucket>;

    fn next(&mut self) -> Option<Vec<Bucket>> {
        self.left = self.left.checked_sub(1)?;
        Some(self.stores.iter_mut().filter_map(Iterator::next).collect())
    }
}

/// Splits the bucket of every input, on the thread of a joiner: it reads a bucket with its `reader`, and may have
/// `writers` threads write the blocks. The bucket of each input is discarded as soon as its parts are written, so the
/// disk holds one input's bucket twice at most for each worker. The joiner has given the memory of its set back.
pub(super) fn split(
    run: &Run<'_>,
    budget: &MemoryBudget,
    reader: &mut BucketReader<'_>,
    writers: usize,
    buckets: Vec<Bucket>,
    plan: SplitPlan,
) -> Result<SplitBuckets> {
    {
        let mut record = run.record();
        record.buckets.split += 1;
        record.buckets.levels = record.buckets.levels.max(plan.level + 1);
    }
    let bookkeeping = budget.reserve("parts of a bucket", plan.bookkeeping_bytes)?;
    // A pool with no more than the open blocks and those that are written: nothing stays in memory, which the parts'
    // sets will need.
    let pool = BlockPool::new(
        budget,
        plan.block_bytes,
        u64::from(plan.fan_out) + 2 + writers as u64,
        SPARE_BLOCKS,
    );
    let mut stores = Vec::with_capacity(buckets.len());
    for bucket in buckets {
        let rules = FillRules {
            space: run.space,
            pool: &pool,
            address: run.new_store(plan.level),
            buckets: plan.fan_out,
            writers,
            has_ordinals: bucket.has_ordinals,
            columns: bucket.columns.as_ref(),
            block_sink: None,
        };
        let parts = fill(rules, |writer| {
            let mut to_buckets = ToBuckets::new(writer, run.hasher);
            reader.read(&bucket, |batch| {
                to_buckets.append(batch, 0..batch.lines.len() as u32)
            })
        })?;
        stores.push(parts.into_iter());
        bucket.discard(run.space);
    }
    Ok(SplitBuckets {
        stores,
        left: plan.fan_out,
        _bookkeeping: bookkeeping,
    })
}
