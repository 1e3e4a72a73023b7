//! From what the caller asks to the finished run: open, survey, plan, attempt, report.
//!
//! *Owns:* the order of these steps, and the second plan when the first was built on a wrong
//! estimate.
//!
//! ```text
//! 1. open      inputs, the stored filter, the target of a filter to be saved      nothing is written yet
//! 2. clean up  what killed runs left in the temporary directories
//! 3. survey    sizes and samples of the inputs                                     -> Job
//!              (all inputs are pipes: copy the first, and survey again)
//! 4. plan      strategy, layout, filters                                           -> Plan
//!              refuse a spill that certainly does not fit the disk
//! 5. attempt   a Run in that layout; the strategy's passes over the inputs
//!              ├─ done ───────────────────────────────────────────────▶ 7
//!              └─ a set did not fit, or a line was longer than planned for
//! 6. second plan: a Job with what the attempt has found out ──────────▶ 4, or the error
//! 7. report    what was read, written and spilled; a saved filter gets its name
//! ```
//!
//! | owner | what | for how long |
//! |---|---|---|
//! | caller of [`Engine::run`] | temporary space, collector, stored filters, key of the hash | all attempts |
//! | `Engine::run` | inputs, [`Job`], phases of the copying of pipes | all attempts |
//! | [`Run`](crate::run::Run) | memory budget, worker threads, counted phases | one attempt |
//!
//! So a failed attempt gives all its memory back, and its bucket files are removed. What survives it are the
//! open inputs, among them the copies of pipes.
//!
//! *Invariants.*
//! - Every input is opened and checked before anything is written anywhere.
//! - A plan that turns out not to fit is replaced only while nothing of the result was passed on, or where that can be
//!   taken back, and everything that was read can be read again.
//! - Attempts come to an end: each further plan rules out for good a set or an answer that is read once more, counts no
//!   repeats, or has more room for lines.
//!
//! *Cost:* that of looking at the inputs (`survey`).

mod attempts;
mod opening;
mod requirements;

use std::time::Instant;

use self::attempts::Engine;
pub(crate) use self::opening::temp_space;
use self::opening::{open, open_stored, open_target, with_stored};
use self::requirements::{Requirements, rereadable_bytes};
use crate::answer::Collector;
use crate::error::Result;
use crate::estimate::{Estimate, estimate_opened};
use crate::filter::FilterTarget;
use crate::hash::LineHasher;
use crate::input::{Input, Source, labels};
use crate::options::Options;
use crate::output::Sink;
use crate::plan::{self, Distinct, Job, Plan, SetEstimate};
use crate::run::feasibility::{check_space, plan_of};
use crate::run::survey::survey_to_compare;
use crate::selection::{Rule, Selection};
use crate::stats::Stats;
use crate::strategy::StoredFilters;

/// Finds the lines of `inputs` that `selection` asks for, and hands each to `sink`: once, unless the selection asks for
/// repeats.
///
/// Each input is one side. A file that is given twice is two sides. The lines come in the order that the selection
/// asks for. The crate page has an example.
///
/// Threads of the run call `sink`, one at a time; all of them have ended when this returns.
///
/// # Errors
/// Any [`Error`](crate::Error); lines that the sink has received by then are not the whole result.
pub fn select(
    inputs: &[Source],
    selection: Selection,
    options: &Options,
    sink: &mut dyn Sink,
) -> Result<Stats> {
    let start = Instant::now();
    let stored = open_stored(options)?;
    // A filter can only be asked with the hash that it was built with: its key replaces the random one.
    let hasher = match &stored {
        Some(filter) => filter.stored().rules().hasher,
        None => LineHasher::new(options.hash_key)?,
    };
    // Its keys, and those of one that is saved, may have been in records of another syntax.
    let has_filter = stored.is_some() || options.save_filter.is_some();
    let hasher = hasher.with_quotes(options.key_quotes().filter(|_| has_filter));
    let selection = selection.with_label_form(options.label_form());
    let opened = open(inputs, selection, options)?;
    let saving = open_target(options, &opened)?;
    let space = temp_space(options);
    let out = Collector::new(sink).numbering_rows(options.row_number_end());
    let engine = Engine {
        options,
        selection,
        compares_lines: true,
        hasher,
        filters: StoredFilters {
            stored: stored.as_ref(),
            saving: saving.as_ref(),
        },
        space: &space,
        out: &out,
    };
    let mut stats = engine.run(opened, start)?;
    let labels = labels(inputs, &options.labels);
    for input in &mut stats.inputs {
        if let Some(label) = labels.get((input.side as usize).wrapping_sub(1)) {
            input.label.clone_from(label);
        }
    }
    // Last, so that a run that fails leaves an older filter of this name as it was.
    saving.map_or(Ok(()), FilterTarget::finish)?;
    Ok(stats)
}

/// Hands each line that is in every one of `inputs` to `sink` once: [`select`] with
/// [`Selection::intersection`].
///
/// # Errors
/// As [`select`].
pub fn intersect(inputs: &[Source], options: &Options, sink: &mut dyn Sink) -> Result<Stats> {
    select(inputs, Selection::intersection(), options, sink)
}

