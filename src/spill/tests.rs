//! A store of buckets from empty to read back, and what reading says of one that was tampered with.

use std::sync::Arc;

use super::block::{Address, HEADER};
use super::bucket::Bucket;
use super::fill::fill;
use super::loader::Loader;
use super::loads::{self, LoadQueue};
use super::pool::BlockPool;
use super::reader::{BucketReader, ReadRules};
use super::rules::FillRules;
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::hash::LineHasher;
use crate::interrupt::Interrupt;
use crate::memory::budget::MemoryBudget;
use crate::sys::first_error::FirstFailure;
use crate::temp::quota::Quota;
use crate::temp::space::TempSpace;

const LINES: usize = 30_000;
/// True for blocks that go around the page cache: they are loaded by a thread then. Through it, where the machine has
/// room, they are copied.
const AROUND: [bool; 2] = [true, false];
const BLOCK: u64 = 4096;
/// Blocks that stay free for writing.
const IN_FLIGHT: u64 = 4;

/// A directory for buckets, and what they are filled and read with.
struct SpillFixture {
    space: TempSpace,
    pool: BlockPool,
    budget: MemoryBudget,
    quota: Arc<Quota>,
    writers: usize,
    _directory: tempfile::TempDir,
}

impl SpillFixture {
    fn new(pool_blocks: u64, writers: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let quota = Quota::new(u64::MAX);
        let parents = [directory.path().to_owned()];
        let budget = MemoryBudget::new(64 << 20, 0);
        Self {
            space: TempSpace::new(&parents, quota.clone(), &Interrupt::new()),
            pool: BlockPool::new(&budget, BLOCK, pool_blocks, IN_FLIGHT),
            budget,
            quota,
            writers,
            _directory: directory,
        }
    }

    /// Fills `buckets` buckets, line number i into bucket i modulo their number, one by one.
    fn fill<'l>(&self, buckets: u32, lines: impl IntoIterator<Item = &'l [u8]>) -> Vec<Bucket> {
        let rules = FillRules {
            space: &self.space,
            pool: &self.pool,
            address: Address {
                run: 1,
                store: 0,
                bucket: 0,
                level: 3,
                number: 0,
            },
            buckets,
            writers: self.writers,
            has_ordinals: false,
            columns: None,
            block_sink: None,
        };
        let hasher = LineHasher::with_key([3; 4]);
        let filled = fill(rules, |writer| {
            assert_eq!((writer.buckets(), writer.level()), (buckets, 3));
            for (number, line) in (0..).zip(lines) {
                let (lines, hashes) = ([line], [hasher.hash(line)]);
                let batch = Batch::new(&lines, &hashes);
                writer.append(number % buckets, batch, &[0])?;
            }
            Ok(())
        });
        filled.unwrap()
    }

    fn rules(&self, buffer_bytes: u64) -> ReadRules<'_> {
        ReadRules {
            space: &self.space,
            hasher: LineHasher::with_key([3; 4]),
            buffer_bytes,
            longest_line: 100_000,
            key_copy_bytes: 0,
        }
    }

    /// Reads all lines of a bucket, which is dropped then.
    fn drain(&self, bucket: Bucket) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        with_loads(&self.space, |loads| {
            let mut reader = BucketReader::new(loads, &self.budget, self.rules(BLOCK)).unwrap();
            let read = reader.read(&bucket, |batch| {
                found.extend(batch.lines.iter().map(|line| line.to_vec()));
                Ok(())
            });
            read.unwrap();
        });
        for held in bucket.held {
            self.pool.put(held.buffer);
        }
        let emptied = Bucket {
            held: Vec::new(),
            ..bucket
        };
        emptied.discard(&self.space);
        found
    }
}

/// Calls `body` with a queue of requests for files of `space`, and returns what it returns.
fn with_loads<R>(space: &TempSpace, body: impl FnOnce(&LoadQueue) -> R) -> R {
    let failure = FirstFailure::default();
    let result = loads::with_queue(space, BucketReader::loaders(1), &failure, body);
    failure.into_result().unwrap();
    result
}

