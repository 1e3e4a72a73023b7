//! Reading sealed buckets back.
//!
//! *Owns:* going through the blocks of a bucket, and the check that all of it came back.
//!
//! A reading, all of it on the thread that calls [`BucketReader::read`], except reading ahead:
//!
//! 1. Written blocks that are in the page cache are copied; threads `load-N` read the others ahead ([`Loader`]).
//! 2. The header and the checksum of a block are compared with what belongs at that offset. No line is handed
//!    out before that.
//! 3. The lines of the block are hashed again and handed out in batches. The pieces of a long line are put
//!    together first; the line is a batch of its own.
//! 4. After the written blocks come the held ones, which need no loading and have no checksum.
//! 5. At the end, lines, bytes and the sum of hashes are compared with those of the bucket.
//!
//! *Invariants:*
//! - Written blocks come before held blocks, and both in the order of their numbers. So every reading of a
//!   bucket gives the same lines in the same order; a join in pieces relies on that.
//! - The lines and bytes read, and the sum of the lines' hashes, equal those of what was appended, or the
//!   reading fails. Lines were handed out by then, so the failure must end the run.
//! - Reading does not change a bucket: it can be read again until it is discarded.
//!
//! *Cost:* the loader's two buffers, and room for the longest line of the buckets; every line is hashed again.

use crate::batch::{Batch, Keyed, Ordinals, Scratch, for_each_batch};
use crate::error::{Error, Result};
use crate::hash::LineHasher;
use crate::lines::prefixed::{PrefixedLines, take_length};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::{Buffer, PAGE};
use crate::record::Columns;
use crate::spill::block::{self, Address, BlockKind, HEADER};
use crate::spill::bucket::Bucket;
use crate::spill::loader::Loader;
use crate::spill::loads::{LoadQueue, MOST_LOADERS};
use crate::temp::space::TempSpace;

/// A reader of buckets, one after the other. Each worker has its own; the threads that load for it serve all of them.
#[derive(Debug)]
pub(crate) struct BucketReader<'s> {
    loader: Loader<'s>,
    content: ContentReader,
}

/// Goes through blocks that are in memory. Apart from [`Loader`], because a reading borrows that.
#[derive(Debug)]
struct ContentReader {
    /// Room for one line that is longer than a block, and for the copy of its key; split off, so that the set of a join
    /// cannot take it.
    budget: MemoryBudget,
    /// The hash of the run: hashes are those that the lines had when they were appended.
    hasher: LineHasher,
    /// The hashes of the present batch; kept for its capacity.
    scratch: Scratch,
}

/// The rules for reading buckets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadRules<'a> {
    /// The temporary space that wrote the buckets.
    pub(crate) space: &'a TempSpace,
    /// The hash of the run.
    pub(crate) hasher: LineHasher,
    /// The bytes that are read at a time: one block or several, in whole pages. At least the size of the largest
    /// block.
    pub(crate) buffer_bytes: u64,
    /// The longest line of all buckets that will be read, in bytes.
    pub(crate) longest_line: u64,
    /// The memory for the copy of the key of the longest record, in bytes; 0 where lines are keys, or keys short.
    pub(crate) key_copy_bytes: u64,
}

impl ReadRules<'_> {
    /// Returns the bytes that [`BucketReader::new`] takes from its budget: the loader's buffers, and room for the
    /// longest line while it is put together. The reader needs no more later.
    pub(crate) fn memory_bytes(&self) -> u64 {
        Loader::BUFFERS as u64 * self.buffer_bytes + self.long_line_bytes()
    }

    /// Returns the room for the longest line, rounded up to whole pages by the buffer that takes it.
    fn long_line_bytes(&self) -> u64 {
        self.longest_line + self.key_copy_bytes + PAGE
    }
}

impl<'s> BucketReader<'s> {
    /// Counts the threads that may load for `readers`: one for each request that they have at a time, up to
    /// [`MOST_LOADERS`], but at least one for each reader.
    pub(crate) fn loaders(readers: usize) -> usize {
        (readers * Loader::BUFFERS).min(MOST_LOADERS.max(readers))
    }

