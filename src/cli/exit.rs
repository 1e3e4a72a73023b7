//! Exit status: what scripts see.

use std::process::ExitCode;

use outset::{Error, ErrorKind};

/// The text of help about the exit status.
pub(crate) const EXIT_STATUS: &str = "\
Exit status: 0 complete result · 2 wrong usage · 3 an input is unreadable, or changed during the run
             4 temporary space is full, unusable or over its limit · 5 output failed
             6 memory limit or --max-fpr cannot be met · 7 damaged filter, shard or temporary file
             101 a bug

Example:     outset intersect yesterday.txt today.txt --memory 4G -o common.txt";

/// The exit status of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ExitStatus {
    /// The complete result is committed.
    Complete = 0,
    /// Wrong usage, or an impossible request.
    Usage = 2,
    /// An input cannot be read, or changed during the run.
    Input = 3,
    /// Temporary space.
    Temp = 4,
    /// The output cannot be written.
    Output = 5,
    /// The memory limit cannot be met, or the system refuses memory or threads.
    Memory = 6,
    /// A damaged or foreign file.
    Damaged = 7,
    /// A bug: also the status of a panic.
    Bug = 101,
}

impl ExitStatus {
    /// Returns the status for a failed run.
    pub(crate) fn of(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::Usage => Self::Usage,
            ErrorKind::Input => Self::Input,
            ErrorKind::Temp => Self::Temp,
            ErrorKind::Output => Self::Output,
            ErrorKind::Memory | ErrorKind::Machine => Self::Memory,
            ErrorKind::Damaged => Self::Damaged,
            _ => Self::Bug,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}
