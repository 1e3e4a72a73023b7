//! A filter that people keep: cells of any kind, and all that is needed to ask them later.
//!
//! *Owns:* [`Filter`], its key and line rules, and asking it; [`Updater`](super::updater::Updater)
//! changes it. *Invariants:* a line that was inserted (and not removed) is found for as long as the
//! filter lives, in this process or from its file. A mapped filter can be asked and not changed:
//! the types see to that. *Cost:* the cells; asking takes what the kind takes.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::batch::Batch;
use crate::buffer::Buffer;
use crate::filter::blocked::Blocks;
use crate::filter::cells::{Ask, for_each_ahead};
use crate::filter::counters::{Counting, Spectral};
use crate::filter::digests::{Digest, Digests};
use crate::filter::flat::Bits;
use crate::filter::occupancy::{Census, Occupancy};
use crate::filter::shape::{Kind, Shape};
use crate::filter::words::Words;
use crate::hash::LineHasher;
use crate::input::lines::LineFormat;

/// What a filter knows beside its cells: how lines become keys.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Hashes lines under the filter's key.
    pub hasher: LineHasher,
    /// What a line is.
    pub format: LineFormat,
    /// Lines that the filter was laid out for.
    pub planned_keys: u64,
}

/// A filter with cells in memory, or (`Filter<Mapped>`) in a mapped file.
///
/// ```
/// use outset::budget::MemoryBudget;
/// use outset::filter::{Filter, Kind, Rules, Shape};
/// use outset::hash::{HashKey, LineHasher};
///
/// let budget = MemoryBudget::new(64 << 20, 0);
/// let rules = Rules {
///     hasher: LineHasher::new(HashKey::Random)?,
///     format: Default::default(),
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
    pub(super) words: W,
    /// Lines inserted less lines removed; of digests, how many there are.
    pub(super) keys: AtomicU64,
}

/// Runs a body with the cells of a filter and the keys of a batch, as the filter's kind has them.
macro_rules! with_cells {
    ($filter:expr, $batch:expr, |$cells:ident, $keys:ident| $body:expr) => {{
        let Shape {
            kind,
            cells,
            hashes,
        } = $filter.shape;
        let words = $filter.cells();
        match kind {
            Kind::Blocked => {
                let ($cells, $keys) = (Blocks::new(words, hashes), $batch.hashes);
                $body
            }
            Kind::Classic => {
                let ($cells, $keys) = (Bits::new(words, cells, hashes), $batch.hashes);
                $body
            }
            Kind::Counting => {
                let ($cells, $keys) = (Counting::new(words, cells, hashes), $batch.hashes);
                $body
            }
            Kind::Spectral => {
                let ($cells, $keys) = (Spectral::new(words, cells, hashes), $batch.hashes);
                $body
            }
            Kind::Fingerprint => {
                let digests = $filter.digests($batch);
                let ($cells, $keys) = (Digests::new(words, cells, 0), &digests[..]);
                $body
            }
        }
    }};
}

impl<W: Words> Filter<W> {
    /// What it looks like.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How lines become keys.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Lines inserted, repeats included, less lines removed. Of digests: how many there are.
    pub fn keys(&self) -> u64 {
        self.keys.load(Ordering::Relaxed)
    }

    /// Whether a line may have been inserted. False is certain.
    pub fn contains(&self, line: &[u8]) -> bool {
        let mut kept = Vec::with_capacity(1);
        self.keep(
            Batch {
                lines: &[line],
                hashes: &[self.hash(line)],
            },
            &mut kept,
        );
        !kept.is_empty()
    }

    /// How often a line may have been inserted, at most: up to 15 (`counting`) or 65,535
    /// (`spectral`), where "or more" is to be added; 0 or 1 for other kinds. 0 is certain.
    pub fn count(&self, line: &[u8]) -> u64 {
        let mut counts = Vec::with_capacity(1);
        self.counts(
            Batch {
                lines: &[line],
                hashes: &[self.hash(line)],
            },
            &mut counts,
        );
        counts.first().copied().unwrap_or(0)
    }

    /// Counts the cells.
    pub fn occupancy(&self) -> Occupancy {
        let mut census = Census::new(self.shape);
        census.add(self.cells());
        census.finish()
    }

    pub(super) fn hash(&self, line: &[u8]) -> u64 {
        self.rules.hasher.hash(line)
    }

    /// The indexes of the lines that may have been inserted, in order. `kept` is overwritten.
    pub(crate) fn keep(&self, batch: Batch<'_>, kept: &mut Vec<u32>) {
        kept.clear();
        if self.shape.kind == Kind::Blocked && self.words.window().is_none() {
            Blocks::new(self.cells(), self.shape.hashes).keep(batch.hashes, kept);
            return;
        }
        self.in_windows(batch, |part, first| {
            with_cells!(self, part, |cells, keys| {
                for_each_ahead(&cells, keys, |cells, index, key| {
                    if cells.contains(key) {
                        kept.push(first + index as u32);
                    }
                });
            });
        });
    }

    /// How often each line may have been inserted. `counts` is overwritten.
    pub(crate) fn counts(&self, batch: Batch<'_>, counts: &mut Vec<u64>) {
        counts.clear();
        self.in_windows(batch, |part, _| {
            with_cells!(self, part, |cells, keys| {
                for_each_ahead(&cells, keys, |cells, _, key| counts.push(cells.count(key)));
            });
        });
    }

    /// Hands `work` the batch, or parts of it that touch no more of a mapping than may be resident,
    /// with the index of their first line.
    fn in_windows(&self, batch: Batch<'_>, mut work: impl FnMut(Batch<'_>, u32)) {
        let Some(window) = self.words.window() else {
            return work(batch, 0);
        };
        let size = window.keys(self.shape);
        for first in (0..batch.lines.len()).step_by(size) {
            let part = first..(first + size).min(batch.lines.len());
            let part = Batch {
                lines: &batch.lines[part.clone()],
                hashes: &batch.hashes[part],
            };
            window.touch(|| work(part, first as u32));
        }
    }

    /// The words of the cells, without what is behind them.
    pub(super) fn cells(&self) -> &[u64] {
        &self.words.words()[..(self.shape.bytes() / 8) as usize]
    }

    /// What the lines of a batch are to a filter of digests.
    fn digests(&self, batch: Batch<'_>) -> Vec<Digest> {
        let lines = batch.lines.iter();
        lines.map(|line| self.rules.hasher.digest(line)).collect()
    }
}
