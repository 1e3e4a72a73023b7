//! Changing a filter, from any number of threads.
//!
//! *Owns:* making an empty filter, putting lines in, and taking them out.
//!
//! *Invariants.*
//! - No insertion is lost to a race. Blocks have a lock for each region. In the other kinds the cells of a
//!   key are all over the filter, so one lock guards them all: threads hash in parallel and change in turn.
//! - Insertions that report what was new put in the same as those that do not. A line that seems to be in by
//!   mistake is put in like any other: otherwise, removing it later would take cells from the lines that it
//!   was mistaken for.
//! - Of equal lines that are inserted at the same time, exactly one is new.
//! - A filter is not asked while it is changed: the updater borrows it.
//! - When a table of digests must grow and is refused the memory, the lines before are in, and
//!   counted.
//!
//! *Cost:* that of the kind; a lock per batch.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::batch::Batch;
use crate::batch::scatter::Scatter;
use crate::error::{Error, Result};
use crate::filter::builder::FilterBuilder;
use crate::filter::cells::{Change, Forget, Put, change_each_ahead};
use crate::filter::counters::{Counting, Spectral};
use crate::filter::digests::Digest;
use crate::filter::filter::{Filter, Rules};
use crate::filter::flat::Bits;
use crate::filter::growing::Growing;
use crate::filter::shape::{Kind, Shape};
use crate::hash::LineHasher;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;

impl Filter<Buffer> {
    /// Makes an empty filter.
    ///
    /// # Errors
    /// [`Error::Memory`] when the budget refuses the cells, [`Error::Usage`] for a shape that no
    /// filter can have.
    pub fn new(budget: &MemoryBudget, shape: Shape, rules: Rules) -> Result<Self> {
        shape.check().map_err(|what| {
            Error::usage(
                format!("filter: {what}"),
                "give a valid size (outset size shows some)",
            )
        })?;
        Ok(Self {
            shape,
            rules,
            words: Buffer::with_huge_pages(budget, "filter", shape.bytes())?,
            keys: AtomicU64::new(0),
        })
    }

    /// Begins to change the filter. It can be asked again when the updater is dropped. Threads share one
    /// updater by reference.
    pub fn updater(&mut self) -> Updater<'_> {
        let (shape, hasher) = (self.shape, self.rules.hasher);
        let (cells, hashes) = (shape.cells, shape.hashes);
        let keys = self.keys.load(Ordering::Relaxed);
        let changing = if shape.kind == Kind::Fingerprint {
            let (buffer, slots) = (&mut self.words, &mut self.shape.cells);
            Changing::Digests(Mutex::new(Growing {
                buffer,
                slots,
                used: keys,
            }))
        } else {
            let words = &mut self.words.words_mut()[..(shape.bytes() / 8) as usize];
            match shape.kind {
                Kind::Classic => Changing::Bits(Mutex::new(Bits::new(words, cells, hashes))),
                Kind::Counting => {
                    Changing::Counting(Mutex::new(Counting::new(words, cells, hashes)))
                }
                Kind::Spectral => {
                    Changing::Spectral(Mutex::new(Spectral::new(words, cells, hashes)))
                }
                Kind::Blocked | Kind::Fingerprint => {
                    Changing::Blocks(FilterBuilder::new(words, hashes, &self.keys))
                }
            }
        };
        Updater {
            hasher,
            kind: shape.kind,
            keys: &self.keys,
            changing,
        }
    }

    /// Inserts a line; true if it was certainly not in before.
    ///
    /// # Errors
    /// [`Error::Memory`] when a table of digests must grow and cannot.
    pub fn insert(&mut self, line: &[u8]) -> Result<bool> {
        let (lines, hashes) = ([line], [self.hash(line)]);
        let batch = Batch::new(&lines, &hashes);
        let mut is_new = false;
        self.updater()
            .put(batch, |_, put| is_new = put == Put::New)?;
        Ok(is_new)
    }

    /// Removes a line that was inserted. False, and nothing changed, if it is certainly not in.
    ///
    /// Removing a line that was never inserted, but seems to be in by mistake, takes other lines with it.
    ///
    /// # Errors
    /// [`Error::Usage`] for a kind that does not support removal.
    pub fn remove(&mut self, line: &[u8]) -> Result<bool> {
        let (lines, hashes) = ([line], [self.hash(line)]);
        let batch = Batch::new(&lines, &hashes);
        let mut absent = Vec::new();
        self.updater().remove(batch, &mut absent)?;
        Ok(absent.is_empty())
    }

    /// Makes the number of inserted lines the number that the filter was laid out for, as its file will say. For
    /// the filter of a run, whose input decided its size.
    pub(crate) fn plan_for_own_keys(&mut self) {
        self.rules.planned_keys = self.keys();
    }

    /// Returns the table of a filter of digests.
    pub(super) fn growing(&mut self) -> Growing<'_> {
        Growing {
            used: self.keys.load(Ordering::Relaxed),
            buffer: &mut self.words,
            slots: &mut self.shape.cells,
        }
    }
}

