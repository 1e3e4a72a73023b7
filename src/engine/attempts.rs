//! The attempts of one run: plan, run the strategy, and plan again if the first plan was built on a wrong estimate.
//!
//! *Owns:* steps 2 to 7 of the list in the head of [`engine`](super). *Invariants:* those of that head. *Cost:* that
//! of the strategy; a failed attempt costs what it has read.

use std::sync::Arc;
use std::time::Instant;

use super::opening::with_stored;
use super::requirements::{Requirements, rereadable_bytes};
use crate::answer::{Collector, Holding, KEPT_LINES, KeptLines, LineNumbers, RowBits, Sorter};
use crate::error::{Error, Result};
use crate::hash::LineHasher;
use crate::input::Input;
use crate::options::Options;
use crate::pass::spool::spool;
use crate::plan::Strategy;
use crate::plan::steps::readings;
use crate::plan::{self, Job, Plan, SetEstimate};
use crate::reading::long_lines::{long_line_buffer, room_with_key};
use crate::run::Run;
use crate::run::feasibility::{check_space, plan_of, refused_set, with_address_space};
use crate::run::survey::{survey, survey_to_compare, tell_findings};
use crate::selection::{Order, Rule, Selection, first_ordinal};
use crate::stats::{InputStats, Stats};
use crate::strategy::{self, StoredFilters};
use crate::temp::space::TempSpace;

/// The state that all attempts of a run have in common.
pub(super) struct Engine<'a> {
    pub(super) options: &'a Options,
    /// The lines that are written.
    pub(super) selection: Selection,
    /// True if lines of inputs are compared, so that different line ends are worth a hint.
    pub(super) compares_lines: bool,
    /// One key for all attempts; with a stored filter, that filter's.
    pub(super) hasher: LineHasher,
    pub(super) filters: StoredFilters<'a>,
    /// Copies of pipes and bucket files; outlives every attempt.
    pub(super) space: &'a TempSpace,
    /// The way to the caller's sink, which counts what was passed on: once a line was, there is a second attempt only
    /// where the first has written to a file that can be emptied.
    pub(super) out: &'a Collector<'a>,
}

impl<'a> Engine<'a> {
    /// Steps 2 to 7 of the module's list. `start` is when the caller began: the report counts from there.
    ///
    /// Runs on the caller's thread, which plans and waits; passes start and end their own threads.
    ///
    /// # Errors
    /// The refusal of a plan, or the failure of the last attempt.
    pub(super) fn run(&self, mut inputs: Vec<Input>, start: Instant) -> Result<Stats> {
        // Before anything asks how much disk is free; and in every run, also in one that spills nothing.
        self.space.directories().remove_orphans();
        let for_files = if self.selection.tells_places() {
            LineNumbers::bytes_of_files(&inputs)
        } else {
            0
        };
        let rereadable_bytes = rereadable_bytes(self.out.can_be_reread(), self.selection, &inputs);
        let try_set = |job: Job| Job {
            base_bytes: job.base_bytes + for_files,
            set_estimate: SetEstimate::Try,
            selection: self.selection,
            rereadable_bytes,
            ..with_stored(job, self.filters.stored)
        };
        let mut job = try_set(self.survey(&inputs)?);
        let rule = Rule::new(self.selection, job.sides.len())?;
        let answer = Requirements {
            selection: self.selection,
            rule: &rule,
            options: self.options,
            is_divided: self.out.is_divided(),
        };
        let header = answer.header(&inputs)?;
        answer.check_division(&inputs)?;
        answer.check_row_numbers(&inputs)?;
        answer.check_places(&inputs)?;
        job.strategy = answer.strategy_for_outputs(&inputs, job.strategy);
        let mut spool_phases = Vec::new();
        let is_unknown =
            self.filters.stored.is_none() && inputs.iter().all(|input| !input.is_file());
        if is_unknown && wants_sizes(job.strategy) {
            // All inputs are pipes, and nothing is known of their sizes. The first is copied to temporary
            // space, so that the plan has one size to go by. The layout for copying is that of `partition`,
            // which needs the least memory.
            let partition = Job {
                strategy: Some(Strategy::Partition),
                ..job.clone()
            };
            let probe = plan_of(&partition, self.options)?;
            let run = Run::new(self.options, probe.layout, self.hasher, self.space);
            spool_pipes(&run, &mut inputs, 0..1)?;
            spool_phases = std::mem::take(&mut run.record().phases);
            // The memory that the copy has given back is used again.
            job = Job {
                base_bytes: job.base_bytes,
                ..try_set(self.survey(&inputs)?)
            };
        }
        let mut has_header = false;
        loop {
            let plan = plan_of(&job, self.options)?;
            check_space(&plan, &job, self.options)?;
            // Inputs and their shapes are reordered together: the next plan, if any, is made for this order.
            inputs = in_order(inputs, &plan.sized.order);
            job = job.reordered(&plan.sized.order);
            if let Some(observer) = &self.options.observer {
                observer.planned(&plan);
                plan.notice()
                    .iter()
                    .for_each(|notice| observer.noticed(notice));
            }
            // Once, unless the answer is begun again, and not where the run is refused.
            if let Some(header) = header.as_ref().filter(|_| !has_header) {
                has_header = true;
                let label = self.selection.label.header(self.selection.label_form);
                let tells_places = self.selection.tells_places();
                self.out.header(&label, header, tells_places)?;
            }
            let mut run = Run::new(self.options, plan.layout, self.hasher, self.space);
            // Copies were made before this attempt, but belong into the report.
            run.record().phases.append(&mut spool_phases);
            match self.run_plan(&mut run, &plan, &mut inputs) {
                Ok(()) => return Ok(self.report(&run, &plan, inputs, start)),
                Err(error) => {
                    job = self.second_plan(&plan, &inputs, job, error)?;
                    if self.out.written().lines > 0 {
                        self.out.start_over()?;
                        has_header = false;
                    }
                    // The attempt has ended its threads: no one reads these files any more.
                    self.space.remove_buckets();
                    let phases = std::mem::take(&mut run.record().phases);
                    spool_phases.extend(phases.into_iter().filter(|phase| phase.name == "spool"));
                }
            }
        }
    }

