//! Reading sealed buckets back.
//!
//! *Owns:* going through the blocks of a bucket, and the check that all of it came back.
//! *Invariants:* blocks are read in the order they were filled; the lines and bytes read, and the sum
//! of the lines' hashes, equal those of what was appended, or the reading fails. Reading does not change a bucket: it can be read
//! again until it is discarded. *Cost:* the loader's two buffers; a line longer than a block is put
//! together in memory that the budget grants.

use crate::batch::{Batch, for_each_batch};
use crate::error::{Error, Result};
use crate::hash::LineHasher;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::{Buffer, PAGE};
use crate::spill::block::{self, Address, BlockInfo, BlockKind, HEADER, Records};
use crate::spill::bucket::{Bucket, FIRST_HELD};
use crate::spill::loader::Loader;
use crate::sys::sync::thread::Scope;
use crate::sys::threads;
use crate::temp::space::TempSpace;

/// What reading buckets needs: one per thread.
#[derive(Debug)]
pub(crate) struct BucketReader {
    loader: Loader,
    content: ContentReader,
}

/// What is needed to go through blocks that are in memory.
#[derive(Debug)]
struct ContentReader {
    budget: MemoryBudget,
    hasher: LineHasher,
    hashes: Vec<u64>,
}

/// How buckets are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadRules<'a> {
    pub(crate) space: &'a TempSpace,
    pub(crate) hasher: LineHasher,
    /// What is read at a time, in bytes: a block, or several.
    pub(crate) buffer_bytes: u64,
    /// The longest line of the buckets, in bytes.
    pub(crate) longest_line: u64,
}

impl ReadRules<'_> {
    /// What a reader takes from its budget, in bytes: the loader's buffers, and room for the longest
    /// line while it is put together.
    pub(crate) fn memory_bytes(&self) -> u64 {
        Loader::BUFFERS as u64 * self.buffer_bytes + self.long_line_bytes()
    }

    fn long_line_bytes(&self) -> u64 {
        self.longest_line + PAGE
    }
}

