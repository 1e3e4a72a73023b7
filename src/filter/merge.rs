//! Adding one filter to another.
//!
//! *Owns:* which filters can be added, and what their sum is. *Invariants:* the sum has every
//! line that either has; of bits, counters that count all insertions, and digests it is what one
//! filter of both inputs would be. Filters that differ in what matters are refused before anything
//! is changed. *Cost:* one pass over the words.

use crate::error::{Error, Result};
use crate::filter::counters;
use crate::filter::digests::{Digest, EMPTY};
use crate::filter::filter::{Filter, Rules};
use crate::filter::shape::{Kind, Shape};
use crate::filter::words::Words;
use crate::memory::buffer::Buffer;

impl Filter<Buffer> {
    /// Adds everything that `other` has: bits are united, counters added up to their top, digests
    /// inserted.
    ///
    /// # Errors
    /// [`Error::Usage`] when shape, key or line rules differ; nothing is changed then.
    /// [`Error::Memory`] when a table of digests must grow and cannot.
    pub fn merge<W: Words>(&mut self, other: &Filter<W>) -> Result<()> {
        check_alike((self.shape, self.rules), (other.shape, other.rules))?;
        self.expect_more(other.keys())?;
        self.add_words(0, other.cells())?;
        self.note_added(other.keys());
        Ok(())
    }

    /// Makes room for what another filter with `keys` keys has. Digests come in the order of their
    /// slots: without room for all of them from the start they would pile up at the front.
    pub(super) fn expect_more(&mut self, keys: u64) -> Result<()> {
        if self.shape.kind == Kind::Fingerprint {
            self.growing().reserve(keys)?;
        }
        Ok(())
    }

    /// Adds words of another filter, from its word `first` on; they hold whole cells. Callers add a filter part by
    /// part, and leave out no part. Digests ignore `first`: each finds its own slot.
    pub(super) fn add_words(&mut self, first: usize, from: &[u64]) -> Result<()> {
        if self.shape.kind == Kind::Fingerprint {
            let mut growing = self.growing();
            let (slots, _) = from.as_chunks::<2>();
            for slots in slots.chunks(1 << 12) {
                let digests = slots.iter().copied().filter(|&slot| slot != EMPTY);
                growing.put(&digests.collect::<Vec<Digest>>(), |_, _| {})?;
            }
            let used = growing.used;
            *self.keys.get_mut() = used;
            return Ok(());
        }
        let to = &mut self.words.words_mut()[first..first + from.len()];
        match self.shape.kind {
            Kind::Counting => counters::add::<4>(to, from),
            Kind::Spectral => counters::add::<16>(to, from),
            _ => to.iter_mut().zip(from).for_each(|(to, from)| *to |= from),
        }
        Ok(())
    }

    /// Counts the keys of a filter whose words were added; digests have counted themselves.
    pub(super) fn note_added(&mut self, keys: u64) {
        if self.shape.kind != Kind::Fingerprint {
            let sum = self.keys().saturating_add(keys);
            *self.keys.get_mut() = sum;
        }
    }
}

/// Refuses two filters that cannot be added.
pub(super) fn check_alike(one: (Shape, Rules), other: (Shape, Rules)) -> Result<()> {
    let ((shape, rules), (other_shape, other_rules)) = (one, other);
    // Digests can move into any table.
    let is_table = shape.kind == Kind::Fingerprint;
    let difference = if shape.kind != other_shape.kind {
        "kind"
    } else if !is_table && shape.cells != other_shape.cells {
        "size"
    } else if shape.hashes != other_shape.hashes {
        "the number of hash functions"
    } else if rules.hasher.key() != other_rules.hasher.key() {
        "the hash key"
    } else if rules.format != other_rules.format {
        "the line format (`terminator`, `strip_cr`)"
    } else if let Some(difference) = rules.key_form.difference(other_rules.key_form) {
        difference
    } else {
        return Ok(());
    };
    Err(Error::usage(
        format!("differs from the first filter in {difference}"),
        "merge filters that were built alike (filter build `like`)",
    ))
}
