//! Entries that are put in order in memory.
//!
//! *Owns:* [`SortBuffer`], a piece of memory with entries at its front and, for each, its rank and its place at its back.
//!
//! ```text
//!  │ entry │ entry │ entry │ ... free ... │ rank, place │ rank, place │ rank, place │
//!   0                       filled                       one for each entry, the latest first
//! ```
//!
//! *Invariants:* front and back never meet. Only the back is moved when the entries are put in order.
//!
//! *Cost:* an entry's bytes, 4 for its length and 16 for rank and place; about 100 ns a line to sort.

use crate::answer::entry::Entry;
use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::selection::Order;

/// Bytes at the back for each entry: rank and place.
const BACK: usize = 16;
/// Bytes before each entry for its length. A buffer is smaller than 4 GiB.
const LENGTH: usize = 4;
/// The most bytes of a buffer: places and lengths have 32 bits.
pub(super) const MOST_BYTES: u64 = 1 << 30;

/// Entries in memory. For one thread at a time.
#[derive(Debug)]
pub(super) struct SortBuffer {
    buffer: Buffer,
    /// Bytes of the front in use.
    filled: usize,
    /// Entries held.
    entries: usize,
    order: Order,
}

impl SortBuffer {
    /// An empty buffer of `bytes` bytes, at most [`MOST_BYTES`].
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where the budget refuses them.
    pub(super) fn new(budget: &MemoryBudget, bytes: u64, order: Order) -> Result<Self> {
        Ok(Self {
            buffer: Buffer::new(budget, "the order of the answer", bytes.min(MOST_BYTES))?,
            filled: 0,
            entries: 0,
            order,
        })
    }

    /// Adds an entry; false where there is no room for it.
    pub(super) fn push(&mut self, entry: &Entry<'_>) -> bool {
        let front = entry.front(self.order);
        let length = front.len() + entry.label.len() + entry.line.len();
        let back = (self.entries + 1) * BACK;
        if self.filled + LENGTH + length + back > self.buffer.len() {
            return false;
        }
        let start = self.filled;
        let mut put = |bytes: &[u8]| {
            self.buffer[self.filled..self.filled + bytes.len()].copy_from_slice(bytes);
            self.filled += bytes.len();
        };
        put(&(length as u32).to_le_bytes());
        put(&front);
        put(entry.label);
        put(entry.line);
        let at = self.buffer.len() - back;
        let place = [entry.rank(self.order), start as u64];
        self.buffer[at..at + BACK].copy_from_slice(bytemuck::bytes_of(&place));
        self.entries += 1;
        true
    }

    /// Puts the entries in order.
    pub(super) fn sort(&mut self) {
        let order = self.order;
        let split = self.buffer.len() - self.entries * BACK;
        let (front, back) = self.buffer.split_at_mut(split);
        let places: &mut [[u64; 2]] = bytemuck::cast_slice_mut(back);
        places.sort_unstable_by(|one, other| {
            one[0].cmp(&other[0]).then_with(|| {
                match (read(front, one[1], order), read(front, other[1], order)) {
                    (Some(one), Some(other)) => one.compare(&other, order),
                    // Every place is that of an entry.
                    _ => std::cmp::Ordering::Equal,
                }
            })
        });
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.entries
    }

    /// The entry with this number, from 0, in the present order.
    pub(super) fn entry(&self, number: usize) -> Option<Entry<'_>> {
        let split = self.buffer.len() - self.entries * BACK;
        let places: &[[u64; 2]] = bytemuck::cast_slice(&self.buffer[split..]);
        read(&self.buffer, places.get(number)?[1], self.order)
    }

    /// Takes all entries out.
    pub(super) fn clear(&mut self) {
        (self.filled, self.entries) = (0, 0);
    }
}

/// The entry at `place` of the front of a buffer.
fn read(front: &[u8], place: u64, order: Order) -> Option<Entry<'_>> {
    let (length, rest) = front.get(place as usize..)?.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    Entry::read(rest.get(..length)?, order)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn entries_come_in_order_until_the_buffer_is_full() {
        let budget = MemoryBudget::new(1 << 20, 0);
        let mut buffer = SortBuffer::new(&budget, 1 << 16, Order::Sorted).unwrap();
        let line = |i: usize| format!("{:08} line", i * 7919 % 10_007);
        for round in 0..2 {
            let mut pushed = 0;
            let push = |line: String| {
                let entry = Entry {
                    times: 1,
                    duplicates: 0,
                    ordinal: 0,
                    label: b"",
                    line: line.as_bytes(),
                };
                buffer.push(&entry)
            };
            pushed += (0..10_000)
                .map(line)
                .map(push)
                .take_while(|&fits| fits)
                .count();
            assert!((1000..2500).contains(&pushed), "round {round}: {pushed}");
            buffer.sort();
            let mut expected: Vec<String> = (0..pushed).map(line).collect();
            expected.sort();
            let found = (0..buffer.len()).map(|number| buffer.entry(number).unwrap().line);
            assert!(found.eq(expected.iter().map(String::as_bytes)));
            buffer.clear();
        }
    }
}
