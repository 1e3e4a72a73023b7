//! Which phases a plan expects, in their order, and what each goes through.
//!
//! *Owns:* the expectation by which a progress display divides the time. *Invariants:* the names
//! are the verbs of the run's own phases, and the bytes are counted as theirs are: blocks that
//! stay in memory included. The phases add up to the bytes read of the plan and these blocks, less the
//! reading of a stored filter, which is over before there is a plan.

use serde::Serialize;

use crate::plan::Strategy;
use crate::plan::job::{Job, read_in_order};
use crate::plan::{Costs, OrderPlan, Plan};

/// A phase that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlannedPhase {
    /// What it does: the first word of its name, or all of it where it works on no input.
    pub name: &'static str,
    /// Bytes that it goes through: of an input, of buckets, or of blocks in memory. Of an input of
    /// unknown size this is a guess, or 0 where there is none.
    pub bytes_read: u64,
    /// Seconds that it is predicted to take, if the machine was measured
    /// ([`Options::calibrate`](crate::Options::calibrate)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_seconds: Option<f64>,
}

impl PlannedPhase {
    /// Which of `phases` a phase is that calls itself `name`: one of exactly this name, or else the first whose verb the
    /// name begins with.
    pub fn position<'p>(
        mut phases: impl Iterator<Item = &'p Self> + Clone,
        name: &str,
    ) -> Option<usize> {
        let mut again = phases.clone();
        let is_of = |planned: &Self| {
            name.strip_prefix(planned.name)
                .is_some_and(|rest| rest.starts_with(' ') && !planned.name.is_empty())
        };
        let exact = phases.position(|planned| planned.name == name);
        exact.or_else(|| again.position(is_of))
    }
}

/// What survives filters, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Survivors {
    /// What the join goes through, of all inputs.
    pub(super) joined: u64,
    /// What is read from buckets to build filters of survivors.
    pub(super) read_back: u64,
}

/// The phases of a design with these costs, in the order in which the run starts them: with a bitmap or without,
/// and with these survivors. Empty without inputs.
pub(super) fn phases(
    job: &Job,
    costs: &Costs,
    (uses_bitmap, survivors): (bool, Survivors),
    ordering: Option<&OrderPlan>,
) -> Vec<PlannedPhase> {
    let mut phases = of_strategy(job, costs, uses_bitmap, survivors);
    phases.extend(ordering.map(|ordering| phase("order", ordering.answer_bytes)));
    phases
}

/// The phases without that of an order.
fn of_strategy(
    job: &Job,
    costs: &Costs,
    uses_bitmap: bool,
    survivors: Survivors,
) -> Vec<PlannedPhase> {
    // A set of the first side of a difference comes first, a bitmap has the other sides.
    let ends_with_first = job.selection.repeats() || (uses_bitmap && job.selection.in_first);
    let inputs = read_in_order(job).into_iter().map(|size| size.bytes);
    let inputs: Vec<u64> = inputs.collect();
    let join = phase("join", survivors.joined);
    match (costs.strategy, &inputs[..]) {
        (_, []) => Vec::new(),
        (Strategy::Memory, [first, others @ ..]) if costs.filter.is_some() => {
            sieved(*first, others)
        }
        (Strategy::Memory, [first, others @ ..]) if ends_with_first => {
            let mut phases = memory(others, job.telling_inputs());
            phases.push(phase("probe", *first));
            phases
        }
        (Strategy::Memory, all) => memory(all, job.building_inputs()),
        (Strategy::Sieve, [_, others @ ..]) if job.asks_first() => {
            let filtered = others.iter().take(job.telling_inputs());
            let filters = filtered.map(|&bytes| phase("filter", bytes));
            let spills = inputs.iter().map(|&bytes| phase("spill", bytes));
            filters.chain(spills).chain([join]).collect()
        }
        (Strategy::Sieve, all) if !job.finds_common() => {
            let filters = all.iter().map(|&bytes| phase("filter", bytes));
            let spills = all.iter().map(|&bytes| phase("spill", bytes));
            filters.chain(spills).chain([join]).collect()
        }
        (Strategy::Sieve, [first, others @ ..]) => sieve(*first, others, survivors),
        (Strategy::Bloom, [first, others @ ..]) if job.selection.in_first => {
            let filters = others.iter().map(|&bytes| phase("filter", bytes));
            let answer = if job.selection.repeats() {
                vec![phase("probe", *first)]
            } else {
                vec![phase("spill", *first), join]
            };
            filters.chain(answer).collect()
        }
        (Strategy::Bloom, all) if !job.finds_common() => {
            all.iter().map(|&bytes| phase("filter", bytes)).collect()
        }
        // Each input but the last goes into a filter. A stored filter is one more, which needs no phase: it
        // is asked where else the filter of the first input is.
        (Strategy::Bloom, [before @ .., last]) => {
            let filters = before.iter().map(|&bytes| phase("filter", bytes));
            filters.chain([phase("spill", *last), join]).collect()
        }
        (Strategy::Partition, all) => {
            let spills = all.iter().map(|&bytes| phase("spill", bytes));
            spills.chain([join]).collect()
        }
    }
}

