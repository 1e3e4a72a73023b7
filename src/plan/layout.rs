//! The division of memory between the buffers of a run.
//!
//! *Owns:* the arithmetic of buffer sizes. *Invariants:* in every pass, chunk buffers, long lines,
//! blocks and filters add up to no more than [`Layout::usable_bytes`]. Under a small limit buffers
//! shrink and threads become fewer; the limit does not move.
//!
//! ```text
//!  memory_bytes: the limit of the process
//!  ├──────────────┬───────────────────────────────────────────────────────────────────┐
//!  │ base_bytes   │ usable_bytes: what the budget may grant                           │
//!  │ program,     ├──────────────────────────┬─────────────────┬──────────────────────┤
//!  │ threads,     │ scan                     │ pool            │ rest_bytes           │
//!  │ bookkeeping  ├───────────────┬──────────┼─────────────────┤                      │
//!  │ of buckets   │ chunk_buffers │long_line_│ blocks          │ filters, or a set,   │
//!  │              │ + 1 chunks    │bytes     │ × block_bytes   │ a sketch, a cache    │
//!  └──────────────┴───────────────┴──────────┴─────────────────┴──────────────────────┘
//!
//!  the join, when chunks and filters have been freed
//!  ├──────────────┬──────────────────────────┬──────────────────────────┬─────────────┤
//!  │ base_bytes   │ join_share of work-0     │ join_share of work-1     │ held blocks │
//!  └──────────────┴──────────────────────────┴──────────────────────────┴─────────────┘
//! ```
//!
//! A layout is made in steps: [`Layout::for_scan`] sets everything but the pool, [`Layout::set_pool`] adds
//! blocks and buckets, and filters are then sized to fit [`Layout::rest_bytes`].

use crate::memory::buffer::{PAGE, round_up};
use crate::output::compressors_bytes;
use crate::plan::Job;
use crate::plan::assumptions::DEFAULT_BUCKETS;
use crate::plan::decoding::DecodingPlan;
use crate::plan::job::{DataSize, read_extents};
use crate::plan::shares::{MOST_EIGHTHS, ORDER_SHARE, long_room};
use crate::selection::{NUMBERED_PIECE_BYTES, Order};
use crate::spill::pool::in_flight;

/// The largest chunk and the largest block, in bytes: larger ones are no faster on disks.
const LARGEST: u64 = 1 << 20;
/// The most threads that read a file. A disk whose answers take 10 ms gives 0.8 GB/s in chunks of 1 MiB.
const MOST_READERS: usize = 8;
/// The least bytes of the end of an answer that stay in memory where it is the set: the writer is waited for once in
/// half as many.
const SMALLEST_TAIL: u64 = 256 << 10;
/// The most of them.
const LARGEST_TAIL: u64 = 32 << 20;
/// The fraction of the memory for buffers that the least number of chunks has: with half as large ones, files that are
/// not cached take 5 to 15 % longer.
const CHUNKS_SHARE: u64 = 10;
/// The fraction of that memory that the chunks of further readers may have: filters would be better with it.
const READERS_SHARE: u64 = 32;
/// The smallest chunk, in bytes.
const SMALLEST_CHUNK: u64 = 64 << 10;
/// The smallest block that the planner chooses, in bytes: below it direct writes become slow.
pub(crate) const SMALLEST_BLOCK: u64 = 16 << 10;
/// The largest chunk that is expected where lines are numbered, in bytes: that of records whose keys are copied.
const LARGEST_NUMBERED: u64 = 256 << 10;
/// Pieces whose lines are numbered for certain, however small the inputs seem to be.
const SPARE_PIECES: u64 = 1 << 10;
/// The most bytes that put the answer in order: longer runs do not make a merge faster.
const MOST_ORDER_BYTES: u64 = 1 << 30;
/// The least memory that keeps the first lines of the answer for one thread, in bytes: to cut fewer lines often would
/// take time.
const LEAST_TOP_BYTES: u64 = 256 << 10;
/// The bytes of a line of the answer in memory besides its own: rank and offset, length, numbers, place and label.
const ENTRY_BYTES: u64 = 48;
/// The bookkeeping of one bucket of one input, in bytes: a part, a path, a file.
pub(crate) const BUCKET_BYTES: u64 = 384;

