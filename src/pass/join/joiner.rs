//! One worker of the join: bucket after bucket.
//!
//! *Owns:* [`Joiner`], with the set and the reader of one worker. *Invariants:* it never takes more than its
//! share of the memory; a line is written once, whether its bucket is joined whole, split, or in pieces.
//!
//! *Cost:* that of the pass, see [`join`](super).

use crate::answer::{Collector, Outbox, RangeSorter};
use crate::error::{Error, Result};
use crate::memory::budget::MemoryBudget;
use crate::pass::join::split::{self, SplitPlan, split};
use crate::pass::join::work::{JoinWork, Position};
use crate::pass::writing::{write, write_again};
use crate::run::{Phase, Run};
use crate::selection::{LineState, Sides};
use crate::set::line_set::LineSet;
use crate::spill::bucket::Bucket;
use crate::spill::loads::LoadQueue;
use crate::spill::reader::{BucketReader, ReadRules};
use crate::sys::failpoint::fail_point;
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::Mutex;
use crate::sys::sync::channel::Sender;

/// The least memory that a range is sorted in, in bytes.
const LEAST_RANGE_BYTES: u64 = 128 << 10;
/// The least that is left to the set beside the longest line, in bytes.
const LEAST_SET_BYTES: u64 = 128 << 10;

/// The share of each worker of a join.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share<'a> {
    /// Its memory, in bytes.
    pub(super) bytes: u64,
    /// The rules by which it reads.
    pub(super) reading: ReadRules<'a>,
    /// Threads that write the blocks of a bucket that it splits.
    pub(super) writers: usize,
}

/// Returns the part for sorting a range of `free` bytes that reading leaves: half, because a set takes about as much
/// for as many lines. Less where the set needs the room for the longest line, of `longest` bytes.
fn range_bytes(free: u64, longest: u64) -> u64 {
    let beside_longest = free.saturating_sub(2 * longest + LEAST_SET_BYTES);
    (free / 2).min(beside_longest.max(LEAST_RANGE_BYTES))
}

/// The things that all workers of a join share.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) phase: &'a Phase<'a>,
    /// The queue for blocks that are on a disk.
    pub(super) loads: &'a LoadQueue,
    pub(super) share: Share<'a>,
    /// The inputs as sides, and what is selected.
    pub(super) sides: &'a Sides,
    /// The order of the answer, where buckets are ranges of lines.
    pub(super) ranges: Option<&'a RangeSorter<'a>>,
}

/// One worker of the join: what it needs for one bucket after the other. It lives on one thread; what
/// workers share are the queue, the collector that `out` passes lines to, and the sweeper's channel.
pub(super) struct Joiner<'a, 's> {
    run: &'a Run<'a>,
    phase: &'a Phase<'a>,
    /// Threads that write the blocks of a split.
    writers: usize,
    /// The inputs as sides, and what is selected.
    sides: &'a Sides,
    /// The worker's share. Set, reader and the parts of a split bucket take from it, and nothing else does.
    budget: MemoryBudget,
    /// The lines of the building sides, or of the piece of them that is in work. Emptied for each bucket, and
    /// its memory is kept.
    set: LineSet,
    /// The reader of one bucket at a time, which reads ahead what is on a disk.
    reader: BucketReader<'a>,
    /// Lines on their way to the collector, 64 KiB at a time, so that its lock is seldom taken.
    out: Outbox<'a, 's>,
    /// The channel for buckets that are done with.
    joined: Sender<Bucket>,
}

