//! The engine's threads under a model checker: what must hold is checked under one order of threads after another.
//!
//! *Owns:* how many schedules are tried and how, and a small store of buckets to try them on. Half of the schedules
//! are random, half are by priorities that change a few times (PCT), which finds what needs a thread to be late for
//! long. *Invariants:* a run that fails prints its schedule, and the seed that `OUTSET_TEST_SEED` takes. *Cost:* a
//! few hundred schedules a test; `OUTSET_SCHEDULES=100000` for more.
//!
//! *Sources:* the crate `shuttle`; Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of
//! Finding Bugs", ASPLOS 2010.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod belt;
mod engine;
mod failures;
mod filling;
mod lifetimes;
#[cfg(feature = "failpoints")]
mod panics;
mod pool;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};
use tempfile::TempDir;

use crate::batch::Batch;
use crate::error::Result;
use crate::hash::LineHasher;
use crate::interrupt::Interrupt;
use crate::memory::budget::MemoryBudget;
use crate::pass::spill::ToBuckets;
use crate::spill::block::Address;
use crate::spill::bucket::Bucket;
use crate::spill::fill::fill;
use crate::spill::pool::BlockPool;
use crate::spill::reader::{BucketReader, ReadRules};
use crate::spill::rules::FillRules;
use crate::spill::writer::BucketWriter;
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::model::{Time, set_time};
use crate::sys::threads::{STACK_BYTES, Workers};
use crate::temp::quota::Quota;
use crate::temp::space::TempSpace;

/// The size of a block.
const BLOCK: u64 = 4096;
/// Blocks that stay free for writing.
const IN_FLIGHT: u64 = 4;
/// The longest line.
const LONGEST: usize = 2 * BLOCK as usize + 1000;
/// The number of times that priorities change in a schedule by priorities, and one.
const DEPTH: usize = 3;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Runs `body` under one schedule after another.
fn explore(name: &str, time: Time, body: impl Fn() + Send + Sync + 'static) {
    let schedules = number("OUTSET_SCHEDULES").unwrap_or(1000).max(2) as usize;
    let seed = number("OUTSET_TEST_SEED").unwrap_or_else(|| getrandom::u64().unwrap());
    println!("{name}: OUTSET_TEST_SEED={seed}");
    set_time(time);
    let body = Arc::new(body);
    let start = Instant::now();
    let by_chance = RandomScheduler::new_from_seed(seed, schedules / 2);
    let by_priority = PctScheduler::new_from_seed(seed, DEPTH, schedules - schedules / 2);
    for scheduler in [
        Box::new(by_chance) as Box<dyn Scheduler + Send>,
        Box::new(by_priority),
    ] {
        let mut config = Config::new();
        config.stack_size = STACK_BYTES;
        config.silence_warnings = true;
        let body = Arc::clone(&body);
        Runner::new(scheduler, config).run(move || body());
    }
    println!("{name}: {schedules} schedules in {:?}", start.elapsed());
}

/// Makes a directory in memory, where the system has one.
fn temp_directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// The size of a store.
#[derive(Debug, Clone)]
struct Size {
    parent: PathBuf,
    buckets: u32,
    pool_blocks: u64,
    /// Blocks that the memory has room for: those of the pool, in a run that plans well.
    memory_blocks: u64,
    /// The cap on temporary disk.
    disk_bytes: u64,
}

impl Size {
    /// Describes a store whose blocks are nearly all written.
    fn new(directory: &TempDir, buckets: u32) -> Self {
        let pool_blocks = u64::from(buckets) + 1;
        Self {
            parent: directory.path().to_owned(),
            buckets,
            pool_blocks,
            memory_blocks: pool_blocks,
            disk_bytes: u64::MAX,
        }
    }
}

/// A store of buckets that two workers fill and two writers write.
struct FilledStore {
    size: Size,
    budget: MemoryBudget,
    hasher: LineHasher,
    // Declared before the space: what it counts is given back before the directory goes.
    pool: BlockPool,
    space: TempSpace,
    quota: Arc<Quota>,
    interrupt: Interrupt,
}

