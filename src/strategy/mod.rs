//! A plan as it is carried out: one step after the other.
//!
//! *Owns:* the walk through a plan's list of [`steps`](crate::plan::steps). Which strategy has which list is told
//! there; here is what a step does, whichever list has it.
//!
//! ```text
//!  execute        take the next step ──▶ perform it: a pass          (state)
//!                          │
//!                          ├─ replan: decide how to go on            (replan)
//!                          ▼
//!                 settle: describe what is complete, drop what no later step needs
//! ```
//!
//! All of it runs on the thread that called the engine. Each pass starts its threads and waits for them, so
//! between two passes this thread is alone, and may drop a filter or a pool without a lock.
//!
//! *Memory.* A value that no later step names is dropped before the next step begins, because the planner has given its
//! memory to that step: the second filter of a sieve has what the first one leaves, and the join divides all that is
//! free. A value that lived a step longer would give no error, only a smaller filter or join; so debug builds compare
//! what is held with the list, before each step and before the join.
//!
//! *Invariants:*
//! - `inputs` are in the plan's order, the build side first, none of them twice.
//! - With a single input the result is its distinct lines.
//! - Each line of the result reaches the collector once, or as often as the rule says.
//!
//! *Cost:* that of the passes; the table in the crate page has it.

mod accuracy;
mod replan;
mod slots;
mod state;
mod survivor_filter;

use crate::answer::{AnswerFiles, Collector};
use crate::error::Result;
use crate::input::Input;
use crate::pass::rewrite::rewrite;
use crate::plan::Plan;
use crate::plan::steps::{Lives, Step};
use crate::run::Run;
pub(crate) use slots::StoredFilters;
use state::StepState;

/// Carries out the steps of `plan` over `inputs`, of which a stored filter may be one more (`bloom`), and passes the
/// lines that are selected to `out`. `run` gets the layouts of later decisions. Returns when every line has reached the
/// sink.
///
/// # Errors
/// The first failure of any pass. After [`crate::Error::Memory`] or a line that was too long, the engine
/// may plan again and call this once more with a new run, if no line has reached the sink, or the sink was emptied.
pub(crate) fn execute(
    run: &mut Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    filters: StoredFilters<'_>,
    out: Collector<'_>,
) -> Result<()> {
    let mut state = StepState::new(run, plan, inputs, filters)?;
    // The steps of the plan, or what a decision has put in their place; and how many of them are done.
    let (mut steps, mut done) = (&plan.steps.list[..], 0);
    let (mut lives, mut tail) = (Lives::of(steps), Vec::new());
    while let Some(step) = steps.get(done) {
        debug_assert!(state.slots.are_named(&lives, done));
        run.begin_step(done);
        done += 1;
        match *step {
            Step::Replan(question) => {
                if let Some(other) = state.replan(run, question)? {
                    tail = other;
                    (steps, lives, done) = (&tail, Lives::of(&tail), 0);
                }
            }
            // With all other memory free, when the state is dropped.
            Step::Order | Step::Rewrite { .. } => break,
            step => state.perform(run, step, &out)?,
        }
        state.settle(&lives, steps, done)?;
    }
    drop(tail);
    state.note_statistics(run, &out);
    drop(state);
    if plan.sized.rule().counts_all() {
        run.record().groups = Some(out.take_groups());
    }
    if out.is_divided() {
        out.divide_by(AnswerFiles::of(inputs));
    }
    if !out.holds_lines() {
        return rewrite(run, &plan.inputs_again(inputs), &out);
    }
    let phase = run.phase("order", Some(out.bytes_to_order(&run.budget)));
    out.finish(&run.budget, |bytes, lines| phase.advance(bytes, lines))
}
