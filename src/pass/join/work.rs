//! One bucket of every input, and the order in which a worker goes through them.
//!
//! *Owns:* [`Work`], made anew for each group of buckets. *Invariants:* the building sides come first, and a [`Position`]
//! means the same line in every reading. *Cost:* a few words for each side.

use crate::selection::{Rule, Sides, Turn};
use crate::spill::bucket::Bucket;

/// The buckets of one number, and the order in which they are worked on.
///
/// ```text
///  turns     │ building sides, smallest first │ probing sides        │
///  the set     gets their lines                 only marks its lines
/// ```
///
/// An input that the caller gave as several sides has one bucket and several turns.
pub(super) struct Work<'b> {
    /// One bucket for each input, in the order of the inputs.
    buckets: &'b [Bucket],
    /// All readings, in the order in which they are made.
    pub(super) turns: Vec<Reading>,
    /// How many turns, the first ones, put their lines into the set.
    pub(super) building: usize,
    /// The buckets that are read once more after all turns, by their index, and how many sides each is.
    again: Vec<(usize, u64)>,
    /// The bucket of each reading: of the turns, of those that are read once more, and of the one that comes after all of
    /// these, if it is known.
    order: Vec<&'b Bucket>,
}

/// One reading of a bucket as one side.
pub(super) struct Reading {
    /// The index of the bucket, which is that of the input.
    bucket: usize,
    /// What marks call the side.
    pub(super) side: u32,
    /// Whether it is the first side of the caller.
    is_first: bool,
}

/// A line of the building sides. The default is the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Position {
    pub(super) turn: usize,
    /// The number of the line in the bucket of the turn.
    pub(super) line: u64,
}

impl<'b> Work<'b> {
    /// The work on `buckets`, after which the worker goes on with those of `next`.
    pub(super) fn new(sides: &Sides, buckets: &'b [Bucket], next: Option<&'b [Bucket]>) -> Self {
        let rule = sides.rule();
        let turns = turns(sides, buckets);
        let again = again(rule, buckets, &turns);
        let numbers = turns.iter().map(|turn| turn.bucket);
        let numbers = numbers.chain(again.iter().map(|&(number, _)| number));
        let following = next.and_then(|next| first(sides, next));
        Self {
            buckets,
            building: rule.building_sides().min(turns.len()),
            order: numbers
                .map(|number| &buckets[number])
                .chain(following)
                .collect(),
            turns,
            again,
        }
    }

    /// Whether enough sides have lines for any of these to be selected.
    pub(super) fn can_select(&self, rule: &Rule) -> bool {
        can_select(rule, self.buckets, &self.turns)
    }

    pub(super) fn bucket(&self, turn: usize) -> &'b Bucket {
        &self.buckets[self.turns[turn].bucket]
    }

    /// The bucket that is probably read after reading number `reading`: the turns have the first numbers, and those that are
    /// read once more the next.
    pub(super) fn after(&self, reading: usize) -> Option<&'b Bucket> {
        self.order.get(reading + 1).copied()
    }

    /// The buckets whose lines are written when they are read once more, how many sides each is, and which bucket is probably
    /// read after it.
    pub(super) fn read_again(&self) -> impl Iterator<Item = (&'b Bucket, u64, Option<&'b Bucket>)> {
        let again = self.again.iter().zip(self.turns.len()..);
        again.map(|(&(number, sides), reading)| (&self.buckets[number], sides, self.after(reading)))
    }

    /// The end of the building sides.
    pub(super) fn end(&self) -> Position {
        Position {
            turn: self.building,
            line: 0,
        }
    }

    /// The lines of the building sides from `start` on, and the mean length of those of their buckets in bytes.
    pub(super) fn building_from(&self, start: Position) -> (u64, u64) {
        let turns = start.turn..self.building;
        let (lines, bytes) = turns
            .map(|turn| self.bucket(turn))
            .fold((0, 0), |(lines, bytes), bucket| {
                (lines + bucket.lines, bytes + bucket.record_bytes)
            });
        (lines - start.line.min(lines), bytes / lines.max(1))
    }

    /// How many lines of the building sides stand before `end`, and how many there are.
    pub(super) fn lines_before(&self, end: Position) -> (u64, u64) {
        let lines = |turns: std::ops::Range<usize>| -> u64 {
            turns.map(|turn| self.bucket(turn).lines).sum()
        };
        (lines(0..end.turn) + end.line, lines(0..self.building))
    }

    /// The buckets, one for each input.
    pub(super) fn buckets(&self) -> &'b [Bucket] {
        self.buckets
    }
}

/// The readings of `buckets`, in the order in which they are made.
fn turns(sides: &Sides, buckets: &[Bucket]) -> Vec<Reading> {
    let turns = sides.turns_by_size(|input| buckets[input].record_bytes);
    let reading = |(turn, rank): (Turn, u32)| Reading {
        bucket: turn.input,
        side: sides.rule().side(turn.number, rank),
        is_first: turn.number == 1,
    };
    turns.into_iter().zip(1..).map(reading).collect()
}

/// The bucket that is read first of these, unless none is.
fn first<'b>(sides: &Sides, buckets: &'b [Bucket]) -> Option<&'b Bucket> {
    let turns = turns(sides, buckets);
    let first = turns.first().map(|turn| &buckets[turn.bucket]);
    first.filter(|_| can_select(sides.rule(), buckets, &turns))
}

fn can_select(rule: &Rule, buckets: &[Bucket], turns: &[Reading]) -> bool {
    let has_lines = |turn: &&Reading| buckets[turn.bucket].lines > 0;
    let sides = turns.iter().filter(has_lines).count();
    sides >= rule.least()
        && (!rule.in_first() || turns.first().is_some_and(|turn| has_lines(&turn)))
}

/// The buckets that are read once more where `rule` wants lines as often as they come, or records: that of the caller's first
/// side, or those that have records. With how many sides each is.
fn again(rule: &Rule, buckets: &[Bucket], turns: &[Reading]) -> Vec<(usize, u64)> {
    if !rule.reads_again() {
        return Vec::new();
    }
    let first = turns.iter().find(|turn| turn.is_first);
    let first = first.map(|turn| turn.bucket).filter(|_| rule.repeats());
    let is_read = |number: usize| match first {
        Some(first) => number == first,
        None => buckets[number].columns.is_some(),
    };
    let sides = |number: usize| turns.iter().filter(|turn| turn.bucket == number).count() as u64;
    let numbers = (0..buckets.len()).filter(|&number| is_read(number));
    numbers.map(|number| (number, sides(number))).collect()
}
