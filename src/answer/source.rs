//! The sources of a merge: entries in order, and which source has the first of all.
//!
//! *Owns:* [`MergeSource`] and the comparisons of a merge. The sources are a heap; the first one goes on to its next
//! entry where it is, and then moves to where it belongs.
//!
//! The lines of hundreds of sources are far apart in memory, and to look them up is most of what a merge would cost. So
//! each source keeps the first bytes of its line. Lines are looked up where these are equal.
//!
//! *Invariants:* of equal entries any may come first. A source that has no further entry is not in the heap.
//!
//! *Cost:* a comparison for each level of the heap and each entry; [`FRONT`] bytes for each source.
//!
//! *Sources:* Knuth, The Art of Computer Programming, volume 3, 5.4.1 (multiway merging).

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::answer::entry::Entry;
use crate::answer::sort_buffer::SortBuffer;
use crate::answer::sorted_run::{RunReader, SortedRun};
use crate::error::Result;
use crate::selection::Order;

/// Bytes of a line that are compared without looking the line up.
const FRONT: usize = 64;

/// Entries in order, of which the merge sees one at a time. The greatest source is that whose entry comes first.
pub(super) struct MergeSource<'a> {
    entries: Entries<'a>,
    order: Order,
    /// The rank of the present entry.
    rank: u64,
    /// The first bytes of its line in the order of lines, and zeros after its end.
    front: Box<[u8; FRONT]>,
}

/// The entries of a source, in memory or in a file.
enum Entries<'a> {
    /// A buffer that was sorted, up to `next` of which the merge has seen.
    SortBuffer {
        buffer: &'a SortBuffer,
        next: usize,
    },
    Run(Box<RunReader<'a>>),
}

impl Entries<'_> {
    /// Goes to the next entry; false at the end.
    fn advance(&mut self) -> Result<bool> {
        match self {
            Self::SortBuffer { buffer, next } => {
                *next += 1;
                Ok(*next <= buffer.len())
            }
            Self::Run(reader) => reader.advance(),
        }
    }

    /// Returns the present entry.
    fn entry(&self) -> Option<Entry<'_>> {
        match self {
            Self::SortBuffer { buffer, next } => buffer.entry(next.checked_sub(1)?),
            Self::Run(reader) => reader.entry(),
        }
    }

    fn line(&self) -> &[u8] {
        self.entry().map_or(&[], |entry| entry.line)
    }
}

impl<'a> MergeSource<'a> {
    /// Makes a source of a buffer that was sorted.
    pub(super) fn of_buffer(buffer: &'a SortBuffer, order: Order) -> Self {
        Self::new(Entries::SortBuffer { buffer, next: 0 }, order)
    }

    /// Makes a source of a run.
    pub(super) fn of_run(reader: RunReader<'a>, order: Order) -> Self {
        Self::new(Entries::Run(Box::new(reader)), order)
    }

    fn new(entries: Entries<'a>, order: Order) -> Self {
        Self {
            entries,
            order,
            rank: 0,
            front: Box::new([0; FRONT]),
        }
    }

    /// Returns the run, to be discarded.
    pub(super) fn into_run(self) -> Option<SortedRun> {
        match self.entries {
            Entries::SortBuffer { .. } => None,
            Entries::Run(reader) => Some(reader.into_run()),
        }
    }

    /// Goes to the next entry; false at the end.
    fn advance(&mut self) -> Result<bool> {
        let goes_on = self.entries.advance()?;
        if let Some(entry) = self.entries.entry() {
            self.rank = entry.rank(self.order);
            if self.order.compares_lines() {
                let length = entry.line.len().min(FRONT);
                self.front[..length].copy_from_slice(&entry.line[..length]);
                self.front[length..].fill(0);
            }
        }
        Ok(goes_on)
    }
}

impl Ord for MergeSource<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_rank = other.rank.cmp(&self.rank);
        if !self.order.compares_lines() {
            return by_rank;
        }
        by_rank
            .then_with(|| other.front.cmp(&self.front))
            .then_with(|| other.entries.line().cmp(self.entries.line()))
    }
}

impl PartialOrd for MergeSource<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for MergeSource<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for MergeSource<'_> {}

/// Hands the first `most` entries of `sources`, of which none was advanced, to `each`, in order. Returns the sources.
///
/// # Errors
/// The first error of `each`, or of reading a source.
pub(super) fn merge(
    sources: Vec<MergeSource<'_>>,
    most: u64,
    mut each: impl FnMut(&Entry<'_>) -> Result<()>,
) -> Result<Vec<MergeSource<'_>>> {
    let mut ended = Vec::with_capacity(sources.len());
    let mut heap = BinaryHeap::with_capacity(sources.len());
    for mut source in sources {
        if source.advance()? {
            heap.push(source);
        } else {
            ended.push(source);
        }
    }
    let mut left = most;
    while let Some(mut first) = heap.peek_mut() {
        if left == 0 {
            break;
        }
        left -= 1;
        if let Some(entry) = first.entries.entry() {
            each(&entry)?;
        }
        // It moves to where its next entry belongs when `first` is dropped.
        if !first.advance()? {
            ended.push(PeekMut::pop(first));
        }
    }
    ended.extend(heap);
    Ok(ended)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::memory::budget::MemoryBudget;

    /// Merges buffers with these lines.
    fn merged(lines: &[Vec<Vec<u8>>], order: Order, most: u64) -> Vec<(u64, Vec<u8>)> {
        let budget = MemoryBudget::new(64 << 20, 0);
        let mut ordinals = 0..;
        let fill = |lines: &Vec<Vec<u8>>| {
            let mut buffer = SortBuffer::new(&budget, 1 << 16, order).unwrap();
            for (line, ordinal) in lines.iter().zip(&mut ordinals) {
                // Not in the order in which they come.
                assert!(buffer.push(&Entry::once(line, ordinal * 7919 % 10_007)));
            }
            buffer.sort();
            buffer
        };
        let buffers: Vec<SortBuffer> = lines.iter().map(fill).collect();
        let source = |buffer| MergeSource::of_buffer(buffer, order);
        let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
        let collect = |entry: &Entry<'_>| {
            found.push((entry.place, entry.line.to_vec()));
            Ok(())
        };
        let ended = merge(buffers.iter().map(source).collect(), most, collect).unwrap();
        assert_eq!(ended.len(), buffers.len());
        found
    }

    proptest! {
        #[test]
        fn lines_of_any_number_of_sources_come_in_order(
            lines in vec(vec(vec(prop_oneof![4 => Just(b'a'), 1 => Just(0), 1 => any::<u8>()], 0..12), 0..9), 0..12),
            // Lines may differ only after what is compared first.
            shared in prop_oneof![Just(0), FRONT - 12..FRONT + 3],
        ) {
            let mut lines = lines;
            for line in lines.iter_mut().flatten() {
                line.splice(0..0, vec![b'a'; shared]);
            }
            let mut expected = lines.concat();
            expected.sort();
            let found = merged(&lines, Order::Sorted, u64::MAX);
            let found_lines: Vec<Vec<u8>> = found.into_iter().map(|(_, line)| line).collect();
            prop_assert_eq!(found_lines, expected);
            for order in [Order::Input, Order::Count] {
                let found = merged(&lines, order, u64::MAX);
                prop_assert_eq!(found.len(), lines.concat().len());
                prop_assert!(found.is_sorted());
                let first = merged(&lines, order, 5);
                prop_assert_eq!(&first[..], &found[..found.len().min(5)]);
            }
        }
    }
}
