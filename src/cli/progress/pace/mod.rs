//! The speed of work, and the time that it will still take.
//!
//! *Owns:* the arithmetic of progress: bytes and times in, rates and times left out. No clock: the
//! time of each event is passed in, as seconds since any fixed moment, so an hour is tested in
//! microseconds.
//!
//! *Invariants.* A known number takes the place of a planned one: a phase's actual size when it
//! begins, its actual rate when it has one; a phase that was planned and did not come is forgotten, and
//! one that was not planned counts from its beginning. So the time left of all work converges to 0
//! whatever the plan said. *Cost:* a few additions per event; it holds the phases to come.

use std::collections::VecDeque;

use outset::plan::PlannedPhase;

/// The rate covers about this number of seconds: shorter, and it jumps; longer, and it lags behind.
const MEMORY_SECONDS: f64 = 8.0;
/// Samples closer to one another than this are one.
const LEAST_STEP: f64 = 0.05;

/// Follows work through its phases.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Phases of this run that have not begun.
    ahead: VecDeque<PlannedPhase>,
    /// Bytes of further runs.
    runs_ahead: VecDeque<u64>,
    current: Option<Current>,
    /// The work of phases that are over, by their verb.
    done: Vec<(String, Spent)>,
}

/// The progress at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Outlook {
    /// Bytes that the phase went through.
    pub(super) done: u64,
    /// Bytes that it will go through, where that is known.
    pub(super) total: Option<u64>,
    /// Bytes per second of late.
    pub(super) rate: Option<f64>,
    /// Seconds until the end of the phase.
    pub(super) phase_left: Option<f64>,
    /// Seconds until the end of all work, if there is more than this phase.
    pub(super) run_left: Option<f64>,
}

impl Outlook {
    /// Returns the share of the phase that is done, 0..1, where its size is known.
    pub(super) fn share(&self) -> Option<f64> {
        let done = |total: u64| (self.done as f64 / total.max(1) as f64).min(1.0);
        self.total
            .map(|total| if total == 0 { 1.0 } else { done(total) })
    }
}

/// Bytes and the seconds they took.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    bytes: u64,
    seconds: f64,
}

/// The phase that is going on.
#[derive(Debug)]
struct Current {
    verb: String,
    total: Option<u64>,
    start: f64,
    last: f64,
    done: u64,
    /// Mean of the rates of all samples, weighted less the older they are; the weights add up to `weight`.
    rate: f64,
    weight: f64,
}

impl Pace {
    /// Announces the runs ahead, each by the bytes that it will go through; [`Pace::next_run`] begins them.
    pub(super) fn expect_runs(&mut self, bytes: impl IntoIterator<Item = u64>) {
        self.runs_ahead = bytes.into_iter().collect();
    }

    /// Notes that the next of the runs ahead begins, and will soon be planned.
    pub(super) fn next_run(&mut self) {
        self.current = None;
        let bytes = self.runs_ahead.pop_front();
        self.ahead = bytes
            .map(|bytes_read| PlannedPhase {
                // Behind all that it does before it is planned.
                step: usize::MAX,
                name: "",
                bytes_read,
            })
            .into_iter()
            .collect();
    }

    /// Notes that the run is planned; if it was before, it starts over.
    pub(super) fn planned(&mut self, phases: &[PlannedPhase]) {
        self.current = None;
        self.ahead = phases.iter().copied().collect();
    }

    /// Notes that a phase begins at `now`. `step` is that of the phase ahead that it is, if it is one.
    pub(super) fn started(
        &mut self,
        name: &str,
        step: Option<usize>,
        total: Option<u64>,
        now: f64,
    ) {
        // Phases that were to come before it will not come any more.
        let over = |phase: &PlannedPhase| step.is_some_and(|step| phase.step <= step);
        let over = self.ahead.iter().take_while(|phase| over(phase)).count();
        let planned = self.ahead.drain(..over).next_back();
        let planned = planned.filter(|phase| Some(phase.step) == step);
        let first_word = || name.split(' ').next().unwrap_or_default();
        self.current = Some(Current {
            verb: planned.map_or_else(first_word, |it| it.name).to_owned(),
            total,
            start: now,
            last: now,
            done: 0,
            rate: 0.0,
            weight: 0.0,
        });
    }

