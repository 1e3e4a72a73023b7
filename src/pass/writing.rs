//! Writing a selected line: what stands before it, and how often it comes.
//!
//! *Owns:* the way from what is known of a line to the [`Entry`] that the answer takes. *Invariants:* what is written
//! is what the rule writes of a line. Whether it is selected, [`write()`] leaves to its caller; [`write_again`] asks
//! the rule. *Cost:* a copy of the line into the outbox.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::answer::entry::Entry;
use crate::answer::{Collector, Outbox};
use crate::batch::Batch;
use crate::error::Result;
use crate::run::Run;
use crate::selection::{LineState, Rule};
use crate::set::sharded::ShardedSet;
use crate::sys::first_error::FirstFailure;

/// Writes a label and its line, as often as `times` says.
pub(crate) fn write(
    rule: &Rule,
    line: &[u8],
    found: LineState,
    times: u64,
    out: &mut Outbox<'_, '_>,
) -> Result<()> {
    if times == 0 {
        return Ok(());
    }
    if rule.counts_all() {
        out.note_group(found.tally, line);
    }
    out.push_found(&Entry {
        times,
        duplicates: rule.duplicates(found),
        place: rule.place(found, found.ordinal),
        label: &rule.label(found),
        line: rule.behind_label(line),
    })
}

/// Writes what a set selects whose lines have all their marks: each worker takes one shard after the other.
///
/// # Errors
/// The first failure of the sink.
pub(crate) fn write_set(
    run: &Run<'_>,
    set: &ShardedSet,
    rule: &Rule,
    out: &Collector<'_>,
) -> Result<()> {
    let failure = FirstFailure::default();
    let next = AtomicUsize::new(0);
    run.workers.run(&failure, |found_work| {
        found_work();
        let mut outbox = Outbox::new(out);
        set.for_each(
            || next.fetch_add(1, Ordering::Relaxed),
            |line, found| write(rule, line, found, rule.times(found), &mut outbox),
        )?;
        outbox.flush()
    });
    failure.into_result()
}

/// Writes the line at `index` of a batch that is read once more, if the line is selected. The batch is of this number
/// of `sides`; `found` is what a set has of the line's key.
pub(crate) fn write_again(
    rule: &Rule,
    batch: Batch<'_>,
    sides: u64,
    index: u32,
    found: LineState,
    out: &mut Outbox<'_, '_>,
) -> Result<()> {
    let ordinal = batch.ordinal(index);
    let (times, duplicates) = rule.times_again(found, ordinal, sides);
    let place = rule.place(found, ordinal);
    if rule.tells_places() && duplicates > 0 {
        out.push_places(duplicates, ordinal, found.ordinal, place)?;
    }
    let duplicates = if rule.tells_places() { 0 } else { duplicates };
    if times + duplicates == 0 {
        return Ok(());
    }
    let line = batch.lines[index as usize];
    // Once for each key.
    if times > 0 && rule.picks_first() && rule.counts_all() {
        out.note_group(found.tally, line);
    }
    out.push_found(&Entry {
        times,
        duplicates,
        place,
        label: &rule.label(found),
        line: rule.behind_label(line),
    })
}
