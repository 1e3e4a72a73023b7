//! A filter: cells of any kind, and all that is needed to ask them later.
//!
//! *Owns:* [`Filter`], its key and line rules, and asking it; [`Updater`](super::updater::Updater)
//! changes it. *Invariants:* a line that was inserted (and not removed) is found for as long as the
//! filter lives, in this process or from its file. A mapped filter can be asked and not changed:
//! the types see to that. *Cost:* the cells; asking takes what the kind takes.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::batch::Batch;
use crate::filter::block::{BLOCK_WORDS, Blocks};
use crate::filter::cells::{Ask, for_each_ahead};
use crate::filter::counters::{Counting, Spectral};
use crate::filter::digests::{Digest, Digests};
use crate::filter::flat::Bits;
use crate::filter::occupancy::{Census, Occupancy};
use crate::filter::shape::{Kind, Shape};
use crate::filter::sizing::BLOCK_BITS;
use crate::filter::words::{InFile, ReadWords, Words};
use crate::hash::LineHasher;
use crate::lines::LineFormat;
use crate::memory::buffer::Buffer;
use crate::record::KeyForm;

/// Blocks that are looked at to measure a large filter: the rate is then known to about a hundredth of itself.
const SAMPLED_BLOCKS: u64 = 1 << 16;

/// The rules by which lines become keys of a filter.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Hashes lines under the filter's key.
    pub hasher: LineHasher,
    /// The rules that make bytes into lines.
    pub format: LineFormat,
    /// The form of the keys of lines.
    pub key_form: KeyForm,
    /// Different lines that the filter was laid out for.
    pub planned_keys: u64,
}

/// A filter with cells in memory, or (`Filter<Mapped>`) in a mapped file, or (`Filter<InFile>`) in a
/// file that is read as it is asked.
///
/// ```
/// use outset::memory::budget::MemoryBudget;
/// use outset::filter::{Filter, Kind, Rules, Shape};
/// use outset::hash::{HashKey, LineHasher};
///
/// let budget = MemoryBudget::new(64 << 20, 0);
/// let rules = Rules {
///     hasher: LineHasher::new(HashKey::Random)?,
///     format: Default::default(),
///     key_form: Default::default(),
///     planned_keys: 1000,
/// };
/// let shape = Shape::for_fpr(Kind::Counting, 1000, 0.01, None);
/// let mut seen = Filter::new(&budget, shape, rules)?;
/// assert!(seen.insert(b"https://example.org/")?);
/// assert!(!seen.insert(b"https://example.org/")?);
/// assert!(seen.contains(b"https://example.org/"));
/// assert!(seen.remove(b"https://example.org/")? && seen.remove(b"https://example.org/")?);
/// assert!(!seen.contains(b"https://example.org/"));
/// # Ok::<(), outset::Error>(())
/// ```
#[derive(Debug)]
pub struct Filter<W = Buffer> {
    pub(super) shape: Shape,
    pub(super) rules: Rules,
    /// The cells: `shape.bytes()` bytes, and perhaps more after them that mean nothing.
    pub(super) words: W,
    /// Lines inserted less lines removed; of digests, how many there are.
    pub(super) keys: AtomicU64,
}

impl<W> Filter<W> {
    /// Computes digests as `hasher` does, which has the filter's key: of the keys of a run, as their hashes are.
    pub(super) fn hashing_as(self, hasher: LineHasher) -> Self {
        let rules = Rules {
            hasher,
            ..self.rules
        };
        Self { rules, ..self }
    }

    /// Returns its shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the rules by which lines become keys.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Lines inserted, repeats included, less lines removed. Of digests: how many there are.
    pub fn keys(&self) -> u64 {
        self.keys.load(Ordering::Relaxed)
    }

    /// Returns the hash of a line under the filter's key.
    pub(super) fn hash(&self, line: &[u8]) -> u64 {
        self.rules.hasher.hash(line)
    }

    /// Asks about every line of a batch, whose keys are looked for in `words`. `each` gets the index
    /// and, with `COUNTS`, how often it may have been inserted; without, 1 if it may have been.
    fn ask<R: ReadWords, const COUNTS: bool>(
        &self,
        words: R,
        batch: Batch<'_>,
        each: impl FnMut(u32, u64),
    ) {
        let Shape {
            kind,
            cells,
            hashes,
        } = self.shape;
        match kind {
            Kind::Blocked => {
                let blocks = Blocks::new(words, cells / BLOCK_BITS, hashes);
                ask_all::<_, COUNTS>(&blocks, batch.hashes, each);
            }
            Kind::Classic => {
                ask_all::<_, COUNTS>(&Bits::new(words, cells, hashes), batch.hashes, each);
            }
            Kind::Counting => {
                ask_all::<_, COUNTS>(&Counting::new(words, cells, hashes), batch.hashes, each);
            }
            Kind::Spectral => {
                ask_all::<_, COUNTS>(&Spectral::new(words, cells, hashes), batch.hashes, each);
            }
            Kind::Fingerprint => {
                let lines = batch.keys.iter();
                let digests = lines.map(|line| self.rules.hasher.digest(line));
                let digests: Vec<Digest> = digests.collect();
                ask_all::<_, COUNTS>(&Digests::new(words, cells, 0), &digests, each);
            }
        }
    }
}

