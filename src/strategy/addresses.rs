//! `memory` for IPv4 addresses: a bit for each of the 2^32 there are, instead of a set of lines.
//!
//! Exact. Reads each input once and writes nothing; one bitmap of 512 MiB, two from three inputs on.

use crate::batch::Batch;
use crate::error::Result;
use crate::input::Input;
use crate::output::{Collector, Outbox};
use crate::pass::scan::{Worker, scan};
use crate::run::Run;
use crate::set::addresses::{self, AddressSet};

/// The addresses that `first` and all `others` have.
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
        let next = AddressSet::new(&run.budget)?;
        let insert_common = |address| {
            if common.contains(address) {
                next.insert(address);
            }
        };
        scan(run, &phase, input, || Addresses(insert_common))?;
        common = next;
    }
    let mut outbox = Outbox::new(out);
    common.for_each(|address| outbox.push(address.to_string().as_bytes()))?;
    outbox.flush()
}

/// Hands each address of a batch on. The scan has checked that all lines are addresses.
struct Addresses<F>(F);

impl<F: FnMut(u32)> Worker for Addresses<F> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        batch
            .lines
            .iter()
            .filter_map(|line| addresses::parse(line))
            .for_each(&mut self.0);
        Ok(())
    }
}

/// Writes each address that the set still has, and takes it out: once is enough.
struct TakeAddresses<'a, 's> {
    common: &'a AddressSet,
    out: Outbox<'a, 's>,
}

impl Worker for TakeAddresses<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let common = self.common;
        let is_common =
            |line: &&&[u8]| addresses::parse(line).is_some_and(|address| common.take(address));
        batch
            .lines
            .iter()
            .filter(is_common)
            .try_for_each(|line| self.out.push(line))
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush()
    }
}
