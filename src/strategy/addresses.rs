//! `memory` for IPv4 addresses: one bit for each of the 2^32 addresses, instead of a set of lines.
//!
//! ```text
//!  inputs   common                        next
//!  first    insert every address
//!  middle   ask ───── if it is there ───▶ insert      then `next` becomes `common`
//!  last     take: the worker that finds the bit set clears it and writes the line
//! ```
//!
//! A middle input must remove the addresses that it lacks, which are known only at its end. So those that it
//! has are collected in a second bitmap. The last input needs none: it writes an address when it finds it.
//!
//! *Owns:* nothing beyond the bitmaps. *Invariants:* exact; an address is written once, because clearing its
//! bit and reading it happen under one lock.
//!
//! *Cost:* one reading of each input, no disk; one bitmap of 512 MiB, or two if there are three or more
//! inputs. Pages of the bitmap without an address stay unused.

use crate::answer::{Collector, Outbox};
use crate::batch::Batch;
use crate::error::Result;
use crate::input::Input;
use crate::pass::scan::{Worker, scan};
use crate::run::Run;
use crate::set::addresses::{self, AddressSet};

/// Passes the addresses that `first` and all `others` have to `out`. Without `others`, all addresses of
/// `first`, in order.
///
/// # Errors
/// [`crate::Error::NotAnAddress`] for a line that is none, [`crate::Error::Memory`] when a bitmap does not
/// fit, or the first failure of reading or of the sink.
pub(super) fn addresses(
    run: &Run<'_>,
    first: &Input,
    others: &[Input],
    out: &Collector<'_>,
) -> Result<()> {
    let mut common = AddressSet::new(&run.budget)?;
    let phase = run.input_phase("build", first);
    scan(run, &phase, first, || {
        Addresses(|address| common.insert(address))
    })?;
    // A phase ends when it is dropped: this one must not go on during the next.
    drop(phase);
    for (number, input) in others.iter().enumerate() {
        let phase = run.input_phase("probe", input);
        if number + 1 == others.len() {
            scan(run, &phase, input, || TakeAddresses {
                common: &common,
                out: Outbox::new(out),
            })?;
            return Ok(());
        }
        // Made anew for each middle input: the assignment below frees the bitmap before it.
        let next = AddressSet::new(&run.budget)?;
        let insert_common = |address| {
            if common.contains(address) {
                next.insert(address);
            }
        };
        scan(run, &phase, input, || Addresses(insert_common))?;
        common = next;
    }
    // A single input: all its addresses are the result.
    let mut outbox = Outbox::new(out);
    common.for_each(|address| outbox.push(address.to_string().as_bytes()))?;
    outbox.flush()
}

/// Hands each address of a batch to the closure, on the worker's thread. The scan has checked that all
/// lines are addresses, so no line is left out here.
struct Addresses<F>(F);

impl<F: FnMut(u32)> Worker for Addresses<F> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        batch
            .keys
            .iter()
            .filter_map(|line| addresses::parse(line))
            .for_each(&mut self.0);
        Ok(())
    }
}

/// Writes each address that the set still has, and takes it out, so that its repetitions are not written.
struct TakeAddresses<'a, 's> {
    /// Shared by all workers; what one takes, no other finds.
    common: &'a AddressSet,
    /// This worker's lines; flushed by `finish`.
    out: Outbox<'a, 's>,
}

impl Worker for TakeAddresses<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let common = self.common;
        let is_common =
            |line: &&&[u8]| addresses::parse(line).is_some_and(|address| common.take(address));
        batch
            .keys
            .iter()
            .filter(is_common)
            .try_for_each(|line| self.out.push(line))
    }

    /// Passes on what is left. A scan that has failed does not call it: its lines are of no use.
    fn finish(&mut self) -> Result<()> {
        self.out.flush()
    }
}