/// Sizes and counts of all buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Layout {
    /// The limit of the process, in bytes.
    pub(crate) memory_bytes: u64,
    /// The memory that the process needs besides buffers, in bytes; grows by the bookkeeping of buckets.
    pub(crate) base_bytes: u64,
    /// The part of `base_bytes` that puts the answer in order; 0 where no order is asked for.
    pub(crate) order_bytes: u64,
    /// The part of `base_bytes` that numbers lines; 0 where nobody is told which are dropped.
    pub(crate) line_numbers_bytes: u64,
    /// The part of `base_bytes` that compresses outputs; 0 where none is compressed.
    pub(crate) compressing_bytes: u64,
    /// The part of `base_bytes` that is for what is remembered of buckets.
    pub(crate) bookkeeping_bytes: u64,
    /// The bytes that the budget may grant: `memory_bytes` less `base_bytes`.
    pub(crate) usable_bytes: u64,
    /// The threads that were asked for; memory may allow fewer workers.
    pub(crate) threads: usize,
    /// The buffers and threads that read inputs.
    pub(crate) scan: ScanLayout,
    /// The decoders of a compressed input; inputs are read one after the other.
    pub(crate) decoding: DecodingPlan,
    /// The blocks and workers that are chosen with the number of buckets.
    pub(crate) pool: PoolLayout,
}

/// The buffers and threads that read inputs and work on their lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ScanLayout {
    /// Threads `work-N` of a scan: 1 to `threads`, one for each 2.5 MiB at most.
    pub(crate) workers: usize,
    /// The most threads `read-N` for a file that is not cached.
    pub(crate) readers: usize,
    /// Bytes of one chunk: a power of two from 64 KiB to 1 MiB.
    pub(crate) chunk_bytes: u64,
    /// Chunks that are read or worked on at a time.
    pub(crate) chunk_buffers: usize,
    /// Room for lines that are longer than a chunk, all together, in bytes; whole pages.
    pub(crate) long_line_bytes: u64,
    /// The share of `usable_bytes` that long lines can have at most, in eighths. Where a second plan may
    /// give them more, that of the second; else that of the first.
    pub(crate) long_line_eighths: u64,
    /// Pieces of a compressed input that are decoded at the same time: 1 to `workers`.
    pub(crate) lanes: usize,
}

/// Buckets, the blocks of their pool, and who joins them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PoolLayout {
    /// Buckets of the first level; 0 without a pool.
    pub(crate) buckets: u32,
    /// True if these are ranges of lines, and the answer comes in their order; else they are by hash.
    pub(crate) by_range: bool,
    /// The most threads `spill-N` of a spill pass: the blocks that may be on their way to the disk.
    pub(crate) writers: usize,
    /// Bytes of one block: whole pages, at most 1 MiB.
    pub(crate) block_bytes: u64,
    /// Blocks in the pool; more than `buckets` where there are any.
    pub(crate) blocks: u64,
    /// Memory for lines that are in their buckets already, in bytes; 0 where lines seldom come again.
    pub(crate) duplicate_cache_bytes: u64,
    /// The mean length of these lines, in bytes.
    pub(crate) cached_line_bytes: u64,
    /// Threads `work-N` of the join, each with a share of its own: 1 to those of the scan. The join may find that it
    /// can have more.
    pub(crate) join_workers: usize,
}

