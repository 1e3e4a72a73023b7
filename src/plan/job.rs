//! The facts that a plan depends on: numbers, and nothing else.
//!
//! *Owns:* [`Job`], and [`DataSize`], the size of an input. *Invariants:* a size that is not known counts as that of
//! the largest known input; with none known it counts as much more than memory.

use crate::decode::compressed::Decoding;
use crate::input::sample::distinct_lines::Distinct;
use crate::output::{Compression, compressors_bytes};
use crate::plan::FilterPlan;
use crate::plan::Strategy;
use crate::selection::Selection;
use crate::set::line_set::estimate_set_bytes;
use crate::sys::calls::CODE_STAYS;

/// The most bytes (64 PiB), and the most lines, that one input may have. The formulas add and multiply such
/// numbers by small factors; below this limit none of that overflows.
pub(super) const MOST: u64 = 1 << 56;

/// Memory of a thread, in bytes: the touched part of its stack, batches, hot lines, its allocator arena.
const PER_THREAD: u64 = 320 << 10;
/// Threads besides workers: readers, which count as two, and up to 16 that write or load blocks, which count as two.
/// Both allocate next to nothing and touch a few pages of their stacks.
const OTHER_THREADS: u64 = 4;
/// A limit allows one thread for each of these bytes, 2.5 MiB: threads then take an eighth of it. The least limit, 16
/// MiB, allows six: those of two workers.
const MEMORY_OF_A_THREAD: u64 = 5 << 19;

/// Counts the threads that a run may have in all, helpers included, under a limit of `memory_bytes` where `workers`
/// are asked for.
pub(crate) fn all_threads(workers: usize, memory_bytes: u64) -> u64 {
    (workers as u64 + OTHER_THREADS).min(memory_bytes / MEMORY_OF_A_THREAD)
}

/// Returns the memory that [`all_threads`] take besides buffers, in bytes. It is part of [`Job::base_bytes`].
pub(crate) fn threads_bytes(workers: usize, memory_bytes: u64) -> u64 {
    all_threads(workers, memory_bytes) * PER_THREAD
}

/// The bytes that a process of the command is taken to need besides buffers: 8.25 MiB. It has 4.5 to 5.5 MiB before a
/// run. A debug build, whose code lies further apart, has up to 7.1 MiB where the system maps code in large pieces.
/// Where code stays resident, it is 9 MiB, of up to 7.9: a limit of 16 MiB has just room for that and two workers.
const PROGRAM_BYTES: u64 = if CODE_STAYS { 36 << 18 } else { 33 << 18 };
/// The same where the limit has room for all of the code, up to a sixteenth of the limit: such a process keeps it.
const PROGRAM_AND_CODE_BYTES: u64 = 12 << 20;

/// Returns the least that a process under a limit of `memory_bytes` is taken to need besides buffers and threads, in
/// bytes. It is part of [`Job::base_bytes`].
pub(crate) fn program_bytes(memory_bytes: u64) -> u64 {
    let code = PROGRAM_AND_CODE_BYTES.min(memory_bytes / 16);
    code.max(PROGRAM_BYTES)
}

/// The multiple of the memory limit that each input counts as where no input's size is known: far too much for a set.
const UNKNOWN_FACTOR: u64 = 16;
/// The mean length that the lines of such an input are taken to have, in bytes.
const UNKNOWN_LINE_BYTES: u64 = 64;

/// The facts that the planner knows of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputShape {
    /// Its bytes; `None` for a pipe.
    pub bytes: Option<u64>,
    /// Its lines, known or estimated; `None` for a pipe.
    pub lines: Option<u64>,
    /// Its different lines, known or estimated; `None` means that all its lines are different.
    pub distinct_lines: Option<Distinct>,
    /// True if most of it is in the page cache: reading it again costs little.
    pub is_cached: bool,
    /// The costs of decoding it, each time that it is read; `None` for one that is not compressed. The size of a
    /// compressed file is a guess.
    pub decoding: Option<Decoding>,
    /// About how many bytes the keys of its lines have together, terminators included, where lines are records; `None`
    /// where they are their own keys.
    pub key_bytes: Option<u64>,
}

