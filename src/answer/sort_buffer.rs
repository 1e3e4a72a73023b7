//! Entries that are put in order in memory.
//!
//! *Owns:* [`SortBuffer`], a piece of memory with entries at its front and, for each, its rank and its offset at its
//! back. The rank is the entry's place, or the first bytes of its line.
//!
//! ```text
//!  │ entry │ entry │ entry │ ... free ... │ rank, offset │ rank, offset │ rank, offset │
//!   0                       filled                       one for each entry, the latest first
//! ```
//!
//! *Invariants:* front and back never meet. Only the back is moved when the entries are put in order.
//!
//! Where only the first so many entries are wanted, a buffer that is full is cut to these ([`SortBuffer::cut`]): it is
//! what others keep in a heap. From then on it takes no entry that comes after the last of them.
//!
//! Sorting by lines: offsets are sorted by ranks alone, which are stored with them. Those whose ranks are equal get
//! new ones, of the next bytes of their lines, and are sorted by these, and so on. So a line is looked up once for
//! each [`RANK_BYTES`] bytes that it shares with another, not once for each comparison. The first ranks are of the
//! bytes after those that all lines share, as far as the first lines show: of URLs, all begin alike. If a later line
//! shares less, all get other ranks before they are sorted.
//!
//! *Cost:* an entry's bytes, 4 for its length and 16 for rank and offset.
//!
//! *Sources:* Bentley and Sedgewick, Fast Algorithms for Sorting and Searching Strings, SODA 1997 (multikey
//! quicksort), with the cached words of Rantala and of Kärkkäinen.

use crate::answer::entry::{Entry, GOES_ON, RANK_BYTES, rank};
use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::selection::Order;
use crate::sys::cpu;

/// Bytes at the back for each entry: rank and offset.
const BACK: usize = 16;
/// Bytes before each entry for its length. A buffer is smaller than 4 GiB.
const LENGTH: usize = 4;
/// The most bytes of a buffer: offsets and lengths have 32 bits.
pub(super) const MOST_BYTES: u64 = 1 << 30;
/// Entries that are fetched ahead of their turn when all are read in order.
const AHEAD: usize = 8;
/// The first lines show what all lines share.
const FIRST_LINES: usize = 256;
/// After this number of rounds of ranks, whole lines are compared: lines that share so much may share a megabyte.
const ROUNDS: usize = 32;

/// Entries in memory. For one thread at a time.
#[derive(Debug)]
pub(super) struct SortBuffer {
    buffer: Buffer,
    /// Bytes of the front in use.
    filled: usize,
    /// Entries held.
    entries: usize,
    /// The bytes of their lines, with one more for the end of each.
    line_bytes: u64,
    order: Order,
    /// The bytes that the lines share with the first of them, where lines are compared.
    shared: usize,
    /// The bytes of each line before its rank; `None` while the ranks are not those of one depth.
    depth: Option<usize>,
    /// True if the entries are in order.
    is_sorted: bool,
    /// The offset of the last entry that the latest cut left: those that come after it are not wanted.
    last_wanted: Option<u64>,
}

impl SortBuffer {
    /// Makes an empty buffer of `bytes` bytes, at most [`MOST_BYTES`].
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where the budget refuses them.
    pub(super) fn new(budget: &MemoryBudget, bytes: u64, order: Order) -> Result<Self> {
        Ok(Self {
            buffer: Buffer::new(budget, "sorting the result", bytes.min(MOST_BYTES))?,
            filled: 0,
            entries: 0,
            line_bytes: 0,
            order,
            shared: usize::MAX,
            depth: None,
            is_sorted: false,
            last_wanted: None,
        })
    }

