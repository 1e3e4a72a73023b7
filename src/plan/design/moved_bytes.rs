//! The bytes that a design moves: what `auto` compares designs by.
//!
//! *Owns:* their sum, and what decoding and finding keys count as in it. *Invariants:* it says nothing of whether a
//! design fits. *Cost:* a few operations for each input.

use crate::decode::compressed::Decoding;
use crate::plan::assumptions::HELD_LINE_COST;
use crate::plan::decoding::DecodingPlan;
use crate::plan::design::Design;
use crate::plan::{InputShape, Job};

/// The cost of finding the key of a record, in bytes that are moved: CSV of 87 bytes a record takes half as long again
/// as plain lines.
const KEY_COST: f64 = 40.0;
/// The cost of finding the range of a line, in bytes that are moved: a twelfth of the time of a sorted union.
const RANGE_COST: u64 = 40;

impl Design<'_> {
    /// Adds up the bytes read and written, on disk or in memory, and what decoding costs, finding keys, and finding
    /// ranges.
    ///
    /// Lines that blocks and large sets hold in memory are moved, too, and each waits for memory when it comes and
    /// when it is written. So a set is not worth it where few lines come again: a union of 2 x 10 million URLs takes
    /// 2.0 to 6.1 s with a set of 1.4 GB, by how soon the system gives that memory, and 2.2 s with filters of 130 MB,
    /// which read the files twice.
    pub(crate) fn moved_bytes(&self) -> u64 {
        let (costs, job) = (&self.costs, &self.sized.job);
        // What is spilled is written once and read once; all other bytes are of inputs.
        let of_inputs = costs.bytes_read.saturating_sub(costs.bytes_written);
        let lanes = if self.writes_in_order() {
            1
        } else {
            DecodingPlan::of(job).lanes
        };
        let understood = (of_inputs as f64 * understanding_cost(job, lanes)) as u64;
        let all = costs.bytes_read.saturating_add(costs.bytes_written);
        let held = self.held.lines.saturating_mul(HELD_LINE_COST);
        let held = held.saturating_add(self.held.bytes);
        let searched = if self.layout.pool.by_range {
            self.sized.sizes.total.lines.saturating_mul(RANGE_COST)
        } else {
            0
        };
        [understood, held, searched]
            .into_iter()
            .fold(all, u64::saturating_add)
    }
}

/// Returns the mean cost of decoding a byte of the inputs in so many lanes and of finding its key, in bytes that are
/// moved.
fn understanding_cost(job: &Job, lanes: u64) -> f64 {
    let bytes = |shape: &InputShape| shape.bytes.unwrap_or(0) as f64;
    let lanes = lanes as f64;
    let cost = |shape: &InputShape| {
        let decoding =
            |decoding: Decoding| decoding.cost as f64 / lanes.min(decoding.pieces as f64);
        let records = shape.lines.filter(|_| shape.key_bytes.is_some());
        let keys = records.unwrap_or(0) as f64 * KEY_COST / bytes(shape).max(1.0);
        keys + shape.decoding.map_or(0.0, decoding)
    };
    let all: f64 = job.inputs.iter().map(bytes).sum();
    let costs = job.inputs.iter().map(|shape| bytes(shape) * cost(shape));
    costs.sum::<f64>() / all.max(1.0)
}
