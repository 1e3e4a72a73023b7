//! The findings about an input since it was opened: those of a sample, and of the last complete reading.
//!
//! *Owns:* [`Findings`]. *Invariants:* numbers are used only after the reading that noted them has ended. *Cost:* 80
//! bytes, and a lock that is taken once a reading.

use parking_lot::Mutex;

use crate::input::beginning::ReportedKinds;

/// The counts of a complete reading.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadCounts {
    /// Lines that were worked on.
    pub(crate) lines: u64,
    /// Bytes of all lines, with their terminators or the lengths before them.
    pub(crate) bytes: u64,
    /// Lines of records without a key.
    pub(crate) bad_records: u64,
    /// Blank lines and comments.
    pub(crate) passed_over: u64,
    /// Records that have no number to be ranked by, where records are ranked.
    pub(crate) without_number: u64,
}

/// A file, or the output of a command, as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartLines {
    /// The position in the side at which it begins.
    pub(crate) start: u64,
    /// Its lines that workers went through.
    pub(crate) lines: u64,
}

/// The findings about an input since it was opened.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The counts of the last complete reading; zeros before it.
    read: Mutex<ReadCounts>,
    /// About the number of its bytes when it is decoded; `None` before a sample.
    likely_bytes: Mutex<Option<u64>>,
    /// The record of what was reported of data that is no plain text.
    pub(super) reported: ReportedKinds,
}

impl Findings {
    /// Notes the counts of a complete reading.
    pub(super) fn note_reading(&self, found: ReadCounts) {
        *self.read.lock() = found;
    }

    /// Returns the counts of the last complete reading; zeros before it.
    pub(super) fn last_reading(&self) -> ReadCounts {
        *self.read.lock()
    }

    /// Notes what a sample shows of the size when it is decoded, in bytes.
    pub(super) fn note_likely_bytes(&self, bytes: u64) {
        *self.likely_bytes.lock() = Some(bytes);
    }

    /// Returns the size that a sample shows, in bytes; `None` before one.
    pub(super) fn likely_bytes(&self) -> Option<u64> {
        *self.likely_bytes.lock()
    }
}