    /// Adds an entry, unless a cut has left enough that come before it; false where there is no room for it.
    pub(super) fn push(&mut self, entry: &Entry<'_>) -> bool {
        if self
            .last_wanted
            .is_some_and(|last| self.is_behind(entry, last))
        {
            return true;
        }
        let length = entry.front_bytes(self.order) + entry.label.len() + entry.line.len();
        let back = (self.entries + 1) * BACK;
        if self.filled + LENGTH + length + back > self.buffer.len() {
            return false;
        }
        let start = self.filled;
        self.filled += LENGTH + length;
        let (number, rest) = self.buffer[start..self.filled].split_at_mut(LENGTH);
        number.copy_from_slice(&(length as u32).to_le_bytes());
        let front = entry.put_front(self.order, rest);
        let (line, label) = rest[front..].split_at_mut(entry.line.len());
        line.copy_from_slice(entry.line);
        label.copy_from_slice(entry.label);
        self.line_bytes += entry.line_bytes();
        let rank = if self.order.has_places() {
            entry.place
        } else {
            self.compare_with_first(entry.line);
            self.depth.map_or(0, |depth| rank(entry.line, depth))
        };
        self.put_back([rank, start as u64]);
        self.is_sorted = false;
        if self.entries == FIRST_LINES {
            self.rank_all();
        }
        true
    }

    /// Notes what a line shares with the first. If that is less than the others do, their ranks are of no use.
    fn compare_with_first(&mut self, line: &[u8]) {
        let most = self.shared.min(line.len());
        let first = read(&self.buffer, 0, self.order).map_or(&[][..], |entry| entry.line);
        // Mostly all of it.
        if self.shared == most && first.get(..most) == line.get(..most) {
            return;
        }
        let pairs = first.iter().zip(line).take(most);
        self.shared = pairs.take_while(|(one, other)| one == other).count();
        if self.depth.is_some_and(|depth| depth > self.shared) {
            self.depth = None;
        }
    }

    /// Gives all entries ranks of the same depth, if they have none and it is lines that are compared.
    fn rank_all(&mut self) {
        if self.order.has_places() || self.depth.is_some() {
            return;
        }
        let split = self.buffer.len() - self.entries * BACK;
        let (front, back) = self.buffer.split_at_mut(split);
        rank_by_lines(
            front,
            self.order,
            bytemuck::cast_slice_mut(back),
            self.shared,
        );
        self.depth = Some(self.shared);
    }

    /// Puts rank and offset of one more entry at the back.
    fn put_back(&mut self, back: [u64; 2]) {
        self.entries += 1;
        let at = self.buffer.len() - self.entries * BACK;
        self.buffer[at..at + BACK].copy_from_slice(bytemuck::bytes_of(&back));
    }

    /// Returns true if `entry` comes after the one at `offset`.
    fn is_behind(&self, entry: &Entry<'_>, offset: u64) -> bool {
        let Some(last) = read(&self.buffer, offset, self.order) else {
            return false;
        };
        let by_rank = entry.rank(self.order).cmp(&last.rank(self.order));
        by_rank.then_with(|| entry.line.cmp(last.line)).is_gt()
    }

    /// Keeps the first `most` entries in order, and drops the others. Returns true if that left half of the room.
    pub(super) fn cut(&mut self, most: u64) -> bool {
        if self.entries as u64 <= most {
            return false;
        }
        self.sort();
        let (entries, wanted) = (self.entries, most as usize);
        let start = self.buffer.len() - entries * BACK;
        let (front, back) = self.buffer.split_at_mut(start);
        let offsets: &mut [[u64; 2]] = bytemuck::cast_slice_mut(back);
        let kept = &mut offsets[..wanted];
        let last = kept.last().map_or(0, |&[_, offset]| offset);
        // Each moves towards the front, over what is not kept or has moved.
        kept.sort_unstable_by_key(|&[_, offset]| offset);
        (self.filled, self.line_bytes) = (0, 0);
        for back in kept.iter_mut() {
            let from = back[1] as usize;
            let Some(entry) = read(front, back[1], self.order) else {
                continue;
            };
            let length = LENGTH + entry_bytes(front, from);
            self.line_bytes += entry.line_bytes();
            let to = self.filled;
            // Lines get ranks when they are sorted.
            *back = [entry.place, to as u64];
            if from as u64 == last {
                self.last_wanted = Some(to as u64);
            }
            front.copy_within(from..from + length, to);
            self.filled += length;
        }
        let kept_bytes = wanted * BACK;
        let end = self.buffer.len() - kept_bytes;
        self.buffer.copy_within(start..start + kept_bytes, end);
        self.entries = wanted;
        // They are in the order in which they lie.
        self.is_sorted = false;
        self.filled + kept_bytes <= self.buffer.len() / 2
    }

