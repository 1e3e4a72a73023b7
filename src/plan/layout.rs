//! How memory is divided between the buffers of a run.
//!
//! *Owns:* the arithmetic of buffer sizes. *Invariants:* in every pass, chunk buffers, long lines,
//! blocks and filters add up to no more than [`Layout::usable_bytes`]. Under a small limit buffers
//! shrink and threads become fewer; the limit does not move. *Cost:* none.

use crate::input::long_lines::LimitAdvice;
use crate::plan::Job;
use crate::plan::job::threads_bytes;
use crate::spill::pool::IN_FLIGHT;

/// The least that must be left for buffers after what the process itself needs.
pub(crate) const LEAST_USABLE_BYTES: u64 = 6 << 20;
/// The largest chunk and the largest block: larger ones are no faster on disks.
const LARGEST: u64 = 1 << 20;
/// The smallest chunk.
const SMALLEST_CHUNK: u64 = 64 << 10;
/// The smallest block: below it direct writes become slow.
pub(crate) const SMALLEST_BLOCK: u64 = 16 << 10;
/// The most that long lines may have of the memory for buffers, in eighths: two such lines, and as much
/// for all else.
const MOST_EIGHTHS: u64 = 3;
const PAGE: u64 = crate::memory::buffer::PAGE;
/// What is remembered of one bucket of one input: a part, a path, a file.
pub(crate) const BUCKET_BYTES: u64 = 384;

/// Rounds of a search for a limit, each of which comes at least six times closer.
const ROUNDS: u32 = 16;

/// Sizes and counts of all buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Layout {
    /// The process's limit.
    pub(crate) memory_bytes: u64,
    /// What the process needs beside buffers.
    pub(crate) base_bytes: u64,
    /// What the budget may grant.
    pub(crate) usable_bytes: u64,
    /// The threads that were asked for; memory may allow fewer workers.
    pub(crate) threads: usize,
    pub(crate) workers: usize,
    pub(crate) readers: usize,
    pub(crate) writers: usize,
    pub(crate) chunk_bytes: u64,
    pub(crate) chunk_buffers: usize,
    /// Room for lines that are longer than a chunk, all together.
    pub(crate) long_line_bytes: u64,
    /// The share of buffers that long lines can have at most, in eighths: where no second plan may give
    /// them more, that of the first.
    pub(crate) long_line_eighths: u64,
    /// Buckets of the first level; 0 without a pool.
    pub(crate) buckets: u32,
    pub(crate) block_bytes: u64,
    pub(crate) pool_blocks: u64,
    pub(crate) join_workers: usize,
}

impl Layout {
    /// The part that every strategy has: threads, chunks, long lines.
    pub(crate) fn for_scan(job: &Job) -> Self {
        Self::for_tries(job, false)
    }

    /// As [`Layout::for_scan`], with the share of a stream for long lines whatever the inputs are:
    /// for a run that cannot be planned again when one is too long.
    pub(crate) fn for_single_try(job: &Job) -> Self {
        Self::for_tries(job, true)
    }

    fn for_tries(job: &Job, is_last_try: bool) -> Self {
        let usable = job.memory_bytes.saturating_sub(job.base_bytes);
        let workers = job.threads.clamp(1, (usable / (2 << 20)).max(1) as usize);
        // Two each even under a small limit: there buffers are small, and a disk is fast in small
        // requests only if several are under way.
        let (readers, writers) = (2, 2);
        let chunk_buffers = readers + workers + 1;
        // A sixteenth of the memory for chunks.
        let chunk_bytes =
            power_of_two_below(usable / 16 / chunk_buffers as u64).clamp(SMALLEST_CHUNK, LARGEST);
        let least_long = 2 * (chunk_bytes + 2 * PAGE);
        // A pipe cannot be sampled, nor read again when a line turns out too long.
        let has_stream = job.inputs.iter().any(|shape| shape.bytes.is_none());
        let plans_once = has_stream || is_last_try;
        let share = if plans_once { 8 } else { 128 };
        let long_line_bytes = (usable / share)
            .max(job.longest_line_bytes.saturating_mul(2))
            .min(usable * MOST_EIGHTHS / 8)
            .max(least_long)
            & !(PAGE - 1);
        Self {
            memory_bytes: job.memory_bytes,
            base_bytes: job.base_bytes,
            usable_bytes: usable,
            threads: job.threads,
            workers,
            readers,
            writers,
            chunk_bytes,
            chunk_buffers,
            long_line_bytes,
            long_line_eighths: if plans_once { 1 } else { MOST_EIGHTHS },
            buckets: 0,
            block_bytes: LARGEST,
            pool_blocks: 0,
            join_workers: workers,
        }
    }

    /// The same before there were buckets. What was set aside for those that it had stays so: a few
    /// kilobytes.
    pub(crate) fn without_buckets(&self) -> Self {
        Self {
            buckets: 0,
            block_bytes: LARGEST,
            pool_blocks: 0,
            join_workers: self.workers,
            ..*self
        }
    }

    /// What scanning takes: chunk buffers, an unfinished line of a stream, long lines.
    pub(crate) fn scan_bytes(&self) -> u64 {
        (self.chunk_buffers as u64 + 1) * (self.chunk_bytes + 2 * PAGE) + self.long_line_bytes
    }

