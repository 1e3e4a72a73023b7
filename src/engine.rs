//! From what the caller asks to the finished run: open, survey, plan, attempt, report.
//!
//! *Owns:* the order of these steps, and the second plan when the first was built on a wrong
//! estimate.
//!
//! ```text
//! 1. open      inputs, the stored filter, the place of a filter to be saved       nothing is written yet
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
//! | [`Run`] | memory budget, worker threads, counted phases | one attempt |
//!
//! So a failed attempt gives all its memory back, and its bucket files are removed. What survives it are the
//! open inputs, among them the copies of pipes.
//!
//! *Invariants.*
//! - Every input is opened and checked before anything is written anywhere.
//! - A plan that turns out not to fit is replaced only while nothing of the result was passed on
//!   and everything that was read can be read again.
//! - Attempts come to an end: each further plan either rules the set out for good, or has more room for lines.
//!
//! *Cost:* that of looking at the inputs (`survey`).

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::answer::{Collector, Sorter, SorterRules};
use crate::error::{Error, Result};
use crate::estimate::{Estimate, estimate_opened};
use crate::filter::{CheckedFilter, FilterTarget, StoredFilter};
use crate::hash::{HashKey, LineHasher};
use crate::input::long_lines::long_line_buffer;
use crate::input::{Input, Source};
use crate::memory::budget::MemoryBudget;
use crate::options::Options;
use crate::output::Sink;
use crate::pass::spool::spool;
use crate::plan::Strategy;
use crate::plan::{self, FilterPlan, Job, Plan, SetEstimate};
use crate::run::feasibility::{check_space, plan_of, refused_set, with_address_space};
use crate::run::survey::{survey, survey_to_compare};
use crate::run::{Run, temp_parents};
use crate::selection::{Order, Rule, Selection, Sides, first_ordinal};
use crate::stats::{InputStats, MemoryStats, Stats, TempStats};
use crate::strategy::{self, StoredFilters};
use crate::sys::machine;
use crate::temp::places::Places;
use crate::temp::quota::Quota;
use crate::temp::space::{Notify, TempSpace};

/// Memory for checking a stored filter, in bytes, before a run has a budget. The check reads it in sections
/// of 1 MiB.
const CHECK_BYTES: u64 = 4 << 20;

/// Finds the lines of `inputs` that `selection` asks for, and hands each to `sink`: once, unless the selection asks for
/// repeats.
///
/// Each input is one side. A file that is given twice is two sides. The lines come in the order that the selection
/// asks for. The crate page has an example.
///
/// Threads of the run call `sink`, one at a time; all of them have ended when this returns.
///
/// # Errors
/// Any [`Error`]; lines that the sink has received by then are not the whole result.
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
    let opened = open(inputs, selection, options)?;
    let saving = open_target(options, &opened)?;
    let space = temp_space(options);
    let out = Collector::new(sink);
    let engine = Engine {
        options,
        selection,
        sides: inputs.len(),
        compares_lines: true,
        hasher,
        filters: StoredFilters {
            stored: stored.as_ref(),
            saving: saving.as_ref(),
        },
        space: &space,
        out: &out,
    };
    let stats = engine.run(opened, start)?;
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

/// The difference of two results of one program, which need no hints about their line ends. Phases and messages
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
        sides: inputs.len(),
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

/// What [`select`] would do with `inputs`, without doing it.
///
/// # Errors
/// As [`select`], as far as it can be known beforehand.
pub fn plan_for(inputs: &[Source], selection: Selection, options: &Options) -> Result<Plan> {
    let stored = open_stored(options)?;
    let opened = open(inputs, selection, options)?;
    // A set that was asked for is tried, however many lines there are: they may repeat.
    let job = Job {
        set_estimate: SetEstimate::Try,
        selection,
        sides: inputs.len(),
        ..survey_to_compare(&opened, options)?
    };
    plan_of(&with_stored(job, stored.as_ref()), options)
}

