//! A store of buckets from empty to read back, and what reading says of one that was tampered with.

use super::block::Address;
use super::bucket::Bucket;
use super::buckets::{FillRules, fill};
use super::pool::BlockPool;
use super::quota::Quota;
use super::reader::{BucketReader, ReadRules};
use super::space::TempSpace;
use crate::batch::Batch;
use crate::budget::MemoryBudget;
use crate::error::{Error, Result};
use crate::hash::LineHasher;
use crate::interrupt::Interrupt;
use crate::sync::thread;

const LINES: usize = 30_000;
const BLOCK: u64 = 4096;

/// One bucket of numbers as lines, of which `pool_blocks` blocks may stay in memory, and what `check` makes of reading it.
fn read_back(pool_blocks: u64, tamper: impl FnOnce(&mut Bucket)) -> Result<Vec<Vec<u8>>> {
    let place = tempfile::tempdir().unwrap();
    let space = TempSpace::new(
        &[place.path().to_owned()],
        Quota::new(u64::MAX),
        &Interrupt::new(),
    );
    let budget = MemoryBudget::new(64 << 20, 0);
    let pool = BlockPool::new(&budget, BLOCK, pool_blocks);
    let hasher = LineHasher::with_key([3; 4]);
    let texts: Vec<String> = (0..LINES).map(|number| number.to_string()).collect();
    let lines: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let mut hashes = Vec::new();
    hasher.hash_batch(&lines, &mut hashes);
    let rules = FillRules {
        space: &space,
        pool: &pool,
        address: Address {
            run: 1,
            store: 0,
            bucket: 0,
            level: 0,
            number: 0,
        },
        buckets: 1,
        writers: 0,
    };
    let batch = Batch {
        lines: &lines,
        hashes: &hashes,
    };
    let indexes: Vec<u32> = (0..LINES as u32).collect();
    let mut bucket = fill(rules, |writer| writer.append(0, batch, &indexes))?.remove(0);
    tamper(&mut bucket);
    let rules = ReadRules {
        space: &space,
        hasher,
        buffer_bytes: BLOCK,
        longest_line: 10,
    };
    thread::scope(|scope| {
        let mut found = Vec::new();
        let mut reader = BucketReader::spawn(scope, &budget, rules)?;
        reader.read(&bucket, |batch| {
            found.extend(batch.lines.iter().map(|line| line.to_vec()));
            Ok(())
        })?;
        Ok(found)
    })
}

/// Enough that all blocks stay in memory, and so few that they are written.
const POOLS: [u64; 2] = [1000, 10];

#[test]
fn what_was_appended_comes_back_from_memory_and_from_disk() {
    for pool_blocks in POOLS {
        let found = read_back(pool_blocks, |bucket| {
            assert_eq!(bucket.file.path.is_some(), pool_blocks == 10);
        });
        let mut found = found.unwrap();
        found.sort_unstable_by_key(|line| (line.len(), line.clone()));
        let expected = (0..LINES).map(|number| number.to_string().into_bytes());
        assert!(found.into_iter().eq(expected), "{pool_blocks}");
    }
}

#[test]
fn fewer_lines_other_lines_and_other_counts_are_noticed() {
    let tamperings: [fn(&mut Bucket); 4] = [
        |bucket| bucket.hash_sum ^= 1 << 40,
        |bucket| bucket.lines += 1,
        |bucket| bucket.record_bytes -= 1,
        |bucket| {
            // A whole block is gone, and nobody misses it but the counts.
            if bucket.held.pop().is_none() {
                bucket.file.blocks -= 1;
                bucket.file.end -= BLOCK;
            }
        },
    ];
    for pool_blocks in POOLS {
        for (number, tamper) in tamperings.iter().enumerate() {
            let error = read_back(pool_blocks, tamper).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "{number}: {error}");
        }
    }
}
