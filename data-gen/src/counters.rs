//! Counters for the repeats of shared lines in one file.
//!
//! *Owns:* a counter for each line of a window of the shared lines. *Invariants:* lines outside of the window are not
//! counted. *Cost:* 8 bytes for each line of the window; 5 to 20 ns for each repeat.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters for the repeats of shared lines in one file. Several threads may count at once.
#[derive(Debug)]
pub(crate) struct Counters {
    window: Range<u64>,
    repeats: Vec<AtomicU64>,
}

impl Counters {
    /// Makes the counters of the lines with these numbers.
    pub(crate) fn new(window: Range<u64>) -> Self {
        let lines = window.end - window.start;
        Self {
            window,
            repeats: (0..lines).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Goes on to the lines with these numbers, no more than before, in the same memory.
    pub(crate) fn move_to(&mut self, window: Range<u64>) {
        self.repeats.truncate((window.end - window.start) as usize);
        self.window = window;
    }

    /// Returns the numbers of the lines.
    pub(crate) fn numbers(&self) -> Range<u64> {
        self.window.clone()
    }

    /// Counts a repeat of the shared line with this number, if it is in the window.
    #[inline]
    pub(crate) fn count(&self, number: u64) {
        if self.window.contains(&number) {
            let at = (number - self.window.start) as usize;
            // The threads are joined before anyone reads: no order is needed.
            self.repeats[at].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes the repeats of each line, and begins again at 0.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = u64> {
        let repeats = self.repeats.iter_mut();
        repeats.map(|repeats| std::mem::take(repeats.get_mut()))
    }
}
