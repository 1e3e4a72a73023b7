//! The rules that hold for every list, whatever its strategy: what the compiler cannot see of data.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;

use super::lists::{List, prefiltered_build, set_tail};
use super::step::{Lets, Lives, Question, Seen, Slot, Step, Through};
use crate::plan::golden::jobs::{requests, selections, sizes};
use crate::plan::sizes::SizedJob;
use crate::plan::{Job, Strategy, plan};

/// Returns true if lines may reach the sink while the step is performed.
fn may_write(step: &Step) -> bool {
    match step {
        Step::Filter { seen, .. } => *seen == Seen::NewIsWritten,
        Step::Spill { writes_refused, .. } => *writes_refused,
        Step::Mark { .. }
        | Step::LookUp { .. }
        | Step::WriteNew { .. }
        | Step::Write
        | Step::Ask { .. }
        | Step::Tell { .. }
        | Step::Join { .. }
        | Step::Order
        | Step::Rewrite { .. } => true,
        Step::Refilter { .. } | Step::Build { .. } | Step::Collect { .. } | Step::Replan(_) => {
            false
        }
    }
}

/// The stores and filters that the steps so far have left.
#[derive(Default)]
struct Done {
    /// Filters that are there.
    alive: Vec<Slot>,
    /// Those that were asked: nothing may be put into them.
    asked: Vec<Slot>,
    read: BTreeSet<u32>,
    spilled: BTreeSet<u32>,
    has_joined: bool,
    has_set: bool,
    has_written: bool,
}

impl Done {
    /// Fails where `step` cannot be done now.
    fn check_filters(&mut self, step: &Step, step_name: &str) {
        let filled: Vec<Slot> = step.filled().into_iter().flatten().collect();
        if let Some(asked) = step.asked() {
            // An empty filter refuses every line: of a difference that is the answer.
            let absent = Lets::Absent;
            let may_be_empty = match step {
                Step::Ask { .. } | Step::Tell { .. } => true,
                Step::Spill {
                    through: Some(Through { lets, .. }),
                    ..
                } => *lets == absent,
                _ => false,
            };
            assert!(!filled.contains(&asked), "{step_name} asks what it fills");
            assert!(
                self.alive.contains(&asked) || may_be_empty,
                "{step_name}: was never filled"
            );
            self.asked.push(asked);
        }
        for slot in filled {
            assert!(!self.asked.contains(&slot), "{step_name}: was asked before");
            if !self.alive.contains(&slot) {
                self.alive.push(slot);
            }
        }
        assert!(
            self.alive.len() <= 2,
            "{step_name}: {:?} are there",
            self.alive
        );
    }

    /// Fails where `step` cannot be done now.
    fn check_order(&mut self, step: &Step, step_name: &str) {
        let Self {
            spilled,
            has_joined,
            has_set,
            has_written,
            ..
        } = self;
        assert!(
            !(*has_set && step.is_of_buckets()),
            "{step_name}: a set takes all memory"
        );
        match step {
            Step::Spill { at, .. } => assert!(spilled.insert(*at) && !*has_joined, "{step_name}"),
            Step::Refilter { of, .. } => {
                assert!(spilled.contains(of) && !*has_joined, "{step_name}");
            }
            Step::Join { is_distinct } => {
                assert!(!*has_joined && !spilled.is_empty(), "{step_name}");
                assert!(!is_distinct || spilled.len() == 1, "{step_name}");
                *has_joined = true;
            }
            Step::Filter { .. } => assert!(!*has_set, "{step_name}: a set takes all memory"),
            Step::Build { .. } => *has_set = true,
            // It has no outcome but an error.
            Step::Replan(Question::Rate(None)) => {}
            Step::Replan(_) => assert!(!*has_written, "{step_name}: lines are out already"),
            _ => {}
        }
        *has_written |= may_write(step);
    }
}

