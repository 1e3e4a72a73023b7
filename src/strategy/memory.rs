//! `memory`: the smallest input in memory, the others streamed past it.
//!
//! Exact. Reads each input once and writes nothing. The join pass with one bucket whose build side
//! is the first input: a set of its distinct lines, marked by each further input; a line with all
//! marks is common. Addresses need no set: one bit each will do.

use crate::address::{self, AddressSet};
use crate::batch::Batch;
use crate::error::Result;
use crate::input::Input;
use crate::output::{Collector, Outbox};
use crate::pass::scan::{Worker, scan, scan_with_room};
use crate::run::Run;
use crate::scatter::Scatter;
use crate::shards::ShardedSet;

pub(crate) fn memory(run: &Run<'_>, inputs: &[Input], out: &Collector<'_>) -> Result<()> {
    let Some((first, others)) = inputs.split_first() else {
        return Ok(());
    };
    if run.plan.uses_bitmap {
        return addresses(run, first, others, out);
    }
    let (lines, line_bytes) = run.plan.build_lines;
    // What reading needs is kept free of the set, and what the set leaves serves long lines.
    let layout = &run.plan.layout;
    let budget = run.budget.share(
        "set",
        layout.usable_bytes.saturating_sub(layout.scan_bytes()),
    )?;
    let set = ShardedSet::new(&budget, run.hasher, lines, line_bytes)?;
    let phase = run.input_phase("build", first);
    scan(run, &phase, first, || Build {
        set: &set,
        scatter: Scatter::default(),
    })?;
    drop(phase);
    if others.is_empty() {
        let mut outbox = Outbox::new(out);
        set.for_each(|line| outbox.push(line))?;
        return outbox.flush();
    }
    let last = others.len() as u16 + 1;
    for (input, mark) in others.iter().zip(2..) {
        let phase = run.input_phase("probe", input);
        let worker = || Probe {
            set: &set,
            scatter: Scatter::default(),
            mark,
            last,
            out: Outbox::new(out),
        };
        scan_with_room(run, &phase, input, &budget, worker)?;
    }
    Ok(())
}

struct Build<'a> {
    set: &'a ShardedSet,
    scatter: Scatter,
}

impl Worker for Build<'_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        self.set.insert(batch, &mut self.scatter)
    }
}

struct Probe<'a, 's> {
    set: &'a ShardedSet,
    scatter: Scatter,
    mark: u16,
    last: u16,
    out: Outbox<'a, 's>,
}

impl Worker for Probe<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let (out, is_last) = (&mut self.out, self.mark == self.last);
        self.set.mark(batch, &mut self.scatter, self.mark, |line| {
            if is_last { out.push(line) } else { Ok(()) }
        })
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush()
    }
}

/// The same with a bit per address instead of a set of lines.
fn addresses(run: &Run<'_>, first: &Input, others: &[Input], out: &Collector<'_>) -> Result<()> {
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
        let keep = |address| {
            if common.contains(address) {
                next.insert(address);
            }
        };
        scan(run, &phase, input, || Addresses(keep))?;
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
            .filter_map(|line| address::parse(line))
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
            |line: &&&[u8]| address::parse(line).is_some_and(|address| common.take(address));
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
