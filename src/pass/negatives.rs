//! Passes whose answer is what a filter does not have.
//!
//! *Owns:* writing the lines that a complete filter refuses ([`write_absent`]), and those that are new to a filter when
//! they are put into it ([`write_new`]). *Invariants:* every line of the answer belongs there: what a filter refuses
//! was certainly not inserted. Of two workers that bring a new line at the same time, one finds it new: a region of the
//! filter is asked and changed under one lock. *Cost:* one reading of the input.

use crate::answer::{Collector, Outbox};
use crate::batch::scatter::Scatter;
use crate::batch::{BATCH, Batch, Prefilter, absent};
use crate::error::Result;
use crate::filter::{Filter, Updater};
use crate::input::Input;
use crate::pass::scan::{Worker, scan};
use crate::pass::writing::write;
use crate::run::Run;
use crate::selection::{LineState, Rule};

/// Writes the lines of `input` that `filter` refuses, as often as they come.
///
/// # Errors
/// The first failure of reading or of the sink.
pub(crate) fn write_absent(
    run: &Run<'_>,
    input: &Input,
    filter: &dyn Prefilter,
    rule: &Rule,
    out: &Collector<'_>,
) -> Result<()> {
    let phase = run.input_phase("probe", input);
    scan(run, &phase, input, || Asking {
        filter,
        rule,
        passing: Vec::with_capacity(BATCH),
        absent: Vec::with_capacity(BATCH),
        out: Outbox::new(out),
    })
}

/// Puts the lines of `input` into `filter`, and writes those that it did not have.
///
/// # Errors
/// As [`write_absent`].
pub(crate) fn write_new(
    run: &Run<'_>,
    input: &Input,
    filter: &mut Filter,
    out: &Collector<'_>,
) -> Result<()> {
    let updater = filter.updater();
    let phase = run.input_phase("filter", input);
    scan(run, &phase, input, || Inserting {
        updater: &updater,
        new: Vec::with_capacity(BATCH),
        scatter: Scatter::default(),
        out: Outbox::new(out),
    })
}

/// Lets through what a filter refuses.
pub(crate) struct Refusing<'a>(pub(crate) &'a dyn Prefilter);

impl Prefilter for Refusing<'_> {
    fn passing(&self, batch: Batch<'_>, passing: &mut Vec<u32>) -> Result<()> {
        let mut had = Vec::with_capacity(batch.lines.len());
        batch.passing(Some(self.0), &mut had)?;
        absent(&had, batch.lines.len(), passing);
        Ok(())
    }
}

/// A worker that writes the lines that a complete filter refuses.
struct Asking<'a, 's> {
    filter: &'a dyn Prefilter,
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
            let found = LineState::with_mark(1).at(batch.ordinal(index));
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