impl ScanLayout {
    /// Divides what reading gets of `usable` bytes.
    fn new(job: &Job, usable: u64, decoding: &DecodingPlan, plans_once: bool) -> Self {
        let workers = job.threads.clamp(1, (usable / (2 << 20)).max(1) as usize);
        // As many even under a small limit: buffers are small there, and a disk is fast in small requests only
        // if several are under way.
        let least_readers = 2;
        // One for each thread that fills or works on a chunk, and one on its way between them.
        let least_buffers = least_readers + workers + 1;
        let chunk_bytes = power_of_two_below(usable / CHUNKS_SHARE / least_buffers as u64)
            .clamp(SMALLEST_CHUNK, LARGEST);
        let more_readers = (usable / READERS_SHARE / chunk_bytes) as usize;
        let readers = (least_readers + more_readers).min(MOST_READERS);
        let chunk_buffers = readers + workers + 1;
        // Two chunk buffers, so that a line that just does not fit one has room in any case.
        let least_long = 2 * (chunk_bytes + 2 * PAGE);
        let share = if plans_once { 8 } else { 128 };
        // As much as with a single decoder: a run must not be refused because several decode.
        let long_line_bytes = ((usable + decoding.further_bytes()) / share)
            .max(long_room(job))
            .min(usable * MOST_EIGHTHS / 8)
            .max(least_long)
            & !(PAGE - 1);
        Self {
            workers,
            readers,
            chunk_bytes,
            chunk_buffers,
            long_line_bytes,
            long_line_eighths: if plans_once { 1 } else { MOST_EIGHTHS },
            lanes: workers.min(decoding.lanes as usize),
        }
    }

    /// Returns the memory for scanning, in bytes: chunk buffers, one more for the unfinished line of a stream, and
    /// the room for long lines. Direct reads begin and end at a page, hence two more pages for each buffer.
    pub(crate) fn bytes(&self) -> u64 {
        // Where each worker decodes for itself, none has a chunk on its way; but each lane has an unfinished line.
        let buffers = (self.chunk_buffers + 1).max(self.workers + self.lanes);
        buffers as u64 * (self.chunk_bytes + 2 * PAGE) + self.long_line_bytes
    }
}

impl PoolLayout {
    /// Makes a pool without blocks, for a join of so many workers at most.
    fn empty(join_workers: usize) -> Self {
        Self {
            writers: in_flight(0) as usize,
            block_bytes: LARGEST,
            join_workers,
            ..Self::default()
        }
    }

    /// Returns the bytes of all blocks together.
    pub(crate) fn bytes(&self) -> u64 {
        self.blocks * self.block_bytes
    }
}

impl Layout {
    /// Makes the part that every strategy has: threads, chunks, long lines. The pool is still empty. `plans_once`
    /// says that the run cannot be planned again when a line is too long: long lines get an eighth of the memory at
    /// once. Others get a 128th, and more in a second plan if they need more.
    pub(crate) fn for_scan(job: &Job, plans_once: bool) -> Self {
        Self::for_scan_beside(job, plans_once, order_bytes(job))
    }

    /// Works as [`Layout::for_scan`], with so many bytes that put the answer in order.
    pub(crate) fn for_scan_beside(job: &Job, plans_once: bool, order_bytes: u64) -> Self {
        let decoding = DecodingPlan::of(job);
        let base_bytes = job.base_bytes + order_bytes + decoding.all_bytes();
        let usable_bytes = job.memory_bytes.saturating_sub(base_bytes);
        let line_numbers_bytes = line_numbers_bytes(job, |bytes| {
            let usable = usable_bytes.saturating_sub(bytes);
            ScanLayout::new(job, usable, &decoding, plans_once).chunk_bytes
        });
        let base_bytes = base_bytes + line_numbers_bytes;
        let usable_bytes = job.memory_bytes.saturating_sub(base_bytes);
        let scan = ScanLayout::new(job, usable_bytes, &decoding, plans_once);
        Self {
            memory_bytes: job.memory_bytes,
            base_bytes,
            order_bytes,
            line_numbers_bytes,
            compressing_bytes: compressors_bytes(&job.compressions, job.threads, job.memory_bytes),
            bookkeeping_bytes: 0,
            usable_bytes,
            threads: job.threads,
            scan,
            decoding,
            pool: PoolLayout::empty(scan.workers),
        }
    }

    /// Empties the pool, for choosing other buckets. The bookkeeping of its buckets stays set aside, for those that
    /// are chosen.
    pub(crate) fn without_buckets(&self) -> Self {
        Self {
            pool: PoolLayout::empty(self.scan.workers),
            ..*self
        }
    }

