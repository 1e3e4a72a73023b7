//! Changing a filter that is in a file: inserting lines, removing them.
//!
//! *Owns:* the way from a file over a changed filter in memory to the file that replaces it.
//! *Invariants:* the file is what it was until the change is complete; nobody else changes it
//! meanwhile. *Cost:* the filter in memory, one reading of its file and one writing, one reading of
//! the inputs.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::batch::scatter::Scatter;
use crate::batch::{BATCH, Batch};
use crate::error::Result;
use crate::filter::{Filter, StoredFilter, Updater, cannot_forget};
use crate::input::{Input, Source};
use crate::options::Options;
use crate::pass::ordered::{ChunkOutput, OrderedOutput, OrderedWorker, scan_in_order};
use crate::pass::scan::{Worker, scan};
use crate::run::Run;
use crate::stored::build::insert_all;
use crate::stored::with_run;

/// What is done with the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// They are inserted.
    Insert,
    /// They are removed.
    Remove,
}

/// What came of it.
#[derive(Debug)]
pub struct Changed {
    /// The filter after the change, to be saved.
    pub filter: Filter,
    /// Lines that were read.
    pub lines: u64,
    /// Of them: lines that were new ([`insert_new`]), or that were certainly not in and could not
    /// be removed. 0 for plain insertion, which does not look.
    pub noted: u64,
}

/// Inserts or removes all lines of `inputs`.
///
/// # Errors
/// Any [`Error`](crate::Error); the file is what it was. [`crate::Error::Usage`] for a kind that
/// cannot forget.
pub fn change(
    stored: &StoredFilter,
    inputs: &[Source],
    change: Change,
    options: &Options,
) -> Result<Changed> {
    let kind = stored.shape().kind;
    if change == Change::Remove && !kind.can_forget() {
        return Err(cannot_forget(kind));
    }
    change_with(stored, inputs, options, |run, filter, inputs| {
        let absent = AtomicU64::new(0);
        let verb = match change {
            Change::Insert => "insert",
            Change::Remove => "remove",
        };
        run.expect_inputs(&[verb], inputs);
        for input in inputs {
            match change {
                Change::Insert => insert_all(run, filter, input)?,
                Change::Remove => remove_all(run, filter, input, &absent)?,
            }
        }
        Ok(absent.into_inner())
    })
}

/// Inserts all lines of `inputs`, as [`change()`] does, and writes each that was certainly not yet in
/// to `out` (which messages call `target`): each once, in the order of the lines, before more of a pipe is waited
/// for. With several threads a line that is repeated in the inputs may be written where a later one
/// of its repeats stands.
///
/// # Errors
/// Any [`Error`](crate::Error); the file is what it was, so lines that were written by then will be
/// new again.
pub fn insert_new(
    stored: &StoredFilter,
    inputs: &[Source],
    options: &Options,
    out: &mut (dyn Write + Send),
    target: &str,
) -> Result<Changed> {
    change_with(stored, inputs, options, |run, filter, inputs| {
        let output = OrderedOutput::new(out, target);
        let updater = filter.updater();
        let found = AtomicU64::new(0);
        run.expect_inputs(&["insert"], inputs);
        for input in inputs {
            let phase = run.input_phase("insert", input);
            scan_in_order(run, &phase, input, &output, || InsertNew {
                updater: &updater,
                terminator: run.options.format.terminator,
                found: &found,
                scatter: Scatter::default(),
                new: Vec::with_capacity(BATCH),
            })?;
        }
        Ok(found.into_inner())
    })
}

/// Loads the filter, lets `work` change it, and tells what came of it.
fn change_with(
    stored: &StoredFilter,
    inputs: &[Source],
    options: &Options,
    work: impl FnOnce(&Run<'_>, &mut Filter, &[Input]) -> Result<u64>,
) -> Result<Changed> {
    let inputs = Input::open_all(inputs)?;
    let needed = stored.shape().bytes();
    with_run(
        &inputs,
        options,
        stored.rules(),
        "a filter",
        needed,
        |run| {
            let mut filter = stored.load(&run.budget)?;
            let noted = work(run, &mut filter, &inputs)?;
            Ok(Changed {
                filter,
                lines: inputs.iter().map(Input::lines).sum(),
                noted,
            })
        },
    )
}

fn remove_all(run: &Run<'_>, filter: &mut Filter, input: &Input, absent: &AtomicU64) -> Result<()> {
    let phase = run.input_phase("remove", input);
    let updater = filter.updater();
    scan(run, &phase, input, || Remove {
        updater: &updater,
        absent,
        indexes: Vec::new(),
    })
}

struct Remove<'a, 'f> {
    updater: &'a Updater<'f>,
    absent: &'a AtomicU64,
    indexes: Vec<u32>,
}

impl Worker for Remove<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        self.updater.remove(batch, &mut self.indexes)?;
        let absent = self.indexes.len() as u64;
        self.absent.fetch_add(absent, Ordering::Relaxed);
        Ok(())
    }
}

struct InsertNew<'a, 'f> {
    updater: &'a Updater<'f>,
    terminator: u8,
    found: &'a AtomicU64,
    scatter: Scatter,
    new: Vec<u32>,
}

impl OrderedWorker for InsertNew<'_, '_> {
    fn work(&mut self, batch: Batch<'_>, output: &mut ChunkOutput<'_, '_>) -> Result<()> {
        self.updater
            .insert_new(batch, &mut self.scatter, &mut self.new)?;
        for &index in &self.new {
            output.push(batch.lines[index as usize])?;
            output.push(&[self.terminator])?;
        }
        self.found
            .fetch_add(self.new.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}