/// Hands each line of the first of `inputs` that no other has to `sink` once: [`select`] with
/// [`Selection::difference`].
///
/// # Errors
/// As [`select`].
pub fn difference(inputs: &[Source], options: &Options, sink: &mut dyn Sink) -> Result<Stats> {
    select(inputs, Selection::difference(), options, sink)
}

/// Hands each line of any of `inputs` to `sink` once: [`select`] with [`Selection::union`].
///
/// # Errors
/// As [`select`].
pub fn union(inputs: &[Source], options: &Options, sink: &mut dyn Sink) -> Result<Stats> {
    select(inputs, Selection::union(), options, sink)
}

/// Hands each line that exactly one of `inputs` has to `sink` once: [`select`] with
/// [`Selection::symmetric_difference`].
///
/// # Errors
/// As [`select`].
pub fn symmetric_difference(
    inputs: &[Source],
    options: &Options,
    sink: &mut dyn Sink,
) -> Result<Stats> {
    select(inputs, Selection::symmetric_difference(), options, sink)
}

/// Finds the difference of two results of one program, which need no hints about their line ends. Phases and messages
/// call the inputs by `names`, one name for each.
///
/// # Errors
/// As [`select`].
pub(crate) fn difference_of_results(
    inputs: &[Source],
    names: &[&str],
    options: &Options,
    sink: &mut dyn Sink,
) -> Result<Stats> {
    let (start, selection) = (Instant::now(), Selection::difference());
    let opened = open(inputs, selection, options)?;
    let engine = Engine {
        options,
        selection,
        compares_lines: false,
        hasher: LineHasher::new(options.hash_key)?,
        filters: StoredFilters {
            stored: None,
            saving: None,
        },
        space: &temp_space(options),
        out: &Collector::new(sink),
    };
    let called = opened.into_iter().zip(names);
    let called = called.map(|(input, name)| input.called(name)).collect();
    engine.run(called, start)
}

/// Opens all inputs of a run that is only planned. Its sink is not there yet, so nothing is known of files that it
/// would be told of.
fn open_for_plan(inputs: &[Source], selection: Selection, options: &Options) -> Result<Vec<Input>> {
    let rule = Rule::new(selection, inputs.len())?;
    let opened = open(inputs, selection, options)?;
    let answer = Requirements {
        selection,
        rule: &rule,
        options,
        is_divided: false,
    };
    answer.check_row_numbers(&opened)?;
    Ok(opened)
}

/// Plans what [`select`] would do with `inputs`, without doing it.
///
/// # Errors
/// As [`select`], as far as it can be known beforehand.
pub fn plan_for(inputs: &[Source], selection: Selection, options: &Options) -> Result<Plan> {
    let stored = open_stored(options)?;
    let opened = open_for_plan(inputs, selection, options)?;
    // A set that was asked for is tried, however many lines there are: they may repeat.
    let job = Job {
        set_estimate: SetEstimate::Try,
        selection,
        rereadable_bytes: rereadable_bytes(options.rereadable_result, selection, &opened),
        ..survey_to_compare(&opened, options)?
    };
    plan_within_cap(&with_stored(job, stored.as_ref()), options)
}

/// Plans a run that is not to be done: it is refused by the cap on temporary disk as the run is. How much of the disk
/// is free then, nobody knows.
fn plan_within_cap(job: &Job, options: &Options) -> Result<Plan> {
    let plan = plan_of(job, options)?;
    let capped = Options {
        ignore_free_space: true,
        ..options.clone()
    };
    check_space(&plan, job, &capped)?;
    Ok(plan)
}

/// Plans as [`plan_for`], after an estimate of the inputs ([`estimate`](crate::estimate())): with their different
/// lines, and the share that is common. A run of [`select`] has no estimate: where its choice would differ, ask for a
/// strategy.
///
/// # Errors
/// As [`plan_for`] and the estimate.
pub fn plan_with_estimate(
    inputs: &[Source],
    selection: Selection,
    options: &Options,
) -> Result<(Estimate, Plan)> {
    let stored = open_stored(options)?;
    let rule = Rule::new(selection, inputs.len())?;
    let inputs = open_for_plan(inputs, selection, options)?;
    let mut job = Job {
        selection,
        rereadable_bytes: rereadable_bytes(options.rereadable_result, selection, &inputs),
        ..survey_to_compare(&inputs, options)?
    };
    let found = estimate_opened(&inputs, &job, options)?;
    for (shape, input) in job.inputs.iter_mut().zip(&found.inputs) {
        shape.lines = Some(input.lines);
        shape.distinct_lines = Some(Distinct {
            // A run has the sample alone to choose the hashes of a filter by.
            likely: shape.distinct_lines.map_or(input.lines, |it| it.likely),
            ..Distinct::exactly(input.distinct.estimate as u64)
        });
    }
    job.any_lines = Some(found.any.estimate as u64);
    // With a stored filter, which is one more input, nothing is known of what all have in common.
    job.common_share = (stored.is_none() && inputs.len() > 1).then(|| {
        // What every input must have is planned by what all have; anything else by what two have, or more: that is
        // compared.
        if rule.needs_all() {
            found.common_share(plan::smallest(&job.inputs))
        } else if rule.in_first() {
            found.shared_share(0..1)
        } else {
            found.shared_share(0..found.inputs.len())
        }
    });
    let plan = plan_within_cap(&with_stored(job, stored.as_ref()), options)?;
    Ok((found, plan))
}
