//! What the statistics say of a run's filters, and how many lines an approximate answer has by mistake.
//!
//! *Owns:* that arithmetic. *Invariants:* an exact run tells of the filter of its first input alone; an approximate one of
//! the rates of all its filters together. *Cost:* a sample of the blocks of each filter.

use crate::answer::Collector;
use crate::filter::Filter;
use crate::input::Input;
use crate::plan::Plan;
use crate::stats::FilterStats;

/// What is known of the filters of a run.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The first filter; where the answer is approximate, with the rates of those behind it.
    pub(super) stats: Option<FilterStats>,
    /// About how many lines the filter took for others when they were put into it.
    taken_for_others: f64,
}

impl Told {
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

    /// Notes that `passed` of the `lines` lines of the last input passed all filters.
    ///
    /// The refused lines were certainly not common. They are the share 1 - fpr of all lines that are not common,
    /// and the share fpr passed: so refused * fpr / (1 - fpr) passed by mistake. A filter of rate 1 refuses
    /// nothing and says nothing; all may be false.
    pub(super) fn note_passed(&mut self, lines: u64, passed: u64) {
        let Some(stats) = &mut self.stats else { return };
        let (refused, fpr) = (lines.saturating_sub(passed) as f64, stats.fill_fpr);
        let wrong = if fpr < 1.0 {
            refused * fpr / (1.0 - fpr)
        } else {
            passed as f64
        };
        stats.expected_false_lines = wrong.min(passed as f64);
    }

    /// Notes how many lines are missing in the answer of `plan`, which is complete: no more than the filter took of the
    /// lines that it was asked about.
    pub(super) fn note_missing(&mut self, plan: &Plan, inputs: &[Input], out: &Collector<'_>) {
        let Some(stats) = &mut self.stats else { return };
        let in_first = plan.sides.rule().in_first();
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
