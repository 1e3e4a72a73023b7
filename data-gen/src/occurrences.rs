//! The number of times that each shared line occurs in the files.
//!
//! *Owns:* what the counters of a window of the shared lines add up to, file by file.
//! *Invariants.* Every occurrence of a line of the window counts once: the first comes from the plan,
//! the repeats from the counters, those of the hot line from its number. Only repeats of shared lines
//! are counted; what only one file has needs no count, as its sums are enough.
//!
//! *Cost:* 40 bytes for each line of the window, of which 8 are its counter.

use std::ops::Range;

use crate::counters::Counters;
use crate::plan::Plan;

/// The number of times that a line occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Occurrences {
    /// In the first file.
    pub(crate) first: u64,
    /// In the other files whose lines end as those of the first do.
    pub(crate) alike: u64,
    /// In the files whose lines end differently: with a carriage return or without.
    pub(crate) unlike: u64,
    /// In the file that has it least, whatever its lines end with; 0 if a file lacks it.
    pub(crate) least: u64,
}

impl Occurrences {
    /// Before the first file.
    pub(crate) const NONE: Self = Self {
        first: 0,
        alike: 0,
        unlike: 0,
        least: u64::MAX,
    };

    /// Adds file number `file`, which has the line `times` times; `is_alike` says that its lines end as
    /// those of the first file do.
    pub(crate) fn add(&mut self, file: usize, is_alike: bool, times: u64) {
        match (file, is_alike) {
            (0, _) => self.first = times,
            (_, true) => self.alike += times,
            (_, false) => self.unlike += times,
        }
        self.least = self.least.min(times);
    }

    /// Adds up all files as alike, where carriage returns do not count.
    pub(crate) fn regardless_of_cr(self) -> Self {
        Self {
            alike: self.alike + self.unlike,
            unlike: 0,
            ..self
        }
    }
}

/// A window of the shared lines, and how often each of them occurs in the files so far.
#[derive(Debug)]
pub(crate) struct Window {
    counters: Counters,
    lines: Vec<Occurrences>,
}

impl Window {
    /// The shared lines with these numbers, before the first file.
    pub(crate) fn new(numbers: Range<u64>) -> Self {
        Self {
            lines: vec![Occurrences::NONE; (numbers.end - numbers.start) as usize],
            counters: Counters::new(numbers),
        }
    }

    /// Goes on to the lines with these numbers, no more than before, in the same memory.
    pub(crate) fn move_to(&mut self, numbers: Range<u64>) {
        let lines = (numbers.end - numbers.start) as usize;
        self.lines.truncate(lines);
        self.lines.fill(Occurrences::NONE);
        self.counters.move_to(numbers);
    }

    /// The numbers of the lines.
    pub(crate) fn numbers(&self) -> Range<u64> {
        self.counters.numbers()
    }

    /// Returns the counters for the repeats of the next file.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Adds file number `file`, whose repeats were all counted, and clears the counters.
    pub(crate) fn end_file(&mut self, plan: &Plan, file: usize) {
        let is_alike = plan.is_alike(file);
        let hot = plan.hot_line(file);
        let numbers = self.numbers();
        let repeats = self.counters.take();
        for ((mut times, line), number) in repeats.zip(&mut self.lines).zip(numbers) {
            times += u64::from(plan.has(file, Some(plan.shared().identity(number).class)));
            times += hot.map_or(0, |(hot, times)| if hot == number { times } else { 0 });
            line.add(file, is_alike, times);
        }
    }

    /// Returns how often the line with this number, which is in the window, occurs.
    pub(crate) fn occurrences(&self, number: u64) -> Occurrences {
        self.lines[(number - self.numbers().start) as usize]
    }
}
