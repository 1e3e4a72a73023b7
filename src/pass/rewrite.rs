//! Writing an answer in the order of its inputs: one more reading of them, past the lines that were kept.
//!
//! *Owns:* that reading. *Invariants:* each kept line is written where it stands; the run fails if one is not found, as
//! in a file that was changed and looks as before. *Cost:* one reading of each input; no disk, no sort.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::answer::{Collector, KeptLines};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::pass::ordered_scan::{
    ChunkOutput, Destination, OrderedOutput, OrderedWorker, scan_in_order,
};
use crate::run::Run;

/// Passes those lines of `inputs` to the sink of `out` that it has kept, in order.
///
/// # Errors
/// The first failure of reading, or of the sink; [`Error::InputChanged`] where lines are not found again.
pub(crate) fn rewrite(run: &Run<'_>, inputs: &[&Input], out: &Collector<'_>) -> Result<()> {
    let Some(kept) = &run.kept else {
        return Ok(());
    };
    let output = OrderedOutput::into(Answer(out));
    let written = AtomicU64::new(0);
    for &input in inputs {
        let phase = run.input_phase("write", input);
        scan_in_order(run, &phase, input, &output, || Rewriter {
            kept,
            mask: input.ordinal_mask(),
            terminator: out.terminator(),
            written: &written,
        })?;
    }
    out.turn_to(u64::MAX)?;
    let written = written.into_inner();
    match inputs.last() {
        Some(last) if written != out.found() => Err(Error::InputChanged {
            path: last.name().to_owned(),
            what: format!(
                "{written} lines of the result were found again, of {}",
                out.found()
            ),
        }),
        _ => Ok(()),
    }
}

/// The answer as what an ordered scan writes to.
struct Answer<'a, 's>(&'a Collector<'s>);

impl Destination for Answer<'_, '_> {
    fn write(&mut self, text: &[u8], ends: &[usize]) -> Result<()> {
        self.0.pass_block(text, ends)
    }

    fn write_line(&mut self, line: &[u8]) -> Result<()> {
        self.0.pass_line(line)
    }

    fn begin(&mut self, ordinal: u64) -> Result<()> {
        self.0.turn_to(ordinal).map(drop)
    }
}

/// A worker that writes the lines that were kept.
struct Rewriter<'a> {
    kept: &'a KeptLines,
    /// The bits that are turned over in the ordinals of lines, and not in those that were kept.
    mask: u64,
    terminator: u8,
    /// Lines that all workers have written.
    written: &'a AtomicU64,
}

impl OrderedWorker for Rewriter<'_> {
    const NEEDS_HASHES: bool = false;
    const REWRITES: bool = true;

    fn work(&mut self, batch: Batch<'_>, output: &mut ChunkOutput<'_, '_>) -> Result<()> {
        let mut written = 0;
        for (line, &ordinal) in batch.lines.iter().zip(batch.ordinals) {
            if self.kept.contains(ordinal ^ self.mask) {
                output.push_line(line, self.terminator)?;
                written += 1;
            }
        }
        self.written.fetch_add(written, Ordering::Relaxed);
        Ok(())
    }
}
