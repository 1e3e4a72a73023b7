//! Ranges of lines, by which buckets may be divided instead of by hashes: the answer of each comes before that of the
//! next.
//!
//! *Owns:* the borders between ranges, and the sample that they come from. *Invariants:* of two keys, the one that
//! comes first as bytes is in the same bucket as the other, or in an earlier one. Borders that do not divide the lines
//! evenly cost time, never a line: the join splits a bucket that is too large, as every other.
//!
//! *Cost:* before the first pass, 16 KiB of the inputs are read for each bucket, and as much memory is taken; ten steps
//! of a search for each line.
//!
//! *Sources:* those of [`RangeSorter`](crate::answer::RangeSorter).

use std::ops::Range;

use crate::error::Result;
use crate::input::Input;
use crate::memory::budget::{MemoryBudget, Reservation};
use crate::memory::buffer::{Buffer, PAGE};
use crate::pass::sampled_lines::{Windows, for_each_sampled};
use crate::run::Run;

/// The windows for each bucket. Of a file that is in some order, the lines of one window lie together.
const WINDOWS_OF_A_BUCKET: u64 = 8;
/// The bytes of one window: many small ones see a file at many places.
const WINDOW: u64 = 2 << 10;
/// The most lines that are looked at in one window.
const MOST_LINES: usize = 32;
/// The most bytes of a border. Lines that share these are in one bucket.
const MOST_BORDER: usize = 128;
/// The fraction of the memory for buffers that a sample has at most.
const SAMPLE_SHARE: u64 = 4;

/// The borders between ranges. A range begins with its border.
#[derive(Debug)]
pub(crate) struct Ranges {
    /// The bytes that all borders begin with.
    shared: Vec<u8>,
    /// For each border the number that its next bytes are, in the order of the borders.
    ranks: Vec<u64>,
    /// The borders, without the bytes that all of them begin with.
    borders: Vec<Box<[u8]>>,
    _memory: Reservation,
}

impl Ranges {
    /// Divides the keys of `inputs` into as many ranges as the layout has buckets, by a sample of them.
    ///
    /// # Errors
    /// Where an input cannot be read, or has changed; [`crate::Error::Memory`] where there is no room for the sample.
    pub(crate) fn of(run: &Run<'_>, inputs: &[Input]) -> Result<Self> {
        let buckets = run.layout.pool.buckets;
        let most_windows = run.layout.usable_bytes / SAMPLE_SHARE / (WINDOW + KEYS_OF_A_WINDOW);
        let windows = (u64::from(buckets) * WINDOWS_OF_A_BUCKET).min(most_windows);
        let mut sample = Sample::new(&run.budget, windows)?;
        let all: u64 = inputs.iter().filter_map(Input::likely_bytes).sum();
        for input in inputs {
            let share = input.likely_bytes().unwrap_or(0) as f64 / all.max(1) as f64;
            let windows = Windows {
                count: (windows as f64 * share).ceil() as u64,
                bytes: WINDOW,
                most_lines: MOST_LINES,
            };
            for_each_sampled(run, input, windows, |batch| {
                batch.keys.iter().for_each(|key| sample.add(key));
                Ok(())
            })?;
        }
        let borders = sample.borders(buckets);
        drop(sample);
        let bytes = u64::from(buckets) * (MOST_BORDER + size_of::<(u64, Box<[u8]>)>()) as u64;
        Ok(Self::between(
            &borders,
            run.budget.reserve("ranges", bytes)?,
        ))
    }

    /// Makes the ranges between borders, which are in order.
    fn between(borders: &[Vec<u8>], memory: Reservation) -> Self {
        let shared = match borders {
            [first, .., last] => {
                let pairs = first.iter().zip(last);
                let bytes = pairs.take_while(|(one, other)| one == other).count();
                &first[..bytes]
            }
            _ => &[],
        };
        let rests = borders.iter().map(|border| &border[shared.len()..]);
        Self {
            ranks: rests.clone().map(rank).collect(),
            borders: rests.map(Box::from).collect(),
            shared: shared.to_vec(),
            _memory: memory,
        }
    }

    /// Returns the bucket of a key.
    pub(crate) fn bucket(&self, key: &[u8]) -> u32 {
        let Some(rest) = key.strip_prefix(&self.shared[..]) else {
            // It comes before or after all that begin so.
            let is_behind = key > &self.shared[..];
            return if is_behind {
                self.borders.len() as u32
            } else {
                0
            };
        };
        let number = rank(rest);
        let before = self.ranks.partition_point(|&other| other < number);
        let equal = self.ranks[before..].partition_point(|&other| other == number);
        let equal = &self.borders[before..before + equal];
        let begun = equal.partition_point(|border| &border[..] <= rest);
        (before + begun) as u32
    }
}

