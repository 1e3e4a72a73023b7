//! The order of the input without a sort: the inputs are read once more.
//!
//! *Owns:* the choice between that and a sort, and the memory for it. *Invariants:* it is chosen only where a line is
//! written as it stands in a plain file: a decoder costs more than a disk.
//!
//! *Formulas.* The inputs whose lines are written are read once more; a sort writes the answer and reads it, if it does
//! not fit its part of the memory. Whichever moves fewer bytes is chosen. Each line of the inputs has a bit, and each
//! cell of them 17 bytes at most; an answer that needs more than a third of the memory for that is sorted.

use crate::memory::buffer::{PAGE, round_up};
use crate::plan::job::{DataSize, Job};
use crate::plan::layout::order_bytes;
use crate::plan::steps::At;
use crate::selection::{CELL_BYTES, Order, Rule};

/// The bytes that a sort keeps of each line of the answer besides its own: rank and offset in memory, or lengths and
/// ordinal.
const ENTRY_BYTES: u64 = 12;
/// The largest fraction of the memory for buffers that a bit of each line may have.
const KEPT_SHARE: u64 = 3;
/// Memory for the cells of small files, which nobody has counted, in bytes.
const SMALL_FILES_BYTES: u64 = 64 << 10;

/// The inputs that are read once more, so that the answer is not sorted, and the memory for that.
#[derive(Debug)]
pub(super) struct ReadingAgain {
    /// The inputs, in the order of their sides.
    pub(super) inputs: Vec<At>,
    /// Memory for a bit of each line, in bytes.
    pub(super) memory_bytes: u64,
}

impl ReadingAgain {
    /// Chooses it, if these inputs can be read again and that moves fewer bytes than a sort of the answer. `order`
    /// and `read` are the inputs in the order of the work.
    pub(super) fn of(
        job: &Job,
        rule: &Rule,
        answer: DataSize,
        order: &[usize],
        read: &[DataSize],
    ) -> Option<Self> {
        if rule.order() != Order::Input || !job.can_read_again || !rule.writes_lines_alone() {
            return None;
        }
        let mut positions: Vec<Option<At>> = vec![None; order.len()];
        for (at, &index) in (0..).zip(order) {
            positions[index] = Some(at);
        }
        let sides = (1..).zip(&job.sides);
        let with_ordinals = sides.filter(|&(number, _)| rule.keeps_ordinals_of(number));
        // A file that is several sides is read where the first of them is.
        let inputs: Vec<At> = with_ordinals
            .filter_map(|(_, &index)| positions[index].take())
            .collect();
        let is_plain = |&at: &At| {
            let shape = &job.inputs[order[at as usize]];
            shape.bytes.is_some() && shape.decoding.is_none()
        };
        let of_inputs = |&at: &At| read[at as usize];
        let size = DataSize::sum(&inputs.iter().map(of_inputs).collect::<Vec<_>>());
        let memory_bytes = kept_bytes(size);
        let usable = job.memory_bytes.saturating_sub(job.base_bytes);
        let spilled = spilled_bytes(answer_bytes(answer), order_bytes(job), job);
        let pays = size.bytes / 2 <= spilled && memory_bytes <= usable / KEPT_SHARE;
        (pays && inputs.iter().all(is_plain)).then_some(Self {
            inputs,
            memory_bytes,
        })
    }
}

/// Returns the memory for a bit of each line of inputs of this size, in bytes, with room for more lines than a sample
/// shows. The bits of each cell fill whole words.
fn kept_bytes(size: DataSize) -> u64 {
    let cells = size.bytes / CELL_BYTES;
    let bits = size.lines + size.lines / 2 + 64 * cells;
    round_up(bits / 8 + 9 * cells + SMALL_FILES_BYTES, PAGE)
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
