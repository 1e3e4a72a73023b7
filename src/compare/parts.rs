//! The cost of each part of a comparison, in bytes that it goes through.
//!
//! *Owns:* the expectation by which a progress display divides the time. *Invariants:* the parts are those that
//! [`part_started`](crate::Observer::part_started) announces, in their order.

use crate::compare::{Comparer, Mistake, Point};
use crate::error::Result;
use crate::input::Input;
use crate::plan::Plan;

/// The parts before the distinct lines are estimated: two runs, and the comparing of their results.
const PARTS_OF_FIRST_POINT: usize = 3;

impl Comparer<'_> {
    /// Predicts how many bytes each part of comparisons at `points`, one after the other, goes through; the parts are
    /// those that [`part_started`](crate::Observer::part_started) announces.
    ///
    /// # Errors
    /// The first refusal of a plan: a sweep is refused as a whole, before its first point has cost time.
    pub fn expected_bytes(&self, points: &[Point]) -> Result<Vec<u64>> {
        let phases = |plan: &Plan| plan.phases.iter().map(|phase| phase.bytes_read).sum();
        let mut parts = Vec::new();
        // As `compare` does: the exact run is made again only where the limit changes.
        let mut before = None;
        for &point in points {
            let plans = self.plans(point)?;
            let limit = self.limit(point);
            if before.replace(limit) != Some(limit) {
                parts.push(phases(&plans.exact));
            }
            // The join of that run reads the lines that pass the filter; they are read again, spilled and joined
            // with the exact result.
            let passed = plans.approximate.phases.iter();
            let passed = passed.filter(|phase| phase.name == "join");
            let passed: u64 = passed.map(|phase| phase.bytes_read).sum();
            parts.extend([phases(&plans.approximate), 3 * passed]);
            // The distinct lines are estimated once, at the first point.
            if parts.len() == PARTS_OF_FIRST_POINT && self.mistake.needs_estimate() {
                parts.push(self.estimated_bytes());
            }
        }
        Ok(parts)
    }

    /// Returns the bytes that the estimate of the distinct lines reads: all inputs, or those in the filter of a
    /// difference.
    fn estimated_bytes(&self) -> u64 {
        let is_read = |(number, input): &(usize, &Input)| match self.mistake {
            Mistake::FalseLines => true,
            Mistake::LostLines => false,
            // The first input may be another one, too.
            Mistake::MissingLines => *number > 0 || input.sides().len() > 1,
        };
        let read = self.inputs.iter().enumerate().filter(is_read);
        read.filter_map(|(_, input)| input.likely_bytes()).sum()
    }
}
