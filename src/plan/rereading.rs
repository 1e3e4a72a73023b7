//! A union whose answer is the set: each line is read again where it was written.
//!
//! *Owns:* whether that is possible, its memory, and its cost beside other ways. *Invariants:* the answer goes to a
//! file that can be read, and is written in the order of the inputs.
//!
//! *Formulas.* With L different lines: 24 bytes a slot of a table for L at 70 % of its slots, the end of the answer,
//! and the longest line with a copy of its key.

use crate::memory::buffer::PAGE;
use crate::plan::assumptions::HELD_LINE_COST;
use crate::plan::job::{DataSize, SetEstimate};
use crate::plan::layout::Layout;
use crate::plan::sizes::SizedJob;
use crate::plan::{Job, Strategy};
use crate::record::{Columns, MOST_BUILT_BYTES};
use crate::selection::{Order, Rule};
use crate::set::places::place_table_bytes;

/// The lines of a set in memory that one line counts as when `auto` compares strategies: workers take turns with lines.
/// With it this takes as long as a sieve for lines of 250 bytes; measured were 1.7 times as long for lines of 120, and
/// 0.6 of it for compressed records of 1.6 KB.
const LINE_FACTOR: u64 = 4;

/// An answer that is read where it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rereading {
    /// The layout for reading the inputs: nothing is set aside for an order.
    pub(super) layout: Layout,
    /// The memory besides that for reading, in bytes.
    pub(super) set_bytes: u64,
    /// The lines of a set that would cost as much.
    pub(super) held: DataSize,
}

/// The reason why an answer is not read where it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotReread {
    /// It is no union of which the first line of each key is written, in the order of the inputs or in none.
    Other,
    /// It goes to no file that can be read.
    NoFile,
    /// `auto` does not know that the page cache has room for it: it is too large, or an input has no known size.
    NotCached,
}

/// Returns true if an answer by this rule could be read where it is written.
fn may_be_reread(rule: &Rule) -> bool {
    rule.takes_any() && rule.takes_first() && rule.order() != Order::Sorted
}

impl Rereading {
    /// Plans it.
    ///
    /// # Errors
    /// Why that is not possible.
    pub(super) fn of(sized: &SizedJob) -> Result<Self, NotReread> {
        let job = &sized.job;
        // Keys alone may be searched for where records are written in another reading.
        let is_answer = sized.read_again.is_empty() && job.stored_filter.is_none();
        if !(is_answer && may_be_reread(sized.rule()) && !job.numbers_rows) {
            return Err(NotReread::Other);
        }
        if job.rereadable_bytes == 0 {
            return Err(NotReread::NoFile);
        }
        let of_set = sized.sizes.of_set;
        let has_sizes = job.inputs.iter().all(|shape| shape.bytes.is_some());
        let is_cached = has_sizes && of_set.bytes <= job.rereadable_bytes;
        if !is_cached && job.strategy != Some(Strategy::Memory) {
            return Err(NotReread::NotCached);
        }
        let layout = sized.layout_without_order();
        let longest = job.longest_line_bytes;
        let copied = if longest > MOST_BUILT_BYTES as u64 {
            Columns::most_copied(longest)
        } else {
            0
        };
        let table_bytes = place_table_bytes(of_set.lines);
        let beside_table = layout.tail_bytes() + longest.saturating_add(copied) + 2 * PAGE;
        Ok(Self {
            layout,
            set_bytes: table_bytes.saturating_add(beside_table),
            held: DataSize {
                lines: of_set.lines.saturating_mul(LINE_FACTOR),
                bytes: table_bytes,
            },
        })
    }

    /// Returns true if it has room within the limit of `job`, or is to be tried: lines that come again need none.
    pub(super) fn fits(&self, job: &Job) -> bool {
        let is_tried =
            job.strategy == Some(Strategy::Memory) && job.set_estimate == SetEstimate::Try;
        let beside = self.layout.base_bytes + self.layout.scan.bytes();
        is_tried || self.set_bytes.saturating_add(beside) <= job.memory_bytes
    }

    /// Returns true if the answer of `sized` is in the order of the inputs, and written so for less than another
    /// reading of them costs, or by the strategy that was asked for.
    pub(super) fn gives_order(sized: &SizedJob) -> bool {
        let job = &sized.job;
        let read = DataSize::sum(&sized.read).bytes;
        let is_cheap = |it: Self| {
            let cost = it.held.lines.saturating_mul(HELD_LINE_COST);
            it.fits(job) && cost.saturating_add(it.held.bytes) <= read
        };
        let is_wanted = match job.strategy {
            None => Self::of(sized).is_ok_and(is_cheap),
            Some(Strategy::Memory) => Self::of(sized).is_ok(),
            Some(_) => false,
        };
        sized.rule().order() == Order::Input && is_wanted
    }
}