    /// Returns the bytes of lines that a merge goes through in it.
    pub(super) fn line_bytes(&self) -> u64 {
        self.line_bytes
    }

    /// Puts the entries in order.
    pub(super) fn sort(&mut self) {
        if std::mem::replace(&mut self.is_sorted, true) {
            return;
        }
        self.rank_all();
        let depth = self.depth.take().unwrap_or(0);
        let split = self.buffer.len() - self.entries * BACK;
        let (front, back) = self.buffer.split_at_mut(split);
        let offsets: &mut [[u64; 2]] = bytemuck::cast_slice_mut(back);
        match self.order {
            Order::Input => offsets.sort_unstable_by_key(|&[rank, _]| rank),
            Order::Any | Order::Sorted => sort_by_lines(front, self.order, offsets, depth, ROUNDS),
            Order::Count => sort_by_counts(front, offsets),
        }
    }

    /// Counts the entries.
    pub(super) fn len(&self) -> usize {
        self.entries
    }

    /// Returns the entry with this number, from 0, in the present order.
    pub(super) fn entry(&self, number: usize) -> Option<Entry<'_>> {
        let split = self.buffer.len() - self.entries * BACK;
        let offsets: &[[u64; 2]] = bytemuck::cast_slice(&self.buffer[split..]);
        read(&self.buffer, offsets.get(number)?[1], self.order)
    }

    /// Lists the entries in the present order.
    ///
    /// They lie in the order in which they were pushed. So a few are fetched from memory ahead of their turn.
    pub(super) fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        let split = self.buffer.len() - self.entries * BACK;
        let offsets: &[[u64; 2]] = bytemuck::cast_slice(&self.buffer[split..]);
        let entry = move |number: usize| {
            if let Some(&[_, offset]) = offsets.get(number + AHEAD) {
                cpu::prefetch(&self.buffer, offset as usize);
                cpu::prefetch(&self.buffer, offset as usize + cpu::CACHE_LINE);
            }
            read(&self.buffer, offsets.get(number)?[1], self.order)
        };
        (0..self.entries).map_while(entry)
    }

    /// Takes all entries out.
    pub(super) fn clear(&mut self) {
        (self.filled, self.entries, self.line_bytes) = (0, 0, 0);
        (self.shared, self.depth) = (usize::MAX, None);
        self.last_wanted = None;
    }
}

/// Sorts the offsets of entries by their places, and by their lines where these are equal.
fn sort_by_counts(front: &[u8], offsets: &mut [[u64; 2]]) {
    offsets.sort_unstable_by_key(|&[place, _]| place);
    for equal in offsets.chunk_by_mut(|[one, _], [other, _]| one == other) {
        if equal.len() > 1 {
            rank_by_lines(front, Order::Count, equal, 0);
            sort_by_lines(front, Order::Count, equal, 0, ROUNDS);
        }
    }
}

/// Gives entries the ranks of the bytes of their lines after the first `depth`.
fn rank_by_lines(front: &[u8], order: Order, offsets: &mut [[u64; 2]], depth: usize) {
    for number in 0..offsets.len() {
        if let Some(&[_, offset]) = offsets.get(number + AHEAD) {
            cpu::prefetch(front, offset as usize);
            cpu::prefetch(front, offset as usize + depth);
        }
        let [rank_of, offset] = &mut offsets[number];
        let line = read(front, *offset, order).map_or(&[][..], |entry| entry.line);
        *rank_of = rank(line, depth);
    }
}

/// Sorts the offsets of entries whose ranks are of the bytes after the first `depth`, which their lines share; with
/// other ranks so many `rounds`.
fn sort_by_lines(
    front: &[u8],
    order: Order,
    offsets: &mut [[u64; 2]],
    depth: usize,
    rounds: usize,
) {
    let line = |offset| read(front, offset, order).map_or(&[][..], |entry| entry.line);
    if rounds == 0 {
        offsets.sort_unstable_by(|&[_, one], &[_, other]| line(one).cmp(line(other)));
        return;
    }
    offsets.sort_unstable_by_key(|&[rank, _]| rank);
    for equal in offsets.chunk_by_mut(|[one, _], [other, _]| one == other) {
        // Lines that end are equal to the end.
        if equal.len() > 1 && equal[0][0] as u8 == GOES_ON {
            rank_by_lines(front, order, equal, depth + RANK_BYTES);
            sort_by_lines(front, order, equal, depth + RANK_BYTES, rounds - 1);
        }
    }
}

