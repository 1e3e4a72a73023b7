//! The revision that a plan expects, so that golden plans show it.
//!
//! *Owns:* the arrangement: what a run would find out where all comes as planned. *Invariants:* none of a run. *Cost:*
//! that of a revision.

use crate::plan::revision::SurvivorSample;
use crate::plan::steps::{Question, Step};
use crate::plan::{Again, FilterPlan, Layout, Plan};

/// Lines of a sample that nobody has taken: enough for any share.
const EXPECTED_SAMPLE: u64 = 1 << 20;

/// Returns how the run will go on when the first filter is complete, if all comes as this plan expects: the layout,
/// and the second filter.
pub(super) fn expected_revision(plan: &Plan) -> (Layout, Option<FilterPlan>) {
    let unchanged = (plan.layout, plan.second_filter);
    let Some(first) = plan.costs.filter else {
        return unchanged;
    };
    let passed = (passing_share(plan) * EXPECTED_SAMPLE as f64) as u64;
    let sample = |input| SurvivorSample {
        input,
        sampled: EXPECTED_SAMPLE,
        passed,
        passed_distinct: passed,
        filter_bytes: first.bits / 8,
        filter_fpr: first.predicted_fpr,
        filter_distinct: first.keys as f64,
        temp_bytes: u64::MAX,
    };
    let question = plan.steps.list.iter().find_map(|step| match step {
        Step::Replan(question) => Some(*question),
        _ => None,
    });
    match (question, plan.second_filter) {
        (Some(Question::Survivors(1)), _) => {
            let revised = plan.revised_sieve(sample(1)).filter(|it| it.asks_filter);
            revised.map_or(unchanged, |it| (it.layout, it.second_filter))
        }
        (Some(Question::Again), Some(second)) => {
            let lines = plan.sized.sizes.total.lines;
            let keys = second.keys.min(lines);
            let revised = plan.revised_singletons(Again {
                lines,
                keys,
                // Each of them occurs twice.
                distinct: keys as f64 / 2.0,
                fpr: second.predicted_fpr,
                filter_bytes: second.bits / 8,
            });
            (revised.unwrap_or(plan.layout), plan.second_filter)
        }
        (Some(Question::Rate(Some(last))), _) if last > 0 => {
            let revised = plan.revised_bloom(sample(last as usize));
            (revised.unwrap_or(plan.layout), plan.second_filter)
        }
        _ => unchanged,
    }
}

/// Returns the share, 0..1, of the lines that a filter of this plan is expected to let through where it is asked.
fn passing_share(plan: &Plan) -> f64 {
    let bytes_of = |name| {
        let of_name = plan.phases.iter().filter(|phase| phase.name == name);
        of_name.map(|phase| phase.bytes_read).sum::<u64>()
    };
    let (passing, asked) = match (bytes_of("spill"), plan.second_filter) {
        (0, Some(second)) => (second.keys, plan.build_lines),
        (spilled, _) => (bytes_of("join"), spilled),
    };
    (passing as f64 / asked.max(1) as f64).min(1.0)
}