    /// Notes that the phase has processed `done` bytes by `now`. Called at least a few times a second, also when
    /// nothing moves.
    pub(super) fn sample(&mut self, done: u64, now: f64) {
        let Some(current) = &mut self.current else {
            return;
        };
        let step = now - current.last;
        if step < LEAST_STEP {
            return;
        }
        let rate = done.saturating_sub(current.done) as f64 / step;
        let kept = (-step / MEMORY_SECONDS).exp();
        current.rate = current.rate * kept + rate * (1.0 - kept);
        current.weight = current.weight * kept + (1.0 - kept);
        (current.done, current.last) = (done, now);
    }

    /// Notes that the phase is over, and took `seconds` for `bytes`.
    pub(super) fn finished(&mut self, bytes: u64, seconds: f64) {
        let Some(current) = self.current.take() else {
            return;
        };
        let known = self.done.iter().position(|(verb, _)| *verb == current.verb);
        let index = known.unwrap_or_else(|| {
            self.done.push((current.verb, Spent::default()));
            self.done.len() - 1
        });
        self.done[index].1.add(Spent { bytes, seconds });
    }

    /// Returns the progress as of the last sample.
    pub(super) fn outlook(&self) -> Outlook {
        let Some(current) = &self.current else {
            return Outlook {
                run_left: self.seconds_ahead(),
                ..Outlook::default()
            };
        };
        let rate = current.recent_rate();
        let left = current
            .total
            .map(|total| total.saturating_sub(current.done));
        let phase_left = left.and_then(|left| seconds(left, rate));
        let run_left = match (phase_left, self.seconds_ahead()) {
            (Some(phase), Some(ahead)) if self.has_more() => Some(phase + ahead),
            _ => None,
        };
        Outlook {
            done: current.done,
            total: current.total,
            rate,
            phase_left,
            run_left,
        }
    }

    fn has_more(&self) -> bool {
        !self.ahead.is_empty() || !self.runs_ahead.is_empty()
    }

    /// Seconds for what has not begun.
    fn seconds_ahead(&self) -> Option<f64> {
        let phases = self
            .ahead
            .iter()
            .map(|phase| (phase.name, phase.bytes_read));
        let runs = self.runs_ahead.iter().map(|&bytes| ("", bytes));
        phases
            .chain(runs)
            .map(|(verb, bytes)| seconds(bytes, self.expected_rate(verb)))
            .sum()
    }

    /// Returns the mean rate of phases of this verb so far, or of all phases if there were none.
    fn expected_rate(&self, verb: &str) -> Option<f64> {
        self.spent(|other| other == verb)
            .rate()
            .or_else(|| self.spent(|_| true).rate())
    }

    /// Adds up the work of phases whose verb `is_wanted`.
    fn spent(&self, is_wanted: impl Fn(&str) -> bool) -> Spent {
        let mut sum = Spent::default();
        let over = self.done.iter().filter(|(verb, _)| is_wanted(verb));
        over.for_each(|(_, spent)| sum.add(*spent));
        if let Some(current) = self.current.as_ref().filter(|c| is_wanted(&c.verb)) {
            sum.add(current.spent());
        }
        sum
    }
}

impl Current {
    fn recent_rate(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.rate / self.weight)
    }

    fn spent(&self) -> Spent {
        Spent {
            bytes: self.done,
            seconds: self.last - self.start,
        }
    }
}

impl Spent {
    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.seconds += other.seconds;
    }

    fn rate(self) -> Option<f64> {
        (self.bytes > 0 && self.seconds > 0.0).then(|| self.bytes as f64 / self.seconds)
    }
}

/// Seconds for `bytes` at `rate`, unless nothing moves.
fn seconds(bytes: u64, rate: Option<f64>) -> Option<f64> {
    if bytes == 0 {
        return Some(0.0);
    }
    rate.filter(|rate| *rate >= 1.0)
        .map(|rate| bytes as f64 / rate)
}

#[cfg(test)]
mod tests;
