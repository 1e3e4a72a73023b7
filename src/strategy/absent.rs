//! `bloom` of a difference or a union: the answer is what a filter refuses.
//!
//! Of a difference:
//!
//! 1. `filter` of all other inputs, into one filter.
//! 2. `spill` what it refuses of the first, and `join`, which only removes repeats. Where repeats are kept, each line
//!    is written when it is refused, and nothing is spilled.
//!
//! Of a union:
//!
//! 1. `filter` of all inputs, into one filter: a line that it does not have is written when it comes.
//!
//! *Invariants:* every line of the answer belongs there: what a filter refuses was certainly not inserted. A line that
//! the filter takes for one that it has is missing, at the rate that the statistics say. Of two workers that bring a
//! new line at the same time, one finds it new: a region of the filter is asked and changed under one lock.
//!
//! *Cost:* one reading of each input. A difference spills its answer.

use crate::answer::{Collector, Outbox};
use crate::batch::scatter::Scatter;
use crate::batch::{BATCH, Batch, Screen, absent};
use crate::error::Result;
use crate::filter::{Filter, Updater};
use crate::input::Input;
use crate::pass::filter::{empty, insert};
use crate::pass::join::{join, write};
use crate::pass::scan::{Worker, scan};
use crate::pass::spill::{Screening, spill};
use crate::plan::Plan;
use crate::run::Run;
use crate::selection::{Found, Rule, Sides};
use crate::stats::FilterStats;
use crate::strategy::{describe, partition::partition};

/// Runs the strategy. The plan has the shape of the filter.
///
/// # Errors
/// The first failure of any pass. A union, and a difference with repeats, pass lines to the sink from the start of
/// their answer.
pub(crate) fn answer(
    run: &Run<'_>,
    plan: &Plan,
    inputs: &[Input],
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    // A plan for `bloom` always has one; the fallback is exact.
    let Some(shape) = plan.costs.filter else {
        return partition(run, None, inputs, sides, out);
    };
    let mut filter = empty(run, &shape)?;
    if !sides.rule().in_first() {
        return union(run, filter, inputs, out);
    }
    let Some((first, others)) = inputs.split_first() else {
        return Ok(());
    };
    // The first input may be another side, too: then it has no line alone.
    let others = others
        .iter()
        .chain((first.sides().len() > 1).then_some(first));
    for input in others {
        insert(run, input, &mut filter)?;
    }
    let stats = describe(&filter);
    plan.check_rate(stats.fill_fpr)?;
    if sides.rule().repeats() {
        let phase = run.input_phase("probe", first);
        scan(run, &phase, first, || Asking {
            filter: &filter,
            rule: sides.rule(),
            passing: Vec::with_capacity(BATCH),
            absent: Vec::with_capacity(BATCH),
            out: Outbox::new(out),
        })?;
    } else {
        let refusing = Refusing(&filter);
        let pool = run.block_pool();
        let spilled = spill(run, &pool, first, Screening::by(Some(&refusing)))?;
        // The join divides all memory that is free: filter and free blocks go first. Held blocks stay.
        drop((filter, pool));
        let distinct = Sides::common(1, sides.rule().order());
        join(run, vec![spilled.buckets], &distinct, out)?;
    }
    // Of the lines that are nowhere else, the share 1 - fpr was refused, and is in the answer.
    let odds = stats.fill_fpr / (1.0 - stats.fill_fpr).max(f64::MIN_POSITIVE);
    let missing = out.found() as f64 * odds;
    note(run, stats, out, missing, first.lines());
    Ok(())
}

/// The lines of all inputs that are new to `filter` when they come.
fn union(run: &Run<'_>, mut filter: Filter, inputs: &[Input], out: &Collector<'_>) -> Result<()> {
    {
        let updater = filter.updater();
        for input in inputs {
            let phase = run.input_phase("filter", input);
            scan(run, &phase, input, || Inserting {
                updater: &updater,
                new: Vec::with_capacity(BATCH),
                scatter: Scatter::default(),
                out: Outbox::new(out),
            })?;
        }
    }
    let missing = filter.occupancy_sampled().taken_for_others;
    let lines = inputs.iter().map(Input::lines).sum();
    note(run, describe(&filter), out, missing, lines);
    Ok(())
}

/// Notes the filter, and that about `missing` lines are missing: no more than it took of the `lines` lines that it was
/// asked about.
fn note(run: &Run<'_>, mut stats: FilterStats, out: &Collector<'_>, missing: f64, lines: u64) {
    let most = lines.saturating_sub(out.found());
    stats.expected_missing_lines = missing.min(most as f64);
    run.record().filter = Some(stats);
}

/// Lets through what a filter refuses.
struct Refusing<'a>(&'a Filter);

impl Screen for Refusing<'_> {
    fn passing(&self, batch: Batch<'_>, passing: &mut Vec<u32>) -> Result<()> {
        let mut had = Vec::with_capacity(batch.lines.len());
        batch.passing(Some(self.0), &mut had)?;
        absent(&had, batch.lines.len(), passing);
        Ok(())
    }
}

/// A worker that writes the lines that a complete filter refuses.
struct Asking<'a, 's> {
    filter: &'a Filter,
    rule: &'a Rule,
    passing: Vec<u32>,
    absent: Vec<u32>,
    out: Outbox<'a, 's>,
}

impl Worker for Asking<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        batch.passing(Some(self.filter), &mut self.passing)?;
        absent(&self.passing, batch.lines.len(), &mut self.absent);
        for &index in &self.absent {
            let found = Found::with_mark(1).at(batch.ordinal(index));
            write(
                self.rule,
                batch.lines[index as usize],
                found,
                1,
                &mut self.out,
            )?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush()
    }
}

/// A worker that writes the lines that were not in the filter before.
struct Inserting<'a, 'f, 's> {
    updater: &'a Updater<'f>,
    new: Vec<u32>,
    scatter: Scatter,
    out: Outbox<'a, 's>,
}

impl Worker for Inserting<'_, '_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        self.updater
            .insert_new(batch, &mut self.scatter, &mut self.new)?;
        for &index in &self.new {
            self.out.push(batch.lines[index as usize])?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush()
    }
}
