//! Progress: what is going on, how far, how fast, how long still.
//!
//! *Owns:* the drawing; the engine only reports. *Invariants:* nothing is drawn where standard
//! error is no terminal, unless asked for, and then as plain lines. *Cost:* a few atomic additions
//! per chunk; drawing is limited to a few times a second.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use outset::Observer;
use outset::plan::Plan;
use outset::size::{display_bytes, display_count};
use outset::stats::PhaseStats;

use super::options::{TalkArguments, When};
use super::say;

/// How often a plain line is printed.
const PLAIN_INTERVAL: Duration = Duration::from_secs(2);

/// Tells a person how a run goes.
pub(crate) struct Reporter {
    is_verbose: bool,
    drawing: Drawing,
}

enum Drawing {
    Off,
    Bar(ProgressBar),
    Plain(Mutex<PlainPhase>),
}

/// A phase shown as plain lines.
struct PlainPhase {
    name: String,
    total: Option<u64>,
    done: u64,
    start: Instant,
    last: Instant,
}

impl Reporter {
    /// A reporter for these wishes and this terminal.
    pub(crate) fn new(wishes: &TalkArguments) -> Self {
        let (is_verbose, is_quiet) = (wishes.verbose, wishes.quiet);
        let is_terminal = io::stderr().is_terminal();
        let drawing = match (wishes.progress, is_terminal) {
            (When::Never, _) | (When::Auto, false) => Drawing::Off,
            (When::Auto, true) if is_quiet => Drawing::Off,
            (_, true) => Drawing::Bar(ProgressBar::with_draw_target(
                None,
                ProgressDrawTarget::stderr_with_hz(5),
            )),
            (When::Always, false) => Drawing::Plain(Mutex::new(PlainPhase::new("", None))),
        };
        Self {
            is_verbose,
            drawing,
        }
    }

    /// Clears what is drawn.
    pub(crate) fn finish(&self) {
        if let Drawing::Bar(bar) = &self.drawing {
            bar.finish_and_clear();
        }
    }

    fn say(&self, message: &str) {
        match &self.drawing {
            Drawing::Bar(bar) => bar.suspend(|| say(message)),
            _ => say(message),
        }
    }
}

impl Observer for Reporter {
    fn planned(&self, plan: &Plan) {
        if self.is_verbose {
            let costs = &plan.costs;
            self.say(&format!(
                "memory limit {}; strategy {}; {} buckets; about {} to read and {} to write",
                display_bytes(plan.limit_bytes()),
                costs.strategy,
                costs.buckets,
                display_bytes(costs.bytes_read),
                display_bytes(costs.bytes_written),
            ));
        }
    }

    fn phase_started(&self, name: &str, total_bytes: Option<u64>) {
        match &self.drawing {
            Drawing::Off => {}
            Drawing::Bar(bar) => {
                bar.reset();
                bar.set_style(style(total_bytes.is_some()));
                bar.set_length(total_bytes.unwrap_or(0));
                bar.set_message(name.replace(char::is_control, "?"));
            }
            Drawing::Plain(phase) => *lock(phase) = PlainPhase::new(name, total_bytes),
        }
    }

    fn advanced(&self, bytes_read: u64, _lines: u64) {
        match &self.drawing {
            Drawing::Off => {}
            Drawing::Bar(bar) => bar.inc(bytes_read),
            Drawing::Plain(phase) => {
                let mut phase = lock(phase);
                phase.done += bytes_read;
                if phase.last.elapsed() >= PLAIN_INTERVAL {
                    phase.last = Instant::now();
                    say(&phase.line());
                }
            }
        }
    }

    fn phase_finished(&self, phase: &PhaseStats) {
        let line = || {
            format!(
                "{}: {} lines, {} in {:.2} s, {}/s",
                phase.name,
                display_count(phase.lines).to_string().trim(),
                display_bytes(phase.bytes_read),
                phase.seconds,
                display_bytes((phase.bytes_read as f64 / phase.seconds.max(1e-6)) as u64),
            )
        };
        if self.is_verbose || matches!(self.drawing, Drawing::Plain(_)) {
            self.say(&line());
        }
    }
}

impl PlainPhase {
    fn new(name: &str, total: Option<u64>) -> Self {
        let now = Instant::now();
        Self {
            name: name.to_owned(),
            total,
            done: 0,
            start: now,
            last: now,
        }
    }

    fn line(&self) -> String {
        let rate = self.done as f64 / self.start.elapsed().as_secs_f64().max(1e-6);
        let progress = format!(
            "{}: {}, {}/s",
            self.name,
            display_bytes(self.done),
            display_bytes(rate as u64)
        );
        match self.total {
            Some(total) if total > 0 => format!(
                "{progress}, {:.0}% of {}, {:.0} s left",
                self.done as f64 / total as f64 * 100.0,
                display_bytes(total),
                total.saturating_sub(self.done) as f64 / rate.max(1.0)
            ),
            _ => progress,
        }
    }
}

fn style(has_total: bool) -> ProgressStyle {
    let template = if has_total {
        "{msg:24!} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left"
    } else {
        "{msg:24!} {spinner} {bytes} {bytes_per_sec}"
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn lock(phase: &Mutex<PlainPhase>) -> MutexGuard<'_, PlainPhase> {
    phase.lock().unwrap_or_else(PoisonError::into_inner)
}