/// As [`plan_for`], after an estimate of the inputs ([`estimate`](crate::estimate())): with their
/// different lines, and the share that is common. A run of [`select`] has no estimate: where its
/// choice would differ, ask for a strategy.
///
/// # Errors
/// As [`plan_for`] and the estimate.
pub fn plan_with_estimate(
    inputs: &[Source],
    selection: Selection,
    options: &Options,
) -> Result<(Estimate, Plan)> {
    let stored = open_stored(options)?;
    let sides = inputs.len();
    let inputs = open(inputs, selection, options)?;
    let mut job = Job {
        selection,
        sides,
        ..survey_to_compare(&inputs, options)?
    };
    let found = estimate_opened(&inputs, &job, options)?;
    for (shape, input) in job.inputs.iter_mut().zip(&found.inputs) {
        shape.lines = Some(input.distinct.estimate as u64);
    }
    // With a stored filter, which is one more input, nothing is known of what all have in common.
    job.common_share = (stored.is_none() && inputs.len() > 1).then(|| {
        let smallest = plan::smallest(&job.inputs);
        found.common_share(smallest)
    });
    let plan = plan_of(&with_stored(job, stored.as_ref()), options)?;
    Ok((found, plan))
}

/// Opens and checks the stored filter that is one more input, if there is one.
///
/// # Errors
/// [`Error::Usage`] for a fixed hash key, or for lines that the options tell apart otherwise than the filter
/// does; else as [`StoredFilter::open`] and [`StoredFilter::check`].
fn open_stored(options: &Options) -> Result<Option<CheckedFilter>> {
    let Some(path) = &options.stored_filter else {
        return Ok(None);
    };
    if options.hash_key != HashKey::Random {
        return Err(Error::Usage {
            what: "hash-key: a stored filter brings its own hash key".into(),
            advice: "leave out --hash-key or --filter".into(),
        });
    }
    let filter = StoredFilter::open(path)?;
    filter.check_format(options.format)?;
    filter.check(&MemoryBudget::new(CHECK_BYTES, 0)).map(Some)
}

/// Opens the place of the filter that is to be saved, if there is one. It must be none of the inputs: the
/// filter would replace a file that the run still reads.
fn open_target(options: &Options, inputs: &[Input]) -> Result<Option<FilterTarget>> {
    let Some(path) = &options.save_filter else {
        return Ok(None);
    };
    if inputs.iter().any(|input| input.is_at(path)) {
        return Err(Error::Usage {
            what: format!(
                "{}: this command reads it, and --save-filter would replace it",
                path.display()
            ),
            advice: "name another file for --save-filter".into(),
        });
    }
    FilterTarget::open(path, &options.interrupt).map(Some)
}

/// What the planner needs to know of a filter: its size, its lines, and the rate that it is judged by.
fn plan_of_stored(filter: &CheckedFilter) -> FilterPlan {
    let (stored, occupancy) = (filter.stored(), filter.occupancy());
    let (planned, keys) = (stored.rules().planned_keys, stored.keys());
    let judged = occupancy.judged_fpr(stored.shape(), planned, keys);
    FilterPlan {
        overfull_for: occupancy.has_more_than(planned, keys).then_some(planned),
        ..FilterPlan::existing(stored.shape(), keys, judged)
    }
}

/// The job with the stored filter as one more input, if there is one.
fn with_stored(job: Job, stored: Option<&CheckedFilter>) -> Job {
    Job {
        stored_filter: stored.map(plan_of_stored),
        ..job
    }
}

/// Opens all inputs and checks their number: two or more, or one for a union or beside a stored filter.
///
/// # Errors
/// [`Error::Usage`] for too few, [`Error::Input`] for one that cannot be read.
fn open(inputs: &[Source], selection: Selection, options: &Options) -> Result<Vec<Input>> {
    let (least, advice) = match options.stored_filter {
        Some(_) => (1, "give at least one file to check against the filter"),
        None if selection.least_sides() == 1 => (1, "give one or more files"),
        None => (2, "give two or more files"),
    };
    if inputs.len() < least {
        return Err(Error::Usage {
            what: format!("inputs: {} given", inputs.len()),
            advice: advice.into(),
        });
    }
    Input::open_all(inputs)
}

/// Temporary space in the places that the options name, capped as they say. Runs that share these (`compare`)
/// draw on one quota.
pub(crate) fn temp_space(options: &Options) -> TempSpace {
    let (places, quota) = match &options.shared {
        Some(shared) => (shared.places.clone(), shared.quota.clone()),
        None => (
            Places::new(&temp_parents(options), &options.interrupt),
            Quota::new(options.max_temp_bytes.unwrap_or(u64::MAX)),
        ),
    };
    let notify = options
        .observer
        .clone()
        .map(|observer| -> Notify { Arc::new(move |notice| observer.noticed(notice)) });
    TempSpace::in_places(places, quota, &options.interrupt).notifying(notify)
}

