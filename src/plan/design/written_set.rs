//! `memory` of a union whose answer is the set: each key is read again where it was written.
//!
//! *Owns:* its design, and where it is possible. *Invariants:* as those of [`design`](crate::plan::design); the answer
//! goes to a file that can be read, and is written in the order of the inputs; no line is in memory but those at its
//! end.
//!
//! *Formulas.* With L different lines: 24 bytes a slot of a table for L at 70 % of its slots, the end of the answer,
//! and the longest line with a copy of its key. Each input is read once, and nothing is spilled.

use crate::error::Error;
use crate::memory::buffer::PAGE;
use crate::plan::Strategy;
use crate::plan::design::Design;
use crate::plan::job::{DataSize, SetEstimate};
use crate::plan::layout::Layout;
use crate::plan::refusal::refusal;
use crate::plan::sizes::SizedJob;
use crate::plan::steps::List;
use crate::record::{Columns, MOST_BUILT_BYTES};
use crate::selection::{Order, Rule};
use crate::set::places::place_table_bytes;
use crate::size::display_bytes;

/// The lines of a set in memory that one line counts as when `auto` compares strategies: workers take turns with lines.
/// With it this takes as long as a sieve for lines of 250 bytes; measured were 1.7 times as long for lines of 120, and
/// 0.6 of it for compressed records of 1.6 KB.
const LINE_FACTOR: u64 = 4;

/// The reason why an answer is not read where it is written.
#[derive(Debug)]
pub(in crate::plan) enum NotReread {
    /// It is no union of which the first line of each key is written, in the order of the inputs or in none.
    Other,
    /// It goes to no file that can be read.
    NoFile,
    /// `auto` does not know that the page cache has room for it: it is too large, or an input has no known size.
    NotCached,
    /// There is no room for the places of the lines.
    NoRoom(Error),
}

/// Designs it.
///
/// # Errors
/// Why it is not possible.
pub(in crate::plan) fn written_set(sized: &SizedJob) -> Result<Design<'_>, NotReread> {
    let (job, of_set) = (&sized.job, sized.sizes.of_set);
    let is_cached = is_cached(sized)?;
    let is_wanted = job.strategy == Some(Strategy::Memory);
    if !is_cached && !is_wanted {
        return Err(NotReread::NotCached);
    }
    // Nothing is set aside for an order.
    let layout = sized.layout_without_order();
    let table_bytes = place_table_bytes(of_set.lines);
    let set_bytes = table_bytes.saturating_add(beside_table(sized, &layout));
    let needed = set_bytes.saturating_add(layout.base_bytes + layout.scan.bytes());
    // It may be tried: lines that come again need no room.
    let is_tried = is_wanted && job.set_estimate == SetEstimate::Try;
    if needed > job.memory_bytes && !is_tried {
        let limit = display_bytes(job.memory_bytes);
        let what = format!("where all lines stand in the result does not fit in {limit}");
        return Err(NotReread::NoRoom(refusal(what, job)));
    }
    let mut design = Design::new(sized, Strategy::Memory, List::WrittenSet, layout);
    design.set_bytes = set_bytes;
    // What the page cache has no room for is read from the disk again.
    let from_disk = if is_cached { 0 } else { of_set.bytes };
    design.held = DataSize {
        lines: of_set.lines.saturating_mul(LINE_FACTOR),
        bytes: table_bytes.saturating_add(from_disk),
    };
    Ok(design.priced())
}

/// Returns true if the page cache is known to have room for the answer.
///
/// # Errors
/// Why it cannot be read where it is written.
fn is_cached(sized: &SizedJob) -> Result<bool, NotReread> {
    let job = &sized.job;
    // Keys alone may be searched for where records are written in another reading.
    let is_answer = sized.read_again.is_empty() && job.stored_filter.is_none();
    if !(is_answer && may_be_reread(sized.rule()) && job.row_bits_bytes.is_none()) {
        return Err(NotReread::Other);
    }
    if job.rereadable_bytes == 0 {
        return Err(NotReread::NoFile);
    }
    let has_sizes = job.inputs.iter().all(|shape| shape.bytes.is_some());
    Ok(has_sizes && sized.sizes.of_set.bytes <= job.rereadable_bytes)
}

/// Returns true if an answer by this rule could be read where it is written.
fn may_be_reread(rule: &Rule) -> bool {
    rule.takes_any() && rule.takes_first() && rule.order() != Order::Sorted
}

/// Returns the memory besides the table and that for reading, in bytes.
fn beside_table(sized: &SizedJob, layout: &Layout) -> u64 {
    let longest = sized.job.longest_line_bytes;
    let copied = if longest > MOST_BUILT_BYTES as u64 {
        Columns::most_copied(longest)
    } else {
        0
    };
    layout.tail_bytes() + longest.saturating_add(copied) + 2 * PAGE
}
