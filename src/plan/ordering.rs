//! The costs of putting the answer in order.
//!
//! *Owns:* the estimate of the answer's size, and what an order adds to the costs of a design. *Invariants:* without
//! an order nothing is added.
//!
//! *Formulas.* With the order of the input, what is spilled grows by 8 bytes for each line whose ordinal is kept. The
//! answer, with about 12 bytes a line besides its own, is written and read once if it does not fit its part of the
//! memory; or inputs are read once more instead ([`reading_again`](crate::plan::reading_again)). Numbers of rows take a
//! bit of memory for each row.

use serde::Serialize;

use crate::batch::ORDINAL_BYTES;
use crate::plan::job::{DataSize, Job};
use crate::plan::layout::Layout;
use crate::plan::sizes::SizedJob;
use crate::plan::{Costs, Strategy};
use crate::selection::Order;

/// The bytes that a sort keeps of each line of the answer besides its own: rank and offset in memory, or lengths and
/// ordinal.
const ENTRY_BYTES: u64 = 12;

/// The way in which the answer is put in order, and what that costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OrderPlan {
    /// `input`, `sorted` or `count`.
    pub order: &'static str,
    /// The answer as it is expected, in bytes, with what its order needs of each line.
    pub answer_bytes: u64,
    /// Memory for it, in bytes.
    pub memory_bytes: u64,
    /// Bytes of it that are written to temporary files and read again; 0 if it fits in memory.
    pub spilled_bytes: u64,
    /// Bytes of ordinals that are spilled with the lines: `input` only.
    pub ordinal_bytes: u64,
    /// Bytes of inputs that are read once more, where the answer is not sorted: `input` only.
    pub read_again_bytes: u64,
    /// True if the answer is numbers of rows, which have a bit each and are not sorted: `input` only.
    pub has_row_bits: bool,
}

/// Adds what the order of the answer costs to `costs`, those of a design in this layout. `None` if no
/// order is asked for.
pub(super) fn order(sized: &SizedJob, layout: &Layout, costs: &mut Costs) -> Option<OrderPlan> {
    let order = sized.rule().order();
    if order == Order::Any {
        return None;
    }
    let answer_bytes = answer_bytes(sized.answer);
    let again = &sized.read_again;
    let read_again_bytes = again.iter().map(|&at| sized.read[at as usize].bytes).sum();
    let spilled_bytes = if again.is_empty() && !sized.has_row_bits {
        spilled_bytes(answer_bytes, layout.order_bytes, &sized.job)
    } else {
        0
    };
    let ordinal_bytes = ordinal_bytes(sized, costs.bytes_written);
    let more = spilled_bytes.saturating_add(ordinal_bytes);
    costs.bytes_read = costs.bytes_read.saturating_add(more);
    costs.bytes_written = costs.bytes_written.saturating_add(more);
    let buckets = costs.temp_peak_bytes.saturating_add(ordinal_bytes);
    // The files of a bucket are removed when it is joined, and the lines that it gives to the answer take their
    // place. But what a filter finds to be in the answer, or a cache has counted, is there before the join begins.
    let is_partitioned =
        costs.strategy == Strategy::Partition && layout.pool.duplicate_cache_bytes == 0;
    let is_joined = is_partitioned || sized.rule().needs_all();
    costs.temp_peak_bytes = if is_joined {
        buckets.max(spilled_bytes)
    } else {
        buckets.saturating_add(spilled_bytes)
    };
    Some(OrderPlan {
        order: order.name(),
        answer_bytes,
        memory_bytes: layout.order_bytes,
        spilled_bytes,
        ordinal_bytes,
        read_again_bytes,
        has_row_bits: sized.has_row_bits,
    })
}

/// Ordinals in `spilled` bytes of lines, if these are of all inputs alike.
fn ordinal_bytes(sized: &SizedJob, spilled: u64) -> u64 {
    let keeps = |index: usize| sized.rule().keeps_ordinals_of(index as u32 + 1);
    let with_ordinals = (sized.order.iter().zip(&sized.kept))
        .filter(|&(&index, _)| keeps(index))
        .fold(0, |lines: u64, (_, size)| lines.saturating_add(size.lines));
    let share = with_ordinals as f64 / sized.sizes.total.bytes.max(1) as f64;
    (spilled as f64 * share * ORDINAL_BYTES as f64) as u64
}

/// Returns the bytes of an answer, with what a sort needs of each line.
fn answer_bytes(answer: DataSize) -> u64 {
    answer.bytes + answer.lines.saturating_mul(ENTRY_BYTES)
}

/// Returns how many bytes of an answer are written and read again if it is sorted in `memory_bytes`.
fn spilled_bytes(answer_bytes: u64, memory_bytes: u64, job: &Job) -> u64 {
    if answer_bytes > memory_bytes || job.always_spill {
        answer_bytes
    } else {
        0
    }
}