/// Returns the first bytes as a number: of two pieces, the one with the smaller number comes first.
fn rank(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let mut first = [0; 8];
    first[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(first)
}

/// The memory for the places of the keys of one window, in bytes.
const KEYS_OF_A_WINDOW: u64 = (MOST_LINES * size_of::<Range<u32>>()) as u64;

/// The beginnings of some keys.
#[derive(Debug)]
struct Sample {
    /// The bytes of all keys, and behind them free room.
    bytes: Buffer,
    filled: usize,
    /// The place of each key in the bytes.
    keys: Vec<Range<u32>>,
    _memory: Reservation,
}

impl Sample {
    /// Makes an empty sample with room for what so many windows have.
    fn new(budget: &MemoryBudget, windows: u64) -> Result<Self> {
        let consumer = "a sample";
        let memory = budget.reserve(consumer, windows * KEYS_OF_A_WINDOW)?;
        Ok(Self {
            bytes: Buffer::new(budget, consumer, (windows * WINDOW).max(PAGE))?,
            filled: 0,
            keys: Vec::with_capacity(windows as usize * MOST_LINES),
            _memory: memory,
        })
    }

    /// Adds a key, unless the sample is full: keys that are built may be longer than their records.
    fn add(&mut self, key: &[u8]) {
        let key = &key[..key.len().min(MOST_BORDER)];
        let (start, end) = (self.filled, self.filled + key.len());
        if end > self.bytes.len() || self.keys.len() == self.keys.capacity() {
            return;
        }
        self.bytes[start..end].copy_from_slice(key);
        self.keys.push(start as u32..end as u32);
        self.filled = end;
    }

    /// Lists the borders between `ranges` ranges with about as many different keys each; fewer where there are too few
    /// keys.
    fn borders(&mut self, ranges: u32) -> Vec<Vec<u8>> {
        let (bytes, keys) = (&self.bytes, &mut self.keys);
        let key = |place: &Range<u32>| &bytes[place.start as usize..place.end as usize];
        keys.sort_unstable_by(|one, other| key(one).cmp(key(other)));
        keys.dedup_by(|one, other| key(one) == key(other));
        let ranges = (ranges as usize).min(keys.len());
        let border = |range: usize| key(&keys[range * keys.len() / ranges]).to_vec();
        (1..ranges).map(border).collect()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Makes `count` ranges of what a sample of `keys` shows.
    fn ranges(keys: &[Vec<u8>], count: u32) -> Ranges {
        let budget = MemoryBudget::new(8 << 20, 0);
        let mut sample = Sample::new(&budget, 1000).unwrap();
        for key in keys {
            sample.add(key);
        }
        Ranges::between(&sample.borders(count), budget.reserve("ranges", 1).unwrap())
    }

    /// Bytes of which many are equal, so that keys share some.
    fn key() -> impl Strategy<Value = Vec<u8>> {
        vec(
            prop_oneof![6 => Just(b'a'), 1 => Just(0), 1 => Just(0xff), 1 => any::<u8>()],
            0..20,
        )
    }

    proptest! {
        #[test]
        fn a_key_that_comes_first_is_in_no_later_bucket(
            sample in vec(key(), 0..300),
            mut keys in vec(key(), 0..300),
            count in 1..40_u32,
            shared in prop_oneof![Just(0), 0..20_usize, MOST_BORDER - 9..MOST_BORDER + 9],
        ) {
            let longer = |key: &Vec<u8>| [&vec![b'a'; shared][..], key].concat();
            let sample: Vec<_> = sample.iter().map(longer).collect();
            let longer: Vec<_> = keys.iter().map(longer).collect();
            keys.extend(longer);
            keys.extend(sample.iter().cloned());
            keys.sort();
            let ranges = ranges(&sample, count);
            let buckets: Vec<u32> = keys.iter().map(|key| ranges.bucket(key)).collect();
            prop_assert!(buckets.is_sorted(), "{keys:?} {buckets:?}");
            prop_assert!(buckets.iter().all(|&bucket| bucket < count));
            // Where each border is.
            for (number, border) in ranges.borders.iter().enumerate() {
                let border = [&ranges.shared[..], border].concat();
                prop_assert_eq!(ranges.bucket(&border), number as u32 + 1);
            }
        }
    }

    #[test]
    fn ranges_have_about_as_many_different_keys_each() {
        let key = |i: u32| format!("https://www.example.org/{:08}", i * 7919 % 1_000_003);
        let mut sample: Vec<Vec<u8>> = (0..20_000).map(|i| key(i).into_bytes()).collect();
        sample.extend(vec![key(7).into_bytes(); 5000]);
        let ranges = ranges(&sample, 100);
        let mut counts = [0; 100];
        for i in 20_000..220_000 {
            counts[ranges.bucket(key(i).as_bytes()) as usize] += 1;
        }
        assert!(
            counts.iter().all(|count| (1400..2800).contains(count)),
            "{counts:?}"
        );
    }
}
