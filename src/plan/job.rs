//! What a plan depends on: numbers, and nothing else.
//!
//! *Owns:* [`Job`], and the sizes that the formulas take from it. *Invariants:* a size that is not
//! known counts as that of the largest known input; with none known it counts as much more than
//! memory. *Cost:* none.

use crate::plan::Strategy;
use crate::plan::{ASSUMED_COMMON, FilterPlan};
use crate::set::line_set::estimate_set_bytes;

/// An input of more bytes or lines (64 PiB) is refused: no machine has one, and sums of a few of them are
/// numbers still.
pub(super) const MOST: u64 = 1 << 56;

/// Memory of a thread: the touched part of its stack, batches, recent lines, its allocator arena.
const PER_THREAD: u64 = 320 << 10;
/// Threads beside workers: readers and writers.
const OTHER_THREADS: u64 = 4;
/// The memory for which there may be one thread.
const MEMORY_OF_A_THREAD: u64 = 2 << 20;

/// How many threads a run may have in all under a limit, where `workers` are asked for.
pub(crate) fn all_threads(workers: usize, memory_bytes: u64) -> u64 {
    (workers as u64 + OTHER_THREADS).min(memory_bytes / MEMORY_OF_A_THREAD)
}

/// What they take beside buffers, in bytes.
pub(crate) fn threads_bytes(workers: usize, memory_bytes: u64) -> u64 {
    all_threads(workers, memory_bytes) * PER_THREAD
}

/// An input of which nothing is known counts as this many times the memory limit.
const UNKNOWN_FACTOR: u64 = 16;
/// The mean length of its lines, in bytes.
const UNKNOWN_LINE_BYTES: u64 = 64;

/// What the planner knows of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputShape {
    /// Its bytes; `None` for a pipe.
    pub bytes: Option<u64>,
    /// Its lines, known or estimated; `None` for a pipe.
    pub lines: Option<u64>,
    /// Whether most of it is in the page cache: reading it again costs little.
    pub is_cached: bool,
}

/// How far the estimate of a set goes: it counts every line, and repeats take no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetEstimate {
    /// A set that is not estimated to fit is refused.
    #[default]
    Trust,
    /// As `Trust`, but where the caller asked for the set it is tried.
    Try,
    /// A set was tried and did not fit.
    Overflowed,
}

/// Everything that a plan depends on.
#[derive(Debug, Clone)]
pub struct Job {
    /// The inputs, in the caller's order.
    pub inputs: Vec<InputShape>,
    /// The longest line known of, in bytes.
    pub longest_line_bytes: u64,
    /// The limit of the whole process, in bytes.
    pub memory_bytes: u64,
    /// What the process needs beside buffers: code, stacks, small allocations.
    pub base_bytes: u64,
    /// Threads for the work on lines.
    pub threads: usize,
    /// The strategy asked for; `None` to choose.
    pub strategy: Option<Strategy>,
    /// The largest false-positive rate accepted, 0..1; `None`: whatever comes where an approximate
    /// result is asked for, and exact only elsewhere.
    pub max_fpr: Option<f64>,
    /// The number of buckets asked for; `None` to choose.
    pub buckets: Option<u32>,
    /// A cap on the filter's bits per key.
    pub bits_per_key: Option<f64>,
    /// A stored filter that is one more input.
    pub stored_filter: Option<FilterPlan>,
    /// Whether a filter of the smallest input is wanted for its own sake.
    pub wants_filter: bool,
    /// Whether lines are IPv4 addresses.
    pub is_ipv4: bool,
    /// The lines of the smallest input that are common, as a share of its different lines, where that
    /// was estimated; else a tenth is assumed.
    pub common_share: Option<f64>,
    /// Whether every full block is to be spilled.
    pub always_spill: bool,
    /// What is made of the estimate of the smallest input's set.
    pub set_estimate: SetEstimate,
}

impl Job {
    /// The same job under another limit, with which more or fewer threads may run.
    pub(super) fn with_memory(&self, memory_bytes: u64) -> Self {
        let of_threads = |bytes| threads_bytes(self.threads, bytes);
        let fixed = self
            .base_bytes
            .saturating_sub(of_threads(self.memory_bytes));
        Self {
            memory_bytes,
            base_bytes: fixed + of_threads(memory_bytes),
            ..self.clone()
        }
    }
}

/// The inputs in working order: fewest bytes first, those of unknown size last.
pub(super) fn order(inputs: &[InputShape]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    order.sort_by_key(|&index| inputs[index].bytes.unwrap_or(u64::MAX));
    order
}

/// How much an input is, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Extent {
    pub(super) bytes: u64,
    pub(super) lines: u64,
}

impl Extent {
    /// Bytes of a set of all its lines.
    pub(super) fn set_bytes(self) -> u64 {
        estimate_set_bytes(self.lines, self.bytes)
    }

    /// This share of it, 0..1.
    pub(super) fn part(self, share: f64) -> Self {
        let part = |whole: u64| (whole as f64 * share) as u64;
        Self {
            bytes: part(self.bytes),
            lines: part(self.lines),
        }
    }

    /// The smaller number of bytes and of lines.
    pub(super) fn min(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.min(other.bytes),
            lines: self.lines.min(other.lines),
        }
    }
}

/// Each input in working order, known or assumed.
pub(super) fn sizes_in_order(job: &Job) -> Vec<Extent> {
    let known = |shape: &InputShape| {
        Some(Extent {
            bytes: shape.bytes?,
            lines: shape.lines?,
        })
    };
    // With nothing known, assume that it is much more than memory; a set that was asked for grows
    // as needed.
    let unknown = match job.strategy {
        Some(Strategy::Memory) => Extent::default(),
        _ => Extent {
            bytes: job.memory_bytes.saturating_mul(UNKNOWN_FACTOR),
            lines: job.memory_bytes.saturating_mul(UNKNOWN_FACTOR) / UNKNOWN_LINE_BYTES,
        },
    };
    let largest = job.inputs.iter().filter_map(known).max().unwrap_or(unknown);
    let size = |&index: &usize| known(&job.inputs[index]).unwrap_or(largest);
    order(&job.inputs).iter().map(size).collect()
}

/// The sizes that the formulas use; an unknown size counts as that of the largest known input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// The build side: the smallest input.
    pub(super) build: Extent,
    /// Bytes of all inputs.
    pub(super) total: u64,
    /// The input that is worked on last.
    pub(super) last: Extent,
    /// Inputs beside the smallest.
    pub(super) further_inputs: usize,
    /// The share of the smallest input that is common, estimated or assumed.
    pub(super) common_share: f64,
}

impl Sizes {
    pub(super) fn of(job: &Job) -> Self {
        let sizes = sizes_in_order(job);
        Self {
            build: sizes.first().copied().unwrap_or_default(),
            total: sizes
                .iter()
                .fold(0, |sum: u64, size| sum.saturating_add(size.bytes))
                .min(16 * MOST),
            last: sizes.last().copied().unwrap_or_default(),
            further_inputs: sizes.len().saturating_sub(1),
            common_share: job.common_share.unwrap_or(ASSUMED_COMMON),
        }
    }
}
