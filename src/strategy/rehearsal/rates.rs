//! How fast passes were, and what follows for the phases of a plan.
//!
//! *Owns:* the arithmetic. *Invariants:* no I/O, no clock: a rate is that of a phase that was recorded. *Cost:* none
//! that counts.

use crate::plan::PlannedPhase;
use crate::run::Run;
use crate::stats::PhaseStats;

/// What a pass over a slice took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    /// Bytes read.
    bytes: f64,
    seconds: f64,
}

impl Measured {
    /// The phase that has just ended.
    pub(super) fn last(run: &Run<'_>) -> Self {
        let record = run.record();
        let of = |phase: &PhaseStats| Self {
            bytes: phase.bytes_read as f64,
            seconds: phase.seconds,
        };
        record.phases.last().map_or(Self::NOTHING, of)
    }

    const NOTHING: Self = Self {
        bytes: 0.0,
        seconds: 0.0,
    };

    /// What a longer slice took beyond `short`: without what a pass costs however short it is, such as threads,
    /// files, and blocks that are not full. All of it where the clock says that the longer one took no longer.
    pub(super) fn beyond(self, short: Self) -> Self {
        let more = Self {
            bytes: self.bytes - short.bytes,
            seconds: self.seconds - short.seconds,
        };
        if more.bytes > 0.0 && more.seconds > 0.0 {
            more
        } else {
            self
        }
    }

    /// This, unless nothing was read.
    pub(super) fn if_any(self) -> Option<Self> {
        (self.bytes > 0.0).then_some(self)
    }

    /// Bytes read a second, 1 or more.
    pub(super) fn rate(self) -> f64 {
        (self.bytes / self.seconds.max(1e-6)).max(1.0)
    }
}

/// What was measured for each kind of phase; `None` where the plan has no such phase.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rates {
    pub(super) filter: Option<Measured>,
    /// The first spill, through the planned filter.
    pub(super) spill: Option<Measured>,
    /// The others, where they go through a filter of survivors, or write no line that a filter refuses.
    pub(super) further_spill: Option<Measured>,
    /// A filter of survivors that is built from their buckets.
    pub(super) survivors: Option<Measured>,
    pub(super) join: Option<Measured>,
    pub(super) build: Option<Measured>,
    pub(super) probe: Option<Measured>,
    /// The seconds of all files of buckets together, where these are very many; the spills share them.
    pub(super) files_seconds: Option<f64>,
}

impl Rates {
    /// `phases`, each with the seconds that it takes.
    pub(super) fn predict(&self, phases: &[PlannedPhase]) -> Vec<PlannedPhase> {
        let first = phases.iter().position(|phase| phase.name == "spill");
        let spills = phases.iter().filter(|phase| phase.name == "spill").count();
        let of_files = self.files_seconds.unwrap_or(0.0) / spills.max(1) as f64;
        let predict = |(index, phase): (usize, &PlannedPhase)| {
            let measured = self.of(phase.name, first == Some(index));
            PlannedPhase {
                predicted_seconds: measured.map(|it| {
                    let files = if phase.name == "spill" { of_files } else { 0.0 };
                    phase.bytes_read as f64 / it.rate() + files
                }),
                ..*phase
            }
        };
        phases.iter().enumerate().map(predict).collect()
    }

    /// What was measured for phases of this name; `is_first` is said of the first spill.
    fn of(&self, name: &str, is_first: bool) -> Option<Measured> {
        match name {
            "filter" => self.filter,
            "spill" if is_first => self.spill,
            "spill" => self.further_spill.or(self.spill),
            "filter survivors" => self.survivors,
            "join" => self.join,
            "build" => self.build,
            "probe" => self.probe,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(bytes: f64, seconds: f64) -> Measured {
        Measured { bytes, seconds }
    }

    #[test]
    fn what_a_pass_costs_however_short_it_is_does_not_count() {
        let (short, long) = (at(100.0, 1.5), at(500.0, 3.5));
        assert_eq!(long.beyond(short), at(400.0, 2.0));
        assert_eq!(at(500.0, 1.0).beyond(short), at(500.0, 1.0));
        assert_eq!(short.beyond(short), short);
    }

    #[test]
    fn d6_very_many_files_are_made_by_the_spills() {
        let rates = Rates {
            spill: Some(at(100.0, 1.0)),
            join: Some(at(100.0, 1.0)),
            files_seconds: Some(10.0),
            ..Rates::default()
        };
        let phase = |name| PlannedPhase {
            name,
            bytes_read: 200,
            predicted_seconds: None,
        };
        let predicted = rates.predict(&["spill", "spill", "join"].map(phase));
        let seconds: Vec<_> = predicted.iter().map(|it| it.predicted_seconds).collect();
        assert_eq!(seconds, [Some(7.0), Some(7.0), Some(2.0)]);
    }

    #[test]
    fn each_phase_has_the_rate_of_its_kind() {
        let rates = Rates {
            spill: Some(at(100.0, 1.0)),
            further_spill: Some(at(200.0, 1.0)),
            join: Some(at(50.0, 1.0)),
            ..Rates::default()
        };
        let phase = |name| PlannedPhase {
            name,
            bytes_read: 200,
            predicted_seconds: None,
        };
        let phases = ["filter", "spill", "spill", "join", "order"].map(phase);
        let predicted = rates.predict(&phases);
        let seconds: Vec<_> = predicted.iter().map(|it| it.predicted_seconds).collect();
        assert_eq!(seconds, [None, Some(2.0), Some(1.0), Some(4.0), None]);
    }
}
