//! The order of entries, told from a few bytes: offset-value codes.
//!
//! *Owns:* the key of an entry, which decides its order, and its [`Head`]: what a merge compares of it.
//!
//! ```text
//!  key    │ place: 8 bytes, if the order has places │ line, if the order compares lines │
//!  code   │ greatest offset, less the offset: 2 bytes │ 6 bytes of the key, from the offset on │
//!  head   │ code: 8 bytes │ the first offset │ 48 bytes of the key, from that offset on │
//! ```
//!
//! The offset is the number of bytes that the key shares with that of another entry, its *base*. Of two entries coded
//! against one base, the one that shares more with it comes first, and of two that share as much, the one whose next
//! bytes are smaller: that is the one with the smaller code. So a merge compares two numbers where lines share long
//! beginnings, as URLs do. The entry that comes later then gets a code against the other one. Where the byte after the
//! offset is equal, too, that takes more bytes of both: mostly those of their heads, else those of their lines.
//!
//! *Invariants:*
//! - The offset of a code is exact, or counts [`MOST_SHARED`] bytes of lines where they share more.
//! - A key that ends has zeros for its next bytes. They say nothing of how much it shares with another, so keys are
//!   compared as a whole where equal bytes are zeros.
//!
//! *Cost:* 64 bytes a head.
//!
//! *Sources:* Conner, Offset-Value Coding, IBM Technical Disclosure Bulletin 20(7), 1977; Do, Graefe and Naughton,
//! Efficient Sorting, Duplicate Removal, Grouping, and Aggregation, TODS 47(4), 2022.

use std::cmp::Ordering;

use crate::answer::entry::Entry;
use crate::selection::Order;

/// The most bytes that two lines are said to share: this number has one byte in a run.
pub(super) const MOST_SHARED: usize = u8::MAX as usize;
/// Bytes of a place in a key.
const PLACE: usize = 8;
/// Bytes of a key in a head.
const HEAD_BYTES: usize = 48;
/// Bits of a code for the bytes from the offset on.
const VALUE_BITS: u32 = 48;
/// The code of a source that has no further entry: it comes after all others.
const ENDED: u64 = u64::MAX;

/// A small part of the present entry of a source, by which a merge mostly compares it.
#[derive(Debug, Clone)]
pub(super) struct Head {
    /// The code against the last entry that was taken, or against the one that it lost to.
    code: u64,
    /// The offset in the key of the first of `bytes`.
    start: usize,
    /// Bytes of the key, and zeros after its end.
    bytes: [u8; HEAD_BYTES],
}

impl Head {
    /// Makes the head of a source that has no further entry.
    pub(super) fn ended() -> Self {
        Self {
            code: ENDED,
            start: 0,
            bytes: [0; HEAD_BYTES],
        }
    }

    /// Takes the next entry of the same source, whose line shares `shared` bytes, at most [`MOST_SHARED`], with that of
    /// the entry before it, which had the place `place_before`.
    pub(super) fn take(
        &mut self,
        entry: &Entry<'_>,
        order: Order,
        place_before: u64,
        shared: usize,
    ) {
        let shared_of_place = (entry.place ^ place_before).leading_zeros() as usize / 8;
        self.start = match shared_of_place {
            _ if !order.has_places() => shared,
            PLACE if order.compares_lines() => PLACE + shared,
            _ => shared_of_place,
        };
        copy_key(entry, order, self.start, &mut self.bytes);
        self.code = code(order, self.start, self.word(self.start).unwrap_or(0));
    }

    /// Returns true if the source has no further entry.
    pub(super) fn has_ended(&self) -> bool {
        self.code == ENDED
    }

    /// Returns the eight bytes of the key from `offset` on, the first as the most significant, if they are here.
    #[inline]
    fn word(&self, offset: usize) -> Option<u64> {
        let bytes = self.bytes.get(offset.wrapping_sub(self.start)..)?;
        Some(u64::from_be_bytes(*bytes.first_chunk()?))
    }
}

/// Compares two entries by their heads, which have codes against one base, and gives that of the later one its code
/// against the other. `None`, and nothing is changed, where that takes [`compare_entries`].
#[inline]
pub(super) fn compare_heads(heads: [&mut Head; 2], order: Order) -> Option<Ordering> {
    let [one, other] = heads;
    let different = one.code ^ other.code;
    // They differ in the offset or in the byte after it; or both have ended.
    if different >> (VALUE_BITS - u8::BITS) != 0 || one.has_ended() {
        return Some(one.code.cmp(&other.code));
    }
    let mut offset = offset_of(one.code, order);
    let (words, equal_bits) = loop {
        let words = [one.word(offset)?, other.word(offset)?];
        let equal_bits = (words[0] ^ words[1]).leading_zeros() / 8 * 8;
        // Any other byte than zero in place of those that differ.
        let equal = words[0] | u64::MAX.checked_shr(equal_bits).unwrap_or(0);
        if has_zero_byte(equal) {
            return None;
        }
        if equal_bits < u64::BITS {
            break (words, equal_bits);
        }
        offset += size_of::<u64>();
    };
    let exact = offset + equal_bits as usize / 8;
    if exact > most_offset(order) {
        return None;
    }
    let ordering = words[0].cmp(&words[1]);
    let later = if ordering.is_gt() { one } else { other };
    later.code = code(order, exact, later.word(exact)?);
    Some(ordering)
}

