//! The notes that are taken while a run goes on, for the pictures over time.
//!
//! *Owns:* the [`Recorder`] (a thread that looks at the process's memory now and then), the
//! [`Recording`] that it and the engine fill, and [`Recorded`], which is what is left of it.
//!
//! *Invariants:* the thread ends with its recorder, whatever the end of the run; no more than
//! [`Samples::MOST`] samples are kept however long the run is, and of two that become one the one
//! with more memory stays. *Cost:* a thread, an open file, some 20 KiB; a sample takes a few
//! microseconds, 40 times a second at first and half as often whenever there are too many.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

use outset::plan::{Plan, PlannedPhase};
use outset::stats::PhaseStats;
use outset::{Error, Notice, Observer, Result};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;

use super::samples::{MemorySample, Samples, Throughput, throughput};
use crate::cli::process::HAS_PROC;
use crate::cli::settings::plan_as_typed;

/// The stack of the recording thread, like those of the run's own threads: far more than is used.
const STACK_BYTES: usize = 1 << 20;

/// Records until it is finished or dropped.
pub(crate) struct Recorder {
    recording: Arc<Recording>,
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The notes on a run; an observer of it.
pub(crate) struct Recording {
    start: Instant,
    status: Option<File>,
    bytes_read: AtomicU64,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    part: String,
    plan: Option<Plan>,
    limits: Vec<Limit>,
    phases: Vec<RecordedPhase>,
    samples: Samples,
}

/// The result of a recording.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Recorded {
    /// From the first moment to the last.
    pub(crate) seconds: f64,
    /// Bytes read in all, from inputs and temporary files.
    pub(crate) bytes_read: u64,
    /// The last plan.
    #[serde(skip)]
    pub(crate) plan: Option<Plan>,
    /// The memory limits, in the order they came into force.
    pub(crate) limits: Vec<Limit>,
    /// The phases, in the order they began.
    pub(crate) phases: Vec<RecordedPhase>,
    /// Memory and bytes read over time.
    pub(crate) samples: Vec<MemorySample>,
    /// Bytes read per second over time, from the samples.
    pub(crate) throughput: Vec<Throughput>,
}

/// A memory limit that came into force.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Limit {
    /// Seconds after the start.
    pub(crate) began_seconds: f64,
    /// The limit of the process.
    pub(crate) limit_bytes: u64,
}

/// A phase and when it was.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RecordedPhase {
    /// The run that it belongs to, where a command consists of several; else empty.
    pub(crate) part: String,
    /// Its name.
    pub(crate) name: String,
    /// Seconds after the start.
    pub(crate) began_seconds: f64,
    /// Its end; `None` if it never came.
    pub(crate) ended_seconds: Option<f64>,
    /// Its seconds.
    pub(crate) seconds: f64,
    /// Bytes read, from inputs and temporary files.
    pub(crate) bytes_read: u64,
    /// Bytes read per second.
    pub(crate) bytes_per_second: f64,
    /// Bytes written to temporary files.
    pub(crate) bytes_written: u64,
    /// Lines seen.
    pub(crate) lines: u64,
}