impl<'a, 's> Joiner<'a, 's> {
    /// Makes a worker with a share of the memory.
    ///
    /// # Errors
    /// [`Error::Memory`] where the share is too small.
    pub(super) fn new(
        shared: Shared<'a>,
        out: &'a Collector<'s>,
        joined: Sender<Bucket>,
    ) -> Result<Self> {
        let Shared {
            run,
            phase,
            loads,
            share,
            sides,
            ranges,
        } = shared;
        let budget = run.budget.split_off("join", share.bytes)?;
        let reader = BucketReader::new(loads, &budget, share.reading)?;
        let range_bytes = range_bytes(budget.available_bytes(), share.reading.longest_line);
        let range = ranges.map(|ranges| ranges.buffer(&budget, range_bytes));
        let set = LineSet::new(&budget, run.hasher, sides.rule().kept())?;
        Ok(Self {
            run,
            phase,
            writers: share.writers,
            sides,
            budget,
            set,
            reader,
            out: Outbox::in_ranges(out, range.transpose()?),
            joined,
        })
    }

    /// Joins buckets from the queue until there are no more, and hands the last lines on.
    ///
    /// The queue is sorted once and taken from its end, so the largest buckets come first: the last ones that
    /// are still in work when the queue is empty are small, and no worker waits long for another. Ranges come in their
    /// order instead, and each is ended, also where it has no lines: the next one waits for its turn.
    pub(super) fn join_all(
        mut self,
        queue: &Mutex<Vec<Vec<Bucket>>>,
        found_work: &dyn Fn(),
        failure: &FirstFailure,
    ) -> Result<()> {
        loop {
            failure.check()?;
            let next = queue.lock().pop();
            match next {
                Some(buckets) => {
                    if buckets.iter().any(|bucket| bucket.lines > 0) {
                        found_work();
                    }
                    let number = buckets.first().map(|bucket| bucket.address.bucket);
                    self.join(buckets)?;
                    self.end_range(number.unwrap_or(0), failure)?;
                }
                None => return self.out.flush(),
            }
        }
    }

    /// Writes the lines of a range that was joined, if the answer comes range by range.
    fn end_range(&mut self, number: u32, failure: &FirstFailure) -> Result<()> {
        if self.out.has_runs() || self.run.options.always_spill {
            // A merge needs it more.
            self.set.release()?;
        }
        self.out.end_range(number, &self.budget, failure)
    }

    /// Joins one bucket: `buckets[i]` has the lines of input i, at least one input. Splitting calls it again
    /// for each part, so it may be entered anew before it returns, at most once per split level.
    ///
    /// 1. Put the sides in order; skip the bucket if too few sides have lines in it.
    /// 2. Build the set until the building sides end or the share is full. Where the rule allows it and the set is
    ///    sure to hold all lines, each line is written when it is new, and step 3 is left out.
    /// 3. If all of it fits: probe, and write. If not: split the bucket, or join it in pieces.
    /// 4. Send the buckets to the sweeper, which removes their files.
    fn join(&mut self, buckets: Vec<Bucket>) -> Result<()> {
        fail_point!("join");
        self.run.interrupt().check()?;
        let work = JoinWork::new(self.sides, &buckets);
        if work.can_select(self.sides.rule()) {
            let is_sure = self.reset(&work, Position::default())?;
            let writes_new = is_sure && self.sides.rule().writes_new();
            let end = self.build(&work, Position::default(), writes_new)?;
            if writes_new {
                self.check_whole(&work, end)?;
            } else if end == work.end() {
                self.probe(&work, end)?;
            } else if let Some(plan) = split::plan(self.run, &self.set, &self.budget, &work, end) {
                return self.join_parts(buckets, plan);
            } else {
                self.join_in_pieces(&work, end)?;
            }
        }
        for mut bucket in buckets {
            self.phase.advance(bucket.record_bytes, bucket.lines);
            // Their memory is needed for the next bucket.
            bucket.held.clear();
            // Without a sweeper the run has failed, and everything is removed at its end.
            let _no_sweeper = self.joined.send(bucket);
        }
        Ok(())
    }

    /// Splits buckets, and joins part after part.
    fn join_parts(&mut self, buckets: Vec<Bucket>, plan: SplitPlan) -> Result<()> {
        // What the set had is the blocks' now.
        self.set.release()?;
        let (run, writers) = (self.run, self.writers);
        let mut parts = split(run, &self.budget, &mut self.reader, writers, buckets, plan)?;
        parts.try_for_each(|part| self.join(part))
    }