/// Reads the entry at `offset` of the front of a buffer.
fn read(front: &[u8], offset: u64, order: Order) -> Option<Entry<'_>> {
    let start = offset as usize + LENGTH;
    let length = entry_bytes(front, offset as usize);
    Entry::read(front.get(start..start + length)?, order)
}

/// Returns the bytes of the entry at `offset`, without those of its length.
fn entry_bytes(front: &[u8], offset: usize) -> usize {
    let length = front.get(offset..).and_then(<[u8]>::first_chunk);
    length.map_or(0, |length| u32::from_le_bytes(*length) as usize)
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
            let push = |line: String| buffer.push(&Entry::once(line.as_bytes(), 0));
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

    #[test]
    fn a_cut_leaves_the_first_entries_and_room_for_more_of_them() {
        let budget = MemoryBudget::new(1 << 20, 0);
        let (most, lines) = (50, 30_000_u64);
        let mut buffer = SortBuffer::new(&budget, 1 << 16, Order::Count).unwrap();
        // Few counts, so that lines decide, too; the best come last.
        let entry = |i: u64| {
            (
                !(i / 1000),
                format!("{:05} {}", i * 7919 % 30_011, "x".repeat(i as usize % 90)),
            )
        };
        let mut cuts = 0;
        for (place, line) in (0..lines).map(entry) {
            while !buffer.push(&Entry::once(line.as_bytes(), place)) {
                assert!(buffer.cut(most));
                assert_eq!(buffer.len() as u64, most);
                cuts += 1;
            }
        }
        assert!(cuts > 9, "{cuts}");
        buffer.cut(most);
        buffer.sort();
        let mut expected: Vec<_> = (0..lines).map(entry).collect();
        expected.sort();
        expected.truncate(most as usize);
        let found = buffer.iter().map(|entry| (entry.place, entry.line));
        assert!(
            found.eq(expected
                .iter()
                .map(|(place, line)| (*place, line.as_bytes())))
        );
        let bytes: u64 = expected.iter().map(|(_, line)| line.len() as u64 + 1).sum();
        assert_eq!(buffer.line_bytes(), bytes);
        assert!(!buffer.cut(most), "nothing is left to cut");
    }

    #[test]
    fn a_full_buffer_of_which_all_is_wanted_is_not_cut() {
        let budget = MemoryBudget::new(1 << 20, 0);
        let mut buffer = SortBuffer::new(&budget, 1 << 16, Order::Count).unwrap();
        let mut pushed = 0;
        while buffer.push(&Entry::once(&[b'x'; 100], 7)) {
            pushed += 1;
        }
        assert!(!buffer.cut(pushed) && buffer.len() as u64 == pushed);
        // The cut is made, but leaves little room.
        assert!(!buffer.cut(pushed - 1) && buffer.len() as u64 == pushed - 1);
    }

    #[test]
    fn lines_that_share_much_come_in_the_order_of_their_bytes() {
        let budget = MemoryBudget::new(16 << 20, 0);
        let mut buffer = SortBuffer::new(&budget, 8 << 20, Order::Sorted).unwrap();
        let mut lines: Vec<Vec<u8>> = Vec::new();
        for length in (0..40).chain(215..235).chain([10_000]) {
            for tail in [&b""[..], b"\0", b"\0\0", b"a", b"\xff", b"\xff\xff"] {
                lines.push([&vec![b'x'; length], tail].concat());
                lines.push([&vec![0; length], tail].concat());
            }
        }
        // The order in which they come must not matter.
        lines.sort_by_key(|line| line.len() * 7919 % 101);
        for line in &lines {
            assert!(buffer.push(&Entry::once(line, 0)));
        }
        buffer.sort();
        lines.sort();
        let found = (0..buffer.len()).map(|number| buffer.entry(number).unwrap().line);
        assert!(found.eq(lines.iter().map(Vec::as_slice)));
        assert!(buffer.iter().map(|entry| entry.line).eq(&lines));
    }
}
