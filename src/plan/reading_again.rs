//! The order of the input without a sort: the inputs are read once more, or numbers of rows are the answer.
//!
//! *Owns:* where that can be, and the memory for it. *Invariants:* a line is written as it stands in a file, or by the
//! number of its row. *Cost:* another [`SizedJob`].
//!
//! *Formulas.* The inputs whose lines are written are read once more. A sort writes the answer and reads it, if it does
//! not fit its part of the memory; and of records, which only the last reading has to see whole, all that is spilled is
//! written and read with them, not with their keys alone. Each strategy takes the way that moves fewer bytes. Each line
//! of plain files has a bit, and each cell of them 17 bytes at most; of other files, each line has 16 bytes. An answer
//! that needs more than a third of the memory for that is sorted.
//!
//! Each row has a bit, too, where numbers of rows are the answer. Nothing is read once more for these, so this way is
//! taken wherever memory has room for it.

use crate::error::Result;
use crate::memory::buffer::{PAGE, round_up};
use crate::plan::Strategy;
use crate::plan::job::{DataSize, InputShape, Job};
use crate::plan::sizes::SizedJob;
use crate::plan::steps::At;
use crate::selection::{CELL_BYTES, Order, Selection};

/// The largest fraction of the memory for buffers that is taken to know the lines of the answer.
const KEPT_SHARE: u64 = 3;
/// Memory for the cells of small files, which nobody has counted, in bytes.
const SMALL_FILES_BYTES: u64 = 64 << 10;
/// Memory for the ordinal of a line, in bytes, with room for more lines than a sample shows.
const ORDINAL_SLOT_BYTES: u64 = 16;

/// The ways to put the answer of a job in order.
#[derive(Debug)]
pub(super) struct Ways {
    /// It is sorted, is in order as it is written, or is rows that have a bit each.
    pub(super) once: SizedJob,
    /// Inputs are read once more, where they can be.
    pub(super) again: Option<SizedJob>,
}

impl Ways {
    /// Puts the inputs of `job` in order, for each way.
    ///
    /// # Errors
    /// As [`SizedJob::of`].
    pub(super) fn of(job: Job) -> Result<Self> {
        let once = SizedJob::of(job)?;
        let is_asked = once.rule().order() == Order::Input && once.job.can_read_again;
        let (with_bits, again) = match once.job.row_bits_bytes {
            _ if !is_asked => (None, None),
            Some(bytes) => (with_row_bits(&once, bytes)?, None),
            None => (None, again(&once)?),
        };
        Ok(Self {
            once: with_bits.unwrap_or(once),
            again,
        })
    }
}

/// Returns the job where its answer is not sorted; `None` where inputs cannot be read once more, or not in this memory.
///
/// # Errors
/// As [`SizedJob::of`].
fn again(once: &SizedJob) -> Result<Option<SizedJob>> {
    // Only the last reading has to see records whole.
    let keys = of_keys(once, once.job.selection.of_keys())?;
    let inputs = written_inputs(&keys);
    let memory_bytes = kept_bytes(&keys, &inputs);
    let usable = keys.job.memory_bytes.saturating_sub(keys.job.base_bytes);
    // Where there are more lines than samples show, all inputs are read anew.
    let is_file = |shape: &InputShape| shape.bytes.is_some();
    let is_possible = keys.rule().writes_lines_alone()
        && keys.job.inputs.iter().all(is_file)
        && memory_bytes <= usable / KEPT_SHARE;
    let answer = once.sizes.answer(once.rule());
    Ok(is_possible.then(|| keys.reading_again(inputs, memory_bytes, answer)))
}

/// Returns the job where each row has a bit, by which it is known in its place, in so many `bytes`; `None` where more
/// than its number is written, or memory has no room for that.
///
/// # Errors
/// As [`SizedJob::of`].
fn with_row_bits(once: &SizedJob, bytes: u64) -> Result<Option<SizedJob>> {
    let usable = once.job.memory_bytes.saturating_sub(once.job.base_bytes);
    let is_possible = once.rule().writes_lines_alone() && !once.job.always_spill;
    if !is_possible || bytes > usable / KEPT_SHARE {
        return Ok(None);
    }
    let keys = of_keys(once, once.job.selection.of_rows())?;
    Ok(Some(keys.with_row_bits(bytes)))
}

/// Returns the job with the `selection` of the keys of its records, if there is one and they may be searched for.
///
/// # Errors
/// As [`SizedJob::of`].
fn of_keys(once: &SizedJob, selection: Option<Selection>) -> Result<SizedJob> {
    match selection.filter(|_| can_be_of_keys(&once.job)) {
        None => Ok(once.clone()),
        Some(selection) => SizedJob::of(Job {
            selection,
            ..once.job.clone()
        }),
    }
}

/// Returns true if the keys alone of records may be searched for: exactly, and by a strategy that is chosen or can
/// write records, too, so that it does not depend on their size whether a strategy that was asked for is refused.
fn can_be_of_keys(job: &Job) -> bool {
    let is_exact = job.max_fpr.is_none_or(|rate| rate == 0.0);
    is_exact && !matches!(job.strategy, Some(Strategy::Memory | Strategy::Bloom))
}

/// Returns the memory to know the lines of an answer by, when these inputs are read once more, in bytes: all lines of
/// them may be in it.
fn kept_bytes(sized: &SizedJob, inputs: &[At]) -> u64 {
    let is_decoded = |&at: &At| sized.shape(at).decoding.is_some();
    let sizes = inputs.iter().map(|&at| sized.read[at as usize]);
    let size = DataSize::sum(&sizes.collect::<Vec<_>>());
    if sized.job.lines_go_on || inputs.iter().any(is_decoded) {
        ordinals_bytes(size)
    } else {
        bits_bytes(size)
    }
}

/// Lists the inputs whose lines are written, in the order of their sides.
fn written_inputs(sized: &SizedJob) -> Vec<At> {
    let mut positions: Vec<Option<At>> = vec![None; sized.order.len()];
    for (at, &index) in (0..).zip(&sized.order) {
        positions[index] = Some(at);
    }
    let sides = (1..).zip(&sized.job.sides);
    let with_ordinals = sides.filter(|&(number, _)| sized.rule().keeps_ordinals_of(number));
    // A file that is several sides is read where the first of them is.
    with_ordinals
        .filter_map(|(_, &index)| positions[index].take())
        .collect()
}

/// Returns the memory for a bit of each line of inputs of this size, in bytes, with room for more lines than a sample
/// shows. The bits of each cell fill whole words.
fn bits_bytes(size: DataSize) -> u64 {
    let cells = size.bytes / CELL_BYTES;
    let bits = size.lines + size.lines / 2 + 64 * cells;
    round_up(bits / 8 + 9 * cells + SMALL_FILES_BYTES, PAGE)
}

/// Returns the memory for the ordinals of inputs of this size, in bytes.
fn ordinals_bytes(size: DataSize) -> u64 {
    let slots = size.lines.saturating_mul(ORDINAL_SLOT_BYTES);
    round_up(slots.saturating_add(SMALL_FILES_BYTES), PAGE)
}