/// What all attempts of a run have in common.
struct Engine<'a> {
    options: &'a Options,
    /// Which lines are written.
    selection: Selection,
    /// How many sides the inputs are, a file that was given twice counted twice.
    sides: usize,
    /// Whether lines of inputs are compared, so that different line ends are worth a hint.
    compares_lines: bool,
    /// One key for all attempts; with a stored filter, that filter's.
    hasher: LineHasher,
    filters: StoredFilters<'a>,
    /// Copies of pipes and bucket files; outlives every attempt.
    space: &'a TempSpace,
    /// Counts what was passed on: once a line was, there is no second attempt.
    out: &'a Collector<'a>,
}

impl<'a> Engine<'a> {
    /// Steps 2 to 7 of the module's list. `start` is when the caller began: the report counts from there.
    ///
    /// Runs on the caller's thread, which plans and waits; passes start and end their own threads.
    ///
    /// # Errors
    /// The refusal of a plan, or the failure of the last attempt.
    fn run(&self, mut inputs: Vec<Input>, start: Instant) -> Result<Stats> {
        // Before anything asks how much disk is free; and in every run, also in one that spills nothing.
        self.space.places().remove_orphans();
        let try_set = |job| Job {
            set_estimate: SetEstimate::Try,
            selection: self.selection,
            sides: self.sides,
            ..with_stored(job, self.filters.stored)
        };
        let mut job = try_set(self.survey(&inputs)?);
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
            job = try_set(self.survey(&inputs)?);
        }
        loop {
            let plan = plan_of(&job, self.options)?;
            check_space(&plan, &job, self.options)?;
            if let Some(observer) = &self.options.observer {
                observer.planned(&plan);
            }
            let mut run = Run::new(self.options, plan.layout, self.hasher, self.space);
            // Copies were made before this attempt, but belong into the report.
            run.record().phases.append(&mut spool_phases);
            // Inputs and their shapes change places together: the next plan, if any, is made for this order.
            inputs = in_order(inputs, &plan.order);
            job.inputs = plan.order.iter().map(|&index| job.inputs[index]).collect();
            match self.run_plan(&mut run, &plan, &mut inputs) {
                Ok(()) => return Ok(self.report(&run, &plan, inputs, start)),
                Err(error) => {
                    job = self.second_plan(&plan, &inputs, job, error)?;
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

    /// One attempt: runs the strategy of `plan`. A pipe that is read twice is copied first, and replaced in
    /// `inputs` by its copy, which a later attempt can read again.
    ///
    /// # Errors
    /// [`Error::Memory`] and [`Error::LineTooLong`] are looked at by `second_plan`; all others are final.
    fn run_plan(&self, run: &mut Run<'_>, plan: &Plan, inputs: &mut Vec<Input>) -> Result<()> {
        // The sieve reads its first input twice; that of anything but an intersection reads all of them twice, or
        // all but the first where repeats are kept.
        if plan.strategy() == Strategy::Sieve {
            let twice = if plan.finds_common() {
                0..1
            } else if self.selection.repeats {
                1..1 + plan.filtered_inputs()
            } else {
                0..inputs.len()
            };
            spool_pipes(run, inputs, twice)?;
        }
        // What all sides have is what all files have, however often one was given.
        let sides = if self.selection.is_plain_intersection(self.sides) {
            Sides::common(inputs.len(), self.selection.order)
        } else {
            let rule = Rule::new(self.selection, self.sides)?;
            Sides::new(rule, inputs.iter().map(Input::sides))
        };
        for input in inputs.iter_mut() {
            let mut numbers = input.sides().iter().copied();
            let first =
                numbers.find(|&number| self.selection.keeps_ordinals_of(number, self.sides));
            input.set_first_ordinal(first.map(first_ordinal));
        }
        let out = self.out.through(self.sorter(run));
        strategy::execute(run, plan, inputs, self.filters, &sides, &out)?;
        if !out.is_sorting() {
            return Ok(());
        }
        let phase = run.phase("order", None);
        out.finish(&run.budget, |bytes, lines| phase.advance(bytes, lines))
    }

    /// What puts the lines of an attempt in order, if an order is asked for.
    fn sorter(&self, run: &Run<'_>) -> Option<Sorter<'a>> {
        let order = self.selection.order;
        (order != Order::Any).then(|| {
            Sorter::new(SorterRules {
                order,
                bytes: run.layout.order_bytes,
                heaps: run.layout.workers,
                space: self.space,
                address: run.new_store(0),
                always_spill: self.options.always_spill,
            })
        })
    }

    /// The job of the next attempt, with what the failed one of `plan` has found out.
    ///
    /// An attempt can be repeated while no line of the result was passed on, and if every input can be read
    /// again: files and copies of pipes can, a pipe that was begun cannot.
    ///
    /// # Errors
    /// `error` itself, where nothing can be repeated or a second plan would change nothing. For a set that the
    /// caller asked for, an error that advises a limit.
    fn second_plan(&self, plan: &Plan, inputs: &[Input], job: Job, error: Error) -> Result<Job> {
        let can_start_over = self.out.written().lines == 0 && inputs.iter().all(Input::can_be_read);
        match error {
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
                let error = refused_set(&job, plan.layout.memory_bytes);
                Err(with_address_space(error, &job, self.options))
            }
            // A line was longer than any in the samples: plan with more room for lines. Where its length is
            // not known (it did not end within the room) it is taken for twice that room.
            Error::LineTooLong {
                line_bytes,
                longest_bytes,
                ..
            } if can_start_over => {
                let longest = line_bytes.unwrap_or(longest_bytes.saturating_mul(2));
                let longer = Job {
                    longest_line_bytes: longest.max(job.longest_line_bytes),
                    ..job
                };
                // The same limit may not allow more room than before; then the attempt would fail in the same place.
                let needed = line_bytes.map_or(plan.layout.long_line_bytes + 1, long_line_buffer);
                match plan::plan(&longer) {
                    Ok(next) if next.layout.long_line_bytes >= needed => Ok(longer),
                    _ => Err(error),
                }
            }
            _ => Err(error),
        }
    }

    /// The report of the attempt that succeeded, with the inputs in the caller's order. Temporary space is counted
    /// over all attempts, phases are those of this one and of the copying.
    fn report(&self, run: &Run<'_>, plan: &Plan, mut inputs: Vec<Input>, start: Instant) -> Stats {
        inputs.sort_by_key(Input::number);
        let record = run.record().clone();
        let space = self.space.space_use();
        let costs = &plan.costs;
        let describe = |input: Input| InputStats {
            path: input.name().display().to_string(),
            files: input.file_count(),
            bytes: input.read_bytes(),
            lines: input.lines(),
        };
        Stats {
            version: env!("CARGO_PKG_VERSION"),
            command: self.selection.name(),
            strategy: costs.strategy.name().to_owned(),
            exact: costs.exact,
            seconds: start.elapsed().as_secs_f64(),
            threads: plan.layout.workers,
            inputs: inputs.into_iter().map(describe).collect(),
            output: self.out.written(),
            memory: MemoryStats {
                limit_bytes: plan.layout.memory_bytes,
                peak_rss_bytes: machine::peak_resident_bytes(),
            },
            temp: TempStats {
                written_bytes: space.written_bytes,
                read_bytes: space.read_bytes,
                peak_bytes: space.peak_bytes,
                files: space.files,
            },
            buckets: record.buckets,
            filter: record.filter,
            phases: record.phases,
        }
    }
}

/// Copies the pipes among the inputs of these numbers to temporary space, and puts the copies in their places.
fn spool_pipes(run: &Run<'_>, inputs: &mut Vec<Input>, numbers: Range<usize>) -> Result<()> {
    for number in numbers {
        if !inputs[number].is_file() {
            let copy = spool(run, inputs.remove(number))?;
            inputs.insert(number, copy);
        }
    }
    Ok(())
}

/// Whether a strategy (`None`: any) must know how large at least one input is. `partition` reads each input
/// once, however large it is; `memory` grows its set as lines come.
fn wants_sizes(strategy: Option<Strategy>) -> bool {
    !matches!(strategy, Some(Strategy::Partition | Strategy::Memory))
}

/// The inputs in this order of indexes, each of which occurs once.
fn in_order(inputs: Vec<Input>, order: &[usize]) -> Vec<Input> {
    let mut slots: Vec<Option<Input>> = inputs.into_iter().map(Some).collect();
    order
        .iter()
        .filter_map(|&index| slots[index].take())
        .collect()
}
