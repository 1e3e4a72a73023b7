//! Watching a run from outside.
//!
//! *Owns:* the one trait through which the engine reports how it gets on; who draws or logs
//! implements it. *Invariants:* an observer cannot change a run, and a run without one does no work
//! for it. *Cost:* one call per chunk or block.

use crate::notice::Notice;
use crate::plan::{Plan, PlannedPhase};
use crate::stats::PhaseStats;

/// Follows a run. Called from worker threads, once per chunk or block: keep it short.
pub trait Observer: Send + Sync {
    /// Hears that a part of a command begins that consists of several runs, such as the exact one of a comparison.
    fn part_started(&self, name: &str) {
        let _ = name;
    }

    /// Hears that the run is planned (again, if a first plan turned out not to fit).
    fn planned(&self, plan: &Plan) {
        let _ = plan;
    }

    /// Hears which phases come next in work that needs no plan: an estimate, or a filter's. (Those of a run are in its
    /// [`Plan`].)
    fn expected(&self, phases: &[PlannedPhase]) {
        let _ = phases;
    }

    /// Hears something that the user should know. A command of several runs may report it several times.
    fn noticed(&self, notice: &Notice) {
        let _ = notice;
    }

    /// Hears that a phase begins. `step` is the [`PlannedPhase::step`] of the expected phase that it is, if it was
    /// expected: phases that were to come before it will not come any more. `total_bytes` is the number of bytes that
    /// it will read, if known.
    fn phase_started(&self, name: &str, step: Option<usize>, total_bytes: Option<u64>) {
        let _ = (name, step, total_bytes);
    }

    /// This many more bytes were read, and lines seen.
    fn advanced(&self, bytes_read: u64, lines: u64) {
        let _ = (bytes_read, lines);
    }

    /// Hears that a phase is over.
    fn phase_finished(&self, phase: &PhaseStats) {
        let _ = phase;
    }
}
