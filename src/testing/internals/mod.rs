//! Doors to what is not public, for the benchmarks of `benches/` and the fuzz targets alone.
//!
//! *Owns:* nothing. Each type here holds the engine's own and calls it the way a pass does: in
//! batches of the engine's size, with its prefetches and its locks. *Invariants:* no code under
//! test is repeated here. There is no promise about this module: it needs a feature that is off
//! by default, and changes whenever the engine does. *Cost:* that of the calls.

mod spilled;

use std::path::Path;

use crate::batch::scatter::Scatter;
use crate::batch::{BATCH, Batch};
use crate::error::Result;
use crate::filter::{Filter, Kind, Rules, Shape};
use crate::hash::LineHasher;
use crate::interrupt::Interrupt;
use crate::lines::LineFormat;
use crate::memory::budget::MemoryBudget;
use crate::pass::spill::ToBuckets;
use crate::record::{Key, Keys};
use crate::selection::StateLayout;
use crate::set::line_set::LineSet;
use crate::spill::block::Address;
use crate::spill::bucket::Bucket;
use crate::spill::fill::fill;
use crate::spill::pool::{BlockPool, in_flight};
use crate::spill::rules::FillRules;
use crate::temp::quota::Quota;
use crate::temp::space::TempSpace;

pub use spilled::{SpilledBucket, sealed_block};

/// Finds the key of a record, if it has one; fields have numbers, or are of objects.
pub fn key_of(keys: &Keys, record: &[u8]) -> Option<Vec<u8>> {
    let columns = keys.columns(1, None, Path::new("record")).ok()?;
    let mut built = Vec::new();
    Some(match columns.key(record, &mut built).ok()? {
        Key::Piece(key) => key.to_vec(),
        Key::Built(range) => built[range].to_vec(),
    })
}

/// Lets all spill blocks of this process go without checksums, or with them.
pub fn leave_blocks_unchecked(unchecked: bool) {
    crate::spill::block::UNCHECKED.store(unchecked, std::sync::atomic::Ordering::Relaxed);
}

/// A filter of blocks, filled and asked by hashes alone.
#[derive(Debug)]
pub struct BenchFilter(Filter);

impl BenchFilter {
    /// Makes an empty filter of about `bytes` bytes within `budget`, which sets `hashes` bits a key.
    pub fn new(budget: &MemoryBudget, bytes: u64, hashes: u32) -> Result<Self> {
        let shape = Shape {
            kind: Kind::Blocked,
            cells: bytes / 64 * 512,
            hashes,
        };
        let rules = Rules {
            hasher: LineHasher::with_key([1; 4]),
            format: LineFormat::default(),
            key_form: crate::KeyForm::default(),
            planned_keys: 0,
        };
        Filter::new(budget, shape, rules).map(Self)
    }

    /// Inserts keys by their hashes, batch by batch as `fill` hands them over.
    pub fn fill<R>(&mut self, fill: impl FnOnce(&mut dyn FnMut(&[u64])) -> R) -> R {
        let updater = self.0.updater();
        let (mut scatter, mut lines) = (Scatter::default(), Vec::new());
        fill(&mut |hashes| {
            lines.resize(hashes.len(), &b""[..]);
            let batch = Batch::new(&lines, hashes);
            // Blocks ask for no memory.
            let _cannot_fail = updater.insert(batch, &mut scatter);
        })
    }

    /// Counts those of the keys that may have been inserted; `passing` is overwritten with their indexes.
    pub fn ask(&self, hashes: &[u64], passing: &mut Vec<u32>) -> usize {
        static LINES: [&[u8]; BATCH] = [b""; BATCH];
        let batch = Batch::new(&LINES[..hashes.len()], hashes);
        self.0.passing(batch, passing);
        passing.len()
    }

    /// Returns the rate that is predicted for `keys` keys, 0..1.
    pub fn predicted_fpr(&self, keys: u64) -> f64 {
        self.0.shape().predicted_fpr(keys)
    }
}

/// The exact set of lines, filled and asked as by a worker of the join.
#[derive(Debug)]
pub struct BenchSet {
    set: LineSet,
}

impl BenchSet {
    /// Makes an empty set within `budget`.
    pub fn new(budget: &MemoryBudget, hasher: LineHasher) -> Result<Self> {
        let set = LineSet::new(budget, hasher, StateLayout::ROW)?;
        Ok(Self { set })
    }

    /// Empties the set and prepares it for `lines` lines of `line_bytes` bytes on average.
    pub fn reset(&mut self, lines: u64, line_bytes: u64) -> Result<()> {
        self.set.reset(lines, line_bytes)
    }