/// Works as [`compare_heads`], with all bytes of two entries.
#[cold]
pub(super) fn compare_entries(
    heads: [&mut Head; 2],
    entries: [&Entry<'_>; 2],
    order: Order,
) -> Ordering {
    let [one, other] = heads;
    let offset = offset_of(one.code, order);
    let (ordering, exact) = compare_keys(entries, order, offset);
    let (later, entry) = if ordering.is_gt() {
        (one, entries[0])
    } else {
        (other, entries[1])
    };
    let exact = exact.min(most_offset(order));
    let mut word = [0; size_of::<u64>()];
    copy_key(entry, order, exact, &mut word);
    later.code = code(order, exact, u64::from_be_bytes(word));
    ordering
}

/// Compares the keys of two entries that share the first `offset` bytes. Returns how many they do share.
fn compare_keys(entries: [&Entry<'_>; 2], order: Order, offset: usize) -> (Ordering, usize) {
    let places = entries.map(|entry| entry.place);
    if order.has_places() && (places[0] != places[1] || !order.compares_lines()) {
        let shared = (places[0] ^ places[1]).leading_zeros() as usize / 8;
        return (places[0].cmp(&places[1]), shared);
    }
    let before = offset.saturating_sub(place_bytes(order));
    let [one, other] = entries.map(|entry| entry.line.get(before..).unwrap_or_default());
    let shared = shared_bytes(one, other);
    // A line that ends comes first.
    let ordering = one.get(shared).cmp(&other.get(shared));
    (ordering, place_bytes(order) + before + shared)
}

/// Counts the first bytes that two lines share, up to [`MOST_SHARED`].
pub(super) fn shared_prefix(one: &[u8], other: &[u8]) -> usize {
    let cut = |line: &[u8]| line.len().min(MOST_SHARED);
    shared_bytes(&one[..cut(one)], &other[..cut(other)])
}

/// Counts the first bytes that are equal.
fn shared_bytes(one: &[u8], other: &[u8]) -> usize {
    let words = one.as_chunks().0.iter().zip(other.as_chunks().0);
    let mut shared = 0;
    for (one, other) in words {
        let different = u64::from_be_bytes(*one) ^ u64::from_be_bytes(*other);
        if different != 0 {
            return shared + different.leading_zeros() as usize / 8;
        }
        shared += size_of::<u64>();
    }
    let rest = one[shared..].iter().zip(&other[shared..]);
    shared + rest.take_while(|(one, other)| one == other).count()
}

/// Copies the bytes of a key from `offset` on, and zeros after its end.
fn copy_key(entry: &Entry<'_>, order: Order, offset: usize, bytes: &mut [u8]) {
    let mut rest = bytes;
    if let Some(rest_of_place) = entry.place.to_be_bytes().get(offset..)
        && order.has_places()
    {
        let (place, behind) = rest.split_at_mut(rest_of_place.len().min(rest.len()));
        place.copy_from_slice(&rest_of_place[..place.len()]);
        rest = behind;
    }
    let start = offset.saturating_sub(place_bytes(order));
    let compared = if order.compares_lines() {
        entry.line
    } else {
        &[]
    };
    let line = compared.get(start..).unwrap_or_default();
    if let Some(whole) = line.get(..rest.len()) {
        rest.copy_from_slice(whole);
        return;
    }
    rest.fill(0);
    rest[..line.len()].copy_from_slice(line);
}

/// Returns the code with this offset and the bytes from there on.
fn code(order: Order, offset: usize, word: u64) -> u64 {
    ((most_offset(order) - offset) as u64) << VALUE_BITS | word >> (u64::BITS - VALUE_BITS)
}

/// Returns the offset of a code.
fn offset_of(code: u64, order: Order) -> usize {
    most_offset(order).saturating_sub((code >> VALUE_BITS) as usize)
}

/// Returns the greatest offset of a code.
fn most_offset(order: Order) -> usize {
    place_bytes(order) + MOST_SHARED
}

/// Returns the bytes of a key before its line.
fn place_bytes(order: Order) -> usize {
    if order.has_places() { PLACE } else { 0 }
}

/// Returns true if a byte of `word` is zero.
fn has_zero_byte(word: u64) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    word.wrapping_sub(LOW) & !word & (LOW << 7) != 0
}
