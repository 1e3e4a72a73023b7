//! The phase of a run in which rows are copied.
//!
//! *Owns:* [`CopyPhase`], and the observer that expects it. *Invariants:* it comes after all steps of the plan.
//! *Cost:* none.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use outset::plan::{Plan, PlannedPhase};
use outset::stats::PhaseStats;
use outset::{Observer, Options, Stats};

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

/// Tells an observer of one more phase behind those of each plan: rows are copied, of files of this many bytes.
pub(super) struct ExpectingCopy(pub(super) Arc<dyn Observer>, pub(super) u64);

impl Observer for ExpectingCopy {
    fn planned(&self, plan: &Plan) {
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
}