    /// Samples the inputs.
    fn survey(&self, inputs: &[Input]) -> Result<Job> {
        if self.compares_lines {
            survey_to_compare(inputs, self.options)
        } else {
            survey(inputs, self.options)
        }
    }

    /// Makes one attempt: runs the strategy of `plan`. A pipe that is read twice is copied first, and replaced in
    /// `inputs` by its copy, which a later attempt can read again.
    ///
    /// # Errors
    /// [`Error::Memory`], [`Error::RateTooHigh`] and [`Error::LineTooLong`] are looked at by `second_plan`; all others
    /// are final.
    fn run_plan(&self, run: &mut Run<'a>, plan: &Plan, inputs: &mut Vec<Input>) -> Result<()> {
        let readings = readings(&plan.steps.list, inputs.len());
        let twice = (0..).zip(readings).filter(|&(_, times)| times > 1);
        spool_pipes(run, inputs, twice.map(|(number, _)| number))?;
        let rule = plan.sized.rule();
        for input in inputs.iter_mut() {
            let numbers = input.sides().iter().copied();
            let mut numbers = numbers.filter(|&number| rule.keeps_ordinals_of(number));
            // Its lines come where the first of its sides is, or where the last is, if the last copy stays.
            let first = match rule.ordinal_mask() {
                0 => numbers.next(),
                _ => numbers.next_back(),
            };
            input.set_first_ordinal(first.map(first_ordinal), rule.ordinal_mask());
            // Also where an attempt before this one has chosen otherwise.
            let mut numbers = input.sides().iter();
            let are_kept = numbers.any(|&number| rule.keeps_records_of(number));
            input.keep_records(are_kept)?;
            let are_written = self.selection.records && plan.reads_again() && first.is_some();
            input.write_records(are_written)?;
        }
        let holding = match self.selection.order {
            _ if !plan.holds_answer() => Holding::Nothing,
            Order::Input if plan.reads_again() => {
                let goes_on = self.options.line_format().quoted.is_some();
                let lines = KeptLines::new(inputs, goes_on, plan.layout.order_bytes)?;
                let lines = Arc::new(lines);
                run.kept = Some(Arc::clone(&lines));
                Holding::Kept(lines)
            }
            _ if plan.has_row_bits() => {
                Holding::Rows(RowBits::new(inputs, plan.layout.order_bytes)?)
            }
            order => {
                let (layout, rules) = (&run.layout, run.sort_rules(order, rule.top()));
                let (threads, bytes) = (layout.scan.workers, layout.order_bytes);
                Holding::Sorter(Sorter::new(rules, threads, bytes))
            }
        };
        if rule.tells_places() {
            let numbers =
                LineNumbers::new(inputs, rule.ordinal_mask(), plan.layout.line_numbers_bytes);
            run.line_numbers = Some(Arc::new(numbers));
        }
        let out = self.out.through(holding, run.line_numbers.clone());
        strategy::execute(run, plan, inputs, self.filters, out)
    }