impl Recorder {
    /// Begins to record.
    ///
    /// # Errors
    /// [`Error::Machine`] where the system gives no thread.
    pub(crate) fn start() -> Result<Self> {
        let recording = Arc::new(Recording {
            start: Instant::now(),
            // Kept open: a run that may open few files must not fail for a sample.
            status: HAS_PROC
                .then(|| File::open("/proc/self/status").ok())
                .flatten(),
            bytes_read: AtomicU64::new(0),
            notes: Mutex::default(),
        });
        recording.sample();
        let (stop, stopped) = channel();
        let for_thread = recording.clone();
        let body = move || {
            let wait = || {
                // The lock must be free while the thread waits.
                let interval = for_thread.notes().samples.interval();
                stopped.recv_timeout(interval)
            };
            while wait() == Err(RecvTimeoutError::Timeout) {
                for_thread.sample();
            }
        };
        let thread = Builder::new()
            .name("record".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(body)
            .map_err(|error| Error::Machine {
                what: format!("cannot start a thread: {error}"),
                advice: "raise the limit on processes (ulimit -u), or leave out --report",
            })?;
        Ok(Self {
            recording,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the observer that a run reports to.
    pub(crate) fn observer(&self) -> Arc<dyn Observer> {
        self.recording.clone()
    }

    /// Ends the recording.
    pub(crate) fn finish(mut self) -> Recorded {
        self.end();
        self.recording.sample();
        let seconds = self.recording.seconds();
        let notes = std::mem::take(&mut *self.recording.notes());
        let samples = notes.samples.into_vec();
        Recorded {
            seconds,
            bytes_read: self.recording.bytes_read.load(Ordering::Relaxed),
            plan: notes.plan,
            limits: notes.limits,
            phases: notes.phases,
            throughput: throughput(&samples),
            samples,
        }
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _samples_that_are_there_remain = thread.join();
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end();
    }
}

impl Recording {
    /// Seconds since the start, to a tenth of a millisecond.
    fn seconds(&self) -> f64 {
        (self.start.elapsed().as_secs_f64() * 1e4).round() / 1e4
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock()
    }

    fn sample(&self) {
        let Some(resident_bytes) = self.status.as_ref().and_then(resident_bytes) else {
            return;
        };
        let bytes_read = self.bytes_read.load(Ordering::Relaxed);
        // The clock is read under the lock, so that samples are in order.
        let mut notes = self.notes();
        let seconds = self.seconds();
        notes.samples.push(MemorySample {
            seconds,
            resident_bytes,
            bytes_read,
        });
    }
}

impl Observer for Recording {
    fn part_started(&self, name: &str) {
        name.clone_into(&mut self.notes().part);
    }

    fn planned(&self, plan: &Plan) {
        let limit = Limit {
            began_seconds: self.seconds(),
            limit_bytes: plan.limit_bytes(),
        };
        let mut notes = self.notes();
        notes.plan = Some(plan_as_typed(plan.clone()));
        if notes.limits.last().map(|last| last.limit_bytes) != Some(limit.limit_bytes) {
            notes.limits.push(limit);
        }
    }

    fn phase_started(&self, name: &str, _step: Option<usize>, _total_bytes: Option<u64>) {
        self.sample();
        let began_seconds = self.seconds();
        let mut notes = self.notes();
        let part = notes.part.clone();
        notes.phases.push(RecordedPhase {
            part,
            name: name.to_owned(),
            began_seconds,
            ended_seconds: None,
            seconds: 0.0,
            bytes_read: 0,
            bytes_per_second: 0.0,
            bytes_written: 0,
            lines: 0,
        });
    }

    fn advanced(&self, bytes_read: u64, _lines: u64) {
        self.bytes_read.fetch_add(bytes_read, Ordering::Relaxed);
    }

    fn phase_finished(&self, phase: &PhaseStats) {
        self.sample();
        let now = self.seconds();
        let mut notes = self.notes();
        let is_it =
            |noted: &&mut RecordedPhase| noted.ended_seconds.is_none() && noted.name == phase.name;
        if let Some(noted) = notes.phases.iter_mut().rev().find(is_it) {
            noted.ended_seconds = Some(now);
            noted.seconds = phase.seconds;
            noted.bytes_read = phase.bytes_read;
            noted.bytes_per_second = phase.bytes_read as f64 / phase.seconds.max(1e-6);
            noted.bytes_written = phase.bytes_written;
            noted.lines = phase.lines;
        }
    }
}

/// Tells two observers of a run.
pub(crate) struct Both(pub(crate) Arc<dyn Observer>, pub(crate) Arc<dyn Observer>);

impl Observer for Both {
    fn part_started(&self, name: &str) {
        self.0.part_started(name);
        self.1.part_started(name);
    }

    fn planned(&self, plan: &Plan) {
        self.0.planned(plan);
        self.1.planned(plan);
    }

    fn expected(&self, phases: &[PlannedPhase]) {
        self.0.expected(phases);
        self.1.expected(phases);
    }

    fn noticed(&self, notice: &Notice) {
        self.0.noticed(notice);
        self.1.noticed(notice);
    }

    fn phase_started(&self, name: &str, step: Option<usize>, total_bytes: Option<u64>) {
        self.0.phase_started(name, step, total_bytes);
        self.1.phase_started(name, step, total_bytes);
    }

    fn advanced(&self, bytes_read: u64, lines: u64) {
        self.0.advanced(bytes_read, lines);
        self.1.advanced(bytes_read, lines);
    }

    fn phase_finished(&self, phase: &PhaseStats) {
        self.0.phase_finished(phase);
        self.1.phase_finished(phase);
    }
}

/// Reads the resident size in `/proc/self/status`, which `status` is.
fn resident_bytes(status: &File) -> Option<u64> {
    let mut text = [0; 4096];
    let length = status.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::time::Duration;

    use super::*;

    fn phase(name: &str, bytes_read: u64) -> PhaseStats {
        let mut phase = PhaseStats::default();
        (phase.seconds, phase.bytes_read, phase.bytes_written) = (0.5, bytes_read, 3);
        (phase.name, phase.lines) = (name.to_owned(), 7);
        phase
    }

    #[test]
    fn phases_limits_and_bytes_are_noted_in_order_through_both_observers() {
        let (one, two) = (Recorder::start().unwrap(), Recorder::start().unwrap());
        let both = Both(one.observer(), two.observer());
        both.part_started("exact");
        both.phase_started("spill a", Some(0), Some(10));
        both.advanced(10, 1);
        both.phase_finished(&phase("spill a", 10));
        both.phase_started("never ended", None, None);
        for recorder in [one, two] {
            let seen = recorder.finish();
            assert_eq!(seen.phases.len(), 2);
            let (first, second) = (&seen.phases[0], &seen.phases[1]);
            assert_eq!(
                (&*first.part, &*first.name, first.lines),
                ("exact", "spill a", 7)
            );
            assert!((first.bytes_per_second - 20.0).abs() < 1e-9);
            assert!(first.ended_seconds.unwrap() >= first.began_seconds);
            assert_eq!(second.ended_seconds, None);
            assert_eq!(seen.samples.first().unwrap().bytes_read, 0);
            assert_eq!(seen.samples.last().unwrap().bytes_read, 10);
            assert!(seen.samples.is_sorted_by(|a, b| a.seconds <= b.seconds));
            assert!(
                seen.samples
                    .iter()
                    .all(|sample| sample.resident_bytes > 1 << 20)
            );
        }
    }

    #[test]
    fn a_recorder_samples_by_itself_and_its_thread_ends_with_it() {
        let recorder = Recorder::start().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let recording = Arc::downgrade(&recorder.recording);
        let seen = recorder.recording.notes().samples.len();
        assert!(seen >= 3, "{seen} samples");
        drop(recorder);
        assert!(recording.upgrade().is_none(), "the thread goes on");
    }

    #[test]
    fn a_run_never_waits_for_its_recorder() {
        let recorder = Recorder::start().unwrap();
        let observer = recorder.observer();
        let mut calls: Vec<Duration> = (0..15)
            .map(|_| {
                std::thread::sleep(Duration::from_millis(3));
                let start = Instant::now();
                observer.phase_started("filter", None, None);
                start.elapsed()
            })
            .collect();
        // Some may wait for a processor.
        calls.sort_unstable();
        assert!(calls[7] < Duration::from_millis(3), "{calls:?}");
    }
}
