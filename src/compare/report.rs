//! The numbers that a comparison found. The field names are stable: scripts read them.
//!
//! *Owns:* [`Comparison`] and [`RunReport`]. *Invariants:* everything here was counted or
//! measured, except what is called predicted, and the different lines where they are bounds. Sizes
//! are bytes, rates are in 0..1.

use serde::Serialize;

use crate::compare::Mistake;
use crate::estimate::Bounds;
use crate::stats::{InputStats, MemoryStats, PhaseStats, Stats};

/// The exact and the approximate way side by side.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// The crate's version.
    pub version: &'static str,
    /// The command that ran.
    pub command: &'static str,
    /// The operation that both runs did: `intersect`, `diff` or `union`.
    pub operation: &'static str,
    /// The kind of mistake of its approximate result: `false_lines` or `missing_lines`. Their number is in the field of
    /// that name.
    pub mistake: Mistake,
    /// Memory of the process: the limit that each run had, and the peak of all.
    pub memory: MemoryStats,
    /// The most temporary disk at one time, the two results included, so far in this command, in bytes.
    pub temp_peak_bytes: u64,
    /// Wall-clock seconds of this point, the comparing included, but without work that it shares with the point
    /// before.
    pub seconds: f64,
    /// Threads that worked on lines.
    pub threads: usize,
    /// The inputs, in the order given.
    pub inputs: Vec<InputStats>,
    /// The exact run.
    pub exact: RunReport,
    /// The approximate run.
    pub approximate: RunReport,
    /// The different lines of each input of an intersection, in the order given; empty where the limit left no room to
    /// estimate them, and for a difference or a union.
    pub different_lines: Vec<Bounds>,
    /// The different lines that went into the filter: of the smallest input of an intersection, of all but the first of
    /// a difference, of all of a union; `None` if the limit left no room to estimate them.
    pub filter_lines: Option<Bounds>,
    /// The number of different lines that the filter was asked about and that were not put into it: only these could
    /// pass by mistake. For an intersection, the lines of the input that the filter was asked about, less the common
    /// ones; for a difference or a union, the lines of its exact result. `None` if it is not known.
    pub could_pass_lines: Option<Bounds>,
    /// Lines of the approximate result that the exact one does not have: 0 for a difference or a union, as is
    /// promised.
    pub false_lines: u64,
    /// Lines of the exact result that the approximate one does not have: 0 for an intersection, as is promised.
    pub missing_lines: u64,
    /// The false lines of an intersection, or the missing lines of a difference or a union, as a share of what could
    /// pass by mistake; `None` if that is nothing, or not known.
    pub measured_fpr: Option<f64>,
    /// Bounds of the filter's rate that hold in at least 98 of 100 runs. Two things are uncertain: few
    /// mistakes say little about the rate (Clopper and Pearson, 99 %), and the number of different lines is
    /// mostly an estimate (99 %).
    pub measured_fpr_bounds: Option<Bounds>,
    /// The rate predicted from the filter's size and the different lines that went into it, of a union its mean while
    /// the filter fills; `None` where no filter was used, or that number is not known. (`approximate.filter` has the
    /// rate for all lines that went in, repeats included.)
    pub predicted_fpr: Option<f64>,
    /// The prediction for the lower and the upper bound of the different lines.
    pub predicted_fpr_bounds: Option<Bounds>,
    /// The rate that follows from the filter's fill: for a union, that of the last line.
    pub fill_fpr: Option<f64>,
    /// The share of the approximate result's lines that the exact one has, too; 1 if there are none, and for a
    /// difference or a union.
    pub precision: f64,
    /// The share of the exact result's lines that the approximate one has, too; 1 if there are none, and for an
    /// intersection.
    pub recall: f64,
}

impl Comparison {
    /// Returns the number of lines that the approximate result gets wrong in the way that its operation can: the false
    /// lines of an intersection, the missing lines of a difference or a union.
    pub fn mistakes(&self) -> u64 {
        match self.mistake {
            Mistake::FalseLines => self.false_lines,
            Mistake::MissingLines | Mistake::LostLines => self.missing_lines,
        }
    }

    /// Rates the approximate result in 0..1: by the precision of an intersection, or the recall of a difference or
    /// a union.
    pub fn quality(&self) -> f64 {
        match self.mistake {
            Mistake::FalseLines => self.precision,
            Mistake::MissingLines | Mistake::LostLines => self.recall,
        }
    }
}

/// One of the two runs.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// Bytes read, from the inputs and from temporary files.
    pub bytes_read: u64,
    /// Bytes written to temporary files.
    pub bytes_written: u64,
    /// The run's own report.
    #[serde(flatten)]
    pub stats: Stats,
}

impl RunReport {
    /// Adds up what all phases of the run have read and written.
    pub(super) fn new(stats: Stats) -> Self {
        let sum = |bytes: fn(&PhaseStats) -> u64| stats.phases.iter().map(bytes).sum();
        Self {
            bytes_read: sum(|phase| phase.bytes_read),
            bytes_written: sum(|phase| phase.bytes_written),
            stats,
        }
    }
}
