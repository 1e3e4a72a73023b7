//! From what was counted to the rates of a comparison.
//!
//! *Owns:* the formulas. *Invariants:* rates are in 0..1; a rate of nothing is none.
//!
//! ```text
//!                 intersection                                       difference, union
//! mistakes        false lines: approximate result - exact one        missing lines: exact result - approximate one
//! could pass      different lines asked about - common lines         exact result
//! in the filter   different lines of the smallest input              different lines of all inputs but the first; of a
//!                                                                    union, of all
//! both results    approximate result - false lines                   exact result - missing lines
//!
//! measured rate = mistakes / lines that could pass by mistake
//! predicted     = formula of a blocked filter, for its bits and the different lines that went in; of a union its mean
//!                 from the first line to the last
//! by the fill   = from the bits that are set in the filter
//! precision     = lines of both results / approximate result
//! recall        = lines of both results / exact result
//! ```

use crate::compare::distinct::DistinctLines;
use crate::compare::{Comparison, Mistake, RunReport};
use crate::estimate::Bounds;
use crate::filter::sizing::{blocked_fpr, blocked_fpr_while_filling};
use crate::sketch::proportion;
use crate::stats::{MemoryStats, Stats};
use crate::sys::machine;

/// The counts of a comparison; its rates follow from them.
pub(super) struct Counts {
    pub(super) operation: &'static str,
    pub(super) mistake: Mistake,
    pub(super) exact: Stats,
    pub(super) approximate: Stats,
    /// Lines that one result has and the other has not, in the way of `mistake`.
    pub(super) mistakes: u64,
    pub(super) distinct: DistinctLines,
    /// Wall-clock time of this point.
    pub(super) seconds: f64,
    /// Of all runs and results so far in this command, at one time.
    pub(super) temp_peak_bytes: u64,
}

impl Counts {
    pub(super) fn report(self) -> Comparison {
        let (right, answered) = (self.exact.output.lines, self.approximate.output.lines);
        let both = self.lines_of_both();
        let could_pass_lines = self.could_pass_lines();
        let measured = could_pass_lines.and_then(|all| rate(self.mistakes, all));
        let filter_lines = self.filter_lines();
        let predicted = self.predicted_fpr(filter_lines);
        Comparison {
            version: self.exact.version,
            command: "compare",
            operation: self.operation,
            mistake: self.mistake,
            memory: self.memory(),
            temp_peak_bytes: self.temp_peak_bytes,
            seconds: self.seconds,
            threads: self.exact.threads,
            inputs: self.exact.inputs.clone(),
            different_lines: self.distinct.each,
            filter_lines,
            could_pass_lines,
            false_lines: answered.saturating_sub(both),
            missing_lines: right.saturating_sub(both),
            measured_fpr: measured.map(|bounds| bounds.estimate),
            measured_fpr_bounds: measured,
            predicted_fpr: predicted.map(|bounds| bounds.estimate),
            predicted_fpr_bounds: predicted,
            fill_fpr: self.approximate.filter.as_ref().map(|it| it.fill_fpr),
            precision: share(both, answered),
            recall: share(both, right),
            exact: RunReport::new(self.exact),
            approximate: RunReport::new(self.approximate),
        }
    }

    /// Returns the number of lines that both results have.
    fn lines_of_both(&self) -> u64 {
        let all = match self.mistake {
            Mistake::FalseLines => self.approximate.output.lines,
            Mistake::MissingLines | Mistake::LostLines => self.exact.output.lines,
        };
        all.saturating_sub(self.mistakes)
    }

    /// Returns the number of different lines in the filter, as far as it is known.
    fn filter_lines(&self) -> Option<Bounds> {
        match self.mistake {
            Mistake::LostLines => Some(Bounds::exactly(self.exact.output.lines as f64)),
            Mistake::FalseLines | Mistake::MissingLines => self.distinct.in_filter,
        }
    }

    /// Predicts the rate of the filter for so many different lines in it.
    fn predicted_fpr(&self, lines: Option<Bounds>) -> Option<Bounds> {
        let filter = self.approximate.filter.as_ref()?;
        let of_filter = match self.mistake {
            Mistake::LostLines => blocked_fpr_while_filling,
            Mistake::FalseLines | Mistake::MissingLines => blocked_fpr,
        };
        let rate = |keys: f64| of_filter(filter.bits as f64 / keys.max(1.0), filter.hashes);
        lines.map(|keys| Bounds {
            estimate: rate(keys.estimate),
            low: rate(keys.low),
            high: rate(keys.high),
        })
    }

    /// Returns the largest of three peaks. Each of the two runs resets the peak when it begins, so the present one is
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

    /// Returns the number of different lines that the filter was asked about and does not have. Mistakes are certainly
    /// among them, so no bound is lower than their number.
    fn could_pass_lines(&self) -> Option<Bounds> {
        let right = self.exact.output.lines as f64;
        match self.mistake {
            Mistake::FalseLines => {
                let asked = self.distinct.asked?;
                Some(asked.minus(right, self.mistakes as f64))
            }
            Mistake::MissingLines | Mistake::LostLines => Some(Bounds::exactly(right)),
        }
    }
}

/// Returns `part` as a share of `all`; 1 of nothing.
fn share(part: u64, all: u64) -> f64 {
    if all == 0 {
        1.0
    } else {
        part as f64 / all as f64
    }
}

/// Bounds the rate of a filter that let `count` of about `all` lines pass; `None` if there may be no such lines. The
/// lower bound assumes the most lines, the upper one the fewest: hence 98 % for two bounds of 99 %.
fn rate(count: u64, all: Bounds) -> Option<Bounds> {
    (all.low >= 1.0).then(|| Bounds {
        estimate: (count as f64 / all.estimate).min(1.0),
        low: proportion(count, all.high as u64).low,
        high: proportion(count, all.low as u64).high,
    })
}