    /// Inserts a batch of lines. Returns how many were dealt with: fewer than there are where the budget
    /// is too small.
    pub fn insert(&mut self, lines: &[&[u8]], hashes: &[u64]) -> Result<u64> {
        let batch = Batch::new(lines, hashes);
        let done = self.set.insert_all(batch, indexes(hashes), 1, |_| Ok(()))?;
        Ok(done as u64)
    }

    /// Marks a batch of lines as those of input number `mark`, from 2 to 65,534. Returns how many
    /// got the mark: those that every input before had, too.
    pub fn probe(&mut self, lines: &[&[u8]], hashes: &[u64], mark: u32) -> Result<u64> {
        let mut found = 0;
        let batch = Batch::new(lines, hashes);
        self.set.mark_all(batch, indexes(hashes), mark, |_, _| {
            found += 1;
            Ok(())
        })?;
        Ok(found)
    }
}

/// Returns the indexes of a whole batch.
fn indexes(hashes: &[u64]) -> std::ops::Range<u32> {
    0..hashes.len() as u32
}

/// The buckets that lines are to be scattered into.
#[derive(Debug, Clone, Copy)]
pub struct BucketShape {
    /// The number of buckets.
    pub buckets: u32,
    /// The bytes of a block: whole pages.
    pub block_bytes: u64,
    /// Bytes of full blocks that may stay in memory; with 0 every full block is written.
    pub held_bytes: u64,
    /// Threads that write full blocks; 0: the thread that fills a block writes it.
    pub writers: usize,
}

/// Buckets that are filled again and again, as by a worker of the spill pass.
#[derive(Debug)]
pub struct BenchBuckets {
    shape: BucketShape,
    hasher: LineHasher,
    // Declared before the space: what it counts is given back before the directory goes.
    pool: BlockPool,
    space: TempSpace,
    fillings: u32,
}

impl BenchBuckets {
    /// Buckets whose files are in a private directory in `directory`.
    pub fn new(shape: BucketShape, hasher: LineHasher, directory: &Path) -> Self {
        // As the plan has it: an open block per bucket, and some on their way to the disk.
        let buckets = u64::from(shape.buckets);
        let open = buckets + in_flight(buckets) + 1;
        let blocks = open + shape.held_bytes.div_ceil(shape.block_bytes);
        let budget = MemoryBudget::new(blocks * shape.block_bytes, 0);
        Self {
            shape,
            hasher,
            pool: BlockPool::new(&budget, shape.block_bytes, blocks, in_flight(buckets)),
            space: TempSpace::new(
                &[directory.to_owned()],
                Quota::new(u64::MAX),
                &Interrupt::new(),
            ),
            fillings: 0,
        }
    }

    /// Scatters a line per hash into empty buckets and seals these: every byte is in a held block,
    /// or written, when this returns. The bytes are those of `lines` (at least a batch), again and
    /// again: in a pass, too, a line is in the cache when it comes to its bucket.
    pub fn append(&mut self, lines: &[&[u8]], hashes: &[u64]) -> Result<FilledBuckets> {
        self.fillings += 1;
        let rules = FillRules {
            space: &self.space,
            pool: &self.pool,
            address: Address {
                run: 0,
                store: self.fillings,
                bucket: 0,
                level: 0,
                number: 0,
            },
            buckets: self.shape.buckets,
            writers: self.shape.writers,
            has_ordinals: false,
            columns: None,
            block_sink: None,
        };
        let buckets = fill(rules, |writer| {
            let mut to_buckets = ToBuckets::new(writer, self.hasher);
            let mut parts = lines.chunks_exact(BATCH).cycle();
            for hashes in hashes.chunks(BATCH) {
                let lines = parts.next().map_or(&[][..], |part| &part[..hashes.len()]);
                to_buckets.append(Batch::new(lines, hashes), indexes(hashes))?;
            }
            Ok(())
        })?;
        Ok(FilledBuckets { buckets })
    }

    /// Takes the blocks back, mapped as they are, and removes the files: the next filling starts
    /// with memory that has been touched.
    pub fn take_back(&self, filled: FilledBuckets) {
        for mut bucket in filled.buckets {
            for block in bucket.held.drain(..) {
                self.pool.put(block.buffer);
            }
            bucket.discard(&self.space);
        }
    }
}

/// Sealed buckets.
#[derive(Debug)]
pub struct FilledBuckets {
    buckets: Vec<Bucket>,
}

impl FilledBuckets {
    /// Counts the lines in all of them.
    pub fn lines(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.lines).sum()
    }

    /// Returns the bytes that were written, padding included.
    pub fn written_bytes(&self) -> u64 {
        let written = |bucket: &Bucket| bucket.file.written_bytes;
        self.buckets.iter().map(written).sum()
    }
}