    /// Makes the job of the next attempt, with what the failed one of `plan` has found out.
    ///
    /// An attempt can be repeated while no line of the result was passed on, or after a plan whose result can be
    /// emptied; and if every input can be read again: files and copies of pipes can, a pipe that was begun cannot.
    ///
    /// # Errors
    /// `error` itself, where nothing can be repeated or a second plan would change nothing. For a set that the
    /// caller asked for, an error that advises a limit.
    fn second_plan(&self, plan: &Plan, inputs: &[Input], job: Job, error: Error) -> Result<Job> {
        let can_start_over = (self.out.written().lines == 0 || plan.writes_in_order())
            && inputs.iter().all(Input::can_be_read);
        match error {
            // The answer has more lines than the samples showed: plan without keeping their places in memory.
            Error::Memory { .. }
                if plan.writes_in_order() && can_start_over && job.strategy.is_none() =>
            {
                Ok(Job {
                    rereadable_bytes: 0,
                    ..job
                })
            }
            // There are more lines than the samples showed, or many small files: plan with an answer that is sorted.
            Error::Memory { consumer, .. } if consumer == KEPT_LINES && can_start_over => Ok(Job {
                can_read_again: false,
                ..job
            }),
            // `auto` chose a set, and the sample had shown too few lines for it: plan without one.
            Error::Memory { .. }
                if can_start_over
                    && job.strategy.is_none()
                    && plan.strategy() == Strategy::Memory =>
            {
                Ok(Job {
                    set_estimate: SetEstimate::Overflowed,
                    ..job
                })
            }
            // The caller asked for the set, or the attempt cannot be repeated: there is nothing else to try.
            Error::Memory { .. } if plan.strategy() == Strategy::Memory => {
                let error = refused_set(&job, plan);
                Err(with_address_space(error, &job, self.options))
            }
            // There are more different lines than the samples showed: plan as if no line came again.
            Error::RateTooHigh { .. } if can_start_over && job.counts_repeats() => {
                Ok(job.without_repeats())
            }
            // A line was longer than any in the samples: plan with more room for lines. Where its length is
            // not known (it did not end within the room) it is taken for twice that room.
            Error::LineTooLong {
                line_bytes,
                longest_bytes,
                ..
            } if can_start_over => {
                let mut longest = line_bytes.unwrap_or(longest_bytes.saturating_mul(2));
                let room = plan.layout.scan.long_line_bytes;
                if line_bytes.is_some_and(|bytes| long_line_buffer(bytes) <= room) {
                    // The line fits, but not beside a copy of its key.
                    longest = room_with_key(longest);
                }
                if longest <= job.longest_line_bytes {
                    return Err(error);
                }
                let longer = Job {
                    longest_line_bytes: longest,
                    ..job
                };
                // The same limit may not allow more room than before; then the attempt would fail at the same step.
                let needed =
                    line_bytes.map_or(plan.layout.scan.long_line_bytes + 1, long_line_buffer);
                match plan::plan(&longer) {
                    Ok(next) if next.layout.scan.long_line_bytes >= needed => Ok(longer),
                    _ => Err(error),
                }
            }
            _ => Err(error),
        }
    }

    /// Makes the report of the attempt that succeeded, with the inputs in the caller's order. Temporary space is
    /// counted over all attempts, phases are those of this one and of the copying.
    fn report(&self, run: &Run<'_>, plan: &Plan, mut inputs: Vec<Input>, start: Instant) -> Stats {
        inputs.sort_by_key(Input::number);
        let record = run.record().clone();
        let costs = &plan.costs;
        tell_findings(&inputs, self.options);
        let describe = |input: Input| InputStats {
            path: input.name().display().to_string(),
            label: input.name().display().to_string(),
            side: input.sides().first().copied().unwrap_or(0),
            files: input.file_count(),
            bytes: input.read_bytes(),
            stored_bytes: input.stored_bytes(),
            lines: input.lines(),
            bad_records: input.keying().map(|_| input.bad_records()),
            passed_over: input.keying().map(|_| input.passed_over()),
            null_rows: input.null_rows(),
        };
        Stats {
            version: env!("CARGO_PKG_VERSION"),
            command: self.selection.name(),
            strategy: costs.strategy.name().to_owned(),
            exact: costs.exact,
            seconds: start.elapsed().as_secs_f64(),
            threads: plan.layout.scan.workers,
            inputs: inputs.into_iter().map(describe).collect(),
            output: self.out.written(),
            // When the inputs are free.
            files: self.out.file_stats(),
            groups: record.groups,
            memory: run.memory_stats(),
            temp: run.temp_stats(),
            buckets: record.buckets,
            filter: record.filter,
            phases: record.phases,
        }
    }
}

/// Copies the pipes among the inputs of these numbers to temporary space, and puts the copies in their stead.
fn spool_pipes(
    run: &Run<'_>,
    inputs: &mut Vec<Input>,
    numbers: impl Iterator<Item = usize>,
) -> Result<()> {
    for number in numbers {
        if !inputs[number].is_file() {
            let copy = spool(run, inputs.remove(number))?;
            inputs.insert(number, copy);
        }
    }
    Ok(())
}

/// Returns true if a strategy (`None`: any) must know how large at least one input is. `partition` reads each input
/// once, however large it is; `memory` grows its set as lines come.
fn wants_sizes(strategy: Option<Strategy>) -> bool {
    !matches!(strategy, Some(Strategy::Partition | Strategy::Memory))
}

/// Puts the inputs in this order of indexes, each of which occurs once.
pub(super) fn in_order(inputs: Vec<Input>, order: &[usize]) -> Vec<Input> {
    let mut slots: Vec<Option<Input>> = inputs.into_iter().map(Some).collect();
    order
        .iter()
        .filter_map(|&index| slots[index].take())
        .collect()
}
