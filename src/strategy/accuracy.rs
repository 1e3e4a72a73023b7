//! The statistics of a run's filters, and the estimate of the lines that an approximate answer has by mistake.
//!
//! *Owns:* that arithmetic. *Invariants:* an exact run tells of the filter of its first input alone; an approximate one
//! of the rates of all its filters together. *Cost:* a sample of the blocks of each filter.

use crate::answer::Collector;
use crate::filter::{CheckedFilter, Filter};
use crate::input::Input;
use crate::plan::Plan;
use crate::stats::FilterStats;

/// The facts that are known of the filters of a run.
#[derive(Debug, Default)]
pub(super) struct FilterAccuracy {
    /// The first filter; where the answer is approximate, with the rates of those after it.
    pub(super) stats: Option<FilterStats>,
    /// About how many lines the filter took for others when they were put into it.
    taken_for_others: f64,
    /// About how many different lines of the last input the filters refused, where the others are the answer.
    refused: Option<f64>,
}

impl FilterAccuracy {
    /// Knows the stored filter, if there is one.
    pub(super) fn new(stored: Option<&CheckedFilter>) -> Self {
        let describe = |filter: &CheckedFilter| {
            let file = filter.stored();
            FilterStats::of(file.shape(), file.keys(), &filter.occupancy())
        };
        Self {
            stats: stored.map(describe),
            ..Self::default()
        }
    }

    /// Notes a filter that is complete, the first of the run or a further one of an approximate chain.
    pub(super) fn note(&mut self, filter: &Filter) {
        let occupancy = filter.occupancy_sampled();
        let found = FilterStats::of(filter.shape(), filter.keys(), &occupancy);
        self.taken_for_others = occupancy.taken_for_others;
        match &mut self.stats {
            None => self.stats = Some(found),
            Some(stats) => {
                // A line that is not common passes by mistake at one of them with the chance a + (1 - a) * b, an upper
                // bound for the whole chain.
                let either = |a: f64, b: f64| a + (1.0 - a) * b;
                stats.predicted_fpr = either(stats.predicted_fpr, found.predicted_fpr);
                stats.fill_fpr = either(stats.fill_fpr, found.fill_fpr);
            }
        }
    }

    /// Notes that the filters refused about `refused` different lines of the last input.
    pub(super) fn note_refused(&mut self, refused: f64) {
        self.refused = Some(refused);
    }

    /// Notes how many lines of the answer of `plan`, which is complete, are wrong or missing.
    pub(super) fn note_mistakes(&mut self, plan: &Plan, inputs: &[Input], out: &Collector<'_>) {
        if plan.may_miss_lines() {
            self.note_missing(plan, inputs, out);
        } else if let Some((stats, refused)) = self.stats.as_mut().zip(self.refused) {
            stats.expected_false_lines = expected_false_lines(refused, out.found(), stats.fill_fpr);
        }
    }

    /// Notes how many lines are missing: no more than the filter took of the lines that it was asked about.
    fn note_missing(&mut self, plan: &Plan, inputs: &[Input], out: &Collector<'_>) {
        let Some(stats) = &mut self.stats else { return };
        let in_first = plan.sized.rule().in_first();
        let asked = if in_first { &inputs[..1] } else { inputs };
        let missing = if in_first {
            // Of the lines that are nowhere else, the share 1 - fpr was refused, and is in the answer.
            let odds = stats.fill_fpr / (1.0 - stats.fill_fpr).max(f64::MIN_POSITIVE);
            out.found() as f64 * odds
        } else {
            self.taken_for_others
        };
        let lines: u64 = asked.iter().map(Input::lines).sum();
        let most = lines.saturating_sub(out.found());
        stats.expected_missing_lines = missing.min(most as f64);
    }
}

/// Estimates how many of the `found` different lines that passed filters with the joint rate `fpr` (0 to 1) did so by
/// mistake, when about `refused` different ones did not pass.
///
/// The refused lines were certainly not common. They are the share 1 - fpr of all different lines that are not
/// common, and the share fpr passed: so refused * fpr / (1 - fpr) passed by mistake. A filter of rate 1 refuses
/// nothing and says nothing; all may be false.
fn expected_false_lines(refused: f64, found: u64, fpr: f64) -> f64 {
    let found = found as f64;
    if fpr >= 1.0 {
        return found;
    }
    (refused * fpr / (1.0 - fpr)).min(found)
}
