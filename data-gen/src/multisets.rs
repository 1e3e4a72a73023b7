//! The answers that depend on how often each file has a line.
//!
//! *Owns:* `--all` of an intersection, a difference and a symmetric difference, for the lines that two
//! files or more have. *Invariants.* A line is in exactly one window, so it is added once; what only
//! one file has is not added here.
//!
//! *Cost:* each shared line is made once more, 60 to 100 ns on one core; each window after the first
//! draws all repeats again, 20 to 100 ns each.

use rayon::prelude::*;

use crate::checksum::OrderFree;
use crate::chunk::Chunk;
use crate::occurrences::{Occurrences, Window};
use crate::plan::Plan;
use crate::words::CARRIAGE_RETURN;

/// The answers in one sense.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Multisets {
    /// Each line as often as the file has it that has it least.
    pub(crate) intersect: OrderFree,
    /// Each line as often as the first file has it more than all others together.
    pub(crate) diff: OrderFree,
    /// Of two files: each line as often as one file has it more than the other.
    pub(crate) symdiff: OrderFree,
}

impl Multisets {
    fn add(&mut self, line: &[u8], counts: Occurrences) {
        self.intersect.add_times(line, counts.least);
        self.diff
            .add_times(line, counts.first.saturating_sub(counts.alike));
        self.symdiff
            .add_times(line, counts.first.abs_diff(counts.alike));
    }

    fn merge(&mut self, other: &Self) {
        self.intersect.merge(&other.intersect);
        self.diff.merge(&other.diff);
        self.symdiff.merge(&other.symdiff);
    }
}

/// The answers byte for byte, and without carriage returns. Byte for byte, the intersection and the
/// symmetric difference hold only where the lines of all files end alike.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BothSenses {
    pub(crate) bytes: Multisets,
    pub(crate) bare: Multisets,
}

impl BothSenses {
    /// Adds a line, which is in `line` without a carriage return; `ends_with_cr` says that the first
    /// file has one.
    fn add(&mut self, line: &mut Chunk, ends_with_cr: bool, counts: Occurrences) {
        self.bare.add(line.as_bytes(), counts.regardless_of_cr());
        if ends_with_cr {
            line.push(CARRIAGE_RETURN);
        }
        self.bytes.add(line.as_bytes(), counts);
    }

    fn merge(&mut self, other: &Self) {
        self.bytes.merge(&other.bytes);
        self.bare.merge(&other.bare);
    }
}

/// The answers for all lines that two files or more have, and for the empty line. `window` is the
/// first window, of which all files were counted; `step` is the number of lines of the others.
pub(crate) fn of_shared_lines(plan: &Plan, mut window: Window, step: u64) -> BothSenses {
    let mut all = of_empty_line(plan);
    let lines = plan.shared().lines();
    loop {
        all.merge(&of_window(plan, &window));
        let start = window.numbers().end;
        if start >= lines {
            return all;
        }
        window.move_to(start..lines.min(start + step));
        for file in 0..plan.files() {
            let counters = window.counters();
            let repeats = (0..plan.repeats(file)).into_par_iter();
            repeats.for_each(|repeat| plan.count_again(file, repeat, counters));
            window.end_file(plan, file);
        }
    }
}

fn of_empty_line(plan: &Plan) -> BothSenses {
    let mut counts = Occurrences::NONE;
    for file in 0..plan.files() {
        counts.add(file, plan.is_alike(file), plan.empty_lines(file));
    }
    let mut sums = BothSenses::default();
    sums.add(&mut Chunk::new(), plan.has_crlf(0), counts);
    sums
}

fn of_window(plan: &Plan, window: &Window) -> BothSenses {
    let empty = || (BothSenses::default(), Chunk::new());
    let add = |(mut sums, mut line): (BothSenses, Chunk), number| {
        line.clear();
        plan.write_line(plan.shared().identity(number), &mut line);
        sums.add(&mut line, plan.has_crlf(0), window.occurrences(number));
        (sums, line)
    };
    let parts = window.numbers().into_par_iter().fold(empty, add);
    parts
        .map(|(sums, _)| sums)
        .reduce(BothSenses::default, |mut all, part| {
            all.merge(&part);
            all
        })
}
