//! A door to the reader of spill files, for tests that give it other files than a writer made.
//!
//! *Owns:* nothing. The reading is that of the join. *Invariants:* a reading takes no more memory than it is given.
//! *Cost:* a temporary directory and a thread for each reading.

use std::path::Path;

use crate::error::{Error, Result};
use crate::hash::LineHasher;
use crate::interrupt::Interrupt;
use crate::memory::budget::MemoryBudget;
use crate::spill::block::{self, Address, BlockKind, HEADER};
use crate::spill::bucket::{Bucket, BucketFile};
use crate::spill::loads;
use crate::spill::reader::{BucketReader, ReadRules};
use crate::sys::first_error::FirstFailure;
use crate::temp::quota::Quota;
use crate::temp::space::{TempSpace, padded};

/// Returns the address of the block of a [`SpilledBucket`] with this number.
fn address(number: u64) -> Address {
    Address {
        run: 1,
        store: 2,
        bucket: 3,
        level: 0,
        number,
    }
}

/// Makes a block of a [`SpilledBucket`] as its writer seals it, with any payload. Its kind is a number: 0 says that
/// whole records are in it, 1 the first piece of a long one, and anything else a further piece.
pub fn sealed_block(number: u64, kind: u32, records: u64, payload: &[u8]) -> Vec<u8> {
    let kind = match kind {
        0 => BlockKind::Records,
        1 => BlockKind::FirstPiece,
        _ => BlockKind::FurtherPiece,
    };
    let mut block = vec![0; HEADER];
    block.extend_from_slice(payload);
    block::seal(&mut block, &address(number), kind, records);
    block
}

/// A file, and what is remembered of the bucket that was written to it.
#[derive(Debug, Clone, Copy)]
pub struct SpilledBucket<'a> {
    /// The bytes of the file, blocks at multiples of their size.
    pub bytes: &'a [u8],
    /// The distance between blocks in bytes: whole pages.
    pub block_bytes: u64,
    /// Lines that were appended.
    pub lines: u64,
    /// Bytes of their records.
    pub record_bytes: u64,
    /// The longest of them, in bytes.
    pub longest_line: u64,
    /// The sum of their hashes, modulo 2^64.
    pub hash_sum: u64,
}

impl SpilledBucket<'_> {
    /// Reads the file as a worker of the join does, and returns its lines; the file is in a directory of its own in
    /// `directory`.
    ///
    /// # Errors
    /// What the reader reports.
    pub fn read(&self, directory: &Path, hasher: LineHasher) -> Result<Vec<Vec<u8>>> {
        let space = TempSpace::new(
            &[directory.to_owned()],
            Quota::new(u64::MAX),
            &Interrupt::new(),
        );
        let bucket = self.in_file(&space)?;
        let rules = ReadRules {
            space: &space,
            hasher,
            buffer_bytes: self.block_bytes,
            longest_line: self.longest_line,
            key_copy_bytes: 0,
        };
        let budget = MemoryBudget::new(rules.memory_bytes(), 0);
        let failure = FirstFailure::default();
        let result = loads::with_queue(&space, BucketReader::loaders(1), &failure, |loads| {
            let mut lines = Vec::new();
            let mut reader = BucketReader::new(loads, &budget, rules)?;
            reader.read(&bucket, |batch| {
                lines.extend(batch.lines.iter().map(|line| line.to_vec()));
                Ok(())
            })?;
            Ok(lines)
        });
        bucket.discard(&space);
        failure.into_result()?;
        result
    }

    fn in_file(&self, space: &TempSpace) -> Result<Bucket> {
        let path = space.new_path("door")?;
        let end = padded(self.bytes.len() as u64);
        let mut bytes = self.bytes.to_vec();
        bytes.resize(end as usize, 0);
        std::fs::write(&path.path, &bytes).map_err(|source| Error::Temp {
            path: path.path.clone(),
            what: "cannot write a spill file",
            source,
            advice: "choose another directory",
        })?;
        Ok(Bucket {
            has_ordinals: false,
            columns: None,
            address: address(0),
            block_bytes: self.block_bytes,
            file: BucketFile {
                path: Some(path),
                blocks: end.div_ceil(self.block_bytes),
                end,
                // Nothing was charged for them.
                written_bytes: 0,
            },
            held: Vec::new(),
            lines: self.lines,
            record_bytes: self.record_bytes,
            longest_line: self.longest_line,
            hash_sum: self.hash_sum,
        })
    }
}
