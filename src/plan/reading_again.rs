//! The order of the input without a sort: the inputs are read once more.
//!
//! *Owns:* the choice between that and a sort, and the memory for it. *Invariants:* it is chosen only where a line is
//! written as it stands in a file.
//!
//! *Formulas.* The inputs whose lines are written are read once more. A sort writes the answer and reads it, if it does
//! not fit its part of the memory; and of records, which only the last reading has to see whole, all that is spilled is
//! written and read with them, not with their keys alone. Whichever moves fewer bytes is chosen. Each line of plain
//! files has a bit, and each cell of them 17 bytes at most; of other files, each line has 16 bytes. An answer that
//! needs more than a third of the memory for that is sorted.

use crate::error::Result;
use crate::memory::buffer::{PAGE, round_up};
use crate::plan::Strategy;
use crate::plan::job::{DataSize, InputShape, Job};
use crate::plan::layout::order_bytes;
use crate::plan::rereading::Rereading;
use crate::plan::sizes::SizedJob;
use crate::plan::steps::At;
use crate::selection::{CELL_BYTES, Order};

/// The bytes that a sort keeps of each line of the answer besides its own: rank and offset in memory, or lengths and
/// ordinal.
const ENTRY_BYTES: u64 = 12;
/// The largest fraction of the memory for buffers that is taken to know the lines of the answer.
const KEPT_SHARE: u64 = 3;
/// Memory for the cells of small files, which nobody has counted, in bytes.
const SMALL_FILES_BYTES: u64 = 64 << 10;
/// Memory for the ordinal of a line, in bytes, with room for more lines than a sample shows.
const ORDINAL_SLOT_BYTES: u64 = 16;

/// Puts the inputs of `job` in order, and chooses how its answer is: sorted, or read once more where the inputs can be
/// and that moves fewer bytes.
///
/// # Errors
/// As [`SizedJob::of`].
pub(super) fn sized(job: Job) -> Result<SizedJob> {
    let sorted = SizedJob::of(job)?;
    let needs_none = sorted.rule().order() != Order::Input || Rereading::gives_order(&sorted);
    if needs_none || !sorted.job.can_read_again {
        return Ok(sorted);
    }
    // Only the last reading has to see records whole.
    let of_keys = sorted.job.selection.of_keys();
    let keys = match of_keys.filter(|_| can_be_of_keys(&sorted.job)) {
        None => sorted.clone(),
        Some(selection) => SizedJob::of(Job {
            selection,
            ..sorted.job.clone()
        })?,
    };
    let (inputs, answer) = (inputs_again(&keys), sorted.sizes.answer(sorted.rule()));
    let memory_bytes = kept_bytes(&keys, &inputs);
    let usable = keys.job.memory_bytes.saturating_sub(keys.job.base_bytes);
    let of_sort = spilled_bytes(answer_bytes(answer), order_bytes(&keys.job), &keys.job);
    let saved = of_sort.saturating_add(saved_bytes(&keys, &sorted, usable));
    // Where there are more lines than samples show, all inputs are read anew.
    let is_file = |shape: &InputShape| shape.bytes.is_some();
    let is_possible = keys.rule().writes_lines_alone() && keys.job.inputs.iter().all(is_file);
    let pays = size_of(&keys, &inputs).bytes / 2 <= saved && memory_bytes <= usable / KEPT_SHARE;
    Ok(if is_possible && pays {
        keys.reading_again(inputs, memory_bytes, answer)
    } else {
        sorted
    })
}

/// Returns true if the keys alone of records may be searched for: exactly, and by a strategy that is chosen or can
/// write records, too, so that it does not depend on their size whether a strategy that was asked for is refused.
fn can_be_of_keys(job: &Job) -> bool {
    let is_exact = job.max_fpr.is_none_or(|rate| rate == 0.0);
    is_exact && !matches!(job.strategy, Some(Strategy::Memory | Strategy::Bloom))
}

/// Returns the size of some inputs.
fn size_of(sized: &SizedJob, inputs: &[At]) -> DataSize {
    let size = |&at: &At| sized.read[at as usize];
    DataSize::sum(&inputs.iter().map(size).collect::<Vec<_>>())
}

/// Returns the memory to know the lines of an answer by, when these inputs are read once more, in bytes: all lines of
/// them may be in it.
fn kept_bytes(sized: &SizedJob, inputs: &[At]) -> u64 {
    let is_decoded = |&at: &At| sized.shape(at).decoding.is_some();
    let size = size_of(sized, inputs);
    if sized.job.lines_go_on || inputs.iter().any(is_decoded) {
        ordinals_bytes(size)
    } else {
        bits_bytes(size)
    }
}

/// Lists the inputs whose lines are written, in the order of their sides.
fn inputs_again(sized: &SizedJob) -> Vec<At> {
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

/// Returns how many bytes fewer are spilled of keys than of the records: none where `usable` bytes have room for all.
fn saved_bytes(keys: &SizedJob, sorted: &SizedJob, usable: u64) -> u64 {
    let (of_keys, of_records) = (keys.sizes.total.bytes, sorted.sizes.total.bytes);
    if of_records > usable || keys.job.always_spill {
        of_records.saturating_sub(of_keys)
    } else {
        0
    }
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

/// Returns the bytes of an answer, with what a sort needs of each line.
pub(super) fn answer_bytes(answer: DataSize) -> u64 {
    answer.bytes + answer.lines.saturating_mul(ENTRY_BYTES)
}

/// Returns how many bytes of an answer are written and read again if it is sorted in `memory_bytes`.
pub(super) fn spilled_bytes(answer_bytes: u64, memory_bytes: u64, job: &Job) -> u64 {
    if answer_bytes > memory_bytes || job.always_spill {
        answer_bytes
    } else {
        0
    }
}