/// `memory`: the first inputs become the set and the others probe it.
fn memory(inputs: &[u64], building: usize) -> Vec<PlannedPhase> {
    let (build, others) = inputs.split_at(building.min(inputs.len()));
    let builds = build.iter().map(|&bytes| phase("build", bytes));
    let probes = others.iter().map(|&bytes| phase("probe", bytes));
    builds.chain(probes).collect()
}

/// `memory` with filters: survivors of the second input become the set, and the first one probes it at the end.
fn sieved(first: u64, others: &[u64]) -> Vec<PlannedPhase> {
    let (second, rest) = others.split_at(others.len().min(1));
    let builds = second.iter().map(|&bytes| phase("build", bytes));
    let probes = rest.iter().chain([&first]);
    let probes = probes.map(|&bytes| phase("probe", bytes));
    [phase("filter", first)]
        .into_iter()
        .chain(builds)
        .chain(probes)
        .collect()
}

/// `sieve`: a filter of the first input, each further one spilled, the first spilled at the end. What is read
/// back is divided evenly among the further inputs; the last one gets the rest of the division.
fn sieve(first: u64, others: &[u64], survivors: Survivors) -> Vec<PlannedPhase> {
    let mut phases = vec![phase("filter", first)];
    let mut left = survivors.read_back;
    for (number, &bytes) in others.iter().enumerate() {
        phases.push(phase("spill", bytes));
        if survivors.read_back > 0 {
            let share = left / (others.len() - number) as u64;
            left -= share;
            phases.push(phase("filter survivors", share));
        }
    }
    phases.extend([phase("spill", first), phase("join", survivors.joined)]);
    phases
}

/// A phase called `name` that goes through `bytes_read` bytes.
fn phase(name: &'static str, bytes_read: u64) -> PlannedPhase {
    PlannedPhase {
        name,
        bytes_read,
        predicted_seconds: None,
    }
}

impl Plan {
    /// The bytes that all phases of this name go through.
    fn bytes_of(&self, name: &str) -> u64 {
        let of_name = self.phases.iter().filter(|phase| phase.name == name);
        of_name.map(|phase| phase.bytes_read).sum()
    }

    /// The share, 0..1, of the lines that a filter of this plan is expected to let through where it is asked.
    pub(crate) fn passing_share(&self) -> f64 {
        let (passing, asked) = match (self.bytes_of("spill"), self.second_filter) {
            (0, Some(second)) => (second.keys, self.build_lines),
            (spilled, _) => (self.bytes_of("join"), spilled),
        };
        (passing as f64 / asked.max(1) as f64).min(1.0)
    }

    /// Whether blocks of buckets are expected to be written; the order of the answer does not count.
    pub(crate) fn writes_buckets(&self) -> bool {
        let of_answer = self.ordering.map_or(0, |ordering| ordering.spilled_bytes);
        self.costs.bytes_written > of_answer
    }

    /// What is expected to be joined, in bytes.
    pub(crate) fn joined_bytes(&self) -> u64 {
        self.bytes_of("join")
    }
}