/// The trust of the planner in its estimate of a set. The estimate counts every line, although repeats take no room,
/// unless a sample shows how many lines are different.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetEstimate {
    /// A set that is not estimated to fit is refused.
    #[default]
    Trust,
    /// Trust, except that a caller that names `memory` gets a try even where the estimate does not fit.
    Try,
    /// A set was tried in this run and did not fit: no plan with a set is made again.
    Overflowed,
}

/// Everything that a plan depends on.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone)]
pub struct Job {
    /// The inputs, in the caller's order, a file that was given twice once.
    pub inputs: Vec<InputShape>,
    /// The lines that are wanted.
    pub selection: Selection,
    /// The input of each side, by its index in `inputs`. A file that was given twice is two sides.
    pub sides: Vec<usize>,
    /// The longest line that a sample or a failed attempt has met, in bytes; 0 if none has.
    pub longest_line_bytes: u64,
    /// The limit of the whole process, in bytes.
    pub memory_bytes: u64,
    /// The memory that the process needs besides buffers, in bytes: code, stacks, small allocations. Includes the
    /// threads that this limit allows.
    pub base_bytes: u64,
    /// The compressed outputs beside the run. `base_bytes` includes what they take under this limit.
    pub compressions: Vec<Compression>,
    /// Threads for the work on lines, at least 1; memory may allow fewer.
    pub threads: usize,
    /// The strategy asked for; `None` to choose.
    pub strategy: Option<Strategy>,
    /// The largest false-positive rate accepted, 0..1; `None`: whatever comes where an approximate
    /// result is asked for, and exact only elsewhere.
    pub max_fpr: Option<f64>,
    /// The number of buckets asked for; `None` to choose.
    pub buckets: Option<u32>,
    /// A cap on the filter's bits per key, positive; `None` for the strategy's own.
    pub bits_per_key: Option<f64>,
    /// A stored filter that is one more input, asked before all others.
    pub stored_filter: Option<FilterPlan>,
    /// True if the caller wants to keep the filter of the smallest input (`--save-filter`).
    pub wants_filter: bool,
    /// True if lines are IPv4 addresses.
    pub is_ipv4: bool,
    /// The lines of the smallest input that are common, as a share of its different lines, where that
    /// was estimated; else a tenth is assumed.
    pub common_share: Option<f64>,
    /// The different lines of all inputs together, where that was estimated; else no line counts as one of several
    /// inputs.
    pub any_lines: Option<u64>,
    /// True if every full block is written to disk, also where memory has room for it.
    pub always_spill: bool,
    /// True if lines go on between quotes.
    pub lines_go_on: bool,
    /// The most bytes of temporary disk at one time; `None` for any number.
    pub max_temp_bytes: Option<u64>,
    /// The memory for a bit of each row and for where files begin, in bytes, if the numbers of rows are the answer in
    /// place of records.
    pub row_bits_bytes: Option<u64>,
    /// True if the answer may be put in the order of the input by reading files once more, as far as is known: none is
    /// a Parquet file, or the numbers of rows are the answer; and no attempt had less room than its lines needed.
    pub can_read_again: bool,
    /// The most bytes of an answer that is read where it is written: what the page cache is expected to hold of it. 0
    /// if it goes to no file that can be read and emptied, or if its records have their keys in different columns.
    pub rereadable_bytes: u64,
    /// The trust in the estimate of the smallest input's set.
    pub set_estimate: SetEstimate,
}

impl Job {
    /// Returns true if a sample shows that lines of an input come again, and a filter is planned for fewer.
    pub(crate) fn counts_repeats(&self) -> bool {
        let comes_again = |shape: &InputShape| {
            let least = shape.distinct_lines.map(|distinct| distinct.least);
            least.is_some() && least < shape.lines
        };
        self.inputs.iter().any(comes_again)
    }

    /// Puts the inputs in this order of indexes, each of which occurs once.
    pub(crate) fn reordered(mut self, order: &[usize]) -> Self {
        let mut positions = vec![0; order.len()];
        for (position, &index) in order.iter().enumerate() {
            positions[index] = position;
        }
        self.inputs = order.iter().map(|&index| self.inputs[index]).collect();
        self.sides
            .iter_mut()
            .for_each(|side| *side = positions[*side]);
        self
    }

    /// Counts every line as a different one.
    pub(crate) fn without_repeats(mut self) -> Self {
        for shape in &mut self.inputs {
            shape.distinct_lines = None;
        }
        self
    }

