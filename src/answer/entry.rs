//! One line of the answer with all that its order and its writing need.
//!
//! *Owns:* the form of an [`Entry`] in memory and on disk. Nothing here allocates.
//!
//! ```text
//! │ times │ duplicates │ length of the label: 8 │ place: 64, if the order has places │ line │ label │
//! ```
//!
//! *Invariants:* an entry that was written is read back the same, and its label ends where the entry ends.
//!
//! *Cost:* three bytes a line mostly, and 8 for the place.

use crate::lines::prefixed::{MAX_LENGTH_BYTES, length_bytes, put_length, take_length};
use crate::selection::{NO_ORDINAL, Order};

/// Bytes of a line in a rank. The last byte of a rank tells lines that end there from others.
pub(super) const RANK_BYTES: usize = 7;
/// A rank's last byte where the line goes on.
pub(super) const GOES_ON: u8 = u8::MAX;

/// A line of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// The times that it is written, at least one.
    pub(crate) times: u64,
    /// The times that it goes where duplicates go, without its label.
    pub(crate) duplicates: u64,
    /// The number by which it is put in order, the smaller first: the ordinal of its first occurrence or, in the order
    /// of counts, the complement of its count.
    pub(crate) place: u64,
    /// The bytes that are written before it; up to 255.
    pub(crate) label: &'a [u8],
    /// The line.
    pub(crate) line: &'a [u8],
}

/// The most bytes before the line.
pub(super) const MOST_FRONT: usize = 2 * MAX_LENGTH_BYTES + 1 + 8;

impl<'a> Entry<'a> {
    /// Makes the entry of a line that is written once, without a label.
    pub(crate) fn once(line: &'a [u8], place: u64) -> Self {
        Self {
            times: 1,
            duplicates: 0,
            place,
            label: b"",
            line,
        }
    }

    /// Counts the bytes of the line, with one more for its end: what progress counts.
    pub(super) fn line_bytes(&self) -> u64 {
        self.line.len() as u64 + 1
    }

    /// Counts the bytes before the line.
    pub(super) fn front_bytes(&self, order: Order) -> usize {
        let numbers = length_bytes(self.times as usize) + length_bytes(self.duplicates as usize);
        numbers + 1 + if order.has_places() { 8 } else { 0 }
    }

    /// Writes the bytes before the line at the front of `out`, which has room for them: [`MOST_FRONT`] is enough.
    /// Returns how many. If they were made elsewhere and copied, bytes that had just been written one by one would be
    /// read together: a processor waits for them, and for all writes before them.
    pub(super) fn put_front(&self, order: Order, out: &mut [u8]) -> usize {
        let mut at = put_length(out, self.times as usize);
        at += put_length(&mut out[at..], self.duplicates as usize);
        out[at] = self.label.len() as u8;
        at += 1;
        if order.has_places() {
            out[at..at + 8].copy_from_slice(&self.place.to_be_bytes());
            at += 8;
        }
        at
    }

    /// Returns the number by which entries are ordered, the smaller first: the place, or the first bytes of the line.
    pub(super) fn rank(&self, order: Order) -> u64 {
        if order.has_places() {
            self.place
        } else {
            rank(self.line, 0)
        }
    }

    /// Reads an entry from `bytes`; `None` if they are none.
    pub(super) fn read(bytes: &'a [u8], order: Order) -> Option<Self> {
        let (times, taken) = take_length(bytes)?;
        let bytes = &bytes[taken..];
        let (duplicates, taken) = take_length(bytes)?;
        let (&label, mut rest) = bytes[taken..].split_first()?;
        let mut place = NO_ORDINAL;
        if order.has_places() {
            let (first, behind) = rest.split_first_chunk()?;
            place = u64::from_be_bytes(*first);
            rest = behind;
        }
        let (line, label) = rest.split_at_checked(rest.len().checked_sub(label.into())?)?;
        Some(Self {
            times: times as u64,
            duplicates: duplicates as u64,
            place,
            label,
            line,
        })
    }
}

/// Returns the bytes of `line` after the first `depth`, as a number: of two lines that share these, the one with the
/// smaller number comes first.
pub(super) fn rank(line: &[u8], depth: usize) -> u64 {
    let rest = line.get(depth..).unwrap_or_default();
    if let Some(first) = rest.first_chunk() {
        return u64::from_be_bytes(*first) & !0xff | u64::from(GOES_ON);
    }
    let mut bytes = [0; RANK_BYTES + 1];
    bytes[..rest.len()].copy_from_slice(rest);
    // Of "a" and "a\0", which have the same bytes here, the shorter comes first.
    bytes[RANK_BYTES] = rest.len() as u8;
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_as_it_was() {
        for order in [Order::Sorted, Order::Input, Order::Count] {
            for (times, label, line) in [(1, "", ""), (300, "101\t", "line"), (1, "", "\t\0x")] {
                let entry = Entry {
                    times,
                    duplicates: times - 1,
                    place: if order.has_places() { 7 } else { NO_ORDINAL },
                    label: label.as_bytes(),
                    line: line.as_bytes(),
                };
                let mut front = [0; MOST_FRONT];
                let taken = entry.put_front(order, &mut front);
                assert_eq!(taken, entry.front_bytes(order));
                let bytes = [&front[..taken], entry.line, entry.label].concat();
                assert_eq!(Entry::read(&bytes, order).unwrap(), entry);
            }
        }
    }
}
