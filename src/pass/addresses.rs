//! Passes over IPv4 addresses: one bit for each of the 2^32 addresses, instead of a set of lines.
//!
//! ```text
//!  sides       intersect                                 diff
//!  first       insert every address into `others`        insert
//!  further     ask `others` ── if it is there ──▶ `next`   insert
//!              then `next` becomes `others`
//!  the last    write what is in `others`                 write what is not
//! ```
//!
//! A further side of an intersection must remove the addresses that it lacks, which are known only at its end. So those
//! that it has are collected in a second bitmap. The last side needs none: its lines are written as they are read.
//!
//! A line that is written once takes its address out of the bitmap (`intersect`), or puts it in (`diff`). Where repeats
//! are kept the bitmap stays as it is.
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
use crate::set::ipv4::{self, AddressSet};

/// Puts the addresses of `input` into a bitmap; with `common`, those that this has.
///
/// # Errors
/// [`crate::Error::NotAnAddress`] for a line that is none, or the first failure of reading.
pub(crate) fn collect(
    run: &Run<'_>,
    input: &Input,
    common: Option<&AddressSet>,
    into: &AddressSet,
) -> Result<()> {
    let verb = if common.is_some() { "probe" } else { "build" };
    let phase = run.input_phase(verb, input);
    let insert = |address| {
        if common.is_none_or(|common| common.contains(address)) {
            into.insert(address);
        }
    };
    scan(run, &phase, input, || Addresses(insert))
}

/// Passes the lines of `input` to `out` whose addresses are in `others` (or are not, unless `has`), once, or as often
/// as they come where it `repeats` them.
///
/// # Errors
/// As [`collect`], and those of the sink.
pub(crate) fn tell(
    run: &Run<'_>,
    input: &Input,
    others: &AddressSet,
    has: bool,
    repeats: bool,
    out: &Collector<'_>,
) -> Result<()> {
    let phase = run.input_phase("probe", input);
    scan(run, &phase, input, || AddressAnswer {
        ordinal_mask: input.ordinal_mask(),
        others,
        is_difference: !has,
        repeats,
        out: Outbox::new(out),
    })
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

/// A worker that writes the lines of the last side that are selected.
struct AddressAnswer<'a, 's> {
    /// The bits that are turned over in ordinals.
    ordinal_mask: u64,
    /// The addresses that the other sides determine. Shared by all workers; what one changes, all see.
    others: &'a AddressSet,
    /// True if the addresses are selected that are not in `others`.
    is_difference: bool,
    /// True if a line is written as often as it comes.
    repeats: bool,
    /// This worker's lines; flushed by `finish`.
    out: Outbox<'a, 's>,
}

impl AddressAnswer<'_, '_> {
    /// Returns true if a line with this address is written now.
    fn selects(&self, address: u32) -> bool {
        match (self.repeats, self.is_difference) {
            (true, is_difference) => self.others.contains(address) != is_difference,
            (false, true) => self.others.insert(address),
            (false, false) => self.others.take(address),
        }
    }
}

impl Worker for AddressAnswer<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        for (index, key) in (0..).zip(batch.keys) {
            if ipv4::parse(key).is_some_and(|address| self.selects(address)) {
                let line = batch.lines[index as usize];
                let entry = Entry::once(line, batch.ordinal(index) ^ self.ordinal_mask);
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
