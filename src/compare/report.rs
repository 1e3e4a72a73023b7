//! What a comparison found, in numbers. The field names are stable: scripts read them.
//!
//! *Owns:* [`Comparison`] and the rates that follow from its counts. *Invariants:* everything here was counted or
//! measured, except what is called predicted, and the different lines where they are bounds. Sizes
//! are bytes, rates are in 0..1.
//!
//! ```text
//! measured rate = false lines / lines that could pass by mistake
//!                               = different lines of the input that was asked about - common lines
//! predicted     = formula of a blocked filter, for its bits and the different lines that went in
//! by the fill   = from the bits that are set in the filter
//! precision     = common lines / approximate result
//! ```

use serde::Serialize;

use crate::estimate::Bounds;
use crate::filter::sizing::blocked_fpr;
use crate::sketch::proportion;
use crate::stats::{InputStats, MemoryStats, PhaseStats, Stats};
use crate::sys::machine;

/// The exact and the approximate way beside each other.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// The crate's version.
    pub version: &'static str,
    /// The command that ran.
    pub command: &'static str,
    /// Memory of the process: the limit that each run had, and the peak of all.
    pub memory: MemoryStats,
    /// The most temporary disk at one time, the two results included, so far in this command, in bytes.
    pub temp_peak_bytes: u64,
    /// Wall-clock seconds of this point, the comparing included; what it shares with the point before
    /// is not in it.
    pub seconds: f64,
    /// Threads that worked on lines.
    pub threads: usize,
    /// The inputs, in the order given.
    pub inputs: Vec<InputStats>,
    /// The exact run.
    pub exact: RunReport,
    /// The approximate run.
    pub approximate: RunReport,
    /// The different lines of each input, in the order given; empty where the limit left no room to
    /// estimate them.
    pub different_lines: Vec<Bounds>,
    /// Different lines of the input that went past the filter, less those that are common: what could pass by
    /// mistake; `None` where it is not known.
    pub could_pass_lines: Option<Bounds>,
    /// Lines of the approximate result that the exact one does not have.
    pub false_lines: u64,
    /// Lines of the exact result that the approximate one does not have: 0, as is promised.
    pub missing_lines: u64,
    /// The false lines as a share of what could pass by mistake; `None` where that is nothing, or not
    /// known.
    pub measured_fpr: Option<f64>,
    /// Bounds of the filter's rate that hold in at least 98 of 100 runs. Two things are uncertain: few false
    /// lines say little about the rate (Clopper and Pearson, 99 %), and the number of different lines is
    /// mostly an estimate (99 %).
    pub measured_fpr_bounds: Option<Bounds>,
    /// The rate predicted from the filter's size and the different lines that went into it; `None`
    /// where no filter was used, or that number is not known. (`approximate.filter` has the rate for
    /// all lines that went in, repeats included.)
    pub predicted_fpr: Option<f64>,
    /// The prediction for the lower and the upper bound of the different lines.
    pub predicted_fpr_bounds: Option<Bounds>,
    /// The rate that follows from the filter's fill.
    pub fill_fpr: Option<f64>,
    /// The common lines as a share of the approximate result; 1 if that is empty.
    pub precision: f64,
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

/// What was counted; the rates follow from it.
pub(super) struct Counts {
    pub(super) exact: Stats,
    pub(super) approximate: Stats,
    /// Lines of the approximate result that the exact one does not have.
    pub(super) false_lines: u64,
    /// Of each input; empty where it is not known.
    pub(super) different_lines: Vec<Bounds>,
    /// Which input went into the filter, as an index into `different_lines`.
    pub(super) build: usize,
    /// Wall-clock time of this point.
    pub(super) seconds: f64,
    /// Of all runs and results so far in this command, at one time.
    pub(super) temp_peak_bytes: u64,
}

impl Counts {
    pub(super) fn report(self) -> Comparison {
        let (common, answered) = (self.exact.output.lines, self.approximate.output.lines);
        // Lines that both results have.
        let found = answered - self.false_lines;
        let filter = self.approximate.filter.as_ref();
        let keys = self.different_lines.get(self.build).copied();
        let predicted_fpr_bounds = filter.zip(keys).map(|(filter, keys)| {
            let rate = |keys: f64| blocked_fpr(filter.bits as f64 / keys.max(1.0), filter.hashes);
            Bounds {
                estimate: rate(keys.estimate),
                low: rate(keys.low),
                high: rate(keys.high),
            }
        });
        let could_pass_lines = self.could_pass_lines(common);
        let measured_fpr_bounds = could_pass_lines.and_then(|all| rate(self.false_lines, all));
        Comparison {
            version: self.exact.version,
            command: "compare",
            memory: self.memory(),
            seconds: self.seconds,
            false_lines: self.false_lines,
            missing_lines: common - found.min(common),
            measured_fpr: measured_fpr_bounds.map(|bounds| bounds.estimate),
            measured_fpr_bounds,
            predicted_fpr: predicted_fpr_bounds.map(|bounds| bounds.estimate),
            predicted_fpr_bounds,
            temp_peak_bytes: self.temp_peak_bytes,
            threads: self.exact.threads,
            inputs: self.exact.inputs.clone(),
            fill_fpr: filter.map(|filter| filter.fill_fpr),
            precision: if answered == 0 {
                1.0
            } else {
                found as f64 / answered as f64
            },
            could_pass_lines,
            different_lines: self.different_lines,
            exact: RunReport::new(self.exact),
            approximate: RunReport::new(self.approximate),
        }
    }

    /// The largest of three peaks. Each of the two runs resets the peak when it begins, so the present one is
    /// that of the last run and of the comparing after it.
    fn memory(&self) -> MemoryStats {
        let peaks = [
            self.exact.memory.peak_rss_bytes,
            self.approximate.memory.peak_rss_bytes,
            machine::peak_resident_bytes(),
        ];
        MemoryStats {
            peak_rss_bytes: peaks.into_iter().max().unwrap_or(0),
            ..self.exact.memory
        }
    }

    /// The different lines of the input that went past the filter, less the common ones. The false lines are
    /// certainly among them, so no bound is lower than their number.
    fn could_pass_lines(&self, common: u64) -> Option<Bounds> {
        let last = self.different_lines.len().saturating_sub(1);
        let probe = if self.build == last { 0 } else { last };
        let all = self.different_lines.get(probe)?;
        Some(all.minus(common as f64, self.false_lines as f64))
    }
}

/// The rate of a filter that let `count` of about `all` lines pass; `None` where there may be no such lines.
/// The lower bound assumes the most lines, the upper one the fewest: hence 98 % for two bounds of 99 %.
fn rate(count: u64, all: Bounds) -> Option<Bounds> {
    (all.low >= 1.0).then(|| Bounds {
        estimate: (count as f64 / all.estimate).min(1.0),
        low: proportion(count, all.high as u64).low,
        high: proportion(count, all.low as u64).high,
    })
}