/// Fails if a list of steps is none that can be performed, where the filters of `held` are complete and there. It must
/// go through `inputs` inputs.
fn check(name: &str, steps: &[Step], held: &[Slot], inputs: usize) {
    let mut done = Done {
        alive: held.to_vec(),
        asked: held.to_vec(),
        ..Done::default()
    };
    let lives = Lives::of(steps);
    for (number, step) in steps.iter().enumerate() {
        let step_name = format!("{name}: step {number}, {step:?}");
        done.read.extend(step.input());
        done.check_filters(step, &step_name);
        done.check_order(step, &step_name);
        let rest = &steps[number + 1..];
        assert!(*step != Step::Order || rest.is_empty(), "{step_name}");
        let is_rewrite = |step: &Step| matches!(step, Step::Rewrite { .. });
        assert!(
            !is_rewrite(step) || rest.iter().all(is_rewrite),
            "{step_name}"
        );
        done.alive.retain(|&slot| !lives.is_over(slot, number + 1));
    }
    assert_eq!(done.has_joined, !done.spilled.is_empty(), "{name}");
    assert!(done.alive.is_empty(), "{name}: {:?} are left", done.alive);
    assert!(done.has_written, "{name} writes nothing");
    assert_eq!(done.read.len(), inputs, "{name}");
}

/// Lists all jobs whose plans are recorded.
fn jobs() -> impl Iterator<Item = (String, Job)> {
    sizes().into_iter().chain(requests()).chain(selections())
}

#[test]
fn every_list_of_a_plan_can_be_performed() {
    let mut checked = 0;
    for (name, job) in jobs() {
        for strategy in Strategy::ALL {
            let asked = Job {
                strategy: Some(strategy),
                ..job.clone()
            };
            let Ok(plan) = plan(&asked) else { continue };
            let stored = job.stored_filter.map(|_| Slot::FIRST);
            let steps = &plan.steps.list;
            let name = format!("{name}: {strategy}");
            check(&name, steps, stored.as_slice(), job.inputs.len());
            checked += 1;
        }
    }
    assert!(checked > 300, "{checked}");
}

#[test]
fn what_a_decision_puts_in_the_place_of_a_list_can_be_performed() {
    for (name, job) in jobs() {
        let inputs = job.inputs.len();
        let sides = SizedJob::of(job).unwrap().sides;
        let partition = List::Partition { feeds: false };
        check(&name, &partition.steps(inputs, &sides), &[], inputs);
        if sides.rule().finds_common() && inputs > 1 {
            let set = [&[prefiltered_build()][..], &set_tail(inputs as u32)].concat();
            check(&name, &set, &[Slot::FIRST], inputs);
            check(&name, &List::Set.steps(inputs, &sides), &[], inputs);
        }
    }
}

#[test]
fn a_decision_comes_when_the_filter_that_it_looks_at_is_complete() {
    for (name, job) in jobs().filter(|(_, job)| job.inputs.len() > 1) {
        let inputs = job.inputs.len();
        let sides = SizedJob::of(job).unwrap().sides;
        let last_link = Slot(inputs as u32 - 2);
        for list in [
            List::Sieve,
            List::SingletonSieve,
            List::PrefilteredSet,
            List::Chain { has_stored: false },
            List::Absent,
        ] {
            let steps = list.steps(inputs, &sides);
            let mut questions = steps.iter().enumerate();
            let (number, looked_at) = questions
                .find_map(|(number, step)| match step {
                    Step::Replan(Question::Again) => Some((number, Slot::SECOND)),
                    Step::Replan(Question::Rate(Some(_))) => Some((number, last_link)),
                    Step::Replan(_) => Some((number, Slot::FIRST)),
                    _ => None,
                })
                .unwrap();
            let lives = Lives::of(&steps);
            assert!(lives.is_complete(looked_at, number), "{name}: {list:?}");
            assert!(!lives.is_over(looked_at, number), "{name}: {list:?}");
        }
    }
}
