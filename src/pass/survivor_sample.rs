//! A sample of an input before it is read: how many of its lines a filter lets through.
//!
//! *Owns:* the sample that a plan is revised by. *Invariants:* a sample that misleads costs time, never a
//! line. *Cost:* 1 MiB of the input, a few milliseconds, and 256 KiB of the budget.
//!
//! Where lines that are common lie together, a window passes or not as a whole, and the estimate is off by
//! half over the root of the number of windows: 6 in 100.

use crate::batch::Prefilter;
use crate::error::Result;
use crate::input::Input;
use crate::pass::sampled_lines::{Windows, for_each_sampled};
use crate::plan::revision::SurvivorSample;
use crate::run::Run;

/// The number of windows that are looked at.
const WINDOWS: u64 = 64;
/// The bytes of one window.
const WINDOW: u64 = 16 << 10;
/// The most lines that are looked at in one window.
const MOST_LINES: usize = 512;
/// Fewer lines than these tell nothing.
const LEAST_LINES: u64 = 64;

/// Reads a sample of `input` and counts the lines of it that `prefilter` lets through. The input is at `position` in
/// the plan's order. `None` if that cannot be known: of a stream, of lines that are longer than a window, or where
/// there is no memory for the hashes of lines.
///
/// # Errors
/// Where the input cannot be read, or has changed.
pub(crate) fn sample_survivors(
    run: &Run<'_>,
    input: &Input,
    position: usize,
    prefilter: &dyn Prefilter,
) -> Result<Option<SurvivorSample>> {
    let most = WINDOWS as usize * MOST_LINES;
    let Ok(memory) = run.budget.reserve("a sample", 8 * most as u64) else {
        return Ok(None);
    };
    let windows = Windows {
        count: WINDOWS,
        bytes: WINDOW,
        most_lines: MOST_LINES,
    };
    // Reused from window to window: the indexes of the lines of a batch that pass.
    let (mut passing, mut passed) = (Vec::new(), Vec::with_capacity(most));
    let sampled = for_each_sampled(run, input, windows, |batch| {
        prefilter.passing(batch, &mut passing)?;
        passed.extend(passing.iter().map(|&index| batch.hashes[index as usize]));
        Ok(())
    })?;
    if sampled < LEAST_LINES {
        return Ok(None);
    }
    let count = passed.len() as u64;
    passed.sort_unstable();
    passed.dedup();
    let passed_distinct = passed.len() as u64;
    drop((passed, memory));
    Ok(Some(SurvivorSample {
        input: position,
        sampled,
        passed: count,
        passed_distinct,
        filter_bytes: run.held_bytes(),
        // The prefilter may be anything that refuses lines. What is known of it as a filter, the caller adds.
        filter_fpr: 1.0,
        filter_distinct: 0.0,
        temp_bytes: run.temp_bytes_left(),
    }))
}