    /// Makes a reader whose blocks are requested from `queue`, which must be of the space of `rules`.
    ///
    /// # Errors
    /// [`Error::Memory`] when `budget` has less left than [`ReadRules::memory_bytes`].
    pub(crate) fn new(
        queue: &'s LoadQueue,
        budget: &MemoryBudget,
        rules: ReadRules<'s>,
    ) -> Result<Self> {
        let loader = Loader::new(rules.space, queue, budget, rules.buffer_bytes)?;
        let content = ContentReader {
            budget: budget.split_off("long lines", rules.long_line_bytes())?,
            hasher: rules.hasher,
            scratch: Scratch::default(),
        };
        Ok(Self { loader, content })
    }

    /// Hands all lines of `bucket` to `work`, batch by batch, on the calling thread. Waits for the disk when
    /// `work` is faster than that.
    ///
    /// # Errors
    /// What `work` reports; [`Error::Damaged`] where a block, or the bucket as a whole, is not what was
    /// written; [`Error::Temp`] where it cannot be read.
    pub(crate) fn read(
        &mut self,
        bucket: &Bucket,
        mut work: impl FnMut(Batch<'_>) -> Result<()>,
    ) -> Result<()> {
        self.read_while(bucket, |batch| work(batch).map(|()| true))
    }

    /// Works as [`BucketReader::read`], until `work` returns false. What comes after that is not checked, nor are the
    /// counts of the bucket.
    pub(crate) fn read_while(
        &mut self,
        bucket: &Bucket,
        mut work: impl FnMut(Batch<'_>) -> Result<bool>,
    ) -> Result<()> {
        let mut state = Progress::default();
        let mut blocks = self.loader.start(bucket);
        // The numbers of written blocks go on from one buffer to the next. `zip` asks for a block first: when a
        // buffer has no more, no number is lost.
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
        for block in &bucket.held {
            let payload = block.payload();
            state.add(block.records, payload.len());
            self.content
                .hand_over(PrefixedLines(payload), bucket, &mut state, &mut work)?;
            if state.is_over {
                return Ok(());
            }
        }
        state.compare(bucket)
    }
}

impl ContentReader {
    /// Checks one written block and hands its lines to `work`; a piece of a long line only when it completes the
    /// line. `bytes` begins with the block and may have padding after it; `number` is the block's own.
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
        state.add(info.records, info.payload_bytes);
        let payload = &bytes[HEADER..HEADER + info.payload_bytes];
        if info.kind == BlockKind::Records {
            return self.hand_over(PrefixedLines(payload), bucket, state, work);
        }
        // Between the pieces of a line there is no other block of the bucket: the line was appended under one
        // lock, and its pieces are all in the file.
        let record = LongRecord::go_on(state.long.take(), info.kind, payload, &self.budget)
            .map_err(|problem| {
                problem.unwrap_or_else(|| {
                    bucket.damaged(number, "a piece of a long line is missing".into())
                })
            })?;
        if record.is_complete() {
            return self.hand_over([record.line()].into_iter(), bucket, state, work);
        }
        state.long = Some(record);
        Ok(())
    }

    /// Hashes `lines` and hands them to `work` in batches, counting lines and hashes in `state`. Sets
    /// `state.is_over` if `work` wants no more.
    fn hand_over<'b>(
        &mut self,
        lines: impl Iterator<Item = &'b [u8]>,
        bucket: &Bucket,
        state: &mut Progress,
        work: &mut impl FnMut(Batch<'_>) -> Result<bool>,
    ) -> Result<()> {
        let (read, is_over, sum) = (&mut state.read, &mut state.is_over, &mut state.hash_sum);
        let ordinals = if bucket.has_ordinals {
            Ordinals::OF_BUCKET
        } else {
            Ordinals::None
        };
        // Each had a key when it was spilled.
        let on_bad = |_: &[u8], _| {
            Err(bucket.damaged(bucket.file.blocks, "a record has lost its key".into()))
        };
        let room_for_key = |record: &[u8]| {
            let bytes = Columns::most_copied(record.len() as u64);
            let room = self.budget.reserve("the copy of a long key", bytes);
            room.map(Some)
        };
        let keyed = bucket.columns.as_ref().map(|columns| Keyed {
            columns,
            room_for_key: &room_for_key,
            keeps_records: true,
            passed_over: None,
            is_key: None,
            on_bad: &on_bad,
        });
        let scratch = &mut self.scratch;
        *read += for_each_batch(
            lines,
            ordinals,
            keyed,
            Some(&self.hasher),
            scratch,
            |batch| {
                let hashes = batch.hashes.iter();
                *sum = hashes.fold(*sum, |sum, &hash| sum.wrapping_add(hash));
                let goes_on = work(batch)?;
                *is_over = !goes_on;
                Ok(goes_on)
            },
        )?;
        Ok(())
    }
}

/// The counts of what has come back so far.
#[derive(Debug, Default)]
struct Progress {
    /// Records, as the blocks count them.
    records: u64,
    /// Bytes of all payloads.
    payload_bytes: u64,
    /// Lines that were handed out: fewer than `records` if a payload is malformed or a piece is missing.
    read: u64,
    /// The sum of their hashes, modulo 2^64.
    hash_sum: u64,
    /// The long line that the last block began or continued, if its end has not come.
    long: Option<LongRecord>,
    /// True if `work` has returned false.
    is_over: bool,
}

impl Progress {
    /// Counts what a block has.
    fn add(&mut self, records: u64, payload_bytes: usize) {
        self.records += records;
        self.payload_bytes += payload_bytes as u64;
    }

