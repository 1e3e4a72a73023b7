//! Batches: some lines and their hashes, the unit that the passes work on.
//!
//! *Owns:* grouping lines into batches, taking the keys out of records, and hashing them.
//!
//! *Invariants:* `hashes[i]` is the hash of `keys[i]` under the hash of the run; passes hash keys here and
//! hand the hashes on. What is compared is the key of a line, what is written and spilled the line. They are the same
//! slice unless lines are records ([`Keyed`]).
//!
//! *Cost:* 48 KiB per thread for a batch of [`BATCH`] lines, 16 bytes for each slice and 8 for each hash: it
//! stays in the second-level cache between hashing, probing and copying. Keys add half as much, and where they are no
//! pieces of their records up to 16 KiB and a key more; the records that wait for such keys as much again. A key of
//! more than 256 KiB that must be copied takes its memory from the budget.

pub(crate) mod coalescer;
mod ordinals;
pub(crate) mod scatter;

pub(crate) use ordinals::{ORDINAL_BYTES, Ordinals};

use crate::error::Result;
use crate::hash::LineHasher;
use crate::memory::budget::Reservation;
use crate::record::{Bad, Columns, Key, MOST_BUILT_BYTES, NO_NUMBER, PassedOver};
use crate::selection::{NO_ORDINAL, Place};

/// Lines in a batch. Enough for prefetches to hide memory latency and to spread the cost of a
/// lock.
pub(crate) const BATCH: usize = 2048;

/// Lines that are found and then hashed: 16 KiB where each has 64 bytes, which are still in the first-level cache. In
/// such steps a run takes 0.98 of the time that it takes with whole batches.
const STEP: usize = 256;
/// Records in a batch: fewer, because their keys take memory, too.
const RECORDS: usize = BATCH / 2;
/// Bytes of built keys at which a batch ends: 16 KiB.
const BUILT_BYTES: usize = 16 << 10;
/// Bytes of the buffer for built keys that are kept from batch to batch, at most: it grows by doubling.
const MOST_SCRATCH: usize = 2 * (BUILT_BYTES + MOST_BUILT_BYTES);

/// A batch of up to [`BATCH`] lines with their hashes. It borrows the lines from the chunk or block that they came
/// in: whatever outlives the batch must be copied. Functions that work on some of the lines take their indexes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch<'a> {
    /// The lines, without their terminators: what is written and spilled.
    pub(crate) lines: &'a [&'a [u8]],
    /// Their keys, one for each line: what is compared.
    pub(crate) keys: &'a [&'a [u8]],
    /// The hashes of the keys, one for each; none where a scan needs none.
    pub(crate) hashes: &'a [u64],
    /// Their ordinals: one for each line, or none.
    pub(crate) ordinals: &'a [u64],
    /// Their ranks: one for each, where records are ranked, or none.
    pub(crate) ranks: &'a [u128],
}

/// The buffers that [`for_each_batch`] fills for each batch: its caller keeps them, so that the memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    hashes: Vec<u64>,
    ordinals: Vec<u64>,
    ranks: Vec<u128>,
    /// The bytes of keys that are no pieces of their records.
    built: Vec<u8>,
}

/// The rules for lines that are records: where their keys are, and what becomes of those without one.
#[derive(Clone, Copy)]
pub(crate) struct Keyed<'k> {
    /// The columns that the keys are in.
    pub(crate) columns: &'k Columns,
    /// Grants the memory for the copy of the key of a record, where that is long; `None` if the record came with it.
    pub(crate) room_for_key: &'k dyn Fn(&[u8]) -> Result<Option<Reservation>>,
    /// True if the lines of a batch are the records; else they are the keys.
    pub(crate) keeps_records: bool,
    /// The lines that are no records; `None` if all are: what was spilled, and rows.
    pub(crate) passed_over: Option<PassedOver>,
    /// The test for a key: a record whose key fails it is as one without a key. `None` if any bytes are a key.
    pub(crate) is_key: Option<fn(&[u8]) -> bool>,
    /// The listener for each record without a key, and for each line that is none: they are left out unless it fails.
    pub(crate) on_bad: &'k dyn Fn(&[u8], Bad) -> Result<()>,
}

