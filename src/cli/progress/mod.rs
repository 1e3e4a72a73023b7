//! Progress: what is going on, how far, how fast, how long still.
//!
//! *Owns:* the display of a run while it goes on: [`pace`] computes
//! it, [`line`] puts it in words, [`screen`](super::screen) shows it.
//! *Invariants:* nothing is shown where standard error is no terminal, unless asked for, and then as plain
//! lines or as JSON; nothing is left on a terminal. *Cost:* an atomic addition per chunk; whatever else there
//! is to do, a thread of its own does, five times a second.

mod line;
mod pace;

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use outset::plan::{Plan, PlannedPhase};
use outset::stats::PhaseStats;
use outset::{Notice, Observer};
use parking_lot::{Mutex, MutexGuard};

use super::options::{TalkArguments, When};
use super::screen::{self, LineStyle, warn};
use crate::cli::numbers;
use line::{bar_text, event_text, last_text, phase_summary, plain_text};
use pace::Pace;

/// The longest time that the end of a run waits for the terminal to be clean.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tells a person how a run goes. There is one at a time.
pub(crate) struct Reporter {
    is_verbose: bool,
    /// The form in which progress is shown, if it is.
    shown: Option<LineStyle>,
    /// True if notices are passed on.
    tells_notices: bool,
    watched: Arc<Watched>,
}

/// The state that the run updates and the drawing thread reads.
struct Watched {
    start: Instant,
    /// Bytes that the phase went through: all that is touched from worker threads.
    bytes: AtomicU64,
    story: Mutex<Story>,
}

#[derive(Default)]
struct Story {
    pace: Pace,
    /// The part of the command that the run is; empty if it is all there is.
    part: String,
    /// The name of the phase that is going on.
    phase: Option<String>,
    /// The notices that were passed on, so that each is said once.
    reported: Vec<Notice>,
    /// The lines for a run that goes on, or is complete.
    announced: Vec<String>,
    /// The line about the last phase, for when the next begins or the run is complete: a phase also ends where the
    /// run fails, and it has not done then what it says.
    last_phase: Option<String>,
}

impl Reporter {
    /// Makes a reporter for these wishes and this terminal.
    pub(crate) fn new(wishes: &TalkArguments) -> Self {
        let watched = Arc::new(Watched {
            start: Instant::now(),
            bytes: AtomicU64::new(0),
            story: Mutex::default(),
        });
        let drawn = watched.clone();
        let shown =
            kind(wishes).filter(|&kind| screen::show(kind, move |kind| drawn.line(kind)).is_ok());
        Self {
            is_verbose: wishes.verbose,
            shown,
            tells_notices: !wishes.quiet,
            watched,
        }
    }

    /// Stops passing on notices if `is_beside_report`: a report on standard error can then be parsed.
    pub(crate) fn without_notices_if(self, is_beside_report: bool) -> Self {
        // Dropped, a reporter ends what it shows: it is changed in place.
        let mut reporter = self;
        reporter.tells_notices &= !is_beside_report;
        reporter
    }

    /// Announces the runs to come, each by the bytes that it will go through (the sum of its plan's
    /// phases): they count in the time left.
    pub(crate) fn expect(&self, runs: Vec<u64>) {
        self.watched.story().pace.expect_runs(runs);
    }

    /// Says these lines when the first phase begins where somebody watches, and else when the run is complete: one that
    /// fails has nothing to say but why.
    pub(crate) fn announce(&self, lines: Vec<String>) {
        if self.tells_notices {
            self.watched.story().announced.extend(lines);
        }
    }

    /// Says what was announced, and what the last phase did, once.
    fn tell_waiting(&self) {
        let lines = {
            let mut story = self.watched.story();
            let announced = std::mem::take(&mut story.announced);
            announced.into_iter().chain(story.last_phase.take())
        };
        lines.for_each(|line| warn(&line));
    }

    /// Says the rest of a run that is complete, and clears what is drawn. Nothing is drawn any more.
    pub(crate) fn finish(&self) {
        self.tell_waiting();
        self.end_screen();
    }

    /// Tells whether it says what each phase did. A program has that in the statistics.
    fn tells_phases(&self) -> bool {
        self.is_verbose || self.shown.is_some_and(|kind| kind != LineStyle::Event)
    }

    fn end_screen(&self) {
        if self.shown.is_some() {
            screen::end(PATIENCE);
        }
    }
}

impl Drop for Reporter {
    /// Ends the screen: before an error is reported, too, so that it is known what became of the last phase.
    fn drop(&mut self) {
        self.end_screen();
    }
}

