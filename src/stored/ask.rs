//! Asking a filter about every line of some inputs.
//!
//! *Owns:* the questions, and the answers in the order of the lines. *Invariants:* a line is
//! answered as the filter would answer it alone; lines of a pipe are answered as they come, so that the query
//! can stand in the middle of a pipe.
//! *Cost:* one reading of the filter file to check it, one of the inputs. The filter is mapped; one
//! that is larger than the memory limit is read as it is asked.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::batch::{BATCH, Batch, Prefilter};
use crate::error::{Error, Result};
use crate::filter::{AskedFilter, Kind, Occupancy, StoredFilter};
use crate::input::keying::Keying;
use crate::input::{Input, Source};
use crate::options::Options;
use crate::pass::ordered_scan::{
    ChunkOutput, OrderedOutput, OrderedWorker, beyond_scan_bytes, scan_in_order,
};
use crate::run::Run;
use crate::stored::{before_cr, open_records, reading_as, with_run, write_header};

/// The question about each line. The first two divide the lines: each is written for exactly one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Question {
    /// Write the lines that the filter may have.
    Present,
    /// Write the lines that it certainly does not have.
    Absent,
    /// Write each line, a tab, and how often it may have been inserted, at most.
    Counts,
}

/// The counts of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answers {
    /// Lines that were read.
    pub asked: u64,
    /// Lines that were written: all of them for [`Question::Counts`].
    pub written: u64,
    /// The occupancy of the filter's cells, counted when its file was checked.
    pub occupancy: Occupancy,
}

/// Asks `filter` about all lines of `inputs` and writes the answers to `out` (which messages call
/// `target`), in the order of the lines, repeats included. Workers answer in parallel; one thread at a time
/// writes to `out`.
///
/// # Errors
/// [`Error::Usage`] for counts from a kind that cannot count; any other [`Error`]. The output by then is
/// right, but not complete.
pub fn query(
    filter: StoredFilter,
    inputs: &[Source],
    question: Question,
    options: &Options,
    out: &mut (dyn Write + Send),
    target: &str,
) -> Result<Answers> {
    let kind = filter.shape().kind;
    if question == Question::Counts && !matches!(kind, Kind::Counting | Kind::Spectral) {
        return Err(Error::usage(
            format!("filter: a {kind} filter does not count its lines"),
            "build a spectral or a counting filter",
        ));
    }
    let options = &reading_as(&filter, options)?;
    let inputs = open_records(inputs, options)?;
    with_run(&inputs, options, filter.rules(), "a filter", 0, |run| {
        let layout = &run.layout;
        // The memory that reading, and answers that wait for their turn, leave: a filter that fits it is mapped.
        let room = layout
            .rest_bytes()
            .saturating_sub(beyond_scan_bytes(layout));
        // Counts the cells, too: the answers come with how full the filter is.
        let checked = filter.check(&run.budget)?;
        let filter = AskedFilter::new(&checked, run.hasher, &run.budget, room)?;
        let more = match question {
            Question::Counts => [&[run.options.label_form().delimiter], &b"count"[..]].concat(),
            Question::Present | Question::Absent => Vec::new(),
        };
        let terminator = run.options.format.terminator;
        write_header(&inputs, &more, terminator, &mut *out, target)?;
        let output = OrderedOutput::new(out, target);
        let written = AtomicU64::new(0);
        run.expect_inputs(&["query"], inputs.iter());
        for input in &inputs {
            ask(run, &filter, input, question, &output, &written)?;
        }
        Ok(Answers {
            asked: inputs.iter().map(Input::lines).sum(),
            written: written.into_inner(),
            occupancy: checked.occupancy(),
        })
    })
}

/// Answers all lines of one input, as a phase of its own. Adds the lines written to `written`.
fn ask(
    run: &Run<'_>,
    filter: &AskedFilter,
    input: &Input,
    question: Question,
    output: &OrderedOutput<'_>,
    written: &AtomicU64,
) -> Result<()> {
    let phase = run.input_phase("query", input);
    scan_in_order(run, &phase, input, output, || Asker {
        filter,
        question,
        terminator: run.options.format.terminator,
        delimiter: run.options.label_form().delimiter,
        ignores_cr: input.keying().is_some_and(Keying::ignores_cr),
        written,
        passing: Vec::with_capacity(BATCH),
        counts: Vec::new(),
    })
}

/// One worker thread's part in answering. The scan puts the outputs of all workers into the order of the
/// lines.
struct Asker<'a> {
    filter: &'a AskedFilter,
    question: Question,
    terminator: u8,
    /// The byte between a line and its count.
    delimiter: u8,
    /// True if a CR at the end of a line belongs to the line end.
    ignores_cr: bool,
    /// Lines written by all workers; added to once per batch.
    written: &'a AtomicU64,
    /// Indexes of the lines of a batch that the filter may have, in order; reused.
    passing: Vec<u32>,
    /// Counts of the lines of a batch; reused.
    counts: Vec<u64>,
}

impl Asker<'_> {
    /// Writes a line with its terminator.
    fn say(&self, line: &[u8], output: &mut ChunkOutput<'_, '_>) -> Result<()> {
        output.push(line)?;
        output.push(&[self.terminator])
    }

    /// Writes the lines of a batch that are not in `passing`, which is in order: one pass over both.
    fn say_absent(&self, batch: Batch<'_>, output: &mut ChunkOutput<'_, '_>) -> Result<()> {
        let mut passing = self.passing.iter().copied().peekable();
        for (index, line) in (0..).zip(batch.lines) {
            if passing.next_if_eq(&index).is_none() {
                self.say(line, output)?;
            }
        }
        Ok(())
    }

    /// Writes each line of a batch, followed by its count.
    fn say_counts(&mut self, batch: Batch<'_>, output: &mut ChunkOutput<'_, '_>) -> Result<()> {
        self.filter.counts(batch, &mut self.counts)?;
        for (line, count) in batch.lines.iter().zip(&self.counts) {
            let (line, cr) = before_cr(line, self.ignores_cr);
            output.push(line)?;
            output.push(&[self.delimiter])?;
            output.push(count.to_string().as_bytes())?;
            output.push(cr)?;
            output.push(&[self.terminator])?;
        }
        Ok(())
    }
}

impl OrderedWorker for Asker<'_> {
    fn work(&mut self, batch: Batch<'_>, output: &mut ChunkOutput<'_, '_>) -> Result<()> {
        let asked = batch.lines.len() as u64;
        let written = match self.question {
            Question::Counts => {
                self.say_counts(batch, output)?;
                asked
            }
            Question::Present => {
                self.filter.passing(batch, &mut self.passing)?;
                for &index in &self.passing {
                    self.say(batch.lines[index as usize], output)?;
                }
                self.passing.len() as u64
            }
            Question::Absent => {
                self.filter.passing(batch, &mut self.passing)?;
                self.say_absent(batch, output)?;
                asked - self.passing.len() as u64
            }
        };
        // Once per batch, so that workers seldom want the same cache line.
        self.written.fetch_add(written, Ordering::Relaxed);
        Ok(())
    }
}