impl BucketReader {
    /// A reader with a thread of `scope` that loads blocks for it.
    ///
    /// # Errors
    /// [`Error::Memory`] when `budget` has not the memory of the rules.
    pub(crate) fn spawn<'scope>(
        scope: &'scope Scope<'scope, '_>,
        budget: &MemoryBudget,
        rules: ReadRules<'scope>,
    ) -> Result<Self> {
        let (loader, thread) = Loader::new(budget, rules.buffer_bytes)?;
        threads::spawn(scope, "load", move || thread.run(rules.space))?;
        let content = ContentReader {
            budget: budget.split_off("long lines", rules.long_line_bytes())?,
            hasher: rules.hasher,
            hashes: Vec::new(),
        };
        Ok(Self { loader, content })
    }

    /// Hands all lines of `bucket` to `work`, batch by batch.
    ///
    /// # Errors
    /// What `work` reports; [`Error::Damaged`] where a block is not what was written.
    pub(crate) fn read(
        &mut self,
        bucket: &Bucket,
        mut work: impl FnMut(Batch<'_>) -> Result<()>,
    ) -> Result<()> {
        self.read_while(bucket, |batch| work(batch).map(|()| true))
    }

    /// As [`BucketReader::read`], until `work` says false. What comes after that is not checked.
    pub(crate) fn read_while(
        &mut self,
        bucket: &Bucket,
        mut work: impl FnMut(Batch<'_>) -> Result<bool>,
    ) -> Result<()> {
        let mut state = Progress::default();
        let mut blocks = self.loader.start(bucket);
        let mut numbers = 0..;
        while let Some(loaded) = blocks.take()? {
            for (block, number) in loaded.iter().zip(numbers.by_ref()) {
                self.content
                    .go_through(block, bucket, number, &mut state, &mut work)?;
                if state.is_over {
                    break;
                }
            }
            blocks.put(loaded);
            if state.is_over {
                return Ok(());
            }
        }
        for (block, number) in bucket.held.iter().zip(FIRST_HELD..) {
            let bytes = &block.buffer[..block.length];
            self.content
                .go_through(bytes, bucket, number, &mut state, &mut work)?;
            if state.is_over {
                return Ok(());
            }
        }
        state.compare(bucket)
    }
}

impl ContentReader {
    /// Checks one block and hands its lines to `work`.
    fn go_through(
        &mut self,
        bytes: &[u8],
        bucket: &Bucket,
        number: u64,
        state: &mut Progress,
        work: &mut impl FnMut(Batch<'_>) -> Result<bool>,
    ) -> Result<()> {
        let address = Address {
            number,
            ..bucket.address
        };
        let info = block::check(bytes, &address).map_err(|what| bucket.damaged(number, what))?;
        state.add(&info);
        let payload = &bytes[HEADER..HEADER + info.payload_bytes];
        if info.kind == BlockKind::Records {
            return self.hand_over(Records(payload), state, work);
        }
        let record = LongRecord::go_on(state.long.take(), info.kind, payload, &self.budget)
            .map_err(|problem| {
                problem.unwrap_or_else(|| {
                    bucket.damaged(number, "a piece of a long line is missing".into())
                })
            })?;
        if record.is_complete() {
            return self.hand_over([record.line()].into_iter(), state, work);
        }
        state.long = Some(record);
        Ok(())
    }

    fn hand_over<'b>(
        &mut self,
        lines: impl Iterator<Item = &'b [u8]>,
        state: &mut Progress,
        work: &mut impl FnMut(Batch<'_>) -> Result<bool>,
    ) -> Result<()> {
        let (read, is_over, sum) = (&mut state.read, &mut state.is_over, &mut state.hash_sum);
        *read += for_each_batch(lines, &self.hasher, &mut self.hashes, |batch| {
            let hashes = batch.hashes.iter();
            *sum = hashes.fold(*sum, |sum, &hash| sum.wrapping_add(hash));
            let goes_on = work(batch)?;
            *is_over = !goes_on;
            Ok(goes_on)
        })?;
        Ok(())
    }
}

/// What came back so far.
#[derive(Debug, Default)]
struct Progress {
    /// Records that the headers speak of.
    records: u64,
    payload_bytes: u64,
    /// Lines that were found.
    read: u64,
    /// The sum of their hashes, modulo 2^64.
    hash_sum: u64,
    /// A long line of which not all pieces have come.
    long: Option<LongRecord>,
    /// Whether the reader wants no more.
    is_over: bool,
}

impl Progress {
    fn add(&mut self, info: &BlockInfo) {
        self.records += info.records;
        self.payload_bytes += info.payload_bytes as u64;
    }

    /// All that was appended must have come back.
    fn compare(&self, bucket: &Bucket) -> Result<()> {
        let expected = (bucket.lines, bucket.lines, bucket.record_bytes);
        if (self.read, self.records, self.payload_bytes) == expected {
            if self.hash_sum == bucket.hash_sum {
                return Ok(());
            }
            let what = "other lines came back than were written".to_owned();
            return Err(bucket.damaged(bucket.file.blocks, what));
        }
        let what = format!(
            "{} of {} lines came back",
            self.read.min(self.records),
            bucket.lines
        );
        Err(bucket.damaged(bucket.file.blocks, what))
    }
}

/// A line that is being put together from several blocks.
#[derive(Debug)]
struct LongRecord {
    buffer: Buffer,
    length: usize,
    filled: usize,
}

impl LongRecord {
    /// Adds a piece. `Err(None)`: the pieces do not fit together.
    fn go_on(
        before: Option<Self>,
        kind: BlockKind,
        payload: &[u8],
        budget: &MemoryBudget,
    ) -> Result<Self, Option<Error>> {
        let (mut record, piece) = match (before, kind) {
            (None, BlockKind::FirstPiece) => {
                let (length, taken) = block::take_length(payload).ok_or(None)?;
                let buffer = Buffer::new(budget, "a long line", length as u64).map_err(Some)?;
                (
                    Self {
                        buffer,
                        length,
                        filled: 0,
                    },
                    &payload[taken..],
                )
            }
            (Some(record), BlockKind::FurtherPiece) => (record, payload),
            _ => return Err(None),
        };
        let end = record.filled + piece.len();
        if end > record.length {
            return Err(None);
        }
        record.buffer[record.filled..end].copy_from_slice(piece);
        record.filled = end;
        Ok(record)
    }

    fn is_complete(&self) -> bool {
        self.filled == self.length
    }

    fn line(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::Interrupt;
    use crate::temp::quota::Quota;

    #[test]
    fn what_a_reader_takes_is_its_buffers_and_the_longest_line() {
        let space = TempSpace::new(&["/".into()], Quota::new(0), &Interrupt::new());
        let rules = ReadRules {
            space: &space,
            hasher: LineHasher::with_key([3; 4]),
            buffer_bytes: 1 << 16,
            longest_line: 100_000,
        };
        assert_eq!(rules.memory_bytes(), (2 << 16) + 100_000 + PAGE);
    }
}