/// Asks `cells` about each key with its memory on its way. Compiled once for each kind and question.
fn ask_all<C: Ask, const COUNTS: bool>(cells: &C, keys: &[C::Key], mut each: impl FnMut(u32, u64)) {
    for_each_ahead(cells, keys, |cells, index, key| {
        let answer = if COUNTS {
            cells.count(key)
        } else {
            u64::from(cells.contains(key))
        };
        each(index as u32, answer);
    });
}

impl<W: Words> Filter<W> {
    /// Tells whether a line may have been inserted. False is certain.
    ///
    /// The line must be in the form of the keys of the filter: what its [`Rules`] say of carriage returns, case and
    /// blanks was done to the lines of inputs, and is not done here. So it is with a line to be counted, inserted or
    /// removed by itself.
    pub fn contains(&self, line: &[u8]) -> bool {
        let mut passing = Vec::with_capacity(1);
        let (lines, hashes) = ([line], [self.hash(line)]);
        let batch = Batch::new(&lines, &hashes);
        self.passing(batch, &mut passing);
        !passing.is_empty()
    }

    /// Returns the most times that a line may have been inserted: up to 15 (`counting`) or 65,535 (`spectral`), where
    /// "or more" is to be added; 0 or 1 for other kinds. 0 is certain.
    pub fn count(&self, line: &[u8]) -> u64 {
        let mut counts = Vec::with_capacity(1);
        let (lines, hashes) = ([line], [self.hash(line)]);
        let batch = Batch::new(&lines, &hashes);
        self.counts(batch, &mut counts);
        counts.first().copied().unwrap_or(0)
    }

    /// Counts the cells.
    pub fn occupancy(&self) -> Occupancy {
        let mut census = Census::new(self.shape);
        census.add(self.cells());
        census.finish()
    }

    /// Works as [`Filter::occupancy`], but counts only some blocks of a large filter, at even distances: in a few
    /// milliseconds, whatever its size.
    pub(crate) fn occupancy_sampled(&self) -> Occupancy {
        let blocks = self.shape.cells / BLOCK_BITS;
        if self.shape.kind != Kind::Blocked || blocks <= SAMPLED_BLOCKS {
            return self.occupancy();
        }
        // Every `step`-th block, counted as a filter of that many blocks; totals are then scaled up. Keys are spread
        // over the blocks by hash, so any choice of blocks is a fair sample.
        let step = blocks.div_ceil(SAMPLED_BLOCKS);
        let sampled = blocks.div_ceil(step);
        let mut census = Census::new(Shape {
            cells: sampled * BLOCK_BITS,
            ..self.shape
        });
        let all = self.cells().chunks_exact(BLOCK_WORDS);
        all.step_by(step as usize)
            .for_each(|block| census.add(block));
        let found = census.finish();
        let share = sampled as f64 / blocks as f64;
        Occupancy {
            used: (found.used as f64 / share) as u64,
            distinct: found.distinct / share,
            taken_for_others: found.taken_for_others / share,
            ..found
        }
    }

    /// Finds the indexes of the lines that may have been inserted, in order. `passing` is overwritten.
    pub(crate) fn passing(&self, batch: Batch<'_>, passing: &mut Vec<u32>) {
        let Shape {
            kind,
            cells,
            hashes,
        } = self.shape;
        if kind == Kind::Blocked {
            Blocks::new(self.cells(), cells / BLOCK_BITS, hashes).passing(batch.hashes, passing);
            return;
        }
        passing.clear();
        self.ask::<_, false>(self.cells(), batch, |index, is_in| {
            if is_in != 0 {
                passing.push(index);
            }
        });
    }

    /// Counts how often each line may have been inserted. `counts` is overwritten.
    pub(crate) fn counts(&self, batch: Batch<'_>, counts: &mut Vec<u64>) {
        counts.clear();
        self.ask::<_, true>(self.cells(), batch, |_, count| counts.push(count));
    }

    /// Returns the words of the cells, without those after them.
    pub(super) fn cells(&self) -> &[u64] {
        &self.words.words()[..(self.shape.bytes() / 8) as usize]
    }
}

impl Filter<InFile> {
    /// Works as [`Filter::passing`], but fails when the file cannot be read.
    pub(super) fn passing_in_file(
        &self,
        batch: Batch<'_>,
        passing: &mut Vec<u32>,
    ) -> io::Result<()> {
        passing.clear();
        self.words.read(|words| {
            self.ask::<_, false>(words, batch, |index, is_in| {
                if is_in != 0 {
                    passing.push(index);
                }
            });
        })
    }

    /// Works as [`Filter::counts`], but fails when the file cannot be read.
    pub(super) fn counts_in_file(&self, batch: Batch<'_>, counts: &mut Vec<u64>) -> io::Result<()> {
        counts.clear();
        self.words
            .read(|words| self.ask::<_, true>(words, batch, |_, count| counts.push(count)))
    }
}