/// Chooses the form in which progress is shown, if it is.
fn kind(wishes: &TalkArguments) -> Option<LineStyle> {
    // One that does not say what it is understands no control sequences.
    let is_dumb = std::env::var_os("TERM").is_none_or(|name| name.is_empty() || name == "dumb");
    let is_terminal = io::stderr().is_terminal() && !is_dumb;
    match (wishes.progress, is_terminal) {
        (When::Never, _) | (When::Auto, false) => None,
        (When::Json, _) => Some(LineStyle::Event),
        (When::Auto, true) => (!wishes.quiet).then_some(LineStyle::Bar),
        (When::Always, true) => Some(LineStyle::Bar),
        (When::Always, false) => Some(LineStyle::Plain),
    }
}

impl Watched {
    fn story(&self) -> MutexGuard<'_, Story> {
        self.story.lock()
    }

    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Returns the line for this moment, if anything is going on.
    fn line(&self, kind: LineStyle) -> Option<String> {
        let mut story = self.story();
        let Some(phase) = story.phase.as_deref() else {
            return story.last_phase.clone().filter(|_| kind == LineStyle::Last);
        };
        let name = story.full_name(phase);
        story
            .pace
            .sample(self.bytes.load(Ordering::Relaxed), self.seconds());
        let outlook = story.pace.outlook();
        Some(match kind {
            LineStyle::Bar => bar_text(&name, !story.part.is_empty(), &outlook, screen::columns()),
            LineStyle::Plain => plain_text(&name, &outlook),
            LineStyle::Event => event_text(&story.part, story.phase.as_deref()?, &outlook),
            LineStyle::Last => last_text(&name, &outlook),
        })
    }
}

impl Story {
    fn full_name(&self, phase: &str) -> String {
        if self.part.is_empty() {
            phase.to_owned()
        } else {
            format!("{}: {phase}", self.part)
        }
    }
}

impl Observer for Reporter {
    /// Its name is put before those of its phases.
    fn part_started(&self, name: &str) {
        let mut story = self.watched.story();
        name.clone_into(&mut story.part);
        story.pace.next_run();
    }

    fn planned(&self, plan: &Plan) {
        self.expected(&plan.phases);
        if self.is_verbose {
            let costs = &plan.costs;
            warn(&format!(
                "memory limit {}; strategy {}; {}; about {} to read and {} to write",
                numbers::bytes(plan.limit_bytes()),
                costs.strategy,
                numbers::counted(costs.buckets.into(), "bucket"),
                numbers::bytes(costs.bytes_read),
                numbers::bytes(costs.bytes_written),
            ));
        }
    }

    fn expected(&self, phases: &[PlannedPhase]) {
        self.watched.story().pace.planned(phases);
    }

    fn noticed(&self, notice: &Notice) {
        let is_new = {
            let mut story = self.watched.story();
            let is_new = !story.reported.contains(notice);
            if is_new {
                story.reported.push(notice.clone());
            }
            is_new
        };
        if self.tells_notices && is_new {
            warn(&notice.to_string());
        }
    }

    fn phase_started(&self, name: &str, step: Option<usize>, total_bytes: Option<u64>) {
        if self.tells_phases() {
            self.tell_waiting();
        }
        let mut story = self.watched.story();
        self.watched.bytes.store(0, Ordering::Relaxed);
        story.phase = Some(name.to_owned());
        story
            .pace
            .started(name, step, total_bytes, self.watched.seconds());
    }

    fn advanced(&self, bytes_read: u64, _lines: u64) {
        if self.shown.is_some() {
            self.watched.bytes.fetch_add(bytes_read, Ordering::Relaxed);
        }
    }

    fn phase_finished(&self, phase: &PhaseStats) {
        let mut story = self.watched.story();
        story.phase = None;
        story.pace.finished(phase.bytes_read, phase.seconds);
        if self.tells_phases() {
            let name = story.full_name(&phase.name);
            let before = story.last_phase.replace(phase_summary(&name, phase));
            drop(story);
            if let Some(before) = before {
                warn(&before);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_runs_have_their_labels_and_count_in_the_time_left() {
        let reporter = Reporter {
            is_verbose: false,
            shown: None,
            tells_notices: true,
            watched: Arc::new(Watched {
                start: Instant::now(),
                bytes: AtomicU64::new(0),
                story: Mutex::default(),
            }),
        };
        assert!(reporter.watched.line(LineStyle::Plain).is_none());
        reporter.expect(vec![100, 200]);
        reporter.part_started("exact");
        reporter.phase_started("spill a", Some(0), Some(100));
        let line = reporter.watched.line(LineStyle::Plain);
        assert_eq!(line, Some("exact: spill a: 0% of 100 B".to_owned()));
        let mut spilled = PhaseStats::default();
        (spilled.name, spilled.seconds, spilled.bytes_read) = ("spill a".into(), 10.0, 100);
        reporter.phase_finished(&spilled);
        reporter.part_started("approximate");
        assert_eq!(reporter.watched.story().pace.outlook().run_left, Some(20.0));
    }
}