    /// Empties the set and gives it its size before the first line, from the counts of the buckets: growing its table
    /// would need the old one and the new one at the same time. Returns true if it is sure to have room for all lines
    /// of the building sides from `start` on.
    fn reset(&mut self, work: &JoinWork<'_>, start: Position) -> Result<bool> {
        let (lines, mean_bytes) = work.building_from(start);
        self.set.reset(lines, mean_bytes)?;
        // The mean was rounded down. It counts the length before each line, so this is more than the lines have.
        Ok(self.set.has_room_for(lines, lines * (mean_bytes + 1)))
    }

    /// Fills the set, which was reset, with the lines of the building sides from `start` on. Returns the position of
    /// the first line that found no room, or the end of the building sides. With `writes_new`, each line that is new
    /// to the set is written.
    ///
    /// Lines are counted in the order in which they were appended, which a bucket keeps: so a position means
    /// the same line in every reading.
    fn build(
        &mut self,
        work: &JoinWork<'_>,
        start: Position,
        writes_new: bool,
    ) -> Result<Position> {
        let mut skipped = start.line;
        for reading in start.reading..work.building {
            let end = self.insert(work, reading, skipped, writes_new)?;
            if end < work.bucket(reading).lines {
                return Ok(Position { reading, line: end });
            }
            skipped = 0;
        }
        Ok(work.end())
    }

    /// Inserts the lines of a reading from line number `start` on; returns the number of the first line that found
    /// no room, or the number of lines.
    fn insert(
        &mut self,
        work: &JoinWork<'_>,
        reading: usize,
        start: u64,
        writes_new: bool,
    ) -> Result<u64> {
        let (set, side) = (&mut self.set, work.readings[reading].side);
        let (out, rule) = (&mut self.out, self.sides.rule());
        let mut write_new = |line: &[u8]| {
            if writes_new {
                // Any mark would do: nothing is written that depends on it.
                write(rule, line, LineState::with_mark(1), 1, out)
            } else {
                Ok(())
            }
        };
        let mut end = 0;
        self.reader.read_while(work.bucket(reading), |batch| {
            let lines = batch.lines.len();
            let skipped = start.saturating_sub(end).min(lines as u64) as usize;
            let indexes = skipped as u32..lines as u32;
            let done = set.insert_all(batch, indexes, side, &mut write_new)?;
            end += (skipped + done) as u64;
            Ok(skipped + done == lines)
        })?;
        Ok(end)
    }

    /// Reads what comes after `end`, where the set was full or complete, past the set, and writes the lines that are
    /// selected: in an intersection when they get the last mark, else when all was read.
    ///
    /// 1. Each reading from `end` on marks the lines that it shares with the set. Where the rule has a last mark, a
    ///    line that gets it is written at once, from the block that was read.
    /// 2. Where lines are written as often as they come, or as records, the buckets that have these are read once
    ///    more, and the set only answers.
    /// 3. Else the lines are written from the set, each with what was kept of it.
    fn probe(&mut self, work: &JoinWork<'_>, end: Position) -> Result<()> {
        let (set, out, rule) = (&mut self.set, &mut self.out, self.sides.rule());
        for reading in end.reading..work.readings.len() {
            let side = work.readings[reading].side;
            // What is before `end` was inserted or excluded.
            let mut before = if reading == end.reading { end.line } else { 0 };
            // A line that is not in the set is in no other building side: nothing is remembered of it.
            self.reader.read(work.bucket(reading), |batch| {
                let lines = batch.lines.len() as u64;
                let skipped = before.min(lines);
                before -= skipped;
                let indexes = skipped as u32..lines as u32;
                set.mark_all(batch, indexes, side, |line, mark| {
                    if rule.last_mark() == Some(mark) {
                        write(rule, line, LineState::with_mark(mark), 1, out)
                    } else {
                        Ok(())
                    }
                })
            })?;
        }
        if rule.last_mark().is_some() {
            return Ok(());
        }
        if rule.writes_again() {
            // Absent is a line that belongs to another piece: no rule selects its mark, which is 0.
            return work.read_again(rule).try_for_each(|(bucket, sides)| {
                self.reader.read(bucket, |batch| {
                    let indexes = 0..batch.lines.len() as u32;
                    set.look_up_all(batch, indexes, |index, found| {
                        write_again(rule, batch, sides, index, found, out)
                    })
                })
            });
        }
        set.iter_marked()
            .try_for_each(|(line, found)| write(rule, line, found, rule.times(found), out))
    }

