//! The phases of a run are those that its plan announces, in their order; where a run goes on otherwise than planned,
//! those that it announces then.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use differential::sweep;
use outset::plan::{Plan, PlannedPhase};
use outset::{Label, Observer, Options, Order, Selection, Source, Strategy, select};

use crate::util::{MIB, Sandbox, alone, from_here};

/// The phase that a run may leave out.
const SURVIVORS: &str = "filter survivors";

/// Compares each phase that begins with the one that was announced for its step.
#[derive(Default)]
struct Comparing {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The phases that are still to come.
    ahead: VecDeque<PlannedPhase>,
    /// The differences that came.
    wrong: Vec<String>,
    /// Phases that came as they were announced.
    right: usize,
    /// Number of times that a run announced other phases than its plan.
    changes: usize,
}

impl Comparing {
    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Comparing {
    fn planned(&self, plan: &Plan) {
        self.with(|state| state.ahead = plan.phases.iter().copied().collect());
    }

    fn expected(&self, phases: &[PlannedPhase]) {
        self.with(|state| {
            state.ahead = phases.iter().copied().collect();
            state.changes += 1;
        });
    }

    fn phase_started(&self, name: &str, step: Option<usize>, _: Option<u64>) {
        self.with(|state| {
            // A pipe is copied before the first phase of the plan.
            let Some(step) = step else {
                let unplanned = std::iter::once(name).filter(|&name| name != "spool");
                return state.wrong.extend(unplanned.map(str::to_owned));
            };
            // A filter of survivors is built only if it pays; then it comes even where it was not announced.
            let is_optional = |planned: &PlannedPhase| planned.name == SURVIVORS;
            while state
                .ahead
                .front()
                .is_some_and(|it| it.step < step && is_optional(it))
            {
                state.ahead.pop_front();
            }
            let is_next = state.ahead.front().is_some_and(|it| it.step == step);
            if name == SURVIVORS && !is_next {
                return;
            }
            let is = |planned: &PlannedPhase| {
                planned.step == step && name.split(' ').next() == planned.name.split(' ').next()
            };
            match state.ahead.pop_front() {
                Some(planned) if is(&planned) => state.right += 1,
                planned => state
                    .wrong
                    .push(format!("{name} at {step}, planned {planned:?}")),
            }
        });
    }
}

/// Runs a selection, and returns how many phases came as announced, and how often the run changed its plan.
fn compare(paths: &[PathBuf], selection: Selection, options: &Options) -> Option<(usize, usize)> {
    let comparing = Arc::new(Comparing::default());
    let observed = Options {
        observer: Some(comparing.clone()),
        ..options.clone()
    };
    let sources: Vec<Source> = paths.iter().map(Source::from).collect();
    let mut sink = |_: &[u8]| Ok(());
    // A strategy that cannot do it says so.
    let stats = select(&sources, selection, &from_here(&observed), &mut sink);
    let stats = stats.inspect_err(|error| eprintln!("{error}")).ok()?;
    let run = format!("{selection:?} {:?} {}", options.strategy, paths.len());
    comparing.with(|state| {
        assert!(state.wrong.is_empty(), "{run}: {:?}", state.wrong);
        let left: Vec<_> = state
            .ahead
            .iter()
            .filter(|it| it.name != SURVIVORS)
            .collect();
        assert!(
            left.is_empty(),
            "{run}: {left:?} did not come, of {:?}",
            stats.phases
        );
        Some((state.right, state.changes))
    })
}

/// The operations, and the ways to write their lines.
fn selections() -> Vec<Selection> {
    let (common, alone, all) = (
        Selection::intersection(),
        Selection::difference(),
        Selection::union(),
    );
    vec![
        common,
        common.with_repeats(),
        common.with_all(),
        common.ordered(Order::Sorted),
        alone,
        alone.with_repeats(),
        alone.ordered(Order::Input),
        all,
        all.with_all(),
        all.labelled(Label::Sides),
        all.labelled(Label::Count),
        all.top(100),
        all.max_count(1),
        common.min_count(3),
        all.ordered(Order::Sorted),
        Selection::symmetric_difference(),
        Selection::at_least(2),
    ]
}

/// Three files: much is in common, and lines come again.
fn files(sandbox: &Sandbox, lines: usize) -> Vec<PathBuf> {
    let text = |step: usize| -> Vec<u8> {
        let lines = (0..lines).map(|number| format!("{}\n", number / 2 * step));
        lines.flat_map(String::into_bytes).collect()
    };
    sandbox.files(&[text(2), text(3), text(5)])
}

#[test]
fn the_phases_of_a_run_are_those_that_were_announced() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let files = files(&sandbox, 3000);
    // The last three are the runs whose plans once told other phases: a file that is given twice.
    let given: [&[usize]; 6] = [
        &[0],
        &[0, 1],
        &[0, 1, 2],
        &[0, 1, 0],
        &[0, 0, 1],
        &[1, 0, 0],
    ];
    // Each operation by each strategy, also among a few.
    let of = |selection: Selection| {
        let strategies = Strategy::ALL.map(Some).into_iter().chain([None]);
        strategies.map(move |strategy| (selection, strategy))
    };
    let ways: Vec<_> = selections().into_iter().flat_map(of).collect();
    let cases = sweep::pairs(&given, &ways);
    let (mut right, mut runs, asked) = (0, 0, cases.len());
    for (given, &(selection, strategy)) in cases {
        let paths: Vec<_> = given.iter().map(|&number| files[number].clone()).collect();
        let options = Options {
            strategy,
            always_spill: true,
            ..sandbox.options()
        };
        let found = compare(&paths, selection, &options);
        right += found.map_or(0, |(right, _)| right);
        runs += usize::from(found.is_some());
    }
    assert!(
        2 * runs > asked && right > 3 * runs,
        "{right} phases of {runs} runs of {asked}"
    );
}

#[test]
fn phases_that_a_run_puts_in_the_place_of_its_plans_are_announced() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let text = |lines: std::ops::Range<u64>, often: usize| -> Vec<u8> {
        let lines = lines.flat_map(|number| format!("{number:050}\n").into_bytes());
        lines.collect::<Vec<u8>>().repeat(often)
    };
    let options = |strategy| Options {
        strategy,
        memory_bytes: Some(16 * MIB),
        ..sandbox.options()
    };
    let common = Selection::intersection();
    // Nearly all of the second file passes: everything is spilled.
    let paths = sandbox.files(&[text(0..200_000, 1), text(0..200_000, 1)]);
    let found = compare(&paths, common, &options(Some(Strategy::Sieve)));
    assert!(found.is_some_and(|(_, changes)| changes > 0), "{found:?}");
    // Lines come so often that those of the second file fit as a set; beside a pipe the plan did not count on that.
    let mut paths = sandbox.files(&[text(0..6_000, 50), text(3_000..9_000, 60)]);
    paths.push(sandbox.fifo("pipe", text(1_000..8_000, 2)));
    let found = compare(&paths, common, &options(None));
    assert!(found.is_some_and(|(_, changes)| changes > 0), "{found:?}");
}
