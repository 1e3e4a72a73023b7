//! Changing a filter that is in a file: inserting lines, removing them.
//!
//! *Owns:* the steps from a file to a changed filter in memory: load, change, return.
//! *Invariants:* the file is what it was until the change is complete. The caller saves the filter; it opens
//! the [`FilterTarget`](crate::filter::FilterTarget) first, whose lock keeps other processes from changing the
//! file meanwhile. *Cost:* the filter in memory, one reading of its file and one writing, one reading of the
//! inputs.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::batch::scatter::Scatter;
use crate::batch::{BATCH, Batch};
use crate::error::Result;
use crate::filter::{Filter, StoredFilter, Updater, cannot_forget};
use crate::input::{Input, Source};
use crate::options::Options;
use crate::pass::ordered_scan::{ChunkOutput, OrderedOutput, OrderedWorker, scan_in_order};
use crate::pass::scan::{Worker, scan};
use crate::run::Run;
use crate::stored::build::insert_all;
use crate::stored::{open_records, reading_as, with_run, write_header};

/// The change that is made for the lines of the inputs. A repeated line is inserted, or removed, as often as it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// They are inserted.
    Insert,
    /// They are removed.
    Remove,
}

/// The result of a change.
#[derive(Debug)]
pub struct Changed {
    /// The filter after the change, to be saved.
    pub filter: Filter,
    /// Lines that were read, repeats included.
    pub lines: u64,
    /// The number of these that were new ([`insert_new`]), or were certainly not in and so could not be removed
    /// ([`Change::Remove`]). 0 for plain insertion, which does not look.
    pub noted: u64,
}

/// Inserts or removes all lines of `inputs`. A line that is removed must have been inserted before: removing
/// one that only seems to be in takes others with it.
///
/// # Errors
/// Any [`Error`](crate::Error); the file is what it was. [`crate::Error::Usage`] for a kind that
/// does not support removal.
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
        // Workers of all inputs add to it.
        let absent = AtomicU64::new(0);
        let verb = match change {
            Change::Insert => "insert",
            Change::Remove => "remove",
        };
        run.expect_inputs(&[verb], inputs.iter());
        for input in inputs {
            match change {
                Change::Insert => insert_all(run, filter, input)?,
                Change::Remove => remove_all(run, filter, input, &absent)?,
            }
        }
        Ok(absent.into_inner())
    })
}

/// Inserts all lines of `inputs`, as [`change()`] does, and writes each that was certainly not in before to
/// `out` (which messages call `target`): each once, in the order of the lines. From a pipe, what has arrived is
/// answered before it waits for more. With several threads a line that is repeated in the inputs may be
/// written where a later one of its repeats stands.
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
        // Workers insert in any order; the output puts what they write into the order of the lines.
        let terminator = run.options.format.terminator;
        write_header(inputs, b"", terminator, &mut *out, target)?;
        let output = OrderedOutput::new(out, target);
        let updater = filter.updater().hashing_as(run.hasher);
        let found = AtomicU64::new(0);
        run.expect_inputs(&["insert"], inputs.iter());
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

/// Loads the filter and has `work` change it; `work` returns [`Changed::noted`]. Loading checks the whole file
/// first, so a damaged filter is never changed.
fn change_with(
    stored: &StoredFilter,
    inputs: &[Source],
    options: &Options,
    work: impl FnOnce(&Run<'_>, &mut Filter, &[Input]) -> Result<u64>,
) -> Result<Changed> {
    let options = &reading_as(stored, options)?;
    let inputs = open_records(inputs, options)?;
    // A table of digests may grow beyond this, if the limit has room for the old and the new one.
    let needed = stored.shape().bytes();
    with_run(
        &inputs,
        options,
        stored.rules(),
        "a filter",
        needed,
        |run| {
            let mut filter = stored.load(&run.budget, run.layout.threads)?;
            let noted = work(run, &mut filter, &inputs)?;
            Ok(Changed {
                filter,
                lines: inputs.iter().map(Input::lines).sum(),
                noted,
            })
        },
    )
}

/// Removes all lines of `input`, as a phase of its own. Adds those that are certainly not in to `absent`.
fn remove_all(run: &Run<'_>, filter: &mut Filter, input: &Input, absent: &AtomicU64) -> Result<()> {
    let phase = run.input_phase("remove", input);
    let updater = filter.updater().hashing_as(run.hasher);
    scan(run, &phase, input, || Remove {
        updater: &updater,
        absent,
        indexes: Vec::new(),
    })
}

/// One worker thread's part in removing.
struct Remove<'a, 'f> {
    updater: &'a Updater<'f>,
    /// Lines of all workers that could not be removed; added to once per batch.
    absent: &'a AtomicU64,
    /// Those of a batch; reused.
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

/// One worker thread's part in inserting and printing what was new.
struct InsertNew<'a, 'f> {
    updater: &'a Updater<'f>,
    terminator: u8,
    /// New lines of all workers; added to once per batch.
    found: &'a AtomicU64,
    scatter: Scatter,
    /// Indexes of the new lines of a batch, in order; reused.
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
