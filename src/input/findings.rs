//! The findings about an input since it was opened: those of a sample, and of the last complete reading.
//!
//! *Owns:* [`Findings`], which threads read while others note theirs. *Invariants:* a number is used only after the
//! reading that noted it has ended, so no order between the numbers matters. *Cost:* 52 bytes.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::input::beginning::ReportedKinds;

/// The counts of a complete reading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadCounts {
    /// Lines that were worked on.
    pub(crate) lines: u64,
    /// Bytes of all lines, terminators included.
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
#[derive(Debug)]
pub(super) struct Findings {
    /// The counts of the last complete reading, each 0 before it.
    lines: AtomicU64,
    bytes: AtomicU64,
    bad_records: AtomicU64,
    passed_over: AtomicU64,
    without_number: AtomicU64,
    /// About the number of its bytes when it is decoded; [`u64::MAX`] before a sample.
    likely_bytes: AtomicU64,
    /// The record of what was reported of data that is no plain text.
    pub(super) reported: ReportedKinds,
}

impl Default for Findings {
    /// Has found nothing yet.
    fn default() -> Self {
        Self {
            lines: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            bad_records: AtomicU64::new(0),
            passed_over: AtomicU64::new(0),
            without_number: AtomicU64::new(0),
            likely_bytes: AtomicU64::new(u64::MAX),
            reported: ReportedKinds::default(),
        }
    }
}

impl Findings {
    /// Notes the counts of a complete reading.
    pub(super) fn note_reading(&self, found: ReadCounts) {
        self.lines.store(found.lines, Ordering::Relaxed);
        self.bytes.store(found.bytes, Ordering::Relaxed);
        self.bad_records.store(found.bad_records, Ordering::Relaxed);
        self.passed_over.store(found.passed_over, Ordering::Relaxed);
        self.without_number
            .store(found.without_number, Ordering::Relaxed);
    }

    /// Returns the counts of the last complete reading; zeros before it.
    pub(super) fn last_reading(&self) -> ReadCounts {
        ReadCounts {
            lines: self.lines.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            bad_records: self.bad_records.load(Ordering::Relaxed),
            passed_over: self.passed_over.load(Ordering::Relaxed),
            without_number: self.without_number.load(Ordering::Relaxed),
        }
    }

    /// Notes what a sample shows of the size when it is decoded, in bytes.
    pub(super) fn note_likely_bytes(&self, bytes: u64) {
        self.likely_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Returns the size that a sample shows, in bytes; `None` before one.
    pub(super) fn likely_bytes(&self) -> Option<u64> {
        let likely = self.likely_bytes.load(Ordering::Relaxed);
        (likely < u64::MAX).then_some(likely)
    }
}
