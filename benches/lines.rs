//! Micro benchmarks of what is done to every line of every pass: finding its end and hashing it.
//!
//! ```text
//! cargo bench --bench lines                    # all
//! cargo bench --bench lines -- --quick split   # a first look at one part
//! ```
//!
//! Lines of three kinds, each 256 KiB of them: as much as a worker has in its cache when it goes
//! through a chunk. Beside each of ours is what one would write without it: `memchr_iter` for the
//! ends, the `highway` crate called line by line for the hash. Both must give the same answer
//! before anything is measured. Times are those of a line.

mod timing;

use std::hint::black_box;
use std::time::{Duration, Instant};

use highway::{HighwayHash, HighwayHasher, Key};
use outset::LineFormat;
use outset::hash::LineHasher;

use crate::timing::Group;

/// The bytes of a chunk that is in the page cache.
const CHUNK: usize = 256 << 10;
/// Lines that the engine hashes together.
const BATCH: usize = 2048;
const KEY: [u64; 4] = [1, 2, 3, 4];

/// Lines of one kind, terminators included.
struct Workload {
    name: &'static str,
    text: Vec<u8>,
}

impl Workload {
    fn all() -> [Self; 3] {
        [
            Self::new("lines of 8 bytes", |_| 8),
            // As `data-gen --fixed 64` makes them.
            Self::new("lines of 64 bytes", |_| 64),
            // Every length as often as the next; a branch on it is predicted as badly as it can be.
            Self::new("lines of 20 to 200 bytes", |noise| {
                20 + noise as usize % 181
            }),
        ]
    }

    /// URL-like lines of `bytes_of(noise)` bytes each, the newline counted.
    fn new(name: &'static str, bytes_of: impl Fn(u64) -> usize) -> Self {
        let mut text = Vec::with_capacity(CHUNK + 200);
        for number in 1u64.. {
            let noise = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let line = format!("{noise:016x}.example.com/{noise:0172}");
            text.extend_from_slice(&line.as_bytes()[..bytes_of(noise >> 40) - 1]);
            text.push(b'\n');
            if text.len() >= CHUNK {
                break;
            }
        }
        Self { name, text }
    }
}

/// The lengths of all lines, added up: enough to need every line, and next to nothing beside it.
fn split_by_outset(text: &[u8]) -> usize {
    LineFormat::default()
        .lines(text)
        .map(<[u8]>::len)
        .sum::<usize>()
}

/// The same with `memchr_iter`.
fn split_by_memchr(text: &[u8]) -> usize {
    let mut start = 0;
    let lengths = memchr::memchr_iter(b'\n', text).map(|end| {
        let line = &text[start..end];
        start = end + 1;
        line.len()
    });
    let length: usize = lengths.sum();
    length + text.len() - start
}

/// Hashes the lines one by one, as the crate's documentation does.
fn hash_by_crate(lines: &[&[u8]], hashes: &mut Vec<u64>) {
    hashes.clear();
    hashes.extend(
        lines
            .iter()
            .map(|line| HighwayHasher::new(Key(KEY)).hash64(line)),
    );
}

/// Measures the time of `work`.
fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn split() {
    for Workload { name, text } in Workload::all() {
        assert_eq!(split_by_outset(&text), split_by_memchr(&text), "{name}");
        let count = LineFormat::default().lines(&text).count();
        let group = Group::new(format!("split {name}"), count as u64);
        group.measure("outset", |_| time(|| split_by_outset(black_box(&text))));
        group.measure("memchr_iter", |_| {
            time(|| split_by_memchr(black_box(&text)))
        });
    }
}

fn hash() {
    let hasher = LineHasher::with_key(KEY);
    for Workload { name, text } in Workload::all() {
        let lines: Vec<&[u8]> = LineFormat::default().lines(&text).collect();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        hasher.hash_batch(&lines, &mut ours);
        hash_by_crate(&lines, &mut theirs);
        assert_eq!(ours, theirs, "{name}");
        let group = Group::new(format!("hash {name}"), lines.len() as u64);
        let batches = || black_box(&lines).chunks(BATCH);
        group.measure("outset", |_| {
            time(|| batches().for_each(|batch| hasher.hash_batch(batch, &mut ours)))
        });
        group.measure("highway, line by line", |_| {
            time(|| batches().for_each(|batch| hash_by_crate(batch, &mut theirs)))
        });
    }
}

fn main() {
    split();
    hash();
}