impl Keyed<'_> {
    /// Sets `keys` to those of `records`; a record without one is taken out, and so is its ordinal. Returns how many
    /// records it went through: those after them are as they were, because there is no room for more keys.
    ///
    /// # Errors
    /// What `on_bad` reports.
    fn take<'r>(
        &self,
        records: &mut [&'r [u8]],
        ordinals: &mut [u64],
        ranks: &mut Vec<u128>,
        keys: &mut Vec<Key<'r>>,
        built: &mut Vec<u8>,
        long_key: &mut Option<Reservation>,
    ) -> Result<usize> {
        keys.clear();
        built.clear();
        for index in 0..records.len() {
            if built.len() >= BUILT_BYTES {
                return Ok(index);
            }
            let record = records[index];
            let key = match self.passed_over {
                Some(lines) if lines.has(record) => Err(Bad::PassedOver),
                _ => match self.columns.key(record, built) {
                    // Alone in a batch, because it fills the room for such keys.
                    Err(Bad::LongKey) if index > 0 => return Ok(index),
                    Err(Bad::LongKey) => self.long_key(record, built, long_key)?,
                    key => key,
                },
            };
            // A record without a rank is as one without a key.
            let key = key.and_then(|key| {
                let rank = self.columns.ranks().then(|| self.columns.rank(record));
                Ok((key, rank.transpose()?))
            });
            match key {
                Ok((key, rank)) if self.takes(&key, built) => {
                    ranks.extend(rank);
                    records[keys.len()] = record;
                    if let Some(&ordinal) = ordinals.get(index) {
                        ordinals[keys.len()] = ordinal;
                    }
                    keys.push(key);
                }
                Ok(_) => (self.on_bad)(record, Bad::NoAddress)?,
                Err(bad) => (self.on_bad)(record, bad)?,
            }
        }
        Ok(records.len())
    }

    /// Copies a key of any length, with memory of its own.
    ///
    /// # Errors
    /// Those of `room_for_key`.
    #[cold]
    fn long_key<'r>(
        &self,
        record: &'r [u8],
        built: &mut Vec<u8>,
        room: &mut Option<Reservation>,
    ) -> Result<Result<Key<'r>, Bad>> {
        *room = (self.room_for_key)(record)?;
        built.clear();
        Ok(self.columns.key_up_to(record, built, usize::MAX))
    }

    /// Returns true if this can be a key.
    fn takes(&self, key: &Key<'_>, built: &[u8]) -> bool {
        self.is_key.is_none_or(|is_key| match key {
            Key::Piece(piece) => is_key(piece),
            Key::Built(range) => is_key(&built[range.clone()]),
        })
    }
}

/// A filter, of whatever kind, that lets some lines of a batch through. It must be complete; several threads ask it
/// at the same time.
pub(crate) trait Prefilter: Sync {
    /// Lists the indexes of the lines that may have been inserted, in order. `passing` is overwritten.
    ///
    /// # Errors
    /// When a filter in a file cannot be read.
    fn passing(&self, batch: Batch<'_>, passing: &mut Vec<u32>) -> Result<()>;
}

impl<'a> Batch<'a> {
    /// Makes a batch of lines with these hashes, whose ordinals do not matter.
    pub(crate) fn new(lines: &'a [&'a [u8]], hashes: &'a [u64]) -> Self {
        Self {
            lines,
            keys: lines,
            hashes,
            ordinals: &[],
            ranks: &[],
        }
    }

    /// Returns the ordinal of the line at `index`.
    #[inline]
    pub(crate) fn ordinal(&self, index: u32) -> u64 {
        self.ordinals
            .get(index as usize)
            .copied()
            .unwrap_or(NO_ORDINAL)
    }

