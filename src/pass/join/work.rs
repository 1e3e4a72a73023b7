//! One bucket of every input, and the order in which a worker goes through them.
//!
//! *Owns:* [`JoinWork`], made anew for each group of buckets. *Invariants:* the building sides come first, and a
//! [`Position`] means the same line in every reading. *Cost:* a few words for each side.

use crate::selection::{Rule, SideReading, Sides};
use crate::spill::bucket::Bucket;

/// The buckets of one number, and the order in which they are worked on.
///
/// ```text
///  readings  │ building sides, smallest first │ probing sides        │
///  the set     gets their lines                 only marks its lines
/// ```
///
/// An input that the caller gave as several sides has one bucket and several readings.
pub(super) struct JoinWork<'b> {
    /// One bucket for each input, in the order of the inputs.
    buckets: &'b [Bucket],
    /// All readings, in the order in which they are made.
    pub(super) readings: Vec<BucketReading>,
    /// The number of readings, the first ones, that put their lines into the set.
    pub(super) building: usize,
}

/// One reading of a bucket as one side.
pub(super) struct BucketReading {
    /// The index of the bucket, which is that of the input.
    bucket: usize,
    /// The number of the side in marks.
    pub(super) side: u32,
    /// True if it is the first side of the caller.
    is_first: bool,
}

/// A line of the building sides. The default is the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Position {
    /// The index of a reading of its bucket.
    pub(super) reading: usize,
    /// The number of the line in that bucket.
    pub(super) line: u64,
}

impl<'b> JoinWork<'b> {
    pub(super) fn new(sides: &Sides, buckets: &'b [Bucket]) -> Self {
        let readings = sides.readings_by_size(|input| buckets[input].record_bytes);
        let rule = sides.rule();
        let of_bucket = |(reading, rank): (SideReading, u32)| BucketReading {
            bucket: reading.input,
            side: rule.side(reading.number, rank),
            is_first: reading.number == 1,
        };
        Self {
            buckets,
            building: rule.building_sides().min(readings.len()),
            readings: readings.into_iter().zip(1..).map(of_bucket).collect(),
        }
    }

    /// Returns true if enough sides have lines for any of these to be selected.
    pub(super) fn can_select(&self, rule: &Rule) -> bool {
        let has_lines = |reading: &usize| self.bucket(*reading).lines > 0;
        let sides = (0..self.readings.len()).filter(has_lines).count();
        sides >= rule.least() && (!rule.in_first() || has_lines(&0))
    }

    pub(super) fn bucket(&self, reading: usize) -> &'b Bucket {
        &self.buckets[self.readings[reading].bucket]
    }

    /// Lists the buckets whose lines are written when they are read once more, and how many sides each is: that of
    /// the caller's first side, or those that have records, or lines whose places are told.
    pub(super) fn read_again(&self, rule: &Rule) -> impl Iterator<Item = (&'b Bucket, u64)> {
        let first = self.readings.iter().find(|reading| reading.is_first);
        let first = first
            .map(|reading| reading.bucket)
            .filter(|_| rule.repeats());
        let (buckets, tells_places) = (self.buckets, rule.tells_places());
        let is_written = move |&number: &usize| tells_places || buckets[number].columns.is_some();
        let all = (0..self.buckets.len()).filter(is_written);
        let all = all.filter(move |_| first.is_none());
        let sides = |number: usize| {
            self.readings
                .iter()
                .filter(move |reading| reading.bucket == number)
        };
        let numbers = first.into_iter().chain(all);
        numbers.map(move |number| (&self.buckets[number], sides(number).count() as u64))
    }

    /// Returns the end of the building sides.
    pub(super) fn end(&self) -> Position {
        Position {
            reading: self.building,
            line: 0,
        }
    }

    /// Returns the number of lines of the building sides from `start` on, and the mean length of those of their
    /// buckets in bytes.
    pub(super) fn building_from(&self, start: Position) -> (u64, u64) {
        let readings = start.reading..self.building;
        let (lines, bytes) = readings
            .map(|reading| self.bucket(reading))
            .fold((0, 0), |(lines, bytes), bucket| {
                (lines + bucket.lines, bytes + bucket.record_bytes)
            });
        (lines - start.line.min(lines), bytes / lines.max(1))
    }

    /// Counts the lines of the building sides before `end`, and all of their lines.
    pub(super) fn lines_before(&self, end: Position) -> (u64, u64) {
        let lines = |readings: std::ops::Range<usize>| -> u64 {
            readings.map(|reading| self.bucket(reading).lines).sum()
        };
        (lines(0..end.reading) + end.line, lines(0..self.building))
    }

    /// Returns the buckets, one for each input.
    pub(super) fn buckets(&self) -> &'b [Bucket] {
        self.buckets
    }
}
