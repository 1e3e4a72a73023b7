//! The phase of a run in which rows are copied.
//!
//! *Owns:* [`CopyPhase`], and the observer that expects it. *Invariants:* it comes after all steps of the plan.
//! *Cost:* none.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use outset::plan::{Plan, PlannedPhase};
use outset::stats::PhaseStats;
use outset::{Notice, Observer, Options, Stats};

/// The name of the phase of copying.
const COPY: &str = "copy";
/// Its position among the phases: after all steps of the plan.
const COPY_STEP: usize = usize::MAX;

/// The phase in which rows are copied. One that fails does not end.
pub(super) struct CopyPhase<'a> {
    name: String,
    observer: Option<&'a Arc<dyn Observer>>,
    began: Instant,
    bytes: Cell<u64>,
    rows: Cell<u64>,
}

impl<'a> CopyPhase<'a> {
    pub(super) fn begin(copied: &str, bytes: u64, options: &'a Options) -> Self {
        let name = format!("{COPY} {copied}");
        let observer = options.observer.as_ref();
        if let Some(observer) = observer {
            observer.phase_started(&name, Some(COPY_STEP), Some(bytes));
        }
        Self {
            name,
            observer,
            began: Instant::now(),
            bytes: Cell::default(),
            rows: Cell::default(),
        }
    }

    pub(super) fn advance(&self, bytes: u64, rows: u64) {
        self.bytes.update(|all| all + bytes);
        self.rows.update(|all| all + rows);
        if let Some(observer) = self.observer {
            observer.advanced(bytes, rows);
        }
    }

    /// Ends it, and adds it to the phases of a run.
    pub(super) fn end_in(self, stats: &mut Stats) {
        let mut phase = PhaseStats::default();
        phase.name = self.name;
        phase.seconds = self.began.elapsed().as_secs_f64();
        phase.bytes_read = self.bytes.get();
        phase.lines = self.rows.get();
        if let Some(observer) = self.observer {
            observer.phase_finished(&phase);
        }
        stats.seconds += phase.seconds;
        stats.phases.push(phase);
    }
}

/// An observer to which a plan has one more phase: rows are copied, of a file of this many bytes.
pub(super) struct ExpectingCopy(pub(super) Arc<dyn Observer>, pub(super) u64);

impl Observer for ExpectingCopy {
    fn part_started(&self, name: &str) {
        self.0.part_started(name);
    }

    fn planned(&self, plan: &Plan) {
        self.0.planned(plan);
        self.expected(&plan.phases);
    }

    fn expected(&self, phases: &[PlannedPhase]) {
        let copy = PlannedPhase {
            step: COPY_STEP,
            name: COPY,
            bytes_read: self.1,
        };
        self.0.expected(&[phases, &[copy]].concat());
    }

    fn noticed(&self, notice: &Notice) {
        self.0.noticed(notice);
    }

    fn phase_started(&self, name: &str, step: Option<usize>, total_bytes: Option<u64>) {
        self.0.phase_started(name, step, total_bytes);
    }

    fn advanced(&self, bytes_read: u64, lines: u64) {
        self.0.advanced(bytes_read, lines);
    }

    fn phase_finished(&self, phase: &PhaseStats) {
        self.0.phase_finished(phase);
    }
}
