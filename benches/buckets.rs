//! Micro benchmarks of the exact part: scattering lines into buckets, building a bucket's set,
//! asking it.
//!
//! ```text
//! cargo bench --bench buckets --features internals
//! TMPDIR=/big/disk cargo bench --bench buckets --features internals -- append   # written there
//! ```
//!
//! Lines of 64 bytes, newline included, on one thread. What is called is the engine's own, through
//! the doors of the feature `internals`. Times are those of a line.
//!
//! - *append*: 2 million lines into 64 buckets with blocks of 1 MiB, and into 1000 with blocks of
//!   64 KiB: what 64 MiB for open blocks comes to. `reused blocks`: full blocks stay in memory that
//!   was touched before. `new blocks`: in memory that the system has yet to give, as in a run.
//!   `written`: by two further threads, into `$TMPDIR`; the disk counts until the last byte.
//! - *set*: 50 thousand lines, whose set is 4 MB, and 2 million, whose set is 167 MB. Lines are
//!   asked for in another order than they were inserted in; all are in the set, or none.
//!
//! A line is in the cache when a pass comes to append, insert or ask it, because it was hashed just
//! before. So it is here: what is appended are the bytes of a few lines again and again, and what
//! goes into a set is hashed batch by batch while the clock stands still.
//!
//! Every result is compared with the number of lines that went in.

mod timing;

use std::io::Write;
use std::time::{Duration, Instant};

use outset::LineFormat;
use outset::hash::LineHasher;
use outset::internals::{BenchBuckets, BenchSet, BucketShape};
use outset::memory::budget::MemoryBudget;

use crate::timing::Group;

/// The bytes of a line with its newline.
const LINE_BYTES: u64 = 64;
/// Lines that the engine works on together.
const BATCH: usize = 2048;
/// The times that a set is asked before it is built anew: it can count this number of inputs, and some more.
const PROBES_PER_BUILD: u64 = 60_000;

fn hasher() -> LineHasher {
    LineHasher::with_key([1, 2, 3, 4])
}

/// Distinct URL-like lines with these numbers.
fn text(numbers: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut text = Vec::new();
    for number in numbers {
        let (site, id) = (number % 97, scrambled(number));
        sure(writeln!(
            text,
            "https://www.example.com/{site:022}/{id:016x}"
        ));
    }
    text
}

/// The same numbers in an order that has nothing to do with them.
fn shuffled(numbers: std::ops::Range<u64>) -> Vec<u64> {
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.sort_unstable_by_key(|&number| scrambled(number).rotate_left(32));
    numbers
}

/// A bijection of numbers.
fn scrambled(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn split(text: &[u8]) -> Vec<&[u8]> {
    LineFormat::default().lines(text).collect()
}

/// The value, or the end of the benchmark: one that went wrong has nothing to tell.
fn sure<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn append() {
    const LINES: u64 = 2_000_000;
    let text = text(0..2 * BATCH as u64);
    let lines = split(&text);
    let hashes: Vec<u64> = (0..LINES)
        .map(|number| hasher().hash(&number.to_le_bytes()))
        .collect();
    let directory = sure(tempfile::tempdir());
    for (buckets, block_bytes) in [(64, 1 << 20), (1000, 64 << 10)] {
        let in_memory = BucketShape {
            buckets,
            block_bytes,
            // All records, and for each bucket a block that is not full.
            held_bytes: LINES * LINE_BYTES * 9 / 8 + u64::from(buckets) * block_bytes,
            writers: 0,
        };
        let written = BucketShape {
            held_bytes: 0,
            writers: 2,
            ..in_memory
        };
        let make = |shape| BenchBuckets::new(shape, hasher(), directory.path());
        let group = Group::new(format!("append to {buckets} buckets"), LINES);
        // The time of one filling. It must get all lines, and write about `expected_bytes` or none.
        let fill = |filled: &mut BenchBuckets, expected_bytes: u64| {
            let start = Instant::now();
            let full = sure(filled.append(&lines, &hashes));
            let spent = start.elapsed();
            assert_eq!(full.lines(), LINES);
            // A few blocks that may be in flight stay in memory instead; all are padded.
            let written_bytes = full.written_bytes();
            assert!((expected_bytes * 9 / 10..=expected_bytes * 2).contains(&written_bytes));
            filled.take_back(full);
            spent
        };
        let mut filled = make(in_memory);
        group.measure("reused blocks", |_| fill(&mut filled, 0));
        group.measure("new blocks", |_| fill(&mut make(in_memory), 0));
        let mut filled = make(written);
        group.measure("written", |_| fill(&mut filled, LINES * LINE_BYTES));
    }
}

fn set() {
    for count in [50_000, 2_000_000] {
        let inserted = text(0..count);
        let present = text(shuffled(0..count).into_iter());
        let absent = text(shuffled(count..2 * count).into_iter());
        // More than is needed: the budget is not what is measured.
        let budget = MemoryBudget::new(4 * count * LINE_BYTES + (1 << 20), 0);
        let mut set = sure(BenchSet::new(&budget, hasher()));
        let lines = split(&inserted);
        let build = |set: &mut BenchSet| {
            let start = Instant::now();
            sure(set.reset(count, LINE_BYTES));
            let reset = start.elapsed();
            reset
                + time_batches(&lines, count, |lines, hashes| {
                    sure(set.insert(lines, hashes))
                })
        };
        let group = Group::new(format!("set of {count} lines"), count);
        group.measure("build", |_| build(&mut set));
        for (name, text, found) in [
            ("probe, all found", &present, count),
            ("probe, none found", &absent, 0),
        ] {
            let lines = split(text);
            group.measure(name, |call| {
                let probe = (call % PROBES_PER_BUILD) as u32;
                if probe == 0 {
                    build(&mut set);
                }
                time_batches(&lines, found, |lines, hashes| {
                    sure(set.probe(lines, hashes, 2 + probe))
                })
            });
        }
    }
}

/// Hands the lines to `work`, hashed, in batches, and adds up its times. What it returns must come
/// to `expected`.
fn time_batches(
    lines: &[&[u8]],
    expected: u64,
    mut work: impl FnMut(&[&[u8]], &[u64]) -> u64,
) -> Duration {
    let (hasher, mut hashes) = (hasher(), Vec::new());
    let (mut spent, mut sum) = (Duration::ZERO, 0);
    for batch in lines.chunks(BATCH) {
        hasher.hash_batch(batch, &mut hashes);
        let start = Instant::now();
        sum += work(batch, &hashes);
        spent += start.elapsed();
    }
    assert_eq!(sum, expected);
    spent
}

fn main() {
    append();
    set();
}