    /// Returns the place of the line at `index` among the occurrences of its key.
    #[inline]
    pub(crate) fn place(&self, index: u32) -> Place {
        match self.ordinal(index) {
            // Its record is not written: it comes after all others.
            NO_ORDINAL => Place {
                rank: u128::MAX,
                ordinal: NO_ORDINAL,
            },
            ordinal => Place {
                rank: self.ranks.get(index as usize).copied().unwrap_or(0),
                ordinal,
            },
        }
    }

    /// Counts the records that have no number to be ranked by.
    pub(crate) fn without_number(&self) -> u64 {
        self.ranks.iter().filter(|&&rank| rank == NO_NUMBER).count() as u64
    }

    /// Lists the indexes of the lines that `filter` lets through (all without it), in order. `passing` is
    /// overwritten.
    pub(crate) fn passing(
        &self,
        filter: Option<&dyn Prefilter>,
        passing: &mut Vec<u32>,
    ) -> Result<()> {
        match filter {
            Some(filter) => filter.passing(*self, passing),
            None => {
                passing.clear();
                passing.extend(0..self.lines.len() as u32);
                Ok(())
            }
        }
    }
}

/// Lists those of the indexes below `end` that are not among `indexes`, which ascend. `others` is overwritten.
pub(crate) fn absent(indexes: &[u32], end: usize, others: &mut Vec<u32>) {
    others.clear();
    let mut next = 0;
    for &index in indexes {
        others.extend(next..index);
        next = index + 1;
    }
    others.extend(next..end as u32);
}

/// Adds the next [`STEP`] lines to a batch; `None` if it is full, or there are no more.
fn take_step<'g, 'a>(
    lines: &mut impl Iterator<Item = &'a [u8]>,
    group: &'g mut Vec<&'a [u8]>,
) -> Option<&'g mut [&'a [u8]]> {
    let start = group.len();
    group.extend(lines.take(STEP.min(BATCH - start)));
    (group.len() > start).then(|| &mut group[start..])
}