/// Fills one bucket with numbers as lines, of which `pool_blocks` blocks may stay in memory, lets `tamper` change it,
/// and reads it back.
fn read_back(pool_blocks: u64, tamper: impl FnOnce(&mut Bucket)) -> Result<Vec<Vec<u8>>> {
    let directory = tempfile::tempdir().unwrap();
    let space = TempSpace::new(
        &[directory.path().to_owned()],
        Quota::new(u64::MAX),
        &Interrupt::new(),
    );
    let budget = MemoryBudget::new(64 << 20, 0);
    let pool = BlockPool::new(&budget, BLOCK, pool_blocks, IN_FLIGHT);
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
        has_ordinals: false,
        columns: None,
        block_sink: None,
    };
    let batch = Batch::new(&lines, &hashes);
    let indexes: Vec<u32> = (0..LINES as u32).collect();
    let mut bucket = fill(rules, |writer| writer.append(0, batch, &indexes))?.remove(0);
    tamper(&mut bucket);
    let rules = ReadRules {
        space: &space,
        hasher,
        buffer_bytes: BLOCK,
        longest_line: 10,
        key_copy_bytes: 0,
    };
    with_loads(&space, |loads| {
        let mut found = Vec::new();
        let mut reader = BucketReader::new(loads, &budget, rules)?;
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
            // A whole block is missing, and only the counts show it.
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

/// Bytes of a block that records can be in.
const ROOM: usize = BLOCK as usize - HEADER;

#[test]
fn lines_of_every_length_around_a_block_come_back_and_the_pool_has_its_blocks_again() {
    let lengths = (ROOM - 20..ROOM + 150).chain([0, 2 * ROOM, 2 * ROOM - 2, 3 * ROOM, 50_000, 1]);
    let lines: Vec<Vec<u8>> = lengths
        .map(|length| (0..length).map(|at| (at * 7 + length) as u8).collect())
        .collect();
    for (pool_blocks, writers) in [(9, 0), (9, 2), (4000, 0)] {
        let store = SpillFixture::new(pool_blocks, writers);
        let buckets = store.fill(3, lines.iter().map(Vec::as_slice));
        for (number, bucket) in buckets.into_iter().enumerate() {
            let mut found = store.drain(bucket);
            let mut expected: Vec<_> = lines.iter().skip(number).step_by(3).cloned().collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert!(found == expected, "bucket {number} of pool {pool_blocks}");
        }
        assert_eq!(
            store.quota.used_bytes(),
            0,
            "discarded buckets take no disk"
        );
        assert!(store.pool.claim(pool_blocks - 1).is_ok(), "and no blocks");
    }
}

#[test]
fn blocks_are_filled_to_the_last_byte_and_no_empty_one_is_written() {
    // A record has one byte of length up to 127 bytes, two up to 16,383.
    let exact: [Vec<u8>; 2] = [vec![b'a'; ROOM - 130], vec![b'b'; 127]];
    let long = vec![b'c'; 2 * ROOM];
    let whole = vec![b'd'; ROOM - 2];
    let lengths: [(&[&[u8]], u64); 7] = [
        (&[], 0),
        (&[&exact[0], &exact[1]], 1),
        (&[&exact[0], &exact[1], b""], 2),
        (&[&whole], 1),
        (&[&long], 3),
        (&[&long, &long], 6),
        (&[&long, b"short", &long], 7),
    ];
    for (lines, blocks) in lengths {
        for pool_blocks in [6, 1000] {
            let store = SpillFixture::new(pool_blocks, 0);
            let bucket = store.fill(1, lines.iter().copied()).remove(0);
            let written = bucket.file.blocks;
            assert_eq!(
                written + bucket.held.len() as u64,
                blocks,
                "{} lines",
                lines.len()
            );
            if lines.iter().all(|line| line.len() <= ROOM - 2) && pool_blocks > 6 {
                assert_eq!(written, 0, "there is room in memory");
            }
            if pool_blocks == 6 {
                assert!(bucket.held.len() <= 1);
            }
            assert_eq!(
                bucket.longest_line,
                lines.iter().map(|l| l.len() as u64).max().unwrap_or(0)
            );
            let used = store.quota.used_bytes();
            assert_eq!(used, bucket.file.written_bytes);
            assert!(used <= bucket.file.end && bucket.file.end <= written * BLOCK);
            store.drain(bucket);
            assert_eq!(store.quota.used_bytes(), 0);
            assert!(store.pool.claim(pool_blocks - 1).is_ok());
        }
    }
}

#[test]
fn buckets_that_are_written_fill_their_blocks_at_different_times() {
    const BUCKETS: u32 = 8;
    // A block and a half for each bucket, in records of 64 bytes.
    let each = ROOM as u32 / 64 * 3 / 2;
    let line = [b'x'; 63];
    let blocks = |pool_blocks| {
        let store = SpillFixture::new(pool_blocks, 0);
        let lines = std::iter::repeat_n(&line[..], (each * BUCKETS) as usize);
        let buckets = store.fill(BUCKETS, lines);
        let blocks = |bucket: &Bucket| (bucket.file.blocks, bucket.held.len());
        buckets.iter().map(blocks).collect::<Vec<_>>()
    };
    // The short blocks have an eighth of a block, two, and so on.
    let written = [
        (3, 0),
        (3, 0),
        (3, 0),
        (2, 0),
        (2, 0),
        (2, 0),
        (2, 0),
        (2, 0),
    ];
    assert_eq!(blocks(u64::from(BUCKETS) + 2), written);
    // What stays in memory wastes none of it.
    assert_eq!(blocks(1000), [(0, 2); BUCKETS as usize]);
}

#[test]
fn a_reading_that_is_given_up_leaves_a_reader_that_reads_the_next_bucket_whole() {
    for is_around in AROUND {
        let store = SpillFixture::new(12, 1);
        if is_around {
            store.space.fill_page_cache();
        }
        let texts: Vec<String> = (0..40_000).map(|number| number.to_string()).collect();
        let buckets = store.fill(2, texts.iter().map(String::as_bytes));
        assert!(buckets[0].file.blocks > 20);
        with_loads(&store.space, |loads| {
            let rules = store.rules(3 * BLOCK + 100);
            let mut reader = BucketReader::new(loads, &store.budget, rules).unwrap();
            for stop_after in [1, 500, 3000] {
                let mut seen = 0;
                let stopped = reader.read_while(&buckets[0], |batch| {
                    seen += batch.lines.len();
                    Ok(seen < stop_after)
                });
                stopped.unwrap();
                assert!((stop_after..20_000).contains(&seen));
                let mut seen = 0;
                let whole = reader.read(&buckets[1], |batch| {
                    seen += batch.lines.len();
                    Ok(())
                });
                whole.unwrap();
                assert_eq!(seen, 20_000);
            }
        });
    }
}

#[test]
fn as_many_blocks_are_loaded_at_a_time_as_fit_the_buffer() {
    for is_around in AROUND {
        let store = SpillFixture::new(6, 0);
        if is_around {
            store.space.fill_page_cache();
        }
        let texts: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
        let bucket = store.fill(1, texts.iter().map(String::as_bytes)).remove(0);
        let written = bucket.file.blocks as usize;
        assert!(written > 10);
        with_loads(&store.space, |loads| {
            let mut loader = Loader::new(&store.space, loads, &store.budget, 4 * BLOCK).unwrap();
            let mut reading = loader.start(&bucket);
            let mut counts = Vec::new();
            while let Some(blocks) = reading.take().unwrap() {
                counts.push(blocks.iter().count());
                reading.put(blocks);
            }
            assert_eq!(counts.iter().sum::<usize>(), written);
            assert!(
                counts[..counts.len() - 1].iter().all(|&count| count == 4),
                "{counts:?}"
            );
        });
    }
}

#[test]
fn a_line_that_changes_in_memory_is_noticed_without_a_checksum() {
    for (block, bit) in [(0, 0), (1, 7)] {
        let changed = read_back(1000, |bucket| {
            let held = &mut bucket.held[block];
            held.buffer[held.filled - 1] ^= 1 << bit;
        });
        let told = changed.unwrap_err().to_string();
        assert!(told.contains("differ from the lines written"), "{told}");
    }
}
