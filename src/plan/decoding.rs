//! The memory and the threads that decoding compressed inputs takes.
//!
//! *Owns:* how many pieces of an input are decoded at the same time, and their memory. *Invariants:* no run is
//! refused because several pieces would be decoded: then it is one.
//!
//! *Cost:* one decoder for each lane, of one input at a time: inputs are read one after the other.

use crate::decode::compressed::{MOST_UNPLANNED_BYTES, UNPLANNED_SHARE};
use crate::memory::buffer::PAGE;
use crate::plan::Job;
use crate::plan::shares::{LEAST_USABLE_BYTES, MOST_EIGHTHS, long_room};

/// The fraction of the memory for buffers that decodes several pieces at the same time; for one it may be more.
const DECODING_SHARE: u64 = 4;
/// The bytes that the heap grows by for each of several threads that decode: a frame of gzip takes its memory anew,
/// and threads leave gaps for one another. 2 MiB were seen, of BGZF, with two threads.
const LANE_BYTES: u64 = 1 << 20;

/// The decoders of inputs, and their memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DecodingPlan {
    /// Pieces of an input that are decoded at the same time.
    pub(crate) lanes: u64,
    /// The memory of these decoders, in bytes: for each piece as much as the largest first frame takes, or a share of
    /// the memory where that is more, for frames that the plan does not know of.
    pub(crate) bytes: u64,
    /// The bytes that the heap takes in addition because several threads decode.
    beside_bytes: u64,
    /// The fraction of the memory that it takes at most where that is large; 0 where nothing is decoded.
    pub(crate) share: u64,
}

impl DecodingPlan {
    /// Returns all of that memory in bytes.
    pub(super) fn all_bytes(&self) -> u64 {
        self.bytes + self.beside_bytes
    }

    /// Returns the memory of all decoders but the first, in bytes.
    pub(super) fn further_bytes(&self) -> u64 {
        self.all_bytes() - self.bytes / self.lanes
    }

    pub(super) fn of(job: &Job) -> Self {
        let usable = job.memory_bytes.saturating_sub(job.base_bytes);
        let unplanned = (usable / UNPLANNED_SHARE).min(MOST_UNPLANNED_BYTES) & !(PAGE - 1);
        let each = || job.inputs.iter().filter_map(|shape| shape.decoding);
        let Some(most) = each().map(|decoding| decoding.memory_bytes).max() else {
            return Self {
                lanes: 1,
                bytes: 0,
                beside_bytes: 0,
                share: 0,
            };
        };
        let pieces = each().map(|decoding| decoding.pieces).max().unwrap_or(1);
        let wanted = pieces.min(job.threads as u64);
        // More than one only where nothing is refused for it: lines that are known to be long need their room.
        let for_lines = long_room(job).saturating_mul(8) / MOST_EIGHTHS;
        let spare = usable.saturating_sub(LEAST_USABLE_BYTES.max(for_lines));
        let each_bytes = most.max(unplanned);
        let granted = (usable / DECODING_SHARE).min(spare) / (each_bytes + LANE_BYTES);
        let (lanes, share) = if wanted <= 1 {
            (1, UNPLANNED_SHARE)
        } else {
            (granted.clamp(1, wanted), DECODING_SHARE)
        };
        Self {
            lanes,
            bytes: lanes * each_bytes,
            beside_bytes: if lanes > 1 { lanes * LANE_BYTES } else { 0 },
            share,
        }
    }
}