/// Groups `lines` into batches, hashes them, if there is a hasher, and hands each to `work`, until there are no more or
/// `work` returns false. Returns the number of lines handed over, those of the last batch included. Every
/// batch but the last is full, but for records that were left out.
///
/// `ordinals` says where the ordinals of the lines come from, and `keyed` where their keys are, if they are records.
///
/// # Errors
/// The first error of `work`, which gets no more batches then, and of [`Keyed::on_bad`].
pub(crate) fn for_each_batch<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    mut ordinals: Ordinals,
    keyed: Option<Keyed<'_>>,
    hasher: Option<&LineHasher>,
    scratch: &mut Scratch,
    mut work: impl FnMut(Batch<'_>) -> Result<bool>,
) -> Result<u64> {
    let mut group: Vec<&'a [u8]> = Vec::with_capacity(BATCH);
    let mut taken = Vec::new();
    // Records for whose keys the last batch had no room, and their ordinals.
    let (mut waiting, mut waiting_ordinals) = (Vec::new(), Vec::new());
    // The memory of a long key that is copied, for as long as its batch.
    let mut long_key = None;
    let mut count = 0;
    // An iterator may go on after its first `None`, and is asked once more after a batch that was not full.
    let mut lines = lines.fuse();
    loop {
        let Scratch {
            hashes,
            ordinals: own_ordinals,
            ranks,
            built,
        } = &mut *scratch;
        group.clear();
        hashes.clear();
        own_ordinals.clear();
        ranks.clear();
        match keyed {
            Some(_) => {
                group.append(&mut waiting);
                own_ordinals.append(&mut waiting_ordinals);
                let waited = group.len();
                group.extend(lines.by_ref().take(RECORDS - waited));
                ordinals.take(&mut group[waited..], own_ordinals);
            }
            None => {
                while let Some(step) = take_step(&mut lines, &mut group) {
                    ordinals.take(step, own_ordinals);
                    if let Some(hasher) = hasher {
                        hasher.hash_more(step, hashes);
                    }
                }
            }
        }
        if group.is_empty() {
            return Ok(count);
        }
        let keys: Vec<&[u8]>;
        let keys = match keyed {
            None => &group[..],
            Some(keyed) => {
                let done = keyed.take(
                    &mut group,
                    own_ordinals,
                    ranks,
                    &mut taken,
                    built,
                    &mut long_key,
                )?;
                waiting.extend_from_slice(&group[done..]);
                waiting_ordinals.extend(own_ordinals.iter().skip(done));
                group.truncate(taken.len());
                own_ordinals.truncate(taken.len());
                let key = |key: &Key<'a>| match key {
                    Key::Piece(piece) => piece,
                    Key::Built(range) => &built[range.clone()],
                };
                keys = taken.iter().map(key).collect();
                if let Some(hasher) = hasher {
                    hasher.hash_more(&keys, hashes);
                }
                &keys[..]
            }
        };
        count += group.len() as u64;
        let keeps_lines = keyed.is_none_or(|keyed| keyed.keeps_records);
        let batch = Batch {
            lines: if keeps_lines { &group } else { keys },
            keys,
            hashes,
            ordinals: own_ordinals,
            ranks,
        };
        let goes_on = work(batch)?;
        if built.capacity() > MOST_SCRATCH {
            *built = Vec::new();
        }
        long_key = None;
        if !goes_on {
            return Ok(count);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// Lists the keys, hashes and ordinals of all batches of `lines`, each of which must be full but for the last.
    fn batches(lines: &[&[u8]], ordinals: Ordinals) -> Vec<(Vec<u8>, u64, Option<u64>)> {
        let hasher = LineHasher::with_key([5; 4]);
        let (mut found, mut sizes) = (Vec::new(), Vec::new());
        let mut scratch = Scratch::default();
        let all = lines.iter().copied();
        let count = for_each_batch(all, ordinals, None, Some(&hasher), &mut scratch, |batch| {
            assert_eq!(batch.lines, batch.keys);
            sizes.push(batch.lines.len());
            for (index, line) in batch.lines.iter().enumerate() {
                let ordinal = batch.ordinals.get(index).copied();
                found.push((line.to_vec(), batch.hashes[index], ordinal));
            }
            Ok(true)
        });
        assert_eq!(count.unwrap(), lines.len() as u64);
        let last = sizes.pop().unwrap_or(1);
        assert!((1..=BATCH).contains(&last) && sizes.iter().all(|&size| size == BATCH));
        found
    }

    #[test]
    fn lines_keep_their_hashes_and_ordinals_whatever_the_steps_they_come_in() {
        let hasher = LineHasher::with_key([5; 4]);
        for count in [
            0,
            1,
            STEP - 1,
            STEP,
            STEP + 1,
            BATCH - 1,
            BATCH,
            BATCH + 1,
            2 * BATCH + 300,
        ] {
            // Each line is its number, as often as it is long, with its ordinal after it.
            let text: Vec<Vec<u8>> = (0..count as u64)
                .map(|number| {
                    let line = number.to_string().repeat(number as usize % 9);
                    [line.as_bytes(), &(number * 3).to_le_bytes()].concat()
                })
                .collect();
            let behind: Vec<&[u8]> = text.iter().map(Vec::as_slice).collect();
            let lines: Vec<&[u8]> = behind.iter().map(|line| &line[..line.len() - 8]).collect();
            let expected = |ordinal: &dyn Fn(usize) -> Option<u64>| -> Vec<_> {
                let line = |(index, line): (usize, &&[u8])| {
                    (line.to_vec(), hasher.hash(line), ordinal(index))
                };
                lines.iter().enumerate().map(line).collect()
            };
            assert_eq!(batches(&lines, Ordinals::None), expected(&|_| None));
            let third = |index: usize| Some(index as u64 * 3);
            assert_eq!(batches(&behind, Ordinals::OF_BUCKET), expected(&third));
            let start = lines.first().map_or(0, |line| line.as_ptr() as usize);
            let by_address = Ordinals::ByAddress {
                mask: 0,
                address: start,
                ordinal: 7,
            };
            let ordinal = |index: usize| {
                Some(7u64.wrapping_add((lines[index].as_ptr() as usize).wrapping_sub(start) as u64))
            };
            assert_eq!(batches(&lines, by_address), expected(&ordinal));
        }
    }
}
