//! Standard error as JSON, for the program that has started this one.
//!
//! *Owns:* the form of its lines, and whether they have it (`--progress json`). *Invariants:* each line is one object
//! with an `event`; members may be added, and none that is there changes. What comes before the arguments are
//! understood, and a panic, are lines of text. *Cost:* a copy of a message.

use std::sync::atomic::{AtomicBool, Ordering};

use outset::{Error, ErrorKind};
use serde::Serialize;

use super::exit::ExitStatus;

/// True if all lines are events.
static ARE_WANTED: AtomicBool = AtomicBool::new(false);

/// Lets every line from now on be an event.
pub(super) fn begin() {
    ARE_WANTED.store(true, Ordering::Release);
}

/// Tells whether lines are events.
pub(super) fn are_wanted() -> bool {
    ARE_WANTED.load(Ordering::Acquire)
}

/// One line; `S` are statistics.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(super) enum Event<'a, S: Serialize = ()> {
    Progress(Progress<'a>),
    Message {
        text: &'a str,
    },
    Error(Failure<'a>),
    /// Those of `--stats -`.
    Stats {
        stats: &'a S,
    },
}

/// The state of the phase that is going on. A member is null as long as it is not known.
#[derive(Debug, Serialize)]
pub(super) struct Progress<'a> {
    /// The part of the command that the run is, such as the exact one of a comparison.
    pub(super) part: Option<&'a str>,
    pub(super) phase: &'a str,
    /// Bytes that the phase went through.
    pub(super) bytes: u64,
    /// Bytes that it will go through.
    pub(super) total_bytes: Option<u64>,
    pub(super) bytes_per_second: Option<u64>,
    /// Seconds until the end of the phase.
    pub(super) phase_seconds_left: Option<f64>,
    /// Seconds until the end of the run.
    pub(super) seconds_left: Option<f64>,
}

/// The reason why there is no result. A member is null where it does not apply, or is not known.
#[derive(Debug, Serialize)]
pub(super) struct Failure<'a> {
    status: u8,
    kind: &'static str,
    message: &'a str,
    /// The file that is the cause.
    path: Option<String>,
    /// The line of that file, from 1.
    line: Option<u64>,
    /// The byte of that file, from 0; in a compressed file, counted after decoding.
    offset: Option<u64>,
    /// A memory limit that is enough.
    needed_bytes: Option<u64>,
}

impl<'a> Failure<'a> {
    /// Describes an error, which `message` puts in words.
    pub(super) fn of(error: &Error, message: &'a str) -> Self {
        Self {
            status: ExitStatus::of(error) as u8,
            kind: kind(error),
            message,
            path: error.path().map(|path| path.display().to_string()),
            line: error.line(),
            offset: error.offset(),
            needed_bytes: error.least_memory_bytes(),
        }
    }
}

/// Returns the word for the kind of an error.
fn kind(error: &Error) -> &'static str {
    match error.kind() {
        // The status is that of a memory limit, and the cause is another.
        _ if matches!(error, Error::RateTooHigh { .. }) => "approximation",
        ErrorKind::Usage => "usage",
        ErrorKind::Input => "input",
        ErrorKind::Temp => "temp",
        ErrorKind::Output => "output",
        ErrorKind::Memory => "memory",
        ErrorKind::Damaged => "damaged",
        ErrorKind::Interrupted => "interrupted",
        ErrorKind::Machine => "machine",
        _ => "bug",
    }
}

impl Event<'_> {
    /// Returns the line, without its end.
    pub(super) fn line(&self) -> String {
        // Only a writer that fails, or a map whose keys are not strings, could make this fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}