    /// Returns the most bytes that blocks may take, so that a join has room for the longest line twice (in the set,
    /// and while it is put together) with blocks still in memory. At least an eighth of the memory.
    pub(crate) fn most_pool_bytes(&self, job: &Job) -> u64 {
        if job.longest_line_bytes <= self.scan.chunk_bytes {
            return self.usable_bytes;
        }
        let twice = job.longest_line_bytes.saturating_mul(2);
        self.usable_bytes
            .saturating_sub(twice.saturating_add(4 * LARGEST))
            .max(self.usable_bytes / 8)
    }

    /// Returns the bytes that scanning and blocks leave: for filters, a set or a sketch.
    pub(crate) fn rest_bytes(&self) -> u64 {
        self.usable_bytes
            .saturating_sub(self.scan.bytes() + self.pool.bytes())
    }

    /// Returns the bytes of the end of an answer that stay in memory where the answer is the set. Half of them are
    /// whole pages.
    pub(crate) fn tail_bytes(&self) -> u64 {
        (self.usable_bytes / 16).clamp(SMALLEST_TAIL, LARGEST_TAIL) & !(2 * PAGE - 1)
    }

    /// Returns the least share of a join worker, in bytes, where the longest line has `longest` bytes: room for that
    /// line twice, in the set and while it is put together.
    pub(crate) fn least_share(&self, longest: u64) -> u64 {
        4 * longest + 8 * self.read_bytes() + (256 << 10)
    }

    /// Returns the bytes that a join worker reads at a time from a disk: several blocks where these are small, so
    /// that the disk gets large requests.
    pub(crate) fn read_bytes(&self) -> u64 {
        LARGEST
            .min((self.usable_bytes / 32) & !(PAGE - 1))
            .max(self.pool.block_bytes)
    }

    /// Returns the room for the set of one join worker, in bytes, where `workers` (at least 1) share the memory: its
    /// part, less its two read buffers. Blocks that stay in memory are not subtracted; they come out of every share.
    pub(crate) fn join_share(&self, workers: usize) -> u64 {
        (self.usable_bytes / workers as u64).saturating_sub(2 * LARGEST.min(self.usable_bytes / 32))
    }

    /// Returns the most buckets whose bookkeeping for `inputs` inputs takes no more than a quarter of the memory.
    pub(crate) fn most_buckets(&self, inputs: usize) -> u64 {
        self.usable_bytes / 4 / (inputs as u64 * BUCKET_BYTES).max(1)
    }

    /// Moves what is remembered of each bucket of each input from the usable bytes to the base, as far as it is
    /// not there for buckets that were chosen before. It never moves back: a run has its budget by then.
    pub(super) fn set_bookkeeping(&mut self, buckets: u32, inputs: usize) {
        let bytes = u64::from(buckets) * inputs as u64 * BUCKET_BYTES;
        let more = bytes.saturating_sub(self.bookkeeping_bytes);
        self.bookkeeping_bytes += more;
        self.base_bytes += more;
        self.usable_bytes = self.usable_bytes.saturating_sub(more);
    }

    /// Divides `pool_bytes` into blocks for `buckets` buckets: one open in each, those that are being
    /// written, and one more that the pool keeps free; what remains lets full blocks stay in memory.
    ///
    /// False, and nothing changed, when a block would become smaller than `least` bytes, or the bookkeeping
    /// of the buckets too large.
    pub(crate) fn set_pool(
        &mut self,
        job: &Job,
        buckets: u32,
        pool_bytes: u64,
        least: u64,
    ) -> bool {
        // Rather fewer that are written at a time than blocks that are too small.
        let tries = [in_flight(buckets.into()), in_flight(0)];
        tries
            .into_iter()
            .any(|writers| self.set_blocks(job, buckets, writers, pool_bytes, least))
    }