/// Changes a filter.
#[derive(Debug)]
pub struct Updater<'a> {
    /// Computes digests; other kinds take the hashes of a batch, which must be under the filter's key.
    hasher: LineHasher,
    kind: Kind,
    /// The filter's count of lines; see [`Filter::keys`].
    keys: &'a AtomicU64,
    changing: Changing<'a>,
}

/// The cells of each kind, with their locks.
#[derive(Debug)]
enum Changing<'a> {
    Blocks(FilterBuilder<'a>),
    Bits(Mutex<Bits<&'a mut [u64]>>),
    Counting(Mutex<Counting<&'a mut [u64]>>),
    Spectral(Mutex<Spectral<&'a mut [u64]>>),
    Digests(Mutex<Growing<'a>>),
}

impl Updater<'_> {
    /// Computes digests as `hasher` does, which has the filter's key: of the keys of a run, as their hashes are.
    pub(crate) fn hashing_as(self, hasher: LineHasher) -> Self {
        Self { hasher, ..self }
    }

    /// Inserts all lines of a batch, which were hashed under the filter's key. `scatter` belongs to the thread.
    ///
    /// # Errors
    /// [`Error::Memory`] when a table of digests must grow and cannot; some lines are in then.
    pub(crate) fn insert(&self, batch: Batch<'_>, scatter: &mut Scatter) -> Result<()> {
        self.insert_at(batch, 0..batch.lines.len() as u32, scatter)
    }

    /// Inserts the lines of a batch at `indexes`, which ascend. Errors as [`Updater::insert`].
    pub(crate) fn insert_at(
        &self,
        batch: Batch<'_>,
        indexes: impl ExactSizeIterator<Item = u32> + Clone,
        scatter: &mut Scatter,
    ) -> Result<()> {
        if let Changing::Blocks(builder) = &self.changing {
            builder.insert(batch.hashes, indexes, scatter);
            return Ok(());
        }
        if indexes.len() == batch.lines.len() {
            return self.put(batch, |_, _| {});
        }
        let lines: Vec<&[u8]> = indexes.clone().map(|i| batch.keys[i as usize]).collect();
        let hashes: Vec<u64> = indexes.map(|i| batch.hashes[i as usize]).collect();
        let some = Batch::new(&lines, &hashes);
        self.put(some, |_, _| {})
    }

    /// Inserts all lines of a batch, as [`Updater::insert`] does; `new` becomes the indexes, in
    /// order, of those that were certainly not in before.
    pub(crate) fn insert_new(
        &self,
        batch: Batch<'_>,
        scatter: &mut Scatter,
        new: &mut Vec<u32>,
    ) -> Result<()> {
        if let Changing::Blocks(builder) = &self.changing {
            builder.insert_new(batch.hashes, scatter, new);
            return Ok(());
        }
        new.clear();
        self.put(batch, |index, put| {
            if put == Put::New {
                new.push(index);
            }
        })
    }

    /// Takes all lines of a batch out; `absent` becomes the indexes of those that are certainly not
    /// in, which are left alone.
    pub(crate) fn remove(&self, batch: Batch<'_>, absent: &mut Vec<u32>) -> Result<()> {
        absent.clear();
        let mut note = |index: usize, taken: bool| {
            if !taken {
                absent.push(index as u32);
            }
            true
        };
        match &self.changing {
            Changing::Counting(cells) => {
                change_each_ahead(&mut *cells.lock(), batch.hashes, |cells, index, key| {
                    note(index, cells.take(key))
                });
            }
            Changing::Digests(growing) => {
                let digests = self.digests(batch);
                let mut growing = growing.lock();
                growing.with(|cells| {
                    change_each_ahead(cells, &digests, |cells, index, key| {
                        note(index, cells.take(key))
                    })
                });
                self.keys.store(growing.used, Ordering::Relaxed);
                return Ok(());
            }
            _ => return Err(cannot_forget(self.kind)),
        }
        let taken = (batch.lines.len() - absent.len()) as u64;
        // Never below zero: lines that were never inserted may seem to be in, and be removed.
        let less = |keys: u64| Some(keys.saturating_sub(taken));
        let _always = self
            .keys
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        Ok(())
    }

    /// Puts the lines of a batch in, counts them, and hands `each` the index of each line and what came of it;
    /// of blocks, only of the lines that were new.
    fn put(&self, batch: Batch<'_>, mut each: impl FnMut(u32, Put)) -> Result<()> {
        match &self.changing {
            Changing::Blocks(builder) => {
                let mut new = Vec::new();
                builder.insert_new(batch.hashes, &mut Scatter::default(), &mut new);
                for index in new {
                    each(index, Put::New);
                }
                return Ok(());
            }
            Changing::Bits(cells) => put_all(&mut *cells.lock(), batch.hashes, each),
            Changing::Counting(cells) => put_all(&mut *cells.lock(), batch.hashes, each),
            Changing::Spectral(cells) => put_all(&mut *cells.lock(), batch.hashes, each),
            Changing::Digests(growing) => {
                let digests = self.digests(batch);
                let mut growing = growing.lock();
                let result = growing.put(&digests, each);
                // Also after a refused growth: what was put in before it is in.
                self.keys.store(growing.used, Ordering::Relaxed);
                return result;
            }
        }
        let lines = batch.lines.len() as u64;
        self.keys.fetch_add(lines, Ordering::Relaxed);
        Ok(())
    }

    /// Computes the digests of a batch, before the lock is taken.
    fn digests(&self, batch: Batch<'_>) -> Vec<Digest> {
        let keys = batch.keys.iter();
        keys.map(|key| self.hasher.digest(key)).collect()
    }
}

/// Makes the error for a kind that does not support removal.
pub(crate) fn cannot_forget(kind: Kind) -> Error {
    Error::usage(
        format!("filter: no line can be removed from a {kind} filter"),
        "build a counting or a fingerprint filter",
    )
}

/// Puts all hashes in, fetching ahead, and hands `each` what came of each. Such cells are never full.
fn put_all<C: Change<Key = u64>>(cells: &mut C, hashes: &[u64], mut each: impl FnMut(u32, Put)) {
    change_each_ahead(cells, hashes, |cells, index, key| {
        each(index as u32, cells.put(key));
        true
    });
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::memory::buffer::PAGE;

    #[test]
    fn a_refused_growth_leaves_a_filter_that_counts_what_it_has() {
        let shape = Shape {
            kind: Kind::Fingerprint,
            cells: 64,
            hashes: 1,
        };
        let rules = Rules {
            hasher: LineHasher::with_key([7; 4]),
            format: crate::LineFormat::default(),
            key_form: crate::KeyForm::default(),
            planned_keys: 50,
        };
        // Room for one table of a page, and not for a second one.
        let budget = MemoryBudget::new(PAGE, 0);
        let mut filter = Filter::new(&budget, shape, rules).unwrap();
        let texts: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        let lines: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let mut hashes = Vec::new();
        rules.hasher.hash_batch(&lines, &mut hashes);
        let batch = Batch::new(&lines, &hashes);
        let refused = filter.updater().insert(batch, &mut Scatter::default());
        assert!(matches!(refused, Err(Error::Memory { .. })), "{refused:?}");
        assert_eq!((filter.keys(), filter.occupancy().used), (52, 52));
        assert!(lines[..52].iter().all(|line| filter.contains(line)));
        assert!(filter.remove(lines[0]).unwrap() && !filter.remove(lines[60]).unwrap());
        assert_eq!((filter.keys(), filter.occupancy().used), (51, 51));
    }
}
