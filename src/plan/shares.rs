//! Parts of the memory on which more than one formula depends.
//!
//! *Owns:* their sizes. *Invariants:* what a layout sets aside and what a refusal advises agree, because both take it
//! from here.

use crate::plan::Job;

/// The least that must be left for buffers after what the process itself needs, in bytes. With 6 MiB, and on a busy
/// machine with 5.5 MiB, runs in 16 MiB were refused when more pages of the program were mapped than usual.
pub(crate) const LEAST_USABLE_BYTES: u64 = 5 << 20;
/// The most that long lines may have of the memory for buffers, in eighths: two such lines, and as much
/// for all else.
pub(super) const MOST_EIGHTHS: u64 = 3;
/// The fraction of the memory for buffers that puts the answer in order.
pub(super) const ORDER_SHARE: u64 = 8;

/// Returns the room in bytes for lines as long as the longest that is known: a buffer, and one that is twice as large
/// while it grows.
pub(super) fn long_room(job: &Job) -> u64 {
    job.longest_line_bytes.saturating_mul(2)
}
