//! `memory` for IPv4 addresses: one bit for each of the 2^32 addresses, instead of a set of lines.
//!
//! ```text
//!  sides       intersect                               diff
//!  first       insert every address into `told`        insert
//!  further     ask `told` ── if it is there ──▶ `next`   insert
//!              then `next` becomes `told`
//!  the last    write what is in `told`                 write what is not
//! ```
//!
//! A further side of an intersection must remove the addresses that it lacks, which are known only at its end. So
//! those that it has are collected in a second bitmap. The last side needs none: its lines are written as they are read.
//!
//! Which side is the last: the first one of the caller where it alone has the answer, in a difference and where its
//! repeats or its records are written; else the largest.
//!
//! A line that is written once takes its address out of the bitmap (`intersect`), or puts it in (`diff`). Where repeats are
//! kept the bitmap stays as it is.
//!
//! *Owns:* nothing beyond the bitmaps. *Invariants:* exact; of several workers that find the same address, one
//! writes it, because its bit is read and changed under one lock.
//!
//! *Cost:* one reading of each input, no disk; one bitmap of 512 MiB, or two for an intersection of three or more
//! sides. Pages of the bitmap without an address stay unused.

use crate::answer::entry::Entry;
use crate::answer::{Collector, Outbox};
use crate::batch::Batch;
use crate::error::Result;
use crate::input::Input;
use crate::pass::scan::{Worker, scan};
use crate::run::Run;
use crate::selection::{Sides, Turn};
use crate::set::ipv4::{self, AddressSet};

/// Passes the lines of the last side that the others select to `out`.
///
/// # Errors
/// [`crate::Error::NotAnAddress`] for a line that is none, [`crate::Error::Memory`] when a bitmap does not
/// fit, or the first failure of reading or of the sink.
pub(super) fn addresses(
    run: &Run<'_>,
    inputs: &[Input],
    sides: &Sides,
    out: &Collector<'_>,
) -> Result<()> {
    let rule = sides.rule();
    let (others, last) = in_order(inputs, sides);
    // Nothing but the last side: it has what it has in common with itself, and nothing of it is there yet.
    let is_difference = rule.in_first() || others.is_empty();
    let told = if is_difference {
        every(run, &others)?
    } else {
        common(run, &others)?
    };
    if let Some(input) = last {
        let phase = run.input_phase("probe", input);
        scan(run, &phase, input, || Answer {
            told: &told,
            is_difference,
            repeats: rule.repeats(),
            out: Outbox::new(out),
        })?;
    }
    Ok(())
}

/// The inputs that go into bitmaps, and the one whose lines are written.
fn in_order<'i>(inputs: &'i [Input], sides: &Sides) -> (Vec<&'i Input>, Option<&'i Input>) {
    let rule = sides.rule();
    if !rule.in_first() && !rule.repeats() {
        let (last, others) = inputs.split_last().unzip();
        return (others.into_iter().flatten().collect(), last);
    }
    let input = |turn: &Turn| &inputs[turn.input];
    let turns = sides.turns();
    let others = turns.iter().filter(|turn| turn.number != 1);
    let first = turns.iter().find(|turn| turn.number == 1);
    (others.map(input).collect(), first.map(input))
}

/// The addresses of any of `inputs`.
fn every(run: &Run<'_>, inputs: &[&Input]) -> Result<AddressSet> {
    let every = AddressSet::new(&run.budget)?;
    for input in inputs {
        let phase = run.input_phase("build", input);
        scan(run, &phase, input, || {
            Addresses(|address| _ = every.insert(address))
        })?;
    }
    Ok(every)
}

/// The addresses that all `inputs` have.
fn common(run: &Run<'_>, inputs: &[&Input]) -> Result<AddressSet> {
    let (first, further) = inputs.split_at(inputs.len().min(1));
    let mut common = every(run, first)?;
    for input in further {
        let phase = run.input_phase("probe", input);
        // Made anew for each input: the assignment below frees the bitmap before it.
        let next = AddressSet::new(&run.budget)?;
        let insert_common = |address| {
            if common.contains(address) {
                next.insert(address);
            }
        };
        scan(run, &phase, input, || Addresses(insert_common))?;
        common = next;
    }
    Ok(common)
}

/// Hands each address of a batch to the closure, on the worker's thread. The scan has checked that all
/// lines are addresses, so no line is left out here.
struct Addresses<F>(F);

impl<F: FnMut(u32)> Worker for Addresses<F> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        batch
            .keys
            .iter()
            .filter_map(|line| ipv4::parse(line))
            .for_each(&mut self.0);
        Ok(())
    }
}

/// Writes the lines of the last side that are selected.
struct Answer<'a, 's> {
    /// What the other sides tell. Shared by all workers; what one changes, all see.
    told: &'a AddressSet,
    /// Whether the addresses are selected that are not in `told`.
    is_difference: bool,
    /// Whether a line is written as often as it comes.
    repeats: bool,
    /// This worker's lines; flushed by `finish`.
    out: Outbox<'a, 's>,
}

impl Answer<'_, '_> {
    /// Whether a line with this address is written now.
    fn selects(&self, address: u32) -> bool {
        match (self.repeats, self.is_difference) {
            (true, is_difference) => self.told.contains(address) != is_difference,
            (false, true) => self.told.insert(address),
            (false, false) => self.told.take(address),
        }
    }
}

impl Worker for Answer<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        for (index, key) in (0..).zip(batch.keys) {
            if ipv4::parse(key).is_some_and(|address| self.selects(address)) {
                let line = batch.lines[index as usize];
                let entry = Entry::once(line, batch.ordinal(index));
                self.out.push_found(&entry)?;
            }
        }
        Ok(())
    }

    /// Passes on what is left. A scan that has failed does not call it: its lines are of no use.
    fn finish(&mut self) -> Result<()> {
        self.out.flush()
    }
}
