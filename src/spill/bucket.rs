//! A sealed bucket: reading its lines back.
//!
//! *Owns:* where each block of a bucket is, and the check that all of it came back. *Invariants:*
//! blocks are read in the order they were filled; the lines and bytes read equal the lines and
//! bytes appended, or the reading fails. Reading does not change a bucket: it can be read again
//! until it is discarded. *Cost:* one block of memory for reading, given by the caller; a line
//! longer than a block is put together in memory that the budget grants.

use std::cell::Cell;

use crate::batch::{Batch, for_each_batch};
use crate::budget::{Buffer, MemoryBudget};
use crate::error::{Error, Result};
use crate::hash::LineHasher;
use crate::spill::block::{self, Address, BlockInfo, BlockKind, HEADER, Records};
use crate::spill::space::{SpillPath, TempSpace, padded};

/// Where a block is.
#[derive(Debug)]
pub(crate) enum Place {
    /// Still in memory.
    Held {
        /// The block.
        buffer: Buffer,
        /// Its length without padding.
        length: usize,
    },
    /// In the bucket's file.
    Written {
        /// Where in the file.
        offset: u64,
        /// Its length without padding.
        length: usize,
    },
}

/// All lines of one input that fall into one bucket.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// Where it belongs; the sequence is not used.
    pub(crate) address: Address,
    pub(crate) file: Option<SpillPath>,
    pub(crate) file_bytes: u64,
    pub(crate) blocks: Vec<Place>,
    /// Lines appended.
    pub(crate) lines: u64,
    /// Bytes of their records.
    pub(crate) record_bytes: u64,
    /// The longest of them, in bytes.
    pub(crate) longest_line: u64,
}

/// What reading a bucket needs: one per thread.
#[derive(Debug)]
pub(crate) struct BucketReader<'a> {
    space: &'a TempSpace,
    budget: MemoryBudget,
    hasher: LineHasher,
    block: Buffer,
    hashes: Vec<u64>,
}

impl<'a> BucketReader<'a> {
    /// A reader for blocks of up to `block_bytes`.
    pub(crate) fn new(
        space: &'a TempSpace,
        budget: &MemoryBudget,
        hasher: LineHasher,
        block_bytes: u64,
    ) -> Result<Self> {
        let block = Buffer::new(budget, "a block being read", block_bytes)?;
        Ok(Self {
            space,
            budget: budget.clone(),
            hasher,
            block,
            hashes: Vec::new(),
        })
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
        let goes_on = Cell::new(true);
        let mut work = |batch: Batch<'_>| {
            goes_on.set(work(batch)?);
            Ok(goes_on.get())
        };
        let mut totals = Totals::default();
        let mut long = None;
        for (sequence, place) in bucket.blocks.iter().enumerate() {
            let bytes = load(self.space, &mut self.block, bucket, place, sequence)?;
            let address = Address {
                sequence: sequence as u64,
                ..bucket.address
            };
            let info =
                block::check(bytes, &address).map_err(|what| bucket.damaged(sequence, what))?;
            totals.add(&info);
            let payload = &bytes[HEADER..HEADER + info.payload_bytes];
            if info.kind == BlockKind::Records {
                totals.read +=
                    for_each_batch(Records(payload), &self.hasher, &mut self.hashes, &mut work)?;
            } else {
                let record = LongRecord::go_on(long.take(), info.kind, payload, &self.budget)
                    .map_err(|problem| {
                        problem.unwrap_or_else(|| {
                            bucket.damaged(sequence, "a piece of a long line is missing".into())
                        })
                    })?;
                if record.is_complete() {
                    totals.read += 1;
                    for_each_batch(
                        [record.line()].into_iter(),
                        &self.hasher,
                        &mut self.hashes,
                        &mut work,
                    )?;
                } else {
                    long = Some(record);
                }
            }
            if !goes_on.get() {
                return Ok(());
            }
        }
        totals.compare(bucket)
    }
}

/// The bytes of a block: where it is held, or read into `room`.
fn load<'b>(
    space: &TempSpace,
    room: &'b mut Buffer,
    bucket: &'b Bucket,
    place: &'b Place,
    sequence: usize,
) -> Result<&'b [u8]> {
    match (place, &bucket.file) {
        (Place::Held { buffer, length }, _) => Ok(&buffer[..*length]),
        (Place::Written { offset, length }, Some(file)) => {
            let padded = padded(*length as u64) as usize;
            space.read(file, *offset, &mut room[..padded])?;
            Ok(&room[..padded])
        }
        (Place::Written { .. }, None) => Err(bucket.damaged(sequence, "it is in no file".into())),
    }
}

/// What came back so far.
#[derive(Debug, Default)]
struct Totals {
    /// Records that the headers speak of.
    records: u64,
    payload_bytes: u64,
    /// Lines that were found.
    read: u64,
}

impl Totals {
    fn add(&mut self, info: &BlockInfo) {
        self.records += info.records;
        self.payload_bytes += info.payload_bytes as u64;
    }

    /// All that was appended must have come back.
    fn compare(&self, bucket: &Bucket) -> Result<()> {
        let expected = (bucket.lines, bucket.lines, bucket.record_bytes);
        if (self.read, self.records, self.payload_bytes) == expected {
            return Ok(());
        }
        let what = format!(
            "{} of {} lines came back",
            self.read.min(self.records),
            bucket.lines
        );
        Err(bucket.damaged(bucket.blocks.len(), what))
    }
}

impl Bucket {
    /// Gives its memory and its disk back.
    pub(crate) fn discard(self, space: &TempSpace) {
        if let Some(file) = &self.file {
            space.remove(file, self.file_bytes);
        }
    }

    fn damaged(&self, sequence: usize, what: String) -> Error {
        let path = self
            .file
            .as_ref()
            .map(|file| file.path.clone())
            .unwrap_or_default();
        Error::Damaged {
            path,
            block: sequence as u64,
            what,
        }
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