    /// Works through a bucket that no split divides: piece after piece of the building sides. The first
    /// piece is in the set already and ends before `end`.
    ///
    /// A bucket comes here when its lines have equal hashes, as somebody who knows the key can make them. The
    /// time grows with the square of such a bucket; the memory does not.
    ///
    /// ```text
    ///  building sides   |-- piece 1 --|-- piece 2 --|-- piece 3 --|
    ///  in the set         piece 1       piece 2       piece 3        less what stands before it
    ///  probed with        all after     all after     all after
    /// ```
    fn join_in_pieces(&mut self, work: &JoinWork<'_>, mut end: Position) -> Result<()> {
        let mut start = Position::default();
        loop {
            if end == start {
                return Err(self.no_room_for_one_line(work.bucket(end.reading)));
            }
            self.exclude_before(work, start)?;
            self.probe(work, end)?;
            if end == work.end() {
                return Ok(());
            }
            start = end;
            self.reset(work, start)?;
            end = self.build(work, start, false)?;
        }
    }

    /// Takes out of the set what a piece before `start` had: a line that comes in two pieces would be written
    /// twice.
    fn exclude_before(&mut self, work: &JoinWork<'_>, start: Position) -> Result<()> {
        let set = &mut self.set;
        for reading in 0..=start.reading {
            let mut left = if reading < start.reading {
                work.bucket(reading).lines
            } else {
                start.line
            };
            if left == 0 {
                continue;
            }
            self.reader.read_while(work.bucket(reading), |batch| {
                let lines = left.min(batch.lines.len() as u64);
                for (key, &hash) in batch.keys.iter().zip(batch.hashes).take(lines as usize) {
                    set.exclude(hash, key);
                }
                left -= lines;
                Ok(left > 0)
            })?;
        }
        Ok(())
    }

    /// Makes sure that all lines found room that were written while the set was built.
    ///
    /// # Errors
    /// [`Error::Memory`] if one did not. [`LineSet::has_room_for`] rules that out; if it happened, the bucket could
    /// not be split, because what is written cannot be taken back.
    fn check_whole(&self, work: &JoinWork<'_>, end: Position) -> Result<()> {
        if end == work.end() {
            Ok(())
        } else {
            Err(self
                .budget
                .refusal("set", work.bucket(end.reading).longest_line))
        }
    }

    /// Makes the error for a line that does not fit even an empty set. The limit that would do has room for the
    /// longest line in all the buffers in which a join has it at the same time (block, piece by piece, set, answer).
    fn no_room_for_one_line(&self, build: &Bucket) -> Error {
        let longest = build.longest_line;
        Error::Memory {
            consumer: "the longest line of a bucket",
            asked_bytes: 8 * longest,
            used_bytes: 0,
            limit_bytes: self.budget.limit_bytes(),
            least_bytes: self.run.layout.base_bytes + 8 * longest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_sorted_in_half_of_what_reading_leaves_unless_the_longest_line_needs_it() {
        const MIB: u64 = 1 << 20;
        assert_eq!(range_bytes(8 * MIB, 64), 4 * MIB);
        assert_eq!(range_bytes(8 * MIB, 3 * MIB), 2 * MIB - LEAST_SET_BYTES);
        assert_eq!(range_bytes(5 * MIB, 4 * MIB), LEAST_RANGE_BYTES);
        assert_eq!(range_bytes(0, MIB), 0, "nothing is left");
    }
}