impl FilledStore {
    fn new(size: &Size) -> Self {
        let budget = MemoryBudget::new(size.memory_blocks * BLOCK, 0);
        let (quota, interrupt) = (Quota::new(size.disk_bytes), Interrupt::new());
        let parents = std::slice::from_ref(&size.parent);
        Self {
            pool: BlockPool::new(&budget, BLOCK, size.pool_blocks, IN_FLIGHT),
            space: TempSpace::new(parents, Arc::clone(&quota), &interrupt),
            hasher: LineHasher::with_key([3; 4]),
            size: size.clone(),
            budget,
            quota,
            interrupt,
        }
    }

    /// Fills buckets with the lines of `numbers`.
    fn fill(&self, numbers: &Range<usize>) -> Result<Vec<Bucket>> {
        let rules = FillRules {
            space: &self.space,
            pool: &self.pool,
            address: Address {
                run: 1,
                store: numbers.start as u32,
                bucket: 0,
                level: 0,
                number: 0,
            },
            buckets: self.size.buckets,
            writers: 2,
            has_ordinals: false,
            columns: None,
            block_sink: None,
        };
        fill(rules, |writer| {
            let failure = FirstFailure::default();
            let next = AtomicUsize::new(0);
            Workers::new(2).run(&failure, |found_work| {
                found_work();
                let worker = next.fetch_add(1, Ordering::Relaxed);
                self.append(writer, numbers.clone().skip(worker).step_by(2))
            });
            failure.into_result()
        })
    }

    /// Appends lines, a few at a time.
    fn append(
        &self,
        writer: &BucketWriter<'_>,
        numbers: impl Iterator<Item = usize>,
    ) -> Result<()> {
        let mut to_buckets = ToBuckets::new(writer, self.hasher);
        let texts: Vec<(usize, Vec<u8>)> = numbers.map(|number| (number, line(number))).collect();
        for group in texts.chunks(3) {
            let lines: Vec<&[u8]> = group.iter().map(|(_, text)| &text[..]).collect();
            let mut hashes = Vec::new();
            self.hasher.hash_batch(&lines, &mut hashes);
            let batch = Batch::new(&lines, &hashes);
            to_buckets.append(batch, 0..lines.len() as u32)?;
        }
        Ok(())
    }

    /// Makes the rules by which the buckets are read: a block at a time.
    fn read_rules(&self) -> ReadRules<'_> {
        ReadRules {
            space: &self.space,
            hasher: self.hasher,
            buffer_bytes: BLOCK,
            longest_line: LONGEST as u64,
            key_copy_bytes: 0,
        }
    }

    /// Counts the files.
    fn files(&self) -> usize {
        let directories = std::fs::read_dir(&self.size.parent).unwrap();
        let files = |entry: std::io::Result<std::fs::DirEntry>| {
            let names = std::fs::read_dir(entry.unwrap().path()).unwrap();
            names
                .filter(|name| name.as_ref().unwrap().file_name() != "lock")
                .count()
        };
        directories.map(files).sum()
    }
}

/// Reads the numbers of all lines of a bucket, in the order in which they are read.
fn numbers_in(reader: &mut BucketReader<'_>, bucket: &Bucket) -> Vec<usize> {
    let mut numbers = Vec::new();
    let read = reader.read(bucket, |batch| {
        numbers.extend(batch.lines.iter().map(|line| number_of(line)));
        Ok(())
    });
    read.unwrap();
    numbers
}

/// Makes a line: a block has room for a few, but one in ten is longer than a block.
fn line(number: usize) -> Vec<u8> {
    let filler = if number % 10 == 9 {
        LONGEST - 5
    } else {
        700 + number % 7 * 100
    };
    format!("{number:04}-{}", "x".repeat(filler)).into_bytes()
}

/// Reads the number of a line, which must be one.
fn number_of(line: &[u8]) -> usize {
    let number = std::str::from_utf8(&line[..4]).unwrap().parse().unwrap();
    assert_eq!(line, self::line(number), "a line that was never written");
    number
}