    /// Compares what came back with what was appended, after the last block. A checksum covers one block;
    /// this notices blocks and lines that are missing, and lines that changed before they were sealed, or in memory.
    ///
    /// # Errors
    /// [`Error::Damaged`], with the number after the last written block: no single block is to blame.
    fn compare(&self, bucket: &Bucket) -> Result<()> {
        let expected = (bucket.lines, bucket.lines, bucket.record_bytes);
        if (self.read, self.records, self.payload_bytes) == expected {
            if self.hash_sum == bucket.hash_sum {
                return Ok(());
            }
            let what = "the lines read back differ from the lines written".to_owned();
            return Err(bucket.damaged(bucket.file.blocks, what));
        }
        let what = format!(
            "only {} of {} lines were read back",
            self.read.min(self.records),
            bucket.lines
        );
        Err(bucket.damaged(bucket.file.blocks, what))
    }
}

/// A line that is being put together from several blocks.
#[derive(Debug)]
pub(crate) struct LongRecord {
    /// The line, from the start of the buffer; at least `length` bytes.
    buffer: Buffer,
    /// The length of the whole line, in bytes, as its first piece says; with its ordinal, if it has one.
    length: usize,
    /// Bytes of it that have come: 0 to `length`.
    filled: usize,
}

impl LongRecord {
    /// Begins a line with its first piece, or adds a further piece to the line `before`. `payload` is that of
    /// a checked block.
    ///
    /// # Errors
    /// `None` if the pieces do not fit together: a first piece while a line is unfinished, a further piece
    /// without a line, or more bytes than the line has. `Some` if the budget refuses the buffer.
    pub(crate) fn go_on(
        before: Option<Self>,
        kind: BlockKind,
        payload: &[u8],
        budget: &MemoryBudget,
    ) -> Result<Self, Option<Error>> {
        let (mut record, piece) = match (before, kind) {
            (None, BlockKind::FirstPiece) => {
                let (length, taken) = take_length(payload).ok_or(None)?;
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

    /// Returns true if all pieces have come.
    pub(crate) fn is_complete(&self) -> bool {
        self.filled == self.length
    }

    /// Returns the line. Its tail is zeros until all pieces have come.
    pub(crate) fn line(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::Interrupt;
    use crate::temp::quota::Quota;

    #[test]
    fn each_reader_has_a_thread_that_loads_for_it_and_a_few_have_two() {
        let of = [1, 2, 8, 10, 64].map(BucketReader::loaders);
        assert_eq!(of, [2, 4, 16, 16, 64]);
    }

    #[test]
    fn what_a_reader_takes_is_its_buffers_and_the_longest_line() {
        let space = TempSpace::new(&["/".into()], Quota::new(0), &Interrupt::new());
        let rules = ReadRules {
            space: &space,
            hasher: LineHasher::with_key([3; 4]),
            buffer_bytes: 1 << 16,
            longest_line: 100_000,
            key_copy_bytes: 0,
        };
        assert_eq!(rules.memory_bytes(), (2 << 16) + 100_000 + PAGE);
    }
}