    /// Works as [`Layout::set_pool`], with up to `writers` blocks that are being written at a time.
    pub(crate) fn set_blocks(
        &mut self,
        job: &Job,
        buckets: u32,
        writers: u64,
        pool_bytes: u64,
        least: u64,
    ) -> bool {
        let pool_bytes = pool_bytes.min(self.most_pool_bytes(job));
        let open = u64::from(buckets) + writers + 1;
        let block = (pool_bytes / open).min(LARGEST) & !(PAGE - 1);
        let block = block.min(most_in_bucket(job, buckets).max(least));
        if block < least || u64::from(buckets) > self.most_buckets(job.inputs.len()) {
            return false;
        }
        self.set_bookkeeping(buckets, job.inputs.len());
        self.pool.buckets = buckets;
        self.pool.writers = writers as usize;
        self.pool.block_bytes = block;
        // With no block to spare, the pool lets none stay in memory.
        self.pool.blocks = if job.always_spill {
            u64::from(buckets) + writers
        } else {
            pool_bytes / block
        };
        true
    }
}

/// Returns the largest block that a bucket fills if the caller wants very many of them: what the bucket of the
/// largest input will have, in whole pages, with room for chance. Of larger ones, mostly empty, memory would have
/// room for those of one input alone, and a file would be written for each bucket.
pub(super) fn most_in_bucket(job: &Job, buckets: u32) -> u64 {
    if u64::from(job.buckets.unwrap_or(0)) < DEFAULT_BUCKETS {
        return LARGEST;
    }
    let largest = read_extents(job).iter().map(|extent| extent.bytes).max();
    let mean = largest.unwrap_or(0) / u64::from(buckets.max(1));
    (mean.saturating_add(mean / 4)).saturating_add(PAGE) & !(PAGE - 1)
}

/// Returns the memory that sorts the answer, in bytes: as large a part of the memory as that of a large
/// filter, so that runs are few. What does not fit is written.
pub(super) fn order_bytes(job: &Job) -> u64 {
    let usable = job.memory_bytes.saturating_sub(job.base_bytes);
    let most = (usable / ORDER_SHARE).min(MOST_ORDER_BYTES) & !(PAGE - 1);
    match (job.selection.order, job.selection.top) {
        (Order::Any, _) => 0,
        (_, Some(lines)) => most.min(top_bytes(job, lines)),
        (_, None) => most,
    }
}

/// Returns the memory that numbers lines, in bytes, if anybody is told which are dropped. `chunk_bytes` says how large
/// chunks are beside that memory. A range of a file gives a chunk, and another one for a long line at its end.
fn line_numbers_bytes(job: &Job, chunk_bytes: impl Fn(u64) -> u64) -> u64 {
    if !job.selection.tells_places() {
        return 0;
    }
    let read = DataSize::sum(&read_extents(job)).bytes;
    let needed = |chunk_bytes: u64| {
        let pieces = 2 * (read / chunk_bytes) + SPARE_PIECES;
        round_up(pieces.saturating_mul(NUMBERED_PIECE_BYTES), PAGE)
    };
    // Chunks become smaller, and more, the more memory this takes.
    let mut bytes = needed(LARGEST_NUMBERED);
    while bytes < needed(chunk_bytes(bytes).min(LARGEST_NUMBERED)) {
        bytes = needed(chunk_bytes(bytes).min(LARGEST_NUMBERED));
    }
    bytes
}

/// Returns the memory that keeps the first `lines` lines of the answer, in bytes: three times what lines as long as
/// those of the inputs take, for each thread.
fn top_bytes(job: &Job, lines: u64) -> u64 {
    let read = DataSize::sum(&read_extents(job));
    let line_bytes = read.bytes / read.lines.max(1) + ENTRY_BYTES;
    let of_thread = lines.saturating_mul(3 * line_bytes).max(LEAST_TOP_BYTES);
    of_thread.saturating_mul(job.threads as u64) & !(PAGE - 1)
}

/// Returns the largest power of two that is not above `bytes`.
fn power_of_two_below(bytes: u64) -> u64 {
    if bytes == 0 { 0 } else { 1 << bytes.ilog2() }
}