    /// What blocks take.
    pub(crate) fn pool_bytes(&self) -> u64 {
        self.pool_blocks * self.block_bytes
    }

    /// The least process limit under which a plan for the same inputs has `bytes` for long lines.
    fn memory_for_long_lines(&self, bytes: u64) -> u64 {
        let usable = bytes.saturating_mul(8).div_ceil(self.long_line_eighths);
        self.memory_for_usable(usable.max(self.usable_bytes))
    }

    /// The least process limit under which a scan has `bytes` for long lines that may take all that is left
    /// beside what the rest of this plan takes, of which they have `held_bytes` now.
    fn memory_for_spare(&self, bytes: u64, held_bytes: u64) -> u64 {
        // Chunks are a sixteenth of all there is, and become twice as large at one step or not at all.
        let chunks = self.usable_bytes / 16;
        let missing = bytes.saturating_sub(held_bytes) + chunks;
        self.memory_for_usable(self.usable_bytes + missing + missing / 8)
    }

    /// The least process limit that leaves `usable` bytes for buffers: with it more threads may run.
    fn memory_for_usable(&self, usable: u64) -> u64 {
        let beside = self.memory_bytes.saturating_sub(self.usable_bytes);
        let of_threads = |memory_bytes| threads_bytes(self.threads, memory_bytes);
        let fixed = beside.saturating_sub(of_threads(self.memory_bytes));
        // What threads take grows by less than a sixth of the limit: a few rounds come close to it.
        let mut memory = fixed.saturating_add(usable);
        for _ in 0..ROUNDS {
            memory = fixed
                .saturating_add(usable)
                .saturating_add(of_threads(memory));
        }
        memory
    }

    /// The most that blocks may take, so that a join has room for the longest line twice, in the set and
    /// while it is put together, with blocks still in memory: but an eighth in any case.
    pub(crate) fn most_pool_bytes(&self, job: &Job) -> u64 {
        if job.longest_line_bytes <= self.chunk_bytes {
            return self.usable_bytes;
        }
        let twice = job.longest_line_bytes.saturating_mul(2);
        self.usable_bytes
            .saturating_sub(twice.saturating_add(4 * LARGEST))
            .max(self.usable_bytes / 8)
    }

    /// What is left beside scanning and blocks.
    pub(crate) fn rest_bytes(&self) -> u64 {
        self.usable_bytes
            .saturating_sub(self.scan_bytes() + self.pool_bytes())
    }

    /// What a join worker reads at a time: several blocks where these are small.
    pub(crate) fn read_bytes(&self) -> u64 {
        LARGEST
            .min((self.usable_bytes / 32) & !(PAGE - 1))
            .max(self.block_bytes)
    }

    /// The share of one join worker, less the blocks that it reads; the blocks that stay in memory
    /// are not counted.
    pub(crate) fn join_share(&self, workers: usize) -> u64 {
        (self.usable_bytes / workers as u64).saturating_sub(2 * LARGEST.min(self.usable_bytes / 32))
    }

    /// The most buckets whose bookkeeping takes no more than a quarter of the memory.
    pub(crate) fn most_buckets(&self, inputs: usize) -> u64 {
        self.usable_bytes / 4 / (inputs as u64 * BUCKET_BYTES).max(1)
    }

    /// Sets memory aside for what is remembered of each bucket of each input.
    fn set_bookkeeping(&mut self, buckets: u32, inputs: usize) {
        let bytes = u64::from(buckets) * inputs as u64 * BUCKET_BYTES;
        self.base_bytes += bytes;
        self.usable_bytes = self.usable_bytes.saturating_sub(bytes);
    }

    /// Divides `pool_bytes` into blocks for `buckets` buckets. False, and nothing changed, when the
    /// blocks would become smaller than `least`, or their bookkeeping too large.
    pub(crate) fn set_pool(
        &mut self,
        job: &Job,
        buckets: u32,
        pool_bytes: u64,
        least: u64,
    ) -> bool {
        let pool_bytes = pool_bytes.min(self.most_pool_bytes(job));
        let open = u64::from(buckets) + IN_FLIGHT + 1;
        let block = (pool_bytes / open).min(LARGEST) & !(PAGE - 1);
        if block < least || u64::from(buckets) > self.most_buckets(job.inputs.len()) {
            return false;
        }
        self.set_bookkeeping(buckets, job.inputs.len());
        self.buckets = buckets;
        self.block_bytes = block;
        self.pool_blocks = if job.always_spill {
            u64::from(buckets) + 2
        } else {
            pool_bytes / block
        };
        true
    }
}

impl LimitAdvice for Layout {
    fn limit_for_long_lines(&self, needed_bytes: u64, room_bytes: u64) -> u64 {
        let enough = if room_bytes > self.long_line_bytes {
            self.memory_for_spare(needed_bytes, room_bytes)
        } else {
            self.memory_for_long_lines(needed_bytes)
        };
        enough.max(self.memory_bytes)
    }
}

/// The largest power of two that is not above `bytes`.
fn power_of_two_below(bytes: u64) -> u64 {
    if bytes == 0 { 0 } else { 1 << bytes.ilog2() }
}