    /// Returns true if the size of an input is a guess, because it is compressed.
    pub(super) fn guesses_sizes(&self) -> bool {
        let is_guess = |shape: &InputShape| shape.bytes.is_some() && shape.decoding.is_some();
        self.inputs.iter().any(is_guess)
    }

    /// Returns the bytes that count for each input whose size is not known, such as a pipe; `None` if all are known, or
    /// nothing is.
    pub(super) fn assumed_bytes(&self) -> Option<u64> {
        let unknown = self.inputs.iter().position(|shape| shape.bytes.is_none())?;
        let assumed = read_extents(self).get(unknown).map(|size| size.bytes);
        assumed.filter(|&bytes| bytes > 0)
    }

    /// Puts the job under another limit. More or fewer threads may run under it, and compress larger pieces, and more
    /// of the program stays in memory, so `base_bytes` changes by what they take.
    pub(super) fn with_memory(&self, memory_bytes: u64) -> Self {
        let under = |bytes| {
            threads_bytes(self.threads, bytes)
                + compressors_bytes(&self.compressions, self.threads, bytes)
                + program_bytes(bytes)
        };
        let base_bytes = self.base_bytes + under(memory_bytes);
        Self {
            memory_bytes,
            base_bytes: base_bytes.saturating_sub(under(self.memory_bytes)),
            ..self.clone()
        }
    }
}

/// The size of an input, or of a part of one. Ordered by bytes, then by lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct DataSize {
    pub(super) bytes: u64,
    pub(super) lines: u64,
}

impl DataSize {
    /// Estimates the memory of a set of all its lines, in bytes, as if no line repeated.
    pub(super) fn set_bytes(self) -> u64 {
        estimate_set_bytes(self.lines, self.bytes)
    }

    /// Adds all of these up.
    pub(super) fn sum(extents: &[Self]) -> Self {
        extents.iter().copied().fold(Self::default(), Self::and)
    }

    /// Adds `other` to it.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes).min(16 * MOST),
            lines: self.lines.saturating_add(other.lines).min(16 * MOST),
        }
    }

    /// Returns the share `share` (0..1) of it, rounded down.
    pub(super) fn part(self, share: f64) -> Self {
        let part = |whole: u64| (whole as f64 * share) as u64;
        Self {
            bytes: part(self.bytes),
            lines: part(self.lines),
        }
    }

    /// Takes the smaller number of bytes and the smaller number of lines, each for itself.
    pub(super) fn min(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.min(other.bytes),
            lines: self.lines.min(other.lines),
        }
    }
}

/// Lists the size of each input of `job`, in the caller's order, as it is read, known or assumed.
pub(super) fn read_extents(job: &Job) -> Vec<DataSize> {
    extents(job, |_, _| None)
}

/// Lists the size of each input, in the caller's order, known or assumed; `bytes` says what counts in place of its
/// own.
pub(super) fn extents(
    job: &Job,
    bytes: impl Fn(usize, &InputShape) -> Option<u64>,
) -> Vec<DataSize> {
    let known = |(index, shape): (usize, &InputShape)| {
        let own = shape.bytes?;
        Some(DataSize {
            bytes: bytes(index, shape).unwrap_or(own),
            lines: shape.lines?,
        })
    };
    // With nothing known, assume much more than memory. But a caller that named `memory` has decided that
    // the set fits: it starts empty and grows as needed.
    let unknown = match job.strategy {
        Some(Strategy::Memory) => DataSize::default(),
        _ => DataSize {
            bytes: job.memory_bytes.saturating_mul(UNKNOWN_FACTOR),
            lines: job.memory_bytes.saturating_mul(UNKNOWN_FACTOR) / UNKNOWN_LINE_BYTES,
        },
    };
    let all = || job.inputs.iter().enumerate().map(known);
    let largest = all().flatten().max().unwrap_or(unknown);
    all().map(|known| known.unwrap_or(largest)).collect()
}

/// Returns the index of the input with the fewest bytes, in the caller's order; 0 for no inputs.
pub(crate) fn smallest(inputs: &[InputShape]) -> usize {
    let bytes = |&index: &usize| inputs[index].bytes.unwrap_or(u64::MAX);
    (0..inputs.len()).min_by_key(bytes).unwrap_or_default()
}
